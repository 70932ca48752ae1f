"""The exact code of an input that moves: the homotopy of the lasso in its input.

The minimiser of 1/2 `|x - B a|^2` + sparsity `|a|_1` is a piecewise linear function of x. As long
as its support S and the signs s there hold, ::

    a_S = G_SS^-1 (B_S'x - sparsity s),    q = B'x - G a,    G = B'B,

and they hold until a coefficient becomes 0 or another `|q_j|` reaches the sparsity. From a known
code the walk goes straight to a new input, from one such point to the next (Garrigues and El Ghaoui
2008); from x = 0, whose code is 0, it is the path of Osborne, Presnell and Turlach (2000). It ends
at the minimum up to rounding, and an input that moves little costs one look at the conditions.
Coordinate descent takes hundreds of passes to the same minimum where many atoms share few
dimensions. Layers with identity messages are one such problem, with another G: see `stacked`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vnlib.compilation import Array, compiled
from vnlib.layer import Layer
from vnlib.prox import L1
from vnlib.settle.coordinate import coordinate_descent
from vnlib.settle.lasso import JointLasso, dictionary

TURNS = 500  # changes of the support on one way, at most
SLACK = 1e-9  # what rounding may add to |q|, in units of the sparsity


@dataclass
class Followed:
    """Inputs x (rows, d) and their codes: row r has count[r] active atoms, listed in `atoms`, with
    `weights`.
    """

    x: Array
    atoms: Array
    weights: Array
    count: Array


class Lasso:
    """min_a 1/2 `|x - B a|^2` + sparsity `|a|_1`, whose Gram matrix may know of more rows than
    those of B (`stacked`).

    Parameters
    ----------
    rank
        Of the Gram matrix, at most; no more atoms are active at once.
    units
        What each coefficient counts.
    """

    def __init__(
        self,
        B: Float[Tensor, "d atoms"],
        gram: Float[Tensor, "atoms atoms"],
        *,
        sparsity: float,
        rank: int,
        units: Float[Tensor, " atoms"] | None = None,
    ) -> None:
        self.B, self.gram = (np.ascontiguousarray(t.detach().double().numpy()) for t in (B, gram))
        self.sparsity, self.rank = float(sparsity), min(rank, B.shape[1])
        self.units = np.ones(B.shape[1]) if units is None else units.detach().double().numpy()

    def restricted_to(self, columns: slice, atoms: Array | None = None) -> Lasso:
        """The same problem for inputs that are 0 outside `columns`, with these atoms only (all if
        None).
        """
        other = copy.copy(self)
        other.B = np.ascontiguousarray(self.B[columns])
        if atoms is not None:
            other.B, other.units = np.ascontiguousarray(other.B[:, atoms]), self.units[atoms]
            other.gram, other.rank = self.gram[np.ix_(atoms, atoms)], min(self.rank, *other.B.shape)
        return other

    def begin(self, rows: int) -> Followed:
        """Inputs 0, whose codes are 0."""
        atoms, count = np.zeros((rows, self.rank + 1), np.int64), np.zeros(rows, np.int64)
        return Followed(np.zeros((rows, len(self.B))), atoms, np.zeros(atoms.shape), count)

    def move(self, at: Followed, x: Array) -> None:
        """Go to the inputs x (rows, d); changes `at`.

        Raises
        ------
        ValueError
            Where x has another shape than `at`.
        """
        if x.shape != at.x.shape:
            raise ValueError(
                f"x must have the shape of the inputs that are followed, {at.x.shape}, got "
                f"{x.shape}"
            )
        x, lost = np.ascontiguousarray(x, np.float64), np.zeros(len(x), np.bool_)
        _walk(self.gram, self.B, at.x, x, at.atoms, at.weights, at.count, self.sparsity, lost)
        at.x = x
        if not lost.any():
            return
        rows = np.flatnonzero(lost)  # another way to the same minimum
        codes, _, _ = coordinate_descent(
            torch.from_numpy(self.B),
            torch.from_numpy(x[rows]),
            sparsity=self.sparsity,
            tol=1e-8,
            max_passes=5000,
            gram=torch.from_numpy(self.gram),
        )
        for row, code in zip(rows, codes.numpy(), strict=True):
            found = np.argsort(-np.abs(code), kind="stable")[: min((code != 0).sum(), self.rank)]
            at.atoms[row, : len(found)], at.weights[row, : len(found)] = found, code[found]
            at.count[row] = len(found)

    def read(self, at: Followed, R: Array) -> Array:
        """R'a per row (rows, m), for R (K, m)."""
        out = np.zeros((len(at.x), R.shape[1]))
        _read(at.atoms, at.weights, at.count, self.units, R, out)
        return out

    def add(self, at: Followed, owner: Array, columns: Array, out: Array) -> None:
        """Add each row's code to the row of `out` that owns it, its atoms being these columns
        there.
        """
        _add(at.atoms, at.weights, at.count, self.units, owner, columns, out)


def single(V: Float[Tensor, "d atoms"], *, sparsity: float) -> Lasso:
    """One layer by itself."""
    V = V.detach().double()
    return Lasso(V, V.T @ V, sparsity=sparsity, rank=min(V.shape))


def stacked(layers: Sequence[Layer], feedback: float) -> Lasso:
    """All layers at once: the joint energy F of VN Sec. 3.3, with feedback > 0, as one lasso in all
    codes (`vnlib.settle.lasso`); ValueError for other penalties than l1.
    """
    for layer in layers:
        if not isinstance(layer.penalty, L1):
            raise ValueError(f"layers must have l1 penalties, got {layer.penalty!r}")
    joint = JointLasso([_double(layer) for layer in layers], feedback)
    sizes = zip(joint.sizes, joint.units, strict=True)
    units = torch.cat([torch.full((size,), unit, dtype=torch.float64) for size, unit in sizes])
    D = dictionary(joint.layers, feedback) * units
    whole = {"sparsity": joint.sparsity, "rank": min(D.shape), "units": units}
    return Lasso(D[: len(layers[0].V)], D.T @ D, **whole)


def _double(layer: Layer) -> Layer:
    U = None if layer.U is None else layer.U.detach().double()
    return replace(layer, V=layer.V.detach().double(), U=U)


@compiled
def _walk(
    G: Array,
    B: Array,
    before: Array,
    after: Array,
    atoms: Array,
    weights: Array,
    count: Array,
    lam: float,
    lost: Array,
) -> None:
    """Take every row from its input `before` to `after`; `lost` marks those whose way could not be
    gone.
    """
    K, room = B.shape[1], atoms.shape[1]
    L, S, s = np.zeros((room, room)), np.zeros(room, np.int64), np.zeros(room)
    w, dw, wanted = np.zeros(room), np.zeros(room), np.zeros(room)
    q, dq, start, target, inside = (
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K),
        np.zeros(K, np.bool_),
    )
    for row in range(len(after)):
        n = count[row]
        _drive(B, after[row], target)
        for i in range(n):
            S[i], s[i] = atoms[row, i], np.sign(weights[row, i])
        # Does the support still hold?
        holds = _factor(G, S, n, L)
        if holds:
            for i in range(n):
                wanted[i] = target[S[i]] - lam * s[i]
            _solve(L, wanted, n, w)
            for i in range(n):
                holds = holds and w[i] * s[i] > 0
            if holds:
                _rest(G, target, S, w, n, q)
                worst = 0.0
                for j in range(K):
                    worst = max(worst, abs(q[j]))
                holds = worst <= lam * (1 + SLACK)
        if holds:
            for i in range(n):
                weights[row, i] = w[i]
            continue
        # Walk: q and w at the present input, and how they change on the way.
        _drive(B, before[row], start)
        for i in range(n):
            w[i] = weights[row, i]
            inside[S[i]] = True
        _rest(G, start, S, w, n, q)
        for j in range(K):
            start[j] = target[j] - start[j]
        # atoms that depend on the support do not move, but for rounding
        still = SLACK * np.abs(start).max()
        t, left, turn = 0.0, -1, 0
        fine = _factor(G, S, n, L)
        while fine and turn < TURNS:
            for i in range(n):
                wanted[i] = start[S[i]]
            _solve(L, wanted, n, dw)
            _rest(G, start, S, dw, n, dq)
            step, event, at = 1.0 - t, 0, 0
            for i in range(n):
                if dw[i] * s[i] < 0 and w[i] * s[i] < -step * dw[i] * s[i]:
                    step, event, at = max(-w[i] / dw[i], 0.0), 1, i
            for j in range(K):
                if not inside[j] and j != left and abs(dq[j]) > still:
                    reach = (lam - q[j]) / dq[j] if dq[j] > 0 else (-lam - q[j]) / dq[j]
                    if reach < step:
                        step, event, at = max(reach, 0.0), 2, j
            t += step
            for i in range(n):
                w[i] += step * dw[i]
            for j in range(K):
                q[j] += step * dq[j]
            left = -1
            if event == 0:
                break
            if event == 1:
                left = S[at]
                inside[left] = False
                n -= 1
                for i in range(at, n):
                    S[i], s[i], w[i] = S[i + 1], s[i + 1], w[i + 1]
            else:
                fine = n + 1 < room
                if not fine:
                    break
                S[n], s[n], w[n] = at, np.sign(q[at]), 0.0
                inside[at] = True
                n += 1
            fine = _factor(G, S, n, L)
            # a copy of what is there, to rounding: left out, hence still `inside`
            if not fine and event == 2:
                n -= 1
                fine = _factor(G, S, n, L)
            turn += 1
        lost[row] = not fine or turn >= TURNS
        if not lost[row]:
            for i in range(n):
                wanted[i] = target[S[i]] - lam * s[i]
            _solve(L, wanted, n, w)
        inside[:] = False
        for i in range(n):
            atoms[row, i], weights[row, i] = S[i], w[i]
        count[row] = n


@compiled
def _drive(B: Array, x: Array, c: Array) -> None:
    """c = B'x."""
    for j in range(len(c)):
        c[j] = 0.0
    for i in range(len(x)):
        v, line = x[i], B[i]
        if v != 0:
            for j in range(len(c)):
                c[j] += v * line[j]


@compiled
def _rest(G: Array, c: Array, S: Array, w: Array, n: int, q: Array) -> None:
    """q = c - G a for the code a with the coefficients w at S."""
    for j in range(len(q)):
        q[j] = c[j]
    for i in range(n):
        v, line = w[i], G[S[i]]
        for j in range(len(q)):
            q[j] -= v * line[j]


@compiled
def _factor(G: Array, S: Array, n: int, L: Array) -> bool:
    """The Cholesky factor of G_SS, with inverted diagonal.

    False where the atoms depend on each other.
    """
    for i in range(n):
        line = G[S[i]]
        for k in range(i + 1):
            v = line[S[k]]
            for t in range(k):
                v -= L[i, t] * L[k, t]
            if k < i:
                L[i, k] = v * L[k, k]
            elif v > 1e-11 * line[S[i]]:
                L[i, i] = 1 / np.sqrt(v)
            else:
                return False
    return True


@compiled
def _solve(L: Array, c: Array, n: int, w: Array) -> None:
    """w = G_SS^-1 c."""
    for i in range(n):
        v = c[i]
        for t in range(i):
            v -= L[i, t] * w[t]
        w[i] = v * L[i, i]
    for i in range(n - 1, -1, -1):
        v = w[i]
        for t in range(i + 1, n):
            v -= L[t, i] * w[t]
        w[i] = v * L[i, i]


@compiled
def _read(atoms: Array, weights: Array, count: Array, units: Array, R: Array, out: Array) -> None:
    for row in range(len(count)):
        for i in range(count[row]):
            k = atoms[row, i]
            v = weights[row, i] * units[k]
            for m in range(R.shape[1]):
                out[row, m] += v * R[k, m]


@compiled
def _add(
    atoms: Array,
    weights: Array,
    count: Array,
    units: Array,
    owner: Array,
    columns: Array,
    out: Array,
) -> None:
    for row in range(len(count)):
        for i in range(count[row]):
            k = atoms[row, i]
            out[owner[row], columns[k]] += weights[row, i] * units[k]
