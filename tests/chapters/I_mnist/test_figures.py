"""Which atoms are used, and when: what figures show, where it is known beforehand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.I_mnist import figures, figures_atlas, figures_settle
from vnlib.plots.style import look

DRAWN = [
    *(figures.usage, figures.depth, figures.selectivity),
    *(figures_settle.locking, figures_settle.levels, figures_settle.motion),
    figures_settle.energies,
]


@pytest.mark.parametrize("draw", DRAWN)
@pytest.mark.parametrize("models", [["vn_3", "vn_3_top24", "vn_1"], ["vn_3_top24"], ["vn_1"]])
def test_every_figure_is_drawn_whatever_was_asked_for(appI_results, draw, models):
    figure = draw(appI_results.sel(model=models))
    figure.draw_without_rendering()
    assert figure.axes
    plt.close(figure)


def test_lines_go_through_medians(appI_results):
    figure = figures.depth(appI_results)
    color, _ = look(str(appI_results["label"].sel(model="vn_3").item()))
    (points,) = [line for line in figure.axes[0].lines if line.get_color() == color][:1]
    np.testing.assert_allclose(points.get_ydata(), [0.5, 0.25, 0.125])
    plt.close(figure)


def test_levels_have_a_row_per_layer(appI_results):
    figure = figures_settle.levels(appI_results)
    rows = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert rows[:2] == ["DEEP, layer 1", "DEEP, layer 2"] and rows[-1] == "FLAT, layer 1"
    plt.close(figure)


def test_layers_and_networks_are_those_that_are_there(appI_results):
    assert figures.layers_of(appI_results, "vn_3") == [1, 2, 3]
    assert figures.layers_of(appI_results, "vn_1") == [1]
    assert figures.networks(appI_results) == ["vn_3", "vn_3_top24", "vn_1"]
    assert figures.typical(appI_results.sel(model=["vn_1", "vn_3_top24"])) == "vn_3_top24"


def test_selectivity_is_taken_above_chance(appI_results):
    found = figures.measure_of(appI_results, "told").sel(model="vn_3", seed=0)
    np.testing.assert_allclose(found, [0, 0.25, 0.375])
    assert figures.measure_of(appI_results, "hoyer").identical(appI_results["hoyer"])


def test_the_atlas_is_that_of_the_network_that_has_one(appI_atlas, appI_results):
    found = figures_atlas.entries(appI_atlas)
    assert str(found["model"].item()) == "vn_3" and int(found["seed"]) == 0
    for without in (appI_results, appI_atlas.sel(model=["vn_1"])):
        with pytest.raises(KeyError):
            figures_atlas.entries(without)
    for one in (appI_atlas, appI_results):
        figure = figures_atlas.atlas(one, 2)
        assert figure.axes
        plt.close(figure)


def test_pictures_stand_side_by_side():
    row = figures_atlas.row_of([np.zeros((2, 3)), np.ones((2, 3))], 1)
    expected = [np.nan, 0, 0, 0, np.nan, np.nan, 1, 1, 1, np.nan]
    np.testing.assert_array_equal(row, [expected, expected])


def test_the_example_has_atoms_of_every_layer(appI_atlas):
    figure = figures_atlas.example(appI_atlas)
    titles = [part.get_suptitle() for part in figure.subfigs]
    layers = figures_atlas.entries(appI_atlas)["atlas_atom"].dropna("layer", how="all")["layer"]
    assert titles == [f"layer {layer}" for layer in layers.values]
    plt.close(figure)
