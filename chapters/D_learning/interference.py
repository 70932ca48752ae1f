"""How two updates meet (VN App. D): one layer of a Vector Network against dense autoencoders of the
same width.

A model here reconstructs samples x (samples, d) from codes (samples, atoms). The update of its
decoder by one sample is residual times code, so the cosine of two samples' updates is that of their
residuals times that of their codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor

from chapters.D_learning.measure import dataset, trained
from vnlib import metrics, seeding
from vnlib.layer import Layer
from vnlib.learning.rules import MaskedAdam, atomic_hebb, unit_columns
from vnlib.network import VNConfig
from vnlib.prox import Penalty
from vnlib.settle import SettleConfig, Settled, Settler

EXACT = SettleConfig.exact(tol=1e-6)


class Model(Protocol):
    """What the measurements ask of a model; both siblings below are made of tensors in double
    precision.
    """

    def read(
        self, x: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, "n atoms"], Float[Tensor, "n d"]]:
        """Codes and residuals."""

    def loss(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """What learning lowers, per sample."""

    def after(self, x: Float[Tensor, "1 d"], fall: float) -> Model:
        """The model after a plain step on one sample that should lower its loss by the share
        `fall`.
        """


@dataclass(frozen=True)
class Sparse:
    """A layer of a Vector Network. Its loss is the settled energy, its columns keep unit length."""

    V: Float[Tensor, "d atoms"]
    penalty: Penalty

    def settle(self, x: Tensor) -> Settled:
        return Settler([Layer(self.V, None, self.penalty)], config=EXACT)(x)

    def read(self, x: Tensor) -> tuple[Tensor, Tensor]:
        code = self.settle(x).codes[0]
        return code, x - code @ self.V.T

    def loss(self, x: Tensor) -> Tensor:
        return self.settle(x).energy

    def after(self, x: Tensor, fall: float) -> Sparse:
        code, residual = self.read(x)
        told = atomic_hebb(residual, code)
        # lengths are given: only directions can change
        told = told - self.V * (self.V * told).sum(0)
        moved = self.V + fall * self.loss(x) / told.square().sum().clamp_min(1e-300) * told
        return Sparse(unit_columns(moved), self.penalty)


@dataclass(frozen=True)
class Dense:
    """The control: x_hat = D phi(E x) without biases, trained by back-propagation on 1/2
    `|x - x_hat|^2`.
    """

    E: Float[Tensor, "atoms d"]
    D: Float[Tensor, "d atoms"]
    relu: bool

    def code(self, x: Tensor) -> Tensor:
        return (x @ self.E.T).clamp_min(0) if self.relu else x @ self.E.T

    def read(self, x: Tensor) -> tuple[Tensor, Tensor]:
        code = self.code(x)
        return code, x - code @ self.D.T

    def loss(self, x: Tensor) -> Tensor:
        return 0.5 * self.read(x)[1].square().sum(1)

    def gradients(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Of the summed loss, with respect to E and D."""
        code, residual = self.read(x)
        back = -(residual @ self.D) * ((code > 0) if self.relu else 1)
        return back.T @ x, -(residual.T @ code)

    def after(self, x: Tensor, fall: float) -> Dense:
        gradients = self.gradients(x)
        rate = fall * self.loss(x) / sum(g.square().sum() for g in gradients)
        return Dense(self.E - rate * gradients[0], self.D - rate * gradients[1], self.relu)

    def whitened(self, x: Tensor) -> Dense:
        """The same linear function in other coordinates: over x the code has unit covariance (about
        zero).

        Raises
        ------
        ValueError
            For a code with ReLU, which cannot be rotated.
        """
        if self.relu:
            raise ValueError("relu must be False: a rectified code cannot be whitened")
        code = self.code(x)
        values, vectors = torch.linalg.eigh(code.T @ code / len(x))
        keep = values > 1e-8 * values[-1]
        root, vectors = values[keep].sqrt(), vectors[:, keep]
        return Dense((vectors / root).T @ self.E, self.D @ (vectors * root), False)


def train_sparse(
    x: Tensor, *, sparsity: float, atoms: int, settle: SettleConfig, **learning: Any
) -> Sparse:
    """A layer that starts from samples and learns by masked Adam (see `measure.trained`)."""
    config = VNConfig(n_inputs=x.shape[1], atoms=(atoms,), sparsity=(sparsity,), settle=settle)
    network = trained(config, x, **learning)
    return Sparse(network.V[0].detach().double(), network.layers[0].penalty)


def train_dense(
    x: Tensor, *, relu: bool, atoms: int, steps: int, batch_size: int, lr: float, seed: int
) -> Dense:
    """An autoencoder trained with Adam, on the same schedule as the layer."""
    rng, d = seeding.generator(seed, "autoencoder", relu), x.shape[1]
    E, D = (
        torch.randn(size, generator=rng).to(x) * 0.5 / d**0.5 for size in ((atoms, d), (d, atoms))
    )
    adams = [MaskedAdam(W) for W in (E, D)]
    for step in range(steps):
        rows = torch.randperm(len(x), generator=seeding.generator(seed, "batch", step))[
            :batch_size
        ].to(x.device)
        scale = 0.05 + 0.95 * 0.5 * (1 + np.cos(np.pi * step / steps))
        for W, adam, g in zip((E, D), adams, Dense(E, D, relu).gradients(x[rows]), strict=True):
            every = torch.ones(W.shape[1], dtype=torch.bool, device=W.device)
            adam.ascend(W, -g / len(rows), every, scale * lr, unit_norm=False)
    return Dense(E.double(), D.double(), relu)


def pairs(matrix: Float[Tensor, "n n"]) -> Float[Tensor, " pair"]:
    """The entries above the diagonal."""
    return matrix[tuple(torch.triu_indices(*matrix.shape, 1))]


def cosines(rows: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    unit = unit_columns(rows.T)
    return unit.T @ unit


def overlaps(support: Bool[Tensor, "n atoms"]) -> Float[Tensor, "n n"]:
    """Jaccard overlap of the supports of all pairs."""
    n = len(support)
    return torch.stack([metrics.jaccard(row.expand(n, -1), support) for row in support])


def passed_on(model: Model, x: Float[Tensor, "n d"], *, fall: float) -> Float[Tensor, "n n"]:
    """(source, target): the relative change of the target's loss per relative change of the
    source's own.

    A step is taken on each source alone. 1 on the diagonal; positive where it helps the target,
    negative where it hurts.
    """
    before, rows = model.loss(x), []
    for i in range(len(x)):
        change = (model.after(x[i : i + 1], fall).loss(x) - before) / before
        rows.append(change / change[i])
    return torch.stack(rows)


def interference(
    train: Float[Tensor, "samples d"],
    test: Float[Tensor, "n d"],
    label: np.ndarray,
    *,
    sparsities: Sequence[float],
    main: float,
    sources: int,
    fall: float,
    sparse: Mapping,
    dense: Mapping,
    **alike: Any,
) -> xr.Dataset:
    """Overlap of updates and of supports for all pairs of test samples, and what a step on one
    passes on to another.

    One Vector Network per sparsity ("VN 0.2"), a linear autoencoder, the same one with a whitened
    code, and one with ReLU. The first `sources` samples are stepped on, with the network at
    sparsity `main` and the dense models.

    Parameters
    ----------
    sparse, dense, **alike
        Options of `train_sparse`, of `train_dense` and of both.
    """
    x = test.double()
    models: dict[str, Model] = {
        f"VN {value:g}": train_sparse(train, sparsity=value, **sparse, **alike)
        for value in sparsities
    }
    linear = train_dense(train, relu=False, **dense, **alike)
    models |= {"linear": linear, "whitened": linear.whitened(train.double())}
    models["ReLU"] = train_dense(train, relu=True, **dense, **alike)
    stepped = [f"VN {main:g}", "linear", "whitened", "ReLU"]

    found: dict[str, list] = {}
    for model in models.values():
        code, residual = model.read(x)
        e, a = cosines(residual), cosines(code)
        for name, value in {
            "pair_overlap": pairs(overlaps(code != 0)).float(),
            "pair_cosine": pairs(e * a).float(),
            "residual_cosine": pairs(e).abs().median(),
            "code_cosine": pairs(a).abs().median(),
            "active_share": (code != 0).double().mean(),
            "mse": residual.square().mean(),
        }.items():
            found.setdefault(name, []).append(np.asarray(value.cpu()))
    off = ~torch.eye(sources, dtype=torch.bool)
    passed = [
        passed_on(models[name], x[:sources], fall=fall).cpu()[off].float().numpy()
        for name in stepped
    ]
    shared = [
        overlaps(models[name].read(x[:sources])[0] != 0).cpu()[off].float().numpy()
        for name in stepped
    ]
    values = {
        f"meet_{n}": (("model", "pair") if n.startswith("pair") else ("model",), v)
        for n, v in found.items()
    }
    values["meet_same_label"] = (
        ("pair",),
        pairs(torch.from_numpy(label[:, None] == label[None])).numpy(),
    )
    values["passed_on"], values["passed_overlap"] = (
        (("stepped", "arrow"), passed),
        (("stepped", "arrow"), shared),
    )
    return dataset(values, {"model": list(models), "stepped": stepped})
