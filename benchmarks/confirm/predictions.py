"""What comes of predictions that were made before the test data were drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from vnlib.plots.statistics import ahead, median, said, short

HOLDS, FAILS, UNDECIDED, MISSING = "holds", "fails", "undecided", "not run"


def ranged(values: xr.DataArray) -> xr.Dataset:
    """Median, range and number over seeds: by these predictions were frozen, and stay decided."""
    n = values.count("seed")
    low, high = (end.where(n > 1) for end in (values.min("seed"), values.max("seed")))
    return xr.Dataset({"median": median(values), "low": low, "high": high, "n": n})


def sides(ratio: xr.DataArray) -> xr.DataArray:
    """Whether paired ratios are below 1 in all seeds (-1), or above (1)."""
    found = ranged(ratio)
    return (found["low"] > 1).astype(int) - (found["high"] < 1)


def verdict(
    ratio: xr.DataArray, *, below: float = np.inf, above: float = -np.inf, count: int | None = None
) -> tuple[str, str]:
    """What came of a prediction, and the number that says so.

    Parameters
    ----------
    ratio
        Over seed, what is predicted to be between `above` and `below`: the median ratio with its
        interval is told.
    count
        If given, `ratio` has a second dimension, of cells, and at least so many of them are
        predicted to be below `below`, each with the whole interval; how many are is told.
    """
    if count is not None:
        if not ratio.sizes["seed"]:
            return MISSING, ""
        found = sides(ratio / below)
        holds, fails = int((found < 0).sum()) >= count, int((found <= 0).sum()) < count
        return HOLDS if holds else FAILS if fails else UNDECIDED, ahead(found)
    told = ranged(ratio)
    middle, low, high, n = (float(told[name]) for name in ("median", "low", "high", "n"))
    if not n:
        return MISSING, ""
    text = said(middle, low, high, form=short)
    if high < below and low > above:
        return HOLDS, text
    return FAILS if low > below or high < above else UNDECIDED, text


def decided(
    predictions: Iterable[Mapping[str, Any]],
    compared: Callable[[Mapping[str, Any]], xr.DataArray],
) -> dict[str, dict[str, Any]]:
    """Every prediction by its id: what it says, what was found, over how many seeds, the verdict.

    Parameters
    ----------
    predictions
        Tables with id, says, and any of below, above and count.
    compared
        The ratio over seeds, and cells if they are counted, that `verdict` takes; KeyError where
        something in it was not run.
    """
    found = {}
    for one in predictions:
        bounds = {key: one[key] for key in ("below", "above", "count") if key in one}
        try:
            values = compared(one)
        except KeyError:
            values = xr.DataArray(np.zeros(0), dims="seed")
            came, text = MISSING, ""
        else:
            came, text = verdict(values, **bounds)
        found[one["id"]] = {
            "prediction": one["says"],
            "found": text,
            "seeds": float(values.sizes["seed"]),
            "verdict": came,
        }
    return found
