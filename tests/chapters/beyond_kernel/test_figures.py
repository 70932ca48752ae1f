"""Figures, tables and numbers of linearisations, on made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.beyond_kernel import figures, tables

FIGURES = ("errors", "path", "pictures", "matrices")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", FIGURES)
def test_figures_draw_whatever_there_is(results, name):
    for part in (results, results.isel(code=[0], seed=[1]), results.sel(model=["cnn"])):
        getattr(figures, name)(part).canvas.draw()


def test_every_seed_of_both_is_a_point(results):
    for row, models in zip((0, 1), (2, 1), strict=True):
        for ax in np.reshape(figures.errors(results).axes[:4], (2, 2))[row]:
            points = sum(len(one.get_offsets()) for one in ax.collections)
            assert points == models * 3 * 2, "trained and linearised"


def test_lines_are_medians_beside_the_trained_error(results):
    ax = figures.path(results).axes[0]
    curve, trained = ax.lines[0], next(one for one in ax.lines if one.get_linestyle() == ":")
    assert curve.get_ydata()[:2] == pytest.approx([1.4, 0.7])
    assert trained.get_ydata() == pytest.approx([0.02, 0.02])
    assert sum(one.get_linewidth() == 0.4 for one in ax.lines) == 3 * 2, "a line for each seed"


def test_without_pictures_the_figures_say_so(results):
    none = results.assign(picture_drawn=results["picture_drawn"] * np.nan)
    assert "No image" in figures.pictures(none).axes[0].texts[0].get_text()


def test_errors_stand_under_the_drawings(results):
    axes = figures.pictures(results).axes
    told = [ax.get_xlabel() for ax in axes if ax.get_xlabel()]
    assert told == ["trained: 0.020", "trained: 1.0 × 10⁻⁵", "linearised: 0.70", "linearised: 1.0"]


def test_tables_have_a_row_for_each_decoder_and_code(results):
    for table in (tables.errors(results), tables.shares(results), tables.kernels(results)):
        assert len(table.frame) == 3
    frame = tables.errors(results).frame
    row = frame.loc[("bump code", "CNN")]
    assert row["ID", "trained", "median"] == pytest.approx(0.02)
    assert row["OOD", "linearised", "high"] == pytest.approx(1.4)


def test_the_numbers_of_the_prose(results):
    found = tables.numbers(results)
    assert found["beyondkernel-linear-ood-bump-cnn"] == "0.70 [0.35, 1.4]"
    assert found["beyondkernel-explained-truth-id-bump-cnn"] == "0.20"
    assert found["beyondkernel-parameters-cnn"] == "1,234"
