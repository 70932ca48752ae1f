"""What the rules of several chapters read from results: parts of them by name, medians, and the
numbers to report.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.book.ledger import DETAIL, Contrast, Part

T = TypeVar("T", xr.DataArray, xr.Dataset)
Value = float | np.ndarray | xr.DataArray
SETTLED = 0.02  # gain of the last fifth of the updates below which training has settled
LONGER = "longer_"  # begins the names of what twice the updates give, where all runs made some

# What a test of a bound asks of every value, which of two values is nearer to failing it, its sign.
TESTS = {
    "<": (operator.lt, np.fmax, "<"),
    "<=": (operator.le, np.fmax, "≤"),
    ">": (operator.gt, np.fmin, ">"),
    ">=": (operator.ge, np.fmin, "≥"),
}


def part(says: str, holds: bool | xr.DataArray | Contrast, **numbers: Value) -> Part:
    """A statement, whether it holds (all of an array, all values of a contrast), and the numbers
    that it rests on, by name; those of an array by its coordinates, "model.set.name".
    """
    found = {}
    for name, value in numbers.items():
        if isinstance(value, xr.DataArray) and value.ndim:
            found |= tagged(value, name)
        else:
            found[name] = float(value)
    if not isinstance(holds, Contrast):
        return Part(says, bool(np.all(holds)), found, (Contrast(np.ravel(holds)),))
    passes = TESTS[holds.sign][0](holds.values, holds.bound)
    return Part(says, bool(np.all(passes)), found, (holds,))


def compared(says: str, own: Value, sign: str, other: Value, **numbers: Value) -> Part:
    """That values above 0 are all less ("<") or more (">") than others, by name or by position."""
    return part(says, Contrast(np.ravel(own / other), sign, 1.0), **numbers)


def bounded(says: str, sign: str, bound: float, **values: Value) -> Part:
    """That all values pass a test ("<", "<=", ">" or ">="), which NaN does not, with the value of each
    name that is nearest to failing it. What it says goes on with the bound: "... ≤ 0.8".
    """
    _, worst, shown = TESTS[sign]
    nearest = {name: worst.reduce(np.ravel(value)) for name, value in values.items()}
    flat = np.concatenate([np.ravel(value) for value in values.values()])
    return part(f"{says} {shown} {bound:.3g}", Contrast(flat, sign, bound), **nearest)


def every(says: str, sign: str, bound: float, **values: Mapping[str, float] | xr.DataArray) -> Part:
    """As `bounded`, with a number for every value: "model.set.name"."""
    return bounded(
        says, sign, bound, **{k: v for n, one in values.items() for k, v in tagged(one, n).items()}
    )


def within(says: str, low: float, high: float, **values: Value) -> Part:
    """That values are from `low` to `high`, by distance from the middle; the largest of each name."""
    middle, numbers = (low + high) / 2, bounded(says, "<=", high, **values).numbers
    far = np.abs(np.concatenate([np.ravel(value) for value in values.values()]) - middle)
    says = f"{says} in [{low:.3g}, {high:.3g}]: distance from {middle:.3g}"
    return replace(part(says, Contrast(far, "<=", high - middle)), numbers=numbers)


def scaled(part: Part, **scale: float | None) -> Part:
    """A statement whose values are compared on another scale: band, limit or of (see `Contrast`)."""
    return replace(part, contrasts=tuple(replace(one, **scale) for one in part.contrasts))


def paper(part: Part, text: str) -> Part:
    """A statement with what the paper prints for it."""
    return replace(part, printed=text)


def detail(part: Part) -> Part:
    """A statement that counts for nothing in the summary of its claim."""
    return replace(part, weight=DETAIL)


def given(part: Part, *needs: Part) -> Part:
    """A statement that cannot be tested unless others hold."""
    return replace(part, needs=(*part.needs, *needs))


def untested(says: str, missing: str) -> Part:
    """A statement that no result decides, and what is `missing` to decide it."""
    return Part(says, False, missing=missing)


def refuted(says: str, why: str) -> Part:
    """A statement that is false whatever the results, and why."""
    return Part(says, False, remark=f"refuted analytically: {why}")


def select(values: T, **wanted: Sequence) -> T:
    """`values` at the names wanted along their dimensions. KeyError says which names lack."""
    for axis, names in wanted.items():
        if lacking := [name for name in names if name not in values[axis].values]:
            raise KeyError(f"the {axis}(s) {', '.join(map(str, lacking))}")
    return values.sel({axis: list(names) for axis, names in wanted.items()})


def one(values: T, **wanted: object) -> T:
    """`values` at one name along each of these dimensions. KeyError says which name lacks."""
    found = select(values, **{axis: [name] for axis, name in wanted.items()})
    return found.squeeze(list(wanted), drop=True)


def tagged(values: Mapping[str, float] | xr.DataArray, tag: str) -> dict[str, float]:
    """Numbers under the names that the ledger shows: "name.tag"; those of an array by its
    coordinates, "model.set.tag".
    """
    if isinstance(values, xr.DataArray):
        rows = values.to_series()
        names = rows.index.to_frame().astype(str).agg(".".join, axis=1)
        values = dict(zip(names, rows, strict=True))
    return {f"{name}.{tag}": value for name, value in values.items()}


def count(so: xr.DataArray, *values: xr.DataArray) -> xr.DataArray:
    """How often something is so; NaN where one of the values that tell it is."""
    return so.sum() if all(one.notnull().all() for one in values) else so.sum() * np.nan


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Rank correlation; 0 for values that are all equal, which have no order; NaN with a NaN."""
    found = float(pd.Series(x).rank().corr(pd.Series(y).rank()))
    return np.nan if np.isnan([*x, *y]).any() else found if np.isfinite(found) else 0.0
