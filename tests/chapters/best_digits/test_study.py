"""Drawings with k coefficients, against what they promise; runs in small."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.best_digits import coding, libraries, study
from vnlib.book import chapter
from vnlib.book.store.variables import described
from vnlib.learning.online import Statistics
from vnlib.learning.rules import unit_columns

SPEC = chapter.spec("best_digits")


def draws(*shape: int, seed: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def library() -> libraries.Library:
    return libraries.Library(unit_columns(draws(16, 24, seed=0)), torch.zeros(16))


HOW = {"k": 3, "theta": 0.2, "rounds": 3}


@pytest.mark.parametrize("way", coding.INFERENCES)
def test_drawings_are_sums_of_k_atoms_and_the_mean(way, library):
    x, mean = draws(5, 16, seed=1), draws(16, seed=2)
    shifted = libraries.Library(library.V, mean)
    drawn = coding.drawn(shifted, x, inference=way, **HOW)
    V = coding.extended(library.V, way)
    assert V.shape[1] == {"pixels": 40, "complete": 56, "two_layer_complete": 56}.get(way, 24)
    if not way.startswith("two_layer"):
        for row in drawn - mean:
            fits = coding.best_subset(V, row[None], k=3) @ V.T
            torch.testing.assert_close(fits[0], row, atol=2e-2, rtol=0)
    error = (drawn - x).square().sum(1)
    assert (error <= (x - mean).square().sum(1) + 1e-4).all() or way.startswith("two_layer")


def test_more_atoms_beside_the_library_lower_the_error(library):
    x = draws(40, 16, seed=3)
    errors = {
        way: float((coding.drawn(library, x, inference=way, **HOW) - x).square().mean())
        for way in ("omp", "ols", "swaps", "pixels", "complete")
    }
    assert errors["complete"] < errors["pixels"] < errors["swaps"] <= errors["ols"]
    assert errors["swaps"] < errors["omp"]


def test_two_layers_are_never_worse_than_one_layer_with_a_threshold(library):
    x = draws(40, 16, seed=4) * (draws(40, 16, seed=5) < 0.4)
    one = coding.drawn(library, x, inference="swaps", **HOW)
    cut = torch.where(one.abs() < 0.2, 0, one)
    two = coding.drawn(library, x, inference="two_layer", **HOW)
    errors = [(drawn - x).square().sum(1) for drawn in (two, cut)]
    assert (errors[0] <= errors[1] + 1e-6).all() and (errors[0] < errors[1] - 1e-3).any()
    assert ((two == 0) | (two.abs() >= 0.2)).all()


def test_the_threshold_is_the_one_of_least_error(library):
    x = draws(20, 16, seed=6) * (draws(20, 16, seed=7) < 0.4)
    how = {"inference": "two_layer", "k": 3, "rounds": 1}
    errors = {
        theta: float((coding.drawn(library, x, theta=theta, **how) - x).square().mean())
        for theta in (0.05, 0.2, 0.4)
    }
    assert coding.chosen_theta(library, x, list(errors), **how) == min(errors, key=errors.get)


def test_matching_pursuit_without_a_gram_matrix_equals_that_with_one(library):
    x = draws(6, 16, seed=8)
    found = coding.from_all(library.V, x, 4)
    for k, drawn in enumerate(found, 1):
        expected = coding.drawn(library, x, inference="omp", **(HOW | {"k": k}))
        torch.testing.assert_close(drawn, expected, atol=1e-4, rtol=0)


def test_statistics_move_atoms_to_what_lowers_the_error():
    """From planted atoms, moved: codes of a few of them bring the error down, and norms stay 1."""
    planted = unit_columns(draws(12, 8, seed=9) - 0.3)
    code = torch.zeros(600, 8).scatter(1, draws(600, 8, seed=10).topk(2).indices, 1.0)
    x = (code * (1 + draws(600, 8, seed=11))) @ planted.T
    start = unit_columns(planted + 0.15 * (draws(12, 8, seed=12) - 0.5))
    more = {"k": 2, "batches": 20, "batch_size": 200, "swaps": 5, "seed": 0}
    learned = libraries.by_statistics(x, start, forgetting=3.0, **more)
    hebb = libraries.by_hebb(x, start, lr=0.01, **more)

    def error(V: torch.Tensor) -> float:
        return float((coding.best_subset(V, x, k=2) @ V.T - x).square().mean())

    assert error(learned) < 0.1 * error(start) and error(hebb) < 0.5 * error(start)
    torch.testing.assert_close(learned.norm(dim=0), torch.ones(8))


def test_renewal_solves_for_one_atom_at_a_time():
    """One atom and one batch: it goes to the codes' mean image, brought to unit norm."""
    V, x = unit_columns(draws(5, 1, seed=13)), draws(7, 5, seed=14)
    code = x @ V
    libraries.renew(V, Statistics(V), code, x, forgetting=1.0)
    torch.testing.assert_close(V, unit_columns(x.T @ code))


def test_exemplars_are_training_images_and_seeds_differ():
    train = torch.cat([torch.zeros(3, 6), draws(20, 6, seed=15)])
    first, second = (libraries.exemplars(train, 10, seed) for seed in (0, 1))
    assert not torch.equal(first, second)
    near = (unit_columns(train[3:].T).T @ first).amax(0)
    torch.testing.assert_close(near, torch.ones(10))


@pytest.mark.parametrize("model", ["vn_512", "ksparse_512", "dct", "all_exemplars"])
def test_a_run_is_measured_in_all_the_ways_of_its_plan(model, tmp_path):
    small = chapter.Chapter(SPEC, SPEC.check({"device": "cpu"}))
    axes = {"model": model, "seed": 0}
    settings = study.settings(small, axes)
    found = study.run(small, axes, settings, tmp_path)
    named = described(found, study.VARIABLES)
    assert all(one.attrs["long_name"] for one in named.variables.values())
    for way, ks in settings["plan"].items():
        for k in found["k"].values:
            asked = found["mse"].sel(way=way, k=k)
            assert bool(asked.notnull().all()) == (k in ks)
    assert np.isfinite(found["learning_time"]) and found["zero_baseline"].min() > 0


def test_seeds_draw_their_own_test_images_and_none_is_the_books():
    settings = SPEC.settings("paper")
    assert 5 not in range(settings["test_seed"], settings["test_seed"] + 1000)


def test_every_set_has_a_name_and_every_planned_way_too():
    from chapters.best_digits.figures import SETS, STEPS
    from data_gen import digits

    assert list(SETS) == list(digits.SETS)
    models = SPEC.sidecar["models"]
    for one, other in STEPS.values():
        for model, way in (one, other):
            assert 24 in models[model]["plan"][way]
    for one in SPEC.sidecar["predictions"]:
        over = one["over"] if isinstance(one["over"], list) else SPEC.sidecar["rivals"][one["over"]]
        for model, way in (one["own"], *over):
            assert way in models[model]["plan"], (one["id"], model, way)
