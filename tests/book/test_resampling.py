"""Intervals keep what they promise on results whose truth is known."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from book.site import resampling

TRIALS = 2000


def intervals(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the median of every trial, (trial, seed)."""
    results = xr.Dataset({"x": (("trial", "seed"), values)})
    drawn, chances = zip(
        *(
            (one["x"].median("seed").values, chance)
            for one, chance in resampling.resamples(results)
        ),
        strict=True,
    )
    middle, seeds = np.median(values, 1), values.shape[1]
    return resampling.interval(np.stack(drawn), np.array(chances), middle, seeds)


def normal(seeds: int) -> np.ndarray:
    return np.random.default_rng(seeds).normal(size=(TRIALS, seeds))


@pytest.mark.parametrize("seeds", [3, 4, 5, 6, 8, 10])
def test_intervals_hold_the_truth_as_often_as_they_say(seeds):
    low, high = intervals(normal(seeds))
    chance = 2 * np.sqrt(0.05 * 0.95 / TRIALS)
    # Of five seeds it is the range, which holds the median in 15 of 16 trials.
    assert np.mean((low <= 0) & (high >= 0)) >= (15 / 16 if seeds == 5 else 0.94) - chance
    for missed in (low > 0, high < 0):
        assert missed.mean() <= 0.0375 + chance, "and errs to both sides alike"


def test_the_range_of_five_seeds_needs_no_normal_distribution():
    """Runs of which one in four never learns: the median is that of those that learn."""
    rng = np.random.default_rng(1)
    values = np.where(rng.random((TRIALS, 5)) < 0.25, 7.0, rng.normal(size=(TRIALS, 5)))
    truth = stats.norm.ppf(0.5 / 0.75)
    low, high = intervals(values)
    assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(15 / 16, abs=0.02)


def test_three_seeds_would_hold_the_truth_in_three_of_four_trials():
    """By their range alone: hence the width of Student's t, exact for means."""
    values = normal(3)
    alone = (values.min(1) <= 0) & (values.max(1) >= 0)
    assert alone.mean() == pytest.approx(0.75, abs=0.03)
    means = xr.Dataset({"x": (("trial", "seed"), values)})
    drawn, chances = zip(
        *((one["x"].mean("seed").values, c) for one, c in resampling.resamples(means)), strict=True
    )
    low, high = resampling.interval(np.stack(drawn), np.array(chances), values.mean(1), 3)
    for trial in range(5):
        exact = stats.ttest_1samp(values[trial], 0).confidence_interval(0.95)
        assert (low[trial], high[trial]) == pytest.approx(exact)


def test_few_seeds_have_all_their_resamples_each_with_its_probability():
    results = xr.Dataset({"x": ("seed", np.arange(4.0))}, {"seed": list("abcd")})
    found = list(resampling.resamples(results))
    assert len(found) == 35 and sum(chance for _, chance in found) == pytest.approx(1)
    for one, chance in found:
        assert one["seed"].values.tolist() == list("abcd"), "names stay unique"
        times = np.unique(one["x"], return_counts=True)[1]
        ways = factorial(4) / np.prod([factorial(n) for n in times])
        assert chance == pytest.approx(ways / 4**4)


def test_many_seeds_have_some_and_the_same_ones_each_time():
    results = xr.Dataset({"x": ("seed", np.arange(8.0))})
    first, again = (
        np.array([one["x"].values for one, _ in resampling.resamples(results)]) for _ in range(2)
    )
    assert len(first) == resampling.DRAWN and (first == again).all()
    assert len(np.unique(first, axis=0)) > 0.9 * resampling.DRAWN


def test_results_without_seeds_are_what_they_are():
    results = xr.Dataset({"x": 1.0})
    ((same, chance),) = resampling.resamples(results)
    assert same is results and chance == 1
    low, high = resampling.interval(np.ones((1, 1)), np.ones(1), np.ones(1), 0)
    assert low == high == 1


def test_what_belongs_to_a_seed_stays_together():
    """Models are compared in pairs: what a seed does to both leaves their difference alone."""
    seed = np.random.default_rng(0).normal(scale=10, size=6)
    results = xr.Dataset(
        {"x": (("model", "seed"), np.stack([seed, seed + 0.1])), "name": ("seed", seed)}
    )
    for one, _ in resampling.resamples(results):
        apart = one["x"].diff("model").squeeze()
        assert np.allclose(apart, 0.1) and (one["x"].isel(model=0) == one["name"]).all()


def test_cases_are_drawn_within_their_seed_and_the_same_for_all_models():
    values = 100 * np.arange(3)[:, None] + np.arange(20)
    both = np.stack([values, values])
    results = xr.Dataset(
        {"x": (("model", "seed", "case"), both), "y": ("seed", 100 * np.arange(3)), "z": 1.0}
    )
    counts = []
    for one, _ in resampling.resamples(results, cases=["case"]):
        x = one["x"].transpose("model", "seed", "case").values
        assert (x[0] == x[1]).all() and (x[0] // 100 * 100 == one["y"].values[:, None]).all()
        counts += [len(np.unique(row)) for row in x[0]]
        assert not (x[0, 0] % 100 == x[0, 1] % 100).all(), "each seed has its own cases"
    # of n drawn with replacement 1 - (1 - 1/n)^n are different
    assert np.mean(counts) / 20 == pytest.approx(1 - 0.95**20, abs=0.01)


def test_the_spread_of_cases_counts():
    """Few cases that differ make an interval wide although seeds agree."""
    values = np.tile(np.random.default_rng(2).normal(size=9), (5, 1))
    results = xr.Dataset({"x": (("seed", "case"), values)})
    widths = []
    for cases in ((), ("case",)):
        drawn, chances = zip(
            *((float(o["x"].median()), c) for o, c in resampling.resamples(results, cases=cases)),
            strict=True,
        )
        low, high = resampling.interval(
            np.array(drawn)[:, None], np.array(chances), np.zeros(1), seeds=5
        )
        widths.append((high - low).item())
    assert widths[0] == 0 < widths[1]


def test_of_one_seed_and_of_what_many_resamples_lack_nothing_is_known():
    one, chances = np.array([[0.5], [0.5]]), np.array([0.5, 0.5])
    for values, seeds in ((one, 1), (np.array([[0.5], [np.nan]]), 5)):
        low, high = resampling.interval(values, chances, np.array([0.5]), seeds)
        assert low == -np.inf and high == np.inf


def test_an_infinite_margin_is_a_margin():
    values = np.array([[np.inf], [1.0], [np.inf]])
    low, high = resampling.interval(values, np.ones(3) / 3, np.array([np.inf]), 5)
    assert low == 1 and high == np.inf
