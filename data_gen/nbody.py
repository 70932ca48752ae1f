"""Bodies in a box under any subset of four force laws (VN Sec. 4.3, App. H.1).

Unit masses; d = p_j - p_i, r = `|d|`. On body i act, summed over the other bodies j where they
appear, ::

    gravity   G d / (r^2 + eps^2)^(3/2)
    spring    k (r - r0) d / r
    drag      -gamma v_i
    lorentz   omega (v_y, -v_x)

The paper gives the forms; its constants are lost and chosen here. Fourth-order Runge-Kutta; after
every step a body that is outside the box has its position scaled by 0.98 and its velocity by 0.9.
All in float64.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from numbers import Integral, Real

import numpy as np
import xarray as xr

from data_gen import guards

LAWS = ("gravity", "spring", "drag", "lorentz")
FORCE_SETS = tuple("+".join(laws) for n in range(1, 5) for laws in combinations(LAWS, n))
SPLITS = ("train", "val", "test")
MAX_BODIES = 5


@dataclass(frozen=True, kw_only=True)
class Physics:
    """Constants, in box units, seconds and unit masses.

    Parameters
    ----------
    gravity, softening
        Strength G and the length eps that keeps it finite.
    stiffness, rest_length
        Of springs, k and r0.
    drag
        Strength gamma.
    rotation
        Rate omega.
    side
        Of the box, which is centred at 0.
    dt
        Of one step.
    """

    gravity: float = 2.0
    softening: float = 1.0
    stiffness: float = 0.5
    rest_length: float = 1.5
    drag: float = 1.5
    rotation: float = 1.5
    side: float = 5.0
    dt: float = 0.005

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if (
                not isinstance(value, Real)
                or isinstance(value, bool)
                or not np.isfinite(value)
                or value < 0
            ):
                raise ValueError(f"{name} must be a finite number >= 0, got {value!r}")
        for name in ("softening", "side", "dt"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be > 0, got {getattr(self, name)!r}")


@dataclass(frozen=True, kw_only=True)
class NBodyConfig:
    """Which states there are.

    Training and validation hold single forces with five bodies: n_train and n_val trajectories per
    law. The test holds all 15 force sets with every number of bodies in `bodies`, n_test
    trajectories each. A trajectory has `steps` steps, of which every `every`-th state is kept, the
    first one too. seed draws train and val, test_seed the test.
    """

    n_train: int = 400
    n_val: int = 60
    n_test: int = 20
    steps: int = 200
    every: int = 50
    bodies: tuple[int, ...] = (5, 4, 3)
    seed: int = 0
    test_seed: int = 1_000_000
    physics: Physics = field(default_factory=Physics)

    def __post_init__(self) -> None:
        lows = {
            "n_train": 1,
            "n_val": 1,
            "n_test": 1,
            "steps": 1,
            "every": 1,
            "seed": 0,
            "test_seed": 0,
        }
        guards.seeds(seed=self.seed, test_seed=self.test_seed)
        for name, low in lows.items():
            _whole(name, getattr(self, name), low)
        if not isinstance(self.bodies, (tuple, list)) or not self.bodies:
            raise ValueError(
                f"bodies must be numbers of bodies such as (5, 4, 3), got {self.bodies!r}"
            )
        for n in self.bodies:
            _whole("each of bodies", n, 1, MAX_BODIES)
        if self.seed == self.test_seed:
            raise ValueError(
                "test_seed must differ from seed, so that tests are held apart, got "
                f"{self.seed} twice"
            )
        object.__setattr__(self, "bodies", tuple(self.bodies))


@dataclass(frozen=True, kw_only=True)
class RolloutConfig:
    """Which trajectories a model is to follow by itself (VN Figs. 10 and 11).

    Parameters
    ----------
    panels
        Force sets.
    n_starts
        First states per panel, of `bodies` bodies.
    steps
        Of the integrator; every `every`-th state is kept, the first and the last one too.
    """

    panels: tuple[str, ...] = (
        "gravity",
        "spring",
        "lorentz",
        "gravity+lorentz",
        "spring+drag",
        FORCE_SETS[-1],
    )
    n_starts: int = 20
    steps: int = 999
    every: int = 27
    bodies: int = MAX_BODIES
    seed: int = 2_000_000
    physics: Physics = field(default_factory=Physics)

    def __post_init__(self) -> None:
        guards.seeds(seed=self.seed)
        for name, low in {"n_starts": 1, "steps": 1, "every": 1, "seed": 0}.items():
            _whole(name, getattr(self, name), low)
        _whole("bodies", self.bodies, 1, MAX_BODIES)
        if not isinstance(self.panels, (tuple, list)) or not self.panels:
            raise ValueError(
                f"panels must be force sets such as ('gravity', 'spring+drag'), got {self.panels!r}"
            )
        for forces in self.panels:
            laws_of(forces)
        object.__setattr__(self, "panels", tuple(self.panels))

    @property
    def kept(self) -> list[int]:
        """The steps whose states are kept."""
        return sorted({*range(0, self.steps + 1, self.every), self.steps})


def laws_of(forces: str) -> tuple[str, ...]:
    """The laws of a set such as "gravity+drag".

    Raises
    ------
    ValueError
        For unknown or repeated laws.
    """
    laws = tuple(forces.split("+"))
    if len(set(laws)) < len(laws) or not set(laws) <= set(LAWS):
        raise ValueError(
            f"forces must be different laws of {', '.join(LAWS)}, joined by '+', got {forces!r}"
        )
    return laws


def acceleration(p: np.ndarray, v: np.ndarray, laws: Sequence[str], physics: Physics) -> np.ndarray:
    """Accelerations (..., bodies, 2) at positions p and velocities v of that shape: the sum over
    `laws`.
    """
    total = np.zeros_like(p)
    if "gravity" in laws or "spring" in laws:
        d = p[..., None, :, :] - p[..., :, None, :]
        square = (d**2).sum(-1, keepdims=True)
    if "gravity" in laws:
        total += physics.gravity * (d / (square + physics.softening**2) ** 1.5).sum(-2)
    if "spring" in laws:
        r = np.sqrt(square)
        # A body's distance to itself is 0, and its direction there is 0 too.
        total += physics.stiffness * ((r - physics.rest_length) * d / np.where(r > 0, r, 1)).sum(-2)
    if "drag" in laws:
        total -= physics.drag * v
    if "lorentz" in laws:
        total += physics.rotation * np.stack([v[..., 1], -v[..., 0]], -1)
    return total


def energy(p: np.ndarray, v: np.ndarray, laws: Sequence[str], physics: Physics) -> np.ndarray:
    """Kinetic energy plus the potentials of gravity and springs, per trajectory; drag alone does
    not conserve it.
    """
    total = 0.5 * (v**2).sum((-1, -2))
    first, second = np.triu_indices(p.shape[-2], 1)
    square = ((p[..., first, :] - p[..., second, :]) ** 2).sum(-1)
    if "gravity" in laws:
        total = total - physics.gravity * (1 / np.sqrt(square + physics.softening**2)).sum(-1)
    if "spring" in laws:
        total = total + 0.5 * physics.stiffness * (
            (np.sqrt(square) - physics.rest_length) ** 2
        ).sum(-1)
    return total


def trajectory(
    p: np.ndarray, v: np.ndarray, laws: Sequence[str], physics: Physics, *, steps: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The states (p, v) after 0, 1, ..., `steps` steps; p, v (..., bodies, 2), any number of
    trajectories at once.
    """
    return integrate(lambda p, v: acceleration(p, v, laws, physics), p, v, physics, steps=steps)


def integrate(
    accelerate: Callable[[np.ndarray, np.ndarray], np.ndarray],
    p: np.ndarray,
    v: np.ndarray,
    physics: Physics,
    *,
    steps: int,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """As `trajectory`, under accelerations that `accelerate(p, v)` gives: of shape (..., bodies,
    2), as p and v are.
    """
    p, v, h = np.array(p, np.float64), np.array(v, np.float64), physics.dt
    yield p, v
    for _ in range(steps):
        k1p, k1v = v, accelerate(p, v)
        k2p = v + h / 2 * k1v
        k2v = accelerate(p + h / 2 * k1p, k2p)
        k3p = v + h / 2 * k2v
        k3v = accelerate(p + h / 2 * k2p, k3p)
        k4p = v + h * k3v
        k4v = accelerate(p + h * k3p, k4p)
        p = p + h / 6 * (k1p + 2 * k2p + 2 * k3p + k4p)
        v = v + h / 6 * (k1v + 2 * k2v + 2 * k3v + k4v)
        p, v = bounded(p, v, physics)
        yield p, v


def bounded(p: np.ndarray, v: np.ndarray, physics: Physics) -> tuple[np.ndarray, np.ndarray]:
    """The soft boundary: a body with a coordinate outside the box is drawn in (p * 0.98) and slowed
    (v * 0.9).
    """
    outside = (np.abs(p) > physics.side / 2).any(-1, keepdims=True)
    return np.where(outside, 0.98 * p, p), np.where(outside, 0.9 * v, v)


def start(n: int, bodies: int, seed: int | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """First states (n, bodies, 2): positions uniform in (-2, 2)^2, velocities in (-1, 1)^2."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-2, 2, (n, bodies, 2)), rng.uniform(-1, 1, (n, bodies, 2))


def make(config: NBodyConfig) -> xr.Dataset:
    """States and their accelerations.

    Dimensions: state, body (5), axis (x, y). Variables: position, velocity, acceleration (state,
    body, axis) float64, 0 for bodies that are not there; present (state, body) bool; forces
    (state), one of `FORCE_SETS`; bodies (state); split (state); trajectory (state), a number that
    no two trajectories share.
    """
    parts, physics, count = [], config.physics, 0
    for split, n, force_sets, bodies, seed in (
        ("train", config.n_train, LAWS, (MAX_BODIES,), (config.seed, 0)),
        ("val", config.n_val, LAWS, (MAX_BODIES,), (config.seed, 1)),
        ("test", config.n_test, FORCE_SETS, config.bodies, (config.test_seed, 2)),
    ):
        for forces in force_sets:
            for n_bodies in bodies:
                laws = laws_of(forces)
                p, v = start(n, n_bodies, (*seed, FORCE_SETS.index(forces), n_bodies))
                states = trajectory(p, v, laws, physics, steps=config.steps)
                for step, (p, v) in enumerate(states):
                    if step % config.every == 0:
                        parts.append(
                            _states(p, v, acceleration(p, v, laws, physics), forces, split, count)
                        )
                count += n
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    dims, units = (
        ("state", "body", "axis"),
        {"position": "box", "velocity": "box/s", "acceleration": "box/s^2"},
    )
    variables: dict[str, tuple] = {
        name: (dims, whole[name], {"units": unit}) for name, unit in units.items()
    }
    variables["present"] = (dims[:2], whole["present"], {"long_name": "whether the body is there"})
    variables |= {
        name: ("state", whole[name]) for name in ("forces", "bodies", "split", "trajectory")
    }
    attrs = {"title": "bodies in a box", "config": json.dumps(asdict(config))}
    return xr.Dataset(variables, {"axis": ["x", "y"]}, attrs)


def rollouts(config: RolloutConfig) -> xr.Dataset:
    """The true trajectories of the panels.

    Dimensions: panel, start, step, body, axis. Variables: position, velocity (panel, start, step,
    body, axis) float64; reach (panel, start), the largest `|coordinate|` of any body at any step;
    length (panel, start), the mean length of the bodies' paths. Coordinates: panel, step, axis.
    """
    found: dict[str, list] = {"position": [], "velocity": [], "reach": [], "length": []}
    for panel in config.panels:
        index = FORCE_SETS.index(panel) if panel in FORCE_SETS else len(FORCE_SETS)
        first = start(config.n_starts, config.bodies, (config.seed, index))
        states = list(trajectory(*first, laws_of(panel), config.physics, steps=config.steps))
        p, v = (np.stack(part, 1) for part in zip(*states, strict=True))
        found["reach"].append(np.abs(p).max((1, 2, 3)))
        found["length"].append(np.linalg.norm(np.diff(p, axis=1), axis=-1).sum(1).mean(-1))
        found["position"].append(p[:, config.kept])
        found["velocity"].append(v[:, config.kept])
    dims = ("panel", "start", "step", "body", "axis")
    return xr.Dataset(
        {
            "position": (dims, np.stack(found["position"]), {"units": "box"}),
            "velocity": (dims, np.stack(found["velocity"]), {"units": "box/s"}),
            "reach": (
                dims[:2],
                np.stack(found["reach"]),
                {"units": "box", "long_name": "largest |coordinate|"},
            ),
            "length": (
                dims[:2],
                np.stack(found["length"]),
                {"units": "box", "long_name": "mean length of a path"},
            ),
        },
        {"panel": list(config.panels), "step": config.kept, "axis": ["x", "y"]},
        {"title": "trajectories to follow", "config": json.dumps(asdict(config))},
    )


def subset(ds: xr.Dataset, *splits: str, forces: Sequence[str] = FORCE_SETS) -> xr.Dataset:
    """The states of `splits` (any of `SPLITS`) under the force sets `forces`, in their order in
    `ds`.
    """
    for name, values, allowed in (("splits", splits, SPLITS), ("forces", forces, FORCE_SETS)):
        for value in values:
            if value not in allowed:
                raise ValueError(f"{name} must be any of {', '.join(allowed)}, got {value!r}")
    inside = np.isin(ds["split"].values, splits) & np.isin(ds["forces"].values, list(forces))
    return ds.isel(state=np.flatnonzero(inside))


def _states(
    p: np.ndarray, v: np.ndarray, a: np.ndarray, forces: str, split: str, first: int
) -> dict[str, np.ndarray]:
    """One moment of some trajectories, with empty places for the bodies that are not there."""
    n, bodies = p.shape[:2]
    empty = ((0, 0), (0, MAX_BODIES - bodies), (0, 0))
    found = {
        name: np.pad(one, empty)
        for name, one in (("position", p), ("velocity", v), ("acceleration", a))
    }
    return found | {
        "present": np.broadcast_to(np.arange(MAX_BODIES) < bodies, (n, MAX_BODIES)),
        "forces": np.full(n, forces),
        "bodies": np.full(n, bodies),
        "split": np.full(n, split),
        "trajectory": first + np.arange(n),
    }


def _whole(name: str, value: object, low: int, high: int | None = None) -> None:
    top = f" and <= {high}" if high is not None else ""
    fits = (
        isinstance(value, Integral)
        and not isinstance(value, bool)
        and value >= low
        and (not high or value <= high)
    )
    if not fits:
        raise ValueError(f"{name} must be an integer >= {low}{top}, got {value!r}")
