"""Runs in small, and fields between two bodies."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.nbody.bodies import LAWS
from chapters.best_bodies import study
from data_gen import nbody
from vnlib.book import chapter
from vnlib.book.store.variables import described

SPEC = chapter.spec("best_bodies")
SMALL = chapter.Chapter(SPEC, SPEC.check({"device": "cpu"}))


@pytest.mark.parametrize("model", ["vn_256", "vn_608", "vn_256_delta", "rbf_256", "token_mlp"])
def test_a_run_is_measured_in_all_cells(model, tmp_path):
    axes = {"model": model, "seed": 0}
    settings = study.settings(SMALL, axes)
    found = study.run(SMALL, axes, settings, tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    assert found["mse"].sizes == {"inference": 2, "forces": 15, "bodies": 3}
    assert bool(found["mse"].notnull().all()) and found["learning_time"] > 0
    assert ("told" in found) == (model in ("vn_256", "token_mlp"))
    assert ("law_atoms" in found) == (model != "token_mlp")


def test_each_seed_has_states_of_its_own_and_none_are_the_books():
    one, other = (
        study.settings(SMALL, {"model": "vn_256", "seed": seed})["data"] for seed in (0, 1)
    )
    assert one["seed"] != other["seed"] and one["test_seed"] != other["test_seed"]
    paper = SPEC.settings("paper")
    own = {paper[name] + seed for name in ("data_seed", "test_seed") for seed in range(8)}
    config, follow = nbody.NBodyConfig(), nbody.RolloutConfig()
    assert not own & {config.seed, config.test_seed, follow.seed} and len(own) == 16


def test_models_learn_from_their_share_of_the_trajectories():
    spec = chapter.Chapter(SPEC, SPEC.check({"profile": "paper", "device": "cpu"}))
    counts = {
        model: study.settings(spec, {"model": model, "seed": 1})["data"]["n_train"]
        for model in ("vn_256_n100", "vn_256", "rbf_256_n1600")
    }
    assert list(counts.values()) == [100, 400, 1600]


def test_a_field_is_what_a_body_is_told_of_another():
    def exact(bodies):
        law = LAWS[int(bodies.forces[0].argmax())]
        p, v = (part.double().numpy()[:, :2] for part in bodies[:2])
        told = np.zeros(bodies.position.shape)
        told[:, :2] = nbody.acceleration(p, v, (law,), nbody.Physics())
        return torch.from_numpy(told)

    found = study.fields(exact, reach=2.0, points=5)
    np.testing.assert_allclose(found["told"], found["true"], atol=1e-6)
    right = found["true"].sel(between="gravity", x=2.0, y=0.0)
    np.testing.assert_allclose(right, [2.0 * 2 / 5**1.5, 0], atol=1e-12)
