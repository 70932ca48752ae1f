"""What decoders draw inside a hold-out, over models, hold-outs and seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import xarray as xr

from benchmarks.baselines.parts import n_parameters
from benchmarks.spatial import curves, positions
from benchmarks.spatial.closed_form import READOUTS, OuterProduct, least_squares, ridge
from chapters.FR1_failure import similarity, superposition
from data_gen import bumps
from vnlib.book.chapter import Axes, Chapter, Settings

SOLVERS = ("least squares", "ridge")
PLACES = ("position_x", "position_y")
VARIABLES = {name: positions.VARIABLES[name] for name in (*PLACES, "mse", "n_parameters")}
VARIABLES |= curves.VARIABLES | {
    "hold_out": ("region that is held out", ""),
    "held_out": ("whether a position was held out", "1"),
    "where": ("set of positions: training, ID test, OOD", ""),
    "error": ("mean squared error per pixel", "1"),
    "zero_baseline": ("mean squared error per pixel of a zero image", "1"),
    "ssim": ("structural similarity of image and target", "1"),
    "zero_ssim": ("structural similarity of a zero image and the target", "1"),
    "edge_distance": ("distance to the edge of the hold-out, negative outside", "px"),
    "failed": ("whether the ID error is above half of a zero image's", "1"),
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
    "code": ("code of the position", ""),
    "readout": ("features and form of a closed-form readout", ""),
    "solver": ("how a closed-form readout is fitted", ""),
    "matrix_position": ("position of a row of a kept matrix", "1"),
    "matrix": ("similarity of the images of two positions", "1"),
}


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset]:
    """All runs over (model, hold_out, seed), each model in its own hold-outs, NaN in others; and
    the closed-form readouts over (hold_out, seed).
    """
    hold_outs = {
        hold_out: [name for name, model in chapter.models.items() if hold_out in model["hold_outs"]]
        for hold_out in chapter.settings["hold_outs"]
    }
    hold_outs = {hold_out: models for hold_out, models in hold_outs.items() if models}
    for hold_out, models in hold_outs.items():
        axes = chapter.axes(model=models, hold_out=[hold_out])
        chapter.grid(run, axes, settings, variables=VARIABLES)
    every = chapter.settings
    fitted = {name: every[name] for name in ("grid", "codes")}
    fitted["sigma"] = chapter.parameters["sigma"]
    axes = {"hold_out": every["hold_outs"], "seed": chapter.seeds}
    readouts = chapter.grid(fit_readouts, axes, fitted, variables=VARIABLES, part="readouts")
    return chapter.held(hold_out=list(hold_outs)), readouts


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of one run: the task, how the model trains, and what is measured."""
    model, s = chapter.models[axes["model"]], chapter.settings
    return {
        "task": {
            "grid": s["grid"],
            "sigma": chapter.parameters["sigma"],
            "hold_out": axes["hold_out"],
            "encoding": model["encoding"],
            "polarity": chapter.parameters["polarity"] or model["polarity"],
        },
        "training": positions.settings_watched(model, s["scale"]),
        "samples": positions.numbers(s["samples"], s["grid"]),
        # Images and matrices are kept for the first seed only.
        "show": axes["seed"] == chapter.seeds[0],
        **{k: s[k] for k in ("reach", "widths", "displacement", "every")},
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder, with a split and a start of its own: its errors, along training, too, what it
    draws, and how similar its images are.
    """
    s, seed, polarity = settings, axes["seed"], settings["task"]["polarity"]
    data = positions.plane(**s["task"], split_seed=seed)
    if s["training"]["family"] == "outer":
        sizes = {"n_inputs": data.sizes["code"], "image_shape": data["image"].shape[1:]}
        model, along = OuterProduct(dark=polarity == "dark", **sizes), positions.unwatched()
    else:
        training = {"seed": seed, "workdir": workdir, **s["training"]}
        model, along = positions.watched(data, chapter.device, **training)
    drawn = superposition.outputs(model, torch.from_numpy(data["code"].values), polarity=polarity)
    reports = [
        along,
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
    report = xr.merge(reports).assign(
        held_out=("position", held_out), n_parameters=n_parameters(model)
    )
    return report.assign_coords({name: ("position", data[name].values) for name in PLACES})


def fit_readouts(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """Errors of closed-form decoders of bright bumps, by code, readout and solver."""
    task = {"grid": settings["grid"], "sigma": settings["sigma"], "hold_out": axes["hold_out"]}
    errors = []
    for code in settings["codes"]:
        data = positions.plane(**task, encoding=code, polarity="bright", split_seed=axes["seed"])
        sets = {
            split: tuple(part[name].values.astype(np.float64) for name in ("code", "image"))
            for split in ("train", "val", "id_test", "ood")
            for part in [bumps.subset(data, split)]
        }
        where = [sets[split] for split in superposition.WHERE.values()]
        for readout in READOUTS:
            draws = (
                least_squares(*sets["train"], readout=readout),
                ridge(sets["train"], sets["val"], readout=readout)[0],
            )
            errors += [np.square(draw(x) - y).mean() for draw in draws for x, y in where]
    zero = [np.square(images).mean() for _, images in where]
    shape = (len(settings["codes"]), len(READOUTS), len(SOLVERS), len(where))
    return xr.Dataset(
        {
            "error": (("code", "readout", "solver", "where"), np.reshape(errors, shape)),
            "zero_baseline": ("where", zero),
        },
        {
            "code": settings["codes"],
            "readout": list(READOUTS),
            "solver": list(SOLVERS),
            "where": list(superposition.WHERE),
        },
    )
