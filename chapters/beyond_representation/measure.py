"""Are the codes of two factors linear and orthogonal?

Measures on a grid of all combinations of their values.

A grid is z (context, first, second, units): the code of every combination, in one or more contexts
that share nothing but the two factors. Main effects are those of a two-way analysis of variance,
z = base + u[first] + v[second] + rest, in each context. Uselis et al. (2026) show that linear
readouts can compose only where codes are like that, with rest 0 and with u orthogonal to v.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import one_hot

from vnlib import checks

Grid = Float[Tensor, "context first second units"]
Seen = Bool[Tensor, "first second"]
KEPT = 0.99  # share of a factor's variance that its directions have to hold
PENALTY = 1e-6  # of regressions, relative to the mean squared norm of the codes they learn from


class Effects(NamedTuple):
    """base (context, units), first (context, first, units) and second (context, second, units), the
    last two of mean 0 over values; rest has the shape of the grid.
    """

    base: Float[Tensor, "context units"]
    first: Float[Tensor, "context first units"]
    second: Float[Tensor, "context second units"]
    rest: Grid


def effects(z: Grid) -> Effects:
    """Main effects and what they leave.

    Raises
    ------
    ValueError
        Unless each factor has two values or more.
    """
    check(z)
    base = z.mean((1, 2))
    first, second = z.mean(2) - base[:, None], z.mean(1) - base[:, None]
    return Effects(
        base, first, second, z - base[:, None, None] - first[:, :, None] - second[:, None]
    )


def linearity(z: Grid) -> dict[str, float]:
    """Shares of the variance within contexts: "linearity" of main effects, "first" and "second" of
    each of them, and "shared" of main effects that are the same in all contexts. NaN for codes that
    do not vary.
    """
    parts, (contexts, n_first, n_second, _) = effects(z), z.shape
    total = (z - parts.base[:, None, None]).square().sum()
    cells = ((parts.first, n_second), (parts.second, n_first))
    first, second = (part.square().sum() * n for part, n in cells)
    same = sum(part.mean(0).square().sum() * n for part, n in cells)
    return {
        "linearity": _ratio(first + second, total),
        "first": _ratio(first, total),
        "second": _ratio(second, total),
        "shared": _ratio(contexts * same, total),
    }


def transfer(z: Grid, seen: Seen) -> float:
    """How well main effects fitted to the seen combinations predict the others: 1 - `|error|^2`
    over `|deviation|^2`.

    Deviations are from the mean of the seen combinations of the context: 0 is as good as this mean,
    below 0 worse.

    Raises
    ------
    ValueError
        Where nothing is held out, and where what is seen does not tell the main effects.
    """
    check(z, seen)
    n_first, n_second = z.shape[1:3]
    rows, columns = torch.meshgrid(torch.arange(n_first), torch.arange(n_second), indexing="ij")
    values = one_hot(rows.flatten(), n_first), one_hot(columns.flatten(), n_second)
    design = torch.cat(values, 1).to(z)
    known = seen.flatten().to(z.device)
    inverse = torch.linalg.pinv(design[known])
    hidden = design[~known]
    if float((hidden - hidden @ inverse @ design[known]).abs().max()) > 1e-5:
        raise ValueError(
            "seen must join all values by chains of seen combinations, or their effects "
            "are not known"
        )
    flat = z.flatten(1, 2)
    guess = (hidden @ inverse) @ flat[:, known]
    deviation = flat[:, ~known] - flat[:, known].mean(1, keepdim=True)
    return 1 - _ratio((flat[:, ~known] - guess).square().sum(), deviation.square().sum())


def overlap(z: Grid, *, kept: float = KEPT) -> dict[str, float]:
    """How far the two factors share directions: 0 for orthogonal ones.

    "overlap": mean squared cosine of the principal angles between the spans of u and of v, each cut
    to the fewest principal directions that hold `kept` of the factor's variance; "overlap_random":
    its expectation for random subspaces of the same dimensions among the units that vary at all;
    "dim_first" and "dim_second" are these dimensions. "cosine": mean squared cosine of a u and a v,
    weighted by their squared lengths; "cosine_random": its expectation for directions drawn from
    the variance of the code itself, 1 over its participation ratio. Means over contexts in which
    both factors act; NaN if there are none.
    """
    checks.number("kept", kept, above=0, high=1)
    parts, found = effects(z), []
    moved = z - parts.base[:, None, None]
    smallest = 1e-12 * float(moved.square().mean(0).sum())
    for first, second, all_cells in zip(
        parts.first, parts.second, moved.flatten(1, 2), strict=True
    ):
        powers = float(first.square().sum()), float(second.square().sum())
        if min(powers) <= smallest:
            continue
        a, b = _directions(first, kept), _directions(second, kept)
        units = int((all_cells.abs().amax(0) > 0).sum())
        gram = all_cells @ all_cells.T
        found.append(
            [
                float((a @ b.T).square().sum()) / min(len(a), len(b)),
                max(len(a), len(b)) / units,
                len(a),
                len(b),
                float((first @ second.T).square().sum()) / (powers[0] * powers[1]),
                float(gram.square().sum() / gram.trace().square()),
            ]
        )
    names = ("overlap", "overlap_random", "dim_first", "dim_second", "cosine", "cosine_random")
    means = torch.tensor(found, dtype=torch.float64).reshape(-1, len(names)).mean(0)
    return dict(zip(names, means.tolist(), strict=True))


def readable(z: Grid, seen: Seen) -> dict[str, float]:
    """Which share of unseen combinations a linear reader of the seen ones names right:
    "read_first", "read_second".

    The reader is the regression of `drawable` on the values as unit vectors, and names the largest.
    Chance is 1 over the number of values, which is also what codes without any variance get.
    """
    check(z, seen)
    rows, columns = torch.meshgrid(*(torch.arange(n) for n in z.shape[1:3]), indexing="ij")
    found = {}
    for name, value in (("read_first", rows), ("read_second", columns)):
        n = int(value.max()) + 1
        told = one_hot(value, n).to(z).expand(len(z), -1, -1, -1)
        guess, truth = _regression(z, told, seen)
        right = guess.argmax(1) == truth.argmax(1)
        found[name] = float(right.double().mean()) if bool((z != z[0, 0, 0]).any()) else 1 / n
    return found


def drawable(z: Grid, y: Float[Tensor, "context first second outputs"], seen: Seen) -> float:
    """Squared error of y at unseen combinations, over its power, when it is drawn linearly from z.

    The map (with offset) is a ridge regression on the seen combinations. With several contexts it
    learns from the first half of them and is asked about the others.
    """
    check(z, seen)
    if y.shape[:3] != z.shape[:3]:
        raise ValueError(f"y must be a grid of shape {tuple(z.shape[:3])}, got {tuple(y.shape)}")
    guess, truth = _regression(z, y, seen)
    return _ratio((guess - truth).square().sum(), truth.square().sum())


def _regression(z: Grid, y: Tensor, seen: Seen) -> tuple[Tensor, Tensor]:
    """What the ridge regression says at unseen combinations, and what is there."""
    half, known = len(z) // 2, seen.to(z.device)
    learn, ask = (slice(None, half), slice(half, None)) if half else (slice(None), slice(None))
    x, asked = z[learn][:, known].flatten(0, 1), z[ask][:, ~known].flatten(0, 1)
    told, truth = y[learn][:, known].flatten(0, 1), y[ask][:, ~known].flatten(0, 1)
    centre, mean = x.mean(0), told.mean(0)
    gram = (x - centre) @ (x - centre).T
    scale = float(gram.diagonal().mean()) or 1.0
    ridge = gram + PENALTY * scale * torch.eye(len(gram), dtype=z.dtype, device=z.device)
    weights = torch.linalg.solve(ridge, told - mean)
    return mean + ((asked - centre) @ (x - centre).T) @ weights, truth


def cosines(z: Grid) -> Float[Tensor, "values values"]:
    """Cosines between all effects that are the same in all contexts, those of the first factor
    first.
    """
    parts = effects(z)
    both = torch.cat([parts.first.mean(0), parts.second.mean(0)])
    both = both / both.norm(dim=1, keepdim=True).clamp_min(1e-30)
    return both @ both.T


def measures(z: Grid, seen: Seen) -> dict[str, float]:
    """All of these for one code, in float64, with "units" that vary over the grid and the "active"
    share of them.
    """
    z = z.double()
    varying = z.flatten(0, 2).std(0) > 0
    size = {"units": float(varying.sum()), "active": float((z[..., varying] != 0).double().mean())}
    return linearity(z) | {"transfer": transfer(z, seen)} | overlap(z) | readable(z, seen) | size


def check(z: Tensor, seen: Tensor | None = None) -> None:
    """Raise ValueError unless z is a finite grid with two values or more of each factor, and `seen`
    has its shape and holds out something, but not everything.
    """
    if z.ndim != 4 or min(z.shape) < 1 or min(z.shape[1:3]) < 2:
        raise ValueError(
            "z must be a grid (context, first, second, units) with two values or more of each "
            f"factor, got {tuple(z.shape)}"
        )
    checks.finite("z", z)
    if seen is None:
        return
    if seen.dtype != torch.bool or seen.shape != z.shape[1:3]:
        raise ValueError(
            f"seen must be bool of shape {tuple(z.shape[1:3])}, got {seen.dtype} "
            f"{tuple(seen.shape)}"
        )
    if bool(seen.all()) or not bool(seen.any()):
        raise ValueError("seen must hold out some combinations and not all of them")


def _directions(
    vectors: Float[Tensor, "values units"], kept: float
) -> Float[Tensor, "directions units"]:
    """Orthonormal rows: the fewest principal directions that hold `kept` of the vectors' power."""
    _, sizes, rows = torch.linalg.svd(vectors, full_matrices=False)
    power = sizes.square().cumsum(0) / sizes.square().sum()
    return rows[: int((power < kept - 1e-12).sum()) + 1]


def _ratio(part: Tensor, whole: Tensor) -> float:
    return float(part / whole) if float(whole) > 0 else float("nan")
