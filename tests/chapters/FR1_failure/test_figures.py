"""Figures and tables of FR Fig. 1 show the shipped results, and draw from fewer models."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.FR1_failure import figures, figures_kernels, tables
from vnlib.book import paths, store
from vnlib.plots.statistics import short

RESULTS = store.read(paths.result_file(paths.RESULTS, "paper", "FR1_failure"))
DRAW = (
    figures.error_maps,
    figures.errors,
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
    ax = figures.errors(RESULTS).axes[RESULTS["hold_out"].values.tolist().index("square")]
    relative = tables.relative(RESULTS).sel(hold_out="square", where="ood").median("seed")
    drawn = [line.get_ydata() for line in ax.lines]
    assert any(len(y) == len(relative) and np.allclose(y, relative) for y in drawn)


def test_a_map_is_the_median_error_over_that_of_a_zero_image():
    one = RESULTS.sel(model=["cnn_bump"], hold_out=["corner"])
    shown = figures.error_maps(one).axes[0].images[0].get_array()
    zero = float(one["zero_baseline"].sel(where="ood").median())
    expected = one["mse"].median("seed").values.reshape(28, 28) / zero
    assert np.allclose(shown, expected.clip(1e-3), rtol=1e-4)


def test_images_are_those_of_the_seed_that_kept_any():
    late = RESULTS.isel(seed=[2, 0, 1])
    assert figures.with_images(late)["seed"] == 0
    assert figures.with_images(late)["shown_image"].notnull().all()


def test_the_matrix_of_positions_with_a_shared_coordinate_is_binary():
    first = figures_kernels.matrices(RESULTS).axes[0].images[0].get_array()
    assert set(np.unique(first)) == {0, 0.5, 1} and (np.diag(first) == 1).all()


def test_tables_hold_medians():
    frame = tables.inside(RESULTS, "square").frame
    own = RESULTS.sel(model="cnn_ramp", hold_out="square")
    relative = (own["error"] / own["zero_baseline"]).sel(where="ood").median()
    assert frame.loc["CNN, ramp code", ("OOD error", "median")] == relative
    memorised = own["resembles"].sel(test="memorised").median()
    assert frame.loc["CNN, ramp code", ("like the sum", "median")] == memorised
    kernels = tables.kernels(RESULTS).frame
    assert kernels.loc["true bumps", ("cosine, OOD pairs", "product")] > 0.99
    assert np.isnan(kernels.loc["true bumps", ("overlap, OOD pairs", "sum")])


def test_numbers_are_by_model_and_hold_out():
    several = RESULTS["several"].sel(model="mlp_bump", hold_out="corner", where="ood").median()
    found = tables.numbers(RESULTS)["FR1-several-mlp-bump-corner"]
    assert found == short(100 * float(several))
