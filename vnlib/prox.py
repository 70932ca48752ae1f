"""Penalties on a code and their proximal steps (VN Eqs. 5 and 6).

A penalty is a small frozen object with the same members as its siblings:
`value(code)` is the penalty per sample, `prox(z, step)` solves
argmin_a 1/(2 step) |a - z|^2 + value(a), `accelerable` says whether momentum may be used with it, and `soft` is the
penalty without its hard cap (itself, where there is none).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from vnlib import checks


def soft_threshold(z: Float[Tensor, "batch atoms"], tau: float) -> Float[Tensor, "batch atoms"]:
    """S_tau(z) = sign(z) max(|z| - tau, 0), elementwise (VN Eq. 5)."""
    return z - z.clamp(-tau, tau)


def keep_top_k(z: Float[Tensor, "batch atoms"], k: int) -> Float[Tensor, "batch atoms"]:
    """T_k(z): the k largest magnitudes of each row, the rest set to zero (VN Eq. 6)."""
    if k >= z.shape[1]:
        return z
    keep = z.abs().topk(k, dim=1).indices
    return torch.zeros_like(z).scatter(1, keep, z.gather(1, keep))


@runtime_checkable
class Penalty(Protocol):
    """What the settle asks of a penalty."""

    accelerable: bool

    @property
    def soft(self) -> Penalty: ...

    def value(self, code: Float[Tensor, "batch atoms"]) -> Float[Tensor, " batch"]: ...

    def prox(self, z: Float[Tensor, "batch atoms"], step: float) -> Float[Tensor, "batch atoms"]: ...


@dataclass(frozen=True, kw_only=True)
class L1:
    """sparsity * |a|_1. `sparsity` (lambda) has the units of |v_k . x|, which is what it is compared with."""

    sparsity: float
    accelerable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.number("sparsity", self.sparsity, low=0)

    @property
    def soft(self) -> L1:
        return self

    def value(self, code: Float[Tensor, "batch atoms"]) -> Float[Tensor, " batch"]:
        return self.sparsity * code.abs().sum(1)

    def prox(self, z: Float[Tensor, "batch atoms"], step: float) -> Float[Tensor, "batch atoms"]:
        return soft_threshold(z, self.sparsity * step)


@dataclass(frozen=True, kw_only=True)
class NonNegativeL1(L1):
    """sparsity * sum_k a_k on a >= 0, infinite elsewhere."""

    def prox(self, z: Float[Tensor, "batch atoms"], step: float) -> Float[Tensor, "batch atoms"]:
        return (z - self.sparsity * step).clamp_min(0)


@dataclass(frozen=True, kw_only=True)
class TopK:
    """`penalty` with at most k nonzero coefficients (VN Eq. 6); not convex, so momentum is left out."""

    penalty: L1
    k: int
    accelerable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.number("top_k", self.k, low=1, integer=True)

    @property
    def soft(self) -> L1:
        return self.penalty

    def value(self, code: Float[Tensor, "batch atoms"]) -> Float[Tensor, " batch"]:
        return self.penalty.value(code)

    def prox(self, z: Float[Tensor, "batch atoms"], step: float) -> Float[Tensor, "batch atoms"]:
        return keep_top_k(self.penalty.prox(z, step), self.k)


def make_penalty(*, sparsity: float, nonnegative: bool = False, top_k: int | None = None) -> Penalty:
    """The penalty that a network's configuration describes."""
    soft = (NonNegativeL1 if nonnegative else L1)(sparsity=sparsity)
    return soft if top_k is None else TopK(penalty=soft, k=top_k)
