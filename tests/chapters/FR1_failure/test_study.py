"""One run of FR Fig. 1 on a small grid, and the settings that its file keeps."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR1_failure import study
from vnlib.book.chapter import Chapter, spec
from vnlib.book.store.variables import described


def chapter(**parameters: object) -> Chapter:
    one = spec("FR1_failure")
    return Chapter(one, one.check({"profile": "paper", "device": "cpu", **parameters}))


def settings(model: str, seed: int = 0, **parameters: object) -> dict:
    axes = {"model": model, "hold_out": "square", "seed": seed}
    return study.settings(chapter(**parameters), axes)


def run(workdir, seed: int = 0, model: str = "mlp_bump") -> xr.Dataset:
    small = settings(model, seed) | {"samples": [0, 70], "displacement": 4, "widths": [1]}
    small["training"] = small["training"] | {"steps": 3}
    small["task"] = small["task"] | {"grid": 12}
    axes = {"model": model, "hold_out": "square", "seed": seed}
    return described(study.run(chapter(), axes, small, workdir), study.VARIABLES)


def test_a_run_measures_errors_drawings_and_similarities(tmp_path):
    found = run(tmp_path)
    assert found["mse"].sizes == {"position": 144} and found["error"].attrs["units"] == "1"
    held = found["mse"].values[found["held_out"].values == 1]
    assert np.isclose(held.mean(), found["error"].sel(where="ood"), rtol=1e-5)
    assert found["shown_image"].notnull().all() and found["kernel_r2"].sizes["width"] == 1
    assert found["position_x"].attrs["units"] == "px"
    assert np.isfinite(found["curve_ood"].values).sum() == 3, "one point per update of three"
    assert found["failed"] == 1, "three updates teach nothing"
    later = run(tmp_path / "later", seed=1)
    assert later["shown_image"].isnull().all(), "images are kept for the first seed only"
    assert later["matrix"].isnull().all() and later["displacement"].isnull().all()


def test_each_seed_draws_its_own_split(tmp_path):
    one, two = (run(tmp_path / str(seed), seed, "outer") for seed in (0, 1))
    assert one["error"].sel(where="id") < 1e-12 > two["error"].sel(where="ood")
    assert one["zero_baseline"].sel(where="id") != two["zero_baseline"].sel(where="id")
    assert one["zero_baseline"].sel(where="ood") == two["zero_baseline"].sel(where="ood")
    assert one["n_parameters"] == 0 and one["curve_val"].isnull().all()
    assert float(one["ssim"].min()) > 0.999 > float(one["zero_ssim"].max())


def test_settings_say_task_and_training():
    found = settings("cnn_ramp", 3)
    assert found["task"] == {
        "grid": 28,
        "sigma": chapter().parameters["sigma"],
        "hold_out": "square",
        "encoding": "ramp",
        "polarity": "dark",
    }
    assert found["training"] == {
        "family": "cnn",
        "options": {"depth": 8, "width": 64},
        "lr": 1e-3,
        "batch_size": 32,
        "draws": 2000,
        "steps": 3150,
    }
    assert not found["show"] and settings("cnn_ramp")["show"]
    assert found["samples"][:2] == [3 + 28 * 3, 25 + 28 * 4]


def test_parameters_and_profiles_change_what_is_run():
    assert settings("cnn_bump", polarity="bright")["task"]["polarity"] == "bright"
    assert settings("vn_full", seeds=[4, 5], seed=4)["show"]
    assert settings("vn_full")["training"]["consolidation"] == 2000
    assert settings("cnn_bump", profile="smoke")["training"]["steps"] == round(0.01 * 3150)


def test_models_run_in_their_own_hold_outs(tmp_path):
    """And closed-form readouts of every code in all of them."""
    given = {"profile": "smoke", "results_dir": str(tmp_path), "seeds": [0]}
    main, readouts = study.results(chapter(**given, models=["outer", "additive"]))
    assert main["model"].values.tolist() == ["outer", "additive"]
    ran = main["error"].isel(where=0, seed=0).notnull().sel(hold_out=["square", "corner"])
    assert ran.sel(model="outer").values.tolist() == [True, True]
    assert ran.sel(model="additive").values.tolist() == [True, False]
    share = (readouts["error"] / readouts["zero_baseline"]).sel(solver="least squares", seed=0)
    bump, ramp = share.sel(code="bump"), share.sel(code="ramp")
    assert (bump.sel(readout="profiles") < 1e-12).all()
    assert (bump.sel(readout="affine", where="ood") > 1).all()
    assert (bump.sel(readout="pairs", where="id") < 0.05).all()
    assert (bump.sel(readout="pairs", where="ood") > 0.5).all()
    assert (ramp > 0.8).all(), "no ramp is an affine function of a profile"


@pytest.mark.parametrize(
    ("name", "times"),
    [("coordconv", 2), ("broadcast", 1), ("coordinate_mlp", 1), ("factorised", 1)],
)
def test_controls_that_are_trained_train_as_the_networks_do(name, times):
    """CoordConv twice as long, at a rate that falls: it is to settle."""
    own, network = settings(name)["training"], settings("cnn_bump")["training"]
    same = ("batch_size", "draws")
    assert [own[key] for key in same] == [network[key] for key in same]
    assert own["steps"] == times * network["steps"] and ("lr_floor" in own) == (times > 1)
