"""The one way to say a number over seeds: median, 95 % interval of the median, number of seeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import binom

_KEY = re.compile(r"[^\w-]+|_")  # what the key of a glued text has no use for
_POWER, _RAISED = re.compile(r"(?<=\d)e([-+]\d+)"), str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PERCENTS, _MINUS = re.compile(r"(.+) % \[(.+) %, (.+) %]"), re.compile(r"(?<![\w.)-])-(?=\.?\d)")
LEVEL, STATISTICS = 0.95, ("median", "low", "high", "n")
Form = Callable[[float], str]


def over_seeds(values: xr.DataArray, dim: str = "seed") -> xr.Dataset:
    """Median, its 95 % interval from `low` to `high`, and number of values along a dimension.

    Values that are NaN do not exist; those beyond what was tried are inf and count (`censored`). The
    interval is that of order statistics, interpolated (Hettmansperger and Sheather 1986); of two to
    five values it is their range (`confidence`), of one NaN.
    """
    values = values.astype(float)
    core = {"input_core_dims": [[dim]], "output_core_dims": [[]] * 2}
    low, high = xr.apply_ufunc(_interval, values, **core)
    middle = values.median(dim)
    return xr.Dataset({"median": middle, "low": low, "high": high, "n": values.count(dim)})


def median(values: xr.DataArray, dim: str = "seed") -> xr.DataArray:
    """The median along a dimension, over the values that exist."""
    return values.astype(float).median(dim)


def extremes(values: xr.DataArray, dim: str = "seed") -> dict[str, xr.DataArray]:
    """Along this dimension alone, the values where their median is `least` and where it is `most`."""
    middle = median(values, dim)
    return {"least": values.isel(middle.argmin(...)), "most": values.isel(middle.argmax(...))}


def sides(ratio: xr.DataArray, dim: str = "seed") -> xr.DataArray:
    """Whether paired ratios are surely below 1, with all of their interval (-1), or above (1)."""
    found = over_seeds(ratio, dim)
    return (found["low"] > 1).astype(int) - (found["high"] < 1)


def ahead(sides: xr.DataArray) -> str:
    """In how many places something is surely less, and in how many tied: "3 (and 5 tied) of 12"."""
    tied = int((sides == 0).sum())
    return f"{int((sides < 0).sum())}" + f" (and {tied} tied)" * (tied > 0) + f" of {sides.size}"


def _interval(values: np.ndarray) -> tuple[np.ndarray, ...]:
    values = np.sort(np.insert(values, 0, np.nan, axis=-1))  # which puts NaN last
    n = (~np.isnan(values)).sum(-1, keepdims=True)
    rank = np.maximum(binom.ppf((1 - LEVEL) / 2, n, 0.5), 1).astype(int)
    held, next_less = 1 - 2 * binom.cdf(rank - 1, n, 0.5), 2 * binom.pmf(rank, n, 0.5)
    places = np.concatenate([rank - 1, n - rank, rank, n - rank - 1], -1).clip(0)
    ends, inner = np.split(np.take_along_axis(values, places, -1), 2, -1)
    with np.errstate(divide="ignore", invalid="ignore"):  # no values, or infinite ones
        more = np.clip((held - LEVEL) / next_less, 0, 1)
        inwards = (n - rank) * more / (rank + (n - 2 * rank) * more)  # to the next values
        ends = np.where(inwards > 0, (1 - inwards) * ends + inwards * inner, ends)
    return tuple(np.moveaxis(np.where(n > 1, ends, np.nan), -1, 0))


def confidence(n: int) -> float:
    """How surely the interval of n seeds holds the median: 95 %, 94 % for 5, 75 % for 3."""
    return min(1 - 2.0 ** (1 - n), LEVEL)


def short(value: float) -> str:
    """Two digits: 0.41, 1.0, 12, and 3.2e-5 for small ones; thousands as 1,200; whole numbers from
    ten on, up to a hundred thousand, in full; "" where there is no number.
    """
    if not np.isfinite(value):
        return ""
    size = abs(value)
    if size >= 1e5 or 0 < size < 1e-3:
        return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e+")
    if value == round(value) and (size >= 10 or not size):
        return f"{value:,.0f}"
    return f"{float(f'{value:.2g}'):,.0f}" if size >= 9.95 else f"{value:#.2g}"


def censored(most: float, form: Form = short) -> Form:
    """How values are said that are inf where they are beyond the `most` that was tried: "> 300"."""
    return lambda value: f"> {form(most)}" if value == np.inf else form(value)


def percent(share: float) -> str:
    """A share as a whole number of percent, "87 %", none as -0; "" where there is no number."""
    return f"{round(100 * float(share)) + 0.0:.0f} %" if np.isfinite(share) else ""


def texts(key: str, values: Any, form: Form = short) -> dict[str, str]:
    """Numbers as the texts of prose, by keys that name the way to each: "key-model-set".

    Each dimension of an array adds the value of its coordinate, each table its names. Over seeds
    the median is said, with its interval (`said`); powers of ten are written out, 3.2 × 10⁻⁵.
    """
    if isinstance(values, xr.DataArray) and (dims := [dim for dim in values.dims if dim != "seed"]):
        names = values[dims[0]].values.tolist()
        values = dict(zip(names, values.transpose(dims[0], ...), strict=True))
    if isinstance(values, Mapping):
        return {
            k: t for n, one in values.items() for k, t in texts(f"{key}-{n}", one, form).items()
        }
    if isinstance(values, xr.DataArray) and values.dims:
        values = said(*map(float, over_seeds(values).drop_vars("n").values()), form=form)
    text = values if isinstance(values, str) else form(float(values))
    return {_KEY.sub("-", key): raised(text)}


def raised(text: str) -> str:
    """A text with its powers of ten written out, and signs that are no hyphens: −3.2 × 10⁻⁵."""
    text = _MINUS.sub("−", text)
    return _POWER.sub(lambda found: " × 10" + str(int(found[1])).translate(_RAISED), text)


def said(
    middle: float, low: float = np.nan, high: float = np.nan, n: float = np.nan, form: Form = short
) -> str:
    """A median with interval and n if given, "92 [91, 93] %", alone where all read the same."""
    text, *ends = ("" if pd.isna(one) else form(one) for one in (middle, low, high))
    if ends[0] and {*ends} != {text}:
        text = _PERCENTS.sub(r"\1 [\2, \3] %", f"{text} [{ends[0]}, {ends[1]}]")
    return f"{text}, n = {n:.0f}" if text and np.isfinite(n) else text
