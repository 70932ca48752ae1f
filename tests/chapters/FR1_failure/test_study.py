"""One run of FR Fig. 1 on a small grid, and the settings that its file keeps."""

from __future__ import annotations

import numpy as np
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


def run(workdir, seed: int = 0) -> xr.Dataset:
    small = settings("mlp_bump", seed) | {"samples": [0, 70], "displacement": 4, "widths": [1]}
    small["training"] = small["training"] | {"steps": 3}
    small["task"] = small["task"] | {"grid": 12}
    axes = {"model": "mlp_bump", "hold_out": "square", "seed": seed}
    return described(study.run(chapter(), axes, small, workdir), study.VARIABLES)


def test_a_run_measures_errors_drawings_and_similarities(tmp_path):
    found = run(tmp_path)
    assert found["mse"].sizes == {"position": 144} and found["error"].attrs["units"] == "1"
    held = found["mse"].values[found["held_out"].values == 1]
    assert np.isclose(held.mean(), found["error"].sel(where="ood"), rtol=1e-5)
    assert found["shown_image"].notnull().all() and found["kernel_r2"].sizes["width"] == 1
    assert found["position_x"].attrs["units"] == "px"
    later = run(tmp_path / "later", seed=1)
    assert later["shown_image"].isnull().all(), "images are kept for the first seed only"


def test_settings_say_task_and_training():
    found = settings("cnn_ramp", 3)
    assert found["task"] == {
        "grid": 28,
        "split_seed": 0,
        "sigma": chapter().parameters["sigma"],
        "hold_out": "square",
        "encoding": "ramp",
        "polarity": "dark",
    }
    assert found["training"] == {
        "family": "cnn",
        "options": {"depth": 3, "width": 24},
        "lr": 6e-3,
        "batch_size": 16,
        "steps": 2200,
    }
    assert not found["show"] and settings("cnn_ramp")["show"]
    assert found["samples"][:2] == [3 + 28 * 3, 25 + 28 * 4]


def test_parameters_and_profiles_change_what_is_run():
    assert settings("cnn_bump", polarity="bright")["task"]["polarity"] == "bright"
    assert settings("vn_full", seeds=[4, 5], seed=4)["show"]
    assert settings("vn_full")["training"]["consolidation"] == 2000
    assert settings("cnn_bump", profile="smoke")["training"]["steps"] == 20
