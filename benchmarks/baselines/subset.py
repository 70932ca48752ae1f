"""Exactly k atoms per sample: orthogonal least squares with exchanges, a sibling of `vnlib.greedy`.

Each pick takes the atom that leaves the least error once all are fitted again (Chen, Billings and
Luo 1989), that of largest c^2/d: c is its correlation with the residual, d its squared part outside
the support. Then the weakest atom is exchanged for the best other one while that lowers the error.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vnlib import checks
from vnlib.compilation import Array, compiled
from vnlib.settle.coordinate import gram_matrix

TRIED = 8  # the weakest atoms, one of which may leave


def best_subset(
    V: Float[Tensor, "d atoms"],
    x: Float[Tensor, "batch d"],
    *,
    k: int,
    swaps: int = 20,
    start: Float[Tensor, "batch atoms"] | None = None,
) -> Float[Tensor, "batch atoms"]:
    """Least-squares coefficients of k atoms; of fewer where these explain all, or others depend on
    them. At most so many `swaps` follow; `start` holds codes whose supports come before the picks.

    Raises
    ------
    ValueError
        For a wrong shape, NaN, columns of V without unit norm, k < 1, swaps < 0, or a start of more
        than k atoms.
    """
    checks.finite("V", V)
    if V.ndim != 2 or not bool(((V.norm(dim=0) - 1).abs() < 1e-3).all()):
        raise ValueError(f"V must have unit columns (d, atoms), got shape {tuple(V.shape)}")
    checks.finite("x", x)
    checks.matrix("x", x, len(V), "one row per sample")
    checks.number("k", k, low=1, integer=True)
    checks.number("swaps", swaps, low=0, integer=True)
    given = np.full((len(x), min(k, *V.shape)), -1)
    if start is not None:
        checks.matrix("start", start, V.shape[1], "one coefficient per atom")
        rows, atoms = start.cpu().numpy().nonzero()
        places = np.arange(len(rows)) - np.searchsorted(rows, rows)
        if len(start) != len(x) or places.max(initial=0) >= given.shape[1]:
            raise ValueError(f"start must have {len(x)} rows of at most k={k} nonzero entries")
        given[rows, places] = atoms
    V, x, eps = V.detach().to(x), x.detach(), torch.finfo(x.dtype).eps
    floor = (eps**0.75 * x.norm(dim=1)).square()
    codes = np.zeros((len(x), V.shape[1]), floor.cpu().numpy().dtype)
    G, drive, floors = (one.cpu().numpy() for one in (gram_matrix(V), x @ V, floor))
    _select(G, drive, floors, codes.dtype.type(eps**0.5), swaps, given, codes)
    return torch.from_numpy(codes).to(x)


@compiled
def _select(
    G: Array, drive: Array, floor: Array, tiny: float, swaps: int, given: Array, codes: Array
) -> None:
    """Fill `codes`, which are zero, row by row. For the support S of n atoms, and with M the inverse
    of its Gram matrix, H holds M G_S, M, and the coefficients, side by side.
    """
    k, K, zero, one = given.shape[1], len(G), tiny - tiny, tiny / tiny
    H, S, loss = np.zeros((k, K + k + 1), G.dtype), np.empty(k, np.int64), np.empty(k, G.dtype)
    c, d, score = np.empty(K, G.dtype), np.empty(K, G.dtype), np.empty(K, G.dtype)
    for row in range(len(drive)):
        n, c[:] = 0, drive[row]
        for j in range(K):
            d[j] = G[j, j]
        for best in given[row]:
            if best < 0:
                best = _best(c, d, H[0], zero, zero, tiny, score)
                if score[best] <= floor[row]:
                    break
            if d[best] > tiny:
                _join(G, best, n, S, H, c, d)
                n += 1
        for _ in range(swaps):
            best = weak = -1
            for r in range(n):
                loss[r] = H[r, -1] * H[r, -1] / H[r, K + r]
            for _ in range(min(TRIED, n)):
                weak = np.argmin(loss[:n])
                part = one / H[weak, K + weak]
                best = _best(c, d, H[weak], part * H[weak, -1], part, tiny, score)
                if score[best] > loss[weak] * (1 + tiny):
                    break
                best, loss[weak] = -1, np.inf
            if best < 0:
                break
            _leave(weak, n, S, H, c, d)
            _join(G, best, n - 1, S, H, c, d)
        for r in range(n):
            codes[row, S[r]] = H[r, -1]


@compiled
def _best(c: Array, d: Array, h: Array, step: float, part: float, tiny: float, score: Array) -> int:
    """The atom that lowers the error most, by `score`, with one more back in c and d: the one with
    the regressions h.
    """
    most = tiny - tiny
    for j in range(len(c)):
        left = d[j] + part * h[j] * h[j]
        score[j] = (c[j] + step * h[j]) ** 2 / left if left > tiny else tiny - tiny
        most = max(most, score[j])
    best = 0
    while score[best] < most:
        best += 1
    return best


@compiled
def _add(y: Array, s: float, x: Array) -> None:
    for i in range(len(y)):
        y[i] += s * x[i]


@compiled
def _join(G: Array, j: int, n: int, S: Array, H: Array, c: Array, d: Array) -> None:
    """Atom j takes place n, the next."""
    K, new, part, step = len(c), H[n], d[j], c[j]
    new[:K], new[K:], S[n] = G[j], 0, j
    new[K + n] = 1
    for r in range(n):
        _add(new, -G[j, S[r]], H[r])
    new[-1] = step
    for i in range(len(new)):
        new[i] /= part
    for i in range(K):
        c[i] -= step * new[i]
        d[i] -= part * new[i] * new[i]
    for r in range(n):
        _add(H[r], -H[r, j], new)


@compiled
def _leave(i: int, n: int, S: Array, H: Array, c: Array, d: Array) -> None:
    """The atom in place i leaves a support of n, and the last one takes its place."""
    K, end, old = len(c), n - 1, H[i]
    part, step = old[K + i], old[-1] / old[K + i]
    for j in range(K):
        c[j] += step * old[j]
        d[j] += old[j] * old[j] / part
    for r in range(n):
        if r != i:
            _add(H[r], -H[r, K + i] / part, old)
    S[i], H[i] = S[end], H[end]
    H[:n, K + i] = H[:n, K + end]
    H[:n, K + end] = 0
