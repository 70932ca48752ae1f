"""What decoders draw inside a hold-out, over models, hold-outs and seeds."""

from __future__ import annotations

from pathlib import Path

import torch
import xarray as xr

from benchmarks.spatial import positions
from chapters.FR1_failure import similarity, superposition
from vnlib.book.chapter import Axes, Chapter, Settings

PLACES = ("position_x", "position_y")
VARIABLES = {name: positions.VARIABLES[name] for name in (*PLACES, "mse")} | {
    "hold_out": ("region that is held out", ""),
    "held_out": ("whether a position was held out", "1"),
    "where": ("set of positions: training, ID test, OOD", ""),
    "error": ("mean squared error per pixel", "1"),
    "zero_baseline": ("mean squared error per pixel of a zero image", "1"),
    "maxima": ("bumps per image, mean", "1"),
    "several": ("share of images with two or more bumps", "1"),
    "height": ("largest ink of an image, median", "1"),
    "hit": ("share of peaks within 1 px", "1"),
    "share_row": ("share of the ink near the right row, median", "1"),
    "share_column": ("share of the ink near the right column, median", "1"),
    "share_cross": ("share of the ink near the right row or column, median", "1"),
    "share_place": ("share of the ink near the right row and column, median", "1"),
    "chance_row": ("share of the ink near the row of another position, median", "1"),
    "chance_column": ("share of the ink near the column of another position, median", "1"),
    "chance_cross": ("share of the ink near the row or column of another position, median", "1"),
    "test": ("how the sum of seen parts is predicted", ""),
    "resembles": ("correlation of OOD output and sum of seen parts, median", "1"),
    "resembles_shuffled": ("correlation of OOD output and another position's sum, median", "1"),
    "resembles_bump": ("correlation of OOD output and true bump, median", "1"),
    "resembles_map": ("correlation of output and sum of seen parts, by position", "1"),
    "closer": ("share of OOD outputs nearer to the sum than to the true bump", "1"),
    "adds": ("share of variance that the sum explains beyond the bump, median", "1"),
    "bump_adds": ("share of variance that the bump explains beyond the sum, median", "1"),
    "panel": ("what a kept image shows", ""),
    "sample": ("position whose images are kept, counted row by row", "1"),
    "shown_image": ("ink of a kept image", "1"),
    "source": ("whose images are compared", ""),
    "pairs": ("set that both positions of a pair are from", ""),
    "metric": ("similarity of two images", ""),
    "kernel": ("kernel of two positions", ""),
    "width": ("width of a kernel, in widths of the bump", "1"),
    "part": ("kernel of a fit of two", ""),
    "kernel_r2": ("R^2 of a kernel over pairs of different positions", "1"),
    "kernel_weight": ("weight of a kernel in a fit of two to the cosines", "1"),
    "displacement": ("mean cosine by displacement of the positions", "1"),
    "white_cosine": ("smallest cosine of two images on a white ground", "1"),
    "ink_pixels": ("share of OOD images with a pixel of more than 0.7 ink", "1"),
    "shown_metric": ("similarity of a kept matrix", ""),
    "matrix_position": ("position of a row of a kept matrix", "1"),
    "matrix": ("similarity of the images of two positions", "1"),
}


def results(chapter: Chapter) -> xr.Dataset:
    """All runs over (model, hold_out, seed)."""
    axes = chapter.axes(hold_out=chapter.settings["hold_outs"])
    return chapter.grid(run, axes, settings, variables=VARIABLES)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of one run: the task, how the model trains, and what is measured."""
    model, s = chapter.models[axes["model"]], chapter.settings
    scale = s["scale"][model["family"]]
    lengths = {k: model[k] for k in ("steps", "consolidation") if k in model}
    return {
        "task": {
            **{k: s[k] for k in ("grid", "split_seed")},
            "sigma": chapter.parameters["sigma"],
            "hold_out": axes["hold_out"],
            "encoding": model["encoding"],
            "polarity": chapter.parameters["polarity"] or model["polarity"],
        },
        "training": {k: model[k] for k in ("family", "options", "lr", "batch_size")}
        | {k: max(1, round(scale * n)) for k, n in lengths.items()},
        "samples": positions.numbers(s["samples"], s["grid"]),
        # Images and matrices are kept for the first seed only.
        "show": axes["seed"] == chapter.seeds[0],
        **{k: s[k] for k in ("reach", "widths", "displacement", "every")},
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One trained decoder: its errors, what it draws, and how similar its images are."""
    s, seed, polarity = settings, axes["seed"], settings["task"]["polarity"]
    data = positions.plane(**s["task"])
    model = positions.trained(data, chapter.device, seed=seed, workdir=workdir, **s["training"])
    drawn = superposition.outputs(model, torch.from_numpy(data["code"].values), polarity=polarity)
    reports = [
        superposition.drawn_report(drawn, data, polarity=polarity, reach=s["reach"], seed=seed),
        superposition.superposition_report(
            model, drawn, data, polarity=polarity, seed=seed, samples=s["samples"], show=s["show"]
        ),
        similarity.similarity_report(
            drawn,
            data,
            polarity=polarity,
            sigma=s["task"]["sigma"],
            widths=s["widths"],
            reach=s["displacement"],
            every=s["every"],
            show=s["show"],
        ),
    ]
    held_out = (data["split"].values == "ood").astype("int8")
    report = xr.merge(reports).assign(held_out=("position", held_out))
    return report.assign_coords({name: ("position", data[name].values) for name in PLACES})
