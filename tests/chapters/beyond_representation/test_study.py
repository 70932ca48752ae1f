"""The runs: their settings are those that are stored, and every number of a run has a name."""

from __future__ import annotations

import json

import pytest

from chapters.beyond_representation import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


def opened(**given: object) -> chapter.Chapter:
    one = chapter.spec("beyond_representation")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


def test_settings_are_those_of_the_shipped_runs():
    paper = opened(profile="paper")
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "beyond_representation"))
    for model in stored["model"].values.tolist():
        for seed in stored["seed"].values.tolist():
            axes = {"model": model, "seed": seed}
            found = json.loads(str(stored["run_settings"].sel(axes).item()))
            assert study.settings(paper, axes) == found, axes


@pytest.mark.parametrize("model", ["s_vn_full", "f_ae", "b_mlp", "d_pca"])
def test_a_run_of_each_benchmark_is_measured(model, tmp_path):
    small = opened(models=[model])
    axes = {"model": model, "seed": 0}
    found = study.run(small, axes, study.settings(small, axes), tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    assert found["is_code"].sum() == 1 and found["error_unseen"] >= 0
    assert ("cosines" in found) == bool(small.models[model].get("shown"))


def test_parameters_overrule_the_profile():
    settings = study.settings(opened(n_values=7), {"model": "f_vn_1", "seed": 1})
    assert settings["data"]["n_values"] == 7 and settings["data"]["length"] == 64
    assert settings["options"]["atoms"] == [16] and not settings["details"]
