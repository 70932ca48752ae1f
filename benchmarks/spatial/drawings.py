"""What decoders draw at every position: of each model one run, made again, in a file beside the results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from vnlib.book.chapter import Axes, Chapter, Run, Settings
from vnlib.book.store.variables import Variables

PART = "drawings"  # of the chapter's results
STEPS = 100  # between 0 and 1: finer ones are not seen
VARIABLES: Variables = {
    "drawing": ("ink or brightness that the model draws, from 0 to 1", "0.01"),
    "drawing_mse": ("mean squared error per pixel of the drawing, by position of the bump", "1"),
    "drawn_seed": ("seed of the run that is made again", "1"),
}


def results(
    chapter: Chapter,
    stored: xr.Dataset,
    run: Run,
    seeds: Mapping[str, int],
    *,
    variables: Variables,
    **axes: Sequence,
) -> xr.Dataset | None:
    """The drawings over (model, ..., position, y, x); None where some seeds alone are asked for, and so
    not those of which one is to be drawn.

    Parameters
    ----------
    stored
        Results of the study, whose runs keep their settings.
    run
        Makes a run again, with the settings of the stored one: its `image` (position, y, x), `mse`
        (position) and positions.
    seeds
        Of each model that is drawn.
    variables
        The study's.
    **axes
        The values of axes other than the model.
    """
    if chapter.parameters["seeds"] is not None or not seeds:
        return None

    def settings(chapter: Chapter, axes: Axes) -> Settings:
        at = {**axes, "seed": seeds[axes["model"]]}
        return {"seed": at["seed"], "run": json.loads(stored["run_settings"].sel(at).item())}

    def drawn(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
        found = run(chapter, {**axes, "seed": settings["seed"]}, settings["run"], workdir)
        shown = (found["image"].values.clip(0, 1) * STEPS).round().astype(np.int8)
        kept = {
            "drawing": (("position", "y", "x"), shown),
            "drawing_mse": ("position", found["mse"].values.astype(np.float32)),
            "drawn_seed": settings["seed"],
        }
        places = {name: ("position", found[name].values) for name in ("position_x", "position_y")}
        return xr.Dataset(kept, places)

    cells, named = {"model": list(seeds), **axes}, {**variables, **VARIABLES}
    return chapter.grid(drawn, cells, settings, variables=named, part=PART)
