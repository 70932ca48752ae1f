"""Runs that learned nothing, counted, with an exact interval of their share."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import binomtest

from vnlib.plots.statistics import percent


def failures(failed: xr.DataArray) -> xr.DataArray:
    """How many runs failed of those that there are, and the exact 95 % interval of their share
    (Clopper and Pearson), as texts: "1 of 8 [0 to 53 %]".

    Parameters
    ----------
    failed
        1 for a run that failed, 0 for one that did not, NaN where there is none (seed, ...).
    """
    said = {"input_core_dims": [["seed"]], "vectorize": True, "output_dtypes": [object]}
    return xr.apply_ufunc(_counted, failed.astype(float), **said)


def _counted(failed: np.ndarray) -> str:
    there = failed[~np.isnan(failed)].astype(int)
    if not len(there):
        return ""
    ends = binomtest(there.sum(), len(there)).proportion_ci(0.95, method="exact")
    low, high = percent(ends.low).removesuffix(" %"), percent(ends.high)
    return f"{there.sum()} of {len(there)} [{low} to {high}]"
