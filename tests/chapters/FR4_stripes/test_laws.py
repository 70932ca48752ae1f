"""How data needs grow, on made-up numbers with known laws."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR4_stripes import laws
from vnlib.book import resampling

SIDES = np.array([12.0, 16, 20, 24])


@pytest.mark.parametrize("power", [1, 3])
def test_the_exponent_of_a_power_law(power):
    need = 2.0 * SIDES[:, None] ** power * np.ones((1, 5))
    found = laws.law(SIDES, need)
    assert (
        found["exponent"]
        == pytest.approx(power)
        == pytest.approx(found["low"])
        == pytest.approx(found["high"])
    )
    assert found["reached"] == 1 and found["sides"] == 4


def test_sides_that_are_not_reached_are_left_out_and_said():
    need = SIDES[:, None] ** 2 * np.ones((1, 5))
    need[0, :3] = np.inf  # the (lower) median of side 12 is infinite
    need[1, :2] = np.inf  # that of side 16 is not
    found = laws.law(SIDES, need)
    assert (
        found["exponent"] == pytest.approx(2) and found["sides"] == 3 and found["reached"] == 0.75
    )
    need[1] = np.inf
    assert np.isnan(laws.law(SIDES, need)["exponent"]), "two sides make no law"


def test_the_interval_is_that_of_subsets_of_seeds():
    rng = np.random.default_rng(0)
    need = SIDES[:, None] ** 1.5 * np.exp(0.2 * rng.normal(size=(4, 5)))
    found = laws.law(SIDES, need)
    drawn = [laws.exponent(SIDES, need[:, chosen]) for chosen in resampling.subsets(5)]
    assert min(drawn) <= found["low"] < found["exponent"] < found["high"] <= max(drawn)


def test_one_seed_tells_no_interval():
    found = laws.law(SIDES, SIDES[:, None] ** 2)
    assert found["exponent"] == pytest.approx(2)
    assert np.isnan([found["low"], found["high"]]).all()


def test_needs_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match=r"one row per side \(4\), got the shape \(3, 2\)"):
        laws.law(SIDES, np.ones((3, 2)))


def test_laws_of_all_readings_at_once():
    need = SIDES[:, None, None, None] * np.ones((4, 3, 2, 2))
    need[:, :, 0] **= 3  # bumps
    models = [f"side_{s:.0f}" for s in SIDES]
    results = xr.Dataset(
        {
            "need": (("model", "seed", "kind", "measure"), need),
            "dose_items": (("model", "seed", "kind", "dose"), need[:, :, :, :1] * [1, 2]),
        },
        {"model": models, "kind": ["bumps", "stripes"], "measure": ["joint", "drawn"]},
    )
    results["dose_items"].loc[{"kind": "bumps"}] /= 2
    found = laws.laws(results)
    assert found["exponent"].sel(kind="bumps").values.ravel() == pytest.approx([3, 3])
    assert found["exponent"].sel(kind="stripes").values.ravel() == pytest.approx([1, 1])
    assert found["at_once"].sel(measure="joint").values.tolist() == [0, 1]


def test_without_models_of_other_sides_there_is_no_law():
    assert not laws.laws(xr.Dataset(coords={"model": ["cnn"]}))
