"""The runs: their settings are those that are stored, and every number of a run has a name."""

from __future__ import annotations

import json

import pytest
import torch

from chapters.beyond_tasks import study
from chapters.beyond_tasks.figures import LONGER, TASKS
from data_gen import shapes
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


def opened(**given: object) -> chapter.Chapter:
    one = chapter.spec("beyond_tasks")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


def test_settings_are_those_of_the_shipped_runs():
    paper = opened(profile="paper")
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "beyond_tasks"))
    settings = stored["run_settings"].stack(run=("task", "model", "seed"))
    assert set(stored["task"].values) == set(paper.settings["tasks"])
    computed = 0
    for one in settings:
        if text := str(one.item()):
            axes = {name: one[name].item() for name in ("task", "model", "seed")}
            assert study.settings(paper, axes) == json.loads(text), axes
            computed += 1
    assert computed > 0.4 * settings.size


def test_every_task_has_a_name_or_is_a_longer_training_of_one():
    tasks = opened(profile="paper").settings["tasks"]
    assert list(TASKS) == [task for task in tasks if task not in LONGER]
    assert set(LONGER.values()) <= set(TASKS)
    for long, task in LONGER.items():
        if long in tasks:
            assert tasks[long].get("data") == tasks[task].get("data") and tasks[long]["longer"] > 1


@pytest.mark.parametrize(
    ("task", "model"),
    [("code_entangled", "vn_axes"), ("shape_ring", "outer"), ("place_coordinates", "factorised")],
)
def test_a_run_is_measured(task, model, tmp_path):
    small, axes = opened(), {"task": task, "model": model, "seed": 0}
    settings = study.settings(small, axes)
    found = study.run(small, axes, settings, tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    assert bool(found["sample_image"].notnull().all()) and float(found["mse_ood"]) >= 0
    trained = model != "outer"
    assert float(found["samples_seen"]) == trained * small.settings["updates"] * 32


def test_all_that_is_trained_sees_the_same_samples():
    paper = opened(profile="paper")
    seen = set()
    for model, given in paper.models.items():
        if given["family"] not in ("outer", "ridge"):
            t = study.settings(paper, {"task": "base", "model": model, "seed": 0})["training"]
            seen.add((t["updates"], t["batch_size"]))
    assert len(seen) == 1


def test_diets_hold_stripes_and_as_many_bumps_as_they_say():
    config = shapes.ShapeConfig()
    data = shapes.make(config)
    bumps_, all_, few = (
        study.fed(data, config, d, 0) for d in ("bumps", "stripes+all", "stripes+30")
    )
    assert len(all_[0]) == len(bumps_[0]) + 32 and len(few[0]) == 62
    known = {one.numpy().tobytes() for one in bumps_[1]}
    assert all(one.numpy().tobytes() in known for one in few[1][:30])
    lines = few[1][30:]
    assert torch.equal(lines[:16], lines[:16, :1].expand(-1, 16, -1)), "columns"
    for diet in ("stripes", "lines+3", "stripes+"):
        with pytest.raises(ValueError, match="diet"):
            study.fed(data, config, diet, 0)
