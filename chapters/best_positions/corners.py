"""The network with as many terms as bear a gap, added after the others: positions drawn at random
from the trained region chose too many. Each corner of the plane is left out of the training positions
in turn, and chooses terms and penalty; the held-out square has no part in it.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import median_low

import numpy as np
import xarray as xr

from chapters.best_positions import study, wider
from chapters.best_positions.decoders import Sample, made
from vnlib.book.chapter import Axes, Chapter, Settings

PART = "corners"


def results(chapter: Chapter, found: xr.Dataset) -> xr.Dataset:
    """Runs over (task, model, seed) of the sidecar's `corners`, in a file of their own, of tasks,
    models and seeds that the study `found`; empty where it has none of them.
    """
    axes = wider.among(chapter, found, PART)
    if not axes:
        return xr.Dataset()
    return chapter.grid(run, axes, settings, variables=study.VARIABLES, part=PART)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of `study`, and how far from the middle the corners begin: where the held-out
    square ends, in pixels.
    """
    same = study.settings(chapter, axes)
    data = same["data"]
    return same | {"begin": math.sqrt(data.get("share", 0.25)) * data["grid"] / 2}


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A run of `study` whose terms and penalty are the medians of those that the corners choose."""
    data, training = study.drawn(settings), settings["training"]
    train = data.isel(position=np.flatnonzero(data["split"] == "train"))
    how = {"seed": axes["seed"], "workdir": workdir}
    inside = study.sample(data, "train")
    facts = []
    for corner in corners(train, settings["data"]["grid"], settings["begin"]):
        if corner.any():
            rest, gap = rows(inside, ~corner), rows(inside, corner)
            facts.append(made(rest, gap, **training, **how).facts)
    chosen = {name: median_low([one[name] for one in facts]) for name in ("terms", "penalty")}
    own = {"terms": int(chosen["terms"]), "penalties": [chosen["penalty"]]}
    training = training | {"options": training["options"] | own}
    return study.run(chapter, axes, settings | {"training": training}, workdir)


def corners(data: xr.Dataset, grid: int, begin: float) -> list[np.ndarray]:
    """Which positions lie in each of the four corners: further than `begin` px from the middle of
    the plane along both axes.
    """
    x, y = (data[f"position_{axis}"].values - (grid - 1) / 2 for axis in "xy")
    return [(right * x > begin) & (up * y > begin) for right in (-1, 1) for up in (-1, 1)]


def rows(one: Sample, there: np.ndarray) -> Sample:
    """Some positions of a sample."""
    return Sample(one.codes[there], one.observed[there], one.images[there])
