"""The runs: their settings are those that are stored, and every number of a run has a name."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import xarray as xr

from chapters.beyond_kernel import study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


def opened(**given: object) -> chapter.Chapter:
    one = chapter.spec("beyond_kernel")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


def shipped(name: str):
    return store.read(paths.result_file(paths.RESULTS, "paper", name))


def test_settings_are_those_of_the_shipped_runs():
    paper, stored = opened(profile="paper"), shipped("beyond_kernel")
    runs = stored["run_settings"].stack(run=("code", "model", "seed"))
    found = {
        tuple(one[name].item() for name in ("code", "model", "seed")): json.loads(str(one.item()))
        for one in runs
        if str(one.item())
    }
    for (code, model, seed), settings in found.items():
        axes = {"code": code, "model": model, "seed": seed}
        assert study.settings(paper, axes) == settings, axes
    counts = paper.settings["codes"]
    wanted = sum(
        min(count, model.get("seeds", count))
        for model in paper.models.values()
        for code, count in counts.items()
        if code in model.get("codes", counts)
    )
    assert len(found) == wanted


def test_trained_decoders_are_those_of_the_chapter_on_tasks():
    """The same data, start and batches: the same decoder, but for what a processor of another maker
    makes of a training, which may be much in one seed (the table of machines).
    """
    own, others = (
        shipped("beyond_kernel").sel(code="bump"),
        shipped("beyond_tasks").sel(task="base"),
    )
    for model in ("cnn", "mlp", "broadcast", "factorised"):
        for part in ("id", "ood"):
            one, other = (r[f"mse_{part}"].sel(model=model) for r in (own, others))
            one, other = xr.align(one.dropna("seed"), other.dropna("seed"))
            assert one.sizes["seed"] > 1
            assert np.median(abs(np.log(one / other))) < 0.05, (model, part)


@pytest.mark.parametrize(("model", "code"), [("mlp", "bump"), ("factorised", "ramp")])
def test_a_run_is_measured(model, code, tmp_path):
    small, axes = opened(), {"code": code, "model": model, "seed": 0}
    settings = study.settings(small, axes)
    found = study.run(small, axes, settings | {"most": 3}, tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    assert int(found["steps"]) in (1, 3)
    assert found["path_val"].notnull().values.tolist() == [True, True, False]
    assert float(found["linear_val"]) == float(found["path_val"].min())
    fewer = study.run(small, axes, settings | {"picture": False}, tmp_path / "again")
    assert fewer["picture_drawn"].isnull().all() and float(fewer["mse_ood"]) == float(
        found["mse_ood"]
    )


def test_what_is_explained():
    drawn = torch.randn(6, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert study.explained(drawn, drawn) == 1
    assert study.explained(drawn, drawn.mean(0)) == pytest.approx(0)
    assert study.explained(drawn, -drawn) < 0


def test_weights_that_moved():
    one, other = (torch.nn.Linear(1, 1, bias=False) for _ in range(2))
    torch.nn.init.constant_(one.weight, 2.0)
    torch.nn.init.constant_(other.weight, -1.0)
    assert study.moved(one, other) == 1.5
