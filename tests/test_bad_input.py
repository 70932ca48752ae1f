"""Bad input to networks, training and data: every mistake is refused in one short paragraph."""

from __future__ import annotations

import torch
from refusals import Call, made, refused

from benchmarks.spatial import registry
from benchmarks.spatial.decoders import build_vn, train_decoder
from data_gen import bumps, mnist
from vnlib.fit import FitConfig, GradientLearner, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import L1, make_penalty
from vnlib.settle import SettleConfig, Settler


def network(**changes: object) -> VectorNetwork:
    return VectorNetwork(VNConfig(**({"n_inputs": 6, "atoms": (8,)} | changes)), seed=0)


def settled(x: torch.Tensor, **options: object) -> Call:
    return lambda tmp, patch: network().settle(x, **options)


def trained(**changes: object) -> Call:
    """A decoder of the benchmark's codes, trained for a moment."""

    def call(tmp, patch):
        pair = (torch.rand(4, 6), torch.rand(4, 3, 3))
        given = {"family": "mlp", "options": {"hidden": (4,)}, "lr": 0.1, "steps": 2}
        given |= {"batch_size": 2, "seed": 0, "workdir": tmp}
        return train_decoder(pair, pair, **(given | changes))

    return call


def fitted(*data: torch.Tensor) -> Call:
    """A perceptron, fitted in a folder where there is the checkpoint of another."""

    def call(tmp, patch):
        model = registry.build("mlp", n_inputs=6, image_shape=(3, 3), seed=0, hidden=(4,))
        learner, checkpoint = GradientLearner(model, lr=0.1), tmp / "fit.safetensors"
        checkpoint.write_bytes(b"not a checkpoint")
        options = {"seed": 0, "validate": lambda: 1.0, "checkpoint": checkpoint}
        return fit(learner, data, FitConfig(steps=1), **options)

    return call


def offline(tmp, patch):
    """No data, no network, no stand-in: what the `paper` profile finds."""
    patch.delenv("VNBOOK_DATA", raising=False)
    patch.setenv("VNBOOK_OFFLINE", "1")
    patch.setattr(mnist.pooch, "os_cache", lambda name: tmp / name)
    mnist.load("train", allow_fallback=False)


def empty_data_folder(tmp, patch):
    patch.setenv("VNBOOK_DATA", str(tmp / "nothing"))
    mnist.load("train", allow_fallback=True)


def too_many_digits(tmp, patch):
    patch.delenv("VNBOOK_DATA", raising=False)
    patch.setattr(mnist.pooch, "os_cache", lambda name: tmp / name)
    mnist.load("test", n=70_000, allow_fallback=True)


NAN = torch.full((2, 6), float("nan"))
NETWORKS = {
    "K = 0": (made(network, atoms=(0,)), "atoms of layer 1", ">= 1", "0"),
    "no layers": (made(network, atoms=(), sparsity=()), "atoms", "at least one layer", "()"),
    "n_inputs 0": (made(network, n_inputs=0), "n_inputs", ">= 1", "0"),
    "interface missing": (
        made(network, atoms=(8, 4), sparsity=(0.1, 0.1)),
        "interface",
        "1 or 2 entries",
        "()",
    ),
    "sparsity of one layer only": (
        made(network, atoms=(8, 4), interface=(5,)),
        "sparsity",
        "(2)",
        "(0.1,)",
    ),
    "sparsity of a layer negative": (
        made(network, sparsity=(-1.0,)),
        "sparsity of layer 1",
        ">= 0",
        "-1.0",
    ),
    "sparsity of a penalty": (made(L1, sparsity=float("inf")), "sparsity", "finite", "inf"),
    "feedback negative": (made(network, feedback=-1), "feedback", ">= 0", "-1"),
    "top_k 0": (made(network, top_k=0), "top_k", ">= 1", "<= 8", "0"),
    "top_k above K": (made(network, top_k=9), "top_k", "<= 8", "9"),
    "top_k of a penalty": (made(make_penalty, sparsity=0.1, top_k=0), "top_k", ">= 1", "0"),
    "unknown activation": (
        made(network, activation="tanh"),
        "activation",
        "'tanh'",
        "'identity', 'relu'",
    ),
    "unknown interface rule": (
        made(network, interface_rule="hebb"),
        "interface_rule",
        "'hebb'",
        "'subspace'",
    ),
    "unknown method": (made(SettleConfig, method="adam"), "method", "'adam'", "'ista', 'fista'"),
    "max_sweeps 0": (made(SettleConfig, max_sweeps=0), "max_sweeps", ">= 1", "0"),
    "tol negative": (made(SettleConfig, tol=-1e-3), "tol", ">= 0", "-0.001"),
    "cap after the end": (made(SettleConfig, max_sweeps=5, cap_from=5), "cap_from", "<= 4", "5"),
    "NaN in the data": (settled(NAN), "x", "12 value(s)", "NaN", "remove or impute"),
    "inputs too narrow": (settled(torch.zeros(2, 5)), "x", "(batch, 6)", "(2, 5)"),
    "inputs without a batch": (settled(torch.zeros(6)), "x", "(batch, 6)", "(6,)"),
    "whole numbers as inputs": (
        settled(torch.zeros(2, 6, dtype=torch.int64)),
        "x",
        "floating-point",
        "int64",
    ),
    "start of the wrong shape": (
        settled(torch.zeros(2, 6), start=[torch.zeros(2, 7)]),
        "start",
        "(2, 8)",
        "(2, 7)",
    ),
    "layer without an operator": (
        lambda tmp, patch: (n := network()).operator(n.settle(torch.rand(1, 6))),
        "layer",
        "interface",
        "0",
    ),
    "layers that do not fit": (
        lambda tmp, patch: Settler(
            [network(interface=(5,)).layers[0], network(n_inputs=4).layers[0]]
        ),
        "layer 1 sends 5",
        "layer 2 reads 4",
    ),
    "too few samples to start from": (
        lambda tmp, patch: network().start_from_samples(torch.rand(3, 6), seed=0),
        "layer 1",
        "at least 8",
        "3",
    ),
    "lr negative": (lambda tmp, patch: LocalLearner(network(), lr=-1), "lr", "> 0", "-1"),
}
TRAINING = {
    "lr of a decoder": (trained(lr=-1), "lr", "> 0", "-1"),
    "batch_size 0": (trained(batch_size=0), "batch_size", ">= 1", "0"),
    "steps 0": (trained(steps=0), "steps", ">= 1", "0"),
    "unknown family": (trained(family="gan"), "family", "'gan'", "'vn'", "'cnn'"),
    "unknown option": (trained(options={"width": 3}), "width", "hidden", "mlp"),
    "no data": (
        fitted(torch.zeros(0, 6), torch.zeros(0, 3, 3)),
        "data",
        "[0, 0]",
        "one length > 0",
    ),
    "unequal data": (
        fitted(torch.zeros(4, 6), torch.zeros(5, 3, 3)),
        "data",
        "[4, 5]",
        "one length",
    ),
    "damaged checkpoint": (
        fitted(torch.rand(4, 6), torch.rand(4, 3, 3)),
        "fit.safetensors",
        "not a readable checkpoint",
        "delete it",
    ),
    "unknown baseline": (
        made(registry.build, "gan", n_inputs=2, image_shape=(3, 3), seed=0),
        "'gan'",
        "'cnn'",
        "'vae'",
    ),
    "unknown streams": (
        made(build_vn, n_inputs=6, image_shape=(3, 3), seed=0, streams="both"),
        "streams",
        "'both'",
        "'axes', 'joint'",
    ),
    "code that cannot be halved": (
        made(build_vn, n_inputs=7, image_shape=(3, 3), seed=0, streams="axes"),
        "streams='axes'",
        "7",
        "halves",
    ),
    "flat readout of two streams": (
        made(build_vn, n_inputs=6, image_shape=(3, 3), seed=0, streams="axes", readout="flat"),
        "readout 'flat'",
        "streams='joint'",
    ),
}
EXPLODING = {
    "lr that explodes": (trained(lr=1e30, steps=50), "loss", "step", "lower the learning rate"),
}
DATA = {
    "sigma of a bump": (made(bumps.BumpConfig, sigma=0), "sigma", "> 0", "0"),
    "grid too large": (made(bumps.BumpConfig, grid=100), "grid", "<= 64", "100"),
    "unknown part of MNIST": (made(mnist.load, "valid"), "part", "'valid'", "'train', 'test'"),
    "n 0": (made(mnist.load, "test", n=0), "n must be", ">= 1", "0"),
    "n too large": (too_many_digits, "n must be <= 360", "70000"),
}
NO_MNIST = {
    "no MNIST": (offline, "VNBOOK_OFFLINE", "set VNBOOK_DATA", "t10k-labels-idx1-ubyte.gz"),
}
NO_DATA = {
    "VNBOOK_DATA without data": (empty_data_folder, "VNBOOK_DATA", "nothing", "unset VNBOOK_DATA"),
}

test_networks = refused(NETWORKS)
test_training = refused(TRAINING)
test_exploding = refused(EXPLODING, FloatingPointError)
test_data = refused(DATA)
test_no_mnist = refused(NO_MNIST, mnist.MnistUnavailable)
test_no_data = refused(NO_DATA, mnist.MnistError)
