"""Held-out positions drawn by the operator of a code applied to that code, and by rivals."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import xarray as xr

from benchmarks.confirm.frozen import frozen
from chapters.best_positions.decoders import CLOSED, Decoder, Sample, made
from data_gen import bumps, corrupted, shapes
from vnlib.book.chapter import Axes, Chapter, Settings

PARTS = {"val": "val", "id": "id_test", "ood": "ood"}
VARIABLES = {
    "mse_*": ("mean squared error per pixel, {}", "1"),
    "power_*": ("mean square of a pixel, {}", "1"),
    "learning_time": ("processor time of learning", "s"),
    "drawing_time": ("processor time of a drawing", "s"),
    "n_train": ("training positions", "1"),
    "fact_parameters": ("number of parameters", "1"),
    "fact_terms": ("products of profiles in an image", "1"),
    "fact_penalty": ("penalty of a regression", "1"),
    "fact_noise": ("inferred standard deviation of the noise of an entry", "1"),
    "late_gain": ("share by which the last fifth of the updates lowers the validation error", "1"),
    "sample_image": ("drawn image", "1"),
    "target_image": ("true image", "1"),
    "task": ("task", ""),
}
FACTS = ("parameters", "terms", "penalty", "noise")


def results(chapter: Chapter) -> xr.Dataset:
    """The runs over (task, model, seed); NaN for models and seeds that a task leaves out."""
    tasks = chapter.settings.get("only") or list(chapter.settings["tasks"])
    for task in tasks:
        for name, model in chapter.models.items():
            seeds = chapter.first_seeds(model["seeds"])
            if seeds and name in taking_part(chapter, task):
                axes = {"task": [task], "model": [name], "seed": seeds}
                chapter.grid(run, axes, settings, variables=VARIABLES)
    return chapter.held(task=list(tasks))


def taking_part(chapter: Chapter, task: str) -> list[str]:
    """The models that a task is given to: those it names, or all that do not name tasks of theirs,
    and those that name it.
    """
    named = chapter.settings["tasks"][task].get("models")
    return [
        name
        for name, model in chapter.models.items()
        if (name in named if named else task in model.get("tasks", [task]))
    ]


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes, and the hash of what was fixed before."""
    s, model, seed = chapter.settings, chapter.model(axes["model"]), axes["seed"]
    task = s["tasks"][axes["task"]]
    options = dict(model["options"])
    if model["family"] == "operator":
        options |= {name: s[name] for name in ("penalties", "starts")}
        options["terms"] = min(s["terms"], options.get("terms", s["terms"]))
    training = {name: model[name] for name in ("family", "reads")} | {"options": options}
    if model["family"] not in CLOSED:
        training |= {"lr": model["lr"], "batch_size": s["batch_size"]}
        training["steps"] = model["longer"] * s["updates"]
    return {
        "frozen": frozen(chapter.spec.sidecar),
        "data": s["data"] | task.get("data", {}),
        "corruption": {"noise": 0.0, "hidden": 0.0} | task.get("corruption", {}),
        "draw_seed": s["draw_seed"] + seed,
        "training": training,
        "picture": seed == chapter.seeds[0],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A decoder on one task, on positions, a mixed code and corruption of its seed's own."""
    data = drawn(settings)
    samples = {name: sample(data, part) for name, part in ({"train": "train"} | PARTS).items()}
    began = time.process_time()
    decoder = made(
        samples.pop("train"),
        samples["val"],
        seed=axes["seed"],
        workdir=workdir,
        **settings["training"],
    )
    took = time.process_time() - began
    return measured(decoder, samples, settings["picture"]).assign(
        learning_time=took, n_train=float((data["split"] == "train").sum())
    )


def drawn(settings: Settings) -> xr.Dataset:
    """The positions of a run: none of them is in a run of another seed."""
    seed = settings["draw_seed"]
    config = shapes.ShapeConfig(**settings["data"], code_seed=seed, split_seed=seed)
    return corrupted.corrupted(shapes.make(config), seed=seed, **settings["corruption"])


def sample(data: xr.Dataset, part: str) -> Sample:
    """One set of positions, in float64."""
    rows = bumps.subset(data, part)
    codes, images = (rows[name].values.astype(np.float64) for name in ("code", "image"))
    return Sample(codes, rows["observed"].values, images)


def measured(decoder: Decoder, samples: dict[str, Sample], picture: bool) -> xr.Dataset:
    """Errors on all sets, times, facts, and one held-out image."""
    numbers, shown = {}, np.zeros(0)
    began = time.process_time()
    for name, one in samples.items():
        shown = decoder.draw(one.codes, one.observed)
        numbers[f"mse_{name}"] = np.square(shown - one.images).mean()
        numbers[f"power_{name}"] = np.square(one.images).mean()
    took = time.process_time() - began
    numbers["drawing_time"] = took / sum(len(one.codes) for one in samples.values())
    numbers |= {f"fact_{name}": decoder.facts.get(name, np.nan) for name in FACTS}
    numbers["late_gain"] = decoder.facts.get("late_gain", np.nan)
    found = xr.Dataset({name: ((), float(value)) for name, value in numbers.items()})
    for name, images in (("sample_image", shown), ("target_image", samples["ood"].images)):
        image = images[0].astype(np.float32)  # of the last set, the hold-out
        found[name] = (("y", "x"), image if picture else np.full_like(image, np.nan))
    return found
