"""Greedy pursuit: codes that are built atom by atom instead of settled.

A sibling of the settle for one layer: at each pick, every sample takes the atom that correlates
best with what is not explained yet, and stops where that correlation is only rounding. Orthogonal
matching pursuit (Pati et al. 1993) fits all coefficients again after each pick. No lambda: sparsity
is the number of picks. A greedy choice of atoms, or one by a hard top-k, can be improved afterwards
(`swap_atoms`).
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vnlib import checks
from vnlib.implicit import padded, solve_on_support
from vnlib.settle.coordinate import gram_matrix
from vnlib.settle.working_set import Array, compiled


def orthogonal_matching_pursuit(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], *, k: int
) -> Float[Tensor, "batch atoms"]:
    """k atoms at most, with the least-squares coefficients on them, computed in float64.

    Raises
    ------
    ValueError
        For a wrong shape, NaN, columns of V that are not of unit norm, or k < 1.
    """
    _check_shapes(V, x)
    _check_unit(V)
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

    Raises
    ------
    ValueError
        For a wrong shape or NaN.
    """
    _check_shapes(V, x)
    checks.matrix("code", code, V.shape[1], "one coefficient per atom")
    if len(code) != len(x):
        raise ValueError(f"code must have one row per sample of x ({len(x)}), got {len(code)}")
    return code + solve_on_support(V.double().T @ V.double(), (x - code @ V.T) @ V, code != 0)


def swap_atoms(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], code: Float[Tensor, "batch atoms"]
) -> Float[Tensor, "batch atoms"]:
    """A code of as many atoms that no exchange of one of them for another improves.

    Begins with `polish`; then each sample makes the exchange that lowers 1/2 `|x - V a|^2` most,
    with least-squares coefficients before and after, until none does.

    Raises
    ------
    ValueError
        As `polish` does, and for columns of V that are not of unit norm.
    """
    _check_unit(V)
    code, gram = polish(V, x, code), V.double().T @ V.double()
    live = (code != 0).any(1).nonzero().squeeze(1)
    while len(live):
        parts = live.split(64)  # all pairs of atoms take much memory
        swapped = torch.cat([_best_swap(gram, (x @ V)[part], code[part]) for part in parts])
        swapped = polish(V, x[live], swapped)
        before, after = (
            (x[live] - a @ V.T).double().square().sum(1) for a in (code[live], swapped)
        )
        better = after < before - torch.finfo(x.dtype).eps ** 0.75 * x[live].double().square().sum(
            1
        )
        live = live[better]
        code[live] = swapped[better]
    return code


def _best_swap(
    gram: Float[Tensor, "atoms atoms"],
    drive: Float[Tensor, "batch atoms"],
    code: Float[Tensor, "batch atoms"],
) -> Float[Tensor, "batch atoms"]:
    """The code with the support after the best exchange; its new coefficient is only a mark.

    To leave atom i out costs a_i^2 / M_ii, M the inverse Gram matrix of the support; atom j then
    gains c^2 / s, with its correlation c and its squared distance s from the span of the rest.
    """
    atoms, on = padded(code != 0)
    shares, pair = gram[atoms], on[:, :, None] * on[:, None, :]
    small = shares.gather(2, atoms[:, None, :].expand_as(pair)) * pair
    # the second term keeps what is padded or dependent from being singular
    inverse = torch.linalg.inv(small + torch.diag_embed(1 - on + 1e-10)) * pair
    spread = inverse @ shares  # the atoms of the support that make up an atom, by least squares
    freed = inverse.diagonal(dim1=1, dim2=2).clamp_min(1e-12)[:, :, None]
    coefficient = (code.double().gather(1, atoms) * on)[:, :, None]
    correlation = (drive.double() - code.double() @ gram)[:, None, :] + coefficient / freed * spread
    distance = (gram.diagonal() - (spread * shares).sum(1))[:, None, :] + spread.square() / freed
    gain = correlation.square() / distance.clamp_min(1e-9) - coefficient.square() / freed
    barred = (code != 0)[:, None, :] | (on == 0)[:, :, None] | (distance < 1e-9)
    gain, best = gain.masked_fill(barred, -torch.inf).flatten(1).max(1, keepdim=True)
    leaves, joins = atoms.gather(1, best // len(gram)), best % len(gram)
    return torch.where(gain > 0, code.scatter(1, leaves, 0).scatter(1, joins, 1), code)


def _check_shapes(V: Tensor, x: Tensor) -> None:
    checks.finite("V", V)
    if V.ndim != 2:
        raise ValueError(f"V must have shape (d, atoms), got {tuple(V.shape)}")
    checks.matrix("x", x, V.shape[0], "one row per sample")


def _check_unit(V: Tensor) -> None:
    low, high = V.norm(dim=0).aminmax()
    if max(1 - low, high - 1) > 1e-3:
        raise ValueError(f"V must have unit columns, got norms from {low:g} to {high:g}")
