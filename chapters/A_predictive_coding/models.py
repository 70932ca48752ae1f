"""Predictive coding, Vector Networks and autoencoders in one shape, to be compared on the same data
(VN App. A).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from chapters.A_predictive_coding.baselines import (
    ACTIVATIONS,
    LocalUpdate,
    PCConfig,
    PCLearner,
    PredictiveCoding,
)
from vnlib import checks
from vnlib.fit import GradientLearner, Learner
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig


@dataclass(frozen=True, kw_only=True)
class Inference:
    """What a model infers for a batch, and what it would learn from it.

    Parameters
    ----------
    code
        What is inferred at the first level.
    gain
        What the columns of the dictionary are weighted with, so that the reconstruction is their
        sum.
    slope
        The derivative of gain by code.
    updates
        One per weight matrix that reconstructs or recognises.
    energy
        Per step, empty where nothing was traced.
    """

    code: Float[Tensor, "batch units"]
    gain: Float[Tensor, "batch units"]
    slope: Float[Tensor, "batch units"]
    updates: Sequence[LocalUpdate]
    energy: Sequence[Float[Tensor, " batch"]] = ()


@runtime_checkable
class Model(Protocol):
    """A model under comparison.

    Attributes
    ----------
    learns
        False where its weights stay as they begin.
    composes
        Whether its map is composed for each input, as sum_k gain_k u_k v_k' from the `columns` V
        and U. A learner of PC infers for as long as in training, all else as at test.
    """

    model: nn.Module
    learns: bool
    composes: bool

    def learner(self, lr: float) -> Learner: ...

    def infer(self, x: Float[Tensor, "batch d"], *, trace: bool = False) -> Inference: ...

    def columns(self) -> list[Float[Tensor, "_rows units"]]:
        """The matrices that belong to the first level's units, column by column; first the
        dictionary.
        """

    def train_as_tested(self) -> None:
        """Let learners infer for as long as at test."""

    def read(
        self, x: Float[Tensor, "batch d"]
    ) -> tuple[Float[Tensor, "batch d"], Float[Tensor, "batch d"]]:
        """The reconstruction from the first level, and from the top level alone."""


class PC:
    """Predictive coding, bidirectional with `discriminative` > 0, under a sparse prior with
    `sparsity` > 0.
    """

    learns, composes = True, False

    def __init__(
        self, sizes: Sequence[int], *, seed: int, steps: tuple[int, int], **options: float
    ) -> None:
        self.model = PredictiveCoding(
            PCConfig(sizes=tuple(sizes), steps=steps[0], **options), seed=seed
        )
        self.test_steps = steps[1]

    def learner(self, lr: float) -> Learner:
        return PCLearner(self.model, lr=lr)

    @torch.no_grad()
    def infer(self, x: Tensor, *, trace: bool = False) -> Inference:
        model = self.model
        inferred = model.infer(x, steps=self.test_steps, trace=trace)
        code, (down, up) = inferred.states[1], model.updates(inferred.states)
        gain, slope = model.f(code), model.slope(code)
        return Inference(
            code=code, gain=gain, slope=slope, updates=[*down, *up], energy=inferred.trace
        )

    def columns(self) -> list[Tensor]:
        return [self.model.generative[0].detach()]

    def train_as_tested(self) -> None:
        self.model.config = replace(self.model.config, steps=self.test_steps)

    @torch.no_grad()
    def read(self, x: Tensor) -> tuple[Tensor, Tensor]:
        states = self.model.infer(x, steps=self.test_steps).states
        return self.model.reconstruct(states), self.model.reconstruct(states, level=len(states) - 1)


class VN:
    """A Vector Network; its library begins with samples, if some are given, and otherwise by
    chance.

    Parameters
    ----------
    sweeps
        Of momentum, which a trace follows; codes are settled by the network's own settle.
    revive_after
        Updates after which an unused atom becomes a sample of the batch; None never.
    """

    composes = True

    def __init__(
        self,
        config: VNConfig,
        start: Tensor | None,
        *,
        seed: int,
        sweeps: int,
        learns: bool = True,
        revive_after: int | None = None,
    ) -> None:
        self.model, self.learns, self.revive_after = (
            VectorNetwork(config, seed=seed),
            learns,
            revive_after,
        )
        if start is not None:
            self.model.start_from_samples(start, seed=seed)
        self.swept = SettleConfig.training(max_sweeps=sweeps)

    def learner(self, lr: float) -> Learner:
        return LocalLearner(self.model, lr=lr, revive_after=self.revive_after)

    @torch.no_grad()
    def infer(self, x: Tensor, *, trace: bool = False) -> Inference:
        settled = self.model.settle(x)
        code = settled.codes[0]
        updates = [
            LocalUpdate(inputs - a @ V.T, a)
            for inputs, a, V in zip(settled.inputs, settled.codes, self.model.V, strict=True)
        ]
        energy = ()
        if trace:
            swept = self.model.settle(x, config=self.swept, trace=True).trace
            energy = (0.5 * x.square().sum(1), *swept.energy)  # from F at a = 0
        return Inference(
            code=code, gain=code, slope=torch.ones_like(code), updates=updates, energy=energy
        )

    def columns(self) -> list[Tensor]:
        return [self.model.V[0], self.model.U[0]]

    def train_as_tested(self) -> None:
        """It settles alike everywhere."""

    @torch.no_grad()
    def read(self, x: Tensor) -> tuple[Tensor, Tensor]:
        settled = self.model.settle(x)
        return self.model.reconstruct(settled), self.model.decode(settled.codes[-1])


class Autoencoder:
    """x_hat = G f(D x), trained by back-propagation."""

    learns, composes = True, False

    def __init__(self, n_inputs: int, units: int, *, activation: str, seed: int) -> None:
        self.model = _Net(n_inputs, units, activation, seed)

    def learner(self, lr: float) -> Learner:
        return GradientLearner(self.model, lr=lr, weight_decay=0.0)

    @torch.no_grad()
    def infer(self, x: Tensor, *, trace: bool = False) -> Inference:
        net = self.model
        code = x @ net.encoder.T
        gain, slope = net.f(code), net.slope(code)
        missed = x - gain @ net.decoder.T
        updates = [LocalUpdate(missed, gain), LocalUpdate(slope * (missed @ net.decoder), x)]
        return Inference(code=code, gain=gain, slope=slope, updates=updates)

    def columns(self) -> list[Tensor]:
        return [self.model.decoder.detach()]

    def train_as_tested(self) -> None:
        """It infers nothing."""

    @torch.no_grad()
    def read(self, x: Tensor) -> tuple[Tensor, Tensor]:
        seen = self.infer(x).gain @ self.model.decoder.T
        return seen, seen  # its only level is the top one


class _Net(nn.Module):
    def __init__(self, n_inputs: int, units: int, activation: str, seed: int) -> None:
        super().__init__()
        rng = torch.Generator().manual_seed(seed)
        self.f, self.slope = ACTIVATIONS[activation]
        self.encoder, self.decoder = (
            nn.Parameter((2 * torch.rand(rows, columns, generator=rng) - 1) / columns**0.5)
            for rows, columns in ((units, n_inputs), (n_inputs, units))
        )

    def loss(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        return 0.5 * (x - self.f(x @ self.encoder.T) @ self.decoder.T).square().sum(1).mean()


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Sizes and settings, shared by all models as far as they apply.

    Parameters
    ----------
    units
        Of the two levels above the data.
    interface
        The width m of the VN's lower layer.
    sparsity
        Lambda of the VN's layers.
    prior
        Weight of sparse PC's prior.
    feedback
        Beta.
    discriminative
        Weight alpha_D of bPC.
    revive_after
        Updates after which "vn_revived" draws an unused atom anew.
    steps
        Of PC's inference, in training and at test.
    settle
        Fields of the VN's `SettleConfig`.
    """

    n_inputs: int
    units: tuple[int, int]
    interface: int
    sparsity: tuple[float, float]
    prior: float
    feedback: float
    discriminative: float
    revive_after: int
    steps: tuple[int, int]
    settle: Mapping[str, Any] = field(default_factory=dict)


MODELS = (
    "pc",
    "bpc",
    "vn",
    "pc_sparse",
    "vn_dense",
    "vn_revived",
    "autoencoder",
    "linear",
    "vn_untrained",
    "vn_random",
)


def build(name: str, sizes: Sizes, samples: Float[Tensor, "samples d"], *, seed: int) -> Model:
    """The model `name`, its weights fixed by `seed`.

    They begin by chance, those of "vn_untrained" as `samples`.

    It is made on the CPU, so that it begins alike everywhere, and moved to where `samples` are.
    """
    checks.choice("name", name, MODELS)
    one = _made(name, sizes, samples.cpu(), seed)
    one.model.to(samples.device)
    return one


def _made(name: str, sizes: Sizes, samples: Tensor, seed: int) -> Model:
    levels = (sizes.n_inputs, *sizes.units)
    if name in ("autoencoder", "linear"):
        activation = "tanh" if name == "autoencoder" else "identity"
        return Autoencoder(*levels[:2], activation=activation, seed=seed)
    options = {
        "pc": {},
        "bpc": {"discriminative": sizes.discriminative},
        "pc_sparse": {"sparsity": sizes.prior},
    }
    if name in options:
        return PC(levels, seed=seed, steps=tuple(sizes.steps), **options[name])
    config = VNConfig(
        n_inputs=sizes.n_inputs,
        atoms=tuple(sizes.units),
        interface=(sizes.interface,),
        feedback=sizes.feedback,
        sparsity=(0.0, 0.0) if name == "vn_dense" else tuple(sizes.sparsity),
        settle=SettleConfig(**sizes.settle),
    )
    return VN(
        config,
        samples if name == "vn_untrained" else None,
        learns=name not in ("vn_untrained", "vn_random"),
        revive_after=sizes.revive_after if name == "vn_revived" else None,
        seed=seed,
        sweeps=sizes.steps[1],
    )
