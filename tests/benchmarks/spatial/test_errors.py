"""What errors and their curves say of a run."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.spatial.claims import settled
from benchmarks.spatial.errors import learned
from benchmarks.spatial.settling import late_gain


@pytest.mark.parametrize(("last", "gain"), [(0.99, 0.01), (0.5, 0.5), (2.0, 0.0)])
def test_late_gain_is_that_of_the_last_fifth(last, gain):
    step = np.array([20.0, 40, 60, 80, 100, np.nan])
    val = np.array([4.0, 3, 2, 1, last, np.nan])
    one = xr.Dataset({"curve_step": ("checkpoint", step), "curve_val": ("checkpoint", val)})
    assert float(late_gain(one)) == pytest.approx(gain)


def test_trainings_have_settled_where_the_median_seed_has():
    step = ("checkpoint", [1.0, 4.0, 5.0])
    val = xr.DataArray([[4, 1, 0.99]] * 2 + [[4, 1, 0.5]], dims=("seed", "checkpoint"))
    part = settled(xr.Dataset({"curve_step": step, "curve_val": val}), "three seeds")
    assert part.holds and part.numbers["late_gain"] == pytest.approx(0.01)
    late = val.where(val != 0.99, 0.9)
    assert not settled(xr.Dataset({"curve_step": step, "curve_val": late}), "three").holds


def test_a_run_that_draws_nothing_has_not_learned():
    found = xr.Dataset({"mse_id": ("seed", [0.4, 0.6, 1.0]), "zero_baseline_id": 1.0})
    assert learned(found).values.tolist() == [True, False, False]
