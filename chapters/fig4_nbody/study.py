"""Force composition: models learn the accelerations of bodies under one law at a time, and are
asked about several at once and about fewer bodies (VN Fig. 4, App. H.1).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import xarray as xr

from benchmarks.nbody import measure
from benchmarks.nbody.dynamics import train_dynamics
from chapters.fig4_nbody import simulator
from data_gen import nbody
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.book.comparison import compared, training

VARIABLES = measure.VARIABLES | simulator.VARIABLES


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """All models over seeds, and the candidates behind them (None where nothing was chosen)."""
    return compared(chapter, run, settings, VARIABLES)


def settings(chapter: Chapter, axes: Axes, candidate: int, selecting: bool) -> Settings:
    """The settings of one run; those that choose see validation states only."""
    s = chapter.settings
    return {
        "data": {k: s[k] for k in ("n_train", "n_val", "n_test")},
        "rollouts": {} if selecting else {k: s[k] for k in ("n_starts", "steps", "every")},
        "training": training(chapter, axes["model"], candidate, selecting),
        "details": not selecting and axes["seed"] == chapter.seeds[0],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One model, trained and measured; without rollouts it sees validation states only."""
    device, data = chapter.device, measure.states(**settings["data"])
    model = train_dynamics(data, axes["seed"], workdir, device, **settings["training"])
    if not settings["rollouts"]:
        return measure.study(data, model, tests=False, device=device)
    truth = measure.truth(**settings["rollouts"])
    found = measure.study(data, model, truth=truth, details=settings["details"], device=device)
    return xr.merge([found, simulated()], compat="no_conflicts", join="outer")


@cache
def simulated() -> xr.Dataset:
    """The simulator's report."""
    return simulator.report(nbody.trajectory, nbody.acceleration, nbody.energy, nbody.Physics())


def example() -> xr.Dataset:
    """A trajectory of each kind, to be shown."""
    return nbody.make(nbody.NBodyConfig(n_train=1, n_val=1, n_test=1, every=4, test_seed=7))
