"""Take the numbers of each model away, one at a time: no statement may turn to its contrary.

python tests/tools/missing_numbers.py
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import xarray as xr
from tqdm import tqdm

from book.site import ledger, statements
from vnlib.book import ledger as claims
from vnlib.book import paths

# Variables in which a missing number is an answer: the target was not reached.
ANSWERS = {"need"}


def turned(one: claims.Claim, results: xr.Dataset, model: str) -> list[str]:
    """The statements of a claim that hold with a model and fail without its numbers, or the contrary."""
    before, after = _sides(one, results), _sides(one, without(results, model))
    if not after:  # the claim says which model it lacks
        return []
    both = zip(before, after, strict=True)
    return [says for (says, side), (_, now) in both if {side, now} == {True, False}]


def without(results: xr.Dataset, model: str) -> xr.Dataset:
    """Results in which nothing is known of the runs of one model."""
    axis = _axis(results)
    lost = {
        name: values.where(results[axis] != model)
        for name, values in results.items()
        if values.dtype.kind == "f" and {axis, "seed"} <= {*values.dims} and name not in ANSWERS
    }
    return results.assign(lost)


def _axis(results: xr.Dataset) -> str:
    return "model" if "model" in results.dims else str(next(iter(results.dims)))


def _sides(one: claims.Claim, results: xr.Dataset) -> list[tuple[str, bool | None]]:
    """Every statement, and on which side of its bound it is; None if it cannot be told."""
    decision = claims.decided(one, results)
    parts = [] if isinstance(decision, str) else statements.parts_of(decision)
    return [(part.says, _side(part)) for part in parts]


def _side(part: claims.Part) -> bool | None:
    margins = [statements.margins(one) for one in statements.contrasts(part)]
    least = np.concatenate(margins).min() if margins else np.nan
    return None if np.isnan(least) or not all(need.holds for need in part.needs) else least >= 0


def main() -> int:
    """1 if a statement turns."""
    warnings.simplefilter("ignore")
    found = []
    for one in tqdm(claims.all_claims().values(), unit="claim"):
        results = claims.known(ledger.results_of(one, paths.RESULTS / "paper"))
        if not isinstance(decision := claims.decided(one, results), str):
            results = statements._read(
                one, results, decision
            )  # what no rule reads takes long to copy
        for model in results[_axis(results)].values.tolist() if _axis(results) in results else []:
            found += [f"{one.id} without {model}: {says}" for says in turned(one, results, model)]
    print("\n".join(found) or "no statement turns")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
