"""Tables of models of force composition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from vnlib.plots.frames import label
from vnlib.plots.tables import Table, frame


def by_model(
    results: xr.Dataset, models: Sequence[str], columns: Mapping[Any, xr.DataArray], name: str
) -> Table:
    """A row per model, with a number of each column."""
    rows = {
        label(results, m): {title: float(one.sel(model=m)) for title, one in columns.items()}
        for m in models
    }
    return Table(frame(rows, "model"), name=name)
