"""One layer of rank-1 weight atoms: energy, gradient, message, operator (VN Sec. 3.1 and 3.2).

Shapes: input x (batch, d); code a (batch, K); input dictionary V (d, K); interface dictionary U (m,
K); feedback dictionary B (m, K), which is U where the two are tied; target t (batch, m). Columns of
V, U and B have unit norm. Layers of replicas have one more axis, the first, in all of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from vnlib import checks, prox
from vnlib.prox import Penalty

ACTIVATIONS = {"identity": lambda h: h, "relu": torch.relu}


@dataclass(frozen=True)
class Layer:
    """The dictionaries of one layer and the penalty on its code.

    `U` is None where nothing is sent upward. `B` reads the target; None ties it to U as in VN Eq. 3
    (untied: VN App. E.5).
    """

    V: Float[Tensor, "... d atoms"]
    U: Float[Tensor, "... m atoms"] | None
    penalty: Penalty
    B: Float[Tensor, "... m atoms"] | None = None

    @property
    def reader(self) -> Float[Tensor, "... m atoms"] | None:
        """The dictionary that is compared with the target: B, or U where they are tied."""
        return self.U if self.B is None else self.B


def scaled(layers: Sequence[Layer], scale: Tensor | None) -> Sequence[Layer]:
    """The layers with `scale` times their sparsity, a factor per sample (None: as they are)."""
    if scale is None:
        return layers
    return [replace(layer, penalty=prox.scaled(layer.penalty, scale)) for layer in layers]


def reconstruct(layer: Layer, code: Float[Tensor, "... atoms"]) -> Float[Tensor, "... d"]:
    """x_hat = V a."""
    return code @ layer.V.mT


def message(
    layer: Layer, code: Float[Tensor, "... batch atoms"], activation: str = "identity"
) -> Float[Tensor, "... batch m"]:
    """h = phi(U a), the input of the layer above."""
    return ACTIVATIONS[activation](code @ checks.given("U", layer.U).mT)


def energy(
    layer: Layer,
    code: Float[Tensor, "batch atoms"],
    x: Float[Tensor, "batch d"],
    target: Float[Tensor, "batch m"] | None = None,
    feedback: float = 0.0,
) -> Float[Tensor, " batch"]:
    """E(a) = 1/2 `|x - V a|^2` + feedback/2 `|t - B a|^2` + penalty(a), per sample (VN Eq. 3)."""
    total = 0.5 * (x - reconstruct(layer, code)).square().sum(1) + layer.penalty.value(code)
    if target is not None:
        reader = checks.given("the dictionary that reads the target", layer.reader)
        total = total + 0.5 * feedback * (target - code @ reader.T).square().sum(1)
    return total


def hessian(layer: Layer, feedback: float = 0.0) -> Float[Tensor, "... atoms atoms"]:
    """V'V + feedback B'B; without the second term where nothing comes from above."""
    gram, reader = layer.V.mT @ layer.V, layer.reader
    return gram + feedback * reader.mT @ reader if feedback and reader is not None else gram


def lipschitz(curvature: Float[Tensor, "... atoms atoms"]) -> float | Tensor:
    """The largest eigenvalue L of a Hessian: no step up to 1/L raises the energy (VN Thm. 3)."""
    largest = torch.linalg.eigvalsh(curvature)[..., -1]
    # The eigenvalue is exact to rounding; the factor keeps 1/L on the safe side of it.
    return 1.0001 * (largest[..., None, None] if largest.ndim else float(largest))


def operator(layer: Layer, code: Float[Tensor, "batch atoms"]) -> Float[Tensor, "batch m d"]:
    """W(x) = sum_k a_k u_k v_k' = U diag(a) V', the map that the code describes (VN Eq. 2)."""
    return torch.einsum("mk,bk,dk->bmd", layer.U, code, layer.V)
