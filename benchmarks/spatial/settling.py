"""When a training has settled."""

from __future__ import annotations

import xarray as xr


def late_gain(results: xr.Dataset) -> xr.DataArray:
    """By what share the least ID validation error fell over the last fifth of the updates (see
    `curves.Watch`): a run below `SETTLED` has settled. NaN for a run that was not watched.
    """
    step, best = results["curve_step"], results["curve_val"]
    early = best.where(step <= 0.8 * step.max("checkpoint")).min("checkpoint")
    return 1 - best.min("checkpoint") / early
