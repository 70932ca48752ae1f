"""A number over seeds, against NumPy, and what is written of it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.plots.statistics import over_seeds, said, short, texts


def values(*rows: list[float]) -> xr.DataArray:
    return xr.DataArray(np.array(rows, float), dims=("model", "seed"))


def test_median_range_and_number_are_those_of_the_values_that_exist():
    found = over_seeds(values([3, 1, 2, 10, 4], [5, np.nan, 7, np.nan, 6]))
    assert found["median"].values.tolist() == [3, 6] and found["n"].values.tolist() == [5, 3]
    assert found["low"].values.tolist() == [1, 5] and found["high"].values.tolist() == [10, 7]


def test_the_interval_holds_the_median_of_many_seeds_95_times_of_a_hundred():
    rng = np.random.default_rng(0)
    found = over_seeds(xr.DataArray(rng.normal(size=(200, 25)), dims=("model", "seed")))
    covered = ((found["ci_low"] < 0) & (found["ci_high"] > 0)).mean()
    assert 0.9 < covered < 0.99


def test_the_interval_is_the_same_each_time_and_nan_below_three_seeds():
    one = values([1, 2, 5, 4], [1, 2, np.nan, np.nan])
    first, again = over_seeds(one), over_seeds(one)
    assert first.identical(again) and np.isnan(first["ci_low"].values[1])
    assert 1 <= float(first["ci_low"][0]) <= 3 <= float(first["ci_high"][0]) <= 5


def test_equal_values_have_an_interval_of_no_width():
    found = over_seeds(values([2, 2, 2]))
    assert float(found["ci_low"][0]) == float(found["ci_high"][0]) == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.41234, "0.412"),
        (1.0412, "1.04"),
        (12.3, "12"),
        (3.24e-5, "3.2e-5"),
        (0, "0"),
        (np.nan, ""),
        (1234, "1,230"),
        (9876543, "9.9e+6"),
        (-0.5, "-0.500"),
    ],
)
def test_short(value, text):
    assert short(value) == text


def test_a_range_is_said_only_where_it_reads_differently():
    assert (
        said(0.41, 0.38, 0.44) == "0.410 [0.380, 0.440]"
        and said(2, 2, 2) == "2.00"
        and said(*[np.nan] * 3) == ""
    )


def test_texts_are_named_by_the_way_to_them_without_blanks():
    error = xr.DataArray([[1.0, 2], [3, 4]], {"model": ["a_1", "b c"], "set": ["x", "y"]})
    found = texts("key", {"error": error, "word": "many"}, "{:.0f}".format)
    cells = {"key-error-a-1-x": "1", "key-error-a-1-y": "2"}
    assert found == cells | {"key-error-b-c-x": "3", "key-error-b-c-y": "4", "key-word": "many"}


def test_texts_say_the_median_over_seeds():
    assert texts("key", {"one": values([1, 5, 2]).isel(model=0)}) == {"key-one": "2.00"}
