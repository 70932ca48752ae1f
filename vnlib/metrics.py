"""Numbers that describe dictionaries, codes and errors: functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Real
from scipy.optimize import linear_sum_assignment
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


def cumulative_coherence(V: Float[Tensor, "d atoms"]) -> Float[Tensor, " others"]:
    """The Babel function (Tropp 2004): entry n - 1 is the most that n other atoms together overlap
    with one atom.

    It is at most n mu, and much less where only few pairs are close. Needs at least two atoms.
    """
    if V.shape[1] < 2:
        raise ValueError(f"cumulative_coherence needs at least 2 atoms, got {V.shape[1]}")
    unit = V / V.norm(dim=0).clamp_min(1e-12)
    overlaps = (unit.T @ unit).abs().fill_diagonal_(0).sort(dim=0, descending=True).values[:-1]
    return overlaps.cumsum(0).amax(1)


def support_recovered(
    code: Float[Tensor, "batch atoms"],
    planted: Float[Tensor, "batch atoms"],
    *,
    threshold: float = 0.0,
) -> Bool[Tensor, " batch"]:
    """Whether the atoms above `threshold` times the largest coefficient are exactly those of the
    planted code.
    """
    size = code.abs()
    return ((size > threshold * size.amax(1, keepdim=True)) == (planted != 0)).all(1)


def match_atoms(
    found: Float[Tensor, "d atoms"], planted: Float[Tensor, "d some"]
) -> tuple[Float[Tensor, " some"], Int[Tensor, " some"]]:
    """`|cosine|` of each planted atom with the found atom that is assigned to it, and which one
    that is.

    The assignment is one to one and has the largest sum of `|cosines|` (Hungarian method).

    Raises
    ------
    ValueError
        If fewer atoms were found than planted.
    """
    if found.shape[1] < planted.shape[1]:
        raise ValueError(
            f"found must have at least as many atoms as planted, got {found.shape[1]} < "
            f"{planted.shape[1]}"
        )
    unit, true = (W / W.norm(dim=0).clamp_min(1e-12) for W in (found, planted))
    cosine = (true.T @ unit).abs()
    row, column = linear_sum_assignment(cosine.cpu().numpy(), maximize=True)
    index = torch.as_tensor(column, device=cosine.device)
    return cosine[torch.as_tensor(row, device=cosine.device), index], index


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


def peak_distance(
    images: Float[np.ndarray, "batch y x"],
    x: Real[np.ndarray, " batch"],
    y: Real[np.ndarray, " batch"],
) -> Real[np.ndarray, " batch"]:
    """Distance in pixels between each image's brightest pixel and (x, y), the larger of the two
    axes.
    """
    rows, columns = np.unravel_index(images.reshape(len(images), -1).argmax(1), images.shape[1:])
    return np.maximum(abs(columns - x), abs(rows - y))
