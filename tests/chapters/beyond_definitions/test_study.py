"""The runs: their settings are those that are stored, and every number of a run has a name."""

from __future__ import annotations

import json

import pytest

from chapters.beyond_definitions import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


def opened(**given: object) -> chapter.Chapter:
    one = chapter.spec("beyond_definitions")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


def test_settings_are_those_of_the_shipped_runs():
    paper = opened(profile="paper")
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "beyond_definitions"))
    assert set(stored["model"].values) == set(paper.models)
    assert stored["seed"].values.tolist() == paper.seeds
    for one in stored["run_settings"].stack(run=("model", "seed")):
        axes = {"model": one["model"].item(), "seed": one["seed"].item()}
        assert study.settings(paper, axes) == json.loads(str(one.item())), axes


@pytest.mark.parametrize("model", ["code_rotated", "factorised", "mlp"])
def test_a_run_is_measured(model, tmp_path):
    small, axes = opened(), {"model": model, "seed": 0}
    found = study.run(small, axes, study.settings(small, axes), tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    trained = model != "code_rotated"
    assert ("mse_ood" in found) == trained
    assert bool(found["linear"].sel(layer="images").notnull()) == trained
    assert float(found["linear"].sel(layer="code")) > 0.9


def test_complexities_are_measured(tmp_path):
    small = opened()
    data = {"data": small.settings["data"]}
    bump, ring = (study.target(small, {"shape": s}, data, tmp_path) for s in ("bump", "ring"))
    assert int(bump["exact"]) == int(bump["near"]) == 1 < int(ring["near"]) <= int(ring["exact"])
    found = {h: study.diet(small, {"hold_out": h}, data, tmp_path) for h in ("none", "square")}
    assert [int(one["parts"]) for one in found.values()] == [1, 2]
