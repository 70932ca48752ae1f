"""Models of dynamics by themselves: each reads the state that it has brought about (VN App. H.4,
Figs. 10 and 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
import xarray as xr
from tqdm import tqdm

from benchmarks.nbody.bodies import LAWS, N_BODIES, Bodies
from benchmarks.nbody.forces import Predict, Trained

# a state beyond this number is as good as infinite, and would spoil the arithmetic of models
LOST = 1e6
DIMS = ("panel", "start", "step", "body", "axis")
GRID = 256  # drawn paths are kept to this part of a box unit
VARIABLES = {
    "panel": ("force laws of a rollout", ""),
    "scene": ("force laws of a rollout whose paths are kept", ""),
    "step": ("step of the integrator", "1"),
    "axis": ("axis of the plane", ""),
    "drift": ("squared distance from the truth, mean over bodies", "box^2"),
    "energy": ("change of the energy since the first step", "box^2/s^2"),
    "energy_true": ("change of the true energy since the first step", "box^2/s^2"),
    "path": ("positions of bodies that follow the model", "box"),
}

Integrate = Callable[..., Iterator[tuple[np.ndarray, np.ndarray]]]
Energy = Callable[[np.ndarray, np.ndarray, Sequence[str]], np.ndarray]


def rollout(
    model: Trained,
    truth: xr.Dataset,
    integrate: Integrate,
    energy: Energy,
    *,
    details: bool = False,
    device: torch.device | str = "cpu",
    progress: bool = False,
) -> xr.Dataset:
    """What comes of a model's accelerations from the first states of all panels and starts, in one
    batch.

    The state is float64, what the model reads is float32.

    `drift` (panel, start, step): squared distance from the truth, mean over bodies, box^2. `energy`
    (panel, start, step): the model's energy minus its first, NaN where drag acts; `energy_true`:
    the same of the truth, from which the boundary takes energy. With details, `path` (scene, start,
    step, body, axis): positions to 1/256 box, scenes being the panels with several forces.

    A rollout whose accelerations or states stop being finite numbers, or states exceed 1e6, is
    lost: from then on its drift and energy are inf and its path is NaN, and the model reads its
    first state in its place. The others go on.

    Parameters
    ----------
    truth
        Position, velocity (panel, start, step, body, axis), of five bodies; coordinates panel, sets
        of forces such as "gravity+drag", and step, the first one 0.
    integrate
        `integrate(accelerate, p, v, steps=)`: yields the states (p, v) after 0, 1, ... steps.
    energy
        `energy(p, v, laws)`: per trajectory.

    Raises
    ------
    ValueError
        For unknown forces, another number of bodies and steps that do not begin with 0.
    """
    panels, steps = [str(p) for p in truth["panel"].values], truth["step"].values
    true_p, true_v = (truth[name].transpose(*DIMS).values for name in ("position", "velocity"))
    if steps[0] != 0:
        raise ValueError(f"step of truth must begin with 0, got {steps[0]}")
    if true_p.shape[3] != N_BODIES:
        raise ValueError(f"truth must have {N_BODIES} bodies, got {true_p.shape[3]}")
    first = [one[:, :, 0].reshape(-1, N_BODIES, 2) for one in (true_p, true_v)]
    guarded = Guarded(model, np.repeat(multi_hot(panels), true_p.shape[1], 0), first, device)
    kept, last = [], int(steps[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        states = integrate(guarded, *first, steps=last)
        bar = tqdm(
            states, total=last + 1, desc="rollout", unit="step", disable=not progress, leave=False
        )
        for step, (p, v) in enumerate(bar):
            if step in steps:
                kept.append((p, v, guarded.lost | beyond(p, v)))
        p, v, lost = (np.stack(part, 1) for part in zip(*kept, strict=True))
        p, v, lost = (
            p.reshape(true_p.shape),
            v.reshape(true_p.shape),
            lost.reshape(true_p.shape[:3]),
        )
        drift = np.where(lost, np.inf, ((p - true_p) ** 2).sum(-1).mean(-1))
        true_change = changes(true_p, true_v, panels, energy)
        change = np.where(lost & np.isfinite(true_change), np.inf, changes(p, v, panels, energy))
    found = {
        "drift": (DIMS[:3], drift),
        "energy": (DIMS[:3], change),
        "energy_true": (DIMS[:3], true_change),
    }
    coords: dict[str, object] = {"panel": panels, "step": steps}
    if details:
        mixed = ["+" in panel for panel in panels]
        coords |= {"scene": [panel for panel in panels if "+" in panel], "axis": ["x", "y"]}
        path = np.where(lost[..., None, None], np.nan, np.round(p * GRID) / GRID)
        found["path"] = (("scene", *DIMS[1:]), path[mixed])
    return xr.Dataset(found, coords).astype(np.float32)


def changes(p: np.ndarray, v: np.ndarray, panels: Sequence[str], energy: Energy) -> np.ndarray:
    """Energies of states (panel, start, step, body, axis) minus those of the first step; NaN for
    panels with drag.
    """
    total = np.full(p.shape[:3], np.nan)
    for number, panel in enumerate(panels):
        if "drag" not in panel.split("+"):
            total[number] = energy(p[number], v[number], panel.split("+"))
    return total - total[..., :1]


class Guarded:
    """A model as accelerations of float64 arrays (rollout, body, 2), and which rollouts are lost so
    far.
    """

    def __init__(
        self,
        model: Trained,
        forces: np.ndarray,
        first: Sequence[np.ndarray],
        device: torch.device | str,
    ) -> None:
        self.predict: Predict = model.follow() if model.follow else model.predict
        self.first, self.device = first, device
        self.lost = np.zeros(len(forces), bool)
        self.forces = torch.from_numpy(forces).to(device)
        self.present = torch.ones(first[0].shape[:2], dtype=torch.bool, device=device)

    @torch.no_grad()
    def __call__(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.lost |= beyond(p, v)
        read = [
            np.where(self.lost[:, None, None], safe, now)
            for safe, now in zip(self.first, (p, v), strict=True)
        ]
        position, velocity = (
            torch.from_numpy(one.astype(np.float32)).to(self.device) for one in read
        )
        found = (
            self.predict(Bodies(position, velocity, self.present, self.forces))
            .double()
            .cpu()
            .numpy()
        )
        self.lost |= ~np.isfinite(found).all((1, 2))
        return np.where(self.lost[:, None, None], 0.0, found)


def beyond(p: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Which states (rollout, body, 2) hold a number that is not finite, or is larger than
    `LOST`.
    """
    return ~((np.abs(p) <= LOST) & (np.abs(v) <= LOST)).all((1, 2))


def multi_hot(panels: Sequence[str]) -> np.ndarray:
    """The forces of panels such as "gravity+drag", float32 (panel, law).

    Raises
    ------
    ValueError
        For unknown laws.
    """
    for panel in panels:
        if not set(panel.split("+")) <= set(LAWS):
            raise ValueError(
                f"panels must be laws of {', '.join(LAWS)}, joined by '+', got {panel!r}"
            )
    return np.array([[law in panel.split("+") for law in LAWS] for panel in panels], np.float32)
