"""What was predicted before the test images were drawn, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from vnlib.plots.statistics import ahead, over_seeds, said, short, sides

HOLDS, FAILS, UNDECIDED, MISSING = "holds", "fails", "undecided", "not run"


def error(results: xr.Dataset, model: str, way: str, k: int, *, few: bool = False) -> xr.DataArray:
    """The error (seed, set) of a model that draws in one way with k coefficients; NaN where it was
    not run. KeyError where there is no such model, way or k.
    """
    found = results["mse_few" if few else "mse"].sel(model=model, way=way, k=k, drop=True)
    return found.drop_vars([name for name in found.coords if name not in found.dims])


def least(
    results: xr.Dataset, rivals: Iterable[Sequence[str]], k: int, **more: Any
) -> xr.DataArray:
    """The least error (seed, set) of several rivals, set by set, in the seeds in which all were run
    that have this k at all. KeyError where none has.
    """
    there = [
        one
        for model, way in rivals
        if model in results["model"].values and way in results["way"].values
        if (one := error(results, model, way, k, **more)).notnull().any()
    ]
    if not there:
        raise KeyError("all rivals")
    return xr.concat(there, "rival").min("rival", skipna=False)


def ratio(results: xr.Dataset, one: Mapping[str, Any], rivals: Mapping[str, Any]) -> xr.DataArray:
    """The errors that a prediction compares (seed, set), the first over the second."""
    few = {"few": one.get("few", False)}
    over = rivals[one["over"]] if isinstance(one["over"], str) else one["over"]
    own = error(results, *one["own"], one["k"], **few)
    return (own / least(results, over, one["k"], **few)).dropna("seed", how="all")


def verdict(ratio: xr.DataArray, one: Mapping[str, Any]) -> tuple[str, str]:
    """What came of a prediction, and the number that says so: of a set the median ratio with its
    interval, of all sets in how many it is surely below the bound.
    """
    if one["sets"] == "each":
        over = ratio / one["below"]
        if not ratio.sizes["seed"]:
            return MISSING, ""
        surely, lost = ((sides(over) * sign > 0).sum() for sign in (-1, 1))
        holds = int(surely) >= one["count"]
        fails = ratio.sizes["set"] - int(lost) < one["count"]
        return HOLDS if holds else FAILS if fails else UNDECIDED, ahead(sides(over))
    told = over_seeds(ratio.sel(set=one["sets"]))
    middle, low, high, n = (float(told[name]) for name in ("median", "low", "high", "n"))
    if not n:
        return MISSING, ""
    above = one.get("above", -np.inf)
    text = said(middle, low, high, form=short)
    if high < one["below"] and low > above:
        return HOLDS, text
    return FAILS if low > one["below"] or high < above else UNDECIDED, text


def decided(results: xr.Dataset, sidecar: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every prediction by its id: what it says, what was found, over how many seeds, the verdict."""
    found = {}
    for one in sidecar["predictions"]:
        try:
            values = ratio(results, one, sidecar["rivals"])
        except KeyError:
            values = xr.DataArray(np.zeros((0, 0)), dims=("seed", "set"))
            came, text = MISSING, ""
        else:
            came, text = verdict(values, one)
        found[one["id"]] = {
            "prediction": one["says"],
            "found": text,
            "seeds": float(values.sizes["seed"]),
            "verdict": came,
        }
    return found
