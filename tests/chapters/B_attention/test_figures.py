"""What the figures and tables of appendix B show of the shipped results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.B_attention import figures, figures_example, tables
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "B_attention.nc")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_stems_are_the_active_atoms_of_the_digit(shipped):
    fig = figures.adaptive(shipped)
    stems = next(ax for ax in fig.axes if ax.get_xlabel() == "atom")
    active = int((shipped["shown_code"].isel(seed=0) != 0).sum())
    assert len(stems.collections[0].get_segments()) == active
    assert sum(ax.get_title().startswith("$A$") for ax in fig.axes) == 4


def test_rows_are_models_and_every_seed_is_a_point(shipped):
    fig = figures.density(shipped)
    rows = [text.get_text() for text in fig.axes[0].get_yticklabels()]
    assert rows[:2] == ["VN-1L, image", "VN-1L, patches"] and len(rows) == 7
    places = [c.get_offsets() for c in fig.axes[0].collections]
    assert sum(len(one) for one in places if np.isfinite(np.ma.filled(one, np.nan)).all()) == 7 * 16


def test_every_seed_has_its_curve_of_both_energies(shipped):
    ax = figures.energies(shipped).axes[0]
    curves = [line for line in ax.lines if len(line.get_xdata()) > 2]
    assert len(curves) == 2 * 16
    assert all((np.diff(line.get_ydata()) < 1e-5).all() for line in curves)


def test_lines_are_drawn_at_the_bounds_of_the_rank(shipped):
    fig = figures.ranks(shipped)
    assert [fig.axes[i].lines[-1].get_xdata()[0] for i in (1,)] == [8.5]
    active = int((shipped["shown_code"].isel(seed=0) != 0).sum())
    assert fig.axes[2].lines[-1].get_xdata()[0] == active + 0.5


def test_gates_shows_atoms_tokens_and_batches(shipped):
    fig = figures.gates(shipped)
    assert [len(fig.axes[i].lines[0].get_xdata()) for i in (0, 1)] == [256, 64]
    assert len(fig.axes[2].get_legend().texts) == 4


def test_competition_names_all_models_that_compete(shipped):
    fig = figures.competition(shipped)
    names = [text.get_text() for text in fig.legends[0].texts]
    assert len(names) == 6 and "VN-1L, patches" not in names


def test_tables_hold_numbers_for_the_models_that_have_them(shipped):
    adapting, learning = tables.adapting(shipped).frame, tables.learning(shipped).frame
    zero = shipped["zero_share"].sel(model="vn_image")
    assert adapting.loc["VN-1L, image", ("exactly zero", "median")] == float(zero.median())
    assert np.isnan(learning.loc["VN-1L, patches", ("kept by the rest", "median")])
    copy = learning["share of a copy in its pair", "median"].dropna()
    np.testing.assert_allclose(copy.drop("VN-1L, image"), 0.5, atol=1e-3)
    assert copy["VN-1L, image"] < 0.01, "the atom that was there keeps its coefficient"


def test_the_example_shows_weights_that_sum_to_one_of_a_patch_that_is_hidden(shipped):
    fig = figures_example.example(shipped)
    active = int((shipped["shown_code"].isel(seed=0) != 0).sum())
    assert fig.axes[1].get_xlabel() == f"{active} of 256 atoms in use"
    weights = [float(text.get_text()) for text in fig.axes[3].texts]
    assert len(weights) == 16 and sum(weights) == pytest.approx(100, abs=1)
    (frame,) = fig.axes[2].patches
    unseen = shipped["shown"].isel(seed=0).sel(image="visible")
    x, y = (int(at + 0.5) for at in frame.get_xy())
    assert unseen.isel(x=slice(x, x + 7), y=slice(y, y + 7)).isnull().all()
