"""Tables and numbers of image composition on made-up results."""

from __future__ import annotations

import pytest

from chapters.fig5_mnist import tables
from chapters.fig5_mnist.sets import SETS
from data_gen import digits
from vnlib.plots.tables import Table

MADE = {
    "errors": tables.errors_table,
    "errors, motions": lambda r: tables.errors_table(r, "motions"),
    "matching": tables.matching_table,
    "sets": tables.sets_table,
    "readings": lambda r: tables.readings_table(r, "digits", "top"),
    "searched": lambda r: tables.readings_table(r, "motions", "searched"),
    "convergence": tables.convergence_table,
    "longer": tables.longer_table,
    "longer, motions": lambda r: tables.longer_table(r, "motions"),
}
CHOICES = {"all": slice(None), "one": ["ae"], "motions": ["m_vn_1", "m_ae"], "none": ["dct"]}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("chosen", CHOICES)
def test_tables_are_made_of_any_models(fig5_results, name, chosen):
    some = fig5_results.sel(model=CHOICES[chosen])
    # A benchmark without models has no sets.
    some = some.sel(set=[one for name in set(some["benchmark"].values) for one in SETS[name]])
    made = MADE[name](some)
    shown = made.shown().to_string() if isinstance(made, Table) else made.data
    assert shown and "nan" not in shown


def test_what_is_matched_is_in_the_table(fig5_results):
    frame = tables.matching_table(fig5_results).frame
    assert frame.loc["AE", ("over VN-1L, test", "median")] == pytest.approx(1.02)
    assert frame.loc["AE", ("ID error, test", "median")] == pytest.approx(5.1)
    assert frame.loc["VN_1", ("units, ID", "median")] == 60
    assert frame.loc["VN_1", ("units, most of any set", "median")] == 90
    motions = tables.matching_table(fig5_results, "motions").frame
    assert motions.loc["M_AE", ("over VN-1L, validation", "high")] == pytest.approx(1.1)


def test_twice_the_updates_stand_in_a_table_of_their_own(fig5_results):
    frame = tables.longer_table(fig5_results).frame
    assert frame.index.tolist() == ["VN_1"]
    assert frame.loc["VN_1", ("ID", "median")] == pytest.approx(0.9)
    assert frame.loc["VN_1", ("OOD, median of sets", "median")] == pytest.approx(0.9 * 1.2 / 1.5)
    assert "VN_1_LONGER" not in tables.convergence_table(fig5_results).frame.index


def test_growth_is_averaged_by_family(fig5_results):
    frame = tables.errors_table(fig5_results).frame
    assert frame.index.tolist()[:3] == ["VN_1", "VN_3", "AE"] and "ZERO_BASELINE" in frame.index
    assert frame.loc["AE", ("growth, max", "median")] == pytest.approx(3)
    assert frame.loc["AE", ("growth, add/subtract", "low")] == pytest.approx(3 * 10**0.25)
    assert frame.loc["VN_1", ("median OOD error", "high")] == pytest.approx(7.5)


def test_sets_are_compared_with_the_matched_autoencoder(fig5_results):
    frame = tables.sets_table(fig5_results).frame
    ratio = frame["AE error over VN-1L's", "median"]
    assert ratio["difference"] == pytest.approx(20.4) and ratio["single"] == pytest.approx(1.02)
    assert set(frame["VN-1L better [% of images]"].values.ravel()) == {100}


def test_readings_are_over_own_drawings(fig5_results):
    top = tables.readings_table(fig5_results, "digits", "top").frame
    assert top.index.tolist() == ["VN_3"]
    assert middles(top, "VN_3") == pytest.approx([0.2 / 0.006, 0.2 / 0.009])
    assert top["sets surely worse than the zero baseline"].iloc[0].item() == 13
    searched = tables.readings_table(fig5_results, "digits", "searched").frame
    # "sub2" got its factor of ten in both readings.
    assert middles(searched, "AE") == pytest.approx([0.5, 0.5])


def middles(frame, row: str) -> list[float]:
    """The medians over seeds in a row."""
    return frame.loc[row, [column for column in frame.columns if column[-1] == "median"]].tolist()


def test_numbers_follow_from_the_errors(fig5_results):
    found = tables.numbers(fig5_results)
    assert found["fig5-digits-id-vn-1"] == "5.0" and found["fig5-motions-growth-m-ae"] == "4.0"
    assert found["fig5-digits-ratio-second"] == "2.0" and found["fig5-digits-ratio-most"] == "20"
    assert found["fig5-digits-lower"] == "“DCT”" and found["fig5-motions-lower"] == ""
    assert found["fig5-growth-m-ae-RTS-x3"] == "4.0"
    # A line from 2 to 1 in ten checks, the ninth and tenth of which are at 0.81 and 1 of an
    # autoencoder's updates, and at 0.9 and 1 of a Vector Network's.
    assert (found["fig5-unsettled"], found["fig5-seeds"]) == ("6", "3")
    assert found["fig5-late-vn-1"] == "18 %" and found["fig5-late-ae"] == "11 %"


def test_formulas_are_listed():
    frame = tables.formulas_table(digits.FORMULAS).frame
    assert len(frame) == len(digits.SETS) and frame.loc["sum of 2", "image"] == "x + y"
