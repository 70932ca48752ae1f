"""What decoders of FR Fig. 3 draw at every position, with the square held out: the first seed. The stored
embedding networks had a GPU; trained again without one for 20,000 updates at a constant rate, some err
otherwise, which the explorer says.
"""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from benchmarks.spatial import drawings
from chapters.FR3_low_rank import study
from vnlib.book.chapter import Axes, Chapter, Settings

HOLD_OUT = "square"


def results(chapter: Chapter, stored: xr.Dataset, *_: object) -> xr.Dataset | None:
    """The drawings over (model, hold_out, position, y, x)."""
    if HOLD_OUT not in stored["hold_out"].values:
        return None
    seeds = dict.fromkeys(stored["model"].values.tolist(), chapter.settings["pictured_seed"])
    named = {"variables": study.VARIABLES, "hold_out": [HOLD_OUT]}
    return drawings.results(chapter, stored, run, seeds, **named)


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A run of `study` that keeps the images of all positions."""
    every = [[x, y] for y in range(settings["grid"]) for x in range(settings["grid"])]
    found = study.run(chapter, axes, {**settings, "samples": every, "pictures": True}, workdir)
    image = found["sample_image"].rename(sample="position").drop_vars("position")
    return found[["mse"]].assign(image=image)
