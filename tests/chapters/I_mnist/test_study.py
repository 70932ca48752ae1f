"""The wiring of App. I: settings that are stored, and a run of a tiny size."""

from __future__ import annotations

import json

import xarray as xr

from chapters.I_mnist import study
from vnlib.book import chapter, paths
from vnlib.book.store.variables import described


def opened(profile: str) -> chapter.Chapter:
    one = chapter.spec("I_mnist")
    return chapter.Chapter(one, one.check({"profile": profile, "device": "cpu"}))


def test_the_shipped_runs_have_these_settings():
    one = opened("paper")
    results = xr.load_dataset(paths.RESULTS / "paper" / "I_mnist.nc")
    for model in one.models:
        for seed in (0, 1):
            axes = {"model": model, "seed": seed}
            stored = json.loads(str(results["run_settings"].sel(axes).item()))
            assert study.settings(one, axes) == stored


def test_the_atlas_is_made_once():
    one = opened("paper")
    made = [
        axes
        for model in one.models
        for seed in one.seeds
        if study.settings(one, axes := {"model": model, "seed": seed})["study"]["atoms"]
    ]
    assert made == [{"model": "vn_3", "seed": 0}]


def test_a_run_is_measured_on_both_sets_and_says_what_it_holds(tmp_path):
    one = opened("smoke")
    settings = study.settings(one, {"model": "vn_1", "seed": 0})
    settings["data"] |= {"n_train": 80, "n_val": 6}
    settings["test"]["n"] = 50
    settings["training"] |= {"steps": 1, "batch_size": 20}
    settings["network"]["atoms"] = [12]
    settings["study"] |= {"sweeps": [1, 3], "end": 4, "watched": 2, "shuffles": 2, "atoms": 2}
    ds = study.run(one, {"model": "vn_1", "seed": 0}, settings, tmp_path)
    assert ds["set"].values.tolist() == ["id", "add2"] and float(ds["atoms"][0, 0]) == 12
    assert bool((ds["mse"].sel(reading="own") < ds["zero_baseline"]).all())
    full = described(ds, study.VARIABLES)
    assert full["mse"].attrs["units"] == "ink^2" and full["locked"].attrs["units"] == "sweeps"


def test_labels_are_those_of_the_images():
    data = study.labelled_sets(50, 0, real=False)
    assert data["image"].sizes["sample"] == 50 == data["label"].size
    assert set(data["label"].values.tolist()) <= set(range(10))


def test_twice_the_updates_is_all_that_is_other_but_the_atlas():
    one, axes = opened("paper"), {"model": "vn_3", "seed": 0}
    own = study.settings(one, axes)
    longer = study.twice(own)
    assert longer["training"] == own["training"] | {"steps": 2 * own["training"]["steps"]}
    assert longer["study"] == own["study"] | {"atoms": 0}
    assert all(longer[name] == own[name] for name in {*own} - {"training", "study"})
