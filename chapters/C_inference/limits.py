"""Beyond the convex settle: a hard cap in the top layer, and ReLU messages (VN App. C).

See `studies.inference`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from chapters.C_inference.measure import Task, evaluated_sweeps, random_start, walk
from vnlib.layer import Layer
from vnlib.metrics import jaccard, relative_distance
from vnlib.prox import TopK
from vnlib.settle import SCHEDULES, SettleConfig, Settled

METHODS = ("restart", "line_search")
STILL = 1e-6  # a sweep that moves the codes by less than this, relatively, is rest


@dataclass(frozen=True, kw_only=True)
class MomentumTopK(TopK):
    """A hard cap that lets momentum through, to show why `TopK` does not."""

    accelerable: ClassVar[bool] = True


def capped(one: Task, k: int, kind: type[TopK] = TopK) -> Task:
    """The task with at most k active atoms in its top layer."""
    *below, top = one.layers
    return replace(one, layers=(*below, Layer(top.V, top.U, kind(penalty=top.penalty.soft, k=k))))


def multistart(
    one: Task, *, random: int, scale: float, sweeps: int, seed: int
) -> dict[tuple[str, str, int], Settled]:
    """The end of every (schedule, method, start); start 0 is cold, the others are random."""
    found = {}
    for schedule in SCHEDULES:
        for method in METHODS:
            settler = one.settler(
                SettleConfig.momentum(
                    method=method, schedule=schedule, max_sweeps=sweeps, tol=1e-14
                )
            )
            for start in range(random + 1):
                codes = random_start(one, seed=seed + start, scale=scale) if start else None
                found[schedule, method, start] = settler(one.x, codes)
    return found


def _grid(
    found: dict[tuple[str, str, int], Settled],
    values: dict[tuple[str, str, int], Tensor],
    name: str,
) -> xr.Dataset:
    starts = sorted({start for *_, start in found})
    array = [[[values[s, m, n].tolist() for n in starts] for m in METHODS] for s in SCHEDULES]
    return xr.Dataset(
        {name: (("schedule", "multistart_solver", "multistart", "sample"), np.array(array))},
        {"schedule": list(SCHEDULES), "multistart_solver": list(METHODS), "multistart": starts},
    )


def hard_cap(
    tasks: Sequence[Task],
    *,
    k: int,
    random: int,
    scale: float,
    sweeps: int,
    caps_from: Sequence[int],
    seed: int,
) -> xr.Dataset:
    """Where the settle ends with a hard cap of k in the top layer, for stacks of several depths
    (`cap_depth`).

    `cap_height` (cap_depth, schedule, multistart_solver, multistart, sample): F at the end above
    the lowest F of all ends of that sample, relative to it. `cap_overlap`: mean overlap (Jaccard)
    of the top supports of two ends, `cap_distance` their mean relative distance, `cap_rest` the
    share of ends and samples that have come to rest, all per cap_depth. `late_height` (cap_depth,
    cap_from, sample): the height where the cap sets in only after so many sweeps (cold, plain).
    """
    parts = []
    for one in tasks:
        hard = capped(one, k)
        found = multistart(hard, random=random, scale=scale, sweeps=sweeps, seed=seed)
        lowest = torch.stack([settled.energy for settled in found.values()]).amin(0)
        late = []
        for cap_from in caps_from:
            config = SettleConfig.momentum(
                method="ista", max_sweeps=cap_from + sweeps, tol=1e-14, cap_from=cap_from
            )
            late.append(hard.settler(config)(one.x).energy)
        tops = [settled.codes[-1:] for settled in found.values()]
        overlap = [jaccard(a != 0, b != 0).mean() for (a,), (b,) in combinations(tops, 2)]
        apart = [relative_distance(a, b).mean() for a, b in combinations(tops, 2)]
        heights = {key: settled.energy / lowest - 1 for key, settled in found.items()}
        parts.append(
            _grid(found, heights, "cap_height").assign(
                cap_overlap=float(torch.stack(overlap).mean()),
                cap_distance=float(torch.stack(apart).mean()),
                cap_rest=_at_rest(hard, found),
                late_height=(("cap_from", "sample"), (torch.stack(late) / lowest - 1).numpy()),
                cap_from=list(caps_from),
            )
        )
    return xr.concat(
        parts, xr.DataArray([one.depth for one in tasks], dims="cap_depth", name="cap_depth")
    )


def _at_rest(one: Task, found: dict[tuple[str, str, int], Settled]) -> float:
    """The share of ends and samples that one more plain sweep moves by less than `STILL`."""
    one_more = one.settler(SettleConfig(method="ista", max_sweeps=1, tol=0))
    moved = [relative_distance(one_more(one.x, s.codes).codes, s.codes) for s in found.values()]
    return float((torch.stack(moved) < STILL).double().mean())


def momentum_under_a_cap(one: Task, *, k: int, sweeps: int, window: int) -> xr.Dataset:
    """Plain steps in the capped layer, which is what the settle takes there, against momentum in
    it; best for one layer.

    Per `momentum` ("plain", "fista", "restart"), over the last `window` of `sweeps`: `switched`,
    atoms of the top layer that go on or off per sweep (mean over samples); `cap_rises`, the share
    of sweeps that raise F. `cap_end`: F at the end above the plain one's, relative (median).
    `cap_path` (momentum, cap_sweep): the median height over the lowest F of the three.
    """
    evaluated = list(range(1, sweeps + 1))
    cases = {
        "plain": (TopK, "fista"),
        "fista": (MomentumTopK, "fista"),
        "restart": (MomentumTopK, "restart"),
    }
    energies, switched = [], []
    for kind, method in cases.values():
        hard = capped(one, k, kind)
        path = list(walk(hard.settler(SettleConfig(method=method)), one.x, evaluated))
        energies.append(torch.stack([hard.value(s.codes) for s in path]))
        on = torch.stack([s.codes[-1] != 0 for s in path[-window - 1 :]])
        switched.append(float((on[1:] != on[:-1]).double().sum(2).mean()))
    late, plain = [e[-window - 1 :] for e in energies], energies[0][-1]
    lowest = torch.stack(energies).amin((0, 1))
    return xr.Dataset(
        {
            "switched": ("momentum", switched),
            "cap_rises": (
                "momentum",
                [float((e.diff(dim=0) > 1e-12 * e[1:]).double().mean()) for e in late],
            ),
            "cap_end": ("momentum", [float((e[-1] / plain - 1).median()) for e in energies]),
            "cap_path": (
                ("momentum", "cap_sweep"),
                torch.stack([(e / lowest - 1).median(1).values for e in energies]).numpy(),
            ),
        },
        {"momentum": list(cases), "cap_sweep": evaluated},
    )


def relu_messages(
    one: Task,
    *,
    betas: Sequence[float],
    random: int,
    scale: float,
    sweeps: int,
    kept: int,
    seed: int,
) -> xr.Dataset:
    """The settle with ReLU messages, for which no energy is known.

    `relu_change` (beta, activation, relu_sweep): how far one sweep of plain ISTA moves the codes,
    relative (median over samples). `relu_rises` (beta, activation): the share of these sweeps that
    raise F, as it would be with identity messages. `relu_spread` (beta, schedule,
    multistart_solver, multistart, sample): relative distance of the end from that of a longer
    settle (ReLU). `relu_rest` (beta): the share of ends and samples at rest.
    """
    evaluated, shapes = evaluated_sweeps(sweeps, kept), ("identity", "relu")
    change, rises = np.empty((len(betas), 2, len(evaluated))), np.empty((len(betas), 2))
    spread, rest = [], []
    for i, beta in enumerate(betas):
        for j, activation in enumerate(shapes):
            this = replace(one, feedback=beta, activation=activation)
            settler = this.settler(SettleConfig(method="ista"))
            both = sorted({*evaluated, *(n + 1 for n in evaluated)})
            path = dict(zip(both, walk(settler, one.x, both), strict=True))
            change[i, j] = [
                float(relative_distance(path[n + 1].codes, path[n].codes).median())
                for n in evaluated
            ]
            log = this.settler(SettleConfig(method="ista", max_sweeps=min(200, sweeps), tol=0))(
                one.x, trace=True
            ).trace
            energy = torch.stack(log.energy)
            rises[i, j] = float((energy.diff(dim=0) > 1e-12 * energy[1:]).double().mean())
        found = multistart(this, random=random, scale=scale, sweeps=sweeps, seed=seed)
        longer = this.settler(SettleConfig.deep(max_sweeps=4 * sweeps, tol=1e-15, check_every=1))(
            one.x
        ).codes
        spread.append(
            _grid(
                found,
                {key: relative_distance(s.codes, longer) for key, s in found.items()},
                "relu_spread",
            )
        )
        rest.append(_at_rest(this, found))
    return xr.concat(spread, xr.DataArray(list(betas), dims="beta", name="beta")).assign(
        relu_rest=("beta", rest),
        relu_change=(("beta", "activation", "relu_sweep"), np.maximum(change, 1e-16)),
        relu_rises=(("beta", "activation"), rises),
        activation=list(shapes),
        relu_sweep=evaluated,
    )
