"""Figures, tables and numbers of definitions, on made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from chapters.beyond_definitions import figures, tables


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_a_line_runs_through_the_layers_of_a_decoder(results):
    figure = figures.layers(results)
    figure.canvas.draw()
    line = figure.axes[0].lines[0]
    assert line.get_label() == "MLP" and list(line.get_xdata()) == [0, 1, 2, 7]
    assert line.get_ydata() == pytest.approx([0, 0.1, 0.2, 0.7])
    assert "No decoder" in figures.layers(results.sel(model=["code"])).axes[0].texts[0].get_text()


def test_the_example_has_the_error_and_the_worst_layers(results):
    figure = figures.example(results)
    figure.canvas.draw()
    told = [[text.get_text() for text in ax.texts] for ax in figure.axes]
    assert told == [["0.50"], ["0.90"], ["0.70"]], "the MLP's; the code alone is no decoder"
    assert "No decoder" in figures.example(results.sel(model=["code"])).axes[0].texts[0].get_text()


def test_tables_have_a_row_for_each_thing(results, targets, diets):
    assert tables.complexity(targets).frame.loc["ring"].tolist() == [3, 3, 3]
    assert tables.mixtures(diets).frame["total variation"].tolist() == [0, 0.25]
    frame = tables.layers(results).frame
    assert len(frame) == 5, "one layer of the code, four of the decoder"
    assert frame.loc[("MLP", "after 1"), ("R²", "linearly", "median")] == pytest.approx(0.8)


def test_the_numbers_of_the_prose(results, targets, diets):
    found = tables.numbers(results, targets, diets)
    assert found["beyonddefinitions-exact-ring"] == "3"
    assert found["beyonddefinitions-distance-square"] == "25 %"
    assert found["beyonddefinitions-linear-mlp"] == "0.30", "the last layer's"
    assert found["beyonddefinitions-of-both-mlp"] == "0.70"
    assert found["beyonddefinitions-ood-mlp"] == "0.50"
    assert found["beyonddefinitions-code-linear-code"] == "1.0"
