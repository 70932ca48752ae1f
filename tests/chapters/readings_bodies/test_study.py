"""The runs: their settings are those that are stored, and every number of a run has a name."""

from __future__ import annotations

import json

import pytest
import xarray as xr

from chapters.readings_bodies import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


def opened(profile: str) -> chapter.Chapter:
    one = chapter.spec("readings_bodies")
    return chapter.Chapter(one, one.check({"device": "cpu", "profile": profile}))


def shared() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "fig4_nbody"))


def test_settings_are_those_of_the_shipped_runs():
    paper, theirs = opened("paper"), shared()
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "readings_bodies"))
    assert set(stored["model"].values) == set(paper.models)
    for axes in ({"model": m, "seed": s} for m in paper.models for s in paper.seeds):
        found = json.loads(str(stored["run_settings"].sel(axes).item()))
        assert study.settings(paper, axes, theirs) == found, axes


@pytest.mark.parametrize(
    "name, model, part",
    [
        ("token_1_atoms", "vn_token_1", "atoms"),
        ("token_3_none", "vn_token_3", "feedback"),
        ("token_3_strong", "vn_token_3", "feedback"),
        ("token_3_half", "vn_token_3", "sparsity"),
        ("token_3_double", "vn_token_3", "sparsity"),
        ("token_3_swept", "vn_token_3", "sweeps"),
    ],
)
def test_networks_see_the_states_of_fig_4_and_differ_from_its_in_one_part(name, model, part):
    paper, theirs = opened("paper"), shared()
    found = study.settings(paper, {"model": name, "seed": 0}, theirs)
    other = json.loads(str(theirs["run_settings"].sel(model=model, seed=0).item()))
    assert found["data"] == other["data"]
    assert found["rollouts"] == ({} if part == "sweeps" else other["rollouts"])
    ours, fig = ({**one["training"], **one["training"]["options"]} for one in (found, other))
    assert {key for key in ours if ours[key] != fig.get(key)} - {"options"} == {part}


def test_a_run_is_measured_and_named(tmp_path):
    small = opened("smoke")
    rollouts = {"n_starts": 2, "steps": 3, "every": 1}
    told = {"data": {"n_train": 6, "n_val": 2, "n_test": 2}, "rollouts": rollouts}
    theirs = xr.Dataset({"run_settings": ("model", [json.dumps(told)])})
    axes = {"model": "token_1_atoms", "seed": 0}
    found = study.run(small, axes, study.settings(small, axes, theirs), tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    assert found["mse"].dims == ("inference", "forces", "bodies")
    assert bool((found["mse"] >= 0).all()) and found["drift"].sizes["start"] == 2
