"""What was found against what was planted: supports, and atoms."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from scipy.optimize import linear_sum_assignment
from torch import Tensor


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
