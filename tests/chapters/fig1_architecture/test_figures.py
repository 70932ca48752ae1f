"""Figures, table and prose of Fig. 1, on the shipped results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.fig1_architecture import figures, tables
from vnlib.book import paths, store

RESULTS = store.read(paths.result_file(paths.RESULTS, "paper", "fig1_architecture"))
DRAW = (figures.atoms, figures.settle, figures.operator, figures.superposition)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("draw", DRAW)
def test_figures_can_be_drawn_of_any_seed(draw):
    draw(RESULTS.isel(seed=1)).canvas.draw()


def test_the_settle_shows_every_sweep():
    energy, active = figures.settle(RESULTS.isel(seed=0)).axes
    (line,) = energy.lines
    assert len(line.get_xdata()) == RESULTS.sizes["sweep"] and (line.get_ydata() > 0).all()
    top = RESULTS["settle_active"].isel(seed=0).sel(layer=2)
    assert any(np.array_equal(line.get_ydata(), top) for line in active.lines)


def test_the_table_holds_medians_of_means_over_digits():
    frame = tables.quantities(RESULTS).frame
    assert len(frame) == len(tables.ROWS)
    middle = RESULTS["active"].mean("digit").median()
    assert frame.loc["active atoms, layer 1", ("over seeds", "median")] == middle
    assert frame.loc["error of V a (layer 1)", ("over seeds", "high")] == RESULTS["mse"].max()


def test_what_the_prose_says_between_its_numbers():
    found = tables.numbers(RESULTS)
    assert found["fig1-atoms"] == "512" and found["fig1-explained"].endswith(" %")
    learned, untrained = (RESULTS[name].median() for name in ("mse", "untrained_mse"))
    assert 0.5 < learned / untrained < 0.6, "learning nearly halves the error"
    more = RESULTS["active"].mean("digit") - RESULTS["untrained_active"]
    assert ((more > 0) & (more < 10)).all(), "with a few more atoms"
    assert learned < RESULTS["pca_mse"].median()
    assert RESULTS["sum_mse"].median() < RESULTS["sum_of_codes_mse"].median()
