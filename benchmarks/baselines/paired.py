"""Models beside each other within seeds, as all rules compare them: the median over seeds of what
one has over what another has, of seeds that tell both.
"""

from __future__ import annotations

import numpy as np
import xarray as xr


def over(own: xr.DataArray, others: xr.DataArray) -> xr.DataArray:
    """Medians over seeds of the ratios of values to others, along their other dimensions."""
    return (own / others).median("seed")


def best(values: xr.DataArray, along: str = "model") -> xr.DataArray:
    """The values, seed by seed, of whichever has the lowest median, chosen for each place of the other
    dimensions; NaN where one of them has no median.
    """
    middle = values.median("seed")
    known, lowest = middle.notnull().all(along), middle.fillna(np.inf).argmin(along)
    return values.isel({along: lowest}).drop_vars(along).where(known)
