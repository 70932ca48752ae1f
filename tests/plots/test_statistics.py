"""A number over seeds, against NumPy and SciPy, and what is written of it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from glued import ends, number
from scipy import stats

from vnlib.plots.statistics import (
    censored,
    confidence,
    extremes,
    over_seeds,
    said,
    short,
    sides,
    texts,
)


def values(*rows: list[float]) -> xr.DataArray:
    return xr.DataArray(np.array(rows, float), dims=("model", "seed"))


def test_of_few_seeds_the_interval_is_the_range_of_the_values_that_exist():
    found = over_seeds(values([3, 1, 2, 10, 4], [5, np.nan, 7, np.nan, 6]))
    assert found["median"].values.tolist() == [3, 6] and found["n"].values.tolist() == [5, 3]
    assert found["low"].values.tolist() == [1, 5] and found["high"].values.tolist() == [10, 7]


@pytest.mark.parametrize("n", [6, 7, 8, 9, 10, 12, 25])
def test_the_interval_is_that_of_scipy(n):
    drawn = np.random.default_rng(n).exponential(size=(20, n))
    found = over_seeds(values(*drawn.tolist()))
    wanted = np.array([stats.mstats.median_cihs(one) for one in drawn])
    np.testing.assert_allclose(np.stack([found["low"], found["high"]], 1), wanted)


def test_the_interval_holds_the_median_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 6, 8, 10):
        drawn = xr.DataArray(rng.exponential(size=(4000, n)), dims=("model", "seed"))
        found = over_seeds(drawn)
        held = ((found["low"] < np.log(2)) & (found["high"] > np.log(2))).mean()
        assert float(held) == pytest.approx(confidence(n), abs=0.02)
    assert confidence(5) == 0.9375 and {confidence(n) for n in range(6, 40)} == {0.95}


def test_one_seed_has_no_interval_and_runs_that_went_astray_count():
    found = over_seeds(values([1, np.nan, np.nan], [1, 2, np.inf]))
    assert np.isnan(found["low"].values[0]) and np.isnan(found["high"].values[0])
    assert found["n"].values.tolist() == [1, 3] and found["high"].values[1] == np.inf
    many = over_seeds(values([1, 2, 3, 4, 5, 6, 7, np.inf], [1, 2, 3, 4, 5, 6, np.inf, np.inf]))
    assert np.isinf(many["high"]).all() and np.isfinite(many["low"]).all()


@pytest.mark.filterwarnings("error")
def test_no_values_have_no_interval():
    found = over_seeds(values([np.nan] * 8))
    assert np.isnan(found["low"]).all() and np.isnan(found["high"]).all()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.41234, "0.41"),
        (0.996, "1.0"),
        (1.0412, "1.0"),
        (9.96, "10"),
        (12.3, "12"),
        (123.4, "120"),
        (3.24e-5, "3.2e-5"),
        (0, "0"),
        (8, "8.0"),
        (128, "128"),
        (np.nan, ""),
        (1234.5, "1,200"),
        (1234, "1,234"),
        (9876543, "9.9e+6"),
        (-0.5, "-0.50"),
    ],
)
def test_short(value, text):
    assert short(value) == text


def test_an_interval_is_said_only_where_it_reads_differently():
    assert said(0.41, 0.38, 0.44) == "0.41 [0.38, 0.44]" and said(2, 2, 2) == "2.0"
    assert said(0.41, 0.38, 0.44, 3) == "0.41 [0.38, 0.44], n = 3"
    assert said(0.41, np.nan, np.nan) == "0.41" and said(*[np.nan] * 3, 0) == ""


def test_what_is_beyond_the_most_that_was_tried_is_said_and_counts():
    """Order statistics hold where some runs did not get there; the interval may have no end."""
    form = censored(300, "{:.0f}".format)
    found = over_seeds(values([10, 20, 30, np.inf, np.inf], [10, *[np.inf] * 4]))
    first, second = found.to_array().values.T
    assert said(*first, form=form) == "30 [10, > 300], n = 5"
    assert said(*second[:3], form=form) == "> 300 [10, > 300]"
    assert said(np.inf, np.inf, np.inf, form=form) == "> 300" and said(np.nan, form=form) == ""


def test_sides_of_paired_ratios():
    """Surely below, a tie, surely above, and of one seed nothing; pairs of seeds take out what they
    share.
    """
    ratio = values([0.5, 0.6, 0.9], [0.5, 0.6, 1.1], [1.5, 1.2, 1.1], [0.5, np.nan, np.nan])
    assert sides(ratio).values.tolist() == [-1, 0, 1, 0]
    seeds = values([1.0, 10.0, 100.0])
    assert sides(0.9 * seeds / seeds).item() == -1


def test_texts_are_named_by_the_way_to_them_without_blanks():
    error = xr.DataArray([[1.0, 2], [3, 4]], {"model": ["a_1", "b c"], "set": ["x", "y"]})
    found = texts("key", {"error": error, "word": "many"}, "{:.0f}".format)
    cells = {"key-error-a-1-x": "1", "key-error-a-1-y": "2"}
    assert found == cells | {"key-error-b-c-x": "3", "key-error-b-c-y": "4", "key-word": "many"}


def test_texts_say_the_median_over_seeds_with_its_interval():
    one = values([1, 5.5, 2.5])
    assert texts("key", {"one": one.isel(model=0)}) == {"key-one": "2.5 [1.0, 5.5]"}
    alike = texts("key", one.assign_coords(model=["a b"]) * 0 + 7, "{:.0f} %".format)
    assert alike == {"key-a-b": "7 %"}, "once where all read the same"


def test_texts_write_powers_of_ten_out():
    assert texts("key", 3.2e-5) == {"key": "3.2 × 10⁻⁵"} and texts("key", 2e12) == {
        "key": "2.0 × 10¹²"
    }
    one = values([1e-4, 2e-4, 1]).isel(model=0)
    assert texts("key", one) == {"key": "2.0 × 10⁻⁴ [1.0 × 10⁻⁴, 1.0]"}
    assert texts("key", "scale-5 in e-notation") == {"key": "scale-5 in e-notation"}


def test_texts_have_signs_that_are_no_hyphens():
    one = values([-1, -5.5, 2.5]).isel(model=0)
    assert texts("key", one) == {"key": "−1.0 [−5.5, 2.5]"} and texts("key", -3.2e-5) == {
        "key": "−3.2 × 10⁻⁵"
    }
    assert texts("key", "digits 0-4 of VN-1L, p. 3-5") == {"key": "digits 0-4 of VN-1L, p. 3-5"}


def test_extremes_are_the_places_of_the_least_and_the_largest_median():
    found = extremes(values([1, 5, 9], [2, 3, 100], [0, 7, 8]))
    assert found["least"].values.tolist() == [2, 3, 100] and found["most"].values.tolist() == [
        0,
        7,
        8,
    ]
    alone = values([1, 2, 3]).isel(model=0)
    assert all(one.identical(alone) for one in extremes(alone).values())


@pytest.mark.parametrize(
    ("text", "found", "interval"),
    [
        ("3.2 × 10⁻⁵ [1.1 × 10⁻⁵, 4.0]", 3.2e-5, (1.1e-5, 4)),
        ("1,200 [900, 2,000] %", 1200, (900, 2000)),
        ("-0.78 [-0.9, +0.1]", -0.78, (-0.9, 0.1)),
        ("−1,200 [−1,300, 0]", -1200, (-1300, 0)),
        ("2.0e-5", 2e-5, (np.nan, np.nan)),
    ],
)
def test_texts_are_read_as_numbers_again(text, found, interval):
    assert number(text) == found and ends(text) == pytest.approx(interval, nan_ok=True)
    with pytest.raises(ValueError, match="must begin with a number"):
        number("none")
