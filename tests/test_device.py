"""Where the computation goes: "auto" takes CUDA where there is one, and all models of all chapters
train and predict on another device to the numbers of the CPU: nothing that a run computes depends
on where.

The other device is that of `fake_device`. A run is one of the profile `smoke`, with two updates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import xarray as xr
from fake_device import DEVICE, elsewhere
from torch import nn

from benchmarks.spatial.decoders import mean_squared_error, train_decoder
from vnlib.book import chapter, paths, store
from vnlib.fit import FitConfig, GradientLearner, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig

CPU = torch.device("cpu")
COUNTS = re.compile(r"(steps|updates|sweeps|consolidation)$")
spec = cache(chapter.spec)


def models() -> Iterator[tuple[str, str]]:
    """Chapter and model, one for each way through the code: models whose settings differ in numbers
    go the same one.
    """
    for name in paths.chapters():
        one, seen = spec(name), set()
        if "models" not in one.parameters:
            continue
        every = chapter.Chapter(one, one.check({"profile": "smoke"}))
        for model, own in one.sidecar["models"].items():
            section = every.model(model)
            way = {"family": section.get("family")} | _form(section["options"])
            if not section.get("family"):
                way = _form({k: v for k, v in own.items() if k not in ("label", "group")})
            if (way := str(way or model)) not in seen:
                seen.add(way)
                yield name, model


def _form(options: Any) -> Any:
    """Names and texts of options, and how long lists are."""
    if isinstance(options, Mapping):
        return {name: _form(value) for name, value in sorted(options.items())}
    if isinstance(options, Sequence) and not isinstance(options, str):
        return len(options)
    return options if isinstance(options, (str, bool)) else None


def _brief(settings: Any, name: str = "") -> Any:
    """Settings with two updates and two sweeps."""
    if isinstance(settings, Mapping):
        return {key: _brief(value, key) for key, value in settings.items()}
    return min(settings, 2) if isinstance(settings, int) and COUNTS.search(name) else settings


def computed(
    monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, model: str, device: torch.device
) -> list[xr.Dataset]:
    """What the first run of each grid of a chapter finds for a model."""
    found: list[xr.Dataset] = []

    def grid(run, axes, *, settings, **_: Any) -> store.GridResult:
        first = {axis: values[0] for axis, values in axes.items()}
        with elsewhere() if device == DEVICE else nullcontext():
            found.append(run(first, _brief(settings(first)), folder))
        every = found[-1].expand_dims({axis: list(values) for axis, values in axes.items()})
        return store.GridResult(every, ())

    folder.mkdir()
    monkeypatch.setattr(store, "grid", grid)
    monkeypatch.setattr(chapter.Chapter, "device", device)
    one = spec(name)
    given = {"profile": "smoke", "models": [model], "results_dir": str(folder)}
    paths.module(name, "study").results(chapter.Chapter(one, one.check(given)))
    return found


@pytest.mark.filterwarnings("ignore")  # two sweeps settle nothing
@pytest.mark.parametrize(("name", "model"), list(models()))
def test_the_device_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, model: str
):
    try:
        cpu = computed(monkeypatch, tmp_path / "cpu", name, model, CPU)
    except ValueError as error:
        pytest.skip(f"made for larger sizes than those of smoke: {error}")
    other = computed(monkeypatch, tmp_path / "other", name, model, DEVICE)
    for one, two in zip(cpu, other, strict=True):
        timed = [variable for variable in one if "time" in str(variable)]
        xr.testing.assert_allclose(two.drop_vars(timed), one.drop_vars(timed), rtol=1e-4, atol=1e-6)


def test_what_a_device_refuses_is_refused():
    with elsewhere():
        here, there = torch.ones(2), torch.ones(2, device=DEVICE)
        for wrong in (
            lambda: here + there,
            lambda: there.numpy(),
            lambda: torch.rand(2, device=DEVICE, generator=torch.Generator()),
            lambda: there[torch.tensor([True, False])] @ here,
        ):
            with pytest.raises((RuntimeError, TypeError)):
                wrong()
        assert (there.cpu() + here).tolist() == [2.0, 2.0] == (there + 1.0).tolist()
        assert type(there.cpu()) is torch.Tensor and there.device == DEVICE


class Line(nn.Module):
    def __init__(self, seen: Callable[[], None]) -> None:
        super().__init__()
        self.seen = seen
        self.weight = nn.Parameter(torch.ones(6, 6))

    def loss(self, x: torch.Tensor, *, generator: torch.Generator) -> torch.Tensor:
        self.seen()
        return (x @ self.weight - x).square().mean()


@pytest.mark.parametrize("rule", ["gradient", "local"])
def test_steps_do_not_wait_for_the_device(rule: str):
    """But for what a settle asks for itself."""
    with elsewhere() as device:
        x = torch.rand(40, 6, generator=torch.Generator().manual_seed(0)).to(DEVICE)
        network = VectorNetwork(VNConfig(n_inputs=6, atoms=(8,)), seed=0).to(DEVICE)
        settled, waits = network.settle(x), []
        network.settle = lambda *_, **__: waits.append(device.waits.total()) or settled
        learner = LocalLearner(network)
        if rule == "gradient":
            learner = GradientLearner(Line(lambda: waits.append(device.waits.total())), lr=1e-2)
            learner.model.to(DEVICE)
        fit(learner, (x,), FitConfig(steps=9, batch_size=20, keep="last"), seed=0)
    assert len(waits) == 9 and len(set(waits)) == 1


def device(name: str) -> torch.device:
    spec = chapter.spec("fig2_spatial")
    return chapter.Chapter(spec, spec.check({"device": name})).device


@pytest.mark.parametrize("there", [True, False])
def test_auto_takes_cuda_where_there_is_one(monkeypatch: pytest.MonkeyPatch, there: bool):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.setattr(torch, "empty", lambda *_, **__: None)  # the probe of the device itself
    assert device("auto").type == ("cuda" if there else "cpu")
    assert device("cpu").type == "cpu"


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


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
    torch.testing.assert_close(found["cuda"], found["cpu"], rtol=1e-2, atol=1e-2)


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
