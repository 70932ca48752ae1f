"""Locality and upkeep of learning: cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.D_learning import measure
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig


def draw(*shape: int, seed: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=rng, dtype=torch.float64).float()


X = draw(120, 10, seed=1) @ draw(10, 10, seed=2)
ONE = VNConfig(n_inputs=10, atoms=(24,), sparsity=(2.0,))


@pytest.fixture(scope="module")
def local():
    network = measure.start(ONE, X, seed=0)
    return measure.locality(
        network,
        X,
        batch_sizes=(1, 8, 64),
        updates=3,
        warm_up=3,
        lr={"adam": 1e-2, "sgd": 0.1},
        seed=0,
    )


def test_idle_atoms_are_told_nothing_and_only_plain_adam_moves_them(local):
    one = local.sel(batch_size=1)
    assert (one["local_idle"] > 0.1).all()
    assert (one["local_idle_direction"] == 0).all()
    assert (one["local_idle_moved"].sel(optimiser=["masked Adam", "SGD"]) == 0).all()
    assert (one["local_idle_change"].sel(optimiser=["masked Adam", "SGD"]) == 0).all()
    assert (one["local_idle_moved"].sel(optimiser="Adam") == 1).all()
    assert (one["local_active_change"] > 0).all()


def test_larger_batches_idle_less(local):
    idle = local["local_idle"].mean("update")
    assert (idle.diff("batch_size") < 0).all()
    assert np.isnan(local["local_idle_change"].where(local["local_idle"] == 0)).all()


def test_the_shared_residual_is_compared_with_the_lone_one_atom_by_atom():
    network = measure.start(ONE, X, seed=0)
    found = measure.shared_residual(network, X[:4])
    code, V, expected = network.settle(X[:4]).codes[0], network.V[0], []
    for x, a in zip(X, code, strict=False):
        for k in a.nonzero().flatten():
            together, alone = x - V @ a, x - a[k] * V[:, k]
            expected.append(torch.cosine_similarity(together, alone, dim=0))
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-4, atol=1e-5)
    assert len(found) > 10 and found.min() < 0.95  # 1 where one atom acts alone


def test_an_atom_that_acts_alone_learns_from_its_own_residual():
    network = VectorNetwork(VNConfig(n_inputs=10, atoms=(1,), sparsity=(0.1,)), seed=0)
    torch.testing.assert_close(
        measure.shared_residual(network, X[:5]), torch.ones(5), rtol=1e-4, atol=1e-4
    )


def test_upkeep_tells_what_each_option_does():
    variants = {
        "as it is": {},
        "DC removed": {"remove_dc": True},
        "decorrelated": {"decorrelation": 0.5},
        "dead atoms re-drawn": {"revive_after": 3},
        "centred": {"remove_dc": True, "centred": True},
    }
    x = X + 3.0
    found = measure.upkeep(
        ONE,
        x[:80],
        x[80:],
        {name: v | {"lr": 1e-2} for name, v in variants.items()},
        sparsities=(2.0, 8.0),
        steps=12,
        batch_size=8,
        seed=0,
    )
    plain = found.sel(variant="as it is")
    assert (
        found["upkeep_dc"].sel(variant="DC removed", start="samples", upkeep_sparsity=2.0) < 0.05
    ).all()
    apart = found["upkeep_coherence"].sel(variant="decorrelated", start="samples")
    assert (apart < plain["upkeep_coherence"].sel(start="samples")).all()
    # The shared mean of these samples is most of what they are: atoms without it cannot draw them.
    assert (
        found["upkeep_mse"].sel(variant="DC removed")
        > 2 * found["upkeep_mse"].sel(variant="centred")
    ).all()
    sparse = found.sel(upkeep_sparsity=8.0, start="chance")
    assert sparse["upkeep_revived"].sel(variant="dead atoms re-drawn") > 0
    assert sparse["upkeep_revived"].sel(variant="as it is") == 0
    assert sparse["upkeep_dead"].sel(variant="dead atoms re-drawn") < sparse["upkeep_dead"].sel(
        variant="as it is"
    )
    assert ((found["upkeep_idle"] >= 0) & (found["upkeep_idle"] <= 1)).all()


def test_practice_is_repeatable_and_tells_every_step():
    networks, seen = [measure.start(ONE, X, seed=0) for _ in range(2)], []
    for network in networks:
        measure.practise(LocalLearner(network), X, steps=3, batch_size=8, seed=5, after=seen.append)
    assert torch.equal(networks[0].V[0], networks[1].V[0]) and seen == [1, 2, 3, 1, 2, 3]
