"""Greedy pursuit: codes that are built atom by atom instead of settled.

A sibling of the settle for one layer: at each pick, every sample takes the atom that correlates
best with what is not explained yet, and stops where that correlation is only rounding. Orthogonal
matching pursuit (Pati et al. 1993) fits all coefficients again after each pick. No lambda: sparsity
is the number of picks.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vnlib import checks
from vnlib.compilation import Array, compiled
from vnlib.implicit import solve_on_support
from vnlib.settle.coordinate import gram_matrix


def orthogonal_matching_pursuit(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], *, k: int
) -> Float[Tensor, "batch atoms"]:
    """k atoms at most, with the least-squares coefficients on them, computed in float64. ValueError
    for a wrong shape, NaN, columns of V that are not of unit norm, or k < 1.
    """
    _check_shapes(V, x)
    low, high = V.norm(dim=0).aminmax()
    if max(1 - low, high - 1) > 1e-3:
        raise ValueError(f"V must have unit columns, got norms from {low:g} to {high:g}")
    checks.number("k", k, low=1, integer=True)
    atoms, samples = V.detach().double(), x.detach().double()
    codes = np.zeros((len(x), V.shape[1]))
    floor = torch.finfo(x.dtype).eps ** 0.75 * samples.norm(dim=1)
    given = (t.cpu().numpy() for t in (gram_matrix(atoms), samples @ atoms, floor))
    _pursue(*given, min(k, *V.shape), codes)
    return torch.from_numpy(codes).to(x)


@compiled
def _pursue(G: Array, drive: Array, floor: Array, k: int, codes: Array) -> None:
    """Batch orthogonal matching pursuit (Rubinstein, Zibulevsky and Elad 2008): every row picks at
    most k atoms, as long as one correlates by more than `floor`; fills `codes`, which are zero.

    L L' is the Gram matrix of the support, y = L^-1 V_S'x, and P = L^-1 V_S'V, whose rows are the
    correlations of all atoms with the orthonormalised picks.
    """
    K = len(G)
    L, P, y, z = np.zeros((k, k)), np.empty((k, K)), np.empty(k), np.empty(k)
    atoms, q = np.empty(k, np.int64), np.empty(K)
    for row in range(len(drive)):
        n = 0
        for j in range(K):
            q[j] = drive[row, j]
        for _ in range(k):
            largest = 0.0
            for j in range(K):
                largest = max(largest, abs(q[j]))
            if not largest > floor[row]:
                break
            best = 0
            while abs(q[best]) < largest:
                best += 1
            new, pivot = P[n], G[best, best]
            for r in range(n):
                z[r] = P[r, best]
                pivot -= z[r] * z[r]
            if pivot > 1e-12:  # it does not depend on the atoms before
                for j in range(K):
                    new[j] = G[best, j]
                for r in range(n):
                    for j in range(K):
                        new[j] -= z[r] * P[r, j]
                L[n, :n], L[n, n], atoms[n] = z[:n], np.sqrt(pivot), best
                y[n] = q[best] / L[n, n]
                for j in range(K):
                    new[j] /= L[n, n]
                    q[j] -= y[n] * new[j]
                n += 1
            q[best] = 0
            for r in range(n):
                q[atoms[r]] = 0
        for r in range(n - 1, -1, -1):
            value = y[r] / L[r, r]
            codes[row, atoms[r]] = value
            for t in range(r):
                y[t] -= L[r, t] * value


def polish(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], code: Float[Tensor, "batch atoms"]
) -> Float[Tensor, "batch atoms"]:
    """The least-squares coefficients of each sample on the support of `code`.

    It takes back the shrinkage of lambda, and of lambda and top-k together, and leaves the choice
    of atoms as it is. Where atoms of a support are dependent, the nearest solution to `code`.
    ValueError for a wrong shape or NaN.
    """
    _check_shapes(V, x)
    checks.matrix("code", code, V.shape[1], "one coefficient per atom")
    if len(code) != len(x):
        raise ValueError(f"code must have one row per sample of x ({len(x)}), got {len(code)}")
    return code + solve_on_support(V.double().T @ V.double(), (x - code @ V.T) @ V, code != 0)


def _check_shapes(V: Tensor, x: Tensor) -> None:
    checks.finite("V", V)
    if V.ndim != 2:
        raise ValueError(f"V must have shape (d, atoms), got {tuple(V.shape)}")
    checks.matrix("x", x, V.shape[0], "one row per sample")
