"""What the page says of the shipped results, between its numbers."""

from __future__ import annotations

import pytest

from chapters.FR3_low_rank.claims import own_band
from chapters.FR3_low_rank.tables import (
    correlation,
    effective_rank,
    numbers,
    relative,
    with_maps,
)
from vnlib.book import paths, store

COMPOSES = 0.1


@pytest.fixture(scope="module")
def results():
    return store.read(paths.RESULTS / "paper" / "FR3_low_rank.nc")


def test_who_composes(results):
    worst, best = (getattr(relative(results), f)("hold_out") for f in ("max", "min"))
    for model in ("none", "entropy", "rank1", "free", "decay"):
        assert float(best.sel(model=model)) > 0.5
    for model in ("variance", "bands"):
        assert float(worst.sel(model=model)) < COMPOSES
    assert float(worst.sel(model="factorised")) < 1e-6
    assert (relative(results).sel(model="both") > relative(results).sel(model="variance")).all()
    square = relative(results).sel(model="both", hold_out="square")
    assert float(square) > COMPOSES, "in the square above a tenth of a zero image's"


def test_peaks_are_right_with_the_variance_penalty(results):
    found = numbers(results)
    for model in ("variance", "factorised"):
        assert (
            found[f"fr3-hits-{model}-square"] == found[f"fr3-hits-{model}-large-corner"] == "100 %"
        )


def test_bands_and_not_the_rank_go_with_composing(results):
    some = results.sel(model=with_maps(results))
    composes = relative(some).max("hold_out") <= COMPOSES
    band = own_band(some).median("seed").min("hold_out")
    rank = effective_rank(some).median("seed").max("hold_out")
    assert (band[composes] > 0.9).all() and 0 < composes.sum() < composes.size
    assert (rank[~composes] < 1.05).any()
    by_rank, by_band = (correlation(results, f(results)) for f in (effective_rank, own_band))
    assert abs(by_rank) < 0.5 < abs(by_band)


def test_half_of_a_map_is_in_bands_without_penalties(results):
    assert (own_band(results).sel(model="none").median("seed") >= 0.5).all()


def test_the_variance_penalty_makes_the_volume_even(results):
    spread = results["volume_spread"].sel(layer="output").median("seed")
    assert (spread.sel(model="variance") < 0.1 * spread.sel(model="none")).all()
