"""Signals with hidden samples: what is shown of them, and which share a mask."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vnlib import checks


def shown(
    x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"], length: int | None = None
) -> Float[Tensor, "batch time"]:
    """x with zeros where it is hidden, after a look at both: shapes, types, a sample seen in every
    signal.
    """
    if not isinstance(x, Tensor) or x.ndim != 2 or (length is not None and x.shape[1] != length):
        got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(
            f"x must be a tensor (batch, {'time' if length is None else length}), got {got}"
        )
    if (
        not isinstance(observed, Tensor)
        or observed.dtype != torch.bool
        or observed.shape != x.shape
    ):
        got = (
            f"{observed.dtype} {tuple(observed.shape)}"
            if isinstance(observed, Tensor)
            else type(observed).__name__
        )
        raise ValueError(
            f"observed must be a bool tensor of the shape of x, {tuple(x.shape)}, got {got}"
        )
    unseen = int((~observed.any(1)).sum())
    if unseen:
        raise ValueError(
            f"observed must be True at least once in every signal, got {unseen} with "
            "nothing observed"
        )
    seen = torch.where(observed, x, torch.zeros_like(x))
    checks.finite("x where observed", seen)
    return seen


def by_mask(
    observed: Bool[Tensor, "batch time"],
) -> Iterator[tuple[Bool[Tensor, " time"], Int[Tensor, " rows"]]]:
    """The different masks of a batch, each with the rows that share it."""
    masks, which = torch.unique(observed, dim=0, return_inverse=True)
    for number, mask in enumerate(masks):
        yield mask, (which == number).nonzero().squeeze(1)
