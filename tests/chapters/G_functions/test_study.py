"""One run of App. G from its settings, and the settings that are stored with it."""

from __future__ import annotations

import json

import pytest

from chapters.G_functions import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


def opened(**given) -> chapter.Chapter:
    spec = chapter.spec("G_functions")
    return chapter.Chapter(spec, spec.check({"profile": "smoke", "device": "cpu", **given}))


def test_a_run_is_described_and_repeats(tmp_path):
    axes = {"model": "vn_1", "seed": 0}
    settings = study.settings(opened(n_atoms=8), axes)
    settings["settle"]["max_sweeps"] = 3
    first, again = (study.run(opened(), axes, settings, tmp_path / part) for part in "ab")
    assert first.equals(again)
    found = described(first, study.VARIABLES)
    assert found["hidden"].attrs["units"] == "ID power" and found.sizes["round"] == 5


def test_only_some_networks_are_followed_and_at_least_for_the_rounds():
    one = opened(profile="paper", rounds=80)
    assert study.settings(one, {"model": "vn_1"})["study"]["curve"] == 80
    literal = study.settings(one, {"model": "vn_3_literal"})["study"]
    assert literal["curve"] == 0 and literal["factors"] == []


@pytest.mark.parametrize("model", ["vn_1", "vn_untrained", "vn_5_frozen"])
def test_the_shipped_runs_have_the_settings_of_today(model):
    stored = store.read(paths.ROOT / "results" / "paper" / "G_functions.nc").sel(model=model)
    wanted = study.settings(opened(profile="paper"), {"model": model})
    assert {text for text in stored["run_settings"].values} == {json.dumps(wanted, sort_keys=True)}
    assert int(stored["depth"]) == len(wanted["training"]["sparsity"])
