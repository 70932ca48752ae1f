"""The network with as many terms as bear a gap, added last: positions drawn at random from the
trained region chose too many. Each corner of the plane is left out of the training positions in turn,
and chooses terms and penalty; no held-out position has a part in that.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import xarray as xr

from chapters.best_positions import study, wider
from chapters.best_positions.decoders import Sample, made
from data_gen import bumps, shapes
from vnlib.book.chapter import Axes, Chapter, Settings

CORNERS = ["low x, low y", "low x, high y", "high x, low y", "high x, high y"]
VARIABLES = study.VARIABLES | {
    "corner": ("corner of the plane that was left out", ""),
    "corner_terms": ("products of profiles that the corner chooses", "1"),
    "corner_penalty": ("penalty that the corner chooses", "1"),
}


def results(chapter: Chapter, found: xr.Dataset) -> xr.Dataset:
    """Runs over (task, model, seed) of the sidecar's `corners`, in a file of their own, of tasks,
    models and seeds that the study `found`; empty where it has none of them.
    """
    return wider.among(chapter, found, "corners", run, settings, VARIABLES)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of `study`, and how far from the middle corners begin: where the held-out square
    ends, in pixels. ValueError for a task that holds out none.
    """
    same = study.settings(chapter, axes)
    config = shapes.ShapeConfig(**same["data"])
    if config.hold_out != "square":
        raise ValueError(f"a task with corners must hold out a square, got {axes['task']}")
    return same | {"begin": math.sqrt(config.share) * config.grid / 2}


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A run of `study` with at most as many terms as the corners choose, and with their penalty: the
    lower middle of what they choose, each for itself, which is in the results, too.
    """
    found = choices(settings, axes["seed"], workdir)
    middle = found.quantile(0.5, "corner", method="lower")
    own = {"terms": int(middle["corner_terms"]), "penalties": [float(middle["corner_penalty"])]}
    training = settings["training"]
    training = training | {"options": training["options"] | own}
    return study.run(chapter, axes, settings | {"training": training}, workdir).merge(found)


def choices(settings: Settings, seed: int, workdir: Path) -> xr.Dataset:
    """What is best for each corner, learned from the training positions outside it; NaN for one
    without any. ValueError if that is so for all.
    """
    train = bumps.subset(study.drawn(settings), "train")
    inside = study.sample(train, "train")
    how = settings["training"] | {"seed": seed, "workdir": workdir}
    there = corners(train, settings["data"]["grid"], settings["begin"])
    if not np.any(there):
        raise ValueError(f"training positions must reach a corner, got {train.sizes['position']}")
    facts = [
        made(rows(inside, ~one), rows(inside, one), **how).facts if one.any() else {}
        for one in there
    ]
    found = {
        f"corner_{name}": ("corner", [float(one.get(name, np.nan)) for one in facts])
        for name in ("terms", "penalty")
    }
    return xr.Dataset(found, {"corner": CORNERS})


def corners(data: xr.Dataset, grid: int, begin: float) -> list[np.ndarray]:
    """Which positions lie in each of the four corners: further than `begin` px from the middle of
    the plane along both axes.
    """
    x, y = (data[f"position_{axis}"].values - (grid - 1) / 2 for axis in "xy")
    return [(right * x > begin) & (up * y > begin) for right in (-1, 1) for up in (-1, 1)]


def rows(one: Sample, there: np.ndarray) -> Sample:
    """Some positions of a sample."""
    return Sample(one.codes[there], one.observed[there], one.images[there])
