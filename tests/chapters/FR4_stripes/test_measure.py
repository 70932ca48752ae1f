"""Shapes and reports of the stripe study, on images whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from chapters.FR4_stripes import measure
from data_gen import bumps

CONFIG = bumps.BumpConfig(grid=12, sigma=1.0, hold_out="corner", polarity="dark")


@pytest.fixture(scope="module")
def data() -> xr.Dataset:
    return bumps.make(CONFIG)


@pytest.fixture(scope="module")
def lines() -> xr.Dataset:
    return bumps.stripes(CONFIG)


def test_ink_does_not_depend_on_the_polarity(data):
    bright = bumps.make(bumps.BumpConfig(grid=12, sigma=1.0, hold_out="corner"))
    dark = measure.ink(data["image"].values, data)
    assert (
        np.allclose(dark, measure.ink(bright["image"].values, bright), atol=1e-6)
        and dark.max() == 1
    )


def drawn(weights, x, y, side=12, sigma=1.0):
    """An image with given weights of (constant, s_x, s_y, s_x s_y)."""
    column, row = (np.exp(-0.5 * ((np.arange(side) - at) / sigma) ** 2) for at in (x, y))
    c = weights
    return (
        c[0] + c[1] * column[None, :] + c[2] * row[:, None] + c[3] * row[:, None] * column[None, :]
    )


def test_the_fit_returns_the_weights_it_was_made_of():
    places, weights = [(3, 8), (11, 0), (5, 5)], [(0.2, 0.7, 0.3, -0.5), (0, 1, 1, 0), (0, 0, 0, 1)]
    images = np.stack([drawn(w, *at) for w, at in zip(weights, places, strict=True)])
    found = measure.shapes(images, *np.array(places).T, sigma=1.0)
    assert found["line"] == pytest.approx([0.5, 1, 0], abs=1e-9)
    assert found["product"] == pytest.approx([-0.5, 0, 1], abs=1e-9)
    assert found["like_cross"][1] == pytest.approx(1) and found["like_bump"][2] == pytest.approx(1)
    assert found["like_bump"][1] < 0.7 and found["like_cross"][2] < 0.7
    assert found["cross_mse"][1] == pytest.approx(0, abs=1e-12) and found["cross_mse"][2] > 0.05


def test_an_image_without_contrast_is_like_nothing():
    found = measure.shapes(np.full((1, 12, 12), 0.3), np.array([4]), np.array([4]), sigma=1.0)
    assert found["like_cross"] == 0 and found["like_bump"] == 0


class Painter(nn.Module):
    """Draws from the bump code, in the polarity of the task: sums or products of its halves, moved
    by `shift` rows.
    """

    def __init__(self, form: str, shift: int = 0) -> None:
        super().__init__()
        self.form, self.shift, self.unused = form, shift, nn.Parameter(torch.zeros(1))

    def forward(self, x):
        column, row = x.chunk(2, dim=1)
        column, row = column[:, None, :], torch.roll(row, self.shift, dims=1)[:, :, None]
        return 1 - (column * row if self.form == "bump" else column + row)


def test_a_perfect_decoder_of_bumps(data, lines):
    report = measure.drawing_report(Painter("bump"), data, lines)
    assert (
        report["mse_ood"] < 1e-12
        and report["hit_ood"] == report["bump_hit_ood"] == report["hit_x_ood"] == 1
    )
    assert report["cross_share_ood"] == 0 and report["product_ood"] == pytest.approx(1, abs=1e-5)
    assert report["stripe_mse"] == pytest.approx(
        float(((1 - lines["image"]) ** 2).mean()), rel=1e-5
    ), "blank stripes"


def test_a_decoder_of_crosses_hits_but_draws_no_bump(data, lines):
    report = measure.drawing_report(Painter("cross"), data, lines)
    assert report["hit_ood"] == 1 and report["bump_hit_ood"] == 0 and report["cross_share_ood"] == 1
    assert report["line_ood"] == pytest.approx(1, abs=1e-5) and report["stripe_mse"] < 1e-12
    assert report["cross_mse_ood"] < 1e-12 < report["mse_ood"]


def test_marginal_accuracy_forgives_a_wrong_row(data, lines):
    report = measure.drawing_report(Painter("bump", shift=6), data, lines)
    assert report["hit_x_ood"] == 1 and report["hit_y_ood"] == 0 and report["hit_ood"] == 0


def test_pictures_show_the_positions_asked_for(data, lines):
    found = measure.pictures(Painter("bump"), data, samples=[[2, 7]])
    image = found["picture"].sel(sample="2, 7").values
    assert np.unravel_index(image.argmin(), image.shape) == (7, 2)
    assert np.array_equal(image * 256, np.round(image * 256))
