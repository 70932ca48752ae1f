"""What the figures and tables of appendix A show of the shipped results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.A_predictive_coding import figures, figures_example, tables
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "A_predictive_coding.nc")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def rows(ax: plt.Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def points(ax: plt.Axes) -> int:
    """Points that have a place; seaborn adds empty collections."""
    places = [np.ma.filled(c.get_offsets().astype(float), np.nan) for c in ax.collections]
    return sum(int(np.isfinite(one).all(1).sum()) for one in places)


def test_rows_are_the_models_in_the_order_of_the_story(shipped):
    fig = figures.forgetting(shipped)
    assert rows(fig.axes[0])[:4] == ["PC", "bPC", "VN-2L", "PC, sparse prior"]
    assert [points(ax) for ax in fig.axes] == [10 * 16] * 6


def test_every_seed_of_every_pair_is_a_point(shipped):
    fig = figures.maps(shipped)
    assert [points(ax) for ax in fig.axes] == [7 * 3 * 16] * 4
    few = shipped.sel(model=["pc", "vn"], pair=["digits"])
    assert [points(ax) for ax in figures.maps(few).axes] == [2 * 16] * 4


def test_titles_say_how_many_states_are_nonzero(shipped):
    titles = [ax.get_title() for ax in figures.inferred(shipped).axes]
    share = 100 * float((shipped["code"].sel(model="vn", pair="digits", seed=0) != 0).mean())
    assert f"VN-2L:\n{share:.0f} % nonzero" in titles and "PC:\n100 % nonzero" in titles


def test_updates_are_drawn_of_the_models_that_are_there(shipped):
    few = figures.updates(shipped.sel(model=["pc", "vn"]))
    images = [ax for ax in few.axes if ax.images and ax.get_xlabel() == "unit"]
    assert [ax.get_title().split(",")[0] for ax in images] == ["PC", "VN-2L"]


def test_an_arrow_joins_medians_that_differ(shipped):
    fig = figures.both_tasks(shipped)
    assert len(fig.axes[2].texts) == 7, "two libraries never learn"
    named = [text.get_text() for text in fig.legends[0].texts]
    assert len(named) == 9 and "VN-2L, λ = 0" not in named, "the exercise asks for it"


def test_what_the_overlap_is_drawn_against(shipped):
    fig = figures.overlap(shipped)
    assert points(fig.axes[1]) == 8 * 3 * 16
    assert fig.axes[1].get_ylim()[1] > 1 + float(shipped["interference"].max())


def test_the_table_holds_numbers_in_per_cent(shipped):
    table = tables.errors(shipped, "digits")
    assert list(table.frame.index[:2]) == ["PC", "bPC"]
    vn = shipped["mse"].sel(model="vn", pair="digits", stage="first", task=1)
    assert table.frame.loc["VN-2L", ("error 1, learned", "median")] == 100 * float(vn.median())
    assert table.shown().loc["PC", "weights"] == "29,184"
    assert table.shown()["learning rate"].iloc[-1] == "", "it never learned"


def test_the_example_counts_the_units_in_use(shipped):
    fig = figures_example.example(shipped)
    state = shipped["down_activity"].sel(model="vn", pair="digits", seed=0)
    assert fig.axes[-1].get_xlabel() == f"{int((state != 0).sum())} of 128 in use"
    assert [ax.get_title() for ax in fig.axes[1:]] == ["PC", "bPC", "PC, sparse prior", "VN-2L"]
