"""The runs: their settings are those that are stored, and every number of a run has a name."""

from __future__ import annotations

import json

import numpy as np
import torch

from benchmarks.functions.imputer import Imputer
from chapters.readings_signals import study
from vnlib.book import chapter, paths, store


def test_settings_are_those_of_the_shipped_runs():
    one = chapter.spec("readings_signals")
    paper = chapter.Chapter(one, one.check({"device": "cpu", "profile": "paper"}))
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "readings_signals"))
    shared = store.read(paths.result_file(paths.RESULTS, "paper", "fig3_functions"))
    assert set(stored["model"].values) == set(paper.models)
    for axes in ({"model": m, "seed": s} for m in paper.models for s in paper.seeds):
        found = json.loads(str(stored["run_settings"].sel(axes).item()))
        assert study.settings(paper, axes, shared) == found, axes


def test_networks_see_the_signals_and_masks_of_fig_3():
    shared = store.read(paths.result_file(paths.RESULTS, "paper", "fig3_functions"))
    theirs = json.loads(str(shared["run_settings"].sel(model="vn_1", seed=0).item()))
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "readings_signals"))
    ours = json.loads(str(stored["run_settings"].isel(model=0, seed=0).item()))
    assert all(ours[key] == theirs[key] for key in ("data", "masks", "mask_seeds"))


def test_errors_are_mean_squares_where_signals_are_hidden():
    x = {
        name: torch.full((3, 4), value)
        for name, value in zip(("val", "id", "easy", "hard"), (1.0, 1.0, 2.0, 3.0), strict=True)
    }
    seen = {"half": {name: torch.tensor([[True, True, False, False]]).repeat(3, 1) for name in x}}

    def fill(signals, observed):
        return torch.where(observed, 100.0, 0.0)

    model = Imputer(zero_filled=fill, mask_aware=lambda x, observed: lambda x, seen: x + 1)
    found = study.hidden(model, x, seen)
    assert found.dims == ("solver", "mask", "set", "signal")
    np.testing.assert_allclose(found.sel(solver="rounds", mask="half", set="hard"), 9)
    np.testing.assert_allclose(found.sel(solver="limit"), 1)
