"""What the page says in words between the numbers, against the shipped results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
from glued import number

from chapters.C_inference import figures_example, tables
from vnlib.book import paths, store
from vnlib.plots.statistics import over_seeds

FILE = paths.RESULTS / "paper" / "C_inference.nc"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="no shipped results")


@pytest.fixture(scope="module")
def r():
    return store.read(FILE)


def test_all_ends_are_one_point_without_a_cap(r):
    ends = [r[name].max() for name in ("end_distance", "start_distance", "relu_spread")]
    assert max(map(float, ends)) < 1e-6
    most = float(r["end_distance"].max())
    assert float(r["start_distance"].max()) <= most
    guarded = r["guard_distance"].max(["seed", "guard_solver"])
    assert float(guarded.sel(safeguard="none")) <= most < float(guarded.sel(safeguard="reject"))
    assert float(r["rises"].max()) == 0, "plain steps of 1 / L"


def test_under_a_hard_cap_trials_end_in_different_minima(r):
    trials = ["schedule", "multistart_solver", "multistart"]
    spread = r["cap_height"].max(trials).median("sample").sel(cap_depth=1)
    assert float(over_seeds(spread)["low"]) > 0.01


def test_fewer_sweeps_by_momentum_and_most_by_the_line_search(r):
    top = {"depth": 3, "beta": r["beta"][0], "schedule": "sweep", "level": 1e-3}
    sweeps = r["needed"].sel(top)
    fewer = over_seeds(sweeps / sweeps.sel(solver="restart"))
    assert fewer["low"].sel(solver="ista") > 5 and fewer["high"].sel(solver="line_search") < 1
    fista = fewer.sel(solver="fista")
    assert fista["low"] < 1 < fista["high"], "restarts make no difference so far"


def test_momentum_makes_most_of_the_speed_and_longer_steps_the_rest_at_the_smaller_beta(r):
    sweeps = r["needed"].sel(depth=3, level=1e-3)
    momentum = over_seeds(sweeps.sel(solver="ista") / sweeps.sel(solver="restart"))
    step = over_seeds(sweeps.sel(solver="restart") / sweeps.sel(solver="line_search"))
    assert float(momentum["low"].min()) > 4 and float(step["high"].max()) < 2
    assert (step["low"].sel(beta=0.1) > 1).all() and float(step["high"].sel(beta=1).max()) < 1.2
    assert float(step["low"].sel(beta=1, schedule="sweep")) < 1, "undecided"


def test_at_the_smaller_beta_the_line_search_is_the_fastest_in_every_stack_and_schedule(r):
    sweeps = r["needed"].sel(beta=0.1)
    ahead = over_seeds(sweeps.drop_sel(solver="line_search") / sweeps.sel(solver="line_search"))
    behind = over_seeds(sweeps.drop_sel(solver="ista") / sweeps.sel(solver="ista"))
    assert float(ahead["low"].min()) > 1.1 and float(behind["high"].max()) < 0.3


def test_what_is_as_fast_as_the_default_settle_and_by_how_much_masks_miss_their_target():
    stacks = store.read(FILE.with_suffix(".layers.nc"))["cpu"]
    default = stacks.sel(solver="auto")
    slower = stacks.sel(solver=["line_search", "restart"]) / default
    assert float(slower.sel(solver="line_search").min()) > 1.2
    level = slower.sel(solver="restart") < 1.05
    assert int(level.sum()) == 1 and float(slower.min()) > 0.95
    closer = slower.sel(solver="line_search", gap=1e-6) / slower.sel(solver="line_search", gap=1e-3)
    assert float(closer.min()) > 1
    one = store.read(FILE.with_suffix(".speed.nc")).sel(size="784x512x256 masked", gap=1e-3)
    took = one["cpu"].sel(solver="vn_auto") / one["n_samples"]
    assert 400 * 1.04 < 1e6 * float(took) < 400 * 1.06


def test_the_line_search_gains_half_as_much_at_the_larger_beta(r):
    sweeps = r["needed"].sel(depth=3, level=1e-3, schedule="sweep")
    fewer = sweeps.sel(solver="ista") / sweeps.sel(solver="line_search")
    share = over_seeds(fewer.sel(beta=1) / fewer.sel(beta=0.1))
    assert 0.4 < share["low"] < 0.5 < share["high"] < 0.6 and r["beta"][0] == 0.1


def test_a_warm_start_is_worth_what_it_knows(r):
    sweeps = r["start_needed"].sel(level=1e-3, start_solver=["ista", "line_search"])
    share = over_seeds(sweeps / sweeps.sel(start="cold"))
    same, other = ["noisy input", "earlier codes"], ["shifted input", "nearest sample"]
    assert (share["high"].sel(start=same) < 0.6).all()
    assert (share["high"].sel(start="noisy input") < share["low"].sel(start="earlier codes")).all()
    assert (share["low"].sel(start=other) < 1).all() and (share["high"].sel(start=other) > 1).all()
    top = share.sel(start="earlier top code")
    assert (top["median"] > 0.99).all() and (top["high"] > 0.9999).all()


def test_twice_the_step_takes_half_the_sweeps_and_more_diverges(r):
    steps = r["step_needed"].sel(step_depth=3, level=1e-3)
    ratio = over_seeds(steps.sel(factor=2.0) / steps.sel(factor=1.0))
    assert 0.48 < ratio["low"] < ratio["high"] < 0.52
    assert tables.numbers(r)["appc-step-best"] == "2"
    diverged = r["diverged"].sel(step_depth=3)
    assert (diverged.sel(factor=2.0) == 0).all() and (diverged.sel(factor=2.5) == 1).all()


def test_the_line_search_makes_longer_steps_than_the_library_allows(r):
    found = over_seeds(r["found_end"].sel(step_depth=3).median("sample"))
    allowed = over_seeds(r["allowed"].sel(step_depth=3).median("sample"))
    assert (found["low"] > allowed["high"]).all() and (allowed["low"] > 1).all()


def test_the_summed_energies_rise(r):
    assert float(over_seeds(r["summed_rises"].sel(guard_solver="ista"))["low"]) > 0.5


def test_the_example_shows_twelve_ways_and_twelve_ends(r):
    fig = figures_example.example(r)
    paths, ends = fig.axes
    ways = [line for line in paths.lines if len(line.get_xdata())]
    assert len(ways) == 12 and sum(len(line.get_xdata()) for line in ends.lines) == 12
    assert max(line.get_xdata().max() for line in ends.lines) < 1e-6
    plt.close(fig)


def test_all_that_is_resumed_has_the_same_bits(r):
    assert tables.numbers(r)["appc-resumed"] == "all"


def test_an_early_stop_has_too_many_atoms(r):
    active = tables.early(r).frame["ISTA", "median"]
    assert (active.iloc[:-1] > 1.05 * active.iloc[-1]).all() and active.is_monotonic_decreasing


def test_accept_reject_takes_back_all_that_rises_and_late_caps_end_lower(r):
    said = tables.numbers(r)
    assert said["appc-rejected-rises"] == "0" and number(said["appc-fista-rises"]) > 0
    assert number(said["appc-cap-late"]) < number(said["appc-cap-at-once"])
