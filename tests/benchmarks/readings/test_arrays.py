"""Arrays that are picked by name, beside what xarray picks."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays, over


@pytest.fixture
def results() -> xr.Dataset:
    values = np.random.default_rng(0).normal(size=(3, 5, 2, 4))
    axes = {"model": ["a", "b", "c"], "seed": range(5), "size": [12, 16]}
    found = xr.Dataset({"x": (("model", "seed", "size", "resample"), values)}, axes)
    return found.assign(side=("size", [12.0, 16.0]))


def test_labels_pick_what_they_name_and_resamples_come_first_and_seeds_last(results):
    r = Arrays(results)
    x = results["x"].transpose("resample", "model", "size", "seed")
    assert np.array_equal(r("x"), x)
    assert np.array_equal(r("x", size=16, model="b"), x.sel(size=16, model="b"))
    picked = r("x", size=[16, 12], model=["c", "a"])
    assert np.array_equal(picked, x.sel(size=[16, 12], model=["c", "a"]))
    assert np.array_equal(r("side", model="a"), [12, 16]), "which has no models"


def test_a_label_that_lacks_is_named(results):
    r = Arrays(results)
    for where in ({"model": "d"}, {"model": ["a", "d"]}):
        with pytest.raises(KeyError, match="the model d"):
            r("x", **where)
    with pytest.raises(KeyError, match="the model d"):
        r("side", model="d")


@pytest.mark.parametrize("how", ["mean", "median", "min", "max"])
def test_what_is_not_known_is_left_out_as_xarray_does(results, how):
    x = results["x"].where(results["x"] > -1).where(results["model"] != "b")
    expected = getattr(x, how)("model").values
    assert np.array_equal(over(x.values, how, 0), expected, equal_nan=True)
    assert np.isnan(over(np.full((2, 3), np.nan), how)).all()
