"""Spatial decoders over seeds, each with the candidate that does best on ID validation positions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from benchmarks.spatial import positions
from benchmarks.spatial.decoders import train_decoder
from benchmarks.spatial.report import decoder_report
from data_gen import bumps
from vnlib.book.chapter import Chapter
from vnlib.book.comparison import Comparison, with_candidate

VARIABLES = positions.VARIABLES | {
    "depth": ("depth: blocks of a CNN, layers of a VN per axis; 0 for others", "1"),
    "sample": ("position whose image is kept, counted row by row", "1"),
    "sample_image": ("image that the model draws, brightness", "1"),
    "target_image": ("image that it should draw, brightness", "1"),
}


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """The reported runs over (model, seed), and the selection behind them."""
    s, p = chapter.settings, chapter.parameters
    task = bumps.BumpConfig(
        grid=s["grid"],
        split_seed=s["split_seed"],
        sigma=p["sigma"],
        hold_out=p["hold_out"],
        encoding=p["encoding"],
    )
    samples = [int(x + s["grid"] * y) for x, y in s["samples"]]
    one_run = partial(run, data=bumps.make(task), samples=samples, device=chapter.device)
    comparison = Comparison(
        chapter, one_run, partial(settings, chapter), VARIABLES, criterion="mse_val"
    )
    return comparison.results()


def settings(
    chapter: Chapter, axes: dict[str, Any], candidate: int, selecting: bool = False
) -> dict[str, Any]:
    """The settings of one run: what `train_decoder` takes, but for data, seed and folder."""
    model, given = chapter.model(axes["model"]), chapter.parameters
    lr, options = with_candidate(model, candidate)
    if model["family"] == "vn":
        options |= {k: given[k] for k in ("n_atoms", "sparsity") if given[k] is not None}
        # Other codes have negative entries, which non-negative atoms cannot reconstruct.
        signed = given["encoding"] not in ("bump", "one_hot")
        options["nonnegative"] = options.get("nonnegative", False) and not signed
    return {
        "family": model["family"],
        "options": options,
        "lr": lr,
        "batch_size": model["batch_size"],
        **positions.lengths(model, chapter.settings["scale"]),
    }


def run(
    axes: dict[str, Any],
    settings: dict[str, Any],
    workdir: Path,
    *,
    data: xr.Dataset,
    samples: Sequence[int],
    device: torch.device,
) -> xr.Dataset:
    """One trained decoder: its error at every position, and its images at the `samples`."""
    train, val = (positions.pair(data, split, device) for split in ("train", "val"))
    model = train_decoder(train, val, seed=axes["seed"], workdir=workdir, **settings)
    report = decoder_report(model, data, samples=list(samples))
    target = (("sample", "y", "x"), data["image"].values[list(samples)])
    places = {
        name: ("position", data[name].values) for name in ("position_x", "position_y", "split")
    }
    report = report.assign(positions.zero_baseline(data))
    return report.assign_coords(places | {"target_image": target})
