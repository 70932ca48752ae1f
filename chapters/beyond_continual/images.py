"""Models of images that learn one set of images after another: Vector Networks, autoencoders, PCA
(VN Sec. 5).

All have the members of `Continual` and keep what they have, weights and the moments of their
optimisers, from one set to the next. Updates, batches and the schedule of learning rates are those
of `vnlib.fit`, begun anew with every set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.images.networks import built
from benchmarks.images.pictures import Images
from benchmarks.images.vector_networks import settle_in_batches
from vnlib import checks, seeding
from vnlib.fit import FitConfig, GradientLearner, fit
from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, Settled


class Continual(Protocol):
    """A model that learns set by set. A set is a tuple of tensors, whose rows are samples."""

    def learn(self, data: tuple[Tensor, ...], *, seed: int) -> None:
        """Learn from one set; seed: of the order of batches."""

    def error(self, data: tuple[Tensor, ...]) -> float:
        """The error on other samples, which the model does not learn from."""

    def weights(self) -> list[Float[Tensor, "units numbers"]]:
        """A copy of what is learned, in groups of units: each row is what belongs to one unit."""

    def activity(self, data: tuple[Tensor, ...]) -> list[Float[Tensor, " units"]]:
        """Mean squares of the units of the code on these samples, by layer."""

    def facts(self) -> dict[str, float]:
        """What else is known of the model: the same names at any time."""


def schedule(steps: int, batch_size: int) -> FitConfig:
    """All steps, the last of which is kept."""
    return FitConfig(steps=steps, batch_size=batch_size, keep="last")


class Network:
    """A Vector Network taught by Atomic-Hebb (VN Sec. 3.4).

    Its first atoms are images of the first set.

    Parameters
    ----------
    atoms, sparsity, interface, feedback
        As in `VectorNetwork.for_data`.
    grow
        Atoms that every set after the first adds, drawn from its images, the worse explained the
        likelier; one layer only.
    rest
        The others then learn no more.
    revive_after
        Updates without use after which an atom is drawn anew, None for never.
    gap
        Relative duality gap that codes are settled to.

    Raises
    ------
    ValueError
        For values out of range, and for grow with more than one layer or rest without grow.
    """

    def __init__(
        self,
        first: Images,
        *,
        lr: float,
        steps: int,
        batch_size: int,
        seed: int,
        atoms: Sequence[int],
        sparsity: Sequence[float],
        interface: Sequence[int] = (),
        feedback: float = 0.1,
        grow: int = 0,
        rest: bool = False,
        revive_after: int | None = None,
        gap: float = 1e-3,
    ) -> None:
        checks.number("grow", grow, low=0, integer=True)
        if grow and len(atoms) > 1:
            raise ValueError(
                f"grow must be 0 for a network of more than one layer, got {grow} with {len(atoms)}"
            )
        if rest and not grow:
            raise ValueError(
                "rest must be False where grow is 0: nothing would learn after the first set"
            )
        self.network = VectorNetwork.for_data(
            first,
            atoms=tuple(atoms),
            sparsity=tuple(sparsity),
            interface=tuple(interface),
            feedback=feedback,
            settle=SettleConfig.exact(tol=gap),
            seed=seed,
        )
        self.grow, self.rest, self.config = grow, rest, schedule(steps, batch_size)
        self.options = {"lr": lr, "revive_after": revive_after}
        self.learner, self.sets, self.revived = LocalLearner(self.network, **self.options), 0, 0.0

    def learn(self, data: tuple[Images], *, seed: int) -> None:
        if self.grow and self.sets:
            self._add(data[0], seed)
        fit(self.learner, data, self.config, seed=seed)
        self.sets += 1

    def _add(self, x: Images, seed: int) -> None:
        """Append atoms; what the optimiser remembers is dropped, except that resting atoms do not
        move at all.
        """
        old, few = self.network, x[:: max(1, len(x) // 1000)]
        missed = (few - old.reconstruct(settle_in_batches(old, few))).square().sum(1)
        rng = seeding.generator(seed, "new atoms")
        new = unit_columns(
            few[torch.multinomial(missed.cpu(), self.grow, generator=rng).to(few.device)].T
        )
        size = old.config.atoms[0]
        self.network = VectorNetwork(replace(old.config, atoms=(size + self.grow,)), seed=0).to(x)
        self.network.V[0].copy_(torch.cat([old.V[0], new], 1))
        self.network.input_scale.copy_(old.input_scale)
        self.revived += float(self.learner.revived.sum())
        kind = Resting if self.rest else LocalLearner
        self.learner = kind(
            self.network, **self.options, **({"resting": size} if self.rest else {})
        )

    def settled(self, x: Images) -> Settled:
        return settle_in_batches(self.network, x)

    def error(self, data: tuple[Images]) -> float:
        return float((self.network.reconstruct(self.settled(data[0])) - data[0]).square().mean())

    def weights(self) -> list[Tensor]:
        return [V.detach().T.clone() for V in self.network.V]

    def activity(self, data: tuple[Images]) -> list[Tensor]:
        return [code.square().mean(0) for code in self.settled(data[0]).codes]

    def facts(self) -> dict[str, float]:
        return {
            "parameters": float(sum(p.numel() for p in self.network.parameters())),
            "units": float(sum(self.network.config.atoms)),
            "revived": self.revived + float(self.learner.revived.sum()),
        }


class Resting(LocalLearner):
    """A learner whose first `resting` atoms of layer 1 do not move."""

    def __init__(self, network: VectorNetwork, *, resting: int, **options: object) -> None:
        super().__init__(network, **options)
        self.resting = resting

    @torch.no_grad()
    def update(
        self, settled: Settled, *, scale: float = 1.0, generator: torch.Generator | None = None
    ) -> None:
        kept = self.network.V[0][:, : self.resting].clone()
        super().update(settled, scale=scale, generator=generator)
        self.network.V[0][:, : self.resting] = kept


class Autoencoder:
    """An autoencoder of any form that `ImageAutoencoder` has, by back-propagation."""

    def __init__(
        self, first: Images, *, lr: float, steps: int, batch_size: int, seed: int, **options: object
    ) -> None:
        self.model = built(pixels=first.shape[1], seed=seed, **options).to(first.device)
        self.learner, self.config = GradientLearner(self.model, lr=lr), schedule(steps, batch_size)

    def learn(self, data: tuple[Images], *, seed: int) -> None:
        fit(self.learner, data, self.config, seed=seed)

    @torch.no_grad()
    def error(self, data: tuple[Images]) -> float:
        return float((self.model(data[0]) - data[0]).square().mean())

    def weights(self) -> list[Tensor]:
        """What a unit of the encoder reads, and what a unit of the decoder writes."""
        encoder, decoder = (
            [p.detach() for p in half.parameters() if p.ndim == 2]
            for half in (self.model.encoder, self.model.decoder)
        )
        return [W.clone() for W in encoder] + [W.T.clone() for W in decoder]

    @torch.no_grad()
    def activity(self, data: tuple[Images]) -> list[Tensor]:
        return [self.model.encode(data[0]).square().mean(0)]

    def facts(self) -> dict[str, float]:
        numbers = float(sum(p.numel() for p in self.model.parameters()))
        return {"parameters": numbers, "units": float(self.model.latent), "revived": 0.0}


class Pca:
    """The principal axes of the last set, or, running, of the sums over all sets so far; no
    updates.

    Raises
    ------
    ValueError
        Unless there are 1 to as many axes as pixels.
    """

    def __init__(
        self, first: Images, *, axes: int, running: bool = False, **unused: object
    ) -> None:
        checks.number("axes", axes, low=1, high=first.shape[1], integer=True)
        self.n, self.running = axes, running
        d = first.shape[1]
        # In double precision: few images leave most eigenvalues at zero.
        self.count, self.mean, self.moment, self.axes = (
            0,
            *(first.new_zeros(shape, dtype=torch.float64) for shape in ((d,), (d, d), (d, axes))),
        )

    def learn(self, data: tuple[Images], *, seed: int) -> None:
        x, kept = data[0].double(), self.count if self.running else 0
        count = kept + len(x)
        mean = (kept * self.mean + x.sum(0)) / count
        self.moment = (kept * self.moment + x.T @ x) / count
        self.count, self.mean = count, mean
        self.axes = torch.linalg.eigh(self.moment - mean[:, None] * mean).eigenvectors[:, -self.n :]

    def code(self, x: Images) -> Tensor:
        return (x.double() - self.mean) @ self.axes

    def error(self, data: tuple[Images]) -> float:
        return float((self.mean + self.code(data[0]) @ self.axes.T - data[0]).square().mean())

    def weights(self) -> list[Tensor]:
        return [self.axes.T.clone()]

    def activity(self, data: tuple[Images]) -> list[Tensor]:
        return [self.code(data[0]).square().mean(0)]

    def facts(self) -> dict[str, float]:
        return {
            "parameters": float(self.axes.numel() + self.mean.numel()),
            "units": float(self.n),
            "revived": 0.0,
        }


FAMILIES: dict[str, type[Continual]] = {"network": Network, "autoencoder": Autoencoder, "pca": Pca}
