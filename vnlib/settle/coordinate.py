"""Coordinate descent on working sets: the fast settle of a single l1 layer on the CPU (VN Eq. 3 without a target).

Every sample is a lasso, min_a P(a) = 1/2 |x - V a|^2 + sparsity |a|_1, which is solved by itself:

1. The correlations q = V'(x - V a) are formed from V'x and the Gram matrix V'V, and with them the duality gap
   P(a) - D(s r) of the residual r = x - V a, where D(theta) = theta.x - 1/2 |theta|^2 and s <= sparsity / max|q| is the
   best scale that makes s r feasible, |V'theta| <= sparsity (Fercoq, Gramfort and Salmon 2015). For a >= 0 only
   V'theta <= sparsity is asked for. The gap bounds P(a) - min P, up to the rounding of q.
2. If it is too large, the atoms that break |q| <= sparsity most join the working set, a few at a time (Johnson and
   Guestrin 2015; Massias, Gramfort and Salmon 2018).
3. On the working set, whose block of the Gram matrix is copied together, passes of coordinate descent alternate with
   Newton steps on the support. A Newton step goes to the minimum for the present signs, or as far as the first
   coefficient that becomes zero, so it descends as the passes do; it ends the slow tail that coherent atoms cause.

The loops are compiled by numba and run without the interpreter's lock, in as many threads as torch uses. No
sum runs over samples, so a sample's code has the same bits in every batch and for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import ceil

import numba
import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from vnlib import checks

Array = np.ndarray

REACH = 0.6  # an atom joins if its excess |q| - sparsity is at least this share of the largest one
ROOM = 3  # ... and at most this many join at once, or half the working set
INNER = 0.3  # the working set is solved to this share of the largest excess outside it
BLOCK = 32  # lengths of inner loops are multiples of this, which leaves no remainder to vectorised code
ROWS = 16  # batches are filled up to multiples of this: BLAS treats the rows of odd batches differently


def coordinate_descent(
    V: Float[Tensor, "d atoms"],
    x: Float[Tensor, "batch d"],
    *,
    sparsity: float,
    tol: float,
    max_passes: int,
    nonnegative: bool = False,
    start: Float[Tensor, "batch atoms"] | None = None,
    gram: Float[Tensor, "atoms atoms"] | None = None,
) -> tuple[Float[Tensor, "batch atoms"], Float[Tensor, " batch"], Int[Tensor, " batch"]]:
    """Codes that minimise 1/2 |x - V a|^2 + sparsity |a|_1 to a relative duality gap, per sample.

    tol: a sample stops when its gap is at most `tol` times its energy, or no larger than rounding allows (about 1e-5 in
    float32). max_passes: passes over the working set at most, a pass with its Newton step counted as one.
    nonnegative: a >= 0. start: codes to start from; sparse ones save time. gram: V'V, see `gram_matrix`; computed
    if not given (K^2 numbers).

    Returns the codes, the gap of each in units of the energy (float64), and the passes made. Raises ValueError for
    arguments of the wrong shape, type or device.
    """
    V, x = V.detach(), x.detach()
    if V.ndim != 2 or not V.numel() or V.dtype not in (torch.float32, torch.float64) or V.device.type != "cpu":
        raise ValueError(f"V must be (d, atoms), float32 or float64, on the CPU, got {_described(V)}")
    batch, (d, K) = len(x) if x.ndim else 1, V.shape
    checks.number("sparsity", sparsity, low=0)
    checks.number("tol", tol, low=0)
    checks.number("max_passes", max_passes, low=1, integer=True)
    shapes = {"V": (d, K), "x": (batch, d), "start": (batch, K), "gram": (K, K)}
    for name, given in (("V", V), ("x", x), ("start", start), ("gram", gram)):
        if given is None:
            continue
        if given.shape != shapes[name] or given.dtype != V.dtype or given.device != V.device:
            raise ValueError(f"{name} must be {shapes[name]}, {V.dtype}, on the CPU, got {_described(given)}")
        if not given.sum().isfinite():  # quicker than a look at every number, which it calls for
            checks.finite(name, given)
    if start is None:
        codes = V.new_zeros(batch, K)
    else:
        codes = start.detach().clone(memory_format=torch.contiguous_format)
        if nonnegative:
            codes.clamp_(min=0)
    gram = gram_matrix(V) if gram is None else gram.detach().contiguous()
    filled = torch.nn.functional.pad(x, (0, 0, 0, -batch % ROWS))
    drive, energy = filled @ V, x.double().square().sum(1)
    gap, passes = torch.zeros(batch, dtype=torch.float64), torch.zeros(batch, dtype=torch.int64)
    number = gram.numpy().dtype.type
    arrays = [t.numpy() for t in (drive[:batch], energy, codes, gap, passes)]

    def solve(rows: slice) -> None:
        sign = number(0 if nonnegative else 1)
        _solve(gram.numpy(), *(a[rows] for a in arrays), number(sparsity), sign, float(tol), int(max_passes))

    threads = min(torch.get_num_threads(), batch)
    if threads <= 1:
        solve(slice(None))
    else:
        size = min(64, ceil(batch / (4 * threads)))  # small parts, since samples differ in their cost
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(solve, [slice(i, i + size) for i in range(0, batch, size)]))
    return codes, gap, passes


def gram_matrix(V: Float[Tensor, "d atoms"]) -> Float[Tensor, "atoms atoms"]:
    """V'V, at little more than half the cost of the product: the upper triangle by strips, the lower one mirrored."""
    K = V.shape[1]
    gram, strip = V.new_empty(K, K), max(128, ceil(K / 8))
    for i in range(0, K, strip):
        j = min(i + strip, K)
        torch.mm(V[:, i:j].T, V[:, i:], out=gram[i:j, i:])
        gram[j:, i:j] = gram[i:j, j:].T
    return gram


def _described(x: object) -> str:
    return f"{tuple(x.shape)}, {x.dtype}, on {x.device}" if isinstance(x, Tensor) else repr(x)


def _compiled(function: Callable) -> Callable:
    # Sums may be reordered, and all numbers are finite: the inputs were checked.
    fast = {"reassoc", "contract", "arcp", "nsz", "nnan", "ninf"}
    options = {"nogil": True, "fastmath": fast, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder that the compiled code could be kept in
        return numba.njit(**options)(function)


@_compiled
def _solve(
    G: Array, drive: Array, energy: Array, codes: Array, gaps: Array, passes: Array,
    lam: float, sign: float, tol: float, max_passes: int,
) -> None:  # fmt: skip
    """Solve every row. `codes` holds the start and becomes the result; sign: 0 for a >= 0, else 1."""
    K = G.shape[0]
    size = min(-(-K // BLOCK), 3) * BLOCK
    # The working set: atoms, code w, correlations g, inverse curvatures, Gram block S, Cholesky factor L.
    S, L = np.zeros((size, size), G.dtype), np.zeros((size, size), G.dtype)
    vectors = np.zeros((6, K + BLOCK), G.dtype)
    w, g, inverse = vectors[0], vectors[1], vectors[2]
    atoms, support, marked = np.empty(K, np.int64), np.empty(K, np.int64), np.zeros(K, np.bool_)
    q, excess = np.empty(K, G.dtype), np.empty(K, G.dtype)
    zero = lam * 0
    for row in range(len(drive)):
        # np.int64(0), because numba would compile what is called with a literal 0 for that value alone.
        n = factored = np.int64(0)
        c, filled, done = drive[row], 0, 0
        noise = 4 * np.finfo(G.dtype).eps * np.sqrt(energy[row])
        for j in range(K):
            if codes[row, j] != 0 and G[j, j] > 0:
                atoms[n], w[n] = j, codes[row, j]
                n += 1
            codes[row, j] = 0
        while True:
            # All correlations, and the gap.
            _correlate(G, c, atoms, w, n, q)
            largest = zero
            for j in range(K):
                excess[j] = max(q[j], -sign * q[j])
                largest = max(largest, excess[j])
            explained, again, norm, inside = 0.0, 0.0, 0.0, zero
            for i in range(n):
                g[i] = q[atoms[i]]
                explained += w[i] * c[atoms[i]]
                again += w[i] * g[i]
                norm += abs(w[i])
                excess[atoms[i]] = 0
            residual = max(energy[row] - explained - again, 0.0)  # |r|^2; x.r = energy - explained
            along = energy[row] - explained
            primal = 0.5 * residual + lam * norm
            s = lam / largest if largest > lam else 1.0
            if along < s * residual:
                s = max(along / residual, 0.0)
            gap = primal - s * along + 0.5 * s * s * residual
            outside = zero
            for j in range(K):
                outside = max(outside, excess[j])
            outside -= lam
            inside = _violation(w, g, n, lam, sign)
            if gap <= 0.999 * tol * primal or done >= max_passes or max(inside, outside) <= noise:
                break
            # More atoms.
            before = n
            if outside > 0:
                n = _join(G, excess, lam + REACH * outside, lam + outside, ROOM + n // 2, atoms, n)
            while n > size:
                size *= 2
                S, L = _wider(S, size), _wider(L, size)
            for i in range(before, n):
                w[i], g[i] = 0, q[atoms[i]]
            for i in range(filled, n):
                source = G[atoms[i]]
                inverse[i] = 1 / source[atoms[i]]
                for k in range(n):
                    S[i, k] = source[atoms[k]]
                for k in range(filled):
                    S[k, i] = S[i, k]
            filled = n
            width = -(-n // BLOCK) * BLOCK
            for k in range(n, width):
                g[k] = 0
            # Solve on the working set.
            while done < max_passes:
                _sweep(S, w, g, inverse, n, width, lam, sign)
                factored = _newton(S, L, w, g, n, width, lam, support, factored, marked, vectors)
                done += 1
                norm = 0.0
                for i in range(n):
                    norm += abs(w[i])
                inside = _violation(w, g, n, lam, sign)
                if inside <= max(INNER * outside, noise) or inside * norm <= 0.5 * tol * primal:
                    break
        for i in range(n):
            codes[row, atoms[i]] = w[i]
        gaps[row], passes[row] = max(gap, 0.0), done


@_compiled
def _wider(A: Array, size: int) -> Array:
    wide = np.zeros((size, size), A.dtype)
    for i in range(len(A)):
        for k in range(len(A)):
            wide[i, k] = A[i, k]
    return wide


@_compiled
def _correlate(G: Array, c: Array, atoms: Array, w: Array, n: int, q: Array) -> None:
    """q = c - G a."""
    for j in range(len(q)):
        q[j] = c[j]
    for i in range(n):
        v, row = w[i], G[atoms[i]]
        if v != 0:
            for j in range(len(q)):
                q[j] -= v * row[j]


@_compiled
def _violation(w: Array, g: Array, n: int, lam: float, sign: float) -> float:
    """How far the working set is from its optimality conditions: g = lam sign(w) where w != 0, else |g| <= lam."""
    worst = lam * 0
    for i in range(n):
        if w[i] != 0:
            worst = max(worst, abs(g[i] - (lam if w[i] > 0 else -lam)))
        else:
            worst = max(worst, max(g[i], -sign * g[i]) - lam)
    return worst


@_compiled
def _join(G: Array, excess: Array, low: float, high: float, room: int, atoms: Array, n: int) -> int:
    """Append the atoms with low <= excess <= high, the largest first by 64 classes, as long as there is room."""
    found = n
    for j in range(len(excess)):
        if excess[j] >= low and G[j, j] > 0:
            atoms[found] = j
            found += 1
    if found <= n + room:
        return found
    count = np.zeros(64, np.int64)
    scale = 63 / (high - low) if high > low else low * 0
    for i in range(n, found):
        count[int((excess[atoms[i]] - low) * scale)] += 1
    last, total = 63, count[63]
    while last > 0 and (total == 0 or total + count[last - 1] <= room):  # rounding may leave the last class empty
        last -= 1
        total += count[last]
    for i in range(n, found):
        if int((excess[atoms[i]] - low) * scale) >= last:
            atoms[n] = atoms[i]
            n += 1
    return n


@_compiled
def _sweep(S: Array, w: Array, g: Array, inverse: Array, n: int, width: int, lam: float, sign: float) -> None:
    """One pass of coordinate descent: each coefficient goes to its minimum, g follows."""
    zero, ahead = lam * 0, g[0]
    for i in range(n):
        z, t = w[i] + ahead * inverse[i], lam * inverse[i]
        new = max(z - t, zero) - max(-sign * z - t, zero)
        change, row = new - w[i], S[i]
        # The next coefficient needs its g at once, before the whole of g has been written.
        following = min(i + 1, n - 1)
        ahead = g[following] - change * row[following]
        if change != 0:
            w[i] = new
            for k in range(width):
                g[k] -= change * row[k]


@_compiled
def _newton(
    S: Array, L: Array, w: Array, g: Array, n: int, width: int, lam: float,
    support: Array, factored: int, marked: Array, vectors: Array,
) -> int:  # fmt: skip
    """A Newton step on the support, cut where a coefficient becomes zero. Returns the rows of L that are in use.

    L L' is the Gram matrix of the support, with 1 / L_kk kept on the diagonal. Rows up to the first atom that
    left the support are used again. Atoms that depend on earlier ones are left out: coordinate descent moves those.
    """
    y, z, along = vectors[3], vectors[4], vectors[5]
    kept = 0
    while kept < factored and w[support[kept]] != 0:
        marked[support[kept]] = True
        kept += 1
    total = kept
    for k in range(kept, factored):
        if w[support[k]] != 0:
            support[total] = support[k]
            marked[support[total]] = True
            total += 1
    for i in range(n):
        if w[i] != 0 and not marked[i]:
            support[total] = i
            total += 1
        marked[i] = False
    m = kept
    for k in range(kept, total):
        i, new = support[k], L[m]
        row, pivot = S[i], S[i, i]
        for r in range(m):
            known, v = L[r], row[support[r]]
            for t in range(r):
                v -= known[t] * z[t]
            z[r] = v * known[r]
            pivot -= z[r] * z[r]
        if pivot > 100 * np.finfo(S.dtype).eps * row[i]:
            for t in range(m):
                new[t] = z[t]
            new[m] = 1 / np.sqrt(pivot)
            support[m] = i
            m += 1
    # y = (L L')^-1 (g - lam sign(w)).
    for k in range(m):
        known, i = L[k], support[k]
        v = g[i] - (lam if w[i] > 0 else -lam)
        for t in range(k):
            v -= known[t] * z[t]
        z[k] = v * known[k]
    for k in range(m - 1, -1, -1):
        known = L[k]
        y[k] = z[k] * known[k]
        for t in range(k):
            z[t] -= y[k] * known[t]
    for t in range(width):
        along[t] = 0
    for k in range(m):
        v, row = y[k], S[support[k]]
        for t in range(width):
            along[t] += v * row[t]
    slope, curvature = lam * 0, lam * 0
    for k in range(m):
        i = support[k]
        slope += y[k] * (g[i] - (lam if w[i] > 0 else -lam))
        curvature += y[k] * along[i]
    if slope > 0 and curvature > 0:
        # 1 but for rounding, which this makes harmless.
        step, emptied = slope / curvature, -1
        for k in range(m):
            a = w[support[k]]
            if a * (a + step * y[k]) <= 0:
                step, emptied = -a / y[k], support[k]
        for k in range(m):
            w[support[k]] += step * y[k]
        if emptied >= 0:
            w[emptied] = 0
        for t in range(width):
            g[t] -= step * along[t]
    return m
