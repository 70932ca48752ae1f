"""One run of the chapter, at a tiny size, and the settings that are stored with it."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.FR2_manifold import study
from vnlib.book import chapter
from vnlib.book.store.variables import described

TINY = {
    "grid": 10,
    "split_seed": 0,
    "sigma": 1.0,
    "hold_out": "square",
    "margin": 1,
    "folds": 3,
    "samples": [[4, 5], [5, 5]],
    "encoding": "bump",
    "polarity": "dark",
    "full": True,
    "plane": False,
}
TRAINING = {"steps": 3, "consolidation": 0, "lr": 1e-2, "batch_size": 8}
MLP = TINY | TRAINING | {"family": "mlp", "options": {"hidden": [8]}}


def opened(**given) -> chapter.Chapter:
    one = chapter.spec("FR2_manifold")
    return chapter.Chapter(one, one.check({"device": "cpu", "hold_out": "square", **given}))


def test_a_run_repeats_to_the_bit_and_names_all_that_it_holds(tmp_path):
    axes = {"model": "mlp", "seed": 2}
    one, two = (study.run(opened(), axes, MLP, tmp_path / name) for name in "ab")
    assert one.identical(two)
    assert one["F"].sel(weights="untrained", layer="output").notnull()
    assert one["plane"].isnull().all() and one["log_volume"].sel(weights="trained").notnull().any()
    target = one["target_image"].isel(sample=0)
    assert np.unravel_index(target.values.argmin(), target.shape) == (5, 4), "dark, x before y"
    assert described(one, study.VARIABLES)["position_x"].attrs["units"] == "px"


def test_only_full_runs_measure_the_network_before_training(tmp_path):
    axes = {"model": "mlp", "seed": 2}
    brief = study.run(opened(), axes, MLP | {"full": False}, tmp_path)
    assert brief["F"].sel(weights="untrained").isnull().all()
    assert brief["log_volume"].isnull().all()


def test_a_reference_is_measured_without_training(tmp_path):
    given = TINY | {"family": "reference"}
    found = study.run(opened(), {"model": "perfect", "seed": 0}, given, tmp_path)
    assert float(found["mse_ood"].sel(weights="trained")) == 0 and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "seed", "wanted"),
    [
        ("cnn_bump_4", 0, {"full": True, "plane": True, "polarity": "dark", "steps": 1000}),
        ("cnn_bump_6", 1, {"full": False, "plane": False, "options": {"width": 16, "depth": 6}}),
        ("vn_axes_2", 0, {"polarity": "bright", "consolidation": 3000, "lr": 1e-2}),
        ("mlp_ramp_5", 0, {"encoding": "ramp", "lr": 1e-3, "batch_size": 16}),
    ],
)
def test_settings_are_those_that_are_stored(model, seed, wanted):
    found = study.settings(opened(profile="paper"), {"model": model, "seed": seed})
    assert {name: found[name] for name in wanted} == wanted


def test_a_profile_scales_the_updates_and_a_reference_has_none():
    smoke = opened()
    assert study.settings(smoke, {"model": "vn_full", "seed": 0})["steps"] == round(0.04 * 210)
    assert "steps" not in study.settings(smoke, {"model": "perfect", "seed": 0})
