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


KINDS = {
    "config": lambda x: network().settle(X, config=x),
    "settle": lambda x: VNConfig(n_inputs=6, atoms=(8,), settle=x),
    "start": lambda x: network().settle(X, start=x),
    "settled": lambda x: network().reconstruct(x),
    "code": lambda x: network().decode(x),
    "x": lambda x: network()(x),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_is_of_another_kind_is_refused_by_name(name):
    for given in ("cd", 1, [0.5], {}, X.numpy()):
        with pytest.raises(ValueError, match=rf"^{name} must be .*, got"):
            KINDS[name](given)


def test_codes_of_another_width_are_refused_by_name():
    with pytest.raises(ValueError, match=r"^code must have one column per atom \(8\), got .*30, 6"):
        network().decode(X)
    with pytest.raises(ValueError, match=r"^settled must be of type Settled, got 'top'"):
        VectorNetwork.for_data(X, atoms=[8, 4], seed=0).operator("top")


FLAGS = {
    "nonnegative": (VNConfig, VectorNetworkCoder),
    "untied": (VNConfig,),
    "relative_sparsity": (VNConfig,),
    "sparse_output": (VectorNetworkCoder,),
    "center": (VectorNetworkCoder,),
}


@pytest.mark.parametrize(
    ("name", "kind"), [(n, kind) for n, many in FLAGS.items() for kind in many]
)
def test_a_flag_is_true_or_false(name, kind):
    """Texts and lists counted as true."""

    def made(value):
        if kind is VNConfig:
            return VNConfig(n_inputs=6, atoms=(8,), **{name: value})
        return VectorNetworkCoder(4, steps=1, **{name: value}).fit(X.numpy())

    for value in ("no", 1.5, [0]):
        with pytest.raises(ValueError, match=rf"^{name} must be .*, got"):
            made(value)
    made(np.bool_(True))


@pytest.mark.parametrize("given", [None, 1j, object()])
def test_sparsity_is_a_number_or_several(given):
    for call in (
        lambda: VectorNetwork.for_data(X, atoms=[8], seed=0, sparsity=given),
        lambda: VectorNetworkCoder(4, sparsity=given).fit(X.numpy()),
    ):
        with pytest.raises(
            ValueError, match=r"^sparsity must be a number or a list of numbers, got"
        ):
            call()
