"""Saving and loading: every bit comes back, and a file that is not right is refused with its name
and the reason.
"""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from vnlib import serialize
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.serialize import load, save
from vnlib.settle import SettleConfig

CONFIGS = {
    "one layer": VNConfig(
        n_inputs=6, atoms=(9,), settle=SettleConfig(method="ista", tol=0.0, max_sweeps=17)
    ),
    "stack": VNConfig(
        n_inputs=6,
        atoms=(8, 5, 4),
        interface=(6, 7, 3),
        sparsity=(0.1, 0.05, 1 / 3),
        top_k=2,
        feedback=0.3,
        untied=True,
        relative_sparsity=True,
    ),
    "frozen": VNConfig(
        n_inputs=6, atoms=(8, 4), interface=(5,), sparsity=(0.1, 0.1), interface_rule="frozen"
    ),
    "nonnegative": VNConfig(n_inputs=6, atoms=(8,), nonnegative=True, activation="relu"),
    "elastic net": VNConfig(n_inputs=6, atoms=(8,), penalty="elastic_net", ridge=0.7),
}


@pytest.fixture(params=CONFIGS)
def network(request) -> VectorNetwork:
    """A network that has learned a little, so that nothing of it is what a seed alone gives."""
    network = VectorNetwork(CONFIGS[request.param], seed=3)
    x = torch.rand(32, 6, generator=torch.Generator().manual_seed(0))
    network.start_from_samples(x, seed=1)
    learner = LocalLearner(network)
    for _ in range(2):
        learner.step((x,), scale=1.0, generator=torch.Generator().manual_seed(1))
    return network


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "network.safetensors"
    save(VectorNetwork(CONFIGS["stack"], seed=0), path)
    return path


def rewritten(path, *, tensors=None, **changes):
    """The same file with other metadata or tensors; None takes something away."""
    with safe_open(path, framework="pt") as file:
        meta = file.metadata() | changes
        held = {name: file.get_tensor(name) for name in file.keys()} | (tensors or {})  # noqa: SIM118
    held = {name: tensor for name, tensor in held.items() if tensor is not None}
    save_file(
        held, path, metadata={name: value for name, value in meta.items() if value is not None}
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_every_bit_comes_back(network, tmp_path, dtype):
    network = network.to(dtype)
    save(network, tmp_path / "n.safetensors")
    again = load(tmp_path / "n.safetensors")
    assert again.config == network.config
    before, after = network.state_dict(), again.state_dict()
    assert list(before) == list(after)
    assert ("input_scale" in after) == network.config.relative_sparsity
    for name, tensor in before.items():
        assert after[name].dtype == dtype and torch.equal(after[name], tensor), name
    assert not any(p.requires_grad for p in again.parameters())


def test_a_loaded_network_settles_and_learns_to_the_same_bits(network, tmp_path):
    x = torch.rand(5, 6, generator=torch.Generator().manual_seed(2))
    save(network, tmp_path / "n.safetensors")
    again = load(tmp_path / "n.safetensors")
    for one in (network, again):
        LocalLearner(one).step((x,), scale=1.0, generator=torch.Generator().manual_seed(1))
    for code, other in zip(network.settle(x).codes, again.settle(x).codes, strict=True):
        assert torch.equal(code, other)


def test_the_device_is_the_one_asked_for(saved):
    assert load(saved).V[0].device.type == "cpu"
    network = load(saved, device="meta")
    assert {tensor.device.type for tensor in network.state_dict().values()} == {"meta"}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_from_the_gpu_and_back(saved, tmp_path):
    network = load(saved, device="cuda")
    save(network, tmp_path / "gpu.safetensors")
    assert (tmp_path / "gpu.safetensors").read_bytes() == saved.read_bytes()


def test_the_file_can_be_read_without_this_library(saved):
    with safe_open(saved, framework="np") as file:
        assert json.loads(file.metadata()["config"])["settle"]["method"] == "auto"
        assert file.get_tensor("V.0").shape == (6, 8)


def test_numbers_of_numpy_in_a_configuration(tmp_path):
    config = VNConfig(n_inputs=np.int64(4), atoms=(np.int64(5),), sparsity=(np.float32(0.5),))
    save(VectorNetwork(config, seed=0), tmp_path / "n.safetensors")
    assert load(tmp_path / "n.safetensors").config == config


def test_settings_that_an_older_file_lacks_have_their_defaults(saved):
    config = json.loads(meta(saved)["config"])
    del config["interface_rule"], config["settle"]["mix"]
    rewritten(saved, config=json.dumps(config))
    assert load(saved).config == CONFIGS["stack"]


def meta(path):
    with safe_open(path, framework="pt") as file:
        return file.metadata()


# --- How it is written ----------------------------------------------------------------------------


def test_folders_are_made_and_an_older_file_is_replaced(tmp_path):
    path = tmp_path / "a" / "b" / "n.safetensors"
    for seed in (0, 1):
        save(VectorNetwork(CONFIGS["stack"], seed=seed), str(path))
    assert torch.equal(load(str(path)).V[0], VectorNetwork(CONFIGS["stack"], seed=1).V[0])
    assert os.listdir(path.parent) == [path.name]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr(serialize.os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        save(VectorNetwork(CONFIGS["stack"], seed=9), saved)
    assert saved.read_bytes() == before and os.listdir(saved.parent) == [saved.name]


# --- What is refused ------------------------------------------------------------------------------


def refused(path, words):
    with pytest.raises(ValueError, match=words) as caught:
        load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.safetensors"):
        load(tmp_path / "none.safetensors")


@pytest.mark.parametrize("left", [0, 7, 200, -1])
def test_a_truncated_file(saved, left):
    saved.write_bytes(saved.read_bytes()[:left])
    refused(saved, "cannot be read as safetensors .*damaged or of another kind")


def test_files_of_other_kinds(saved, tmp_path):
    refused(tmp_path, "cannot be read as safetensors")
    saved.write_text("V = 1\n" * 100)
    refused(saved, "cannot be read as safetensors")
    save_file({"weight": torch.zeros(2)}, saved)
    refused(saved, "not a saved Vector Network: its format is None")
    save_file({"weight": torch.zeros(2)}, saved, metadata={"format": "pt"})
    refused(saved, "not a saved Vector Network: its format is 'pt'")


def test_a_newer_version(saved):
    rewritten(saved, version="2")
    refused(saved, "has version 2 of the format, this library reads 1")


@pytest.mark.parametrize(
    ("where", "name", "value", "words"),
    [
        (None, "dendrites", 3, "VNConfig has no dendrites; a newer version"),
        ("settle", "annealing", True, "SettleConfig has no annealing; a newer version"),
        (None, "feedback", -1, "feedback must be a finite number >= 0, got -1"),
        ("settle", "method", "newton", "method must be one of .*got 'newton'"),
        (None, "atoms", None, "atoms must be a list"),
        (None, "settle", 3, "no valid configuration"),
    ],
)
def test_settings_that_this_version_does_not_know(saved, where, name, value, words):
    config = json.loads(meta(saved)["config"])
    (config[where] if where else config)[name] = value
    rewritten(saved, config=json.dumps(config))
    refused(saved, words)


@pytest.mark.parametrize("config", [None, "{", "[]", "{}"])
def test_no_configuration(saved, config):
    rewritten(saved, config=config)
    refused(saved, "holds no valid configuration")


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"U.1": None}, r"U\.1 is missing, where it asks for \(7, 5\)"),
        ({"V.0": torch.zeros(8, 6)}, r"V\.0 is \(8, 6\), where it asks for \(6, 8\)"),
        ({"V.3": torch.zeros(2, 2)}, r"V\.3 is \(2, 2\), where it asks for nothing of this name"),
        ({"input_scale": None}, "input_scale is missing"),
        (
            {"V.0": torch.zeros(6, 8, dtype=torch.float64)},
            r"one floating-point type, got \['torch.float32', 'torch.f",
        ),
        ({"V.0": torch.zeros(6, 8, dtype=torch.int32)}, "one floating-point type"),
    ],
)
def test_tensors_that_do_not_fit_the_configuration(saved, tensors, words):
    rewritten(saved, tensors=tensors)
    refused(saved, words)
