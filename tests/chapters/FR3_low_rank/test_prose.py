"""What the page says of the shipped results, between its numbers."""

from __future__ import annotations

import pytest
from glued import number

from benchmarks.spatial.errors import learned
from benchmarks.spatial.settling import late_gain
from chapters.FR3_low_rank.claims import FOUR, in_order, own_band
from chapters.FR3_low_rank.tables import (
    correlation,
    effective_rank,
    numbers,
    relative,
    with_maps,
)
from vnlib.book import paths, store
from vnlib.plots.statistics import median, over_seeds

COMPOSES = 0.1


@pytest.fixture(scope="module")
def results():
    return store.read(paths.RESULTS / "paper" / "FR3_low_rank.nc")


def test_who_composes(results):
    assert learned(results).all(), "all seeds learned"
    found = median(relative(results))
    worst, best = (getattr(found, f)("hold_out") for f in ("max", "min"))
    for model in ("none", "entropy", "rank1", "free", "decay"):
        assert float(best.sel(model=model)) > 0.5
    for model in ("variance", "both", "bands"):
        assert float(worst.sel(model=model)) < COMPOSES
    assert float(worst.sel(model="factorised")) < 1e-6
    assert (found.sel(model="entropy") < found.sel(model="none")).all()
    penalties = [name for name in with_maps(results) if name.startswith(("variance", "both"))]
    assert (found.sel(model="bands") < found.sel(model=penalties).min("model")).all()
    every = relative(results)
    ratio = over_seeds(every.sel(model="bands") / every.sel(model=penalties))
    assert (ratio["high"] < 1).all()


def test_bands_and_rank_1_had_not_settled(results):
    gain = median(late_gain(results).sel(model=["bands", "rank1"]))
    assert (gain > 0.05).all()


def test_a_tenth_of_the_penalty_composes_as_well(results):
    found = relative(results)
    ratio = over_seeds(found.sel(model="variance_low") / found.sel(model="variance"))
    corner, square = (ratio.sel(hold_out=name) for name in ("large_corner", "square"))
    assert float(corner["low"]) < 1 < float(corner["high"]) and float(square["high"]) < 1
    weights = median(found).sel(model=["variance_low", "variance", "variance_high"])
    assert (weights.argmin("model") == 0).all(), "the smallest by medians most"
    assert (10 * weights < median(found).sel(model="none")).all()
    found = found.sel(hold_out="large_corner")
    assert (median(found).sel(model=["variance_low", "variance_high"]) < COMPOSES).all()
    assert (own_band(results).sel(model="variance_low").median("seed") > 0.99).all()


def test_the_last_two_of_the_four_settings_change_places_along_training(results):
    curves = results.sel(model=list(FOUR))
    ood = curves["curve_ood"].median("seed")
    times = in_order(ood).sum("checkpoint")
    assert (times > 0).all() and (times < ood.sizes["checkpoint"]).all()
    step = curves["curve_step"].isel(model=0, hold_out=0, seed=0)
    late = ood.isel(checkpoint=(step >= 2400).values)
    first, last = late.sel(model=["none", "entropy"]), late.sel(model=["variance", "both"])
    assert (first.min("model") > 5 * last.max("model")).all()


def test_both_penalties_are_slow(results):
    one = results.sel(model="both")
    assert (late_gain(one).median("seed") > 0.1).all()
    of_zero = (one["mse_ood"] / one["zero_baseline_ood"]).max("seed")
    assert (of_zero > COMPOSES).all(), "single seeds"


def test_peaks_are_right_with_the_variance_penalty(results):
    found = numbers(results)
    for model in ("variance", "both", "factorised"):
        assert (
            number(found[f"fr3-hits-{model}-square"])
            == number(found[f"fr3-hits-{model}-large-corner"])
            == 100
        )


def test_bands_and_not_the_rank_go_with_composing(results):
    some = results.sel(model=with_maps(results))
    composes = median(relative(some)).max("hold_out") <= COMPOSES
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
    assert (spread.sel(model="both") < 0.5 * spread.sel(model="none")).all()
    assert (spread.sel(model="bands") == spread.drop_sel(model="factorised").min("model")).all()
