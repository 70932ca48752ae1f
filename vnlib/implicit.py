"""Gradients through the settle, by the implicit function theorem (Mairal, Bach and Ponce 2012).

A settled code is least squares on its support S, shifted by lambda. Near almost every input S and
the signs stay what they are, and ::

    H_S a_S = V_S'x - lambda sign(a_S),    H = V'V + ridge I.

With H_S b_S = (dL/da)_S, one linear solve per sample, and b = 0 elsewhere, the gradients of a loss
L are V b for x, (x - V a) b' - (V b) a' for V, and -sign(a) b for lambda.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from vnlib import guards
from vnlib.layer import message
from vnlib.prox import L1, ElasticNet
from vnlib.settle import Settler
from vnlib.settle.lasso import dictionary


def settled_code(
    settler: Settler, x: Float[Tensor, "batch d"], sparsity: Float[Tensor, " layers"] | None = None
) -> Float[Tensor, "batch atoms"]:
    """The settled code of the top layer, with gradients for x, dictionaries and lambdas.

    They are as exact as the settle is. Layers with feedback are one (`vnlib.settle.lasso`).

    Parameters
    ----------
    sparsity
        The lambdas of the layers once more, to give them gradients.

    Raises
    ------
    ValueError
        For other penalties than l1 and elastic net, and where the settle has no energy.
    """
    guards.kind("x", x, Tensor)
    if not settler.has_energy:
        raise ValueError("gradients need identity messages and tied dictionaries, or feedback=0")
    weights, ridges, layers = [], [], settler.layers
    for index, layer in enumerate(layers):
        if not isinstance(layer.penalty, (L1, ElasticNet)):
            raise ValueError(
                f"gradients need l1 or elastic-net penalties; layer {index + 1} has {layer.penalty}"
            )
        weight = x.new_tensor(layer.penalty.sparsity) if sparsity is None else sparsity[index]
        shares = getattr(layer.penalty, "weights", x.new_ones(layer.V.shape[1]))
        weights.append(weight * shares)
        ridges.append(torch.full_like(weights[-1], getattr(layer.penalty, "ridge", 0.0)))
    codes = settler(x.detach()).codes
    if settler.alone:
        code = codes[0]
        for index, layer in enumerate(layers):
            x = message(layers[index - 1], code, settler.activation) if index else x
            code = _SettledCode.apply(x, layer.V, weights[index], ridges[index], codes[index])
        return code
    whole = dictionary(layers, settler.feedback)
    x = pad(x, (0, len(whole) - x.shape[1]))
    weight, ridge = (
        torch.cat([settler.feedback**index * part for index, part in enumerate(parts)])
        for parts in (weights, ridges)
    )
    found = _SettledCode.apply(x, whole, weight, ridge, torch.cat(codes, 1))
    return found[:, -codes[-1].shape[1] :]


class _SettledCode(torch.autograd.Function):
    """`code`, which minimises 1/2 `|x - V a|^2` + sum_k lambda_k `|a_k|` + ridge_k/2 a_k^2, as a
    function of x, V and lambda.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, V: Tensor, sparsity: Tensor, ridge: Tensor, code: Tensor
    ) -> Tensor:
        ctx.save_for_backward(x, V, ridge, code)
        return code.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, V, ridge, code = ctx.saved_tensors
        H = V.double().T @ V.double() + ridge.double().diag()
        b = solve_on_support(H, grad, code != 0)
        to_x, to_sparsity = b @ V.T, -(code.sign() * b).sum(0)
        return to_x, (x - code @ V.T).T @ b - to_x.T @ code, to_sparsity, None, None


def solve_on_support(
    H: Float[Tensor, "atoms atoms"],
    drive: Float[Tensor, "batch atoms"],
    support: Bool[Tensor, "batch atoms"],
) -> Float[Tensor, "batch atoms"]:
    """b with H_S b_S = drive_S on the support S of each sample, 0 elsewhere; H in float64, since a
    Gram matrix squares the condition. Where H_S is singular, the least b.
    """
    if len(support) > 256:  # the small matrices of all samples at once take much memory
        parts = zip(drive.split(256), support.split(256), strict=True)
        return torch.cat([solve_on_support(H, d, s) for d, s in parts])
    atoms, on = padded(support)
    right = (drive.double().gather(1, atoms) * on)[:, :, None]
    small = H[atoms[:, :, None], atoms[:, None, :]] * (on[:, :, None] * on[:, None, :])
    factor, failed = torch.linalg.cholesky_ex(small + torch.diag_embed(1 - on))
    singular = (failed > 0) | (factor.diagonal(dim1=1, dim2=2) < 1e-6).any(1)
    b = torch.cholesky_solve(right, factor)
    if singular.any():
        b[singular] = torch.linalg.pinv(small[singular], hermitian=True) @ right[singular]
    return torch.zeros_like(drive).scatter(1, atoms, (b.squeeze(2) * on).to(drive.dtype))


def padded(
    support: Bool[Tensor, "batch atoms"],
) -> tuple[Int[Tensor, "batch size"], Float[Tensor, "batch size"]]:
    """The atoms of each support, filled up to the largest one, and 1 where they belong to it."""
    size = int(support.sum(1).max()) if len(support) else 0
    atoms = support.double().topk(size, dim=1).indices
    return atoms, support.gather(1, atoms).double()
