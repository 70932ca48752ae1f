"""Decoders of positions against their own linearisation at the start, from the same weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from benchmarks.spatial import registry
from benchmarks.spatial.curves import Watch
from benchmarks.spatial.decoders import as_pair, mean_squared_error, train_decoder
from benchmarks.spatial.settling import late_gain
from chapters.beyond_kernel import kernels
from chapters.beyond_kernel.tangent import least_norm_path, tangent, tangent_kernel
from data_gen import bumps, shapes
from vnlib import seeding
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.metrics import relative_distance

PARTS = {"train": "train", "val": "val", "id": "id_test", "ood": "ood"}
EVALUATIONS = 10

VARIABLES = {
    "mse_*": ("mean squared error per pixel of the decoder, {}", "1"),
    "linear_*": ("mean squared error per pixel of the linearisation at its best, {}", "1"),
    "path_*": ("mean squared error per pixel of the linearisation, {}", "1"),
    "two_factor_*": ("mean squared error per pixel of the two-factor kernel, {}", "1"),
    "zero_baseline_*": ("mean squared error of a zero image, {}", "1"),
    "late_gain": ("share by which the last fifth of the updates lowers the ID error", "1"),
    "n_parameters": ("number of parameters", "1"),
    "n_outputs": ("number of pixels of all images of training", "1"),
    "steps": ("steps of conjugate gradients at the least validation error", "1"),
    "explained_linear_*": ("share of variance of drawings that the linearisation has, {}", "1"),
    "explained_two_factor_*": ("share of variance that the two-factor kernel has, {}", "1"),
    "explained_truth_*": ("share of variance that the true images have, {}", "1"),
    "moved": ("how far training moved the weights, over their norm", "1"),
    "kept": ("correlation of the tangent kernels before and after training", "1"),
    "kernel_*": ("tangent kernel before training, {}", "1"),
    "after_*": ("tangent kernel after training, {}", "1"),
    "picture_*": ("image at a position held out, {}", "1"),
    "matrix_*": ("kernel over positions, {}", "1"),
    "code": ("code", ""),
    "iteration": ("steps of conjugate gradients", "1"),
}


def results(chapter: Chapter) -> xr.Dataset:
    """The runs over (code, model, seed); NaN for codes and seeds that a decoder leaves out."""
    every = chapter.settings["codes"]
    for name, model in chapter.models.items():
        for code in model.get("codes", every):
            if seeds := chapter.first_seeds(min(every[code], model.get("seeds", every[code]))):
                axes = {"code": [code], "model": [name], "seed": seeds}
                chapter.grid(run, axes, settings, variables=VARIABLES)
    return chapter.held(code=list(every))


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes: data, training and linearisation."""
    s, model = chapter.settings, chapter.models[axes["model"]]
    training = {name: model[name] for name in ("family", "options", "lr")}
    return {
        "data": s["data"] | {"encoding": axes["code"]},
        "training": training | {"steps": s["updates"], "batch_size": s["batch_size"]},
        "iterations": s["iterations"],
        "most": model["most"],
        "probes": s["probes"],
        "picture": axes["seed"] == chapter.seeds[0],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder, trained and linearised from the same start, on a split of its own; on the CPU."""
    s, seed = settings, axes["seed"]
    data = shapes.make(shapes.ShapeConfig(**s["data"], split_seed=seed))
    codes, images = as_pair(data, "cpu")
    sets = {
        name: torch.from_numpy((data["split"] == split).values) for name, split in PARTS.items()
    }
    train, validation = (as_pair(bumps.subset(data, part), "cpu") for part in ("train", "val"))
    training = s["training"]
    watch = Watch(mean_squared_error, {}, steps=training["steps"], evaluations=EVALUATIONS)
    trained = train_decoder(train, validation, seed=seed, workdir=workdir, watch=watch, **training)
    start = registry.build(
        training["family"],
        n_inputs=codes.shape[1],
        image_shape=tuple(images.shape[1:]),
        seed=seed,
        **training["options"],
    )
    everywhere = tangent(start, codes)
    steps = [number for number in s["iterations"] if number <= s["most"]]
    path = least_norm_path(tangent(start, train[0]), train[1], steps)
    drawings = [everywhere.start + everywhere.push(change) for change in path]
    curves = {name: [error(one, images, where) for one in drawings] for name, where in sets.items()}
    best = int(np.argmin(curves["val"]))
    x, y = (torch.from_numpy(data[f"position_{axis}"].values) for axis in "xy")
    binary = kernels.shared(x, y)
    seen = sets["train"].nonzero()[:, 0]
    two_factor = kernels.regression(binary, seen, train[1].flatten(1)).view_as(images)
    with torch.no_grad():
        drawn = trained(codes).double()
    others = {"linear": drawings[best], "two_factor": two_factor, "truth": images.double()}
    before, after = (
        tangent_kernel(one, s["probes"], seeding.generator(seed, "probes"))
        for one in (everywhere, tangent(trained, codes))
    )
    numbers: dict[str, float] = {
        "late_gain": float(late_gain(watch.curves())),
        "n_parameters": everywhere.n_weights,
        "n_outputs": train[1].numel(),
        "steps": steps[best],
        "moved": moved(start, trained),
        "kept": kernels.alignment(before, after),
    }
    for name, where in sets.items():
        numbers[f"mse_{name}"] = error(drawn, images, where)
        numbers[f"linear_{name}"] = curves[name][best]
        numbers[f"two_factor_{name}"] = error(two_factor, images, where)
        numbers[f"zero_baseline_{name}"] = error(torch.zeros_like(drawn), images, where)
        numbers |= {
            f"explained_{by}_{name}": explained(drawn[where], one[where])
            for by, one in others.items()
        }
    for kind, kernel in (("kernel", before), ("after", after)):
        numbers |= {f"{kind}_{n}": v for n, v in kernels.shares(kernel, binary).items()}
    found = xr.Dataset({name: ((), float(value)) for name, value in numbers.items()})
    found["iteration"] = ("iteration", np.array(s["iterations"]))
    for name, values in curves.items():
        left = [np.nan] * (len(s["iterations"]) - len(steps))
        found[f"path_{name}"] = ("iteration", np.array(values + left))
    return found.assign(pictures(others | {"drawn": drawn}, sets["ood"], s)).assign(
        matrices({"before": before, "after": after, "two_factor": binary}, s)
    )


def error(drawn: Tensor, images: Tensor, where: Tensor) -> float:
    """Mean squared error per pixel at some of the positions."""
    return float((drawn.double() - images)[where].square().mean())


def explained(drawn: Tensor, by: Tensor) -> float:
    """Share of the variance of drawings over positions that others have: 1 where they are the same,
    0 where they do no better than the mean drawing.
    """
    around = (drawn - drawn.mean(0)).square().sum()
    return float(1 - (drawn - by).square().sum() / around.clamp_min(1e-30))


def moved(start: torch.nn.Module, trained: torch.nn.Module) -> float:
    """Distance of all weights of two decoders over the norm of the first one's."""
    one, other = ([p.detach().reshape(1, -1) for p in m.parameters()] for m in (start, trained))
    return float(relative_distance(other, one))


def pictures(drawings: Mapping[str, Tensor], held_out: Tensor, s: Settings) -> dict[str, Any]:
    """All images at the middle one of the positions held out; NaN where none are kept."""
    places = held_out.nonzero()[:, 0]
    at = places[len(places) // 2]
    return {
        f"picture_{name}": (("y", "x"), _kept(one[at], s["picture"]))
        for name, one in drawings.items()
    }


def matrices(all_: Mapping[str, Tensor], s: Settings) -> dict[str, Any]:
    """Kernels over positions, the largest entry being 1; NaN where none are kept."""
    return {
        f"matrix_{name}": (("position", "other"), _kept(one / one.abs().max(), s["picture"]))
        for name, one in all_.items()
    }


def _kept(values: Tensor, keep: bool) -> np.ndarray:
    array = values.numpy().astype(np.float32)
    return array if keep else np.full_like(array, np.nan)
