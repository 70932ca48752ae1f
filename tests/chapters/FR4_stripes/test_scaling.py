"""Data needs and their growth, on made-up numbers with known laws."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR4_stripes import scaling

SIDES = [12, 16, 20, 24]


ITEMS = np.array([10.0, 40.0, 160.0])


@pytest.mark.parametrize(
    ("accuracy", "need"),
    [
        ([0.2, 0.6, 1.0], 80.0),  # half-way from 40 to 160 in logarithms
        ([0.8, 0.9, 1.0], 10.0),  # there at once
        ([0.2, 0.8, 0.1], 40.0),  # a later fall does not count
        ([0.2, 0.5, 0.7], np.inf),
    ],
)
def test_the_fewest_items_that_reach_a_target(accuracy, need):
    assert scaling.crossing(ITEMS, np.array(accuracy), 0.8) == pytest.approx(need)


def test_needs_of_every_reading():
    accuracy = np.array([[[0.2, 0.6], [0.6, 0.7], [1.0, 0.9]], [[1.0, 0.0]] * 3])
    report = xr.Dataset(
        {
            "dose_items": (("kind", "dose"), [ITEMS, 2 * ITEMS]),
            "accuracy": (("kind", "dose", "measure"), accuracy),
        },
        {"kind": ["bumps", "stripes"], "measure": ["joint", "drawn"]},
    )
    need = scaling.needs(report, targets=[0.6, 0.8])["need"].transpose("kind", "measure", "target")
    np.testing.assert_allclose(need, [[[40, 80], [10, 80]], [[20, 20], [np.inf, np.inf]]])


@pytest.mark.parametrize("target", [0, 1.5])
def test_a_target_is_a_share(target):
    with pytest.raises(ValueError, match="each of targets"):
        scaling.needs(xr.Dataset(), targets=[target])


@pytest.mark.parametrize("power", [1, 3])
def test_the_exponent_of_a_power_law(power):
    need = 2.0 * np.array(SIDES, float)[:, None] ** power * np.ones((1, 3))
    found = scaling.law(SIDES, need, seed=0, resamples=20)
    assert (
        found["exponent"]
        == pytest.approx(power)
        == pytest.approx(found["low"])
        == pytest.approx(found["high"])
    )
    assert found["reached"] == 1 and found["sides"] == 4


def test_sides_that_are_not_reached_are_left_out_and_said():
    need = np.array(SIDES, float)[:, None] ** 2 * np.ones((1, 3))
    need[0, :2] = np.inf  # the (lower) median of side 12 is infinite
    need[1, :1] = np.inf  # that of side 16 is not
    found = scaling.law(SIDES, need, seed=0, resamples=50)
    assert (
        found["exponent"] == pytest.approx(2) and found["sides"] == 3 and found["reached"] == 0.75
    )
    need[1] = np.inf
    assert np.isnan(scaling.law(SIDES, need, seed=0, resamples=5)["exponent"]), (
        "two sides make no law"
    )


def test_the_interval_holds_the_exponent_and_follows_the_seed():
    rng = np.random.default_rng(0)
    need = np.array(SIDES, float)[:, None] ** 1.5 * np.exp(0.2 * rng.normal(size=(4, 5)))
    one, two, other = (scaling.law(SIDES, need, seed=seed, resamples=200) for seed in (0, 0, 1))
    assert one == two != other and one["low"] < one["exponent"] < one["high"]


def test_needs_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match=r"one row per side \(4\), got the shape \(3, 2\)"):
        scaling.law(SIDES, np.ones((3, 2)), seed=0)


def test_laws_of_all_readings_at_once():
    need = np.array(SIDES, float)[:, None, None, None] * np.ones((4, 3, 2, 2))
    need[:, :, 0] **= 3  # bumps
    models = [f"side_{s}" for s in SIDES]
    results = xr.Dataset(
        {
            "need": (("model", "seed", "kind", "measure"), need),
            "dose_items": (("model", "seed", "kind", "dose"), need[:, :, :, :1] * [1, 2]),
        },
        {"model": models, "kind": ["bumps", "stripes"], "measure": ["joint", "drawn"]},
    )
    results["dose_items"].loc[{"kind": "bumps"}] /= 2
    found = scaling.laws(results, models=models, sides=SIDES)
    assert found["exponent"].sel(kind="bumps").values.ravel() == pytest.approx([3, 3])
    assert found["exponent"].sel(kind="stripes").values.ravel() == pytest.approx([1, 1])
    assert found["at_once"].sel(measure="joint").values.tolist() == [0, 1]
