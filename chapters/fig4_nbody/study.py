"""Force composition: models learn the accelerations of bodies under one law at a time, and are
asked about several at once and about fewer bodies (VN Fig. 4, App. H.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from benchmarks.nbody import measure
from benchmarks.nbody.dynamics import train_dynamics
from chapters.fig4_nbody import simulator
from data_gen import nbody
from vnlib.book.chapter import Chapter
from vnlib.book.comparison import Comparison, with_candidate

VARIABLES = measure.VARIABLES | simulator.VARIABLES


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """All models over seeds, and the candidates behind them (None where nothing was chosen)."""
    return Comparison(
        chapter,
        partial(run, device=chapter.device),
        partial(settings, chapter),
        VARIABLES,
    ).results()


def settings(
    chapter: Chapter, axes: Mapping[str, Any], candidate: int, selecting: bool
) -> dict[str, Any]:
    """The settings of one run; those that choose make fewer steps and see validation states only.

    Sizes of the profile are laid over the options of a family or a model, and a candidate over
    both.
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
    axes: Mapping[str, Any],
    settings: Mapping[str, Any],
    workdir: Path,
    *,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """Train one model with one seed, and measure it (see `measure.study` and `simulator.report`).

    Without `rollouts` in the settings only validation states are looked at.
    """
    data = states(**settings["data"])
    train, held = (measure.samples(nbody.subset(data, one), device) for one in ("train", "val"))
    model = train_dynamics(train, held, seed=axes["seed"], workdir=workdir, **settings["training"])
    if not settings["rollouts"]:
        return measure.study(data, model, tests=False, device=device)
    found = measure.study(
        data,
        model,
        truth=truth(**settings["rollouts"]),
        integrate=partial(nbody.integrate, physics=nbody.Physics()),
        energy=partial(nbody.energy, physics=nbody.Physics()),
        details=settings["details"],
        device=device,
    )
    return xr.merge([found, simulated()], compat="no_conflicts", join="outer")


@cache
def states(**sizes: int) -> xr.Dataset:
    """The states of all splits, the same for all models and seeds."""
    return nbody.make(nbody.NBodyConfig(**sizes))


@cache
def truth(**sizes: int) -> xr.Dataset:
    """The trajectories that models follow by themselves, the same for all models and seeds."""
    return nbody.rollouts(nbody.RolloutConfig(**sizes))


@cache
def simulated() -> xr.Dataset:
    """The simulator's report."""
    return simulator.report(nbody.trajectory, nbody.acceleration, nbody.energy, nbody.Physics())


def example() -> xr.Dataset:
    """A trajectory of each kind, to be shown."""
    return nbody.make(nbody.NBodyConfig(n_train=1, n_val=1, n_test=1, every=4, test_seed=7))
