"""Where the settle ends, and how fast it gets there: schedules, methods and starts (VN App. C).

Part of the measurements of App. C: `inference_steps` has step sizes and accept/reject,
`inference_limits` hard caps and ReLU messages, `inference_penalties` other penalties. A `Task` is a
stack of layers, its inputs, and the settled point that everything is compared with. All of it in
float64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from vnlib.layer import Layer
from vnlib.metrics import relative_distance
from vnlib.network import VectorNetwork
from vnlib.prox import TopK
from vnlib.seeding import generator
from vnlib.settle import SCHEDULES, SettleConfig, Settled, Settler, duality_gap, joint_energy
from vnlib.settle.steps import Rule

METHODS = ("ista", "fista", "restart", "line_search")
LEVELS = (1e-3, 1e-6)  # heights above the lowest energy, relative to it
END = SettleConfig.exact(method="line_search", max_sweeps=20_000, tol=1e-13, check_every=10)
GAP = 1e-9  # a settle is at its end when its relative duality gap is below this

Codes = Sequence[Float[Tensor, "batch _atoms"]]


@dataclass(frozen=True)
class Task:
    """What is settled.

    `codes`, `energy`: the point that a very long settle found, where one is wanted.
    """

    layers: tuple[Layer, ...]
    feedback: float
    x: Float[Tensor, "batch d"]
    activation: str = "identity"
    codes: tuple[Tensor, ...] = ()
    energy: Tensor | None = None

    @property
    def depth(self) -> int:
        return len(self.layers)

    def settler(self, config: SettleConfig, rule: Rule | None = None) -> Settler:
        """The settle of these layers; `rule`, a step of one's own, replaces that of the method."""
        settler = Settler(
            self.layers, feedback=self.feedback, activation=self.activation, config=config
        )
        if rule is not None:
            settler.rules = [rule] * self.depth
        return settler

    def value(self, codes: Codes) -> Float[Tensor, " batch"]:
        """F of these codes."""
        return joint_energy(self.layers, codes, self.x, self.feedback, self.activation)

    def height(self, codes: Codes) -> Float[Tensor, " batch"]:
        """(F - F*) / F*, at least the rounding of F."""
        return (self.value(codes) / self.energy - 1).clamp_min(1e-16)

    def distance(self, codes: Codes) -> Float[Tensor, " batch"]:
        """`|a - a*|` / `|a*|`, all layers together."""
        return relative_distance(codes, self.codes)


def task(
    network: VectorNetwork,
    x: Float[Tensor, "batch d"],
    *,
    depth: int,
    feedback: float,
    top_k: int | None = None,
) -> Task:
    """The lowest `depth` layers of a network with inputs x, in float64.

    Parameters
    ----------
    top_k
        A hard cap for its top layer.
    """
    layers = []
    for number, layer in enumerate(network.layers[:depth], 1):
        top = number == depth
        penalty = TopK(penalty=layer.penalty.soft, k=top_k) if top and top_k else layer.penalty.soft
        layers.append(Layer(layer.V.double(), None if top else layer.U.double(), penalty))
    return Task(tuple(layers), feedback, x.double())


def with_reference(one: Task) -> Task:
    """The task with its settled point, to a relative duality gap of 1e-13 where rounding lets it be
    reached.
    """
    settled = one.settler(END)(one.x)
    return replace(one, codes=settled.codes, energy=settled.energy)


def evaluated_sweeps(sweeps: int, kept: int) -> list[int]:
    """Sweeps to evaluate: up to `kept` of them, from 1 to `sweeps`, equally spaced on a logarithmic
    scale.
    """
    return np.unique(np.geomspace(1, sweeps, kept).round().astype(int)).tolist()


def walk(
    settler: Settler,
    x: Float[Tensor, "batch d"],
    evaluated: Sequence[int],
    start: Codes | Settled | None = None,
) -> Iterator[Settled]:
    """The settle as it stands after each of these numbers of sweeps.

    It is resumed, so evaluations change nothing. Codes that overflow have nowhere to go, and stay.
    """
    settled, done, config = start, 0, settler.config
    for sweep in evaluated:
        settler.config = replace(config, max_sweeps=sweep - done, tol=0.0)
        codes = settled.codes if isinstance(settled, Settled) else settled or []
        if all(code.isfinite().all() for code in codes):
            settled = settler(x, settled)
        done = sweep
        yield settled
    settler.config = config


def finish(
    settler: Settler, x: Float[Tensor, "batch d"], settled: Settled, *, steps: int
) -> Settled:
    """Go on until the relative duality gap is below `GAP`, for so many more steps on single layers
    at most.
    """
    depth, schedule = len(settler.layers), settler.config.schedule
    each = layer_steps(depth, schedule, 2) - layer_steps(depth, schedule, 1)
    sweeps = max(1, steps // (each * settler.config.steps))
    every = 1 if settler.config.monotone else 10
    settler.config = replace(
        settler.config, criterion="gap", tol=GAP, check_every=every, max_sweeps=sweeps
    )
    return settler(x, settled)


def sweeps_to(
    evaluated: Sequence[int], heights: Float[Tensor, "evaluated batch"], level: float
) -> Float[Tensor, " batch"]:
    """Sweeps until a height falls to `level`, interpolated between evaluations on logarithmic scales;
    inf if never.
    """
    n, h = torch.tensor(evaluated, dtype=heights.dtype).log(), heights.clamp_min(1e-16).log()
    below = heights <= level
    first = below.int().argmax(0)
    last, column = (first - 1).clamp_min(0), torch.arange(heights.shape[1])
    fall = h[last, column] - h[first, column]
    share = torch.where(fall > 0, (h[last, column] - np.log(level)) / fall, torch.ones_like(fall))
    crossed = (n[last] + share.clamp(0, 1) * (n[first] - n[last])).exp()
    return torch.where(below.any(0), crossed, torch.inf)


def layer_steps(depth: int, schedule: str, sweeps: int) -> int:
    """Proximal steps on single layers that so many sweeps take, from a cold start, one step per
    layer and pass.
    """
    later = depth if schedule == "recurrent" else 2 * depth - 1
    first = later + (depth * (depth - 1) // 2 if schedule == "staggered" else 0)
    return first + (sweeps - 1) * later


# --- Schedules and methods ------------------------------------------------------------------------


def schedules(
    network: VectorNetwork,
    x: Float[Tensor, "batch d"],
    *,
    depths: Sequence[int],
    betas: Sequence[float],
    sweeps: int,
    kept: int,
    end_steps: int,
) -> xr.Dataset:
    """Every schedule with every method, from a cold start, for stacks of these depths and weights
    beta of the coupling.

    Per (depth, beta, schedule, solver): `height` (sweep), (F - F*) / F* (median over samples),
    `needed` (level), the sweeps to a height (median over samples), and after `end_steps` more layer
    steps at most, worst over samples: `end_distance` of all codes from the reference, relative,
    `end_height`, and `end_gap`, the relative duality gap. Also `active` (depth, beta, solver,
    sweep, layer), mean, in the schedule "sweep"; `steps` (depth, schedule, sweep), layer steps done;
    `rises` (depth, beta, schedule), the share of plain ISTA sweeps that raise F, and `alone`
    (alone_solver), the distance at which ADMM and coordinate descent end for one layer. A single
    layer has no beta: its numbers are repeated.
    """
    evaluated = evaluated_sweeps(sweeps, kept)
    shape = (len(depths), len(betas), len(SCHEDULES), len(METHODS))
    height, needed = np.empty((*shape, len(evaluated))), np.empty((*shape, len(LEVELS)))
    ends, rises = np.empty((3, *shape)), np.empty(shape[:3])
    active = np.full((*shape[:2], shape[3], len(evaluated), max(depths)), np.nan)
    alone = np.full(2, np.nan)
    for i, depth in enumerate(depths):
        for j, beta in enumerate(betas):
            if depth == 1 and j:
                for array in (height, needed, rises, active):
                    array[i, j] = array[i, 0]
                ends[:, i, j] = ends[:, i, 0]
                continue
            one = with_reference(task(network, x, depth=depth, feedback=beta))
            for s, schedule in enumerate(SCHEDULES):
                rises[i, j, s] = _rises(one, schedule, min(sweeps, 200))
                for m, method in enumerate(METHODS):
                    settler = one.settler(SettleConfig(method=method, schedule=schedule))
                    heights = []
                    for n, settled in enumerate(walk(settler, one.x, evaluated)):
                        heights.append(one.height(settled.codes))
                        if schedule == "sweep":
                            active[i, j, m, n, :depth] = [
                                float((c != 0).sum(1).double().mean()) for c in settled.codes
                            ]
                    heights = torch.stack(heights)
                    height[i, j, s, m] = heights.median(1).values
                    needed[i, j, s, m] = [
                        float(sweeps_to(evaluated, heights, level).median()) for level in LEVELS
                    ]
                    ends[:, i, j, s, m] = _end(
                        one, finish(settler, one.x, settled, steps=end_steps)
                    )
            if depth == 1:
                alone = [
                    float(one.distance(_alone(one, name, end_steps).codes).max())
                    for name in ("admm", "cd")
                ]
    cell = ("depth", "beta", "schedule", "solver")
    steps = [
        [[layer_steps(d, schedule, n) for n in evaluated] for schedule in SCHEDULES] for d in depths
    ]
    return xr.Dataset(
        {
            "height": ((*cell, "sweep"), height),
            "needed": ((*cell, "level"), needed),
            "end_distance": (cell, ends[0]),
            "end_height": (cell, ends[1]),
            "end_gap": (cell, ends[2]),
            "rises": (cell[:3], rises),
            "active": (("depth", "beta", "solver", "sweep", "layer"), active),
            "steps": (("depth", "schedule", "sweep"), np.array(steps)),
            "alone": ("alone_solver", alone),
        },
        {
            "depth": list(depths),
            "beta": list(betas),
            "schedule": list(SCHEDULES),
            "solver": list(METHODS),
            "sweep": evaluated,
            "level": list(LEVELS),
            "layer": np.arange(1, max(depths) + 1),
            "alone_solver": ["admm", "cd"],
        },
    )


def _end(one: Task, settled: Settled) -> list[float]:
    gap = duality_gap(one.layers, settled.codes, one.x, one.feedback) / settled.energy
    return [float(v.max()) for v in (one.distance(settled.codes), one.height(settled.codes), gap)]


def _alone(one: Task, method: str, sweeps: int) -> Settled:
    return one.settler(SettleConfig.exact(method=method, tol=GAP, max_sweeps=sweeps))(one.x)


def _rises(one: Task, schedule: str, sweeps: int) -> float:
    """The share of sweeps and samples in which F rises by more than rounding, under plain ISTA."""
    config = SettleConfig(method="ista", schedule=schedule, max_sweeps=sweeps, tol=0)
    energy = torch.stack(one.settler(config)(one.x, trace=True).trace.energy)
    return float((energy.diff(dim=0) > 1e-12 * energy[1:]).double().mean()) if sweeps > 1 else 0.0


# --- Starts ---------------------------------------------------------------------------------------


def neighbours(
    x: Float[Tensor, "batch d"], pool: Float[Tensor, "samples d"], *, noise: float, seed: int
) -> dict[str, Float[Tensor, "batch d"]]:
    """Inputs near x: with noise of `noise` times its norm, shifted by a pixel to the right, and its
    nearest one in `pool`.

    x must be square images, flattened.
    """
    side = round(x.shape[1] ** 0.5)
    wobble = torch.randn(x.shape, generator=generator(seed, "noise"), dtype=x.dtype)
    wobble = noise * x.norm(dim=1, keepdim=True) * wobble / wobble.norm(dim=1, keepdim=True)
    shifted = x.unflatten(1, (side, side)).roll(1, 2).flatten(1)
    nearest = pool[torch.cdist(x.double(), pool.double()).argmin(1)]
    return {"noisy input": x + wobble, "shifted input": shifted, "nearest sample": nearest}


def random_start(one: Task, *, seed: int, scale: float) -> list[Float[Tensor, "batch _atoms"]]:
    """Codes drawn from a normal distribution of this scale (VN App. C)."""
    rng = torch.Generator().manual_seed(seed)
    codes = []
    for layer in one.layers:
        code = scale * torch.randn(len(one.x), layer.V.shape[1], generator=rng, dtype=layer.V.dtype)
        codes.append(layer.penalty.prox(code.to(layer.V.device), 0.0))
    return codes


def starts(
    one: Task,
    near: Mapping[str, Float[Tensor, "batch d"]],
    earlier: Task,
    *,
    random: Mapping[str, float],
    sweeps: int,
    kept: int,
    end_steps: int,
    seed: int,
    methods: Sequence[str] = ("ista", "restart", "line_search"),
) -> xr.Dataset:
    """Cold, warm and random starts of one task in the schedule "sweep".

    Per (start, start_solver): `start_needed` (level), sweeps to a height (median over samples), and
    `start_distance`, `start_end`: distance and height at the end (worst sample). `start_height`: F
    of the start above F*, relative (median). `resumed` (schedule, solver): whether half the sweeps
    and then the other half give the bits of all at once.

    Parameters
    ----------
    near
        Warm starts from the settled codes of these inputs.
    earlier
        The same task under the dictionaries of one pass through the data before; its codes are
        tried in all layers, and in the top layer alone.
    random
        Scale of normal codes.
    """
    evaluated = evaluated_sweeps(sweeps, kept)
    before = with_reference(earlier).codes
    found: dict[str, Codes | None] = {"cold": None}
    found |= {
        name: with_reference(replace(one, x=other.double())).codes for name, other in near.items()
    }
    found["earlier codes"] = before
    found["earlier top code"] = [*(torch.zeros_like(c) for c in before[:-1]), before[-1]]
    found |= {name: random_start(one, seed=seed, scale=scale) for name, scale in random.items()}
    needed, ends = (
        np.empty((len(found), len(methods), len(LEVELS))),
        np.empty((2, len(found), len(methods))),
    )
    first = []
    for i, codes in enumerate(found.values()):
        zero = [c.new_zeros(c.shape) for c in one.codes]
        first.append(float(one.height(zero if codes is None else codes).median()))
        for j, method in enumerate(methods):
            settler = one.settler(SettleConfig(method=method))
            path = list(walk(settler, one.x, evaluated, codes))
            heights = torch.stack([one.height(settled.codes) for settled in path])
            needed[i, j] = [
                float(sweeps_to(evaluated, heights, level).median()) for level in LEVELS
            ]
            ends[:, i, j] = _end(one, finish(settler, one.x, path[-1], steps=end_steps))[:2]
    cell = ("start", "start_solver")
    return xr.Dataset(
        {
            "start_needed": ((*cell, "level"), needed),
            "start_distance": (cell, ends[0]),
            "start_end": (cell, ends[1]),
            "start_height": ("start", first),
            "resumed": (("schedule", "solver"), resumed(one)),
        },
        {
            "start": list(found),
            "start_solver": list(methods),
            "level": list(LEVELS),
            "schedule": list(SCHEDULES),
            "solver": list(METHODS),
        },
    )


def resumed(one: Task, *, half: int = 30) -> np.ndarray:
    """Per schedule and method: whether 30 + 30 sweeps give the bits of 60."""
    same = np.empty((len(SCHEDULES), len(METHODS)), dtype=bool)
    for i, schedule in enumerate(SCHEDULES):
        for j, method in enumerate(METHODS):
            settler = one.settler(SettleConfig(method=method, schedule=schedule, tol=0))
            (whole,), (*_, halves) = (
                walk(settler, one.x, [2 * half]),
                walk(settler, one.x, [half, 2 * half]),
            )
            same[i, j] = all(map(torch.equal, whole.codes, halves.codes))
    return same
