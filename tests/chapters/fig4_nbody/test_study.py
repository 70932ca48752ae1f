"""The runs of force composition: their settings are those that are stored, and a run is whole."""

from __future__ import annotations

import json

import pytest

from benchmarks.baselines.longer import TWIN
from chapters.fig4_nbody import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described

SMALL = {
    "data": {"n_train": 6, "n_val": 2, "n_test": 2},
    "rollouts": {"n_starts": 1, "steps": 4, "every": 2},
    "training": {"family": "mean", "options": {}, "lr": 1e-3, "steps": 0, "batch_size": 64},
    "details": True,
}


def opened(**given: object) -> chapter.Chapter:
    one = chapter.spec("fig4_nbody")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


def shipped(part: str = "") -> dict:
    found = store.read(paths.result_file(paths.RESULTS, "paper", f"fig4_nbody{part}"))
    return found


@pytest.mark.parametrize(("part", "axis"), [("", "seed"), (".selection", "candidate")])
def test_settings_are_those_of_the_shipped_runs(part, axis):
    paper, stored = opened(profile="paper"), shipped(part)
    best = shipped(".selection")["criterion"].idxmin("candidate").to_series()
    for model in stored["model"].values.tolist():
        for value in stored[axis].values.tolist():
            axes = {"model": model, axis: value}
            candidate = value if axis == "candidate" else int(best.get(model.removesuffix(TWIN), 0))
            found = study.settings(paper, axes, candidate, axis == "candidate")
            assert found == json.loads(str(stored["run_settings"].sel(axes).item())), axes


def test_sizes_of_the_profile_and_parameters_are_laid_over_the_models():
    small = opened(n_train=3)
    found = study.settings(small, {"model": "vn_token_3", "seed": 0}, 0, False)
    assert found["data"]["n_train"] == 3 and found["training"]["steps"] == small.settings["least"]
    options = found["training"]["options"]
    assert options["atoms"] == [16, 8, 8] and options["samples"] == 200
    assert options["sparsity"] == [0.03, 0.3, 0.3], "the candidate's"


def test_a_run_is_measured_and_every_number_has_a_name(tmp_path):
    found = study.run(opened(), {"model": "random", "seed": 0}, SMALL, tmp_path)
    named = described(found, study.VARIABLES)
    assert {"mse", "drift", "path", "sim_order"} <= set(found) and found["gap"].max() < 1
    assert all(one.attrs["long_name"] for one in named.variables.values())
    choosing = study.run(
        opened(), {"model": "random", "seed": 0}, SMALL | {"rollouts": {}}, tmp_path
    )
    assert choosing["criterion"] == found["criterion"] and "mse" not in choosing


def test_results_are_read_back_with_labels(tmp_path):
    given = {"models": "random", "n_train": 2, "n_starts": 1, "steps": 2}
    results, selection = study.results(opened(results_dir=str(tmp_path), **given))
    assert selection is None and results["label"].values.tolist() == ["Random"]
    assert results["drift"].attrs["units"] == "box^2"
    again, _ = study.results(opened(results_dir=str(tmp_path), **given))
    assert again.drop_attrs().equals(results.drop_attrs())
