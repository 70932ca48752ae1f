"""Figures, table and prose of Fig. 1, on the shipped results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats.mstats import median_cihs

from chapters.fig1_architecture import figures, tables
from vnlib.book import paths, store

RESULTS = store.read(paths.result_file(paths.RESULTS, "paper", "fig1_architecture"))
DRAW = (
    figures.pieces,
    figures.atoms,
    figures.settle,
    figures.operator,
    figures.superposition,
)


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
    assert np.array_equal(line.get_ydata(), RESULTS["settle_energy"].isel(seed=0))
    top = RESULTS["settle_active"].isel(seed=0).sel(layer=2)
    assert any(np.array_equal(line.get_ydata(), top) for line in active.lines)


def test_the_operator_has_as_many_singular_values_as_there_are_atoms_in_use():
    one = RESULTS.isel(seed=0)
    coefficients, values = (ax.lines[0].get_ydata() for ax in figures.operator(one).axes)
    n = len(coefficients)
    assert n == int(one["piece_code"].notnull().sum()) and (np.diff(coefficients) <= 0).all()
    assert values[n - 1] > 1e-4 and values[n:].max() < 1e-6, "what is left is rounding"


def test_the_table_holds_medians_of_means_over_digits():
    frame = tables.quantities(RESULTS).frame
    assert len(frame) == len(tables.ROWS)
    middle = RESULTS["active"].mean("digit").median()
    assert frame.loc["active atoms, layer 1", ("over seeds", "median")] == middle
    _, high = median_cihs(RESULTS["mse"].values)
    assert frame.loc["error of V a (layer 1)", ("over seeds", "high")] == pytest.approx(high)
