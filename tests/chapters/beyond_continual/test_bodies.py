"""Models that learn one force law after another, on springs and drag that are known beforehand."""

from __future__ import annotations

import pytest
import torch

from benchmarks.nbody.bodies import Samples, scales_of
from chapters.beyond_continual.bodies import BodyNet, BodyVN, relative_error

VN = {
    "lr": 3e-2,
    "steps": 20,
    "batch_size": 16,
    "seed": 0,
    "reading": "token",
    "atoms": 12,
    "sparsity": 0.02,
    "samples": 200,
    "dictionary_steps": 2,
}


def law(index: int, n: int = 40) -> Samples:
    """Drag (2): minus the velocity; spring (1): towards the others."""
    rng = torch.Generator().manual_seed(index)
    position, velocity = (torch.randn(n, 5, 2, generator=rng) for _ in range(2))
    forces = torch.zeros(n, 4)
    forces[:, index] = 1
    acceleration = -velocity if index == 2 else 5 * (position.mean(1, keepdim=True) - position)
    return Samples(position, velocity, torch.ones(n, 5, dtype=torch.bool), forces, acceleration)


SPRING, DRAG = law(1), law(2)
SCALES = scales_of(Samples(*(torch.cat(parts) for parts in zip(SPRING, DRAG, strict=True))))


def test_tokens_of_another_law_change_nothing():
    model = BodyVN(SPRING, scales=SCALES, **VN)
    assert model.error(SPRING) == 1, "it predicts no acceleration"
    model.learn(SPRING, seed=0)
    kept, error = model.weights(), model.error(SPRING)
    model.learn(DRAG, seed=1)
    assert error < 1 and model.error(DRAG) < 1
    assert model.error(SPRING) == pytest.approx(error)
    assert all(
        torch.equal(new[: len(old)], old) for old, new in zip(kept, model.weights(), strict=True)
    )
    assert model.facts()["units"] == 24


def test_without_growth_another_law_is_not_learned():
    model = BodyVN(SPRING, scales=SCALES, **VN, grow=False)
    model.learn(SPRING, seed=0)
    model.learn(DRAG, seed=1)
    assert model.facts()["units"] == 48 and model.error(DRAG) == 1


def test_networks_learn_and_tell_their_units():
    model = BodyNet(
        DRAG, scales=SCALES, network="mlp", width=8, lr=1e-2, steps=60, batch_size=16, seed=0
    )
    before = model.error(DRAG)
    model.learn(DRAG, seed=0)
    assert model.error(DRAG) < before
    assert model.activity(DRAG)[0].shape == (8,)


def test_relative_error_of_nothing_is_one():
    assert relative_error(lambda samples: torch.zeros_like(samples.acceleration), DRAG) == 1


def test_bad_options_are_named():
    with pytest.raises(ValueError, match="atoms must be"):
        BodyVN(SPRING, scales=SCALES, **VN | {"atoms": 2})
    with pytest.raises(ValueError, match="network must be"):
        BodyNet(DRAG, scales=SCALES, network="none", lr=1e-2, steps=1, batch_size=4, seed=0)
