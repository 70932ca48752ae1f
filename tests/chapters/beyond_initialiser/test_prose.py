"""What the page's sentences claim of the shipped results, beside the numbers in them."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.beyond_initialiser import tables
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.ROOT / "results" / "paper" / "beyond_initialiser.nc")


def test_plain_steps_from_learned_starts_end_on_no_network_of_one_layer(shipped):
    for model in ("digits_1", "signals_1"):
        one = tables.at_level(shipped, model)["sweeps"].sel(solver="ista")
        learned = ["cold", *tables.learners(shipped, model)]
        assert np.isinf(one.sel(start=learned)).all(), model
    assert np.isfinite(float(tables.numbers(shipped)["beyondinit-plain-cold"]))


def test_the_best_solver_is_momentum_with_a_line_search(shipped):
    for model in shipped["model"].values.tolist():
        for learned in (True, False):
            assert tables.cheapest(shipped, model, learned=learned)[1] == "line_search"


def test_learning_saves_sweeps_but_under_a_cap(shipped):
    told = tables.numbers(shipped)
    for model in ("digits-1", "digits-3", "signals-1"):
        assert float(told[f"beyondinit-{model}-fewer"]) > 0
    assert float(told["beyondinit-digits-3-capped-more"]) > 0


def test_what_is_free_saves_more(shipped):
    """Momentum with a line search needs a tenth of plain steps' sweeps; a start saves a fifth."""
    one = tables.at_level(shipped, "digits_3")
    plain, best = (
        float(one["sweeps"].sel(start="cold", solver=s)) for s in ("ista", "line_search")
    )
    guess = float(tables.numbers(shipped)["beyondinit-plain-guess"])
    assert best <= 0.1 * plain and 0.75 * plain < guess < 0.85 * plain


def test_all_starts_end_in_one_point_without_a_cap(shipped):
    assert float(tables.numbers(shipped)["beyondinit-distance"]) < 1e-6
