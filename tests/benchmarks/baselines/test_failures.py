"""Failed runs are counted with the exact interval of a binomial share."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import beta

from benchmarks.baselines.failures import failures


def test_counts_have_the_interval_of_clopper_and_pearson():
    runs = np.array([[1, 0, 0, 0, 0, 0, 0, 0], [0] * 8, [1] * 8, [1, 0, *[np.nan] * 6]])
    told = failures(xr.DataArray(runs, dims=("model", "seed"))).values.tolist()
    assert told == ["1 of 8 [0 to 53 %]", "0 of 8 [0 to 37 %]", "8 of 8 [63 to 100 %]",
                    "1 of 2 [1 to 99 %]"]  # fmt: skip
    assert beta.ppf([0.025, 0.975], [1, 2], [8, 7]) == pytest.approx([0.0032, 0.527], rel=0.02)


def test_where_no_run_is_nothing_is_said():
    assert failures(xr.DataArray([np.nan, np.nan], dims="seed")).item() == ""
