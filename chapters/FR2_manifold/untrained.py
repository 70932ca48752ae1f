"""Networks before training, with every seed: factorisation and spread of their layers, which
`study` measures for the first seed only.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np
import torch
import xarray as xr

from benchmarks.spatial import geometry, positions
from benchmarks.spatial.decoders import as_pair
from chapters.FR2_manifold.claims import RANDOM, have_learned, start
from chapters.FR2_manifold.measure import LAYERS, TINY, Layers, layers, untrained
from chapters.FR2_manifold.study import VARIABLES
from vnlib.book.chapter import Axes, Chapter, Settings

PART = "untrained"
MEASURES = [f"random_{name}" for name in RANDOM]


def results(chapter: Chapter, trained: xr.Dataset) -> xr.Dataset:
    """The results of `study` with these measures over (model, seed, layer) beside them, of the CNNs
    and MLPs that learned to draw, with the seeds of their training.
    """
    networks = [m for m, one in chapter.models.items() if one["family"] in ("cnn", "mlp")]
    drawing = have_learned(trained, networks)
    ran = {
        name: trained["failed"].sel(model=name).dropna("seed")["seed"].values.tolist()
        for name in drawing
        if start(name) == name or start(name) not in drawing
    }
    found = []
    for seeds, models in groupby(sorted(ran, key=ran.__getitem__), ran.__getitem__):
        axes = {"model": list(models), "seed": seeds}
        found.append(chapter.grid(run, axes, settings, variables=VARIABLES, part=PART)[MEASURES])
    joining = {"join": "outer", "combine_attrs": "override"}
    return xr.merge([trained, *found], compat="no_conflicts", **joining)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes."""
    model = chapter.models[axes["model"]]
    task = {name: chapter.parameters[name] for name in ("sigma", "hold_out")}
    task |= {"grid": chapter.settings["grid"], "encoding": model["encoding"]}
    return {"task": task, "network": {name: model[name] for name in ("family", "options")}}


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """The network that a training with this seed starts from."""
    seed, task, device = axes["seed"], settings["task"], chapter.device
    data = positions.plane(polarity="dark", **task, split_seed=seed)
    codes = as_pair(data, device)[0]
    sizes = {"n_inputs": codes.shape[1], "image_shape": data["image"].shape[1:]}
    network = untrained(seed=seed, **settings["network"], **sizes)
    return report(layers(network.to(device), codes), data)


def report(found: Layers, data: xr.Dataset) -> xr.Dataset:
    """F and the spread of log volume in the hold-out, of each layer (see `measure.report`)."""
    side = data.sizes["y"]
    held_out = torch.from_numpy((data["split"] == "ood").values).view(side, side)
    rows = {}
    for name, z in found.items():
        g = geometry.metric_tensor(geometry.on_grid(z, side)).cpu()
        log_volume = torch.log10(geometry.volume(g) + TINY)
        rows[name] = geometry.factorisation(g), float(log_volume[held_out].std())
    values = np.array([rows.get(name, (np.nan, np.nan)) for name in LAYERS])
    measured = {name: ("layer", one) for name, one in zip(MEASURES, values.T, strict=True)}
    return xr.Dataset(measured, {"layer": list(LAYERS)})
