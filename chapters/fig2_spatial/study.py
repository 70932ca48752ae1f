"""Spatial decoders over seeds, each with the candidate that does best on ID validation positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from benchmarks.baselines.twin_runs import with_twins
from benchmarks.spatial import curves, positions
from benchmarks.spatial.report import decoder_report
from data_gen import bumps
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.book.comparison import with_candidate

VARIABLES = (positions.VARIABLES | curves.VARIABLES) | {
    "set": ("set of a position: 0 training, 1 ID validation, 2 ID test, 3 held out", "1"),
    "depth": ("depth: blocks of a CNN, layers of a VN per axis; 0 for others", "1"),
    "sample": ("position whose image is kept, counted row by row", "1"),
    "sample_image": ("image that the model draws, brightness", "1"),
    "target_image": ("image that it should draw, brightness", "1"),
}


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """The reported runs over (model, seed), and the selection behind them."""
    return with_twins(chapter, run, settings, VARIABLES, criterion="mse_val")


def settings(chapter: Chapter, axes: Axes, candidate: int, selecting: bool = False) -> Settings:
    """The settings of one run: the task, how the model trains, and which images are kept."""
    model, given, s = chapter.model(axes["model"]), chapter.parameters, chapter.settings
    lr, options = with_candidate(model, candidate)
    if model["family"] == "vn":
        options |= {k: given[k] for k in ("n_atoms", "sparsity") if given[k] is not None}
        # Other codes have negative entries, which non-negative atoms cannot reconstruct.
        signed = given["encoding"] not in ("bump", "one_hot")
        options["nonnegative"] = options.get("nonnegative", False) and not signed
    split = s["split_seed"] if selecting else axes["seed"]
    task = {"grid": s["grid"], "split_seed": split}
    return {
        "task": task | {k: given[k] for k in ("sigma", "hold_out", "encoding")},
        "training": positions.training(model, lr, options, s["scale"]),
        "samples": positions.numbers(s["samples"], s["grid"]),
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder, trained with a start and a split of its own: its errors, along training, too, at
    every position, and its images at the `samples`.
    """
    data, samples = positions.plane(**settings["task"]), settings["samples"]
    training = settings["training"] | {"seed": axes["seed"], "workdir": workdir}
    model, along = positions.followed(data, chapter.device, **training)
    report = decoder_report(model, data, samples=samples).assign(positions.zero_baseline(data))
    numbers = [bumps.SPLITS.index(name) for name in data["split"].values.astype(str)]
    places = positions.coordinates(data)
    places["split"] = ("position", np.where(data["split"] == "ood", "ood", "id"))
    places["target_image"] = (("sample", "y", "x"), data["image"].values[samples])
    report = report.assign(set=("position", np.int8(numbers))).merge(along)
    return report.assign_coords(places)
