"""The wiring of image composition: settings that are stored, and runs of a tiny size."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from chapters.fig5_mnist import study
from vnlib.book import chapter, paths
from vnlib.book.store.variables import described

SMALL = {"n_train": 40, "n_val": 8, "n_test": 3, "few": 2}


def opened(profile: str, **given: object) -> chapter.Chapter:
    one = chapter.spec("fig5_mnist")
    return chapter.Chapter(one, one.check({"profile": profile, "device": "cpu"} | given))


def test_the_shipped_runs_have_these_settings():
    one = opened("paper")
    results = xr.load_dataset(paths.RESULTS / "paper" / "fig5_mnist.nc")
    tried = xr.load_dataset(paths.RESULTS / "paper" / "fig5_mnist.selection.nc")
    best = {
        m: int(tried["criterion"].sel(model=m).argmin("candidate")) for m in tried["model"].values
    }
    for model in one.models:
        for seed in (0, 1):
            axes = {"model": model, "seed": seed}
            stored = json.loads(str(results["run_settings"].sel(axes).item()))
            chooser = one.models[model].get("like", model)
            assert study.settings(one, axes, best.get(chooser, 0), False) == stored
    for model in best:
        stored = json.loads(str(tried["run_settings"].sel(model=model, candidate=2).item()))
        assert study.settings(one, {"model": model}, 2, True) == stored


def test_choosing_sees_no_tests_and_no_target():
    one = opened("paper")
    chosen, run = (study.settings(one, {"model": "ae", "seed": 0}, 1, way) for way in (True, False))
    assert chosen["tests"] == {} and not chosen["details"] and run["details"]
    assert "target" in run["training"]["options"] and "target" not in chosen["training"]["options"]
    assert chosen["training"]["steps"] == 640 and run["training"]["steps"] == 1600
    assert chosen["training"]["lr"] == run["training"]["lr"] == 0.001
    other = study.settings(one, {"model": "ae", "seed": 3}, 1, False)
    assert not other["details"], "pictures are kept of the first seed"


@pytest.mark.parametrize("model", ["dct", "m_zero_baseline"])
def test_a_run_is_measured_on_all_sets_and_says_what_it_holds(model, tmp_path):
    one = opened("smoke", seeds=[4])
    settings = study.settings(one, {"model": model, "seed": 4}, 0, False)
    settings["data"] |= {name: SMALL[name] for name in ("n_train", "n_val")}
    settings |= {"few": SMALL["few"], "tests": settings["tests"] | {"n_test": SMALL["n_test"]}}
    ds = study.run(one, {"model": model, "seed": 4}, settings, tmp_path)
    maker = study.MAKERS[settings["data"]["benchmark"]]
    assert ds["set"].values.tolist() == list(maker.SETS) and int(ds["n_train"]) == 40
    assert np.isfinite(ds["mse"].sel(reading="own")).all() and ds["case"].sizes["sample"] == 3
    if "zero" in model:
        np.testing.assert_allclose(ds["mse"].sel(reading="own"), ds["zero_baseline"])
    full = described(ds, study.VARIABLES)
    assert full["mse"].attrs["units"] == "ink^2" and full["active"].attrs["long_name"]


def test_examples_are_few():
    assert study.examples("digits", 2).sizes["sample"] == 2
    assert {"before", "after", "image"} <= set(study.examples("motions", 1))
