"""What the figures and tables of appendix D show of the shipped results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.D_learning import figures, figures_example, figures_layers, tables
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "D_learning.nc")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def rows(ax: plt.Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def test_only_adam_without_a_mask_moves_idle_atoms(shipped):
    curves = figures.local(shipped).axes[1].lines
    heights = {line.get_label(): np.nanmax(line.get_ydata()) for line in curves}
    assert heights["masked Adam"] == heights["SGD"] == 0 < 50 < heights["Adam"]


def test_models_are_named_with_their_active_atoms(shipped):
    fig = figures.overlap(shipped)
    assert rows(fig.axes[1])[1] == "VN-1L, λ = 0.2 (26 %)" and len(rows(fig.axes[1])) == 7
    assert len(fig.axes[0].collections[0].get_offsets()) == shipped.sizes["pair"]


def test_networks_are_told_apart_by_their_sparsity(shipped):
    texts = [text.get_text() for text in figures.factors(shipped).axes[0].texts]
    assert texts == ["λ = 0.1", "λ = 0.2", "λ = 0.4", "λ = 0.8"]


def test_a_box_for_each_model_that_steps(shipped):
    right = figures.passed(shipped).axes[1]
    assert rows(right) == ["VN-1L, λ = 0.2", "AE, linear", "AE, linear, whitened", "AE, ReLU"]
    seeds = [line for line in right.lines if line.get_linestyle() == "None"]
    assert [len(line.get_xdata()) for line in seeds if line.get_marker()] == [5] * 4


def test_upkeep_has_a_point_per_seed_start_and_option(shipped):
    fig = figures.upkeep(shipped)
    assert len(fig.axes) == 8 and rows(fig.axes[0])[0] == "as it is"
    places = [np.ma.filled(c.get_offsets(), np.nan) for c in fig.axes[0].collections]
    assert sum(int(np.isfinite(one).all(1).sum()) for one in places) == 5 * 2 * 7


def test_energies_are_drawn_against_the_frozen_interface(shipped):
    fig = figures_layers.interface(shipped)
    lines = {line.get_label(): line.get_ydata() for line in fig.axes[2].lines}
    assert (lines["frozen, tight frame"] == 0).all() and lines["literal rule (VN Eq. 9)"][-1] < 0
    assert len(fig.legends[0].texts) == 5 and not any(ax.get_legend() for ax in fig.axes)


def test_bars_are_medians_with_the_colour_of_their_sign(shipped):
    left = figures_layers.objectives(shipped).axes[0]
    widths = [bar.get_width() for bar in left.patches]
    change = 100 * shipped["objective_change"].sel(objective="F").median("seed")
    np.testing.assert_allclose(sorted(widths), sorted(change.values))
    colours = {bar.get_facecolor()[:3] for bar in left.patches if bar.get_width() < 0}
    assert len(colours) == 1


def test_relative_sparsity_is_drawn_flat(shipped):
    absolute, relative = figures_layers.units(shipped).axes
    assert all(np.ptp(line.get_ydata()) < 1 for line in relative.lines)
    assert all(np.ptp(line.get_ydata()) > 50 for line in absolute.lines)


def test_tables_hold_numbers(shipped):
    upkeep, meeting = tables.upkeep(shipped).frame, tables.meeting(shipped).frame
    assert len(upkeep) == 2 * 2 * 7 and upkeep.index.names == ["λ", "start", "variant"]
    one = shipped["upkeep_dead"].sel(upkeep_sparsity=1.0, start="chance", variant="as it is")
    dead = upkeep.loc[("1.0", "chance", "as it is"), ("dead, %", "median")]
    assert dead == pytest.approx(100 * float(one.median()))
    hurt = meeting["pairs hurt, %", "median"]
    assert hurt.notna().sum() == 4 and 60 < hurt["VN-1L, λ = 0.2"] < 70


def test_the_example_turns_the_order_of_the_energy_round(shipped):
    energy, _, strict = figures_example.example(shipped).axes
    assert rows(energy) == list(figures_example.SHOWN.values())
    below, above = ([bar.get_width() for bar in ax.patches] for ax in (energy, strict))
    assert below == sorted(below) and above == sorted(above, reverse=True)
    assert below[1] < 0 < above[1], "the rule as printed"
