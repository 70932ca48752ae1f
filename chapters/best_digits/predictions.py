"""What was predicted before the test images were drawn, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import xarray as xr

from benchmarks.confirm import predictions


def error(results: xr.Dataset, model: str, way: str, k: int, *, few: bool = False) -> xr.DataArray:
    """The error (seed, set) of a model that draws in one way with k coefficients; NaN where it was
    not run. KeyError where there is no such model, way or k.
    """
    found = results["mse_few" if few else "mse"].sel(model=model, way=way, k=k, drop=True)
    return found.reset_coords(drop=True)


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


def compared(
    results: xr.Dataset, one: Mapping[str, Any], rivals: Mapping[str, Any]
) -> xr.DataArray:
    """The same over seeds, of the set that is asked for, or with all sets where they are counted."""
    found = ratio(results, one, rivals)
    return found if one["sets"] == "each" else found.sel(set=one["sets"])


def decided(results: xr.Dataset, sidecar: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every prediction by its id: what it says, what was found, over how many seeds, the verdict."""

    def asked(one: Mapping[str, Any]) -> xr.DataArray:
        return compared(results, one, sidecar["rivals"])

    return predictions.decided(sidecar["predictions"], asked)
