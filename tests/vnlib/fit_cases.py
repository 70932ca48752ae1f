"""One small learner of each kind, and runs of the training loop."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
import torch
from torch import nn

from benchmarks.spatial import registry
from benchmarks.spatial.decoders import build_vn
from benchmarks.spatial.vector_networks import SpatialLearner
from vnlib import fit, fit_many
from vnlib.checkpoint import History
from vnlib.fit import Course, FitConfig, GradientLearner
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

SIDE = 3
CONFIG = FitConfig(steps=20, batch_size=8, eval_every=4, checkpoint_every=3)


# --- what is trained: one small learner of each kind ---


class WithBuffers(nn.Module):
    """A model with state that no gradient moves: the running statistics of a batch norm."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(2 * SIDE), nn.Linear(2 * SIDE, SIDE**2)
        with torch.no_grad():
            self.linear.weight.copy_(draw(SIDE**2, 2 * SIDE, seed=seed))
            self.linear.bias.zero_()

    def loss(self, x, y, *, generator):
        return (self.linear(self.norm(x)).view_as(y) - y).square().mean()


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X, Y = draw(20, 2 * SIDE, seed=1), draw(20, SIDE, SIDE, seed=2)


def make_learner(kind: str, seed: int = 0):
    """A fresh learner, its data, and its validation."""
    if kind in ("mlp", "vae"):
        options = {"hidden": (8,)} | ({"latent": 3} if kind == "vae" else {})
        model = registry.build(
            kind, n_inputs=2 * SIDE, image_shape=(SIDE, SIDE), seed=seed, **options
        )
        return (
            GradientLearner(model, lr=1e-2),
            (X, Y),
            lambda: float((model(X) - Y).square().mean().detach()),
        )
    if kind == "buffers":
        model = WithBuffers(seed)
        return (
            GradientLearner(model, lr=1e-2),
            (X, Y),
            lambda: float(model.norm.running_mean.norm()),
        )
    quick = SettleConfig(max_sweeps=5, tol=0)
    if kind == "local":
        sizes = {"n_inputs": 2 * SIDE, "atoms": (8, 5), "interface": (4,), "sparsity": (0.1, 0.05)}
        network = VectorNetwork(VNConfig(settle=quick, **sizes), seed=seed)
        return LocalLearner(network, lr=3e-2), (X,), lambda: float(network.settle(X).energy.mean())
    model = build_vn(
        n_inputs=2 * SIDE, image_shape=(SIDE, SIDE), streams="axes", n_atoms=4, sweeps=5, seed=seed
    )
    return SpatialLearner(model, lr=3e-2), (X, Y), lambda: float((model(X) - Y).square().mean())


KINDS = ("mlp", "vae", "buffers", "local", "spatial")
every_kind = pytest.mark.parametrize("kind", KINDS)


def run(
    kind: str,
    *,
    seed: int = 0,
    config: FitConfig = CONFIG,
    checkpoint=None,
    stop_after: int | None = None,
):
    """Train; returns everything that training left behind.

    `stop_after` updates it is interrupted.
    """
    learner, data, validate = make_learner(kind)
    if stop_after is not None:
        inner, calls = learner.step, itertools.count()

        def step(*args, **kwargs):
            if next(calls) == stop_after:
                raise KeyboardInterrupt
            return inner(*args, **kwargs)

        learner.step = step
    history = fit.fit(learner, data, config, seed=seed, validate=validate, checkpoint=checkpoint)
    return learner.state() | {
        "train": torch.tensor(history.train, dtype=torch.float64),
        "validation": torch.tensor(history.validation, dtype=torch.float64),
        "best": torch.tensor([history.best_step, history.best_value], dtype=torch.float64),
    }


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


class Counter:
    """A learner whose model is the number of its updates, and which writes down what it was
    given.
    """

    def __init__(self, losses=None) -> None:
        self.count, self.losses = torch.zeros(1), losses
        self.scales, self.batches, self.seeds = [], [], []

    def step(self, batch, *, scale, generator):
        self.count += 1
        self.scales.append(scale)
        self.batches.append(batch)
        self.seeds.append(generator.initial_seed())
        return 1.0 if self.losses is None else self.losses[int(self.count) - 1]

    def state(self):
        return {"model.count": self.count}


def count(values, *, checkpoint=None, losses=None, n=10, seed=0, **config):
    """Train a counter whose validations give `values` in turn."""
    learner, values = Counter(losses), iter(values)
    options = {"batch_size": 4, "eval_every": 1} | config
    data = (torch.arange(n), 100.0 + torch.arange(n))
    history = fit.fit(
        learner,
        data,
        FitConfig(**options),
        seed=seed,
        validate=lambda: next(values),
        checkpoint=checkpoint,
    )
    return learner, history


def batch_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many models will be trained at once, time after time; filled as it happens."""
    seen, train = [], fit_many.fit_many

    def counted(courses: Sequence[Course]) -> list[History]:
        seen.append(len(courses))
        return train(courses)

    monkeypatch.setattr(fit_many, "fit_many", counted)
    return seen
