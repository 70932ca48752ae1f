"""Coordinate descent on working sets: the fast settle of l1 penalties, on the CPU (VN Eq. 3 without
a target; `vnlib.settle.lasso` makes one such problem of a stack).

Every sample is a lasso, min_a P(a) = 1/2 `|x - V a|^2` + sparsity `|a|_1`, which is solved by
itself:

1. The correlations q = V'(x - V a) follow from V'x and the Gram matrix, and with them the duality
   gap P(a) - D(s r) of the residual r, with D(theta) = theta.x - 1/2 `|theta|^2` and the best scale
   s for which `|V's r|` <= sparsity (Fercoq, Gramfort and Salmon 2015), or V's r <= sparsity for
   a >= 0. The gap bounds P(a) - min P, up to the rounding of q.
2. If it is too large, the atoms that break `|q|` <= sparsity most join the working set, a few at a
   time (Johnson and Guestrin 2015; Massias, Gramfort and Salmon 2018).
3. On the working set passes of coordinate descent alternate with Newton steps on the support, each
   to the minimum for the present signs, or as far as the first coefficient that becomes zero; that
   ends the slow tail which coherent atoms cause.

The penalties that are not convex, all cases of an MCP, have no gap. Passes of its proximal step stop
at a minimum in every coefficient alone, in the working set and outside. The Newton steps come first
there and take the penalty by its tangent, which lies above it.

The loops are compiled by numba and run without the interpreter's lock, in as many threads as torch
uses. No sum runs over samples, so a sample's code has the same bits in every batch and for any
number of threads, as far as BLAS gives V'x the same bits (`ROWS`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import ceil

import torch
from jaxtyping import Float, Int
from numba.core import event
from torch import Tensor
from torch.nn.functional import pad

from vnlib import checks
from vnlib.compilation import Announce
from vnlib.settle import working_set

# batches are filled up to multiples of this: BLAS treats the rows of odd batches differently
ROWS = 16
MANY = 8000  # atoms, whose Gram matrix takes 256 MB in float32
START = 1e-2  # relative gap of the l1 codes that an MCP starts from


def coordinate_descent(
    V: Float[Tensor, "d atoms"],
    x: Float[Tensor, "batch d"],
    *,
    sparsity: float | Float[Tensor, " batch"],
    tol: float,
    max_passes: int,
    nonnegative: bool = False,
    start: Float[Tensor, "batch all"] | None = None,
    gram: Float[Tensor, "all all"] | None = None,
    rest: Float[Tensor, "all all"] | None = None,
    mask: Float[Tensor, "batch d"] | None = None,
    gamma: float | None = None,
) -> tuple[Float[Tensor, "batch all"], Float[Tensor, " batch"], Int[Tensor, " batch"]]:
    """Codes that minimise 1/2 `|x - V a|^2` + sparsity `|a|_1` to a relative duality gap.

    Returns the codes, the gap of each in units of the energy (float64), and the passes made. With a
    gamma, instead of the gap, by what the last round lowered the energy. ValueError for arguments
    of the wrong shape, type or device.

    Parameters
    ----------
    sparsity
        One number, or one per sample.
    tol
        A sample stops when its gap is at most `tol` times its energy, or no larger than rounding
        allows (about 1e-5 in float32).
    max_passes
        Passes over the working set at most, a pass with its Newton step counted as one.
    start
        Codes to start from; sparse ones save time.
    gram, rest
        H = V'V + rest, computed if not given (K^2 numbers; see `gram_matrix`). `rest` is what the
        Hessian has beyond V'V: that of further rows of V, whose inputs are 0. It may know of more
        atoms than V, which those rows alone hold.
    mask
        1 where x counts, 0 elsewhere: H = V'MV + rest for every sample, of which only blocks of
        working sets are formed. So it is for more than `MANY` atoms, unless `gram` is given.
    gamma
        That of an `MCP` (None: l1); what starts from a = 0 starts from the l1 codes then.
    """
    V, x = V.detach(), x.detach()
    known = V.dtype in (torch.float32, torch.float64) and V.device.type == "cpu"
    if V.ndim != 2 or not V.numel() or not known:
        raise ValueError(
            f"V must be (d, atoms), float32 or float64, on the CPU, got {_described(V)}"
        )
    batch, (d, own) = len(x) if x.ndim else 1, V.shape
    K = max([own, *(len(t) for t in (gram, rest) if isinstance(t, Tensor) and t.ndim)])
    weights = torch.as_tensor(sparsity, dtype=V.dtype)
    if weights.shape not in ((), (batch,)):
        raise ValueError(f"sparsity must be a number or ({batch},), got {_described(sparsity)}")
    for value in set(weights.tolist() if weights.ndim else [sparsity]):
        checks.number("sparsity", value, low=0, above=None if gamma is None else 0)
    checks.number("tol", tol, low=0)
    checks.number("max_passes", max_passes, low=1, integer=True)
    if gamma is not None:
        checks.number("gamma", gamma, above=0)
        if nonnegative:
            raise ValueError("nonnegative must be False with a gamma: only l1 has such a form")
    given = {"V": V, "x": x, "mask": mask, "start": start, "gram": gram, "rest": rest}
    shapes = {"V": (d, own), "x": (batch, d), "mask": (batch, d), "start": (batch, K)}
    for name, t in given.items():
        if t is None:
            continue
        shape = shapes.get(name, (K, K))
        if t.shape != shape or t.dtype != V.dtype or t.device != V.device:
            raise ValueError(f"{name} must be {shape}, {V.dtype}, on the CPU, got {_described(t)}")
        if not t.sum().isfinite():  # quicker than a look at every number, which it calls for
            checks.finite(name, t)
    codes = V.new_zeros(batch, K)
    if start is not None:
        codes.copy_(start.detach().clamp(min=0) if nonnegative else start.detach())
    if gamma is not None and not (warm := codes.any(1, keepdim=True)).all():
        lowest = weights.expand(batch) * min(1.0, (gamma * float(V.square().sum(0).max())) ** 0.5)
        l1 = {"sparsity": lowest, "tol": START, "max_passes": max_passes, "mask": mask}
        codes = torch.where(warm, codes, coordinate_descent(V, x, **l1, gram=gram, rest=rest)[0])
    if mask is not None or (gram is None and K > MANY):
        shown = torch.ones_like(x) if mask is None else mask.detach().contiguous()
        x, atoms = (shown * x).contiguous(), V.T.contiguous()
        G = V.new_zeros(0, 0) if rest is None else rest.detach().contiguous()
        diagonal = pad(shown @ V.square(), (0, K - own))
        diagonal = diagonal if rest is None else diagonal + rest.diagonal()
    else:
        shown, atoms = V.new_zeros(batch, 0), V.new_zeros(0, 0)
        G = hessian(V, rest) if gram is None else gram.detach().contiguous()
        diagonal = G.diagonal().expand(batch, K).contiguous()
    drive, energy = pad(x, (0, 0, 0, -batch % ROWS)) @ V, x.double().square().sum(1)
    drive = pad(drive[:batch], (0, K - own))
    gap, passes = torch.zeros(batch, dtype=torch.float64), torch.zeros(batch, dtype=torch.int64)
    rows = (x if len(atoms) else shown, shown, diagonal, drive, energy, codes, gap, passes)
    by_row = [t.numpy() for t in (*rows, weights.expand(batch).contiguous())]
    whole, sign = (G.numpy(), atoms.numpy()), G.numpy().dtype.type(0 if nonnegative else 1)
    # Slides save most passes where supports are dense; one layer without them keeps its older bits.
    flat = bool(len(atoms)) or own < K
    bend = None if gamma is None else G.numpy().dtype.type(gamma)
    norm = max(1.0, float(diagonal.max()) ** 0.5) if batch else 1.0

    def solve(rows: slice) -> None:
        part = tuple(a[rows] for a in by_row)
        working_set.solve(*whole, part, sign, float(tol), int(max_passes), norm, flat, bend)

    threads = min(torch.get_num_threads(), batch)
    with event.install_listener("numba:compile", Announce()):
        if threads <= 1:
            solve(slice(None))
        else:
            # small parts, since samples differ in their cost
            size = min(64, ceil(batch / (4 * threads)))
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(solve, [slice(i, i + size) for i in range(0, batch, size)]))
    return codes, gap, passes


def hessian(
    V: Float[Tensor, "d atoms"], rest: Float[Tensor, "all all"] | None = None
) -> Float[Tensor, "all all"]:
    """V'V + rest."""
    if rest is None:
        return gram_matrix(V)
    H, K = rest.detach().clone(), V.shape[1]
    H[:K, :K] += gram_matrix(V)
    return H


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
