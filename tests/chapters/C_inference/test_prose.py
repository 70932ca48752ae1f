"""What the page says in words between the numbers, against the shipped results."""

from __future__ import annotations

import pytest
from glued import number

from chapters.C_inference import tables
from vnlib.book import paths, store

FILE = paths.RESULTS / "paper" / "C_inference.nc"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="no shipped results")


@pytest.fixture(scope="module")
def r():
    return store.read(FILE)


def test_fewer_sweeps_by_momentum_and_most_by_the_line_search(r):
    said = tables.numbers(r)
    fista, restart, line = (
        number(said[f"appc-fewer-{s}"]) for s in ("fista", "restart", "line-search")
    )
    assert 1 < fista <= restart < line


def test_a_warm_start_is_worth_what_it_knows(r):
    saved = tables.saved(r).frame["ISTA", "to 0.001", "median"]
    assert saved["noisy input"] < saved["earlier codes"] < 1
    assert saved["shifted input"] > 0.8 and saved["nearest sample"] > 0.8


def test_all_that_is_resumed_has_the_same_bits(r):
    assert tables.numbers(r)["appc-resumed"] == "all"


def test_an_early_stop_has_too_many_atoms(r):
    active = tables.early(r).frame["ISTA", "median"]
    assert (active.iloc[:-1] > 1.05 * active.iloc[-1]).all() and active.is_monotonic_decreasing


def test_accept_reject_takes_back_all_that_rises_and_late_caps_end_lower(r):
    said = tables.numbers(r)
    assert said["appc-rejected-rises"] == "0" and number(said["appc-fista-rises"]) > 0
    assert number(said["appc-cap-late"]) < number(said["appc-cap-at-once"])
