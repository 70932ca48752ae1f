"""One run of Fig. 2 on a small grid, and the settings that its file keeps."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.spatial import registry
from benchmarks.spatial.decoders import LEARNING, build_vn
from chapters.fig2_spatial import study
from chapters.fig2_spatial.claims import SPLITS
from data_gen import bumps
from vnlib.book.chapter import Chapter, spec
from vnlib.book.store.variables import described

DATA = bumps.make(bumps.BumpConfig(grid=12, sigma=1.0))


def chapter(**parameters: object) -> Chapter:
    one = spec("fig2_spatial")
    return Chapter(one, one.check({"profile": "paper", "device": "cpu", **parameters}))


def training(model: str, candidate: int = 0, **parameters: object) -> dict:
    axes = {"model": model, "seed": 0}
    return study.settings(chapter(**parameters), axes, candidate)["training"]


def run(workdir, model: str, seed: int = 0) -> xr.Dataset:
    one = chapter(sigma=1.0)
    one.settings.update(grid=12, samples=[[3, 0], [10, 5]])
    settings = study.settings(one, {"model": model, "seed": seed}, 0)
    settings["training"] |= {"steps": 3, "consolidation": 2 if model == "vn_full" else 0}
    workdir.mkdir(exist_ok=True)
    return study.run(one, {"model": model, "seed": seed}, settings, workdir)


def test_a_run_says_how_well_each_position_is_drawn(tmp_path):
    found = run(tmp_path, "vn_full")
    assert found["mse"].sizes == {"position": 144} and 0 < float(found["active_share"]) <= 1
    ood = DATA["split"].values == "ood"
    assert float(found["mse_ood"]) == pytest.approx(found["mse"].values[ood].mean())
    assert float(found["zero_baseline_ood"]) == bumps.zero_mse(DATA, "ood")
    assert np.array_equal(found["target_image"], DATA["image"].values[[3, 70]])
    assert np.array_equal(np.array(SPLITS)[found["set"]], DATA["split"]), "as the rule counts them"
    assert np.array_equal(found["split"] == "ood", ood) and found["sample"].values[1] == 70
    assert found["curve_step"].dropna("checkpoint").values.tolist() == [1, 2, 3, 4, 5]
    end = {name: float(found[name].isel(checkpoint=4)) for name in ("curve_val", "curve_ood")}
    kept = {"curve_val": float(found["mse_val"]), "curve_ood": float(found["mse_ood"])}
    assert end == pytest.approx(kept, rel=1e-5), "the last step validates best here"


def test_every_variable_of_a_run_has_a_name_and_a_unit(tmp_path):
    named = described(run(tmp_path, "mlp"), study.VARIABLES)
    assert named["position_x"].attrs["units"] == "px" and named["mse"].attrs["long_name"]


def test_seeds_are_what_differs_between_runs(tmp_path):
    first, again, other = (
        run(tmp_path / str(number), "factorised", seed) for number, seed in enumerate((0, 0, 1))
    )
    assert first["mse"].equals(again["mse"]) and not first["mse"].equals(other["mse"])
    assert not first["set"].equals(other["set"]), "each seed draws a split of its own"
    assert first["split"].equals(other["split"])


def test_settings_lay_candidate_and_parameters_over_a_model():
    one = chapter()
    settings = study.settings(one, {"model": "vn_full", "seed": 3}, 1)
    selecting = study.settings(one, {"model": "vn_full"}, 1, selecting=True)
    assert selecting["task"] == settings["task"] | {"split_seed": one.settings["split_seed"]}
    assert settings["task"] == {
        "grid": 28,
        "split_seed": 3,
        **{name: one.parameters[name] for name in ("sigma", "hold_out", "encoding")},
    }
    assert settings["samples"][0] == 3 + 28 * 3
    assert settings["training"] == {
        "family": "vn",
        "options": {"streams": "joint", "n_atoms": 64, "sparsity": 0.005, "nonnegative": False},
        "lr": 1e-2,
        "batch_size": 64,
        "steps": 210,
        "consolidation": 4000,
    }
    given = training("vn_full", 1, n_atoms=16, sparsity=0.5)["options"]
    assert (given["n_atoms"], given["sparsity"]) == (16, 0.5)
    untouched = training("mlp", 1, n_atoms=16)
    assert untouched["options"] == {} and untouched["lr"] == 1e-3


@pytest.mark.parametrize(("encoding", "nonnegative"), [("bump", True), ("fourier", False)])
def test_codes_with_negative_entries_have_signed_atoms(encoding, nonnegative):
    assert training("vn_axes_1", encoding=encoding)["options"]["nonnegative"] is nonnegative


def test_profiles_shorten_training_by_family():
    assert training("cnn2", profile="smoke")["steps"] == 16
    assert training("vn_flat", profile="smoke")["consolidation"] == 100


def test_every_model_can_be_built_with_every_candidate():
    for name, model in chapter().models.items():
        groups = ("entangled", "factorised", "vn", "control", "longer")
        assert model["label"] and model["group"] in groups, name
        for number in range(len(model["candidates"])):
            settings = training(name, number)
            options, size = settings["options"], {"n_inputs": 56, "image_shape": (28, 28)}
            if model["family"] == "vn":
                options = {k: v for k, v in options.items() if k not in LEARNING}
                build_vn(seed=0, **size, **options)
            else:
                registry.build(model["family"], seed=0, **size, **options)
            assert settings["lr"] > 0


def test_a_twin_is_its_model_with_twice_the_updates():
    models = chapter().models
    twins = [name for name in models if name.endswith("_longer")]
    assert len(twins) >= 10
    for name in twins:
        own, twin = training(name.removesuffix("_longer")), training(name)
        assert (twin["steps"], twin["consolidation"]) == (
            2 * own["steps"],
            2 * own["consolidation"],
        )
        assert all(twin[key] == own[key] for key in ("family", "options", "lr", "batch_size"))


def test_profiles_have_the_seeds_that_the_claims_ask_for():
    assert chapter(profile="fast").settings["seeds"] >= 3 and chapter().settings["seeds"] >= 8
