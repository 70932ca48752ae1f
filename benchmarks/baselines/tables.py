"""Tables that chapters with trained baselines share."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from vnlib.plots.frames import some
from vnlib.plots.tables import Table, if_computed, spreads


@if_computed
def longer(ratios: Mapping[str, xr.DataArray]) -> Table:
    """What twice the updates leave of errors (model, seed), a column for each (see `longer.change`)."""
    some([model for one in ratios.values() for model in one["model"].values])
    return Table(spreads(ratios, "model"), name="errors with twice the updates over those without")
