"""Inference from a partly observed signal, with frozen dictionaries (VN App. G.4, Eq. 39, Alg. 1).

With m = 1 where x is observed and 0 where it is hidden, the masked problem of one layer is ::

    min_a 1/2 |m * (x - V a)|^2 + penalty(a)                                            (Eq. 39)

and in a deeper network the joint energy with this first residual. `masked_settle` solves it
directly. `impute` is the paper's way around the ordinary inference: fill the hidden entries by the
reconstruction, infer, and repeat. Each round minimises a majoriser of the masked objective that
touches it at the last code, so the objective does not rise where the inference converges, and the
limit is the solution of Eq. 39; the paper's five rounds stop on the way to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from vnlib import checks
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, Settled, joint_energy


@dataclass(frozen=True)
class Imputed:
    """The codes of the last round, the signal with its hidden entries filled in, and the way there:
    the masked objective (Eq. 39) after each round, and the norm of what it changed in the signal.
    """

    settled: Settled
    completed: Float[Tensor, "batch d"]
    objective: Float[Tensor, "steps batch"]
    change: Float[Tensor, "steps batch"]


@torch.no_grad()
def impute(
    network: VectorNetwork,
    x: Float[Tensor, "batch d"],
    mask: Shaped[Tensor, "batch d"],
    steps: int = 5,
    *,
    warm: bool = False,
    config: SettleConfig | None = None,
) -> Imputed:
    """`steps` rounds of z = m x + (1 - m) V a, a = settle(z), from a = 0 (VN Alg. 1). ValueError for
    a mask of another shape or with other values, steps < 1, and what the settle refuses.

    Parameters
    ----------
    mask
        1 or True where x is observed; hidden entries of x are not looked at and may be NaN.
    warm
        Each round goes on from the codes of the last instead of zero.
    config
        How to settle, None for the network's own.
    """
    checks.number("steps", steps, low=1, integer=True)
    z, seen = observed(x, mask)
    settler, codes, objective, change = network.settler(config), None, [], []
    for _ in range(steps):
        settled = settler(z, codes)
        codes = settled.codes if warm else None
        filled = torch.where(seen > 0, z, network.reconstruct(settled))
        about = (settler.feedback, settler.activation, seen)
        objective.append(joint_energy(settler.layers, settled.codes, z, *about))
        change.append((filled - z).norm(dim=1))
        z = filled
    return Imputed(settled, z, torch.stack(objective), torch.stack(change))


def masked_settle(
    network: VectorNetwork,
    x: Float[Tensor, "batch d"],
    mask: Shaped[Tensor, "batch d"],
    *,
    config: SettleConfig | None = None,
    trace: bool = False,
) -> Settled:
    """The codes that solve the masked problem itself (VN Eq. 39).

    Arguments and errors as for `impute`; `network.reconstruct` of the result fills hidden entries.
    """
    x, seen = observed(x, mask)
    return network.settle(x, config=config, trace=trace, mask=seen)


def observed(
    x: Float[Tensor, "batch d"], mask: Shaped[Tensor, "batch d"]
) -> tuple[Float[Tensor, "batch d"], Float[Tensor, "batch d"]]:
    """m x, whatever x holds at hidden entries, and m as numbers of the type of x."""
    if not isinstance(mask, Tensor) or mask.shape != x.shape:
        got = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
        raise ValueError(f"mask must be a tensor of the shape of x, {tuple(x.shape)}, got {got}")
    wrong = mask[(mask != 0) & (mask != 1)]
    if len(wrong):
        raise ValueError(
            f"mask must hold only 1 (observed) and 0 (hidden), got {wrong[0].item():g}"
        )
    return torch.where(mask.bool(), x, 0), mask.to(x.dtype)
