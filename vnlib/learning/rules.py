"""Slow learning: directions, what keeps a dictionary in shape, and steps (VN App. D).

A step is a small object with the same members as its sibling: `ascend(W, direction, active, lr)`
moves the active columns of W in place, to unit norm where it is asked for, `forget(columns)` drops
what it remembers of them, `state()` is what a checkpoint must hold (live references).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

INTERFACE_RULES = ("subspace", "frozen", "atomic_hebb")


def atomic_hebb(
    residual: Float[Tensor, "... batch d"], code: Float[Tensor, "... batch atoms"]
) -> Float[Tensor, "... d atoms"]:
    """<e a'>_B: residual times coefficient, averaged over the batch (VN Eq. 9).

    It is minus the gradient of the settled energy with respect to the dictionary (VN Thm. 2), and
    exactly zero in the columns of atoms that no sample uses.
    """
    return residual.mT @ code / code.shape[-2]


def subspace_rule(
    U: Float[Tensor, "... m atoms"], code: Float[Tensor, "... batch atoms"]
) -> Float[Tensor, "... m atoms"]:
    """<h e_a'>_B with h = U a, e_a = a - s U'h, s = min(1, m / K), from which the code can be read.

    Our addition: the literal rule of VN Eq. 9 drives U towards messages that are easy to predict,
    and silence is the easiest. This one is Oja's subspace rule with V's roles exchanged.
    """
    scale = min(1.0, U.shape[-2] / U.shape[-1])
    sent = code @ U.mT
    return sent.mT @ (code - scale * sent @ U) / code.shape[-2]


# --- what keeps a dictionary in shape ---


def unit_columns(W: Float[Tensor, "... d atoms"]) -> Float[Tensor, "... d atoms"]:
    """W with every column divided by its l2 norm (VN App. D)."""
    return W / W.norm(dim=-2, keepdim=True).clamp_min(1e-12)


def remove_dc(W: Float[Tensor, "d atoms"]) -> Float[Tensor, "d atoms"]:
    """W with the mean of every column taken off; meant for pixels (VN App. D)."""
    return W - W.mean(dim=0, keepdim=True)


def decorrelate(W: Float[Tensor, "d atoms"], strength: float) -> Float[Tensor, "d atoms"]:
    """One step against the overlaps of the atoms: W - strength * W (G - diag G) / `|G|`, G = W'W.

    The paper names a decorrelation step and does not give it; this one is chosen: gradient descent
    on 1/4 sum_{i != j} (w_i . w_j)^2. `|G|` is its largest absolute row sum, which bounds its
    spectral norm: strength 1 is a safe step however coherent the atoms are.
    """
    gram = W.T @ W
    size = gram.abs().sum(0).max().clamp_min(1e-12)
    return W - strength * (W @ gram.fill_diagonal_(0)) / size


def tight_frame(
    W: Float[Tensor, "m atoms"], *, tol: float = 1e-4, rounds: int = 500
) -> Float[Tensor, "m atoms"]:
    """A unit-norm frame near W, m <= K, with W W' = (K / m) I to within `tol`, relatively.

    Every direction of the message has as much room. Alternates between the nearest tight frame and
    unit columns.
    """
    m, K = W.shape
    frame = unit_columns(W.double())
    for _ in range(rounds):
        values, vectors = torch.linalg.eigh(frame @ frame.T)
        if (values * m / K - 1).abs().max() <= tol:
            break
        frame = unit_columns((vectors * values.clamp_min(1e-12).rsqrt()) @ (vectors.T @ frame))
    return frame.to(W.dtype)


# --- steps on the selected atoms ---


def _on_columns(
    active: Bool[Tensor, "... atoms"],
    update: Callable[..., None],
    direction: Float[Tensor, "... d atoms"],
    *changed: Float[Tensor, "*_d atoms"],
) -> None:
    """`update(active, direction, *changed)`, which changes tensors in place where columns are
    active, given all columns, or only the active ones where few are: gathering costs as much as
    half of the update, and on a GPU a wait. Replicas have other ones each.
    """
    if direction.device.type != "cpu" or active.ndim > 1 or 2 * int(active.sum()) > len(active):
        return update(active, direction, *changed)
    columns = active.nonzero().squeeze(1)
    active, direction, *parts = (t.index_select(-1, columns) for t in (active, direction, *changed))
    update(active, direction, *parts)
    for whole, part in zip(changed, parts, strict=True):
        whole.index_copy_(-1, columns, part)


def _write(W: Tensor, moved: Tensor, active: Tensor, unit_norm: bool) -> None:
    """Put the active columns of `moved` into W."""
    W.copy_(torch.where(active[..., None, :], unit_columns(moved) if unit_norm else moved, W))


def _unbiased(b: float, n: Tensor, active: Tensor) -> Tensor:
    """1 - b^n where active. On the CPU these stand by themselves: the last bit of a power depends
    on its place in a vector, and results should not on who rests.
    """
    if n.device.type != "cpu":
        return 1 - b ** n.clamp_min(1)
    found = torch.ones_like(n)
    found[active] = 1 - b ** n[active]
    return found


class MaskedSGD:
    """The plain step W + lr * direction on the active columns; it remembers nothing."""

    def __init__(self, W: Float[Tensor, "... d atoms"]) -> None:
        self.kept: dict[str, Tensor] = {}

    @torch.no_grad()
    def ascend(
        self,
        W: Float[Tensor, "... d atoms"],
        direction: Float[Tensor, "... d atoms"],
        active: Bool[Tensor, "... atoms"],
        lr: float | Tensor,
        *,
        unit_norm: bool = True,
    ) -> None:
        def update(active: Tensor, direction: Tensor, W: Tensor, *kept: Tensor) -> None:
            _write(W, W + self._change(lr, active, direction, *kept), active, unit_norm)

        _on_columns(active, update, direction, W, *self.kept.values())

    def _change(self, lr: Any, active: Tensor, direction: Tensor, *kept: Tensor) -> Tensor:
        return lr * direction

    def forget(self, columns: Int[Tensor, " some"]) -> None:
        for tensor in self.kept.values():
            tensor[..., columns] = 0

    def state(self) -> dict[str, Tensor]:
        return self.kept


class MaskedAdam(MaskedSGD):
    """Adam, column by column: neither an inactive atom nor its history is touched.

    Plain Adam would go on moving it by its stale momentum, against VN Sec. 3.4. Every column counts
    its own steps for the bias correction.
    """

    betas = (0.9, 0.99)

    def __init__(self, W: Float[Tensor, "... d atoms"]) -> None:
        moments = {name: torch.zeros_like(W) for name in ("first", "second")}
        self.kept = {**moments, "steps": torch.zeros_like(W[..., 0, :])}

    def _change(self, lr: Any, active: Tensor, direction: Tensor, *kept: Tensor) -> Tensor:
        (m, v, n), (b1, b2) = kept, self.betas
        n += active
        moves = active.to(direction.dtype)[..., None, :]
        for moment, new, b in ((m, direction, b1), (v, direction.square(), b2)):
            moment.mul_(1 - (1 - b) * moves).add_(new * ((1 - b) * moves))
        size = (v / _unbiased(b2, n, active)[..., None, :]).sqrt_().add_(1e-8)
        return (m / _unbiased(b1, n, active)[..., None, :]).mul_(lr).div_(size)


OPTIMIZERS = {"adam": MaskedAdam, "sgd": MaskedSGD}
