"""What was predicted before the test states were drawn, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from benchmarks.confirm import predictions

BENT = ("gravity", "spring")  # laws that are not linear


def error(results: xr.Dataset, model: str) -> xr.DataArray:
    """The error (seed, cell) of a model that is given all forces at once, in the seeds in which it
    was run. KeyError where there is no such model.
    """
    found = results["mse"].sel(model=model, inference="joint", drop=True)
    return _cells(found).dropna("seed", how="all")


def power(results: xr.Dataset, model: str) -> xr.DataArray:
    """The mean square of true accelerations (seed, cell) on the states of a model's runs."""
    return _cells(results["power"].sel(model=model, drop=True)).dropna("seed", how="all")


def _cells(values: xr.DataArray) -> xr.DataArray:
    return values.reset_coords(drop=True).stack(cell=("forces", "bodies"), create_index=False)


def least(results: xr.Dataset, rivals: Iterable[str]) -> xr.DataArray:
    """The least error (seed, cell) of several rivals, cell by cell, in the seeds in which all were
    run. KeyError where one was not run at all.
    """
    found = [error(results, rival) for rival in rivals]
    return xr.concat(found, "rival", join="inner").min("rival", skipna=False)


def within(values: xr.DataArray, cells: str) -> xr.DataArray:
    """The cells of one kind: all; "linear" ones, of drag and Lorentz alone; "curved" the others,
    and of these those with "springs" and the "smooth" ones without.

    Raises
    ------
    ValueError
        For another kind.
    """
    laws = [set(forces.split("+")) for forces in values["forces"].values]
    kinds = {
        "all": [True for _ in laws],
        "linear": [not one & {*BENT} for one in laws],
        "curved": [bool(one & {*BENT}) for one in laws],
        "springs": ["spring" in one for one in laws],
        "smooth": ["gravity" in one and "spring" not in one for one in laws],
    }
    if cells not in kinds:
        raise ValueError(f"cells must be one of {', '.join(kinds)}, got {cells!r}")
    return values.isel(cell=np.flatnonzero(kinds[cells]))


def ratio(
    results: xr.Dataset, own: str, over: str | Iterable[str], cells: str = "all"
) -> xr.DataArray:
    """The errors (seed, cell) of a model over the least of its rivals, or over the "power", in the
    seeds that have both.
    """
    other = power(results, own) if over == "power" else least(results, over)
    found, other = xr.align(error(results, own), other, join="inner", exclude=["cell"])
    return within(found / other, cells)


def mean_ratio(ratio: xr.DataArray) -> xr.DataArray:
    """The geometric mean (seed) of ratios over cells."""
    return np.exp(np.log(ratio).mean("cell", skipna=False))


def compared(
    results: xr.Dataset, one: Mapping[str, Any], rivals: Mapping[str, Any]
) -> xr.DataArray:
    """The ratios that a prediction is of: of each cell where they are counted, else their mean."""
    over = one["over"]
    if isinstance(over, str) and over != "power":
        over = rivals[over]
    found = ratio(results, one["own"], over, one["cells"])
    return found if "count" in one else mean_ratio(found)


def decided(results: xr.Dataset, sidecar: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every prediction by its id: what it says, what was found, over how many seeds, the verdict."""

    def asked(one: Mapping[str, Any]) -> xr.DataArray:
        return compared(results, one, sidecar["rivals"])

    return predictions.decided(sidecar["predictions"], asked)
