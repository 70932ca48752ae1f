"""The wiring of tasks in turn: settings that are stored, tasks, and runs of a tiny size."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from chapters.beyond_continual import study
from vnlib.book import chapter, paths
from vnlib.book.store.variables import described


def opened(profile: str) -> chapter.Chapter:
    one = chapter.spec("beyond_continual")
    return chapter.Chapter(one, one.check({"profile": profile, "device": "cpu"}))


def test_the_shipped_runs_have_these_settings():
    one = opened("paper")
    results = xr.load_dataset(paths.RESULTS / "paper" / "beyond_continual.nc")
    tried = xr.load_dataset(paths.RESULTS / "paper" / "beyond_continual.selection.nc")
    errors = tried["error"].sel(set="val")
    best = {m: int(errors.sel(model=m).argmin("candidate")) for m in errors["model"].values}
    for model in one.models:
        axes = {"model": model, "seed": 1}
        stored = json.loads(str(results["run_settings"].sel(axes).item()))
        assert study.settings(one, axes, best.get(model, 0), False) == stored
    for model in best:
        stored = json.loads(str(tried["run_settings"].sel(model=model, candidate=1).item()))
        assert study.settings(one, {"model": model}, 1, True) == stored


@pytest.mark.parametrize("model", ["pca", "b_mlp"])
def test_a_run_goes_through_its_streams_and_says_what_it_holds(model, tmp_path):
    one = opened("smoke")
    axes = {"model": model, "seed": 0}
    ds = study.run(one, axes, study.settings(one, axes, 0, False), tmp_path)
    assert ds["stream"].values.tolist() == ["sequence", "replay", "joint"]
    turns = 4 if model == "b_mlp" else 5
    assert ds["error"].sizes == {"stream": 3, "after": turns + 1, "task": turns}
    assert sorted(ds["which"].values.tolist()) == list(range(turns))
    assert ("data_error" in ds) == (model == "pca") and np.isfinite(ds["power"]).all()
    full = described(ds, study.VARIABLES)
    assert all(v.attrs["long_name"] for v in full.variables.values())


def test_choosing_sees_the_first_task_only(tmp_path):
    one = opened("smoke")
    settings = study.settings(one, {"model": "pca"}, 0, True)
    assert "streams" not in settings and "amounts" not in settings
    found = study.run(one, {"model": "pca", "seed": 1}, settings, tmp_path)
    assert found["set"].values.tolist() == ["val"] and float(found["error"][0]) > 0


def test_tasks_are_pairs_of_digits_and_laws_alone():
    train, held, test = (
        part[0] for part in study.digit_tasks(7, 3, 2, device="cpu", real=False)[1]
    )
    assert len(train) == 7 and len(held) == 3 and len(test) == 2
    (x, pair), _, _ = study.pixels(False)
    assert any(bool((train[0] == one).all()) for one in x[pair == 1]), "2 or 3"
    laws, scales = study.force_tasks(4)
    for law, (train, _, _) in enumerate(laws):
        assert bool((train.forces[:, law] != 0).all()) and bool((train.forces.sum(1) == 1).all())
    assert scales.acceleration > 0


def test_twice_the_updates_is_all_that_is_other():
    one = opened("paper")

    def both(model: str) -> tuple[dict, dict]:
        own = study.settings(one, {"model": model, "seed": 0}, 1, False)
        return own, study.twice(own)

    own, longer = both("ae")
    for name in ("options", "amounts"):
        assert longer[name] == own[name] | {"steps": 2 * own[name]["steps"]}
    assert all(longer[name] == own[name] for name in {*own} - {"options", "amounts"})
    (own, longer), names = both("b_vn_token"), ("steps", "dictionary_steps")
    assert longer["options"] == own["options"] | {n: 2 * own["options"][n] for n in names}
    own, longer = (settings["inference"] for settings in both("vn_1"))
    training = own["training"] | {"steps": 2 * own["training"]["steps"]}
    assert longer == own | {"training": training}
    assert {*study.DECIDED} <= {*one.models}
