"""One run of the chapter, at a tiny size, and the settings that are stored with it."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.FR2_manifold import study
from vnlib.book import chapter
from vnlib.book.store.variables import described

TINY = {
    "grid": 10,
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
TRAINING = {"steps": 3, "draws": 40, "lr": 1e-2, "batch_size": 8}
MLP = TINY | {"training": TRAINING | {"family": "mlp", "options": {"hidden": [8]}}}


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
    assert np.isfinite(one["curve_val"].values).sum() == 3, "one point per update of three"
    assert one["failed"] == 1, "three updates teach nothing"


def test_the_hold_out_is_that_of_all_seeds_and_the_split_is_each_seed_s_own(tmp_path):
    given = TINY
    one, two = (
        study.run(opened(), {"model": "perfect", "seed": seed}, given, tmp_path) for seed in (0, 1)
    )
    assert one["split"].equals(two["split"]) and set(one["split"].values) == {"id", "ood"}
    assert one["zero_baseline_ood"] == two["zero_baseline_ood"]
    assert one["zero_baseline_id"] != two["zero_baseline_id"]


def test_only_full_runs_measure_the_network_before_training(tmp_path):
    axes = {"model": "mlp", "seed": 2}
    brief = study.run(opened(), axes, MLP | {"full": False}, tmp_path)
    assert brief["F"].sel(weights="untrained").isnull().all()
    assert brief["log_volume"].isnull().all()


def test_a_reference_is_measured_without_training(tmp_path):
    found = study.run(opened(), {"model": "perfect", "seed": 0}, TINY, tmp_path)
    assert float(found["mse_ood"].sel(weights="trained")) == 0 and not list(tmp_path.iterdir())
    assert found["curve_val"].isnull().all() and found["failed"] == 0


@pytest.mark.parametrize(
    ("model", "seed", "wanted", "training"),
    [
        ("cnn_bump_4", 0, {"full": True, "plane": True, "polarity": "dark"}, {"steps": 3150}),
        (
            "cnn_bump_10",
            1,
            {"full": False, "plane": False},
            {"options": {"width": 64, "depth": 10}, "draws": 2000},
        ),
        ("vn_axes_2", 0, {"polarity": "bright"}, {"consolidation": 3000, "lr": 1e-2}),
        ("mlp_ramp_6", 0, {"encoding": "ramp"}, {"lr": 1e-3, "batch_size": 32, "steps": 1260}),
    ],
)
def test_settings_are_those_that_are_stored(model, seed, wanted, training):
    found = study.settings(opened(profile="paper"), {"model": model, "seed": seed})
    assert {name: found[name] for name in wanted} == wanted
    assert {name: found["training"][name] for name in training} == training


def test_a_longer_training_is_the_same_but_for_its_length():
    paper = opened(profile="paper")
    for code in ("bump", "ramp"):
        short, long = (
            study.settings(paper, {"model": name, "seed": 0})["training"]
            for name in (f"mlp_{code}_4", f"longer_{code}_4")
        )
        assert long["steps"] > 5 * short["steps"]
        assert long.pop("lr_floor") == 0.01, "at a rate that falls"
        assert long | {"steps": short["steps"]} == short


def test_a_profile_scales_the_updates_and_a_reference_has_none():
    smoke = opened()
    vn = study.settings(smoke, {"model": "vn_full", "seed": 0})
    assert vn["training"]["steps"] == round(0.04 * 210)
    assert "training" not in study.settings(smoke, {"model": "perfect", "seed": 0})


def test_ramps_have_more_seeds_than_others_unless_seeds_are_asked_for(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        chapter.Chapter, "grid", lambda self, run, axes, *_, **__: asked.append(axes)
    )
    empty = study.xr.Dataset(coords={"model": ["cnn_ramp_2", "perfect"], "seed": range(10)})
    monkeypatch.setattr(study.store, "read", lambda path: empty)
    given = {"profile": "paper", "models": ["perfect", "cnn_ramp_2"]}
    assert study.results(opened(**given)).sizes == {"model": 2, "seed": 10}
    assert [(one["model"], len(one["seed"])) for one in asked] == [
        (["cnn_ramp_2"], 10),
        (["perfect"], 8),
    ]
    assert study.results(opened(**given, seeds=[1, 2])).sizes == {"model": 2, "seed": 2}
