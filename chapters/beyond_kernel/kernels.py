"""Kernels over positions and the two-factor kernel of Forced Rendering (FR Eqs. 1-4, App. A.4)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.spatial import geometry

Kernel = Float[Tensor, "positions positions"]


def shared(x: Float[Tensor, " positions"], y: Float[Tensor, " positions"]) -> Kernel:
    """The binary two-factor kernel: half for the same x, half for the same y (FR Eqs. 3 and 4)."""
    return 0.5 * ((x[:, None] == x).double() + (y[:, None] == y).double())


def regression(
    kernel: Kernel, seen: Float[Tensor, " seen"], values: Float[Tensor, "seen units"]
) -> Float[Tensor, "positions units"]:
    """What the function of least norm of a kernel that fits `values` at the indices `seen` best has
    at all positions.
    """
    weights = torch.linalg.pinv(kernel[seen][:, seen], hermitian=True) @ values.double()
    return kernel[:, seen] @ weights


def shares(kernel: Kernel, binary: Kernel) -> dict[str, float]:
    """How a kernel is made of two factors, positions being all of a square grid, x running fastest.

    `terms`: separable terms of the centred kernel, by their participation number. `product`: share
    of the squared kernel in the first of its separable terms A(x, x') B(y, y'). `sum`: share of its
    variance in the best A(x, x') + B(y, y'). `binary`: share in the best multiple of the
    two-factor kernel plus a constant.
    """
    side = round(len(kernel) ** 0.5)
    centre = kernel - kernel.mean(0) - kernel.mean(1, keepdim=True) + kernel.mean()
    weight = geometry.separable_spectrum(kernel, side).square()
    both = kernel.unflatten(0, (side, side)).unflatten(2, (side, side))  # y, x, y', x'
    pairs = both.permute(1, 3, 0, 2).reshape(side**2, side**2, 1)
    return {
        "terms": geometry.participation(geometry.separable_spectrum(centre, side)),
        "product": float(weight[0] / weight.sum()),
        "sum": 1 - geometry.anova(pairs)["both"],
        "binary": alignment(kernel, binary) ** 2,
    }


def alignment(kernel: Kernel, other: Kernel) -> float:
    """Correlation of the entries of two kernels."""
    return float(torch.corrcoef(torch.stack([kernel.flatten(), other.flatten()]))[0, 1])
