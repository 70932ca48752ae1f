"""Errors of decoders as tables, and as the numbers that prose quotes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.spatial.errors import ratio
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, spreads

SINGLE = {
    "ID peaks within 1 px": ("hit_id", "{:.0%}"),
    "OOD peaks within 1 px": ("hit_ood", "{:.0%}"),
    "atoms in use": ("active_share", "{:.0%}"),
    "parameters": ("n_parameters", "{:,.0f}"),
}


def with_zero_baseline(frame: pd.DataFrame, values: Mapping[str, float]) -> pd.DataFrame:
    """The frame with a last row for a zero image, which has no seeds; `values` by quantity."""
    row = [values.get(column[0], np.nan) for column in frame.columns]
    return pd.concat([frame, pd.DataFrame([row], ["Zero baseline"], frame.columns)])


def errors(results: xr.Dataset, *, training: bool = False) -> Table:
    """Errors, their ratio, peaks and size of each model, and the errors of a zero image.

    Parameters
    ----------
    training
        Whether the error at training positions is a column, too.
    """
    quantities = {"training error": results["mse_train"]} if training else {}
    quantities |= {"ID test error": results["mse_id"], "OOD error": results["mse_ood"]}
    quantities |= {"OOD / ID": ratio(results)}
    quantities |= {title: median(results[name]) for title, (name, _) in SINGLE.items()}
    id_, ood = (float(results[f"zero_baseline_{split}"].median()) for split in ("id", "ood"))
    zero = {"ID test error": id_, "OOD error": ood, "OOD / ID": ood / id_}
    formats = {title: form for title, (_, form) in SINGLE.items()}
    frame = with_zero_baseline(spreads(quantities, "model"), zero)
    return Table(frame, formats, name="errors of all models")


def gains(values: xr.DataArray, pairs: Mapping[str, tuple[str, str]]) -> dict[str, xr.DataArray]:
    """How many times the value of the second model of each pair is that of the first."""
    return {
        name: values.sel(model=worse) / values.sel(model=better)
        for name, (better, worse) in pairs.items()
    }


def extent(values: xr.DataArray) -> str:
    """From the least to the largest, for prose."""
    low, high = (short(float(end)) for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"
