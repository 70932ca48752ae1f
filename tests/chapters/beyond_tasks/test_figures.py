"""Figures of decoders on many tasks, on made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Rectangle

from chapters.beyond_tasks import figures

FIGURES = ("grid_of_errors", "first", "rest", "example", "shapes", "along", "longer")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", FIGURES)
def test_figures_draw_whatever_there_is(results, name):
    for part in (results, results.isel(model=[1], seed=[1]), results.sel(task=["base"])):
        getattr(figures, name)(part).canvas.draw()


def test_the_grid_has_every_median_and_frames_what_learned_nothing(results):
    ax = figures.grid_of_errors(results).axes[0]
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    column = results["model"].values.tolist().index
    assert shown[0, column("cnn")] == pytest.approx(0.6)
    assert shown[0, column("vn_axes")] == figures.LEAST, "smaller ones have the last colour"
    assert np.isnan(shown[-1, column("outer")]) and not np.isnan(shown[-1, column("cnn")])
    frames = [p for p in ax.patches if isinstance(p, Rectangle)]
    assert {round(f.get_x() + 0.46) for f in frames} == {column("additive")}
    assert len(frames) == len(figures.TASKS), "longer trainings are no tasks of their own"


def test_lines_run_over_the_condition_number_and_the_share(results):
    left, right = figures.along(results).axes
    names = {line.get_label() for line in left.lines if not line.get_label().startswith("_")}
    assert names == {"VN_AXES", "CNN"}
    lines = {line.get_label(): line for line in right.lines}
    assert lines["CNN"].get_ydata() == pytest.approx([0.6] * len(figures.SHARES))


def test_tasks_with_fewer_seeds_say_so(results):
    assert set(figures.names(results).values()) == set(figures.TASKS.values())
    once = results.where((results["task"] != "shape_ring") | (results["seed"] == 0))
    assert figures.names(once)["shape_ring"] == "ring (1 seed)"
    assert figures.names(once)["base"] == figures.TASKS["base"]


def test_longer_trainings_stand_beside_the_same_seeds(results):
    for ax in figures.longer(results).axes:
        points = sum(len(one.get_offsets()) for one in ax.collections)
        assert points == 3 * 2 * 2, "three trained decoders, two seeds, both lengths"
    without = results.sel(task=list(figures.TASKS))
    assert "longer" in figures.longer(without).axes[0].texts[0].get_text()
