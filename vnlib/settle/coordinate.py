"""Coordinate descent on working sets: the fast settle of a single l1 layer on the CPU (VN Eq. 3
without a target).

Every sample is a lasso, min_a P(a) = 1/2 `|x - V a|^2` + sparsity `|a|_1`, which is solved by
itself:

1. The correlations q = V'(x - V a) are formed from V'x and the Gram matrix V'V, and with them the
   duality gap P(a) - D(s r) of the residual r = x - V a, where D(theta) = theta.x - 1/2 `|theta|^2`
   and s <= sparsity / max|q| is the best scale that makes s r feasible, `|V'theta|` <= sparsity
   (Fercoq, Gramfort and Salmon 2015). For a >= 0 only V'theta <= sparsity is asked for. The gap
   bounds P(a) - min P, up to the rounding of q.
2. If it is too large, the atoms that break `|q|` <= sparsity most join the working set, a few at a
   time (Johnson and Guestrin 2015; Massias, Gramfort and Salmon 2018).
3. On the working set, whose block of the Gram matrix is copied together, passes of coordinate
   descent alternate with Newton steps on the support. A Newton step goes to the minimum for the
   present signs, or as far as the first coefficient that becomes zero, so it descends as the passes
   do; it ends the slow tail that coherent atoms cause.

The loops are compiled by numba and run without the interpreter's lock, in as many threads as torch
uses. No sum runs over samples, so a sample's code has the same bits in every batch and for any
number of threads, as far as BLAS gives V'x the same bits (`ROWS`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import ceil

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vnlib import checks
from vnlib.settle import working_set

# batches are filled up to multiples of this: BLAS treats the rows of odd batches differently
ROWS = 16


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
    """Codes that minimise 1/2 `|x - V a|^2` + sparsity `|a|_1` to a relative duality gap.

    Returns the codes, the gap of each in units of the energy (float64), and the passes made.

    Parameters
    ----------
    tol
        A sample stops when its gap is at most `tol` times its energy, or no larger than rounding
        allows (about 1e-5 in float32).
    max_passes
        Passes over the working set at most, a pass with its Newton step counted as one.
    start
        Codes to start from; sparse ones save time.
    gram
        V'V, see `gram_matrix`; computed if not given (K^2 numbers).

    Raises
    ------
    ValueError
        For arguments of the wrong shape, type or device.
    """
    V, x = V.detach(), x.detach()
    known = V.dtype in (torch.float32, torch.float64) and V.device.type == "cpu"
    if V.ndim != 2 or not V.numel() or not known:
        raise ValueError(
            f"V must be (d, atoms), float32 or float64, on the CPU, got {_described(V)}"
        )
    batch, (d, K) = len(x) if x.ndim else 1, V.shape
    checks.number("sparsity", sparsity, low=0)
    checks.number("tol", tol, low=0)
    checks.number("max_passes", max_passes, low=1, integer=True)
    shapes = {"V": (d, K), "x": (batch, d), "start": (batch, K), "gram": (K, K)}
    for name, given in (("V", V), ("x", x), ("start", start), ("gram", gram)):
        if given is None:
            continue
        if given.shape != shapes[name] or given.dtype != V.dtype or given.device != V.device:
            raise ValueError(
                f"{name} must be {shapes[name]}, {V.dtype}, on the CPU, got {_described(given)}"
            )
        if not given.sum().isfinite():  # quicker than a look at every number, which it calls for
            checks.finite(name, given)
    codes = V.new_zeros(batch, K)
    if start is not None:
        codes.copy_(start.detach().clamp(min=0) if nonnegative else start.detach())
    gram = gram_matrix(V) if gram is None else gram.detach().contiguous()
    filled = torch.nn.functional.pad(x, (0, 0, 0, -batch % ROWS))
    drive, energy = filled @ V, x.double().square().sum(1)
    gap, passes = torch.zeros(batch, dtype=torch.float64), torch.zeros(batch, dtype=torch.int64)
    G, *arrays = (t.numpy() for t in (gram, drive[:batch], energy, codes, gap, passes))
    weight, sign = G.dtype.type(sparsity), G.dtype.type(0 if nonnegative else 1)

    def solve(rows: slice) -> None:
        part = [a[rows] for a in arrays]
        working_set.solve(G, *part, weight, sign, float(tol), int(max_passes))

    threads = min(torch.get_num_threads(), batch)
    if threads <= 1:
        solve(slice(None))
    else:
        # small parts, since samples differ in their cost
        size = min(64, ceil(batch / (4 * threads)))
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(solve, [slice(i, i + size) for i in range(0, batch, size)]))
    return codes, gap, passes


def gram_matrix(V: Float[Tensor, "d atoms"]) -> Float[Tensor, "atoms atoms"]:
    """V'V at little more than half the cost: the upper triangle by strips, then mirrored."""
    K = V.shape[1]
    gram, strip = V.new_empty(K, K), max(128, ceil(K / 8))
    for i in range(0, K, strip):
        j = min(i + strip, K)
        torch.mm(V[:, i:j].T, V[:, i:], out=gram[i:j, i:])
        gram[j:, i:j] = gram[i:j, j:].T
    return gram


def _described(x: object) -> str:
    return f"{tuple(x.shape)}, {x.dtype}, on {x.device}" if isinstance(x, Tensor) else repr(x)
