"""Networks of bodies with other atoms, lambdas, feedback or solver than those of Fig. 4, or that infer
accelerations with the state, and how they err where forces act together.

The results of chapter fig4_nbody hold the networks that they are compared with.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import xarray as xr

from benchmarks.nbody import measure
from benchmarks.nbody.dynamics import train_dynamics
from vnlib.book.chapter import Axes, Chapter, Settings

VARIABLES = measure.VARIABLES


def results(chapter: Chapter) -> xr.Dataset:
    """All networks over seeds."""
    return chapter.grid(
        run, settings=partial(settings, shared=shared(chapter)), variables=VARIABLES
    )


def shared(chapter: Chapter) -> xr.Dataset:
    """The results of Fig. 4."""
    return chapter.results_of("fig4_nbody")


def settings(chapter: Chapter, axes: Axes, shared: xr.Dataset) -> Settings:
    """The settings of one run, with the states and rollouts of Fig. 4."""
    s, model = chapter.settings, chapter.model(axes["model"])
    told = json.loads(str(shared["run_settings"].values.flat[0]))
    own = {key: model[key] for key in ("family", "lr", "batch_size")}
    steps = max(2, round(s["scale"] * model["steps"]))
    layers = "one" if len(model["options"]["atoms"]) == 1 else "three"
    options = model["options"] | s.get("sizes", {}).get(layers, {})
    rollouts = told["rollouts"] if model["follow"] else {}
    return {
        "data": told["data"],
        "rollouts": rollouts,
        "training": own | {"options": options, "steps": steps},
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One network, trained on single forces, measured on all, and perhaps followed by bodies."""
    data = measure.states(**settings["data"])
    how = settings["training"]
    model = train_dynamics(data, axes["seed"], workdir, chapter.device, **how)
    truth = measure.truth(**settings["rollouts"]) if settings["rollouts"] else None
    return measure.study(data, model, truth=truth, device=chapter.device)
