"""The runs: their settings, what they see, and what is measured of a model."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from chapters.beyond_capacity import models, study
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


def opened(**given: object) -> chapter.Chapter:
    one = chapter.spec("beyond_capacity")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


def shipped(part: str = ""):
    return store.read(paths.result_file(paths.RESULTS, "paper", f"beyond_capacity{part}"))


def test_settings_are_those_of_the_shipped_runs_with_the_rate_that_errs_least_in_distribution():
    paper, stored, tried = opened(profile="paper"), shipped(), shipped(".selection")
    for name, model in paper.models.items():
        for size in model["sizes"]:
            best = 0
            if "rates" in model:
                criterion = tried["criterion"].sel(model=name, size=size)
                assert criterion.notnull().all(), (name, size)
                best = int(criterion.argmin())
            for seed in paper.seeds:
                axes = {"model": name, "size": size, "seed": seed}
                found = json.loads(str(stored["run_settings"].sel(axes).item()))
                assert study.settings(paper, axes, best, False) == found, axes


def test_every_model_has_its_usual_size_and_the_vector_networks_reach_four_times_the_input():
    for name, model in opened(profile="paper").models.items():
        assert model["usual"] in model["sizes"], name
        assert "input" not in model or model["sizes"][-1] >= 4 * model["input"], name


def test_selecting_runs_see_no_test_data(tmp_path):
    small = opened()
    axes = {"model": "forces_mlp", "size": 32, "candidate": 1}
    told = study.settings(small, axes, 1, True)
    assert told["training"]["lr"] == small.models["forces_mlp"]["rates"][1]
    found = study.select(small, axes, told, tmp_path)
    assert "error" not in found and float(found["criterion"]) > 0


def test_options_grow_with_the_size():
    assert models.grown({"hidden": [4, 2], "latent": 1}, 8) == {"hidden": [32, 16], "latent": 8}


@pytest.mark.parametrize(("model", "size"), [("signals_pca", 3), ("digits_dct", 15)])
def test_a_run_is_measured(model, size, tmp_path):
    small, axes = opened(), {"model": model, "size": size, "seed": 0}
    found = study.run(small, axes, study.settings(small, axes, 0, False), tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    assert float(found["active"]) == size and np.isnan(found["late_gain"])
    assert (found["error"] > 0).all() and found.sizes["set"] in (9, 14)


def test_seeds_have_test_data_of_their_own(tmp_path):
    small = opened()
    one, same, other = (
        study.run(
            small,
            {"model": "digits_dct", "size": 15, "seed": seed},
            study.settings(small, {"model": "digits_dct", "size": 15, "seed": seed}, 0, False),
            tmp_path,
        )["error"]
        for seed in (0, 0, 1)
    )
    assert one.equals(same) and not one.equals(other)


def test_errors_are_over_those_of_the_zero_baseline_where_signals_are_hidden():
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    seen = torch.tensor([[True, True, False, False]])
    fill = lambda x, seen: torch.where(seen, 99.0, x + 1)  # noqa: E731
    assert models._filled(fill, x, seen, ~seen) == pytest.approx(2 / 25)
    assert models._drawn(torch.zeros_like, x) == 1


def test_what_the_last_fifth_gained():
    assert study.late_gain([1.0, 0.8, 0.5, 0.5, 0.4]) == pytest.approx(0.2)
    assert study.late_gain([1.0, 0.8, 0.4, 0.3, 0.4]) == 0
    assert np.isnan(study.late_gain(()))
