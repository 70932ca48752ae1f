"""Figures and tables of FR Fig. 1 show the shipped results, and draw from fewer models."""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.FR1_failure import figures, figures_example, figures_kernels, tables
from vnlib.book import paths, store
from vnlib.plots.statistics import percent

RESULTS = store.read(paths.result_file(paths.RESULTS, "paper", "FR1_failure"))
DRAW = (
    figures_example.example,
    figures.error_maps,
    figures.errors,
    figures.curves,
    figures.edge,
    figures.samples,
    figures.drawn,
    figures.superposition,
    figures.resemblance,
    figures_kernels.matrices,
    figures_kernels.displacement,
    figures_kernels.kernels,
    figures_kernels.binary,
)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("draw", DRAW)
def test_figures_can_be_drawn_of_some_models_and_one_seed(draw):
    draw(RESULTS.sel(model=["cnn_ramp", "factorised"], seed=[0])).canvas.draw()


def test_errors_are_over_those_of_a_zero_image():
    ax = figures.errors(RESULTS).axes[0]
    assert ax.get_title() == "square held out", "the one with most models comes first"
    relative = tables.relative(RESULTS).sel(hold_out="square", where="ood").clip(figures.FLOOR)
    relative = relative.median("seed")
    drawn = [line.get_xdata() for line in ax.lines]
    assert any(len(x) == len(relative) and np.allclose(x, relative) for x in drawn)


def test_a_map_is_the_median_error_over_that_of_a_zero_image():
    one = RESULTS.sel(model=["cnn_bump"])
    shown = figures.error_maps(one, "corner").axes[0].images[0].get_array()
    one = one.sel(hold_out="corner")
    zero = float(one["zero_baseline"].sel(where="ood").median())
    expected = one["mse"].median("seed").values.reshape(28, 28) / zero
    assert np.allclose(shown, expected.clip(1e-3), rtol=1e-4)


def test_models_are_shown_in_the_hold_outs_they_were_run_with():
    some = RESULTS.sel(model=["cnn_bump", "cnn_ramp"])
    assert figures.within(some, "corner")["model"].values.tolist() == ["cnn_bump"]
    assert figures.within(some, "square").sizes["model"] == 2


def test_curves_have_a_line_for_every_seed_and_set():
    fig = figures.curves(RESULTS.sel(model=["cnn_bump", "factorised"]))
    seeds = RESULTS.sizes["seed"]
    lines = [line for line in fig.axes[0].lines if len(line.get_xdata()) > 2]
    assert len(lines) == 2 * seeds
    last = RESULTS["curve_ood"].sel(model="cnn_bump", hold_out="square", seed=0)
    zero = RESULTS["zero_baseline"].sel(model="cnn_bump", hold_out="square", seed=0, where="ood")
    assert np.allclose(lines[seeds].get_ydata(), last / zero, equal_nan=True)


def test_errors_rise_across_the_edge():
    ax = figures.edge(RESULTS.sel(model=["cnn_bump"])).axes[0]
    depth, error = ax.lines[0].get_data()
    assert error[depth == 4] > 10 * error[depth == -2]


def test_images_are_those_of_the_seed_that_kept_any():
    late = RESULTS.isel(seed=[2, 0, 1])
    assert figures.with_images(late)["seed"] == 0
    kept = figures.with_images(figures.within(late, "square"))
    assert kept["shown_image"].notnull().all()


def test_the_matrix_of_positions_with_a_shared_coordinate_is_binary():
    first = figures_kernels.matrices(RESULTS).axes[0].images[0].get_array()
    assert set(np.unique(first)) == {0, 0.5, 1} and (np.diag(first) == 1).all()


def test_tables_hold_medians():
    frame = tables.inside(RESULTS, "square").frame
    own = RESULTS.sel(model="cnn_ramp", hold_out="square")
    relative = (own["error"] / own["zero_baseline"]).sel(where="ood").median()
    assert frame.loc["CNN, ramp code", ("OOD error", "median")] == relative
    memorised = own["resembles"].sel(test="memorised").median()
    frame = tables.likeness(RESULTS, "square").frame
    assert frame.loc["CNN, ramp code", ("like the sum", "median")] == memorised
    frame = tables.drawings(RESULTS, "square").frame
    assert (
        frame.loc["CNN, ramp code", ("several bumps", "median")]
        == own["several"].sel(where="ood").median()
    )
    kernels = tables.kernels(RESULTS).frame
    assert kernels.loc[("true bumps", "cosine, OOD pairs"), ("product", "median")] > 0.99
    assert ("true bumps", "overlap, OOD pairs") not in kernels.index, "they do not vary"


def test_numbers_are_by_model_and_hold_out():
    several = RESULTS["several"].sel(model="mlp_bump", hold_out="corner", where="ood").median()
    found = tables.numbers(RESULTS)["FR1-several-mlp-bump-corner"]
    assert re.sub(r" \[.*]", "", found) == percent(several), "99 [98, 100] % or 99 %"
