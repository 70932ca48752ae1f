"""The joint energy of a stack of layers, and how far a set of codes can be from its minimum.

With identity messages every proximal step descends ::

    F = sum_l feedback^(l-1) [ 1/2 |x_l - V_l a_l|^2 + penalty_l(a_l) ],    x_{l+1} = U_l a_l,

whose partial gradients are those of VN Eq. 4. F is jointly convex for convex penalties: it is one
sparse coding problem in all codes, with the residuals of all layers stacked. The sum of the layer
energies of Eq. 3 counts each coupling twice and may rise (`summed_energy`).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from vnlib.checks import given
from vnlib.layer import Layer, energy, message, reconstruct
from vnlib.prox import Conjugate


def residuals(
    layers: Sequence[Layer],
    codes: Sequence[Float[Tensor, "... batch _atoms"]],
    x: Float[Tensor, "... batch d"],
    *,
    activation: str = "identity",
    mask: Float[Tensor, "... batch d"] | None = None,
) -> list[Float[Tensor, "... batch _d"]]:
    """x_l - V_l a_l of every layer; in layer 1 only where the mask is 1."""
    found = []
    for index, (layer, code) in enumerate(zip(layers, codes, strict=True)):
        found.append(x - reconstruct(layer, code))
        if index == 0 and mask is not None:
            found[0] = mask * found[0]
        if index + 1 < len(layers):
            x = message(layer, code, activation)
    return found


def joint_energy(
    layers: Sequence[Layer],
    codes: Sequence[Float[Tensor, "... batch _atoms"]],
    x: Float[Tensor, "... batch d"],
    feedback: float = 0.0,
    activation: str = "identity",
    mask: Float[Tensor, "... batch d"] | None = None,
) -> Float[Tensor, "... batch"]:
    """F per sample (module docstring). For one layer this is VN Eq. 3 without a target."""
    total, weight = x.new_zeros(x.shape[:-1]), 1.0
    missed = residuals(layers, codes, x, activation=activation, mask=mask)
    for layer, code, residual in zip(layers, codes, missed, strict=True):
        total = total + weight * (0.5 * residual.square().sum(-1) + layer.penalty.value(code))
        weight *= feedback
    return total


def summed_energy(
    layers: Sequence[Layer],
    codes: Sequence[Float[Tensor, "... batch _atoms"]],
    x: Float[Tensor, "... batch d"],
    feedback: float,
    activation: str = "identity",
) -> Float[Tensor, "... batch"]:
    """The layer energies of VN Eq. 3, with fresh targets, in a sum; no step descends it."""
    total = torch.zeros_like(x[:, 0])
    for index, (layer, code) in enumerate(zip(layers, codes, strict=True)):
        below_top = index + 1 < len(layers)
        target = reconstruct(layers[index + 1], codes[index + 1]) if below_top else None
        total = total + energy(layer, code, x, target, feedback)
        x = message(layer, code, activation) if below_top else x
    return total


def duality_gap(
    layers: Sequence[Layer],
    codes: Sequence[Float[Tensor, "... batch _atoms"]],
    x: Float[Tensor, "... batch d"],
    feedback: float = 0.0,
    mask: Float[Tensor, "... batch d"] | None = None,
) -> Float[Tensor, "... batch"]:
    """An upper bound of F(codes) - min F per sample, zero at the minimum; for identity messages and
    convex penalties.

    With residuals r_l, correlations c_l = V_l'r_l - feedback U_l'r_{l+1} and any s in [0, 1] for
    which the conjugates g* of the penalties g are finite at s c_l, the gap to the dual point s r
    is ::

        sum_l feedback^(l-1) [ (1-s)^2/2 |r_l|^2 + g_l(a_l) + g_l*(s c_l) - s a_l.c_l ].

    ValueError where a penalty is not convex or a layer reads its target by a dictionary of its own.
    """
    penalties: list[Conjugate] = []
    for number, layer in enumerate(layers, 1):
        if not (layer.penalty.convex and isinstance(layer.penalty, Conjugate)):
            raise ValueError(
                f"a duality gap needs convex penalties; layer {number} has {layer.penalty}"
            )
        if layer.B is not None:
            raise ValueError(
                f"a duality gap needs tied dictionaries; layer {number} has a feedback dictionary B"
            )
        penalties.append(layer.penalty)
    missed = residuals(layers, codes, x, mask=mask)
    scale, correlations = x.new_ones(x.shape[:-1]), []
    for index, layer in enumerate(layers):
        correlation = missed[index] @ layer.V
        if index + 1 < len(layers):
            correlation = correlation - feedback * (missed[index + 1] @ given("U", layer.U))
        scale = torch.minimum(scale, penalties[index].feasible_scale(correlation))
        correlations.append(correlation)
    gap, weight, column = torch.zeros_like(scale), 1.0, scale[..., None]
    for penalty, code, residual, c in zip(penalties, codes, missed, correlations, strict=True):
        young = penalty.value(code) + penalty.conjugate(column * c) - scale * (code * c).sum(-1)
        gap = gap + weight * (0.5 * (1 - scale).square() * residual.square().sum(-1) + young)
        weight *= feedback
    return gap
