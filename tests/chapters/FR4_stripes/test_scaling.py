"""Data needs and their growth, on made-up numbers with known laws."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR4_stripes import scaling

SIDES = [12, 16, 20, 24]


def report() -> xr.Dataset:
    """Stripes: 24 items hit at 0.9, 34 draw bumps; bumps: 20 items at 0.5, never more."""
    return xr.Dataset(
        {
            "items": ("diet", [24, 34, 20, 80]),
            "stripes": ("diet", [1, 1, 0, 0]),
            "hit_ood": ("diet", [0.9, 1.0, 0.5, 0.4]),
            "bump_hit_ood": ("diet", [0.0, 0.8, 0.1, 0.2]),
        },
        {"diet": ["stripes+0", "stripes+10", "bumps+20", "bumps+80"]},
    )


def test_the_fewest_items_that_reach_a_target():
    need = scaling.needs(report(), targets=[0.5, 0.8])
    assert need["need"].sel(kind="stripes", measure="hit").values.tolist() == [24, 24]
    assert need["need"].sel(kind="stripes", measure="bump_hit").values.tolist() == [34, 34]
    assert need["need"].sel(kind="bumps", measure="hit").values.tolist() == [20, np.inf]
    assert need["most"].sel(kind="bumps") == 80 and need["most"].sel(kind="stripes") == 34


def test_a_kind_that_was_not_tried_has_no_number():
    need = scaling.needs(report().isel(diet=[0, 1]), targets=[0.5])
    assert np.isnan(need["need"].sel(kind="bumps")).all() and np.isnan(
        need["most"].sel(kind="bumps")
    )


@pytest.mark.parametrize("target", [0, 1.5])
def test_a_target_is_a_share(target):
    with pytest.raises(ValueError, match="each of targets"):
        scaling.needs(report(), targets=[target])


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


def test_laws_of_all_kinds_at_once():
    need = np.array(SIDES, float)[:, None, None, None, None] * np.ones((4, 2, 2, 2, 1))
    need[:, :, 0] **= 3  # bumps
    coords = {
        "model": [f"side_{s}" for s in SIDES],
        "kind": ["bumps", "stripes"],
        "measure": ["hit", "bump_hit"],
    }
    results = xr.Dataset(
        {"need": (("model", "seed", "kind", "measure", "target"), need)}, coords | {"target": [0.8]}
    )
    found = scaling.laws(results, models=coords["model"], sides=SIDES)
    assert found["exponent"].sel(kind="bumps").values.ravel() == pytest.approx([3, 3])
    assert found["exponent"].sel(kind="stripes").values.ravel() == pytest.approx([1, 1])
