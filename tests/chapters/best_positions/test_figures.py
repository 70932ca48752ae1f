"""Figures and tables of made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from chapters.best_positions import figures, tables
from vnlib.book import chapter

SIDECAR = chapter.spec("best_positions").sidecar


@pytest.mark.parametrize("name", ["example", "by_task", "ingredients", "data"])
def test_every_figure_is_drawn_or_says_why_not(name, results):
    assert isinstance(getattr(figures, name)(results), Figure)
    nothing = results.sel(model=["kernel"], task=["plain"])
    assert isinstance(getattr(figures, name)(nothing), Figure)
    plt.close("all")


def test_the_picture_is_of_the_reading_that_was_chosen(results):
    results["sample_image"].loc[{"model": "operator_settled", "task": "noise"}] = 0.7
    fig = figures.example(results)
    lines = [ax for ax in fig.axes if ax.images]
    columns = len(lines) // len(figures.DRAWN)
    noise = lines[columns * figures.DRAWN.index("noise") + 1]
    assert np.allclose(noise.images[0].get_array(), 0.7)
    ring = lines[columns * figures.DRAWN.index("ring") + 1]
    assert np.allclose(ring.images[0].get_array(), 0.5)
    plt.close(fig)


def test_marks_stand_at_errors_of_all_seeds_and_their_median(results):
    fig = figures.by_task(results)
    lines = fig.axes[0].lines
    medians = next(one for one in lines if one.get_label() == figures.VN)
    told = dict(zip(figures.TASKS, medians.get_xdata(), strict=True))
    assert told["plain"] == pytest.approx(0.1) and told["noise"] == pytest.approx(0.2)
    every = [one for one in lines if len(one.get_xdata()) == len(figures.TASKS)]
    assert len(every) >= 6 + 1
    plt.close(fig)


def test_an_ingredient_is_the_ratio_of_two_errors(results):
    found = tables.ingredients(results).frame
    assert found.loc["hidden entries: settled / as given"].iloc[0] == pytest.approx(0.2 / 0.6)
    assert found.loc["ring: up to six terms / one"].iloc[0] == pytest.approx(0.2)
    without = results.drop_sel(model="settled_coarse")
    assert "hidden entries: fine layer / none" not in tables.ingredients(without).frame.index


def test_the_network_is_told_task_by_task(results):
    found = tables.composed(results).frame
    assert found.loc["noise 0.1"].iloc[-1] == "settled (6)"
    assert found.loc["ring"].iloc[-1] == "as given (6)"


def test_tasks_that_are_surely_won_are_counted(results):
    found = tables.wins(results).frame
    assert found.loc["CNN"].iloc[0] == "12 of 12"
    results["mse_ood"].loc[{"model": "cnn", "task": "plain"}] = 1e-9
    assert tables.wins(results).frame.loc["CNN"].iloc[0] == "11 of 12"


def test_tables_of_all_and_of_data(results):
    errors = tables.errors_of_all(results).frame
    assert errors.index[0] == figures.VN and "KERNEL" in errors.index
    assert len(tables.data(results).frame) == 4
    assert "FACTORISED" in tables.costs(results).frame.index


def test_numbers_are_those_of_the_results(results):
    more = results.sel(task=["noise", "hidden"], model=["operator", "operator_settled"]).copy(
        deep=True
    )
    more["mse_ood"].loc[{"model": "operator"}] /= 4
    told = tables.numbers(results, more, xr.Dataset(), SIDECAR)
    assert told["bestpositions-error-noise"].startswith("0.20")
    assert told["bestpositions-wins-cnn"] == "12 of 12" and told["bestpositions-seeds"] == "6"
    assert told["bestpositions-wider-given-noise"].startswith("0.30")
    assert told["bestpositions-wider-left-noise"].startswith("0.67")
    none = tables.numbers(results.sel(model=["kernel"]), xr.Dataset(), xr.Dataset(), SIDECAR)
    assert none["bestpositions-held"] == "0 of 25"


def test_wider_penalties_stand_beside_those_of_all_runs(results):
    more = results.sel(task=["noise"], model=["operator", "operator_settled"]).copy(deep=True)
    more["mse_ood"].loc[{"model": "operator"}] /= 4
    found = tables.penalties(results, more).frame
    assert list(found.index) == ["noise 0.1"]
    np.testing.assert_allclose(found.iloc[0, [0, 4]], [0.6, 0.3])
    assert isinstance(tables.penalties(results, xr.Dataset()), Figure), "says that there are none"


def test_terms_of_corners_stand_beside_those_of_validation(results):
    gaps = results.sel(task=["wide"], model=["operator", "operator_settled"]).copy(deep=True)
    gaps["mse_ood"].loc[{"model": "operator"}] /= 4
    found = tables.terms(results, gaps).frame
    by_validation, by_corners = (
        found[next(c for c in found if c[0].endswith(text) and c[1] == "median")].iloc[0]
        for text in ("validation", "corners")
    )
    np.testing.assert_allclose(by_corners / by_validation, 0.5)
    told = tables.numbers(results, xr.Dataset(), gaps, SIDECAR)
    assert told["bestpositions-corners-operator-wide"].startswith("0.50")
    assert isinstance(tables.terms(results, xr.Dataset()), Figure)
