"""What the page's sentences claim of the shipped results, beside the numbers in them."""

from __future__ import annotations

import numpy as np
import pytest
from glued import ends, number

from chapters.beyond_initialiser import figures, tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median, over_seeds


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.ROOT / "results" / "paper" / "beyond_initialiser.nc")


def test_plain_steps_do_not_end_on_networks_of_one_layer(shipped):
    plain = median(tables.sweeps(shipped)).sel(set="id", solver="ista")
    assert np.isinf(plain.sel(model=["digits_1", "signals_1"], start="cold")).all()
    assert np.isinf(plain.sel(model="digits_1", start=tables.trained(shipped))).all()
    assert np.isfinite(plain.sel(model="digits_3", start="cold"))


def test_the_best_solver_is_momentum_with_a_line_search(shipped):
    for learned in (True, False):
        fewest = tables.cheapest(shipped, learned=learned).sel(set="id")
        assert (fewest["solver"] == "line_search").all()


def test_learning_saves_sweeps_but_under_a_cap(shipped):
    learned, untrained = (
        median(tables.cheapest(shipped, learned=k)).sel(set="id") for k in (True, False)
    )
    assert ((learned > untrained) == (shipped["model"] == "digits_3_capped")).all()


def test_what_is_free_saves_more(shipped):
    """Momentum with a line search needs a tenth of plain steps' sweeps; a start saves a fifth."""
    cold = median(tables.sweeps(shipped)).sel(model="digits_3", set="id", start="cold")
    plain, best = (float(cold.sel(solver=s)) for s in ("ista", "line_search"))
    guess = number(tables.numbers(shipped)["beyondinit-plain-guess"])
    assert best <= 0.1 * plain and 0.75 * plain < guess < 0.85 * plain


def test_coordinate_descent_is_fastest_and_slower_from_every_learned_start(shipped):
    spent = median(tables.times(shipped.sel(model=figures.free(shipped))))
    cold, exact = spent.sel(start="cold"), spent.sel(timed_solver="coordinates")
    swept = cold.sel(timed_solver=["restart", "line_search"]).min("timed_solver")
    assert bool((cold.sel(timed_solver="coordinates") < 0.5 * swept).all())
    learned = exact.sel(start=tables.trained(shipped))
    assert bool((learned > exact.sel(start="cold")).all())


def test_all_starts_end_in_one_point_without_a_cap(shipped):
    assert number(tables.numbers(shipped)["beyondinit-end-distance"]) < 1e-6


def test_the_answer_is_what_intervals_say(shipped):
    """A guess saves plain steps, momentum more of them, and coordinate descent gets slower."""
    found = tables.numbers(shipped)
    saved, free = (ends(found[f"beyondinit-plain-{one}"]) for one in ("saved", "free"))
    assert saved[0] > 0 and saved[1] < 25 and free[0] > 85
    assert found["beyondinit-plain-start"] == "LISTA, from codes", "the guess of the example"
    exact = tables.times(shipped.sel(model=figures.free(shipped))).sel(timed_solver="coordinates")
    longer = exact.sel(start=tables.trained(shipped)) / exact.sel(start="cold")
    assert float(over_seeds(longer)["low"].min()) > 1, "from every learned start, on every network"


def test_what_a_guess_saves_of_the_best_sweeps(shipped):
    fewest, _ = tables.gains(shipped)
    saved = 1 - fewest["learned"] / fewest["free"]
    inside, sums = (over_seeds(saved.sel(set=kind)) for kind in ("id", "sum"))
    assert float(inside["high"].sel(model="digits_3_capped")) < 0, "a cap: more sweeps"
    uncapped = figures.free(shipped)
    assert float(inside["low"].sel(model=uncapped).min()) > 0
    assert float(sums["low"].sel(model=uncapped).min()) > 0
    less = over_seeds(saved.sel(set="id") - saved.sel(set="sum")).sel(model=uncapped)
    assert less["model"].values[less["low"] > 0].tolist() == ["digits_1"]
    assert bool((less["high"] > 0).all()), "undecided for the others"


def test_another_start_under_a_cap_ends_elsewhere_and_as_low(shipped):
    found = tables.numbers(shipped)
    assert ends(found["beyondinit-other-support"])[0] > 25
    assert ends(found["beyondinit-other-height"])[1] < 1e-3
