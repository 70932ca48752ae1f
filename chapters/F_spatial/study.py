"""Spatial decoders with one thing changed at a time, over seeds.

Models that are alike but for what is changed share the choice among the candidates.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xarray as xr

from benchmarks.baselines.twin_runs import with_twins
from benchmarks.spatial import curves, positions
from chapters.F_spatial import measure
from data_gen import bumps
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.book.comparison import with_candidate

VARIABLES = (positions.VARIABLES | curves.VARIABLES) | {
    "parts": ("tables that a model is in", ""),
    "encoding": ("code of a position", ""),
    "held_out": ("whether a position was held out", "1"),
    "sample_image": ("image that the model draws of one held-out bump, brightness", "1"),
    "sample_target": ("image that it should draw, brightness", "1"),
    "stream_similarity": ("|cosine| between the images of two streams", "1"),
    "stream_similarity_x": ("|cosine| between the profiles of two streams along x", "1"),
    "stream_similarity_y": ("|cosine| between the profiles of two streams along y", "1"),
    "stream_share": ("energy of the weakest stream over that of the strongest", "1"),
    "two_mse": ("mean squared error per pixel for the sum of two codes", "1"),
    "two_single_mse": ("mean squared error per pixel of two bumps drawn apart and added", "1"),
    "two_additivity": ("squared difference of the two ways, over the square of the latter", "1"),
    "two_real": ("brightness at the two bumps, median over pairs", "1"),
    "two_ghost": ("brightness at the two crossings, median over pairs", "1"),
    "two_zero_baseline": ("mean squared error per pixel of a zero image for two bumps", "1"),
    "two_image": ("image that the model draws for the sum of two codes, brightness", "1"),
    "two_target": ("sum of the images of two bumps, brightness", "1"),
}
FOURIER = {f"fourier{n}": {"encoding": "fourier", "n_frequencies": n} for n in (14, 7)}


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """The reported runs over (model, seed), and the selection behind them."""
    return with_twins(chapter, run, settings, VARIABLES, criterion="mse_val")


def settings(chapter: Chapter, axes: Axes, candidate: int, selecting: bool = False) -> Settings:
    """The settings of one run: how it trains, the task, and what is measured besides errors."""
    s, given, name = chapter.settings, chapter.parameters, axes["model"]
    model, own = chapter.model(name), chapter.spec.sidecar["models"][name]
    parts = model["parts"].split()
    lr, options = with_candidate(model, candidate)
    options |= own.get("changed", {})
    if model["family"] == "vn" and given["sparsity"] is not None:
        options["sparsity"] = given["sparsity"]
    training = positions.training(model, own.get("lr", lr), options, s["scale"])
    task = {
        "split_seed": s["split_seed"] if selecting else axes["seed"],
        "sigma": given["sigma"],
        "hold_out": given["hold_out"],
    }
    code = model.get("encoding", s["task"]["encoding"])
    return {
        "training": training | {"weight_decay": own.get("weight_decay", 0.01)},
        "task": s["task"] | task | FOURIER.get(code, {"encoding": code}) | model.get("task", {}),
        "maps": "ring" in parts,
        "shown": s["shown"]["position"] if axes.get("seed") == s["shown"]["seed"] else None,
        "pairs": s["pairs"] if "two" in parts else None,
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder, trained with a start and a task of its own: its errors, along training, too, and
    what else its tables ask for.
    """
    shown, data_seed = settings["shown"], settings["task"]["split_seed"]
    data = task(**settings["task"], seed=data_seed)
    training = settings["training"] | {"seed": axes["seed"], "workdir": workdir}
    model, along = positions.followed(data, chapter.device, **training)
    report = measure.report(model, data, maps=settings["maps"], shown=shown)
    if settings["pairs"]:
        pairs = measure.distant_pairs(data, **settings["pairs"], seed=data_seed)
        two = measure.two_bumps(model, data, pairs)
        report = report.merge(two.drop_vars(["two_image", "two_target"] if shown is None else []))
    return report.assign(positions.zero_baseline(data)).merge(along)


def task(*, scattered: int, input: str, seed: int, **config: Any) -> xr.Dataset:
    """The codes and images of a task, whose codes may be the images themselves.

    Parameters
    ----------
    scattered
        How many positions are drawn from the plane, by `seed`; 0 for those of the grid.
    input
        "code" or "image".
    **config
        Of `BumpConfig`.
    """
    bump = bumps.BumpConfig(**config)
    data = bumps.scattered(bump, scattered, seed=seed) if scattered else bumps.make(bump)
    if input == "code":
        return data
    flat = data["image"].stack(pixel=("y", "x")).drop_vars(("pixel", "y", "x"))
    return data.drop_vars("code").assign(code=flat)
