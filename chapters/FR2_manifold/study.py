"""A decoder is trained, and every layer of it is measured at every position (FR Sec. 3.4)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import xarray as xr

from benchmarks.spatial import positions
from benchmarks.spatial.decoders import as_pair
from chapters.FR2_manifold.measure import layers, reference, report, untrained, with_untrained
from vnlib.book.chapter import Axes, Chapter, Settings

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
    return chapter.grid(run, settings=settings, variables=VARIABLES)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes."""
    every, model = chapter.settings, chapter.models[axes["model"]]
    first = axes["seed"] == chapter.seeds[0]
    chosen = {name: every[name] for name in MEASURED} | {
        **{name: chapter.parameters[name] for name in ("sigma", "hold_out")},
        "family": model["family"],
        "encoding": model["encoding"],
        # A product readout draws on a background of 0, so the Vector Networks get bright bumps.
        "polarity": "bright" if model["family"] == "vn" else "dark",
        "full": first,
        "plane": first and axes["model"] in every["planes"],
    }
    if model["family"] == "reference":
        return chosen
    training = {name: model[name] for name in ("options", "lr", "batch_size")}
    return chosen | training | positions.lengths(model, every["scale"])


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder, trained with one seed, or a reference that nobody trained: all its layers
    measured (see `measure.report`).
    """
    s, seed, device = settings, axes["seed"], chapter.device
    task = {name: s[name] for name in ("grid", "split_seed", "sigma", "hold_out")}
    data = positions.plane(encoding=s["encoding"], polarity=s["polarity"], **task)
    shown = positions.numbers(s["samples"], s["grid"])
    measured = partial(
        report, data=data, margin=s["margin"], folds=s["folds"], seed=seed, samples=shown
    )
    before = None
    if s["family"] == "reference":
        found = reference(axes["model"], data)
    else:
        training = {name: s[name] for name in TRAINED}
        model = positions.trained(data, device, seed=seed, workdir=workdir, **training)
        codes = as_pair(data, device)[0]
        found = layers(model, codes)
        if s["full"]:
            sizes = {"n_inputs": codes.shape[1], "image_shape": model.image_shape}
            start = untrained(family=s["family"], options=s["options"], seed=seed, **sizes)
            before = measured(layers(start.to(device), codes), maps=False)
    after = measured(found, maps=s["full"], plane=s["plane"])
    target = positions.plane(**task, encoding="bump", polarity="dark")["image"].values[shown]
    places = positions.coordinates(data) | {"target_image": (("sample", "y", "x"), target)}
    return with_untrained(after, before).assign(positions.zero_baseline(data)).assign_coords(places)
