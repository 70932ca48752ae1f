"""The network with as many terms as bear a gap, added last: positions drawn at random from the
trained region chose too many. Each corner of the plane is left out of the training positions in turn,
and chooses terms and penalty; no held-out position has a part in that.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import median_low

import numpy as np
import xarray as xr

from chapters.best_positions import study, wider
from chapters.best_positions.decoders import Sample, made
from data_gen import bumps, shapes
from vnlib.book.chapter import Axes, Chapter, Settings


def results(chapter: Chapter, found: xr.Dataset) -> xr.Dataset:
    """Runs over (task, model, seed) of the sidecar's `corners`, in a file of their own, of tasks,
    models and seeds that the study `found`; empty where it has none of them.
    """
    return wider.among(chapter, found, "corners", run, settings)


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
    """A run of `study` with at most as many terms as the corners choose, and with their penalty:
    the lower middle of what they choose, each for itself.
    """
    found = choices(settings, axes["seed"], workdir)
    chosen = {name: median_low([one[name] for one in found]) for name in ("terms", "penalty")}
    own = {"terms": int(chosen["terms"]), "penalties": [chosen["penalty"]]}
    training = settings["training"]
    training = training | {"options": training["options"] | own}
    return study.run(chapter, axes, settings | {"training": training}, workdir)


def choices(settings: Settings, seed: int, workdir: Path) -> list[dict[str, float]]:
    """What is best for each corner, learned from the training positions outside it. ValueError if no
    corner has one.
    """
    train = bumps.subset(study.drawn(settings), "train")
    inside = study.sample(train, "train")
    there = [
        one for one in corners(train, settings["data"]["grid"], settings["begin"]) if one.any()
    ]
    if not there:
        raise ValueError(f"training positions must reach a corner, got {train.sizes['position']}")
    return [
        dict(
            made(
                rows(inside, ~corner),
                rows(inside, corner),
                **settings["training"],
                seed=seed,
                workdir=workdir,
            ).facts
        )
        for corner in there
    ]


def corners(data: xr.Dataset, grid: int, begin: float) -> list[np.ndarray]:
    """Which positions lie in each of the four corners: further than `begin` px from the middle of
    the plane along both axes.
    """
    x, y = (data[f"position_{axis}"].values - (grid - 1) / 2 for axis in "xy")
    return [(right * x > begin) & (up * y > begin) for right in (-1, 1) for up in (-1, 1)]


def rows(one: Sample, there: np.ndarray) -> Sample:
    """Some positions of a sample."""
    return Sample(one.codes[there], one.observed[there], one.images[there])
