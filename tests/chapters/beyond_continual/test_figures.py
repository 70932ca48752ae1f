"""Figures about tasks in turn, and what they are drawn from, where it is known beforehand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from chapters.beyond_continual import claims, figures

DRAWN = [figures.matrices, figures.ends, figures.overlaps, figures.data]


@pytest.mark.parametrize("draw", DRAWN)
def test_figures_draw_all_models(continual_results, draw):
    figure = draw(continual_results)
    figure.canvas.draw()
    texts = " ".join(
        t.get_text() for ax in figure.axes for t in (ax.title, *ax.get_yticklabels(), *ax.texts)
    )
    legends = [ax.get_legend() for ax in figure.axes if ax.get_legend()]
    texts += " ".join(t.get_text() for legend in legends for t in legend.get_texts())
    assert "AE" in texts and "PCA" in texts
    plt.close(figure)


@pytest.mark.parametrize("model", ["vn_1", "ae", "pca", "b_vn"])
@pytest.mark.parametrize("draw", DRAWN)
def test_figures_of_one_model_and_one_seed(continual_results, draw, model):
    one = continual_results.sel(model=[model], seed=[0], stream=["sequence"])
    if model == "b_vn":
        one = one.drop_vars("data_error")
    figure = draw(one)
    figure.canvas.draw()
    plt.close(figure)


def test_cells_hold_the_errors(continual_results):
    figure = figures.matrices(continual_results)
    cells = [text.get_text() for text in figure.axes[1].texts]
    # In units of the mean square, 10: at the start, before a turn, right after it, and in the end.
    assert cells[:5] == ["0.80"] * 5 and cells[5:7] == ["0.10", "0.40"] and cells[25] == "0.30"
    plt.close(figure)


def test_measures_by_hand(continual_results):
    one = {"stream": "sequence", "seed": 0}
    forgotten = claims.forgotten(continual_results).sel(one)
    assert forgotten.values.tolist() == pytest.approx([1.5, 3, 5, 1])
    # Four of five tasks have grown; digits are in units of their mean square, which is 10.
    final = claims.final(continual_results).sel(one)
    assert final.values.tolist() == pytest.approx([0.14, 0.26, 0.42, 1.0])
    assert claims.transfer(continual_results).sel(one).values.tolist() == pytest.approx([0.5] * 4)


def test_measures_of_streams_that_lack_are_missing(continual_results):
    final = claims.final(continual_results.sel(stream=["sequence"]))
    assert bool(final.sel(stream="joint").isnull().all())
    assert float(final.sel(stream="sequence", model="ae")[0]) == pytest.approx(0.26)


def test_the_example_follows_the_error_on_the_first_task(continual_results):
    digits = figures.example(continual_results).axes[0]
    (line,) = [one for one in digits.lines if one.get_label() == "VN"]
    errors = claims.relative(continual_results).sel(stream="sequence", model="vn_1", task=0)
    assert line.get_ydata().tolist() == pytest.approx(errors.median("seed").values[1:].tolist())
    plt.close("all")


def test_an_error_below_the_last_colour_says_so():
    assert [figures._cell(e) for e in (4.5e-5, 3.2e-4, 2.53)] == ["<0.0001", "0.00032", "2.5"]
