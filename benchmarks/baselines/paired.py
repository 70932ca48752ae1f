"""Models beside each other within seeds, as rules compare them: the median over seeds of what one has
over what another has, of seeds that tell both.
"""

from __future__ import annotations

import numpy as np
import xarray as xr


def over(own: xr.DataArray, others: xr.DataArray) -> xr.DataArray:
    """Medians over seeds of the ratios of values to others, along their other dimensions."""
    return (own / others).median("seed")


def lowest(values: xr.DataArray, along: str = "model") -> xr.DataArray:
    """The values, seed by seed, of whichever has the lowest median, its name beside them, chosen for
    each place of the other dimensions; what has no median is passed over.
    """
    return values.isel({along: values.median("seed").fillna(np.inf).argmin(along)})


def best(values: xr.DataArray, along: str = "model") -> xr.DataArray:
    """The `lowest` without its name; NaN where one of those to choose from has no median."""
    known = values.median("seed").notnull().all(along)
    return lowest(values, along).drop_vars(along).where(known)
