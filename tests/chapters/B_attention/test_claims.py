"""The rule of VN-B: each part on results made up so that it holds, and so that it fails."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

from vnlib.book.ledger import NOT, NOT_TESTABLE, PARTLY, REPRODUCED

SEEDS, NAN = 3, np.nan
MODELS = ["vn_image", "vn_patches", "feed_forward", "topk", "sparsemax"]
MODELS += ["softmax", "softmax_2", "softmax_4", "softmax_16"]
# Variable -> value per model, so that every part holds.
HOLDS = {
    "zero_share": (0.7, NAN, NAN, NAN, NAN, 0, NAN, NAN, NAN),
    "effective_share": (0.15, 0.1, NAN, NAN, NAN, 0.4, NAN, NAN, NAN),
    "gap": (1e-4, NAN, 0.8, NAN, NAN, 1e-2, NAN, NAN, NAN),
    "rank": (NAN, NAN, NAN, NAN, NAN, 16, 11, 15, 16),
    "bound": (NAN, NAN, NAN, NAN, NAN, 8, 2, 4, 16),
    "rank_limit": (NAN, NAN, NAN, NAN, NAN, 16, 16, 16, 16),
    "rank_excess": (0, 0, NAN, NAN, NAN, 0, 0, 0, 0),
    "gate_correlation": (1, NAN, NAN, NAN, NAN, 0.2, NAN, NAN, NAN),
    "idle_moved": (0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN),
    "kept_explained": (0.1, NAN, 1, 0.7, 0.8, 0.9, NAN, NAN, NAN),
    "kept_rest": (0.9, NAN, 1, 0.75, 0.85, 0.9, NAN, NAN, NAN),
}


def results(seed: int | None = None, **changes: float) -> xr.Dataset:
    """Results in which everything holds, but for `variable__model__batch` in one seed or in all."""
    ds = xr.Dataset(
        {n: (("model", "seed"), np.array([v] * SEEDS, float).T) for n, v in HOLDS.items()},
        {"model": MODELS, "seed": np.arange(SEEDS), "batch": [1, 64]},
    )
    untouched = np.full((len(MODELS), SEEDS, 2), NAN)
    untouched[0], untouched[5] = (0.7, 0.2), 0
    ds["untouched"] = (("model", "seed", "batch"), untouched)
    for change, value in changes.items():
        name, model, *batch = change.split("__")
        where = {"model": model} | ({"batch": int(batch[0])} if batch else {})
        ds[name].loc[where | ({} if seed is None else {"seed": seed})] = value
    return ds


def fails(ds: xr.Dataset) -> list[int]:
    return failing("VN-B", ds)[1]


def verdicts(ds: xr.Dataset) -> tuple[str, str | None]:
    row = judged("VN-B", ds)
    return row["verdict"], row["verdict_controls"]


# What is changed, to what, and the part that then fails.
CHANGES = [
    ("zero_share__vn_image", 0.49, 0),
    ("zero_share__softmax", 1e-6, 0),
    ("gap__vn_image", 2e-3, 1),
    ("gap__feed_forward", 0.1, 1),
    ("rank_excess__vn_image", 1, 2),
    ("rank_excess__vn_patches", 1, 2),
    ("rank_excess__softmax_4", 1, 2),
    ("rank__softmax_2", 2, 2),
    ("rank__softmax", 8, 2),
    ("untouched__vn_image__1", 0.49, 3),
    ("untouched__softmax__1", 0.02, 3),
    ("gate_correlation__vn_image", 0.99, 3),
    ("idle_moved__vn_image", 1, 3),
    ("kept_rest__vn_image", 0.39, 4),
    ("kept_rest__softmax", 0.92, 4),
    ("kept_rest__softmax", 0.88, 4),
    ("effective_share__vn_image", 0.41, 5),
    ("effective_share__vn_patches", 0.41, 5),
    ("effective_share__softmax", 0.12, 5),
    ("gap__softmax", 1e-15, 6),
    ("gate_correlation__softmax", 0.5, 7),
    ("untouched__vn_image__64", 0.09, 8),
    ("kept_rest__topk", 1.0, 9),
    ("kept_explained__sparsemax", 0.5, 9),
    ("kept_explained__feed_forward", 0.7, 9),
]


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("change", "value", "part"), CHANGES)
def test_each_part_turns_with_its_number_in_any_seed(change, value, part, seed):
    ds = results(seed, **{change: value})
    assert part in fails(ds)
    assert verdicts(ds) == (PARTLY if part < 5 else REPRODUCED, PARTLY)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({}, []),
        ({"kept_rest__vn_image": 0.2}, [4, 9]),  # a weak VN makes the comparison harder
        ({"rank__softmax_16": 3}, []),  # a head as wide as the tokens need not have more rank
    ],
)
def test_only_these_parts_fail(changes, parts):
    assert fails(results(**changes)) == parts
    assert verdicts(results(**changes))[1] == (PARTLY if parts else REPRODUCED)


def test_nothing_holds_where_nothing_does():
    wrong = {"zero_share": 0, "gap": 1, "rank_excess": 3, "untouched": 0, "kept_rest": 0.1}
    ds = results(**{f"{name}__vn_image": value for name, value in wrong.items()})
    assert verdicts(ds) == (NOT, PARTLY)
    assert fails(ds) == [0, 1, 2, 3, 4, 8, 9]


@pytest.mark.parametrize("name", [*HOLDS, "untouched"])
def test_what_the_rule_needs_and_lacks_is_named(name):
    row = judged("VN-B", results().drop_vars(name))
    assert row["verdict"] == NOT_TESTABLE and row["missing"] == f"the results lack '{name}'"


def test_missing_models_are_not_testable():
    assert verdicts(results().drop_sel(model="sparsemax"))[0] == NOT_TESTABLE
