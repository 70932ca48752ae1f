"""Greedy pursuit: codes that are built atom by atom instead of settled.

A sibling of the settle for one layer: at each pick, every sample takes the atom that correlates
best with what is not explained yet, and stops where that correlation is only rounding. Matching
pursuit (Mallat and Zhang 1993) keeps the coefficients it has; orthogonal matching pursuit (Pati et
al. 1993) fits all of them again. Costa et al. (2025) unroll the former into an autoencoder and find
features that a flat, one-shot code misses. No lambda: sparsity is the number of picks.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vnlib import checks


def matching_pursuit(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], *, k: int
) -> Float[Tensor, "batch atoms"]:
    """k picks at most; an atom may be picked again, so that at most k atoms are active.

    Raises
    ------
    ValueError
        For a wrong shape, NaN, columns of V that are not of unit norm, or k < 1.
    """
    _check_pursuit(V, x, k)
    code, residual = x.new_zeros(len(x), V.shape[1]), x.clone()
    for _ in range(k):
        correlation = residual @ V
        atom, live = _best(correlation, x)
        if not live.any():
            break
        gain = correlation.gather(1, atom) * live
        code.scatter_add_(1, atom, gain)
        residual -= gain * V.T[atom.squeeze(1)]
    return code


def orthogonal_matching_pursuit(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], *, k: int
) -> Float[Tensor, "batch atoms"]:
    """k atoms at most, with the least-squares coefficients on them.

    Errors as for `matching_pursuit`.
    """
    _check_pursuit(V, x, k)
    gram, residual = V.double().T @ V.double(), x
    code = x.new_zeros(len(x), V.shape[1])
    taken = torch.zeros_like(code, dtype=torch.bool)
    for _ in range(min(k, *V.shape)):
        atom, live = _best((residual @ V).masked_fill(taken, 0), x)
        if not live.any():
            break
        taken.scatter_(1, atom, taken.gather(1, atom) | live)
        code = code + _refit(gram, residual @ V, taken)
        residual = x - code @ V.T
    return code


def polish(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], code: Float[Tensor, "batch atoms"]
) -> Float[Tensor, "batch atoms"]:
    """The least-squares coefficients of each sample on the support of `code`.

    It takes back the shrinkage of lambda, and of lambda and top-k together, and leaves the choice
    of atoms as it is. Where atoms of a support are dependent, the nearest solution to `code`.

    Raises
    ------
    ValueError
        For a wrong shape or NaN.
    """
    _check_shapes(V, x)
    checks.matrix("code", code, V.shape[1], "one coefficient per atom")
    if len(code) != len(x):
        raise ValueError(f"code must have one row per sample of x ({len(x)}), got {len(code)}")
    return code + _refit(V.double().T @ V.double(), (x - code @ V.T) @ V, code != 0)


def _refit(
    gram: Float[Tensor, "atoms atoms"],
    correlation: Float[Tensor, "batch atoms"],
    support: Bool[Tensor, "batch atoms"],
) -> Float[Tensor, "batch atoms"]:
    """What to add to the coefficients on `support`, given how their residual correlates with the
    atoms.

    Solves V_S'V_S change = correlation_S per sample in float64, since normal equations square the
    condition.
    """
    if len(support) > 256:  # the small matrices of all samples at once take much memory
        parts = zip(correlation.split(256), support.split(256), strict=True)
        return torch.cat([_refit(gram, c, s) for c, s in parts])
    size = int(support.sum(1).max()) if len(support) else 0
    atoms = support.to(correlation.dtype).topk(size, dim=1).indices  # padded to the largest support
    on = support.gather(1, atoms).double()
    drive = (correlation.double().gather(1, atoms) * on)[:, :, None]
    small = gram[atoms[:, :, None], atoms[:, None, :]] * (on[:, :, None] * on[:, None, :])
    factor, failed = torch.linalg.cholesky_ex(small + torch.diag_embed(1 - on))
    dependent = (failed > 0) | (factor.diagonal(dim1=1, dim2=2) < 1e-6).any(1)
    change = torch.cholesky_solve(drive, factor)
    if dependent.any():
        change[dependent] = torch.linalg.pinv(small[dependent], hermitian=True) @ drive[dependent]
    change = (change.squeeze(2) * on).to(correlation.dtype)
    return torch.zeros_like(correlation).scatter(1, atoms, change)


def _best(
    correlation: Float[Tensor, "batch atoms"], x: Float[Tensor, "batch d"]
) -> tuple[Int[Tensor, "batch 1"], Bool[Tensor, "batch 1"]]:
    """The best atom per sample, and whether it explains more than rounding."""
    best, atom = correlation.abs().max(1, keepdim=True)
    return atom, best > torch.finfo(x.dtype).eps ** 0.75 * x.norm(dim=1, keepdim=True)


def _check_shapes(V: Tensor, x: Tensor) -> None:
    checks.finite("V", V)
    if V.ndim != 2:
        raise ValueError(f"V must have shape (d, atoms), got {tuple(V.shape)}")
    checks.matrix("x", x, V.shape[0], "one row per sample")


def _check_pursuit(V: Tensor, x: Tensor, k: int) -> None:
    _check_shapes(V, x)
    low, high = V.norm(dim=0).aminmax()
    if max(1 - low, high - 1) > 1e-3:
        raise ValueError(f"V must have unit columns, got norms from {low:g} to {high:g}")
    checks.number("k", k, low=1, integer=True)
