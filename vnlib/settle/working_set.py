"""The compiled loops of coordinate descent; `vnlib.settle.coordinate` says what they do.

Rows are samples. The working set of a sample lists its `atoms`; w, g and `inverse` are their
coefficients, correlations and inverse curvatures, and S their block of the Gram matrix. `sign` is
0 where codes are >= 0, else 1. `gamma` is that of an MCP, None for l1; numba leaves out what asks
for another one.

The Gram matrix is G, unless A holds the atoms as rows (atoms, d). Then it is A M A' + G, where M
keeps the inputs that the `mask` of the sample shows and G may be empty, and only the blocks of
working sets are formed of it.

All loops share a file, since numba keeps compiled code until the file changes: a step of its own
file could be mended, and the loop would go on with the old one.
"""

from __future__ import annotations

import numpy as np

from vnlib.compilation import Array, compiled

REACH = 0.6  # an atom joins if its excess |q| - sparsity is at least this share of the largest one
ROOM = 3  # ... and at most this many join at once, or half the working set
LARGE = 64  # supports above this lose atoms by rotations
TURNS = 4  # Newton steps per pass of l1 at most, each ending at a coefficient that becomes zero
INNER = 0.3  # the working set is solved to this share of the largest excess outside it
# lengths of inner loops are multiples of this, which leaves no remainder to vectorised code
BLOCK = 32


@compiled
def solve(
    G: Array,
    A: Array,
    rows: tuple[Array, ...],
    sign: float,
    tol: float,
    max_passes: int,
    norm_of_atoms: float,
    flat: bool,
    gamma: float | None,
) -> None:
    """Solve every row. `codes` holds the start and becomes the result, as gaps and passes do.

    x and mask have no columns where A has no rows; `weights` are lambdas. `flat`: see `_newton`.
    """
    x, mask, diagonal, drive, energy, codes, gaps, passes, weights = rows
    K, columns = codes.shape[1], len(A) > 0
    B = np.zeros((0, A.shape[1]), A.dtype)
    size = min(-(-K // BLOCK), 3) * BLOCK
    S, L = np.zeros((size, size), G.dtype), np.zeros((size, size), G.dtype)
    vectors = np.zeros((6, K + BLOCK), G.dtype)
    w, g, inverse = vectors[0], vectors[1], vectors[2]
    atoms, support, marked = np.empty(K, np.int64), np.empty(K, np.int64), np.zeros(K, np.bool_)
    q, excess = np.empty(K, G.dtype), np.empty(K, G.dtype)
    for row in range(len(drive)):
        lam, diag = weights[row], diagonal[row]
        zero = lam * 0
        # np.int64(0), because numba would compile what is called with a literal 0 for that value
        # alone.
        n = factored = np.int64(0)
        c, filled, done = drive[row], 0, 0
        noise = 4 * np.finfo(G.dtype).eps * np.sqrt(energy[row]) * norm_of_atoms
        held, seen, last = np.int64(0), np.flatnonzero(mask[row]), np.inf
        for j in range(K):
            if codes[row, j] != 0 and diag[j] > 0:
                atoms[n], w[n], inverse[n] = j, codes[row, j], 1 / diag[j]
                n += 1
            codes[row, j] = 0
        while True:
            # All correlations, and the gap.
            if columns:
                B, held = _gather(A, seen, atoms, B, held, n)
                _correlate_columns(G, A, B, x[row], seen, atoms, w, n, q)
            else:
                _correlate(G, c, atoms, w, n, q)
            largest = zero
            for j in range(K):
                excess[j] = max(q[j], -sign * q[j])
                if gamma is not None:  # hard thresholds may be lower than lam
                    excess[j] += lam * max(1 - np.sqrt(gamma * diag[j]), zero)
                largest = max(largest, excess[j])
            explained, again, norm, inside = 0.0, 0.0, 0.0, zero
            for i in range(n):
                g[i] = q[atoms[i]]
                explained += w[i] * c[atoms[i]]
                again += w[i] * g[i]
                share = abs(w[i]) if gamma is None else min(abs(w[i]), gamma * lam)
                norm += share if gamma is None else share - share * share / (2 * gamma * lam)
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
            inside = _violation(vectors, n, lam, sign, gamma)
            if gamma is not None:  # there is no gap: what the last round gained
                gap, last = last - primal if tol > 0 else np.inf, primal
            if gap <= 0.999 * tol * primal or done >= max_passes or max(inside, outside) <= noise:
                break
            # More atoms.
            before = n
            if outside > 0:
                n = _join(
                    diag, excess, lam + REACH * outside, lam + outside, ROOM + n // 2, atoms, n
                )
            while n > size:
                size *= 2
                S, L = _wider(S, size), _wider(L, size)
            for i in range(before, n):
                w[i], g[i] = 0, q[atoms[i]]
            if columns:
                B, held = _gather(A, seen, atoms, B, held, n)
                _products(G, B, len(seen), atoms, S, inverse, filled, n)
            else:
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
                if gamma is None:
                    _sweep(S, vectors, n, width, lam, sign, gamma)
                turns, cut = 0, True
                while cut and turns < (n if gamma is not None else TURNS if flat else 1):
                    factored, cut = _newton(
                        S, L, n, width, lam, support, factored, marked, vectors, flat, gamma
                    )
                    turns += 1
                if gamma is not None:
                    _sweep(S, vectors, n, width, lam, sign, gamma)
                done += 1
                norm = 0.0
                for i in range(n):
                    norm += abs(w[i])
                inside = _violation(vectors, n, lam, sign, gamma)
                if inside <= max(INNER * outside, noise) or inside * norm <= 0.5 * tol * primal:
                    break
        for i in range(n):
            codes[row, atoms[i]] = w[i]
        gaps[row], passes[row] = max(gap, 0.0), done


@compiled
def _wider(A: Array, size: int) -> Array:
    wide = np.zeros((size, size), A.dtype)
    wide[: len(A), : len(A)] = A
    return wide


@compiled
def _correlate(G: Array, c: Array, atoms: Array, w: Array, n: int, q: Array) -> None:
    """q = c - G a."""
    q[:] = c
    for i in range(n):
        v, row = w[i], G[atoms[i]]
        if v != 0:
            for j in range(len(q)):
                q[j] -= v * row[j]


@compiled
def _gather(A: Array, seen: Array, atoms: Array, B: Array, held: int, n: int) -> tuple[Array, int]:
    """Rows held..n of B become what is seen of the atoms of the working set, nothing of those
    without a row in A; returns B, which may have grown, and n.
    """
    if n > len(B):
        higher = np.zeros((max(n, 2 * len(B)), A.shape[1]), B.dtype)
        higher[:held] = B[:held]
        B = higher
    for i in range(held, n):
        inside = atoms[i] < len(A)
        for t in range(len(seen)):
            B[i, t] = A[atoms[i], seen[t]] if inside else 0
    return B, n


@compiled
def _products(
    G: Array, B: Array, shown: int, atoms: Array, S: Array, inverse: Array, filled: int, n: int
) -> None:
    """The rows and columns filled..n of S."""
    for i in range(filled, n):
        for k in range(i + 1):
            v = G[atoms[i], atoms[k]] if len(G) else B.dtype.type(0)
            for t in range(shown):
                v += B[i, t] * B[k, t]
            S[i, k] = S[k, i] = v
        inverse[i] = 1 / S[i, i]


@compiled
def _correlate_columns(
    G: Array, A: Array, B: Array, x: Array, seen: Array, atoms: Array, w: Array, n: int, q: Array
) -> None:
    """q = A r - G a, with the residual r = x - B a where something is seen, else 0."""
    r, y = np.zeros(A.shape[1], A.dtype), x[seen]
    for i in range(n):
        for t in range(len(seen)):
            y[t] -= w[i] * B[i, t]
    r[seen] = y
    q[:] = 0
    for j in range(len(A)):
        v = q[j]
        for t in range(len(r)):
            v += A[j, t] * r[t]
        q[j] = v
    for i in range(n if len(G) else 0):
        for j in range(len(q)):
            q[j] -= w[i] * G[atoms[i], j]


@compiled
def _violation(vectors: Array, n: int, lam: float, sign: float, gamma: float | None) -> float:
    """How far the working set is from its optimality conditions: g = lam sign(w) where w != 0, else
    `|g|` <= lam; with a gamma, g from what its proximal step would leave where it is.
    """
    w, g, inverse, worst = vectors[0], vectors[1], vectors[2], lam * 0
    for i in range(n):
        if gamma is not None:
            new = _firm(w[i] + g[i] * inverse[i], inverse[i], lam, gamma)
            worst = max(worst, abs(new - w[i]) / inverse[i])
        elif w[i] != 0:
            worst = max(worst, abs(g[i] - (lam if w[i] > 0 else -lam)))
        else:
            worst = max(worst, max(g[i], -sign * g[i]) - lam)
    return worst


@compiled
def _join(
    diag: Array, excess: Array, low: float, high: float, room: int, atoms: Array, n: int
) -> int:
    """Append the atoms with low <= excess <= high, the largest first by 64 classes, as long as
    there is room.
    """
    found = n
    for j in range(len(excess)):
        if excess[j] >= low and diag[j] > 0:
            atoms[found] = j
            found += 1
    if found <= n + room:
        return found
    count = np.zeros(64, np.int64)
    scale = 63 / (high - low) if high > low else low * 0
    for i in range(n, found):
        count[int((excess[atoms[i]] - low) * scale)] += 1
    last, total = 63, count[63]
    # rounding may leave the last class empty
    while last > 0 and (total == 0 or total + count[last - 1] <= room):
        last -= 1
        total += count[last]
    for i in range(n, found):
        if int((excess[atoms[i]] - low) * scale) >= last:
            atoms[n] = atoms[i]
            n += 1
    return n


@compiled
def _firm(z: float, step: float, lam: float, gamma: float) -> float:
    """The proximal step of an MCP (`vnlib.prox.MCP`)."""
    if abs(z) > lam * np.sqrt(gamma * max(step, gamma)):
        return z
    rise = 1 - step / gamma
    if abs(z) <= lam * step or rise < np.sqrt(np.finfo(type(z)).eps):
        return lam * 0
    return np.sign(z) * (abs(z) - lam * step) / rise


@compiled
def _slope(w: float, lam: float, gamma: float | None) -> float:
    """The derivative of the penalty at w != 0."""
    size = lam if gamma is None else max(lam - abs(w) / gamma, lam * 0)
    return size if w > 0 else -size


@compiled
def _sweep(
    S: Array, vectors: Array, n: int, width: int, lam: float, sign: float, gamma: float | None
) -> None:
    """One pass of coordinate descent: each coefficient goes to its minimum, g follows."""
    w, g, inverse = vectors[0], vectors[1], vectors[2]
    zero, ahead = lam * 0, g[0]
    for i in range(n):
        z, t = w[i] + ahead * inverse[i], lam * inverse[i]
        new = max(z - t, zero) - max(-sign * z - t, zero)
        if gamma is not None:
            new = _firm(z, inverse[i], lam, gamma)
        change, row = new - w[i], S[i]
        # The next coefficient needs its g at once, before the whole of g has been written.
        following = min(i + 1, n - 1)
        ahead = g[following] - change * row[following]
        if change != 0:
            w[i] = new
            for k in range(width):
                g[k] -= change * row[k]


@compiled
def _newton(
    S: Array,
    L: Array,
    n: int,
    width: int,
    lam: float,
    support: Array,
    factored: int,
    marked: Array,
    vectors: Array,
    flat: bool,
    gamma: float | None,
) -> tuple[int, bool]:
    """A Newton step on the support, cut where a coefficient becomes zero.

    L L' is the Gram matrix of the support, with 1 / L_kk kept on the diagonal. Rows up to the first
    atom that left the support are used again. Atoms that depend on earlier ones are left out:
    coordinate descent moves those, or, if `flat`, the first of them slides instead of the step.

    Returns the rows of L that are in use, and whether a coefficient became zero.
    """
    w, g, y, z, along = vectors[0], vectors[1], vectors[3], vectors[4], vectors[5]
    if factored > LARGE:
        for k in range(factored - 1, -1, -1):
            if w[support[k]] == 0:
                factored -= 1
                _delete(L, support, k, factored, y, z)
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
        elif flat:
            _slide(S, L, i, m, width, lam, support, vectors)
            return m, True
    # y = (L L')^-1 (g - lam sign(w)).
    for k in range(m):
        known, i = L[k], support[k]
        v = g[i] - _slope(w[i], lam, gamma)
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
        slope += y[k] * (g[i] - _slope(w[i], lam, gamma))
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
        return m, emptied >= 0
    return m, False


@compiled
def _delete(L: Array, support: Array, k: int, m: int, c: Array, s: Array) -> None:
    """Take atom k out of the factor of the support, of which m are left, by rotations."""
    for i in range(k, m):
        old, new = L[i + 1], L[i]
        v = old[k]
        for j in range(k):
            new[j] = old[j]
        for j in range(k, i):
            new[j] = c[j] * v + s[j] * old[j + 1]
            v = c[j] * old[j + 1] - s[j] * v
        pivot = 1 / old[i + 1]
        size = np.sqrt(v * v + pivot * pivot)
        c[i], s[i], new[i] = v / size, pivot / size, 1 / size
        support[i] = support[i + 1]


@compiled
def _slide(
    S: Array, L: Array, i: int, m: int, width: int, lam: float, support: Array, vectors: Array
) -> None:
    """Move along the direction in which atom i and the m first of the support, on which it depends,
    change no residual, downhill to the first coefficient that becomes zero; L z is row i of S.
    """
    w, g, y, z = vectors[0], vectors[1], vectors[3], vectors[4]
    for k in range(m - 1, -1, -1):
        known = L[k]
        y[k] = z[k] * known[k]
        for t in range(k):
            z[t] -= y[k] * known[t]
    slope = (lam if w[i] > 0 else -lam) - g[i]
    for k in range(m):
        slope -= y[k] * ((lam if w[support[k]] > 0 else -lam) - g[support[k]])
    way = lam * 0 + (-1 if slope > 0 else 1)
    step, emptied = abs(w[i]) if way * w[i] < 0 else lam * 0 + np.inf, i
    for k in range(m):
        if way * y[k] * w[support[k]] > 0 and abs(w[support[k]]) < step * abs(y[k]):
            step, emptied = abs(w[support[k]] / y[k]), support[k]
    step = step * way
    w[i] += step
    for t in range(width):
        g[t] -= step * S[i, t]
    for k in range(m):
        w[support[k]] -= step * y[k]
        for t in range(width):
            g[t] += step * y[k] * S[support[k], t]
    w[emptied] = 0
