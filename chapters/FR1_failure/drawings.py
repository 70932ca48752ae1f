"""What the decoders of FR Fig. 1 draw at every position, with the square held out: the first seed."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from benchmarks.spatial import drawings
from chapters.FR1_failure import study
from chapters.FR1_failure.figures import within
from vnlib.book.chapter import Axes, Chapter, Settings

HOLD_OUT = "square"
# The others take minutes to half an hour each, without a GPU; the broadcast decoder, trained again, errs otherwise.
SHOWN = (
    *("cnn_bump", "mlp_bump", "mlp_bump_longer", "mlp_ramp", "mlp_one_hot"),
    *("mlp_fourier", "coordinate_mlp", "additive", "outer", "factorised", "vn_full"),
)


def results(chapter: Chapter, stored: xr.Dataset, *_: object) -> xr.Dataset | None:
    """The drawings over (model, hold_out, position, y, x)."""
    if HOLD_OUT not in stored["hold_out"].values:
        return None
    own = within(stored, HOLD_OUT)["model"].values
    seeds = dict.fromkeys([name for name in SHOWN if name in own], chapter.seeds[0])
    named = {"variables": study.VARIABLES, "hold_out": [HOLD_OUT]}
    return drawings.results(chapter, stored, run, seeds, **named)


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A run of `study` that keeps the images of all positions."""
    every = {"samples": list(range(settings["task"]["grid"] ** 2)), "show": True}
    found = study.run(chapter, axes, {**settings, **every}, workdir)
    image = found["shown_image"].sel(panel="output", drop=True).rename(sample="position")
    return found[["mse"]].assign(image=image.drop_vars("position"))
