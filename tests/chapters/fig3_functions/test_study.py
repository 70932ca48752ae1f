"""One run of Fig. 3 from its settings, and the settings that are stored with it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from chapters.fig3_functions import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


def opened(**given) -> chapter.Chapter:
    spec = chapter.spec("fig3_functions")
    return chapter.Chapter(spec, spec.check({"profile": "smoke", "device": "cpu", **given}))


def test_a_run_is_described_and_repeats(tmp_path):
    one = opened()
    axes = {"model": "deep_ae", "seed": 0}
    settings = study.settings(one, axes, 0, False)
    first, again = (study.run(one, axes, settings, tmp_path / part) for part in "ab")
    assert first.equals(again)
    found = described(first, study.VARIABLES)
    assert found["hidden"].attrs["units"] == "ID power" and found.sizes["example"] == 6
    other = study.run(one, axes | {"seed": 1}, settings, tmp_path / "c")
    assert not np.allclose(first["mse"], other["mse"])


def test_runs_that_select_see_no_test_signal_and_make_fewer_updates():
    one = opened(profile="paper")
    chosen, trying = (study.settings(one, {"model": "rnn"}, 1, flag) for flag in (False, True))
    assert chosen["study"]["tests"] and not trying["study"]["tests"]
    assert (chosen["training"]["steps"], trying["training"]["steps"]) == (5000, 2000)
    assert chosen["training"]["lr"] == 2e-3, "the second candidate"


def test_candidates_are_laid_over_small_sizes_and_rounds_reach_dictionaries_only():
    options = study.settings(opened(rounds=7), {"model": "vn_1"}, 2, False)["training"]["options"]
    assert (options["atoms"], options["factor"], options["rounds"]) == (12, 2.0, 7)
    options = study.settings(opened(), {"model": "rslds"}, 0, False)["training"]["options"]
    assert (options["latent"], options["sweeps"]) == (8, 2) and "rounds" not in options


@pytest.mark.parametrize("part", ["", "selection"])
def test_the_shipped_runs_have_the_settings_of_today(part):
    one, name = opened(profile="paper"), ".".join(["fig3_functions", part]).rstrip(".")
    stored = store.read(paths.ROOT / "results" / "paper" / f"{name}.nc")
    selection = store.read(paths.ROOT / "results" / "paper" / "fig3_functions.selection.nc")
    best = selection["criterion"].idxmin("candidate").to_series().to_dict()
    for model in stored["model"].values.tolist():
        chooser = "vn_1" if "dense" in model else model.removesuffix("_longer")
        candidate = 1 if part else int(best.get(chooser, 0))
        axes = {"model": model} if part else {"model": model, "seed": 1}
        wanted = study.settings(one, axes, candidate, bool(part))
        run = stored["run_settings"].sel({"candidate": 1} if part else {"seed": 1})
        assert json.loads(run.sel(model=model).item()) == wanted, model
