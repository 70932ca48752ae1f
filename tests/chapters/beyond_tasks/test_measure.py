"""Measures of rendering where the layers are written down."""

from __future__ import annotations

import pytest
import torch

from benchmarks.spatial.decoders import as_pair
from chapters.beyond_tasks import measure
from chapters.beyond_tasks.decoders import Decoder
from data_gen import shapes

SIDE = 8
DATA = shapes.make(shapes.ShapeConfig(grid=SIDE))
CODES, IMAGES = as_pair(DATA, "cpu")
HELD_OUT = torch.from_numpy((DATA["split"] == "ood").values)
COLUMN, ROW = (
    half[:, None, :].expand(-1, SIDE, -1) if k == 0 else half[:, :, None].expand(-1, -1, SIDE)
    for k, half in enumerate(CODES.chunk(2, 1))
)
BANDS = torch.stack([COLUMN, ROW], 1)


def test_rendering_is_one_for_bands_that_vary_alike():
    x = torch.arange(SIDE**2) % SIDE
    y = torch.arange(SIDE**2) // SIDE
    # at every pixel one unit of x and one of y, of the same variance
    waves = torch.stack([torch.cos(2 * torch.pi * one / SIDE) for one in (x, y)], 1)
    even = waves[:, :, None, None].expand(-1, -1, SIDE, SIDE)
    assert measure.rendering(even) == pytest.approx(1)
    assert measure.rendering(even * torch.tensor([5.0, 0.1])[:, None, None]) == pytest.approx(1)
    assert measure.rendering(even[:, :1]) == pytest.approx(0, abs=1e-12), "of x alone"
    product = even.prod(1, keepdim=True)
    assert measure.rendering(product) == pytest.approx(0, abs=1e-12), "no factor by itself"
    assert measure.rendering(torch.cat([even, product], 1)) == pytest.approx(2 / 3)
    half = even.clone()
    half[:, 1, :, : SIDE // 2] = 0
    # the unit of y varies twice as much where it varies, 2 / 3, and half of the pixels lack it
    assert measure.rendering(half) == pytest.approx(1 / 3)
    assert measure.rendering(torch.ones(SIDE**2, 2, SIDE, SIDE)) == 0


def test_bands_of_bumps_are_rendered_and_bumps_are_not():
    bands, image = measure.rendering(BANDS), measure.rendering(IMAGES[:, None])
    assert bands > 0.9 > 0.5 > image


def test_effects_are_means_over_the_other_factor():
    found = measure.effects(IMAGES)
    assert found.shape == (SIDE**2, SIDE**2, 2)
    pixel, position = 3 * SIDE + 5, 2 * SIDE + 4  # (x, y) = (5, 3), (4, 2)
    plane = IMAGES.double().view(SIDE, SIDE, SIDE, SIDE)  # y, x, row, column
    assert found[pixel, position, 0] == pytest.approx(float(plane[:, 4, 3, 5].mean()))
    assert found[pixel, position, 1] == pytest.approx(float(plane[2, :, 3, 5].mean()))


def test_factors_are_readable_from_bands_and_not_from_noise_or_one_factor():
    target, seen = measure.effects(IMAGES), ~HELD_OUT
    for read in (None, HELD_OUT):
        assert measure.readable(BANDS, target, seen, read, 0) > 0.99
        assert measure.readable(BANDS[:, :1], target, seen, read, 0) < 0.1
    noise = torch.randn(SIDE**2, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    assert measure.readable(noise, target, seen, None, 0) < 0.1


def test_measures_of_a_product_and_of_a_table():
    product = Decoder(lambda _: IMAGES, lambda _: [BANDS], lambda _: CODES)
    nothing = Decoder(lambda _: IMAGES, lambda _: [], lambda _: torch.eye(SIDE**2))
    one, other = (
        measure.measures(decoder, CODES, IMAGES, HELD_OUT, 0) for decoder in (product, nothing)
    )
    assert set(one) == set(other)
    assert one["rendering"] > 0.9 > 0.5 > other["rendering"]
    assert one["readable_ood"] > 0.99 and other["readable"] < 0.5
    assert one["F"] == pytest.approx(1) and one["one_factor"] == pytest.approx(1)
    assert one["probe"] > 0.9 > other["probe"] and other["terms"] == pytest.approx(1, abs=0.3)
    assert one["F_output"] == other["F_output"] and one["terms_output"] == other["terms_output"]
