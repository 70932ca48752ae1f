"""FR App. A.1 to A.3, measured on targets, distributions of positions, codes and trained
decoders.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import xarray as xr

from benchmarks.spatial.decoders import as_pair, train_decoder
from chapters.beyond_definitions import measure
from data_gen import bumps, shapes
from vnlib.book.chapter import Axes, Chapter, Settings

LAYERS = ("code", *(f"{side} {k}" for k in (1, 2, 3) for side in ("before", "after")), "images")

VARIABLES = {
    "of_*": ("share of variance in blocks that depend on {} only", "1"),
    "linear": ("R^2 of the lesser of x and y, read linearly", "1"),
    "curved": ("R^2 of the lesser of x and y, read by Gaussians", "1"),
    "apart": ("least distance of two positions over the median one", "1"),
    "silent": ("share of units that are constant", "1"),
    "units": ("number of units", "1"),
    "mse_*": ("mean squared error per pixel, {}", "1"),
    "zero_baseline_*": ("mean squared error of a zero image, {}", "1"),
    "exact": ("products of a function of x and one of y, exactly", "1"),
    "near": ("products that hold 99 % of the energy of every pixel", "1"),
    "terms": ("products of profiles that hold 99 % of a shape's energy", "1"),
    "parts": ("product distributions in the mixture", "1"),
    "distance": ("total variation to the product of the marginals", "1"),
    "layer": ("layer", ""),
    "shape": ("shape", ""),
    "hold_out": ("what is held out", ""),
}


def results(chapter: Chapter) -> xr.Dataset:
    """Layers of codes and of decoders, over (model, seed)."""
    return chapter.grid(run, settings=settings, variables=VARIABLES)


def targets(chapter: Chapter) -> xr.Dataset:
    """Complexities of targets, over shapes."""
    axes, kept = {"shape": chapter.settings["shapes"]}, {"data": chapter.settings["data"]}
    return chapter.grid(target, axes, kept, variables=VARIABLES, part="targets")


def diets(chapter: Chapter) -> xr.Dataset:
    """Complexities of distributions of positions, over what is held out."""
    axes, kept = {"hold_out": chapter.settings["hold_outs"]}, {"data": chapter.settings["data"]}
    return chapter.grid(diet, axes, kept, variables=VARIABLES, part="diets")


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes."""
    s, model = chapter.settings, chapter.models[axes["model"]]
    kept = {"data": s["data"] | {"mix": model["mix"]}, "folds": s["folds"]}
    if model["family"] != "code":
        training = {name: model[name] for name in ("family", "options", "lr")}
        kept["training"] = training | {"steps": s["updates"], "batch_size": s["batch_size"]}
    return kept


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """The layers of one decoder, or a code alone, on the CPU."""
    s, seed = settings, axes["seed"]
    data = shapes.make(shapes.ShapeConfig(**s["data"], code_seed=seed, split_seed=seed))
    codes, images = as_pair(data, "cpu")
    found = {"code": codes}
    numbers = {}
    if "training" in s:
        train, validation = (as_pair(bumps.subset(data, part), "cpu") for part in ("train", "val"))
        given = {"seed": seed, "workdir": workdir, **s["training"]}
        found = measure.layers(train_decoder(train, validation, **given), codes)
        wrong = (found["images"].view_as(images) - images).square().mean((1, 2))
        ink = images.square().mean((1, 2))
        for name, split in (("id", "id_test"), ("ood", "ood")):
            where = torch.from_numpy((data["split"] == split).values)
            numbers[f"mse_{name}"] = float(wrong[where].mean())
            numbers[f"zero_baseline_{name}"] = float(ink[where].mean())
    measured = {
        name: measure.layer(z, folds=s["folds"], seed=seed) | {"units": z.shape[1]}
        for name, z in found.items()
    }
    none = float("nan")
    columns = {
        key: [measured.get(name, {}).get(key, none) for name in LAYERS] for key in measured["code"]
    }
    scalars = {name: ((), value) for name, value in numbers.items()}
    return xr.Dataset(
        scalars | {name: ("layer", [float(v) for v in one]) for name, one in columns.items()},
        {"layer": list(LAYERS)},
    )


def target(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """How complex the images of a shape are."""
    config = shapes.ShapeConfig(**settings["data"], shape=axes["shape"])
    y, x = np.indices((config.grid,) * 2)
    images = torch.from_numpy(shapes.draw(config, x.ravel(), y.ravel()))  # in double precision
    exact, near = measure.ranks(images.unflatten(0, x.shape).flatten(2))
    return xr.Dataset({"exact": exact, "near": near, "terms": shapes.terms(config)})


def diet(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """How complex a distribution of training positions is."""
    side = settings["data"]["grid"]
    density = torch.ones(side, side)
    if axes["hold_out"] != "none":
        config = shapes.ShapeConfig(**settings["data"], hold_out=axes["hold_out"])
        held_out = (shapes.make(config)["split"] == "ood").values.reshape(side, side)
        density[torch.from_numpy(held_out)] = 0
    parts, distance = measure.mixture(density)
    return xr.Dataset({"parts": parts, "distance": distance})
