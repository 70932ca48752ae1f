"""A decoder is trained, and every layer of it is measured at every position (FR Sec. 3.4)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr

from benchmarks.spatial import curves, positions
from benchmarks.spatial.decoders import as_pair
from chapters.FR2_manifold.measure import layers, reference, report, untrained, with_untrained
from vnlib.book import store
from vnlib.book.chapter import Axes, Chapter, Settings

MEASURED = ("grid", "margin", "folds", "samples")
RAMPS = ("cnn", "ramp")
FAILED = 0.5  # share of a zero image's error in distribution above which nothing was learned

VARIABLES = (
    positions.VARIABLES
    | curves.VARIABLES
    | {
        "failed": ("whether the ID error is above half of a zero image's", "1"),
        "units": ("number of units of a layer", "1"),
        "F": ("factorisation", "1"),
        "F_in": ("factorisation in the hold-out", "1"),
        "F_out": ("factorisation around the hold-out", "1"),
        "volume_in": ("mean log10 volume element in the hold-out", "1"),
        "volume_out": ("mean log10 volume element around the hold-out", "1"),
        "spread_in": ("standard deviation of log10 volume in the hold-out", "1"),
        "spread_out": ("standard deviation of log10 volume around the hold-out", "1"),
        "random_F": ("factorisation before training", "1"),
        "random_spread_in": (
            "standard deviation of log10 volume in the hold-out before training",
            "1",
        ),
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
)


def results(chapter: Chapter) -> xr.Dataset:
    """The runs over (model, seed); CNNs with ramps have seeds of their own number, NaN in others."""
    groups: dict[str, list[str]] = {"ramp_seeds": [], "": []}
    for name, model in chapter.models.items():
        kind = (model["family"], model["encoding"])
        groups["ramp_seeds" if kind == RAMPS else ""].append(name)
    asked, seeds = chapter.parameters["seeds"] is not None, {}
    for number, models in groups.items():
        own = chapter.seeds
        if number:
            count = chapter.settings[number]
            own = chapter.first_seeds(count) if asked else list(range(count))
        if models:
            seeds |= dict.fromkeys(models, own)
            chapter.grid(run, {"model": models, "seed": own}, settings, variables=VARIABLES)
    every = sorted({seed for own in seeds.values() for seed in own})
    return store.read(chapter.file()).sel(model=list(chapter.models), seed=every)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes."""
    every, model = chapter.settings, chapter.models[axes["model"]]
    first = axes["seed"] == chapter.seeds[0]
    chosen = {name: every[name] for name in MEASURED} | {
        **{name: chapter.parameters[name] for name in ("sigma", "hold_out")},
        "encoding": model["encoding"],
        # A product readout draws on a background of 0, so the Vector Networks get bright bumps.
        "polarity": "bright" if model["family"] == "vn" else "dark",
        "full": first,
        "plane": first and axes["model"] in every["planes"],
    }
    if model["family"] == "reference":
        return chosen
    return chosen | {"training": positions.settings_watched(model, every["scale"])}


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder, trained with a split and a start of its own, or a reference that nobody trained:
    all its layers measured (see `measure.report`).
    """
    s, seed, device = settings, axes["seed"], chapter.device
    task = {name: s[name] for name in ("grid", "sigma", "hold_out")} | {"split_seed": seed}
    data = positions.plane(encoding=s["encoding"], polarity=s["polarity"], **task)
    shown = positions.numbers(s["samples"], s["grid"])
    measured = partial(
        report, data=data, margin=s["margin"], folds=s["folds"], seed=seed, samples=shown
    )
    before, along = None, positions.unwatched()
    if "training" not in s:
        found = reference(axes["model"], data)
    else:
        training = s["training"]
        model, along = positions.watched(data, device, seed=seed, workdir=workdir, **training)
        codes = as_pair(data, device)[0]
        found = layers(model, codes)
        if s["full"]:
            sizes = {"n_inputs": codes.shape[1], "image_shape": model.image_shape}
            own = {name: training[name] for name in ("family", "options")}
            before = measured(
                layers(untrained(seed=seed, **own, **sizes).to(device), codes), maps=False
            )
    after = measured(found, maps=s["full"], plane=s["plane"])
    target = positions.plane(**task, encoding="bump", polarity="dark")["image"].values[shown]
    places = positions.coordinates(data) | {"target_image": (("sample", "y", "x"), target)}
    # Which of the others are trained on depends on the seed; the hold-out does not.
    places["split"] = ("position", np.where(data["split"] == "ood", "ood", "id"))
    baseline = positions.zero_baseline(data)
    failed = np.int8(after["mse_id"] > FAILED * baseline["zero_baseline_id"])
    measured = with_untrained(after, before).assign(baseline | {"failed": failed})
    return xr.merge([measured, along]).assign_coords(places)
