"""Noise on codes, and entries that are hidden."""

from __future__ import annotations

import numpy as np
import pytest

from data_gen import shapes
from data_gen.corrupted import corrupted


@pytest.fixture(scope="module")
def data():
    return shapes.make(shapes.ShapeConfig(scattered=400, split_seed=3))


def test_nothing_is_done_where_nothing_is_asked(data):
    found = corrupted(data, noise=0.0, hidden=0.0, seed=1)
    assert (found["code"] == data["code"]).all() and found["observed"].all()
    assert found["code"].dtype == np.float32 and (found["image"] == data["image"]).all()


def test_noise_is_as_strong_as_asked(data):
    found = corrupted(data, noise=0.1, hidden=0.0, seed=1)
    assert float((found["code"] - data["code"]).std()) == pytest.approx(0.1, rel=0.02)


def test_the_share_that_is_hidden_is_zero_and_the_rest_is_seen(data):
    found = corrupted(data, noise=0.0, hidden=0.3, seed=1)
    seen = found["observed"]
    assert float(seen.mean()) == pytest.approx(0.7, abs=0.01)
    assert (found["code"].where(~seen, 0) == 0).all()
    assert (found["code"].where(seen, 0) == data["code"].where(seen, 0)).all()


def test_a_seed_draws_the_same_bits(data):
    one, again, other = (corrupted(data, noise=0.1, hidden=0.3, seed=s) for s in (1, 1, 2))
    assert one.identical(again) and not one["code"].equals(other["code"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"noise": -0.1}, "noise must be a number >= 0, got -0.1"),
        ({"noise": float("nan")}, "noise must be a number >= 0, got nan"),
        ({"hidden": 1.0}, "hidden must be a number >= 0 and < 1, got 1.0"),
        ({"seed": -1}, "seed must be an integer >= 0"),
    ],
)
def test_bad_values_are_refused_by_name(data, given, said):
    with pytest.raises(ValueError, match=said):
        corrupted(data, **{"noise": 0.0, "hidden": 0.0, "seed": 0} | given)
