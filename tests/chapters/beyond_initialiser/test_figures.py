"""Figures of learned starts, drawn from results that are known beforehand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.beyond_initialiser import figures, tables


@pytest.mark.parametrize("name", ("descent", "saved", "supports", "ends"))
def test_figures_draw_all_there_is(results, name):
    figure = getattr(figures, name)(results)
    figure.canvas.draw()
    texts = " ".join(
        t.get_text()
        for ax in figure.axes
        for t in (ax.title, ax.xaxis.label, *ax.get_yticklabels())
    )
    texts += " ".join(t.get_text() for legend in figure.legends for t in legend.get_texts())
    assert "LISTA, from codes" in texts and "FREE" in texts
    plt.close(figure)


@pytest.mark.parametrize("name", ("descent", "saved", "supports", "ends"))
def test_figures_of_one_network_and_one_seed(results, name):
    for model in ("free", "capped"):
        figure = getattr(figures, name)(results.sel(model=[model], seed=[0]))
        figure.canvas.draw()
        plt.close(figure)


def test_the_example_tells_the_sweeps_of_each(results):
    results["model"] = ["digits_3", "capped"]
    (ax,) = figures.example(results).axes
    told = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    # 100 from zero, 40 and a cost of 4 from LISTA, 100 / 10 by line search.
    assert [text.split(": ")[1] for text in told] == ["100 sweeps", "44 sweeps", "10 sweeps"]
    assert not figures.example(results.sel(model=["capped"])).axes[0].lines
    plt.close("all")


def test_what_is_gained_has_a_row_for_each_network(results):
    figure = figures.gain(*tables.gains(results))
    figure.canvas.draw()
    assert [one.get_text() for one in figure.axes[0].get_yticklabels()] == ["FREE", "CAPPED"]
    drawn = [
        [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "|"] for ax in figure.axes
    ]
    # Medians, with nothing learned and with something: in distribution, sums of two; time.
    assert drawn == [[10, 8, 10, 11], [1, 0.5]]
    assert len(figures.gain(*tables.gains(results.sel(model=["capped"]))).axes) == 1, "no times"
    plt.close("all")


def test_where_no_settle_came_so_low_nothing_is_drawn_beside_an_axis(results):
    none = {name: results[name] * np.nan for name in ("saved", "saved_paid")}
    figure = figures.saved(results.assign(none))
    figure.canvas.draw()
    assert figure.axes[0].get_xlim() == (-26, 26)
    plt.close(figure)


def test_starts_and_networks_that_there_are(results):
    assert figures.starts(results, "capped") == ["cold", "nearest", "untrained", "lista"]
    assert figures.starts(results) == ["cold", "nearest", "untrained", "lista", "mlp"]
    assert figures.free(results) == ["free"]
