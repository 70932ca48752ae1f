"""Numbers that describe dictionaries, codes and errors: functions on arrays."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor


def coherence(V: Float[Tensor, "d atoms"]) -> float:
    """mu(V): the largest |cosine| between two different atoms (VN Thm. 1). Needs at least two atoms."""
    if V.shape[1] < 2:
        raise ValueError(f"coherence needs at least 2 atoms, got {V.shape[1]}")
    unit = V / V.norm(dim=0).clamp_min(1e-12)
    gram = (unit.T @ unit).abs()
    return float(gram.fill_diagonal_(0).max())


def operator_rank(W: Float[Tensor, "batch m d"], *, rtol: float = 1e-5) -> Int[Tensor, " batch"]:
    """Numerical rank of each operator: singular values above rtol times the largest."""
    s = torch.linalg.svdvals(W.double())
    return (s > rtol * s[:, :1].clamp_min(1e-300)).sum(1)


def jaccard(a: Bool[Tensor, "batch atoms"], b: Bool[Tensor, "batch atoms"]) -> Float[Tensor, " batch"]:
    """Overlap of two supports, |a and b| / |a or b|; 1 for two empty ones."""
    both, either = (a & b).sum(1), (a | b).sum(1)
    return torch.where(either > 0, both / either.clamp_min(1), torch.ones_like(both, dtype=torch.float))


def peak_distance(
    images: Float[np.ndarray, "batch y x"], x: Real[np.ndarray, " batch"], y: Real[np.ndarray, " batch"]
) -> Real[np.ndarray, " batch"]:
    """Distance in pixels between each image's brightest pixel and (x, y), the larger of the two axes."""
    rows, columns = np.unravel_index(images.reshape(len(images), -1).argmax(1), images.shape[1:])
    return np.maximum(abs(columns - x), abs(rows - y))
