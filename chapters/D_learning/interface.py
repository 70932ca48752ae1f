"""How the interface dictionary U learns (VN Eq. 9 against the subspace rule), and in what units
sparsity is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from chapters.D_learning.measure import dataset, practise, start, trained
from vnlib import seeding
from vnlib.learning.learner import LocalLearner, directions
from vnlib.learning.rules import MaskedAdam, atomic_hebb, subspace_rule
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

# What U does: the rule, and whether a dictionary of its own reads the target.
RULES = {
    "subspace": {"interface_rule": "subspace"},
    "frozen": {"interface_rule": "frozen"},
    "literal": {"interface_rule": "atomic_hebb"},
    "untied": {"interface_rule": "subspace", "untied": True},
}
EXACT = SettleConfig(max_sweeps=1000, tol=1e-6)  # of the fall of F per sweep: a cap has no gap


def effective_rank(W: Float[Tensor, "m atoms"]) -> float:
    """exp of the entropy of the normalised singular values (Roy and Vetterli 2007): 1 for one
    direction, m at most.
    """
    p = torch.linalg.svdvals(W.double())
    p = p / p.sum()
    return float(torch.exp(-(p * p.clamp_min(1e-300).log()).sum()))


def captured(U: Float[Tensor, "m atoms"], code: Float[Tensor, "batch atoms"]) -> float:
    """Share of the code's power in the row space of U: what a linear reader of the message can get
    back at best.
    """
    _, size, rows = torch.linalg.svd(U.double(), full_matrices=False)
    rows = rows[size > 1e-5 * size[0]]
    return float((code.double() @ rows.T).square().sum() / code.double().square().sum())


def readback(U: Float[Tensor, "m atoms"], code: Float[Tensor, "batch atoms"]) -> float:
    """C = <1/2 `|a - s U'U a|^2>`, s = min(1, m / K): what the subspace rule serves."""
    scale = min(1.0, U.shape[0] / U.shape[1])
    return float(0.5 * (code - scale * code @ U.T @ U).square().sum(1).mean())


def agreement(network: VectorNetwork, codes: Sequence[Float[Tensor, "batch _atoms"]]) -> float:
    """Cosine of the literal and the subspace direction of U_1, without the parts along the columns
    themselves.
    """
    U = network.U[0]
    literal = atomic_hebb(codes[1] @ network.V[1].T - codes[0] @ U.T, codes[0])
    free = [W - U * (U * W).sum(0) for W in (literal, subspace_rule(U, codes[0]))]
    return float((free[0] * free[1]).sum() / (free[0].norm() * free[1].norm()).clamp_min(1e-12))


@torch.no_grad()
def state(network: VectorNetwork, x: Float[Tensor, "digits d"]) -> dict[str, float]:
    """Both readings of a network on inputs, the energy F, and how much of layer 1's code its
    messages hold.
    """
    settled = network.settle(x, config=EXACT)
    codes, inputs, U = settled.codes, settled.inputs, network.U[0]
    left = inputs[1] - codes[1] @ network.V[1].T
    return {
        "energy": float(settled.energy.mean()),
        "readback": readback(U, codes[0]),
        "mse": float((network.reconstruct(settled) - x).square().mean()),
        "mse_from_top": float((network.decode(settled.codes[-1]) - x).square().mean()),
        "rank": effective_rank(U),
        "captured": captured(U, codes[0]),
        "explained_above": float(
            1 - left.square().sum() / inputs[1].square().sum().clamp_min(1e-12)
        ),
        "message": float(inputs[1].square().sum(1).mean().sqrt()),
        "active": float((codes[0] != 0).float().sum(1).mean()),
        "active_above": float((codes[1] != 0).float().sum(1).mean()),
        "agreement": agreement(network, codes),
    }


def silence(network: VectorNetwork, *, seed: int) -> VectorNetwork:
    """A copy whose messages are nearly empty: every column of U_1 is the same direction, with a
    sign by chance.
    """
    m, K = network.U[0].shape
    rng = seeding.generator(seed, "silence")
    direction = torch.randn(m, 1, generator=rng)
    signs = torch.where(torch.rand(1, K, generator=rng) < 0.5, -1.0, 1.0)
    copy = VectorNetwork(network.config, seed=0).to(network.U[0])
    copy.load_state_dict(network.state_dict())
    copy.U[0].copy_((direction / direction.norm() * signs).to(network.U[0]))
    return copy


def interfaces(
    config: VNConfig,
    train: Float[Tensor, "samples d"],
    test: Float[Tensor, "digits d"],
    *,
    stages: Sequence[int],
    batch_size: int,
    lr: float,
    interface_lr: float,
    seed: int,
) -> xr.Dataset:
    """`state` on test samples after each of the `stages` (updates), for every rule in RULES.

    A last one, "silent", is the frozen network after training with the U_1 of `silence`: set by
    hand, not learned.
    """
    rules = [*RULES, "silent"]
    found: dict[str, np.ndarray] = {}

    def note(rule: str, stage: int, network: VectorNetwork) -> None:
        for name, value in state(network, test).items():
            table = found.setdefault(name, np.full((len(rules), len(stages)), np.nan))
            table[rules.index(rule), stages.index(stage)] = value

    for rule, options in RULES.items():
        network = start(replace(config, **options), train, seed=seed)
        learner = LocalLearner(network, lr=lr, interface_lr=interface_lr)

        def after(step: int, rule: str = rule, network: VectorNetwork = network) -> None:
            if step in stages:
                note(rule, step, network)

        after(0)
        practise(learner, train, steps=max(stages), batch_size=batch_size, seed=seed, after=after)
        if rule == "frozen":
            note("silent", max(stages), silence(network, seed=seed))
    values = {f"interface_{name}": (("rule", "stage"), value) for name, value in found.items()}
    values["mse_zero"] = ((), float(test.square().mean()))
    return dataset(values, {"rule": rules, "stage": list(stages)})


def two_objectives(
    config: VNConfig,
    train: Float[Tensor, "samples d"],
    *,
    before: int,
    steps: int,
    batch_size: int,
    lr: float,
    interface_lr: float,
    seed: int,
) -> xr.Dataset:
    """Relative change of F and of C on training samples when one dictionary learns and the others
    rest.

    All three start from the same network, which has learned its V for `before` updates.
    """
    resting = replace(config, interface_rule="frozen")
    learning = {"batch_size": batch_size, "lr": lr, "seed": seed}
    network = trained(resting, train, steps=before, **learning)
    watched = train[:batch_size]
    moves = {
        "V": ("V", "subspace"),
        "U, subspace": ("U", "subspace"),
        "U, literal": ("U", "atomic_hebb"),
    }
    changes = []
    for kind, rule in moves.values():
        moved = VectorNetwork(replace(config, interface_rule=rule), seed=seed).to(train.device)
        moved.load_state_dict(network.state_dict())
        then = state(moved, watched)
        adams = [MaskedAdam(W) for W in getattr(moved, kind)]
        for step in range(steps):
            rows = torch.randperm(len(train), generator=seeding.generator(seed, "move", step))[
                :batch_size
            ]
            settled = moved.settle(train[rows.to(train.device)])
            for index, (W, adam) in enumerate(zip(getattr(moved, kind), adams, strict=True)):
                used = (settled.codes[index] != 0).any(0)
                adam.ascend(
                    W,
                    directions(moved, settled)[index][kind],
                    used,
                    lr if kind == "V" else interface_lr,
                )
        now = state(moved, watched)
        changes.append([now[name] / then[name] - 1 for name in ("energy", "readback")])
    return dataset(
        {"objective_change": (("moved", "objective"), changes)},
        {"moved": list(moves), "objective": ["F", "C"]},
    )


def units_of_sparsity(
    config: VNConfig,
    train: Float[Tensor, "samples d"],
    test: Float[Tensor, "digits d"],
    *,
    sparsity: Mapping[str, Sequence[float]],
    contrasts: Sequence[float],
    steps: int,
    batch_size: int,
    lr: float,
    interface_lr: float,
    seed: int,
) -> xr.Dataset:
    """Active atoms per layer with "absolute" and "relative" sparsity, on data of several contrasts.

    A network is started, trained and tested on data multiplied by the contrast. `scale` is the
    r.m.s. norm of a layer's input, in units of the contrast.
    """
    layers = len(config.atoms)
    active, scale = (np.zeros((2, len(contrasts), layers)) for _ in range(2))
    kinds = ("absolute", "relative")
    for i, kind in enumerate(kinds):
        chosen = replace(
            config, sparsity=tuple(sparsity[kind]), relative_sparsity=kind == "relative"
        )
        for j, contrast in enumerate(contrasts):
            try:
                network = start(chosen, contrast * train, seed=seed)
            except ValueError:  # a layer below sends nothing: no sample to start from
                network = start(chosen, contrast * train, seed=seed, from_samples=False)
            learner = LocalLearner(network, lr=lr, interface_lr=interface_lr)
            practise(learner, contrast * train, steps=steps, batch_size=batch_size, seed=seed)
            settled = network.settle(contrast * test)
            active[i, j] = [float((code != 0).float().sum(1).mean()) for code in settled.codes]
            scale[i, j] = [
                float(h.square().sum(1).mean().sqrt()) / contrast for h in settled.inputs
            ]
    dims = ("sparsity_in", "contrast", "layer")
    coords = {
        "sparsity_in": list(kinds),
        "contrast": list(contrasts),
        "layer": range(1, layers + 1),
    }
    return dataset({"units_active": (dims, active), "units_scale": (dims, scale)}, coords)
