"""Numbers of the tables of appendix G as text."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.G_functions.figures import spread


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1.0, 2.0, 3.0], "2 ± 1"),
        ([0.474, 0.474, 0.474 * (1 + 1e-15)], "0.474 ± 0"),
        ([0.0, 0.0], "0 ± 0"),
        ([np.nan, 0.25, np.nan], "0.25"),
        ([np.nan, np.nan], ""),
    ],
)
def test_seeds_are_a_mean_and_a_spread_where_there_is_one(values, text):
    assert spread(xr.DataArray(values, dims="seed")) == text
