"""What the figures and the table of appendix E show of the shipped results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.E_theory import figures, figures_descent, figures_example, figures_recovery, tables
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "E_theory.nc")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("draw", "panels"),
    [
        (figures.learning, 1),
        (figures.rank, 2),
        (figures.capacity, 2),
        (figures.collapse, 3),
        (figures_recovery.superposition, 2),
        (figures_recovery.diagram, 7),
        (figures_recovery.beyond, 3),
        (figures_recovery.early, 3),
        (figures_descent.danskin, 2),
        (figures_descent.steps, 2),
        (figures_descent.rates, 3),
        (figures_descent.sweeps, 2),
        (figures_descent.reject, 2),
    ],
)
def test_every_figure_has_its_panels_and_none_is_empty(shipped, draw, panels):
    fig = draw(shipped)
    assert len(fig.axes) == panels
    assert all(ax.lines or ax.collections or ax.images for ax in fig.axes)
    assert not any(ax.get_ylabel() == "value" for ax in fig.axes)


def test_a_band_is_the_median_and_all_seeds(shipped):
    ax = plt.subplots()[1]
    figures_recovery.band(ax, shipped["found"], "mixed", "C0", "found")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), shipped["found"].median("seed"))
    corners = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert corners.min() == pytest.approx(float(shipped["found"].min()))
    assert ax.get_legend_handles_labels()[1] == ["found"]


def test_the_steps_of_the_diagram_are_the_bound(shipped):
    ax = figures_recovery.diagram(shipped).axes[0]
    steps = ax.patches[0].get_data().values
    bound = shipped["bound"].sel(family="pairs").isel(seed=0).values
    assert all(step - 0.5 < one <= step + 0.5 for step, one in zip(steps, bound, strict=True))


def test_the_table_holds_numbers_over_seeds(shipped):
    table = tables.measured(shipped)
    mu = table.frame.loc["coherence of the dictionary learned on digits", ("over seeds", "median")]
    assert mu == float(shipped["learned_mu"].median())
    below = "share of supports found below the bound, worst cell"
    assert table.shown().loc[below, "over seeds"].startswith("1")


def test_the_example_outlines_what_the_theorem_covers(shipped):
    fig = figures_example.example(shipped)
    planted, learned = fig.axes[:2]
    (outline,) = [one for one in planted.patches if hasattr(one, "get_data")]
    bound = shipped["bound"].sel(family="pairs").isel(seed=0).values
    tops, active = np.asarray(outline.get_data().values), shipped["active"].values
    covered = [set(active[active < top]) for top in tops]
    assert covered == [set(active[active < one]) for one in bound]
    (box,) = learned.patches
    assert 1 < box.get_width() < 2
