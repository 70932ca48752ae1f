"""A settle after a start: how many sweeps until its energy is near the lowest, and where it ends
(VN Sec. 5).

Stacks may have a hard cap. Then there is no lowest energy for all starts: each may come to rest
elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from benchmarks.starts.initialiser import Codes, Stack
from vnlib import checks
from vnlib.metrics import jaccard, relative_distance
from vnlib.settle import SettleConfig, Settler, duality_gap

LEVELS = (1e-2, 1e-3, 1e-4)  # heights above the lowest energy, relative to it
SOLVERS = ("ista", "restart", "line_search")
TIMED = {"restart": "restart", "line_search": "line_search", "coordinates": "cd"}  # name -> method
# sweeps that curves show
SHOWN_SWEEPS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 28, 36, 48, 64, 80, 100, 140, 200, 280, 400)
FINE, STRIDE = 20, 4  # every one of the first sweeps is evaluated, then every fourth
# a coefficient below this share of the largest of its layer and sample is not in the support
ZERO = 1e-6

Images = Float[Tensor, "batch d"]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is measured.

    Parameters
    ----------
    sweeps
        Most per solver.
    settled
        Images that are settled to the very end, per set, with `end` sweeps at most and to a
        relative gap of `gap`.
    timed
        Images of a timed settle, `repeats` times.
    """

    sweeps: Mapping[str, int]
    settled: int
    end: int
    gap: float
    timed: int
    repeats: int

    def __post_init__(self) -> None:
        for solver in SOLVERS:
            checks.number(f"sweeps of {solver}", self.sweeps.get(solver), low=1, integer=True)
        for name in ("settled", "end", "timed", "repeats"):
            checks.number(name, getattr(self, name), low=1, integer=True)
        checks.number("gap", self.gap, above=0)


def convex(stack: Stack) -> bool:
    """Whether there is one lowest energy: no layer has a hard cap."""
    return all(layer.penalty.convex for layer in stack.layers)


def settled(
    stack: Stack, x: Images, *, tol: float, sweeps: int, start: Codes | None = None
) -> Codes:
    """Codes by coordinate descent to a relative duality gap of `tol`, or, under a cap, by line
    search until F moves by less per sweep.
    """
    config = SettleConfig(tol=tol, max_sweeps=sweeps, check_every=10)
    settler = Settler(stack.layers, feedback=stack.feedback, config=config)
    parts = [
        settler(some.contiguous(), start and _rows(start, at)).codes for at, some in _batches(x)
    ]
    return tuple(torch.cat(layer) for layer in zip(*parts, strict=True))


def heights(
    stack: Stack,
    x: Images,
    lowest: Float[Tensor, " batch"],
    start: Codes | None,
    *,
    solver: str,
    sweeps: int,
) -> tuple[list[int], Float[Tensor, "evaluations batch"]]:
    """(F - lowest) / lowest before any sweep and after some of them, until all are below the last
    of `LEVELS`.

    Of the first `FINE` sweeps every one is evaluated, then every `STRIDE`-th.

    Parameters
    ----------
    start
        None for a cold start.
    """
    seen, rows = [0], [stack.energy(start or zeros(stack, x), x) / lowest - 1]
    config = SettleConfig(method=solver, tol=0)
    settler, now = Settler(stack.layers, feedback=stack.feedback, config=config), start
    while seen[-1] < sweeps and bool((torch.stack(rows).amin(0) > LEVELS[-1]).any()):
        every, block = 1 if seen[-1] < FINE else STRIDE, min(FINE, sweeps - seen[-1])
        settler.config = replace(settler.config, max_sweeps=block, check_every=every)
        now = settler(x, now, trace=True)
        rows += [energy / lowest - 1 for energy in now.trace.energy]
        seen += [seen[-1] + sweep for sweep in now.trace.sweep]
    return seen, torch.stack(rows)


def first_below(
    seen: Sequence[int], rows: Float[Tensor, "evaluations batch"], level: float
) -> Float[Tensor, " batch"]:
    """The first evaluation at which a sample's height is at or below `level`; inf if there is none."""
    below = rows <= level
    at = torch.tensor(seen, dtype=rows.dtype)[below.int().argmax(0)]
    return torch.where(below.any(0), at, torch.inf)


def zeros(stack: Stack, x: Images) -> Codes:
    """The codes of a cold start."""
    return tuple(x.new_zeros(len(x), layer.V.shape[1]) for layer in stack.layers)


def support(codes: Codes) -> list[Tensor]:
    """Which coefficients of each layer are not zero, up to what rounding and a last trace of motion
    leave.
    """
    return [code.abs() > ZERO * code.abs().amax(1, keepdim=True) for code in codes]


def measured(
    stack: Stack, x: Images, guesses: Mapping[str, Codes], sets: Sequence[str], sizes: Sizes
) -> xr.Dataset:
    """All that depends on the set; x holds the inputs of one set after the other."""
    n = len(x) // len(sets)
    watched = torch.cat([torch.arange(sizes.settled) + n * i for i in range(len(sets))])
    seen, rest = x[watched], settled(stack, x, tol=sizes.gap, sweeps=sizes.end)
    ends = {"cold": _rows(rest, watched)}
    for name, guess in guesses.items():
        if name != "cold":
            start = _rows(guess, watched)
            ends[name] = settled(stack, seen, tol=sizes.gap, sweeps=sizes.end, start=start)
    lowest = stack.energy(rest, x)
    energies = {name: stack.energy(codes, seen) for name, codes in ends.items()}
    lowest[watched] = torch.stack(list(energies.values())).amin(0)

    def by_set(values: Tensor) -> Tensor:
        """The last dimension, that of inputs, as (set, image)."""
        return values.unflatten(-1, (len(sets), -1))

    of_starts = []
    for name, guess in guesses.items():
        begun = None if name == "cold" else guess
        paths = [_path(stack, x, lowest, begun, solver, sizes, by_set) for solver in SOLVERS]
        parts = [
            xr.concat(paths, "solver").assign_coords(solver=list(SOLVERS)),
            _before(stack, x, lowest, guess, rest, by_set),
            _ends(ends[name], ends["cold"], energies[name] / energies["cold"] - 1, by_set),
        ]
        of_starts.append(xr.merge(parts))
    found = xr.concat(of_starts, "start").assign_coords(start=list(guesses), set=list(sets))
    gap = x.new_full((len(sets),), torch.nan)
    if convex(stack):
        gaps = [
            duality_gap(stack.layers, codes, seen, stack.feedback) / energies[name]
            for name, codes in ends.items()
        ]
        gap = by_set(torch.stack(gaps).amax(0)).amax(1)
    return found.assign(end_gap=("set", gap.numpy()))


def _path(
    stack: Stack,
    x: Images,
    lowest: Tensor,
    start: Codes | None,
    solver: str,
    sizes: Sizes,
    by_set: Callable[[Tensor], Tensor],
) -> xr.Dataset:
    seen, rows = heights(stack, x, lowest, start, solver=solver, sweeps=sizes.sweeps[solver])
    needed = by_set(torch.stack([first_below(seen, rows, level) for level in LEVELS]))
    found = xr.Dataset(
        {
            "needed": (("level", "set", "image"), needed.float().numpy()),
            "sweeps": (("level", "set"), needed.median(2).values.numpy()),
            "height": (("sweep", "set"), by_set(rows).median(2).values.numpy()),
        },
        {"level": list(LEVELS), "sweep": seen},
    )
    return found.reindex(sweep=list(SHOWN_SWEEPS))


def _before(
    stack: Stack,
    x: Images,
    lowest: Tensor,
    guess: Codes,
    rest: Codes,
    by_set: Callable[[Tensor], Tensor],
) -> xr.Dataset:
    height = by_set(stack.energy(guess, x) / lowest - 1).median(1).values
    distance = by_set(relative_distance(guess, rest)).median(1).values
    pairs = list(zip(support(guess), support(rest), strict=True))
    shares = {
        "overlap": [jaccard(a, b) for a, b in pairs],
        "recall": [(a & b).sum(1).double() / b.sum(1).clamp_min(1) for a, b in pairs],
        "precision": [(a & b).sum(1).double() / a.sum(1).clamp_min(1) for a, b in pairs],
    }
    found = {
        name: (("layer", "set"), by_set(torch.stack(layers)).mean(2).numpy())
        for name, layers in shares.items()
    }
    found |= {"start_height": ("set", height.numpy()), "start_distance": ("set", distance.numpy())}
    return xr.Dataset(found, {"layer": np.arange(1, len(pairs) + 1)})


def _ends(
    end: Codes, cold: Codes, change: Tensor, by_set: Callable[[Tensor], Tensor]
) -> xr.Dataset:
    other = [(a != b).any(1) for a, b in zip(support(end), support(cold), strict=True)]
    found = {
        "end_distance": by_set(relative_distance(end, cold)).amax(1),
        "end_height": by_set(change.abs()).amax(1),
        "end_differs": by_set(torch.stack(other).any(0).double()).mean(1),
        "end_lower": by_set((change < -ZERO).double()).mean(1),
    }
    return xr.Dataset({key: ("set", value.numpy()) for key, value in found.items()})


def timed(
    stack: Stack, x: Images, made: Mapping[str, Callable[[Images], Codes]], repeats: int
) -> xr.Dataset:
    """Processor time of one thread, the least of some turns: what else the machine does can only
    add to it.
    """
    taken = np.empty((len(made), len(TIMED), repeats))
    settlers = []
    for method in TIMED.values():
        config = SettleConfig.exact(method=method, tol=LEVELS[1], max_sweeps=500, check_every=2)
        settlers.append(Settler(stack.layers, feedback=stack.feedback, config=config))
    for turn in range(-1, repeats):  # the first one only fills what is kept for later
        for i, (name, guess) in enumerate(made.items()):
            for j, settler in enumerate(settlers):
                begun = time.process_time()
                settler(x, None if name == "cold" else guess(x))
                if turn >= 0:
                    taken[i, j, turn] = time.process_time() - begun
    quickest = taken.min(2)
    cold = quickest[list(made).index("cold")]
    return xr.Dataset(
        {
            "time_ratio": (("start", "timed_solver"), quickest / np.maximum(cold, 1e-9)),
            "time_cold": ("timed_solver", 1e3 * cold / len(x), {"units": "ms"}),
        },
        {"start": list(made), "timed_solver": list(TIMED)},
    )


def _batches(x: Images, size: int = 500) -> list[tuple[slice, Images]]:
    return [(slice(i, i + size), x[i : i + size]) for i in range(0, len(x), size)]


def _rows(codes: Codes, at: slice | Tensor) -> Codes:
    return tuple(code[at] for code in codes)
