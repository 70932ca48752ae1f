"""Diets: what their names say, and what a decoder is then trained on."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR4_stripes import diets
from data_gen import bumps

CONFIG = bumps.BumpConfig(grid=12, sigma=1.0, hold_out="corner", polarity="dark")


@pytest.fixture(scope="module")
def data() -> xr.Dataset:
    return bumps.make(CONFIG)


@pytest.fixture(scope="module")
def lines() -> xr.Dataset:
    return bumps.stripes(CONFIG)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("stripes+0", (True, 0)),
        ("stripes+25", (True, 25)),
        ("bumps+25", (False, 25)),
        ("bumps+all", (False, 86)),
        ("stripes+2N", (True, 24)),
        ("stripes+0.5N", (True, 6)),
        ("bumps+1000", (False, 86)),
    ],
)
def test_a_diet_is_read_from_its_name(name, expected):
    assert diets.diet(name, side=12, available=86) == diets.Diet(*expected)


@pytest.mark.parametrize("name", ["crosses+5", "stripes", "bumps+-1", "bumps+N", "stripes+5 "])
def test_a_diet_of_another_form_is_refused(name):
    with pytest.raises(ValueError, match="diet must be 'stripes"):
        diets.diet(name, side=12, available=86)


def test_a_diet_of_nothing_is_refused():
    with pytest.raises(ValueError, match="something to train on, got 'bumps\\+0'"):
        diets.diet("bumps+0", side=12, available=86)


def test_training_sets_are_nested_and_stay_in_the_training_split(data, lines):
    few, _ = diets.training_set(data, lines, diets.Diet(False, 10), seed=3)
    more, images = diets.training_set(data, lines, diets.Diet(True, 30), seed=3)
    assert np.array_equal(more[:10], few) and len(more) == len(images) == 30 + 24
    assert np.array_equal(more[30:], lines["code"].values) and np.array_equal(
        images[30:], lines["image"].values
    )
    train = {row.tobytes() for row in data["code"].values[data["split"].values == "train"]}
    assert len({row.tobytes() for row in more[:30]} & train) == 30, (
        "30 different bumps, all of the training split"
    )
    other, _ = diets.training_set(data, lines, diets.Diet(False, 10), seed=4)
    assert not np.array_equal(few, other)


def test_the_constant_ends_each_half():
    codes = np.arange(8, dtype=np.float32).reshape(2, 4)
    bare = xr.Dataset({"code": (("position", "code"), codes)}, {"code_axis": ("code", [*"xxyy"])})
    assert diets.with_constant(bare, 0.0) is bare
    assert diets.with_constant(bare, 0.5)["code"].values.tolist() == [
        [0, 1, 0.5, 2, 3, 0.5],
        [4, 5, 0.5, 6, 7, 0.5],
    ]
