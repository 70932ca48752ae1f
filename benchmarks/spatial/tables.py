"""Errors of decoders as tables, and as the numbers that prose quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, spread

ZERO = "Zero baseline"


def ratio(results: xr.Dataset) -> xr.DataArray:
    """OOD error over ID error, seed by seed."""
    return results["mse_ood"] / results["mse_id"]


def with_zero_baseline(frame: pd.DataFrame, values: Mapping[str, float]) -> pd.DataFrame:
    """The frame with a last row for a zero image, which has no seeds; `values` by quantity."""
    row = [values.get(column[0], np.nan) for column in frame.columns]
    return pd.concat([frame, pd.DataFrame([row], index=[ZERO], columns=frame.columns)])


def errors(results: xr.Dataset, *, training: bool = False) -> Table:
    """Errors, their ratio, peaks and size of each model, and the errors of a zero image.

    Parameters
    ----------
    training
        Whether the error at training positions is a column, too.
    """
    quantities = {
        "training error": results["mse_train"],
        "ID test error": results["mse_id"],
        "OOD error": results["mse_ood"],
        "OOD / ID": ratio(results),
    }
    if not training:
        del quantities["training error"]
    frame = pd.concat(
        [spread(values, "model", title=name) for name, values in quantities.items()], axis=1
    )
    single = {
        "ID peaks within 1 px": "hit_id",
        "OOD peaks within 1 px": "hit_ood",
        "atoms in use": "active_share",
        "parameters": "n_parameters",
    }
    for name, variable in single.items():
        frame[name, ""] = median(results[variable]).values
    zero_id, zero_ood = (float(results[f"zero_baseline_{s}"].median()) for s in ("id", "ood"))
    frame = with_zero_baseline(
        frame,
        {"ID test error": zero_id, "OOD error": zero_ood, "OOD / ID": zero_ood / zero_id},
    )
    formats = {"atoms in use": "{:.0%}", "parameters": "{:,.0f}"}
    formats |= {name: "{:.0%}" for name in single if "peaks" in name}
    return Table(frame, formats, name="errors of all models")


def medians(results: xr.Dataset, models: Sequence[str], name: str = "mse_ood") -> dict[str, float]:
    """The median over seeds of a variable, or of the `ratio`, for those models that are there."""
    middle = median(ratio(results) if name == "ratio" else results[name])
    return {m: float(middle.sel(model=m)) for m in models if m in middle["model"].values}


def extent(values: Sequence[float]) -> str:
    """From the least to the largest, for prose."""
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} to {high}"
