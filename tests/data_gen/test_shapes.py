"""Shapes, mixed codes and hold-outs against their closed forms."""

from __future__ import annotations

import json

import numpy as np
import pytest

from data_gen import bumps, shapes
from data_gen.shapes import ShapeConfig


def at(data, x: int, y: int):
    there = (data["position_x"] == x) & (data["position_y"] == y)
    return data.isel(position=np.flatnonzero(there).item())


def test_the_bump_with_a_code_of_its_width_is_that_of_bumps():
    one, other = shapes.make(ShapeConfig()), bumps.make(bumps.BumpConfig(grid=16, sigma=1.0))
    np.testing.assert_allclose(one["image"], other["image"], atol=1e-7)
    np.testing.assert_array_equal(one["code"], other["code"])
    assert json.loads(one.attrs["config"])["shape"] == "bump"


def test_shapes_are_where_they_are_said_to_be():
    image = {s: at(shapes.make(ShapeConfig(shape=s)), 8, 7)["image"].values for s in shapes.SHAPES}
    ring = image["ring"]
    assert ring[7, 8] == pytest.approx(np.exp(-4.5), rel=1e-5), "3 sigma from the circle"
    for row, column in ((7, 11), (7, 5), (10, 8), (4, 8)):
        assert ring[row, column] == pytest.approx(1)
    cross, corner = image["cross"], image["corner"]
    np.testing.assert_allclose(cross[7, 5:12], 1, atol=1e-6)
    np.testing.assert_allclose(cross[4:11, 8], 1, atol=1e-6)
    np.testing.assert_allclose(corner[7, 8:12], 1, atol=1e-6)
    faint = np.exp(-4.5)
    assert corner[7, 5] == pytest.approx(2 * faint - faint**2, rel=1e-5), "no arm to the left"
    oriented = image["oriented"]
    assert oriented[9, 10] == pytest.approx(np.exp(-(2**3) / (2 * 2.5**2)), rel=1e-5)
    assert oriented[9, 6] == pytest.approx(np.exp(-(2**3) / 2), rel=1e-5)


def test_only_the_bump_is_a_product_of_two_profiles():
    terms = {shape: shapes.terms(ShapeConfig(shape=shape)) for shape in shapes.SHAPES}
    assert terms.pop("bump") == 1 and min(terms.values()) >= 2


def test_a_rotated_code_keeps_all_distances_and_an_entangled_one_does_not():
    plain, turned, tangled = (
        shapes.make(ShapeConfig(mix=mix, code_seed=3))["code"].values.astype(float)
        for mix in shapes.MIXES
    )
    np.testing.assert_allclose(turned @ turned.T, plain @ plain.T, atol=1e-5)
    assert np.abs(turned - plain).max() > 0.5
    both = tangled[0] + tangled[17] - tangled[1] - tangled[16]
    assert np.abs(plain[0] + plain[17] - plain[1] - plain[16]).max() < 1e-6
    assert np.abs(both).max() > 0.1, "not a sum of a part of x and one of y"
    other = shapes.make(ShapeConfig(mix="rotated", code_seed=4))["code"].values
    assert np.abs(other - turned).max() > 0.1


@pytest.mark.parametrize("share", [0.1, 0.25, 0.6])
def test_hold_outs_have_about_their_share(share):
    for scattered in (0, 2000):
        data = shapes.make(ShapeConfig(share=share, scattered=scattered))
        assert (data["split"] == "ood").mean() == pytest.approx(share, abs=0.09)
        assert set(data["split"].values) == set(shapes.SPLITS)


def test_a_square_hides_pairs_and_coordinates_hide_values():
    for hold_out, hidden in (("square", False), ("coordinates", True)):
        data = shapes.make(ShapeConfig(hold_out=hold_out, share=0.36))
        ood = data["split"] == "ood"
        for name in ("position_x", "position_y"):
            seen = set(data[name].values[~ood])
            assert set(range(16)) - seen == ({6, 7, 8, 9} if hidden else set())


def test_the_condition_number_is_that_of_the_gaussian_matrix():
    pixel = np.arange(16)
    for width in (0.5, 1.0):
        matrix = np.exp(-0.5 * np.square((pixel[:, None] - pixel) / width))
        found = shapes.condition_number(ShapeConfig(code_sigma=width))
        assert found == pytest.approx(np.linalg.cond(matrix), rel=1e-3)
    assert shapes.condition_number(ShapeConfig(encoding="one_hot")) == pytest.approx(1)


@pytest.mark.parametrize(
    "given",
    [
        {"shape": "star"},
        {"mix": "half"},
        {"hold_out": "ring"},
        {"share": 0.0},
        {"share": float("nan")},
        {"sigma": 0},
        {"scattered": 3},
        {"code_sigma": -1},
        {"grid": 2},
    ],
)
def test_bad_configurations_are_named(given):
    name = next(iter(given))
    with pytest.raises(ValueError, match="sigma" if "sigma" in name else name):
        ShapeConfig(**given)
