"""Which device "auto" is, and networks on CUDA, where there is one."""

from __future__ import annotations

import pytest
import torch

from benchmarks.spatial.decoders import mean_squared_error, train_decoder
from vnlib.book import chapter
from vnlib.fit import FitConfig, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def device(name: str) -> torch.device:
    spec = chapter.spec("fig2_spatial")
    return chapter.Chapter(spec, spec.check({"device": name})).device


@pytest.mark.parametrize("there", [True, False])
def test_auto_takes_cuda_where_there_is_one(monkeypatch: pytest.MonkeyPatch, there: bool):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.setattr(
        torch, "empty", lambda *_, **__: torch.zeros(0)
    )  # the probe of the device itself
    assert device("auto").type == ("cuda" if there else "cpu")
    assert device("cpu").type == "cpu"


@pytest.mark.gpu
@needs_cuda
def test_a_network_learns_the_same_on_cuda():
    x = torch.randn(200, 12, generator=torch.Generator().manual_seed(0))
    config = VNConfig(n_inputs=12, atoms=(16, 12), interface=(8,), sparsity=(0.1, 0.05), top_k=6)
    found = {}
    for where in ("cpu", "cuda"):
        network = VectorNetwork(config, seed=0).to(where)
        network.start_from_samples(x.to(where), seed=0)
        steps = FitConfig(steps=20, batch_size=50)
        fit(LocalLearner(network), (x.to(where),), steps, seed=0, validate=lambda: 0.0)
        found[where] = network.reconstruct(network.settle(x.to(where))).cpu()
    # A sum in another order may settle on another support, for a few of the 200 samples.
    assert (found["cuda"] - found["cpu"]).norm() < 2e-2 * found["cpu"].norm()


@pytest.mark.gpu
@needs_cuda
@pytest.mark.parametrize("family", ["vn", "vae", "factorised"])
def test_decoders_train_on_cuda(tmp_path, family):
    x = torch.eye(16, device="cuda").repeat(1, 2)
    images = torch.rand(16, 8, 8, generator=torch.Generator().manual_seed(0)).cuda()
    options = {"streams": "joint", "n_atoms": 16} if family == "vn" else {}
    model = train_decoder(
        (x, images),
        (x, images),
        family=family,
        options=options,
        lr=1e-2,
        steps=5,
        batch_size=8,
        seed=0,
        workdir=tmp_path,
    )
    assert mean_squared_error(model, (x, images)) < float(images.square().mean()) * 10
