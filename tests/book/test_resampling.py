"""Intervals keep what they promise on results whose truth is known."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from book.site import retesting
from vnlib.book import resampling

TRIALS = 2000
CHANCE = 2 * np.sqrt(0.05 * 0.95 / TRIALS)


def intervals(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the median of every trial, (trial, seed)."""
    results = xr.Dataset({"x": (("trial", "seed"), values)})
    drawn = [one["x"].median("seed").values for one in resampling.resamples(results)]
    return resampling.interval(np.stack(drawn), np.median(values, 1), values.shape[1])


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
    drawn = [one["x"].mean("seed").values for one in resampling.resamples(means)]
    low, high = resampling.interval(np.stack(drawn), values.mean(1), 3)
    for trial in range(5):
        exact = stats.ttest_1samp(values[trial], 0).confidence_interval(0.95)
        assert (low[trial], high[trial]) == pytest.approx(exact)


def test_the_intervals_of_means_are_those_of_student():
    """On average, of what is normal."""
    for seeds in (4, 6, 8, 10):
        values = normal(seeds)
        chosen = resampling.subsets(seeds)
        means = (values @ chosen.T / chosen.sum(1)).T
        low, high = resampling.interval(means, values.mean(1), seeds)
        missed = np.mean((low > 0) | (high < 0))
        assert missed == pytest.approx(0.05, abs=0.035 if seeds < 6 else 0.02)


def test_resamples_are_all_subsets_of_up_to_six_seeds():
    results = xr.Dataset({"x": ("seed", np.arange(4.0))}, {"seed": list("abcd")})
    found = ["".join(one["seed"].values) for one in resampling.resamples(results)]
    subsets = {"".join(some) for size in range(1, 5) for some in combinations("abcd", size)}
    assert len(found) == 15 and {*found} == subsets
    assert len({*map(tuple, resampling.subsets(6))}) == 63


@pytest.mark.parametrize("seeds", [7, 8, 10, 40])
def test_of_more_seeds_they_are_a_group_in_which_seeds_are_independent(seeds):
    chosen = resampling.subsets(seeds)
    words = {*map(tuple, chosen)}
    assert len(words) == 63 and chosen.any(1).all()
    for one in chosen[::13]:
        for other in chosen[::11]:
            assert tuple(one ^ other) in words or not (one ^ other).any()
    assert (chosen.sum(0) == 32).all()
    together = chosen.astype(int).T @ chosen
    assert (together[~np.eye(seeds, dtype=bool)] == 16).all()


def test_more_than_63_seeds_are_told_apart_by_more_subsets():
    chosen = resampling.subsets(80)
    assert chosen.shape == (127, 80) and len({*map(tuple, chosen.T)}) == 80


def test_results_without_seeds_are_what_they_are():
    results = xr.Dataset({"x": 1.0})
    (same,) = resampling.resamples(results)
    assert same is results
    low, high = resampling.interval(np.ones((1, 1)), np.ones(1), 0)
    assert low == high == 1


def test_what_belongs_to_a_seed_stays_together():
    """Models are compared in pairs: what a seed does to both leaves their difference alone."""
    seed = np.random.default_rng(0).normal(scale=10, size=6)
    results = xr.Dataset(
        {"x": (("model", "seed"), np.stack([seed, seed + 0.1])), "name": ("seed", seed)}
    )
    for one in resampling.resamples(results):
        apart = one["x"].diff("model").squeeze()
        assert np.allclose(apart, 0.1) and (one["x"].isel(model=0) == one["name"]).all()


def kept() -> xr.Dataset:
    """Errors of 20 cases in two sets, those of the first seed only, and their averages."""
    rng = np.random.default_rng(3)
    each = rng.random((2, 4, 20)) + 0.5  # (model, seed, case)
    mean = np.stack([each.mean(-1), np.ones((2, 4))], -1)
    first = np.where(np.arange(4)[:, None] == 0, each, np.nan)
    return xr.Dataset(
        {
            "error": (("model", "seed", "case"), first),
            "every": (("model", "seed", "case"), each),
            "mse": (("model", "seed", "set"), mean),
            "power": (("seed", "set"), mean[0]),
            "steps": (("model", "seed"), np.ones((2, 4))),
        },
        {"model": ["vn", "zero"], "set": ["hard", "id"], "case": np.arange(20)},
    )


MEANS = {
    "mse": ("error", {"set": "hard"}),
    "power": ("error", {"set": "hard", "model": "zero"}),
}


def test_cases_are_drawn_once_for_all_models_and_seeds():
    results, counts = kept(), []
    for one in retesting.retested(results, ["case"], MEANS):
        rows = np.array(
            [results["every"][0, 0].values.tolist().index(x) for x in one["every"][0, 0]]
        )
        assert np.array_equal(one["every"], results["every"].values[..., rows])
        assert one["case"].equals(results["case"]) and one["steps"].equals(results["steps"])
        counts.append(len(np.unique(rows)))
    # of n drawn with replacement 1 - (1 - 1/n)^n are different
    assert len(counts) == retesting.DRAWN
    assert np.mean(counts) / 20 == pytest.approx(1 - 0.95**20, abs=0.01)
    assert not list(retesting.retested(results, [], {}))


def test_averages_follow_the_cases_of_the_seeds_that_keep_them():
    results = kept()
    for one in retesting.retested(results, ["case"], MEANS):
        mean = one["every"].mean("case")
        assert np.allclose(one["mse"][:, 0, 0], mean[:, 0]), "exactly for such a seed"
        factor = mean[:, :1].values / results["every"].mean("case")[:, :1].values
        assert np.allclose(one["mse"][..., 0], results["mse"][..., 0] * factor)
        assert np.allclose(one["power"][:, 0], results["power"][:, 0] * factor[1])
        for name in ("mse", "power"):
            assert one[name].dims == results[name].dims
            assert (one[name].sel(set="id") == results[name].sel(set="id")).all()


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_intervals_of_seeds_and_cases_hold_the_truth_as_often_as_they_say(spread):
    """Cases whose mean varies by 1, and seeds by this: one, both or the other decide."""
    rng = np.random.default_rng(4)
    trials, seeds, cases = 1000, 8, 36
    each = rng.normal(scale=6.0, size=(trials, 1, cases))
    each = each + rng.normal(scale=spread, size=(trials, seeds, 1))
    results = xr.Dataset({"x": (("trial", "seed", "case"), each)})

    def middle(one: xr.Dataset) -> np.ndarray:
        return one["x"].mean("case").mean("seed").values

    drawn = np.stack([middle(one) for one in resampling.resamples(results)])
    tested = np.stack([middle(one) for one in retesting.retested(results, ["case"], {})])
    point = middle(results)
    low, high = resampling.joined(
        point,
        resampling.interval(drawn, point, seeds),
        resampling.interval(tested, point, 0),
    )
    chance = 2 * np.sqrt(0.05 * 0.95 / trials)
    assert 0.93 - chance <= np.mean((low <= 0) & (high >= 0)) <= 0.97 + chance


def test_independent_errors_add_as_squares_and_whole_numbers_do_not_add():
    point, seeds, cases = np.array([1.0]), np.array([[-2.0], [1.0]]), np.array([[-3.0], [1.5]])
    low, high = resampling.joined(point, tuple(seeds), tuple(cases))
    assert (low.item(), high.item()) == (1 - 5, 1.5)
    low, high = resampling.joined(point, tuple(seeds), tuple(cases), whole=True)
    assert (low.item(), high.item()) == (-3, 1.5)


def test_an_infinite_end_stays_infinite():
    point = np.array([np.inf, np.inf, 1.0])
    seeds = np.array([-np.inf, np.inf, -np.inf]), np.array([np.inf, np.inf, 2.0])
    cases = np.array([np.inf, 1.0, 0.5]), np.array([np.inf, np.inf, 1.0])
    low, high = resampling.joined(point, seeds, cases)
    assert low.tolist() == [-np.inf, -np.inf, -np.inf]
    assert high.tolist() == [np.inf, np.inf, 2.0]


def test_of_one_seed_and_of_what_many_resamples_lack_nothing_is_known():
    one = np.array([[0.5], [0.5]])
    for values, seeds in ((one, 1), (np.array([[0.5], [np.nan]]), 5)):
        low, high = resampling.interval(values, np.array([0.5]), seeds)
        assert low == -np.inf and high == np.inf


def test_subsets_of_seeds_that_lack_a_value_are_left_out():
    """One of six has none: 1 of 63 subsets is of it alone."""
    results = xr.Dataset({"x": ("seed", [np.nan, 1.0, 2.0, 3.0, 4.0, 5.0])})
    drawn = np.array([one["x"].median().values for one in resampling.resamples(results)])
    assert np.isnan(drawn).sum() == 1
    low, high = resampling.interval(drawn[:, None], np.array([3.0]), 6)
    assert (low.item(), high.item()) == (1, 5)


def test_an_infinite_margin_is_a_margin():
    values = np.array([[np.inf], [1.0], [np.inf]])
    low, high = resampling.interval(values, np.array([np.inf]), 5)
    assert low == 1 and high == np.inf


@pytest.mark.parametrize("seeds", [5, 8, 10])
@pytest.mark.parametrize("many", [1, 4, 9, 13])
@pytest.mark.parametrize("shared", [0.0, 1.0, 10.0])
def test_upper_ends_of_many_are_right_all_at_once(many, seeds, shared):
    """Whatever seeds do to all of them alike; and a lower end is right by itself."""
    rng = np.random.default_rng(seeds + many)
    values = rng.normal(size=(TRIALS, many, seeds))
    values += shared * rng.normal(size=(TRIALS, 1, seeds))
    chosen = [np.flatnonzero(some) for some in resampling.subsets(seeds)]
    drawn = np.stack([np.median(values[..., some], -1).ravel() for some in chosen])
    ends = resampling.interval(drawn, np.median(values, -1).ravel(), seeds, many)
    low, high = (end.reshape(TRIALS, many) for end in ends)
    assert np.mean(high.min(1) < 0) <= 0.0375 + CHANCE
    assert np.mean(low[:, 0] > 0) <= 0.0375 + CHANCE
    alone = resampling.interval(drawn, np.median(values, -1).ravel(), seeds)[1]
    if many > 1 and not shared:  # what one end of each by itself makes of them
        assert np.mean(alone.reshape(TRIALS, many).min(1) < 0) > 0.07


def test_who_looks_again_decides_wrongly_more_often():
    """As the page on what changed says of chapters that got more seeds where statements stayed open."""
    draws, decided = normal(16), []
    for n in (5, 8, 16):
        low, high = intervals(draws[:, :n])
        decided.append((low > 0) | (high < 0))
    assert decided[-1].mean() == pytest.approx(0.044, abs=0.012)
    assert np.any(decided[1:], axis=0).mean() == pytest.approx(0.075, abs=0.015)
    assert np.any(decided, axis=0).mean() == pytest.approx(0.11, abs=0.02)
