"""Figures and tables of made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from chapters.best_signals import figures, tables
from vnlib.book import chapter

SIDECAR = chapter.spec("best_signals").sidecar


@pytest.mark.parametrize("name", ["example", "by_cell", "ingredients", "tails"])
def test_every_figure_is_drawn_or_says_why_not(name, results):
    assert isinstance(getattr(figures, name)(results), Figure)
    nothing = results.sel(model=["process_se"])
    assert isinstance(getattr(figures, name)(nothing), Figure)
    plt.close("all")


def test_marks_stand_at_the_means_of_each_cell_and_the_network_is_carried(results):
    fig = figures.by_cell(results)
    above, below = fig.axes
    assert [len(ax.get_yticks()) for ax in (above, below)] == [9, 3]
    best = next(line for line in above.lines if line.get_markersize() == 7)
    assert np.allclose(best.get_xdata(), 0.02 * 0.5 * 1.25)
    plt.close(fig)


def test_hidden_samples_lie_on_grey_and_only_they_are_drawn(results):
    fig = figures.example(results)
    ax = fig.axes[0]
    truth, *drawn = ax.lines
    assert np.isfinite(truth.get_ydata()).all() and len(drawn) == 3
    for line in drawn:
        hidden = np.isfinite(line.get_ydata())
        assert 0 < hidden.sum() < len(hidden) and line.get_xdata()[hidden].min() >= 0.6
    plt.close(fig)


def test_a_share_of_signals_ends_at_all_of_them(results):
    fig = figures.tails(results)
    line = fig.axes[0].lines[0]
    assert line.get_ydata()[-1] == 1 and len(line.get_ydata()) == 6 * 8
    plt.close(fig)


def test_an_ingredient_is_the_ratio_of_errors_on_the_signals_of_both(results):
    ratio = figures.changed(results, "fine layer / none")
    assert np.allclose(ratio, 0.2) and dict(ratio.sizes) == {"seed": 6, "cell": 9}
    assert np.allclose(figures.changed(results, "256 learned / 256 exemplars"), 1.5)
    frame = tables.ingredients(results).frame
    assert frame.loc["eight chains / one"].iloc[0] == pytest.approx(2 / 3)
    assert frame.loc["162 fixed / 256 exemplars"].iloc[-1] == "0 of 9"
    assert len(figures.changes(results.drop_sel(model="vn_256"))) == 5


def test_tables_tell_errors_as_models_count(results):
    frame = tables.errors(results, "forecast_25").frame
    assert frame.loc["VN-2L, sampled supports"].iloc[0] == pytest.approx(0.02 * 0.5 * 1.25)
    assert frame.loc["Linear interpolation"].iloc[0] == pytest.approx(1.25)
    assert "VN-2L, sampled, one chain" not in frame.index, "which was given few signals"
    halves = tables.carried(results).frame
    assert halves.loc["DeepAE3, trained with masks"].iloc[0] == pytest.approx(0.5)
    assert "Last value held" not in halves.index
    assert tables.shares(results).frame.loc["Last value held"].iloc[0] == 1
    middle = tables.middles(results).frame.loc["Linear interpolation"].iloc[0]
    assert middle == pytest.approx(1.25)
    assert tables.settled(results).frame.iloc[0, 0] == 3
    costs = tables.costs(results).frame
    assert costs.loc["Linear interpolation", "signal [ms]"].iloc[0] == pytest.approx(300)


def test_the_numbers_of_the_prose(results):
    found = tables.numbers(results, SIDECAR)
    assert found["bestsignals-wins-sums-processes"] == "6 of 6"
    assert found["bestsignals-found-S8"] == "0.20"
    held, _, asked = found["bestsignals-held"].partition(" of ")
    assert 0 < int(held) < int(asked) == len(SIDECAR["predictions"])
    assert found["bestsignals-changed-eight-chains-over-one-forecast-50-easy"] == "0.67"


def test_predictions_in_a_table(results):
    frame = tables.predicted(results, SIDECAR).frame
    assert len(frame) == len(SIDECAR["predictions"])
    assert set(frame["verdict"]) <= {"holds", "fails", "undecided", "not run"}
    assert frame.loc["S1", "verdict"] == "not run", "not all of these rivals were"
