"""Step sizes, what the line search finds, accept/reject and small variants (VN App. C).

See `studies.inference`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from chapters.C_inference.measure import (
    LEVELS,
    Task,
    _end,
    evaluated_sweeps,
    finish,
    layer_steps,
    sweeps_to,
    walk,
)
from vnlib.layer import hessian
from vnlib.settle import SettleConfig
from vnlib.settle.energy import summed_energy
from vnlib.settle.steps import Ista, Problem, State

ROUNDING = 1e-12  # of the energy


class ScaledIsta(Ista):
    """Plain proximal steps of size factor / L, which the settle itself does not offer.

    Parameters
    ----------
    bottom_up
        While a layer has no target, L is that of V'V alone (VN App. C's option for the first
        sweep).
    """

    def __init__(self, factor: float = 1.0, *, bottom_up: bool = False) -> None:
        self.factor, self.bottom_up = factor, bottom_up

    def step(self, state: State, drive: Tensor, problem: Problem) -> None:
        alone = self.bottom_up and not problem.coupled
        lip = (
            problem.quadratic.lipschitz((1.0, 0.0)) if alone else problem.lipschitz
        ) / self.factor
        gradient = problem.times(state.code) - drive
        state.code = problem.penalty.prox(state.code - gradient / lip, 1 / lip)


def _needed(evaluated: Sequence[int], heights: Tensor) -> list[float]:
    """Median over samples, per level."""
    return [float(sweeps_to(evaluated, heights, level).median()) for level in LEVELS]


def step_sizes(
    tasks: Sequence[Task], *, factors: Sequence[float], sweeps: int, kept: int
) -> xr.Dataset:
    """Plain steps of size factor / L in every layer, schedule "sweep", per task (coordinate
    `step_depth`).

    `step_needed` (step_depth, factor, level): sweeps to a height, median over samples. `diverged`
    (step_depth, factor): the share of samples whose F ends above that of a = 0, or is not finite.
    `step_rises`: the share of sweeps that raise F.
    """
    evaluated = evaluated_sweeps(sweeps, kept)
    shape = (len(tasks), len(factors))
    needed, diverged, rises = np.empty((*shape, len(LEVELS))), np.empty(shape), np.empty(shape)
    for i, one in enumerate(tasks):
        silence = one.value([torch.zeros_like(c) for c in one.codes])
        for j, factor in enumerate(factors):
            rule, config = ScaledIsta(factor), SettleConfig(method="ista")
            # A diverging path overflows within the sweeps: every comparison below treats that as
            # "not there".
            path = [one.value(s.codes) for s in walk(one.settler(config, rule), one.x, evaluated)]
            energy = torch.stack(path).nan_to_num(torch.inf, torch.inf)
            needed[i, j] = _needed(evaluated, (energy / one.energy - 1).clamp_min(1e-16))
            diverged[i, j] = float((energy[-1] > silence).double().mean())
            rises[i, j] = float(
                (energy.diff(dim=0).nan_to_num(torch.inf) > ROUNDING * energy[:-1]).double().mean()
            )
    return xr.Dataset(
        {
            "step_needed": (("step_depth", "factor", "level"), needed),
            "diverged": (("step_depth", "factor"), diverged),
            "step_rises": (("step_depth", "factor"), rises),
        },
        {
            "step_depth": [one.depth for one in tasks],
            "factor": list(factors),
            "level": list(LEVELS),
        },
    )


def found_steps(tasks: Sequence[Task], *, sweeps: int, kept: int) -> xr.Dataset:
    """The steps of the line search, in units of 1/L, and what allows them, per task (coordinate
    `step_depth`).

    `found` (step_depth, found_sweep, layer): step times L on the way, median over samples.
    `found_end` (step_depth, layer, sample): at the end. `allowed` (step_depth, layer, sample):
    L / L_S, where L_S is the largest eigenvalue of the Hessian on the settled support: the step of
    plain ISTA that would be safe if the support were known.
    """
    evaluated, deepest = evaluated_sweeps(sweeps, kept), max(one.depth for one in tasks)
    found = np.full((len(tasks), len(evaluated), deepest), np.nan)
    ends, allowed = (np.full((len(tasks), deepest, len(tasks[0].x)), np.nan) for _ in range(2))
    for i, one in enumerate(tasks):
        settler = one.settler(SettleConfig(method="line_search"))
        L = [quadratic.lipschitz() for quadratic in settler.quadratics]
        for n, settled in enumerate(walk(settler, one.x, evaluated)):
            steps = torch.cat(
                [lip / s.memory["lip"].T for lip, s in zip(L, settled.states, strict=True)]
            )
            found[i, n, : one.depth], ends[i, : one.depth] = steps.median(1).values, steps
        for index, (layer, codes) in enumerate(zip(one.layers, one.codes, strict=True)):
            H = hessian(layer, one.feedback if index + 1 < one.depth else 0.0)
            for row, on in enumerate(codes != 0):
                if on.any():
                    allowed[i, index, row] = L[index] / float(
                        torch.linalg.eigvalsh(H[on][:, on])[-1]
                    )
    return xr.Dataset(
        {
            "found": (("step_depth", "found_sweep", "layer"), found),
            "found_end": (("step_depth", "layer", "sample"), ends),
            "allowed": (("step_depth", "layer", "sample"), allowed),
        },
        {
            "step_depth": [one.depth for one in tasks],
            "found_sweep": evaluated,
            "layer": np.arange(1, deepest + 1),
        },
    )


def safeguards(
    one: Task, *, sweeps: int, end_steps: int, methods: Sequence[str] = ("ista", "fista", "restart")
) -> xr.Dataset:
    """Accept/reject on F, schedule "sweep": what it prevents, what it costs, and what the wrong
    energy would do.

    Per (guard_solver, safeguard): `guard_rises`, the share of the sweeps above 1e-10 that raise F;
    `rejected`, the share that was taken back; `guard_needed` (level); `guard_distance` at the end
    (worst sample); `guard_path` (guard_sweep), the height of the first sample. `summed_rises`
    (guard_solver): the share of sweeps that raise the summed layer energies of VN Eq. 3;
    `summed_stop`, `summed_height`: the sweep that a safeguard on *that* energy would first take
    back, and the height there (medians over the samples that have one; plain ISTA would repeat the
    rejected sweep for ever).
    """
    evaluated = list(range(1, sweeps + 1))
    shape = (len(methods), 2)
    rises, rejected, ends = np.empty(shape), np.empty(shape), np.empty(shape)
    needed, paths = np.empty((*shape, len(LEVELS))), np.empty((*shape, sweeps))
    summed = np.empty((3, len(methods)))
    for i, method in enumerate(methods):
        for j, monotone in enumerate((False, True)):
            config = SettleConfig(method=method, max_sweeps=sweeps, tol=0, monotone=monotone)
            settler = one.settler(config)
            settled = settler(one.x, trace=True)
            energy = torch.stack(settled.trace.energy)
            heights = (energy / one.energy - 1).clamp_min(1e-16)
            change, counts = energy.diff(dim=0), heights[:-1] > 1e-10
            rises[i, j] = _share(change > ROUNDING * energy[1:], counts)
            rejected[i, j] = _share(change == 0, counts) if monotone else 0.0
            needed[i, j], paths[i, j] = _needed(evaluated, heights), heights[:, 0].numpy()
            ends[i, j] = _end(one, finish(settler, one.x, settled, steps=end_steps))[0]
        summed[:, i] = _judged_by_the_sum(one, method, sweeps)
    cell = ("guard_solver", "safeguard")
    return xr.Dataset(
        {
            "guard_rises": (cell, rises),
            "rejected": (cell, rejected),
            "guard_needed": ((*cell, "level"), needed),
            "guard_distance": (cell, ends),
            "guard_path": ((*cell, "guard_sweep"), paths),
            "summed_rises": ("guard_solver", summed[0]),
            "summed_stop": ("guard_solver", summed[1]),
            "summed_height": ("guard_solver", summed[2]),
        },
        {
            "guard_solver": list(methods),
            "safeguard": ["none", "reject"],
            "level": list(LEVELS),
            "guard_sweep": evaluated,
        },
    )


def _share(which: Tensor, among: Tensor) -> float:
    return float((which & among).sum() / among.sum().clamp_min(1))


def _judged_by_the_sum(one: Task, method: str, sweeps: int) -> tuple[float, float, float]:
    path = list(walk(one.settler(SettleConfig(method=method)), one.x, range(1, sweeps + 1)))
    values = torch.stack([summed_energy(one.layers, s.codes, one.x, one.feedback) for s in path])
    heights = torch.stack([one.height(s.codes) for s in path])
    rise = (values.diff(dim=0) > ROUNDING * values[1:]) & (heights[:-1] > 1e-10)
    if not rise.any():
        return 0.0, np.nan, np.nan
    has, first = rise.any(0), rise.int().argmax(0)
    at = heights.gather(0, first[None])[0]
    return (
        _share(rise, heights[:-1] > 1e-10),
        float((first[has] + 2).double().median()),
        float(at[has].median()),
    )


def variants(one: Task, *, sweeps: int, kept: int, end_steps: int) -> xr.Dataset:
    """Small choices of App. C, for plain ISTA and restarted momentum, schedule "sweep".

    `variant_needed` (variant, variant_solver, level): layer steps to a height (median over
    samples); `variant_distance`: distance at the end (worst sample). Variants: "none"; "mix ...",
    damping of the downward steps; "... steps" per layer and pass; "bottom-up first", a longer step
    before targets exist (plain ISTA only).
    """
    evaluated = evaluated_sweeps(sweeps, kept)
    choices: dict[str, dict] = {
        "none": {},
        "mix 0.25": {"mix": 0.25},
        "mix 0.5": {"mix": 0.5},
        "2 steps": {"steps": 2},
        "5 steps": {"steps": 5},
        "bottom-up first": {},
    }
    methods = ("ista", "restart")
    needed, ends = (
        np.full((len(choices), 2, len(LEVELS)), np.nan),
        np.full((len(choices), 2), np.nan),
    )
    for i, (name, options) in enumerate(choices.items()):
        for j, method in enumerate(methods):
            first = name == "bottom-up first"
            if first and method != "ista":
                continue
            settler = one.settler(
                SettleConfig(method=method, **options),
                ScaledIsta(bottom_up=True) if first else None,
            )
            path = list(walk(settler, one.x, evaluated))
            heights = torch.stack([one.height(settled.codes) for settled in path])
            per_sweep = options.get("steps", 1) * layer_steps(one.depth, "sweep", 1)
            needed[i, j] = [per_sweep * n for n in _needed(evaluated, heights)]
            ends[i, j] = _end(one, finish(settler, one.x, path[-1], steps=end_steps))[0]
    cell = ("variant", "variant_solver")
    return xr.Dataset(
        {"variant_needed": ((*cell, "level"), needed), "variant_distance": (cell, ends)},
        {"variant": list(choices), "variant_solver": list(methods), "level": list(LEVELS)},
    )
