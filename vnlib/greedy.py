"""Greedy pursuit: codes that are built atom by atom instead of settled.

A sibling of the settle for one layer: at each pick, every sample takes the atom that correlates
best with what is not explained yet. Matching pursuit (Mallat and Zhang 1993) keeps the coefficients
it has; orthogonal matching pursuit (Pati et al. 1993) fits all of them again. Costa et al. (2025)
unroll the former into an autoencoder and find features that a flat, one-shot code misses. No
lambda: sparsity is the number of picks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vnlib import checks
from vnlib.settle.stopping import Explained


@dataclass(frozen=True)
class Pursuit:
    """A greedy code, what it leaves unexplained (x - V a), and how many picks each sample took."""

    code: Float[Tensor, "batch atoms"]
    residual: Float[Tensor, "batch d"]
    picks: Int[Tensor, " batch"]


def matching_pursuit(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], *, k: int, tol: float = 0.0
) -> Pursuit:
    """k picks at most; an atom may be picked again, so that at most k atoms are active.

    Samples do not influence each other.

    Parameters
    ----------
    V
        Unit columns.
    tol
        A sample stops when `|x - V a|` <= tol `|x|`.

    Raises
    ------
    ValueError
        For a wrong shape, NaN, columns that are not of unit norm, or k < 1.
    """
    rule = _checked(V, x, k, tol)
    code, residual = x.new_zeros(len(x), V.shape[1]), x.clone()
    picks = torch.zeros(len(x), dtype=torch.long, device=x.device)
    for _ in range(k):
        correlation = residual @ V
        atom, live = _best(correlation, residual, x, rule)
        if not live.any():
            break
        gain = correlation.gather(1, atom) * live[:, None]
        code.scatter_add_(1, atom, gain)
        residual -= gain * V.T[atom.squeeze(1)]
        picks += live
    return Pursuit(code, residual, picks)


def orthogonal_matching_pursuit(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], *, k: int, tol: float = 0.0
) -> Pursuit:
    """k atoms at most, with the least-squares coefficients on them.

    Arguments and errors as for `matching_pursuit`. A sample also stops when no further atom can
    explain anything.
    """
    rule = _checked(V, x, k, tol)
    gram, residual = V.double().T @ V.double(), x.clone()
    code = x.new_zeros(len(x), V.shape[1])
    taken = torch.zeros_like(code, dtype=torch.bool)
    for _ in range(min(k, *V.shape)):
        atom, live = _best((residual @ V).masked_fill(taken, 0), residual, x, rule)
        if not live.any():
            break
        taken.scatter_(1, atom, taken.gather(1, atom) | live[:, None])
        code = code + _refit(gram, residual @ V, taken)
        residual = x - code @ V.T
    return Pursuit(code, residual, taken.sum(1))


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
    return torch.zeros_like(correlation).scatter(
        1, atoms, (change.squeeze(2) * on).to(correlation.dtype)
    )


def _best(
    correlation: Float[Tensor, "batch atoms"],
    residual: Float[Tensor, "batch d"],
    x: Float[Tensor, "batch d"],
    rule: Explained,
) -> tuple[Int[Tensor, "batch 1"], Bool[Tensor, " batch"]]:
    """The best atom per sample, and which samples go on."""
    best, atom = correlation.abs().max(1, keepdim=True)
    return atom, ~rule.settled(residual.norm(dim=1), best.squeeze(1), x.norm(dim=1))


def _check_shapes(V: Tensor, x: Tensor) -> None:
    checks.finite("V", V)
    if V.ndim != 2:
        raise ValueError(f"V must have shape (d, atoms), got {tuple(V.shape)}")
    checks.matrix("x", x, V.shape[0], "one row per sample")


def _checked(V: Tensor, x: Tensor, k: int, tol: float) -> Explained:
    _check_shapes(V, x)
    norms = V.norm(dim=0)
    if (norms - 1).abs().max() > 1e-3:
        raise ValueError(
            f"V must have unit columns, got norms from {float(norms.min()):g} to "
            f"{float(norms.max()):g}"
        )
    checks.number("k", k, low=1, integer=True)
    return Explained(tol)
