"""A decoder is trained, and every layer of it is measured at every position (FR Sec. 3.4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from benchmarks.spatial import positions
from benchmarks.spatial.decoders import as_pair, train_decoder
from chapters.FR2_manifold.measure import layers, reference, report, untrained, with_untrained
from data_gen import bumps
from vnlib.book.chapter import Chapter

MEASURED = ("grid", "split_seed", "margin", "folds", "samples")
TRAINED = ("family", "options", "lr", "steps", "batch_size", "consolidation")

VARIABLES = positions.VARIABLES | {
    "units": ("number of units of a layer", "1"),
    "F": ("factorisation", "1"),
    "F_in": ("factorisation in the hold-out", "1"),
    "F_out": ("factorisation around the hold-out", "1"),
    "volume_in": ("mean log10 volume element in the hold-out", "1"),
    "volume_out": ("mean log10 volume element around the hold-out", "1"),
    "spread_in": ("standard deviation of log10 volume in the hold-out", "1"),
    "spread_out": ("standard deviation of log10 volume around the hold-out", "1"),
    "probe": ("R^2 of linear probes for x and y, cross-validated over the grid", "1"),
    "probe_ood": ("R^2 of linear probes in the hold-out, fitted outside", "1"),
    "one_factor": ("share of the variance in terms of x alone and of y alone", "1"),
    "terms": ("number of separable terms of the centred kernel", "1"),
    "map_terms": ("number of separable terms of the map", "1"),
    "term_share": ("share of weight of a term of the kernel", "1"),
    "log_volume": ("log10 of the volume element", "1"),
    "sample_image": ("drawn image", "1"),
    "target_image": ("true image", "1"),
    "plane": ("principal component of a layer, in units of the first", "1"),
    "layer": ("layer", ""),
    "stage": ("layer that is drawn as a plane", ""),
    "sample": ("number of a position whose image is kept", "1"),
    "weights": ("after training or before", ""),
    "encoding": ("code of the position", ""),
    "depth": ("number of layers or blocks", "1"),
}


def results(chapter: Chapter) -> xr.Dataset:
    """The runs over (model, seed)."""
    bump = {name: chapter.parameters[name] for name in ("sigma", "hold_out")}
    return chapter.grid(
        partial(run, bump=bump, device=chapter.device),
        {"model": list(chapter.models), "seed": chapter.seeds},
        partial(settings, chapter),
        variables=VARIABLES,
    )


def settings(chapter: Chapter, axes: Mapping[str, Any]) -> dict[str, Any]:
    """What a run depends on besides its axes, and the parameters that have a file of their own."""
    every, model = chapter.settings, chapter.models[axes["model"]]
    first = axes["seed"] == chapter.seeds[0]
    chosen = {name: every[name] for name in MEASURED} | {
        "family": model["family"],
        "encoding": model["encoding"],
        # A product readout draws on a background of 0, so the Vector Networks get bright bumps.
        "polarity": "bright" if model["family"] == "vn" else "dark",
        "full": first,
        "plane": first and axes["model"] in every["planes"],
    }
    if model["family"] == "reference":
        return chosen
    scale = every["scale"][model["family"]]
    return chosen | {
        "steps": max(1, round(scale * model["steps"])),
        "consolidation": round(scale * model.get("consolidation", 0)),
        **{name: model[name] for name in ("options", "lr", "batch_size")},
    }


def run(
    axes: Mapping[str, Any],
    settings: Mapping[str, Any],
    workdir: Path,
    *,
    bump: Mapping[str, Any],
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """One decoder, trained with one seed, or a reference that nobody trained: all its layers
    measured (see `measure.report`).

    Parameters
    ----------
    axes
        model and seed.
    settings
        As `settings` gives them.
    workdir
        Where checkpoints are kept.
    bump
        sigma and hold_out of the task.
    device
        Where to compute.
    """
    task = {name: settings[name] for name in ("grid", "split_seed")} | dict(bump)
    data = plane(encoding=settings["encoding"], polarity=settings["polarity"], **task)
    shown = [int(x + settings["grid"] * y) for x, y in settings["samples"]]
    measure = {name: settings[name] for name in ("margin", "folds")}
    measure |= {"seed": axes["seed"], "samples": shown}
    before = None
    if settings["family"] == "reference":
        found = reference(axes["model"], data)
    else:
        train, validation = (positions.pair(data, part, device) for part in ("train", "val"))
        chosen = {name: settings[name] for name in TRAINED}
        model = train_decoder(train, validation, seed=axes["seed"], workdir=workdir, **chosen)
        codes = as_pair(data, device)[0]
        found = layers(model, codes)
        if settings["full"]:
            start = untrained(
                **{name: settings[name] for name in ("family", "options")},
                n_inputs=codes.shape[1],
                image_shape=model.image_shape,
                seed=axes["seed"],
            )
            before = report(layers(start.to(device), codes), data, maps=False, **measure)
    after = report(found, data, maps=settings["full"], plane=settings["plane"], **measure)
    measured = with_untrained(after, before).assign(positions.zero_baseline(data))
    target = plane(encoding="bump", polarity="dark", **task)["image"].values[shown]
    places = ("position_x", "position_y", "split")
    return measured.assign_coords(
        {name: ("position", data[name].values) for name in places}
        | {"target_image": (("sample", "y", "x"), target)}
    )


@cache
def plane(**config: Any) -> xr.Dataset:
    """All positions of a square grid with their codes and images (see `bumps.BumpConfig`)."""
    return bumps.make(bumps.BumpConfig(**config))
