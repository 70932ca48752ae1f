"""Numbers that describe dictionaries and codes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def coherence(V: Float[Tensor, "d atoms"]) -> float:
    """mu(V): the largest `|cosine|` between two different atoms (VN Thm. 1).

    Needs at least two atoms.
    """
    if V.shape[1] < 2:
        raise ValueError(f"coherence needs at least 2 atoms, got {V.shape[1]}")
    unit = V / V.norm(dim=0).clamp_min(1e-12)
    gram = (unit.T @ unit).abs()
    return float(gram.fill_diagonal_(0).max())


def operator_rank(W: Float[Tensor, "batch m d"], *, rtol: float = 1e-5) -> Int[Tensor, " batch"]:
    """Numerical rank of each operator: singular values above rtol times the largest."""
    s = torch.linalg.svdvals(W.double())
    return (s > rtol * s[:, :1].clamp_min(1e-300)).sum(1)


def jaccard(
    a: Bool[Tensor, "*rows atoms"], b: Bool[Tensor, "*rows atoms"]
) -> Float[Tensor, "*rows"]:
    """Overlap of two supports, `|a and b|` / `|a or b|`; 1 for two empty ones."""
    either = (a | b).sum(-1)
    return torch.where(either > 0, (a & b).sum(-1) / either.clamp_min(1), 1.0)


def relative_distance(
    codes: Sequence[Float[Tensor, "batch _atoms"]], other: Sequence[Float[Tensor, "batch _atoms"]]
) -> Float[Tensor, " batch"]:
    """`|a - b|` / `|b|` of the codes of all layers, joined."""
    a, b = torch.cat(list(codes), 1), torch.cat(list(other), 1)
    return (a - b).norm(dim=1) / b.norm(dim=1).clamp_min(1e-12)
