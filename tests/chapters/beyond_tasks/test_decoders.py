"""Decoders, and what they have at every pixel, where it is known beforehand."""

from __future__ import annotations

import pytest
import torch

from benchmarks.spatial import registry
from benchmarks.spatial.decoders import as_pair, build_vn
from chapters.beyond_tasks import decoders
from data_gen import bumps, shapes

DATA = shapes.make(shapes.ShapeConfig(grid=8))
CODES, IMAGES = as_pair(DATA, "cpu")
TRAIN, VALIDATION = (as_pair(bumps.subset(DATA, name), "cpu") for name in ("train", "val"))
SIZES = {"n_inputs": 16, "image_shape": (8, 8), "seed": 0}
FLAT = {"streams": "joint", "n_atoms": 24, "readout": "flat"}
# family, options, layers with units for every pixel, channels of the first
BUILT = [
    ("cnn", {"width": 4, "depth": 2}, 1, 4),
    ("coordconv", {"width": 4, "depth": 2}, 1, 4),
    ("broadcast", {"width": 4, "depth": 3}, 3, 4),
    ("coordinate_mlp", {"width": 8, "depth": 2}, 2, 8),
    ("mlp", {"hidden": [8]}, 0, 0),
    ("factorised", {"rank": 3}, 1, 6),
    ("additive", {"hidden": [8]}, 1, 2),
    ("vn", {"streams": "axes", "n_atoms": 8, "rank": 2}, 1, 4),
    ("vn", FLAT, 0, 0),
]


@pytest.mark.parametrize(("family", "options", "layers", "channels"), BUILT)
def test_which_layers_have_units_for_every_pixel(family, options, layers, channels):
    vn = family == "vn"
    model = build_vn(**SIZES, **options) if vn else registry.build(family, **SIZES, **options)
    found = decoders.located(model, CODES)
    assert len(found) == layers
    assert all(one.shape[0] == 64 and one.shape[2:] == (8, 8) for one in found)
    assert not layers or found[0].shape[1] == channels
    assert len(decoders.hidden(model, CODES)) == 64


def test_the_image_is_the_product_of_the_bands_or_the_sum_of_the_summands():
    product = registry.build("factorised", rank=3, **SIZES)
    rows, columns = decoders.located(product, CODES)[0].chunk(2, 1)
    torch.testing.assert_close((rows * columns).sum(1), product(CODES))
    total = registry.build("additive", hidden=[8], **SIZES)
    torch.testing.assert_close(decoders.located(total, CODES)[0].sum(1), total(CODES))


def fitted(family: str, tmp_path, options: dict, **training) -> decoders.Decoder:
    given = {"family": family, "options": options, "seed": 0, "workdir": tmp_path}
    return decoders.made(TRAIN, VALIDATION, **given, **training)


def test_the_outer_product_is_the_bump_and_knows_no_training(tmp_path):
    found = fitted("outer", tmp_path, {})
    torch.testing.assert_close(found.draw(CODES), IMAGES)
    columns, rows = found.located(CODES)[0].unbind(1)
    torch.testing.assert_close(columns * rows, IMAGES)
    assert found.parameters == 0 and found.gain != found.gain


def test_ridge_regressions_are_sums_and_products_of_what_they_have_at_a_pixel(tmp_path):
    affine = fitted("ridge", tmp_path, {"readout": "affine"})
    empty = affine.draw(torch.zeros(1, 16))
    torch.testing.assert_close(affine.located(CODES)[0].sum(1) + empty, affine.draw(CODES))
    profiles = fitted("ridge", tmp_path, {"readout": "profiles"})
    image = profiles.draw(CODES)
    torch.testing.assert_close(image.float(), IMAGES, atol=1e-3, rtol=0)
    torch.testing.assert_close(profiles.located(CODES)[0].prod(1), image, atol=1e-6, rtol=1e-4)
    assert not fitted("ridge", tmp_path, {"readout": "pairs"}).located(CODES)
    with pytest.raises(ValueError, match="readout"):
        fitted("ridge", tmp_path, {"readout": "cubes"})


@pytest.mark.parametrize(("family", "options"), [("factorised", {}), ("vn", FLAT)])
def test_training_lowers_the_error_and_tells_its_late_gain(family, options, tmp_path):
    how = {"lr": 1e-2, "batch_size": 16}
    one, other = (fitted(family, tmp_path / str(n), options, updates=n, **how) for n in (2, 200))
    error = [float((d.draw(CODES) - IMAGES).square().mean()) for d in (one, other)]
    assert error[1] < 0.5 * error[0] and 0 <= other.gain <= 1 and other.parameters > 0
