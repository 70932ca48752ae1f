"""A simulator of bodies against what is known of its laws in closed form (VN App. H.1).

It is handed over as functions: trajectory(p, v, laws, physics, steps=), acceleration(p, v, laws,
physics), energy(p, v, laws, physics), with p, v (..., body, 2) and physics a dataclass of
constants: gravity, softening, stiffness, rest_length, drag, rotation, side, dt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

LAWS = ("gravity", "spring", "drag", "lorentz")
CONSERVED = ("gravity", "spring", "lorentz", "gravity+spring+lorentz")
# the spring has a kink where two bodies meet, which lowers the order
SMOOTH = ("gravity", "drag", "lorentz")
FREE = 1e9  # side of a box that no body reaches

VARIABLES = {
    "conserved": ("force laws under which energy is conserved", ""),
    "sim_exact": ("largest distance of the simulator from the path in closed form", "box"),
    "sim_energy": ("largest relative change of energy, median over trajectories", "1"),
    "sim_energy_worst": ("largest relative change of energy, worst trajectory", "1"),
    "sim_momentum": ("largest change of total momentum under gravity and springs", "box/s"),
    "sim_superposition": ("largest deviation from the sum over single laws", "box/s^2"),
    "sim_order": ("order of convergence of the integrator", "1"),
    "sim_boundary": ("largest deviation of the first step outside the box as printed", "box"),
}

Array = np.ndarray
State = tuple[Array, Array]
Path = Float[Array, "time body 2"]


def report(
    trajectory: Callable,
    acceleration: Callable,
    energy: Callable,
    physics: Any,
    *,
    steps: int = 1000,
    seed: int = 0,
) -> xr.Dataset:
    """What must hold of the simulator, measured over `steps` steps without a boundary.

    Energies are relative to the larger of kinetic and potential energy at the start, of 16
    trajectories of five bodies. `VARIABLES` says what is measured.
    """
    free = replace(physics, side=FREE)
    rng = np.random.default_rng(seed)
    p, v = rng.uniform(-2, 2, (16, 5, 2)), rng.uniform(-1, 1, (16, 5, 2))

    def run(
        laws: Sequence[str], p: Array = p, v: Array = v, physics: Any = free, steps: int = steps
    ) -> list[State]:
        return list(trajectory(p, v, laws, physics, steps=steps))

    exact = [_exact(law, run, free, steps) for law in LAWS]
    drifts = [_drift(run(names.split("+")), names.split("+"), energy, free) for names in CONSERVED]
    total = np.array([one[1].sum(-2) for one in run(("gravity", "spring"))])
    return xr.Dataset(
        {
            "sim_exact": ("law", exact),
            "sim_energy": ("conserved", [np.median(one) for one in drifts]),
            "sim_energy_worst": ("conserved", [one.max() for one in drifts]),
            "sim_momentum": float(np.abs(total - total[0]).max()),
            "sim_superposition": _superposition(acceleration, p, v, free),
            "sim_order": _order(run, free),
            "sim_boundary": _boundary(trajectory, physics),
        },
        {"law": list(LAWS), "conserved": list(CONSERVED)},
    )


def _exact(law: str, run: Callable, physics: Any, steps: int) -> float:
    """The largest distance of two bodies from their path in closed form."""
    t = physics.dt * np.arange(steps + 1)[:, None, None]
    start = {
        # Two bodies circle each other at a distance of 1.5.
        "gravity": lambda: _circle(1.5, physics),
        # Let go at rest, farther apart than the spring is long: they swing along the line between
        # them.
        "spring": lambda: (np.array([[-1.0, 0.2], [1.0, 0.2]]), np.zeros((2, 2))),
        "drag": lambda: (np.array([[0.0, 0.0], [1.0, 0.5]]), np.array([[1.0, -0.5], [0.3, 0.8]])),
        "lorentz": lambda: (
            np.array([[0.0, 0.0], [1.0, 0.5]]),
            np.array([[1.0, -0.5], [0.3, 0.8]]),
        ),
    }
    p, v = start[law]()
    known: dict[str, Callable[[], Path]] = {
        "gravity": lambda: _turned(p, -t * np.linalg.norm(v[0]) / 0.75),
        "spring": lambda: _swing(p, t, physics),
        "drag": lambda: p + v * (1 - np.exp(-physics.drag * t)) / physics.drag,
        "lorentz": lambda: _gyrate(p, v, t, physics),
    }
    found = np.stack([one[0] for one in run((law,), p=p, v=v)])
    return float(np.linalg.norm(found - known[law](), axis=-1).max())


def _circle(distance: float, physics: Any) -> State:
    """Two bodies on one circle, at the speed whose centripetal acceleration is the softened
    pull.
    """
    pull = physics.gravity * distance / (distance**2 + physics.softening**2) ** 1.5
    p = np.array([[distance / 2, 0.0], [-distance / 2, 0.0]])
    return p, np.sqrt(pull * distance / 2) * np.array([[0.0, -1.0], [0.0, 1.0]])


def _turned(p: Array, angle: Array) -> Path:
    """Positions turned about the origin, counter-clockwise."""
    x, y = p[..., :1], p[..., 1:]
    return np.concatenate(
        [np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y], -1
    )


def _swing(p: Array, t: Array, physics: Any) -> Path:
    """Two bodies on one spring: their distance swings about the rest length with frequency sqrt(2
    k).
    """
    middle, apart = p.mean(0), p[1] - p[0]
    length = np.linalg.norm(apart)
    now = physics.rest_length + (length - physics.rest_length) * np.cos(
        np.sqrt(2 * physics.stiffness) * t
    )
    return middle + np.array([[-0.5], [0.5]]) * now * apart / length


def _gyrate(p: Array, v: Array, t: Array, physics: Any) -> Path:
    """Circles of radius `|v|` / omega, clockwise, about p + (v_y, -v_x) / omega."""
    centre = p + np.stack([v[:, 1], -v[:, 0]], -1) / physics.rotation
    return centre + _turned(p - centre, -physics.rotation * t)


def _drift(states: Sequence[State], laws: Sequence[str], energy: Callable, physics: Any) -> Array:
    """The largest change of energy of each trajectory, over the larger of its two kinds at the
    start.
    """
    found = np.array([energy(p, v, laws, physics) for p, v in states])
    kinetic = 0.5 * (states[0][1] ** 2).sum((-1, -2))
    return (np.abs(found - found[0]) / np.maximum(kinetic, np.abs(found[0] - kinetic))).max(0)


def _superposition(acceleration: Callable, p: Array, v: Array, physics: Any) -> float:
    single = {law: acceleration(p, v, (law,), physics) for law in LAWS}
    worst = 0.0
    for n in range(2, len(LAWS) + 1):
        for laws in combinations(LAWS, n):
            apart = acceleration(p, v, laws, physics) - sum(single[law] for law in laws)
            worst = max(worst, float(np.abs(apart).max()))
    return worst


def _order(run: Callable, physics: Any, seconds: float = 0.96, coarse: float = 0.08) -> float:
    """log2 of the ratio of the errors of two step sizes, the second half the first, after the same
    time.
    """

    def end(dt: float) -> Array:
        return run(SMOOTH, physics=replace(physics, dt=dt), steps=round(seconds / dt))[-1][0]

    exact = end(coarse / 16)
    first, second = (np.abs(end(dt) - exact).max() for dt in (coarse, coarse / 2))
    return float(np.log2(first / second))


def _boundary(trajectory: Callable, physics: Any) -> float:
    """One body that coasts out of the box in the first step."""
    p, v = np.array([[physics.side / 2 - 0.25 * physics.dt, 0.3]]), np.array([[1.0, 0.5]])
    _, (after, speed) = trajectory(p, v, (), physics, steps=1)
    return float(
        max(np.abs(after - 0.98 * (p + physics.dt * v)).max(), np.abs(speed - 0.9 * v).max())
    )
