"""Numbers of the signals of which a reader hides an interval (see `live`)."""

from __future__ import annotations

import numpy as np
import xarray as xr

from benchmarks.functions.names import SETS
from vnlib.plots.statistics import short

SILENT = 1e-6  # power, in units of that of ID signals, below which nothing is hidden


def left(kept: xr.Dataset) -> xr.DataArray:
    """What VN-1L leaves of zero's error (interval, example); NaN where nothing is hidden but zeros."""
    error = kept["error"].isel(seed=0)
    zero = error.sel(filler="zero_baseline", drop=True)
    return error.sel(filler="vn_1", drop=True) / zero.where(zero > SILENT)


def numbers(kept: xr.Dataset) -> dict[str, str]:
    """Medians over intervals with samples seen on both sides, and over those that reach the end, of
    each set of signals; how many signals and intervals there are.
    """
    one = kept.isel(seed=0)
    inside, end = (one["begin"] > 0) & (one["end"] < 1), (one["end"] == 1) & (one["begin"] > 0)
    found = {
        f"fig3-live-{place}-{name}": short(
            float(
                left(kept)
                .isel(interval=where, example=np.flatnonzero(one["signal_set"] == name))
                .median()
            )
        )
        for place, where in {"inside": np.flatnonzero(inside), "end": np.flatnonzero(end)}.items()
        for name in SETS
    }
    counts = {"signals": one.sizes["example"], "inside": int(inside.sum()), "end": int(end.sum())}
    return found | {f"fig3-live-{name}": str(count) for name, count in counts.items()}
