"""Force composition: models learn the accelerations of bodies under one law at a time, and are
asked about several at once and about fewer bodies (VN Fig. 4, App. H.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import xarray as xr

from benchmarks.nbody import measure
from benchmarks.nbody.dynamics import train_dynamics
from benchmarks.nbody.forces import Device
from chapters.fig4_nbody import simulator
from data_gen import nbody
from vnlib.book.chapter import Chapter
from vnlib.book.comparison import Axes, Comparison, with_candidate

VARIABLES = measure.VARIABLES | simulator.VARIABLES


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """All models over seeds, and the candidates behind them (None where nothing was chosen)."""
    one = partial(run, device=chapter.device)
    return Comparison(chapter, one, partial(settings, chapter), VARIABLES).results()


def settings(chapter: Chapter, axes: Axes, candidate: int, selecting: bool) -> dict[str, Any]:
    """The settings of one run; those that choose make fewer steps and see validation states only.

    The profile's sizes are laid over the options of a family or a model, a candidate over both.
    """
    s, name = chapter.settings, axes["model"]
    model, sizes = chapter.model(name), s.get("sizes", {})
    small = sizes.get(model["family"], {}) | sizes.get(name, {})
    lr, options = with_candidate(model | {"options": model["options"] | small}, candidate)
    scale = s["scale"] * (s["selection_share"] if selecting else 1)
    return {
        "data": {k: s[k] for k in ("n_train", "n_val", "n_test")},
        "rollouts": {} if selecting else {k: s[k] for k in ("n_starts", "steps", "every")},
        "training": {
            "family": model["family"],
            "options": options,
            "lr": lr,
            "steps": max(s["least"], round(scale * model["steps"])) if model["steps"] else 0,
            "batch_size": model["batch_size"],
        },
        "details": not selecting and axes["seed"] == chapter.seeds[0],
    }


def run(
    axes: Axes, settings: Mapping[str, Any], workdir: Path, *, device: Device = "cpu"
) -> xr.Dataset:
    """One model, trained and measured; without rollouts it sees validation states only."""
    data = measure.states(**settings["data"])
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
