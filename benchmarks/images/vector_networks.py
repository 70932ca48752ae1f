"""Vector Networks of images, trained by the local rules (VN Sec. 4.4, Fig. 5; App. I)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from benchmarks.images.pictures import Draw, Images, Trained
from vnlib import checks
from vnlib.fit import Training, fit
from vnlib.layer import reconstruct
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, Settled

FIRST = 8000  # training images that a network's atoms are drawn from
WATCHED = 250  # validation images of an evaluation in training
BATCH = 500  # images of one settle


def vector_network(
    train: Images, validation: Images, training: Training, **options: Any
) -> Trained:
    """A Vector Network, trained as by `train_network`, whose options these are.

    Readings: "own" is V_1 a_1 after the settle, and, with more than one layer, "top" is what the
    code of the top layer alone says, each code below read back from its message
    (`VectorNetwork.decode`).
    """
    network, curve = train_network(train, validation, training, **options)
    return of_network(network, validation, curve=curve)


def train_network(
    train: Images,
    validation: Images,
    training: Training,
    *,
    atoms: Sequence[int],
    sparsity: Sequence[float],
    factor: float = 1.0,
    interface: Sequence[int] = (),
    feedback: float = 0.1,
    top_k: int | None = None,
    interface_rule: str = "subspace",
    interface_lr: float = 3e-3,
    revive_after: int | None = 64,
    sweeps: int = 20,
    test_sweeps: int = 150,
    evaluations: int = 5,
) -> tuple[VectorNetwork, list[float]]:
    """A trained network and its validation error, per pixel, at about so many `evaluations`.

    It starts from training images. With zero steps these, normalised, are its atoms.

    The last step is kept: lambda is relative to messages that grow, so that errors of different
    steps are not errors of one problem. An evaluation is of the first `WATCHED` validation images.

    Parameters
    ----------
    atoms
        Per layer.
    sparsity
        Lambda of each layer relative to the r.m.s. norm of its input, all multiplied by `factor`.
    interface
        The widths of messages, one less than layers.
    feedback
        Beta.
    top_k
        The most active atoms of the top layer.
    interface_rule, interface_lr
        How and how fast U learns.
    revive_after
        Steps without use after which an atom is drawn anew, None for never.
    sweeps
        Of a settle in training.
    test_sweeps
        Of any other, at most. One layer is settled exactly, whatever these say.

    Raises
    ------
    ValueError
        For what does not fit together.
    """
    checks.number("factor", factor, above=0)
    checks.number("evaluations", evaluations, low=1, integer=True)
    if not isinstance(sparsity, (list, tuple)):
        raise ValueError(f"sparsity must be a list with one number per layer, got {sparsity!r}")
    settle = SettleConfig.deep(max_sweeps=test_sweeps)
    quick = SettleConfig.training(max_sweeps=sweeps)
    if len(atoms) == 1 and top_k is None:
        settle = quick = SettleConfig.exact()
    network = VectorNetwork.for_data(
        train[:FIRST],
        atoms=tuple(atoms),
        sparsity=tuple(factor * rho for rho in sparsity),
        interface=tuple(interface),
        feedback=feedback,
        top_k=top_k,
        interface_rule=interface_rule,
        settle=settle,
        seed=training.seed,
    )
    watched = validation[:WATCHED]

    def error() -> float:
        return float((network.reconstruct(network.settle(watched)) - watched).square().mean())

    if not training.steps:
        return network, []
    learner = LocalLearner(
        network,
        lr=training.lr,
        interface_lr=interface_lr,
        settle=quick,
        revive_after=revive_after,
    )
    plan = training.config(evaluations, keep="last")
    return network, fit(learner, (train,), plan, seed=training.seed, validate=error).validation


def of_network(
    network: VectorNetwork, validation: Images, *, curve: Sequence[float] = ()
) -> Trained:
    """A Vector Network as it is.

    Images are settled once for all readings: those drawn last are remembered. Facts, on the
    validation images, with layers counted from 1: parameters; `converged`, the share of settles
    that ended before their last sweep; per layer `used`, atoms that any image uses, `active`,
    nonzero units per image, `explained`, the share of the layer's input that V_l a_l draws, and
    `carried`, the share of the code's power that its message can carry (in the rows of U).
    """
    settle = Remembered(network)
    readings: dict[str, Draw] = {"own": lambda x: network.reconstruct(settle(x))}
    if len(network.V) > 1:
        readings["top"] = lambda x: _from_top(network, settle(x))
    return Trained(
        readings=readings,
        active=lambda x: active_units(settle(x)),
        curve=curve,
        facts=facts_of(network, settle(validation)),
    )


class Remembered:
    """The settle of a network, which does not settle the images of the last call again."""

    def __init__(self, network: VectorNetwork) -> None:
        self.network, self.last = network, None

    def __call__(self, x: Images) -> Settled:
        if self.last is None or self.last[0].shape != x.shape or not torch.equal(self.last[0], x):
            self.last = (x.clone(), settle_in_batches(self.network, x))
        return self.last[1]


def settle_in_batches(network: VectorNetwork, x: Images, *, batch: int = BATCH) -> Settled:
    """The settle of many images, `batch` at a time: the same codes, since every image stops by
    itself.
    """
    parts = [network.settle(some) for some in x.split(batch)]

    def layers(name: str) -> tuple[Tensor, ...]:
        return tuple(
            torch.cat(layer) for layer in zip(*(getattr(part, name) for part in parts), strict=True)
        )

    def joined(name: str) -> Tensor:
        return torch.cat([getattr(part, name) for part in parts])

    return Settled(
        layers("codes"),
        layers("inputs"),
        joined("energy"),
        joined("sweeps"),
        joined("converged"),
        parts[0].criterion,
    )


def active_units(settled: Settled) -> Int[Tensor, "layers batch"]:
    """Nonzero units of each layer."""
    return torch.stack([(code != 0).sum(1) for code in settled.codes])


def _from_top(network: VectorNetwork, settled: Settled) -> Float[Tensor, "batch pixels"]:
    return torch.cat([network.decode(code) for code in settled.codes[-1].split(BATCH)])


def facts_of(network: VectorNetwork, settled: Settled) -> dict[str, float]:
    """The facts of `of_network` about settled validation images."""
    facts = {
        "parameters": float(sum(p.numel() for p in network.parameters())),
        "converged": float(settled.converged.float().mean()),
    }
    for number, (layer, code, x) in enumerate(
        zip(network.layers, settled.codes, settled.inputs, strict=True), 1
    ):
        missed = (x - reconstruct(layer, code)).square().sum()
        facts |= {
            f"used_{number}": float((code != 0).any(0).sum()),
            f"active_{number}": float((code != 0).sum(1).float().mean()),
            f"explained_{number}": float(1 - missed / x.square().sum().clamp_min(1e-12)),
        }
        if number < len(network.V):
            rows = torch.linalg.qr(layer.U.T).Q
            facts[f"carried_{number}"] = float(
                (code @ rows).square().sum() / code.square().sum().clamp_min(1e-12)
            )
    return facts
