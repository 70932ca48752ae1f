"""Figures and tables of one law, on made-up points."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from chapters.beyond_law import figures, tables
from chapters.beyond_law import points as points_of


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def sets(points) -> dict[str, pd.DataFrame]:
    moved = points.rename(columns={"rendering": "volume"}).assign(terms=points["rendering"])
    bands = points.rename(columns={"rendering": "band"}).drop(columns=["F", "probe"])
    return {"tasks": points, "manifold": moved, "maps": bands}


def test_figures_draw_all_points(sets):
    ax = figures.law(sets["tasks"]).axes[0]
    drawn = sum(len(one.get_offsets()) for one in ax.collections)
    assert drawn == len(sets["tasks"])
    panels = [ax.get_xlabel() for ax in figures.others(sets).axes]
    assert panels == [figures.MEASURES[m] for m in ("F", "volume", "terms", "band")]


def test_figures_of_nothing_say_so(sets):
    none = {kind: own.head(0) for kind, own in sets.items()}
    for figure in (figures.law(none["tasks"]), figures.others(none)):
        assert "No decoder" in figure.axes[0].texts[0].get_text()
    assert "Too few" in figures.forest(tables.ranks(none)).axes[0].texts[0].get_text()


def test_ranks_in_table_figure_and_prose_are_the_same(sets):
    found = tables.ranks(sets)
    law = found[found["set"].eq("tasks") & found["measure"].eq("rendering")].iloc[0]
    assert law["error"] == "ood"
    assert law["rank"] == pytest.approx(-1) and law["points"] == 60
    assert law["low"] <= law["rank"] <= law["high"]
    assert "id" not in set(found["measure"]), "a constant has no rank"
    for error in ("ood", "ratio"):
        shown = tables.measures(found, error).frame
        own = found.loc[found["error"] == error, "rank"]
        assert shown[tables.RANK, "median"].tolist() == own.tolist()
    own = 10 ** sets["tasks"].set_index(["decoder", "condition"])[["id", "ood"]]
    errors = own.to_xarray().rename(decoder="model", condition="task", id="mse_id", ood="mse_ood")
    errors = errors.assign(zero_baseline_id=1.0, zero_baseline_ood=1.0).expand_dims(seed=[0, 1])
    said = tables.numbers(found, sets["tasks"], errors)
    assert said["beyondlaw-high"] == "0" and said["beyondlaw-least"] == "0.016"
    assert said["beyondlaw-once"] == "12" and said["beyondlaw-all"] == "60"
    assert said["beyondlaw-tasks-rendering-ood-rank"] == "−1.0"
    assert said["beyondlaw-tasks-rendering-ood-n"] == "60"
    figure = figures.forest(found)
    assert len(figure.axes[0].get_yticks()) == found["measure"].nunique()


def test_the_example_says_the_rendering_and_the_error_of_each_drawing(tasks):
    own = points_of.of_tasks(
        tasks.assign_coords(task=["base", "shape_ring"], model=["cnn", "vn_axes"])
    )
    images = tasks["rendering"].expand_dims(y=[0, 1], x=[0, 1])
    drawn = tasks.assign(sample_image=images, target_image=images)
    drawn = drawn.assign_coords(task=["base", "shape_ring"], model=["cnn", "vn_axes"])
    axes = figures.example(drawn, own).axes
    assert [ax.get_title() for ax in axes[:3]] == ["true image", "A", "B"]
    assert axes[1].get_xlabel() == "rendering 0.25\nerror 0.10"
    assert "No image" in figures.example(tasks, own).axes[0].texts[0].get_text()
