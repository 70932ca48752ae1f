"""What the decoders of FR Fig. 3 draw at every position, and the maps of all tokens, with the square held
out: the first seed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from benchmarks.spatial import drawings
from chapters.FR3_low_rank import study
from vnlib.book.chapter import Axes, Chapter, Settings

HOLD_OUT = "square"
SHOWN = (
    "none",
    "variance_low",
    "variance",
    "variance_high",
    "factorised",
)  # the others take as long
VARIABLES = study.VARIABLES | {
    "token_map": ("map of a token over its largest magnitude", "0.01"),
    "token": ("value of x or y that a map stands for", "px"),
}


def results(chapter: Chapter, stored: xr.Dataset) -> xr.Dataset | None:
    """The drawings over (model, hold_out, position, y, x), and the maps."""
    if HOLD_OUT not in stored["hold_out"].values:
        return None
    models = [name for name in SHOWN if name in stored["model"].values]
    seeds = dict.fromkeys(models, chapter.settings["pictured_seed"])
    named = {"variables": VARIABLES, "hold_out": [HOLD_OUT]}
    return drawings.results(chapter, stored, run, seeds, **named)


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A run of `study` that keeps the images of all positions and the maps of all tokens."""
    tokens = range(settings["grid"])
    every = {"samples": [[x, y] for y in tokens for x in tokens], "tokens": list(tokens)}
    found = study.run(chapter, axes, {**settings, **every, "pictures": True}, workdir)
    image = found["sample_image"].rename(sample="position").drop_vars("position")
    maps = found["embedding"].rename(token_shown="token")
    maps = maps / np.abs(maps).max(("y", "x"))
    maps = (maps * drawings.STEPS).round().fillna(-128).astype(np.int8)  # a decoder without maps
    return found[["mse"]].assign(image=image, token_map=maps)
