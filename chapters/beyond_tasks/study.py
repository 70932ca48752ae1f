"""Decoders of positions on tasks that do not give the answer away, and how far each renders its
factors at every pixel.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import xarray as xr

from benchmarks.spatial.decoders import Pair, as_pair
from chapters.beyond_tasks.decoders import Decoder, made
from chapters.beyond_tasks.measure import measures
from data_gen import bumps, shapes
from vnlib import seeding
from vnlib.book.chapter import Axes, Chapter, Settings

PARTS = {"train": "train", "val": "val", "id": "id_test", "ood": "ood"}

VARIABLES = {
    "mse_*": ("mean squared error per pixel, {}", "1"),
    "zero_baseline_*": ("mean squared error of a zero image, {}", "1"),
    "late_gain": ("share by which the last fifth of the updates lowers the ID error", "1"),
    "n_parameters": ("number of parameters", "1"),
    "samples_seen": ("number of samples that training saw", "1"),
    "held_out": ("share of positions held out", "1"),
    "condition": ("condition number of the code of an axis, before any mixing", "1"),
    "target_terms": ("products of profiles that hold 99 % of a shape's energy", "1"),
    "rendering": ("share of the lesser factor by itself in the units of every pixel", "1"),
    "readable": ("R^2 of each factor read at every pixel, in distribution", "1"),
    "readable_ood": ("R^2 of each factor read at every pixel, in the hold-out", "1"),
    "one_factor*": ("share of variance in terms of one factor, of what the last step reads{}", "1"),
    "F*": ("factorisation of what the last step reads{}", "1"),
    "volume*": ("log10 volume held out less elsewhere, of what the last step reads{}", "1"),
    "terms*": ("number of separable terms of what the last step reads{}", "1"),
    "probe*": ("R^2 of a linear probe in the hold-out, of what the last step reads{}", "1"),
    "sample_image": ("drawn image", "1"),
    "target_image": ("true image", "1"),
    "task": ("task", ""),
}


def results(chapter: Chapter) -> xr.Dataset:
    """The runs over (task, model, seed); NaN for decoders and seeds that a task leaves out."""
    every = chapter.settings["tasks"]
    tasks = {task: every[task] for task in chapter.settings.get("only") or every}
    for task, given in tasks.items():
        models = [
            name
            for name, model in chapter.models.items()
            if name not in given.get("without", ()) and task in model.get("tasks", tasks)
        ]
        seeds = chapter.first_seeds(given.get("seeds", len(chapter.seeds)))
        axes = {"task": [task], "model": models, "seed": seeds}
        if models and seeds:
            chapter.grid(run, axes, settings, variables=VARIABLES)
    return chapter.held(task=list(tasks))


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes: data, diet and training."""
    every, model = chapter.settings, chapter.models[axes["model"]]
    task = every["tasks"][axes["task"]]
    data = every["data"] | task.get("data", {})
    options = dict(model["options"])
    if model["family"] == "vn":
        # Other codes have negative entries, which non-negative atoms cannot reconstruct.
        signed = data.get("encoding", "bump") == "fourier" or data.get("mix", "none") != "none"
        options["nonnegative"] = not signed
    training = {"family": model["family"], "options": options}
    if model["family"] not in ("outer", "ridge"):
        updates = round(every["updates"] * task.get("longer", 1))
        training |= {"lr": model["lr"], "updates": updates, "batch_size": every["batch_size"]}
    if "weight_decay" in task:
        training["weight_decay"] = task["weight_decay"]
    return {
        "data": data,
        "diet": task.get("diet", "bumps"),
        "training": training,
        "picture": axes["seed"] == chapter.seeds[0],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder on one task, on the CPU, with a split, a mixed code and a start of its own."""
    s, seed = settings, axes["seed"]
    config = shapes.ShapeConfig(**s["data"], code_seed=seed, split_seed=seed)
    data = shapes.make(config)
    train = fed(data, config, s["diet"], seed)
    validation = as_pair(bumps.subset(data, "val"), "cpu")
    training = s["training"]
    decoder = made(train, validation, seed=seed, workdir=workdir, **training)
    # Measures are taken at whole positions, wherever the training ones are.
    whole = shapes.make(shapes.ShapeConfig(**s["data"] | {"scattered": 0}, code_seed=seed))
    codes, images = as_pair(whole, "cpu")
    held_out = torch.from_numpy((whole["split"] == "ood").values)
    numbers = errors(decoder, data) | measures(decoder, codes, images, held_out, seed)
    numbers |= {
        "late_gain": decoder.gain,
        "n_parameters": decoder.parameters,
        "samples_seen": training.get("updates", 0) * training.get("batch_size", 0),
        "held_out": float((data["split"] == "ood").mean()),
        "condition": shapes.condition_number(config),
        "target_terms": shapes.terms(config),
    }
    found = xr.Dataset({name: ((), float(value)) for name, value in numbers.items()})
    at = held_out.nonzero()[len(held_out.nonzero()) // 2]
    drawn, true = decoder.draw(codes[at])[0].float().numpy(), images[at][0].numpy()
    for name, image in (("sample_image", drawn), ("target_image", true)):
        image = image.astype(np.float32)
        found[name] = (("y", "x"), image if s["picture"] else np.full_like(image, np.nan))
    return found


def fed(data: xr.Dataset, config: shapes.ShapeConfig, diet: str, seed: int) -> Pair:
    """What a decoder is trained on: all training bumps, or a number of them and all stripes
    ("stripes+30"; "stripes+all").

    Raises
    ------
    ValueError
        For another diet.
    """
    codes, images = as_pair(bumps.subset(data, "train"), "cpu")
    if diet == "bumps":
        return codes, images
    kind, _, count = diet.partition("+")
    if kind != "stripes" or not (count == "all" or count.isdigit()):
        raise ValueError(f"diet must be 'bumps', 'stripes+all' or 'stripes+n', got {diet!r}")
    order = torch.randperm(len(codes), generator=seeding.generator(seed, "diet"))
    order = order[: None if count == "all" else int(count)]
    lines = as_pair(bumps.stripes(config.axis()), "cpu")
    return torch.cat([codes[order], lines[0]]), torch.cat([images[order], lines[1]])


def errors(decoder: Decoder, data: xr.Dataset) -> dict[str, float]:
    """Mean squared errors of a decoder, and of a zero image, on all sets."""
    codes, images = as_pair(data, "cpu")
    images = images.double()
    error = (decoder.draw(codes).double() - images).square().mean((1, 2)).numpy()
    ink = images.square().mean((1, 2)).numpy()
    inside = {name: (data["split"] == split).values for name, split in PARTS.items()}
    found = {f"mse_{name}": float(error[rows].mean()) for name, rows in inside.items()}
    zero = {name: float(ink[inside[name]].mean()) for name in ("id", "ood")}
    return found | {f"zero_baseline_{name}": value for name, value in zero.items()}
