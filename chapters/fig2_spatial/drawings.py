"""What the decoders of Fig. 2 draw at every position: the run of the median error in the hold-out."""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from benchmarks.baselines.longer import once
from benchmarks.spatial import drawings
from chapters.fig2_spatial import study
from chapters.fig2_spatial.figures_hold_out import middle_seed
from vnlib.book.chapter import Axes, Chapter, Settings


def results(chapter: Chapter, stored: xr.Dataset, *_: object) -> xr.Dataset | None:
    """The drawings over (model, position, y, x), of all but twins with more updates."""
    own = once(stored)
    middle = {
        model: int(own["seed"][middle_seed(own["mse_ood"].sel(model=model))])
        for model in own["model"].values.tolist()
    }
    return drawings.results(chapter, own, run, middle, variables=study.VARIABLES)


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A run of `study` that keeps the images of all positions."""
    every = list(range(settings["task"]["grid"] ** 2))
    found = study.run(chapter, axes, settings | {"samples": every}, workdir)
    image = found["sample_image"].rename(sample="position").drop_vars("position")
    return found[["mse"]].assign(image=image)
