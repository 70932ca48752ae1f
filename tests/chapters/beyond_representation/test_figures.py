"""Figures of linear and orthogonal factors on made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from chapters.beyond_representation import figures

FIGURES = ("codes", "paths", "relation", "effects")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(figure: plt.Figure) -> str:
    parts = [t for ax in figure.axes for t in (ax.title, *ax.texts, *ax.get_yticklabels())]
    parts += [t for ax in figure.axes if ax.get_legend() for t in ax.get_legend().get_texts()]
    return " ".join(t.get_text() for t in parts)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_draw_all_there_is(results, name):
    figure = getattr(figures, name)(results)
    figure.canvas.draw()
    shown = {
        "codes": list(results.model.values),
        "relation": list(results.model.values),
        "paths": [m for m in results.model.values if m[-1] in "abc"][:-1],
        "effects": ["s_a", "f_a"],
    }[name]
    assert all(m.upper() in texts(figure) for m in shown)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_one_model_and_one_seed(results, name):
    for model in ("s_a", "d_a"):
        figure = getattr(figures, name)(results.sel(model=[model], seed=[0]))
        figure.canvas.draw()


def test_the_code_is_the_layer_that_counts_as_one(results):
    assert figures.layers(results, "s_a") == ["hidden 1", "code 1", "support 1"]
    assert figures.layers(results, "b_a") == ["code 1", "support 1"]
    one = figures.codes_of(results).sel(model="f_a")
    assert one["linearity"].values == pytest.approx([0.6, 0.6])
    assert one["condition"].values == pytest.approx([0.48, 0.48])
    swapped = results.assign(is_code=(results["layer"] == "hidden 1") * 1.0 + 0 * results["order"])
    assert figures.codes_of(swapped)["linearity"].sel(model="f_a")[0] == pytest.approx(0.3)


def test_the_example_says_what_each_code_is_like(results):
    known = results.sel(model=["s_a", "f_a"]).assign_coords(model=["s_vn_1", "d_ae"])
    first, second, *_ = figures.example(known).axes
    assert first.get_title() == "positions: S_A" and second.get_title() == "functions: F_A"
    assert first.get_xlabel() == "linearity 1.00, overlap 0.00\nerror 1.0 × 10⁻⁴"
    assert "linearity 0.60, overlap 0.20" in second.get_xlabel()
    assert "no cosines" in figures.example(results).axes[0].texts[0].get_text()
