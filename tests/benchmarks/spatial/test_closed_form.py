"""Decoders that nobody trains, against what they are by algebra."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.spatial.closed_form import PENALTIES, OuterProduct, least_squares, ridge
from data_gen import bumps

SPLITS = ("train", "val", "ood")


def sets(encoding: str = "bump") -> dict[str, tuple[np.ndarray, np.ndarray]]:
    data = bumps.make(bumps.BumpConfig(grid=12, sigma=1.0, encoding=encoding, n_frequencies=6))
    return {
        split: tuple(part[name].values.astype(float) for name in ("code", "image"))
        for split in SPLITS
        for part in [bumps.subset(data, split)]
    }


def error(draw, pair) -> float:
    return float(np.square(draw(pair[0]) - pair[1]).mean())


@pytest.mark.parametrize("polarity", ["bright", "dark"])
def test_the_outer_product_of_two_bump_codes_is_the_image(polarity):
    data = bumps.make(bumps.BumpConfig(grid=12, sigma=1.5, polarity=polarity))
    model = OuterProduct(n_inputs=24, image_shape=(12, 12), dark=polarity == "dark")
    drawn = model(torch.from_numpy(data["code"].values))
    np.testing.assert_allclose(drawn, data["image"], atol=1e-6)
    assert not list(model.parameters())


def test_the_outer_product_is_no_image_of_another_width_and_takes_no_ramp():
    code = bumps.make(bumps.BumpConfig(grid=12, sigma=1.0))["code"].values
    wide = bumps.make(bumps.BumpConfig(grid=12, sigma=2.0))["image"].values
    drawn = OuterProduct(n_inputs=24, image_shape=(12, 12))(torch.from_numpy(code)).numpy()
    assert np.square(drawn - wide).mean() > 0.1 * np.square(wide).mean()
    with pytest.raises(ValueError, match="twice the side of square images, got 2 for images"):
        OuterProduct(n_inputs=2, image_shape=(12, 12))


@pytest.mark.parametrize("encoding", ["bump", "one_hot", "fourier"])
def test_profiles_are_exact_at_every_position_where_the_code_tells_them_apart(encoding):
    found = sets(encoding)
    draw = least_squares(*found["train"], readout="profiles")
    assert error(draw, found["ood"]) < 1e-12


def test_an_affine_readout_is_a_sum_of_what_each_half_says():
    found = sets()
    draw, (codes, _) = least_squares(*found["train"], readout="affine"), found["ood"]
    half = codes.shape[1] // 2
    a, b = codes[:1], codes[-1:]
    mixed = (
        np.concatenate([a[:, :half], b[:, half:]], 1),
        np.concatenate([b[:, :half], a[:, half:]], 1),
    )
    np.testing.assert_allclose(draw(a) + draw(b), draw(mixed[0]) + draw(mixed[1]), atol=1e-9)


def test_pairs_of_one_hot_codes_are_a_table():
    """Positions that were not seen get the mean image, whatever is right there."""
    found = sets("one_hot")
    draw = least_squares(*found["train"], readout="pairs")
    assert error(draw, found["train"]) < 1e-20
    others = draw(found["ood"][0])
    np.testing.assert_allclose(others, np.broadcast_to(others[:1], others.shape), atol=1e-9)


def test_ridge_is_the_penalised_minimum_and_takes_the_best_on_validation():
    found = sets()
    codes, images = found["train"]
    draw, penalty = ridge(found["train"], found["val"], readout="affine")
    assert penalty in PENALTIES
    errors = [
        error(least_squares(codes, images, readout="affine", penalty=p), found["val"])
        for p in PENALTIES
    ]
    assert error(draw, found["val"]) == min(errors)
    x, y = codes - codes.mean(0), images.reshape(len(images), -1)
    weights = np.linalg.solve(x.T @ x + 0.1 * len(x) * np.eye(x.shape[1]), x.T @ (y - y.mean(0)))
    expected = (x @ weights + y.mean(0)).reshape(images.shape)
    found = least_squares(codes, images, readout="affine", penalty=0.1)(codes)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"readout": "flat"}, "readout must be one of 'affine', 'pairs', 'profiles', got 'flat'"),
        ({"readout": "pairs", "penalty": 0.0}, "penalty must be a finite number > 0, got 0.0"),
    ],
)
def test_bad_arguments_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        least_squares(*sets()["train"], **given)
