"""What errors and their curves say of a run."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.spatial.claims import settled
from benchmarks.spatial.errors import learned, middles, of_all, over, reported
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


def test_a_run_is_stuck_where_other_starts_of_its_model_are_not():
    ids = [[1e-3, 0.04, 0.2], [0.01, 0.1, 0.4], [0.2, 0.3, 0.45]]
    found = xr.Dataset({"mse_id": (("model", "seed"), ids), "zero_baseline_id": 1.0})
    assert learned(found).values.tolist() == [[True, True, False], [True] * 3, [True] * 3]
    alone = found.isel(seed=[2])
    assert learned(alone).values.ravel().tolist() == [True] * 3, "nothing is known of other starts"
    assert learned(of_all(found).isel(seed=[2])).values.ravel().tolist() == [False, True, True]
    assert "least_id" not in of_all(xr.Dataset({"other": ("seed", [1.0])}))


def test_errors_are_compared_in_the_seeds_of_which_both_models_learned():
    dims = ("model", "seed")
    found = xr.Dataset(
        {
            "mse_id": (dims, [[0.1, 0.1, 0.9], [0.1, 0.1, 0.1], [0.1, 0.9, 0.1]]),
            "mse_ood": (dims, [[1.0, 4.0, 9.0], [2.0, 2.0, 2.0], [4.0, 5.0, 6.0]]),
            "zero_baseline_id": (dims, np.ones((3, 3))),
            "zero_baseline_ood": (dims, np.ones((3, 3))),
        },
        {"model": ["a", "b", "c"], "seed": range(3)},
    )
    assert over(found, "ood", ["a"], ["b", "c"]).values.tolist() == [1.25, 0.25]
    assert over(found, "ood", ["a", "b"], ["b", "c"]).values.tolist() == pytest.approx(
        [1.25, 5 / 12]
    )


def test_a_run_that_draws_nothing_is_in_no_median_unless_none_draws():
    over = ("model", "seed")
    found = xr.Dataset(
        {
            "mse_id": (over, [[0.1, 0.2, 0.9], [0.8, 0.9, 1.0]]),
            "mse_ood": (over, [[0.2, 0.6, 9.0], [0.8, 1.8, 3.0]]),
            "zero_baseline_id": (over, np.ones((2, 3))),
            "zero_baseline_ood": (over, np.ones((2, 3))),
        },
        {"model": ["some", "none"], "seed": range(3)},
    )
    told = reported(found).median("seed")
    assert told["mse_ood"].values.tolist() == pytest.approx([0.4, 1.8])
    ruled = middles(found)
    assert ruled["ratio"].values.tolist() == pytest.approx([2.5, np.nan], nan_ok=True)
