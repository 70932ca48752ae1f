"""What torch would refuse in words of its own, or take in silence, is refused by name everywhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from data_gen import bumps, digits, nbody, rotations, shapes, signals
from vnlib import VectorNetwork, VectorNetworkCoder, VNConfig
from vnlib.fit import FitConfig, fit
from vnlib.learning.learner import LocalLearner, learn

X = torch.rand(30, 6, generator=torch.Generator().manual_seed(0))
IMAGES = np.zeros((6, 28, 28))


def network() -> VectorNetwork:
    return VectorNetwork.for_data(X, atoms=[8], seed=0)


def fitted(seed: object) -> object:
    return fit(LocalLearner(network()), (X,), FitConfig(steps=1), seed=seed, validate=lambda: 0.0)


SEEDED = {
    "VectorNetwork": lambda seed: VectorNetwork(VNConfig(n_inputs=6, atoms=(8,)), seed=seed),
    "for_data": lambda seed: VectorNetwork.for_data(X, atoms=[8], seed=seed),
    "start_from_samples": lambda seed: network().start_from_samples(X, seed=seed),
    "learn": lambda seed: learn(network(), X, seed=seed, steps=1),
    "fit": fitted,
    "bumps": lambda seed: bumps.BumpConfig(split_seed=seed),
    "bumps, scattered": lambda seed: bumps.scattered(bumps.BumpConfig(), 10, seed=seed),
    "digits": lambda seed: digits.make(IMAGES, n=2, seed=seed),
    "nbody": lambda seed: nbody.NBodyConfig(seed=seed),
    "rotations": lambda seed: rotations.RotationConfig(split_seed=seed),
    "shapes": lambda seed: shapes.ShapeConfig(code_seed=seed),
    "signals": lambda seed: signals.SignalConfig(seed=seed),
    "masks": lambda seed: signals.observed("random_30", 2, seed=seed),
}


@pytest.mark.parametrize("seed", [-1, 1.5, True, 2**64, None, "a"])
@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_is_the_same_thing_everywhere(name, seed):
    with pytest.raises(
        ValueError, match=r"seed must be an integer >= 0 and <= 9223372036854775807, got"
    ):
        SEEDED[name](seed)


@pytest.mark.parametrize("name", SEEDED)
def test_seeds_of_both_ends_are_taken(name):
    for seed in (0, np.int64(3), 2**63 - 1):
        SEEDED[name](seed)


@pytest.mark.parametrize(
    ("x", "got"),
    [
        (X.half(), "torch.float16"),
        (X.bfloat16(), "torch.bfloat16"),
        (X.to(torch.complex64), "torch.complex64"),
        (X.to_sparse(), "torch.sparse_coo"),
        (X.to("meta"), "meta"),
        (X.long(), "torch.int64"),
        (X.numpy(), "ndarray"),
        ([[0.5]], "list"),
    ],
)
def test_tensors_that_nothing_computes_with_are_refused_by_name(x, got):
    message = rf"x must be a dense floating-point tensor, float32 or float64, got .*{got}"
    for call in (
        lambda: VectorNetwork.for_data(x, atoms=[8], seed=0),
        lambda: network().start_from_samples(x, seed=0),
        lambda: network().settle(x),
        lambda: learn(network(), x, seed=0, steps=1),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("atoms", [6, None, "6", 6.0])
def test_sizes_are_given_per_layer(atoms):
    with pytest.raises(
        ValueError, match=r"atoms must be a list with one entry per layer, as \[64\]"
    ):
        VectorNetwork.for_data(X, atoms=atoms, seed=0)


def test_library_and_estimator_name_sizes_alike():
    assert {"atoms", "steps"} <= VectorNetworkCoder().get_params().keys()
