"""Online dictionary learning: its closed form, what it keeps in shape, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from learner_cases import draw

from vnlib.fit import FitConfig, Learner, fit
from vnlib.learning import online
from vnlib.learning.learner import learn
from vnlib.learning.online import OnlineDictionaryLearner
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig


def network(K: int = 12, d: int = 8, **options) -> VectorNetwork:
    config = {"sparsity": (0.3,), "settle": SettleConfig.exact(tol=1e-6)} | options
    return VectorNetwork(VNConfig(n_inputs=d, atoms=(K,), **config), seed=0).double()


def step(learner: OnlineDictionaryLearner, x: torch.Tensor) -> float:
    return float(learner.step((x,), scale=1.0, generator=torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("block", [5, 64])
def test_two_updates_equal_the_formula(nonnegative, block, monkeypatch):
    monkeypatch.setattr(online, "BLOCK", block)
    model = network(nonnegative=nonnegative)
    learner = OnlineDictionaryLearner(model, forgetting=2.0)
    A, B, V = np.zeros((12, 12)), np.zeros((8, 12)), model.V[0].numpy().copy()
    for update in (1, 2):
        x = draw(20, 8, seed=update).double().abs()
        code = model.settle(x).codes[0].numpy()
        energy = model.settle(x).energy.mean()
        assert step(learner, x) == pytest.approx(float(energy))
        keep = (1 - 1 / update) ** 2
        A, B = keep * A + code.T @ code / 20, keep * B + x.numpy().T @ code / 20
        for k in range(12):
            if A[k, k] > 0:
                new = V[:, k] + (B[:, k] - V @ A[:, k]) / A[k, k]
                new = np.maximum(new, 0) if nonnegative else new
                V[:, k] = new / np.linalg.norm(new)
        np.testing.assert_allclose(model.V[0].numpy(), V, atol=1e-10)
    assert (V < 0).any() != nonnegative


def test_unused_atoms_keep_every_bit():
    model = network(K=30)
    before, x = model.V[0].clone(), draw(2, 8, seed=3).double()
    idle = (model.settle(x).codes[0] == 0).all(0)
    step(OnlineDictionaryLearner(model), x)
    assert torch.equal(model.V[0][:, idle], before[:, idle])
    assert idle.any() and (model.V[0] - before)[:, ~idle].abs().max() > 1e-3


def planted(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums of 2 of 12 unit atoms in 16 dimensions, and the atoms (16, 12)."""
    atoms, on = unit_columns(draw(16, 12, seed=4)), draw(n, 12, seed=5).topk(2, dim=1).indices
    size = (1 + draw(n, 2, seed=6).abs()) * draw(n, 2, seed=7).sign()
    return torch.zeros(n, 12).scatter(1, on, size) @ atoms.T, atoms


def test_planted_atoms_are_found():
    x, atoms = planted(600)
    settle = SettleConfig.exact()
    model = VectorNetwork.for_data(x, atoms=(12,), seed=0, sparsity=0.05, settle=settle)
    assert (model.V[0].T @ atoms).abs().amax(0).min() < 0.9
    history = learn(model, x, seed=0, steps=200, batch_size=100, learner=OnlineDictionaryLearner)
    assert (model.V[0].T @ atoms).abs().amax(0).min() > 0.99
    assert history[-1] < 0.7 * history[0]


def test_a_dead_atom_becomes_a_sample_and_its_statistics_are_dropped():
    model, x = network(K=3), draw(40, 8, seed=8).double()
    learner = OnlineDictionaryLearner(model, revive_after=2)
    step(learner, x)
    learner.unused[0][1] = 5
    model.V[0][:, 1] = 0  # correlates with nothing
    step(learner, x)
    sample = (unit_columns(x.T).T @ model.V[0][:, 1]).max()
    assert sample > 1 - 1e-12 and int(learner.revived[0]) == 1
    A, B = learner.statistics.A, learner.statistics.B
    assert not A[1].any() and not A[:, 1].any() and not B[1].any() and A[0, 0] > 0


def test_a_resumed_run_has_the_same_bits(tmp_path):
    x, config = planted(100)[0], FitConfig(steps=6, batch_size=30, keep="last", checkpoint_every=3)
    found = []
    for stops in ((6,), (3, 6)):
        for steps in stops:
            model = VectorNetwork.for_data(x, atoms=(12,), seed=0, sparsity=0.05)
            learner = OnlineDictionaryLearner(model)
            assert isinstance(learner, Learner)
            checkpoint = tmp_path / f"{len(stops)}.safetensors"
            if steps == 3:
                with pytest.raises(KeyboardInterrupt):
                    fit(Interrupted(learner, after=3), (x,), config, seed=0, checkpoint=checkpoint)
            else:
                fit(learner, (x,), config, seed=0, checkpoint=checkpoint)
        found.append(model.V[0].clone())
    assert torch.equal(*found)


class Interrupted:
    """A learner that is stopped by the user."""

    def __init__(self, learner: OnlineDictionaryLearner, *, after: int) -> None:
        self.learner, self.left, self.state = learner, after, learner.state

    def step(self, *given, **options):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.learner.step(*given, **options)


def test_what_does_not_fit_is_named():
    two = VectorNetwork(
        VNConfig(n_inputs=8, atoms=(6, 4), interface=(3,), sparsity=(0.1, 0.1)), seed=0
    )
    with pytest.raises(ValueError, match="network must have one layer, got 2; LocalLearner"):
        OnlineDictionaryLearner(two)
    with pytest.raises(ValueError, match="forgetting must be a finite number >= 0, got -1"):
        OnlineDictionaryLearner(network(), forgetting=-1)
    learner = OnlineDictionaryLearner(network(), revive_after=1)
    with pytest.raises(ValueError, match="generator"):
        learner.update(learner.network.settle(draw(3, 8, seed=9).double()))
