"""Force composition with operators that are applied, beside rivals, on states of each run's own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from benchmarks.confirm.frozen import frozen
from benchmarks.nbody import measure
from benchmarks.nbody.bodies import LAWS, N_BODIES, Bodies, scales_of
from benchmarks.nbody.by_law import rbf_ridge
from benchmarks.nbody.dynamics import train_dynamics
from benchmarks.nbody.forces import Predict, Trained
from benchmarks.nbody.operators import operator_network
from benchmarks.nbody.processes import processes
from data_gen import nbody
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.book.comparison import training

OWN = {  # families of closed forms by law
    "operators": operator_network,
    "rbf_by_law": rbf_ridge,
    "process_by_law": processes,
}
FIELDS = ("gravity", "spring")  # the laws that act between bodies
VARIABLES = measure.VARIABLES | {
    "learning_time": ("processor time of learning", "s"),
    "telling_time": ("processor time of all test states, told once", "s"),
    "law_atoms": ("atoms (centres) of a law", "1"),
    "law_width": ("width of the kernels of a law", "1"),
    "law_penalty": ("penalty of the ridge regression of a law", "1"),
    "between": ("force law between two bodies", ""),
    "x": ("displacement of the other body, x", "box"),
    "y": ("displacement of the other body, y", "box"),
    "told": ("acceleration that a model tells", "box/s^2"),
    "true": ("true acceleration", "box/s^2"),
}


def results(chapter: Chapter) -> xr.Dataset:
    """All models, each over its own seeds; NaN where a model has fewer."""
    for name, model in chapter.models.items():
        seeds = chapter.first_seeds(model["seeds"])
        if seeds:
            chapter.grid(run, {"model": [name], "seed": seeds}, settings, variables=VARIABLES)
    return chapter.held()


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes, and the hash of what was fixed before."""
    s, model, seed = chapter.settings, chapter.model(axes["model"]), axes["seed"]
    drawn = axes["model"] in s["pictures"] and seed == 0
    paths = dict(chapter.spec.sidecar["rollouts"][chapter.profile])
    follows = axes["model"] in paths.pop("models")
    return {
        "frozen": frozen(chapter.spec.sidecar),
        "data": {
            "n_train": round(model["share"] * s["n_train"]),
            "n_val": s["n_val"],
            "n_test": s["n_test"],
            "seed": s["data_seed"] + seed,
            "test_seed": s["test_seed"] + seed,
        },
        "training": training(chapter, axes["model"], 0, False),
        "picture": {name: s[name] for name in ("reach", "points")} if drawn else {},
        "rollouts": paths | {"seed": paths["seed"] + seed} if follows else {},
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A model learned from single forces, and measured on mixtures and by the paths that bodies take
    under it, on states of its own.
    """
    data = measure.states(**settings["data"])
    began = time.process_time()
    model, more = learned(data, axes["seed"], workdir, settings["training"])
    took = time.process_time() - began
    test = measure.samples(measure.split(data, "test"))
    began = time.process_time()
    with torch.no_grad():
        model.predict(test.bodies)
    more |= {"learning_time": took, "telling_time": time.process_time() - began}
    truth = measure.truth(**settings["rollouts"]) if settings["rollouts"] else None
    found = measure.study(data, model, truth=truth).assign(more)
    if settings["picture"]:
        found = found.merge(fields(model.predict, **settings["picture"]))
    return found


def learned(
    data: xr.Dataset, seed: int, workdir: Path, how: Mapping[str, Any]
) -> tuple[Trained, dict[str, Any]]:
    """A trained model, and what is stored of its laws."""
    if how["family"] not in OWN:
        return train_dynamics(data, seed, workdir, **how), {}
    train, validation = (measure.samples(measure.split(data, name)) for name in ("train", "val"))
    build = partial(OWN[how["family"]], train, validation, scales_of(train))
    model, facts = build(seed=seed, **how["options"])
    by_law = {
        f"law_{name}": ("law", [facts.get(f"{name}_{law}", np.nan) for law in LAWS])
        for name in ("atoms", "width", "penalty")
    }
    return Trained(model.predict, facts={"parameters": facts["numbers"]}), by_law


def fields(predict: Predict, *, reach: float, points: int) -> xr.Dataset:
    """What a body at rest is told of another one at (x, y), also at rest, and the truth, under each
    law between bodies: `told`, `true` (between, y, x, axis).
    """
    at = np.linspace(-reach, reach, points)
    place = np.stack(np.meshgrid(at, at), -1).reshape(-1, 2)
    position = np.zeros((len(place), N_BODIES, 2))
    position[:, 1] = place
    present = torch.arange(N_BODIES) < 2
    told, true = [], []
    for law in FIELDS:
        forces = torch.tensor([float(one == law) for one in LAWS]).expand(len(place), -1)
        p = torch.from_numpy(position).float()
        bodies = Bodies(p, torch.zeros_like(p), present.expand(len(place), -1), forces)
        with torch.no_grad():
            told.append(predict(bodies)[:, 0].double().numpy())
        two = position[:, :2]
        a = nbody.acceleration(two, np.zeros_like(two), (law,), nbody.Physics())
        true.append(a[:, 0])
    dims = ("between", "y", "x", "axis")
    return xr.Dataset(
        {
            n: (dims, np.reshape(v, (-1, points, points, 2)))
            for n, v in (("told", told), ("true", true))
        },
        {"between": list(FIELDS), "y": at, "x": at, "axis": ["x", "y"]},
    )
