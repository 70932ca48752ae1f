"""Slow learning: Atomic-Hebb, the subspace rule for U, and Adam on the selected atoms (VN Sec. 3.4, App. D)."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vnlib import checks

INTERFACE_RULES = ("subspace", "frozen", "atomic_hebb")


def atomic_hebb(residual: Float[Tensor, "batch d"], code: Float[Tensor, "batch atoms"]) -> Float[Tensor, "d atoms"]:
    """<e a'>_B: residual times coefficient, averaged over the batch (VN Eq. 9).

    It is minus the gradient of the settled energy with respect to the dictionary (VN Thm. 2), and exactly zero in
    the columns of atoms that no sample uses.
    """
    return residual.T @ code / len(code)


def subspace_rule(U: Float[Tensor, "m atoms"], code: Float[Tensor, "batch atoms"]) -> Float[Tensor, "m atoms"]:
    """<h e_a'>_B with h = U a, e_a = a - s U'h, s = min(1, m / K): messages from which the code can be read back.

    Our addition: the literal rule of VN Eq. 9 drives U towards messages that are easy to predict, and silence is
    the easiest. This one is Oja's subspace rule with V's roles exchanged.
    """
    scale = min(1.0, U.shape[0] / U.shape[1])
    sent = code @ U.T
    return sent.T @ (code - scale * sent @ U) / len(code)


def unit_columns(W: Float[Tensor, "d atoms"]) -> Float[Tensor, "d atoms"]:
    """W with every column divided by its l2 norm (VN App. D)."""
    return W / W.norm(dim=0, keepdim=True).clamp_min(1e-12)


class MaskedAdam:
    """Adam, column by column: an atom that no sample of the batch used is not touched, nor is its history.

    Plain Adam would go on moving an inactive atom by its stale momentum, against VN Sec. 3.4. Every column counts
    its own steps for the bias correction.
    """

    def __init__(self, W: Float[Tensor, "d atoms"], *, betas: tuple[float, float] = (0.9, 0.99)) -> None:
        for name, beta in zip(("betas[0]", "betas[1]"), betas, strict=True):
            checks.number(name, beta, low=0, high=0.999999)
        self.betas = betas
        self.first, self.second = torch.zeros_like(W), torch.zeros_like(W)
        self.steps = torch.zeros(W.shape[1], dtype=W.dtype, device=W.device)

    @torch.no_grad()
    def ascend(
        self,
        W: Float[Tensor, "d atoms"],
        direction: Float[Tensor, "d atoms"],
        active: Bool[Tensor, " atoms"],
        lr: float,
        *,
        unit_norm: bool = True,
    ) -> None:
        """Move the active columns of W along `direction`, in place, and bring them back to unit norm."""
        columns = active.nonzero().squeeze(1)
        g, (b1, b2) = direction[:, columns], self.betas
        self.steps[columns] += 1
        m = b1 * self.first[:, columns] + (1 - b1) * g
        v = b2 * self.second[:, columns] + (1 - b2) * g.square()
        self.first[:, columns], self.second[:, columns] = m, v
        n = self.steps[columns]
        moved = W[:, columns] + lr * (m / (1 - b1**n)) / ((v / (1 - b2**n)).sqrt() + 1e-8)
        W[:, columns] = unit_columns(moved) if unit_norm else moved

    def state(self) -> dict[str, Tensor]:
        """The tensors that a checkpoint must hold (live references)."""
        return {"first": self.first, "second": self.second, "steps": self.steps}
