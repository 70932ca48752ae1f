"""When the supports of codes lock in: a settle watched sweep by sweep (VN Fig. 12, App. I).

A support is the set of atoms whose coefficient is not zero. It is compared with the support at the
end, after many more sweeps. Without a hard cap that is at the minimum of the joint energy, one for
all solvers. With a cap there are many points of rest, which also depend on the size of the steps:
each solver has the one that it was heading for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vnlib import checks
from vnlib.metrics import jaccard
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, Settled
from vnlib.settle.energy import duality_gap, summed_energy

# Each with the one that leads on from it under a cap: plain steps are slow, and those of restarted
# momentum as long.
ONWARD = {"ista": "restart", "restart": "restart", "line_search": "line_search"}
SOLVERS = tuple(ONWARD)
THRESHOLDS = (0.9, 0.99)
QUANTILES = (0.1, 0.5, 0.9)  # of images
NOISE = 1e-6  # relative; what rounding can add to an energy in float32
Codes = Sequence[Float[Tensor, "batch _atoms"]]


def weighted_jaccard(
    a: Float[Tensor, "*rows atoms"], b: Float[Tensor, "*rows atoms"]
) -> Float[Tensor, "*rows"]:
    """The same of magnitudes: sum of the smaller ones over sum of the larger ones, so that small
    ones count little.
    """
    a, b = a.abs(), b.abs()
    larger = torch.maximum(a, b).sum(-1)
    return torch.where(larger > 0, torch.minimum(a, b).sum(-1) / larger.clamp_min(1e-30), 1.0)


def locked(overlap: Float[np.ndarray, "sweep ..."], threshold: float) -> Int[np.ndarray, "..."]:
    """The sweep, counted from 1, from which on the overlap stays at or above the threshold.

    One more than there are sweeps where the last is below it.
    """
    below = np.asarray(overlap) < threshold
    since = np.argmax(below[::-1], axis=0)  # sweeps after the last one below
    return np.asarray(np.where(below.any(axis=0), len(below) - since, 0) + 1)


def settling(
    network: VectorNetwork, x: Float[Tensor, "batch d"], *, sweeps: Sequence[int], end: int
) -> xr.Dataset:
    """How supports and energies of a batch change from sweep to sweep, by solver (see `SOLVERS`).

    Means over the batch, after each of `sweeps`, layers counted from 1: `overlap` (solver, sweep,
    layer), the Jaccard overlap of the support with that of the end; `weighted_overlap`, the same of
    magnitudes; `nonzero`, the size of the support; `flips`, atoms that entered or left it with this
    sweep; `reversals`, coefficients that changed sign; `error` (solver, sweep), mean squared error
    per pixel of V_1 a_1; `energy` and `summed_energy` (solver, sweep), F and the sum of VN Eq. 3.

    `locked` (solver, layer, threshold, quantile): the sweep from which on the overlap of an image
    stays at or above the threshold, quantiles over images; `locked_mean` (solver, layer,
    threshold), the same of the mean overlap; both are one more than the last sweep where that is
    never. `error_locked` (solver, threshold): `error` when the mean overlaps of all layers have
    locked, NaN where they have not. `energy_rises`, `summed_energy_rises` (solver): in how many
    sweeps after the first they rose, mean over images.

    At the end: `error_end`, `energy_end`, `summed_energy_end`, and `gap_end`, the mean relative
    duality gap, NaN under a cap (solver); `end_certain` (solver, layer), the overlap of the
    supports half way to the end and at it; `end_agreement` (solver, layer), that of the ends of
    this solver and of line search, 1 without a cap.

    Parameters
    ----------
    sweeps
        Sweeps, counted from 1 and rising, that curves are kept of; the last of them is the last
        that is watched.
    end
        How many more sweeps lead to the end, from the last one of line search, or of the solver
        itself under a cap.

    Raises
    ------
    ValueError
        For sweeps that do not rise from at least 1, or end below 2.
    """
    for sweep in sweeps:
        checks.number("each of sweeps", sweep, low=1, integer=True)
    if not sweeps or any(b <= a for a, b in pairwise(sweeps)):
        raise ValueError(f"sweeps must rise, at least one, got {list(sweeps)}")
    checks.number("end", end, low=2, integer=True)
    paths = {name: _watch(network, x, name, sweeps=sweeps[-1]) for name in SOLVERS}
    capped = not all(layer.penalty.convex for layer in network.layers)
    shared = _end(network, x, "line_search", paths["line_search"][-1], sweeps=end)
    parts = []
    for name, path in paths.items():
        half, last = _end(network, x, ONWARD[name], path[-1], sweeps=end) if capped else shared
        agreement = [
            float(jaccard(a, b).mean())
            for a, b in zip(support(last), support(shared[1]), strict=True)
        ]
        parts.append(
            _report(network, x, path, half, last, sweeps=sweeps).assign(
                end_agreement=("layer", agreement)
            )
        )
    return xr.concat(parts, "solver").assign_coords(
        solver=list(SOLVERS),
        sweep=list(sweeps),
        layer=np.arange(1, len(network.V) + 1),
        threshold=list(THRESHOLDS),
        quantile=list(QUANTILES),
    )


def support(settled: Settled) -> list[Bool[Tensor, "batch _atoms"]]:
    """Which atoms each layer uses."""
    return [code != 0 for code in settled.codes]


def _watch(network: VectorNetwork, x: Tensor, solver: str, *, sweeps: int) -> list[Settled]:
    """The settle after every sweep."""
    one = network.settler(SettleConfig(method=solver, tol=0, max_sweeps=1))
    path: list[Settled] = []
    for _ in range(sweeps):
        path.append(one(x, path[-1] if path else None))
    return path


def _end(
    network: VectorNetwork, x: Tensor, solver: str, start: Settled, *, sweeps: int
) -> tuple[Settled, Settled]:
    """The settle half way to the end and at it."""
    far = network.settler(SettleConfig(method=solver, tol=0, max_sweeps=sweeps // 2))
    half = far(x, start)
    return half, far(x, half)


def _report(
    network: VectorNetwork,
    x: Tensor,
    path: list[Settled],
    half: Settled,
    last: Settled,
    *,
    sweeps: Sequence[int],
) -> xr.Dataset:
    layers, feedback = network.layers, network.config.feedback
    at, depth = np.asarray(sweeps) - 1, len(layers)
    shape = (len(path), depth, len(x))
    names = ("overlap", "weighted_overlap", "nonzero", "flips", "reversals")
    found = {name: np.empty(shape) for name in names}
    for layer in range(depth):
        code, goal = torch.stack([settled.codes[layer] for settled in path]), last.codes[layer]
        before = torch.cat([torch.zeros_like(code[:1]), code[:-1]])
        measured = (
            jaccard(code != 0, (goal != 0).expand_as(code)),
            weighted_jaccard(code, goal.expand_as(code)),
            (code != 0).sum(-1),
            ((code != 0) != (before != 0)).sum(-1),
            (code * before < 0).sum(-1),
        )
        for name, values in zip(names, measured, strict=True):
            found[name][:, layer] = values.cpu().numpy()
    curves = {
        name: (("sweep", "layer"), values[at].mean(2).astype(np.float32))
        for name, values in found.items()
    }

    overlap = found["overlap"]
    by_image = np.stack([locked(overlap, t) for t in THRESHOLDS], 1)  # (layer, threshold, image)
    by_mean = np.stack([locked(overlap.mean(2), t) for t in THRESHOLDS], 1)  # (layer, threshold)
    # "higher": a sweep that there is, not one between "never" and a number.
    spread = np.quantile(by_image, QUANTILES, axis=2, method="higher")
    errors = np.array([_error(network, x, settled) for settled in path])
    reached = by_mean.max(0)

    # In double precision: float32 would add rises of its own to a mean.
    both = {
        "energy": np.stack([settled.energy.double().cpu().numpy() for settled in path]),
        "summed_energy": np.stack([_summed(network, x, settled) for settled in path]),
    }
    energies = {name: ("sweep", values[at].mean(1)) for name, values in both.items()}
    rises = {
        f"{name}_rises": float((np.diff(values, axis=0) > NOISE * values[:-1]).sum(0).mean())
        for name, values in both.items()
    }
    convex = all(layer.penalty.convex for layer in layers)
    gap = (
        duality_gap(layers, last.codes, x, feedback) / last.energy.clamp_min(1e-30)
        if convex
        else None
    )
    halves = zip(support(half), support(last), strict=True)
    return xr.Dataset(
        {
            **curves,
            **energies,
            **rises,
            "error": ("sweep", errors[at]),
            "locked": (("layer", "threshold", "quantile"), np.moveaxis(spread, 0, 2).astype(float)),
            "locked_mean": (("layer", "threshold"), by_mean.astype(float)),
            "error_locked": (
                "threshold",
                [errors[n - 1] if n <= len(path) else np.nan for n in reached],
            ),
            "error_end": _error(network, x, last),
            "energy_end": float(last.energy.double().mean()),
            "summed_energy_end": float(_summed(network, x, last).mean()),
            "gap_end": float(gap.mean()) if gap is not None else np.nan,
            "end_certain": ("layer", [float(jaccard(a, b).mean()) for a, b in halves]),
        }
    )


def _error(network: VectorNetwork, x: Tensor, settled: Settled) -> float:
    return float((network.reconstruct(settled) - x).square().mean())


def _summed(network: VectorNetwork, x: Tensor, settled: Settled) -> np.ndarray:
    c = network.config
    return (
        summed_energy(network.layers, settled.codes, x, c.feedback, c.activation)
        .double()
        .cpu()
        .numpy()
    )
