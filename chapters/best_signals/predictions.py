"""What was predicted before the test signals were drawn, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from benchmarks.confirm import predictions

RUN = ("forecast_25", "forecast_50", "block_128")  # masks that hide samples in one run


def singles(results: xr.Dataset, model: str, step: str = "drawn") -> xr.DataArray:
    """The hidden errors (seed, cell, case) of single signals, in the seeds in which a model was run;
    a cell is a mask and a set, "block_128 easy". KeyError where there is no such model.
    """
    found = results["hidden"].sel(model=model, step=step, drop=True).reset_coords(drop=True)
    return _cells(found).dropna("seed", how="all")


def _cells(values: xr.DataArray) -> xr.DataArray:
    values = values.stack(cell=("mask", "set"), create_index=False)
    pairs = zip(values["mask"].values, values["set"].values, strict=True)
    return values.assign_coords(cell=[f"{mask} {name}" for mask, name in pairs])


def error(results: xr.Dataset, model: str, step: str = "drawn") -> xr.DataArray:
    """The mean of these (seed, cell) over all signals that a model was given."""
    return singles(results, model, step).mean("case")


def ratio(
    results: xr.Dataset, own: Sequence[str], over: Iterable[Sequence[str]], cells: str = "all"
) -> xr.DataArray:
    """The errors (seed, cell) of a model over the least of its rivals, cell by cell, in the seeds
    that all have, and over the signals that all were given. A model is named with its step.
    """
    parts = xr.align(*(singles(results, *one) for one in (own, *over)), join="inner")
    common = xr.concat(parts, "one").notnull().all("one")
    first, *others = (part.where(common).mean("case") for part in parts)
    return within(first / xr.concat(others, "rival").min("rival", skipna=False), cells)


def share(results: xr.Dataset, own: Sequence[str], over: Sequence[str]) -> xr.DataArray:
    """The share of signals (seed, cell) on which a model errs less than another one."""
    first, other = xr.align(singles(results, *own), singles(results, *over), join="inner")
    return (first < other).where((first + other).notnull()).mean("case")


def within(values: xr.DataArray, cells: str) -> xr.DataArray:
    """The cells of one kind: "all"; "run", whose samples are hidden in one run; or a cell itself.

    Raises
    ------
    ValueError
        For a kind or cell that there is none of.
    """
    names = values["cell"].values.tolist()
    if cells == "all":
        return values
    if cells == "run":
        return values.isel(cell=np.isin(values["mask"].values, RUN))
    if cells not in names:
        raise ValueError(f"cells must be all, run or one of {', '.join(names)}, got {cells!r}")
    return values.sel(cell=cells, drop=True)


def compared(
    results: xr.Dataset, one: Mapping[str, Any], rivals: Mapping[str, Any]
) -> xr.DataArray:
    """The ratios that a prediction is of, by seed, and cell where cells are counted."""
    over = rivals[one["over"]] if isinstance(one["over"], str) else one["over"]
    return ratio(results, one["own"], over, one["cells"])


def decided(results: xr.Dataset, sidecar: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every prediction by its id: what it says, what was found, over how many seeds, the verdict."""

    def asked(one: Mapping[str, Any]) -> xr.DataArray:
        return compared(results, one, sidecar["rivals"])

    return predictions.decided(sidecar["predictions"], asked)
