"""What a statement compares: how far values are on the right side of their bounds."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from statement_cases import asked, below

from book.site import statements
from book.site.statements import FAILS, HOLDS, NOT_TESTABLE, TIE, UNDECIDED
from vnlib.book import evidence as numbers
from vnlib.book.ledger import Contrast, Part

BAND = np.log(1.05)


def contrast(sign: str, bound: float, *values, **scale) -> Contrast:
    return Contrast(np.array(values), sign, bound, **scale)


@pytest.mark.parametrize(
    ("one", "kind", "margin", "band"),
    [
        (contrast("<", 2.0, 1.0), "log ratio", np.log(2), BAND),
        (contrast(">=", 2.0, 1.0), "log ratio", -np.log(2), BAND),
        (contrast(">=", 0.9, 0.95, limit=1.0), "log ratio", np.log(2), BAND),
        (contrast(">=", 1.0, 1.0, limit=1.0), "difference", 0.0, 0.0),
        (contrast("<=", 0.0, 0.0), "difference", 0.0, 0.0),
        (contrast("<", 0.2, 0.15, band=0.02), "difference", 0.05, 0.02),
        (contrast(">=", 9, 11), "count", 2.0, 0.0),
        (contrast("", 0.0, False), "yes or no", -1.0, 0.0),
    ],
)
def test_a_contrast_is_how_far_a_value_is_on_the_right_side(one, kind, margin, band):
    assert statements.kind(one) == kind
    assert statements.margins(one) == pytest.approx([margin])
    assert statements.band(one) == pytest.approx(band)
    if kind != "yes or no":
        assert statements.value(one, margin) == pytest.approx(float(one.values[0]))


def test_a_value_of_zero_is_infinitely_far_from_a_bound_above_it():
    found = statements.margins(contrast("<", 1.0, 0.0, -1.0, np.nan))
    assert found[:2].tolist() == [np.inf, np.inf] and np.isnan(found[2])
    (row,) = asked(lambda r: [below(r)], np.zeros(5))
    assert row["verdict"] == HOLDS and row["contrasts"][0]["margin"] == [None] * 3


def test_a_number_that_does_not_exist_decides_nothing():
    (row,) = asked(lambda r: [below(r)], np.full(5, np.nan))
    assert row["verdict"] == NOT_TESTABLE and row["missing"] == "its value does not exist"


def test_a_seed_without_a_value_is_left_out():
    """Few resamples are of it alone: they do not make the others undecided."""
    values = np.array([0.10, np.nan, 0.11, 0.12, 0.13, 0.14])
    (row,) = asked(lambda r: [below(r, 0.25)], values)
    assert (row["verdict"], row["seeds"]) == (HOLDS, 5)
    assert row["contrasts"][0]["value"][1] <= 0.14
    (row,) = asked(lambda r: [below(r, 0.25)], np.array([0.1, np.nan]))
    assert row["verdict"] == UNDECIDED, "a quarter of the resamples lack it"


@pytest.mark.parametrize(
    ("seeds", "wanted"),
    [
        ([1.0, 1.0, 1.0, 1.0, 1.0], HOLDS),
        ([1.01, 1.012, 1.014, 1.016, 1.018], HOLDS),
        ([1.049, 1.05, 1.05, 1.05, 1.051], TIE),
        ([1.06, 1.07, 1.08, 1.09, 1.1], FAILS),
    ],
)
def test_nearer_to_the_middle_of_a_range_is_never_worse(seeds, wanted):
    """A range as narrow as the band in which values count as equal to a bound."""
    (row,) = asked(
        lambda r: [numbers.within("x", 0.95, 1.05, x=r["x"].median("seed"))], np.array(seeds)
    )
    assert row["verdict"] == wanted


@pytest.mark.parametrize(
    ("failed", "runs", "wanted"),
    [(0, 8, UNDECIDED), (0, 56, UNDECIDED), (0, 80, HOLDS), (3, 8, UNDECIDED), (7, 8, FAILS)],
)
def test_a_share_of_runs_has_the_exact_interval(failed, runs, wanted):
    """No resample of runs that all end alike has another share; 0 of 8 may well be a third."""
    values = np.array([1.0] * failed + [0.0] * (runs - failed))

    def rule(r: xr.Dataset) -> list[Part]:
        share = numbers.bounded("x", "<=", 0.05, x=r["x"].mean())
        return [numbers.scaled(share, of=runs)]

    (row,) = asked(rule, values)
    assert row["verdict"] == wanted
    exact = stats.binomtest(failed, runs).proportion_ci(0.95)
    ends = sorted(row["contrasts"][0]["value"][1:])
    assert ends[0] <= exact.low + 1e-3 and ends[1] >= exact.high - 1e-3
