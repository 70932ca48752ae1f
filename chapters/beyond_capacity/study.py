"""Models of signals, digits and bodies at many sizes, each with the settings of its chapter but
for the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from pathlib import Path

import numpy as np
import xarray as xr

from chapters.beyond_capacity import models
from vnlib.book.chapter import Axes, Chapter, Settings

OVER_ZERO = "error of the zero baseline"
VARIABLES = {
    "size": ("what grows: atoms, width or components", "1"),
    "set": ("set of inputs", ""),
    "benchmark": ("signals, digits or forces", ""),
    "usual": ("size that the model has in the chapter of its benchmark", "1"),
    "criterion": ("error on validation data", OVER_ZERO),
    "late_gain": ("share by which the last fifth of the updates lowers that error", "1"),
    "error": ("mean squared error", OVER_ZERO),
    "searched": ("mean squared error with codes optimised for the very input", OVER_ZERO),
    "active": ("nonzero coefficients of an input in distribution", "1"),
    "rate": ("learning rate", "1"),
}


def results(chapter: Chapter) -> xr.Dataset:
    """All models over (model, size, seed); NaN for sizes that a model leaves out."""
    count, every = chapter.settings["sizes"], []
    for name, model in chapter.models.items():
        sizes = model["sizes"][:count]
        every += [size for size in sizes if size not in every]
        rates = model.get("rates", [model.get("lr", nan)])[: chapter.settings["candidates"]]
        best = dict.fromkeys(sizes, 0)
        if len(rates) > 1:
            tried = chapter.grid(
                select,
                {"model": [name], "size": sizes, "candidate": list(range(len(rates)))},
                lambda chapter, axes: settings(chapter, axes, axes["candidate"], True),
                variables=VARIABLES,
                part="selection",
            )
            values = tried["criterion"].sel(model=name)
            best = {size: int(values.sel(size=size).idxmin("candidate")) for size in sizes}
        chapter.grid(
            run,
            {"model": [name], "size": sizes, "seed": chapter.seeds},
            lambda chapter, axes, best=best: settings(chapter, axes, best[axes["size"]], False),
            variables=VARIABLES,
        )
    return chapter.held(size=sorted(every))


def settings(chapter: Chapter, axes: Axes, candidate: int, selecting: bool) -> Settings:
    """What a run depends on besides its axes; those that select see validation data only."""
    s, model = chapter.settings, chapter.models[axes["model"]]
    steps = model.get("steps", 0)
    if steps:
        share = s["scale"] * (s["selection_share"] if selecting else 1)
        steps = max(2, round(share * steps))
    return s[model["benchmark"]] | {
        "benchmark": model["benchmark"],
        "coefficients": model.get("coefficients", ""),
        "real": chapter.profile == "paper",
        "tests": not selecting,
        "training": {
            "family": model["family"],
            "options": model["options"] | models.grown(model["grows"], axes["size"]),
            "lr": model["rates"][candidate] if "rates" in model else model.get("lr", 1e-3),
            "steps": steps,
            "batch_size": model.get("batch_size", 64),
        },
    }


def select(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A run that chooses a learning rate, with a seed of its own."""
    return run(chapter, {**axes, "seed": chapter.settings["selection_seed"]}, settings, workdir)


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One model of one size, trained from a start of its own and, but for digits, on data of its
    own, and asked about test data of its own; on the CPU.
    """
    found = models.OF[settings["benchmark"]](settings, axes["seed"], workdir)
    values = {
        "criterion": found.criterion,
        "late_gain": late_gain(found.curve),
        "active": found.active,
        "rate": settings["training"]["lr"] if settings["training"]["steps"] else nan,
    }
    if not settings["tests"]:
        return xr.Dataset(values)
    searched = [found.searched.get(name, nan) for name in found.errors]
    values |= {"error": ("set", list(found.errors.values())), "searched": ("set", searched)}
    return xr.Dataset(values, {"set": list(found.errors)})


def late_gain(curve: Sequence[float]) -> float:
    """By what share the least validation error fell over the last fifth of the evaluations; NaN for
    models that are not trained by updates.
    """
    early = curve[: max(1, round(0.8 * len(curve)))]
    return float(1 - np.min(curve) / np.min(early)) if len(curve) > 1 else nan
