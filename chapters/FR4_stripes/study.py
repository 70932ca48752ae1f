"""One decoder per diet of stripes and bumps, with all that is measured of it (FR Sec. 4.2)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from benchmarks.baselines.twin_runs import with_twins
from benchmarks.spatial import curves, positions
from benchmarks.spatial.decoders import as_pair, mean_squared_error, train_decoder
from chapters.FR4_stripes import growth
from chapters.FR4_stripes.diets import diet, training_set, with_constant
from chapters.FR4_stripes.measure import drawing_report, pictures
from chapters.FR4_stripes.scaling import needs
from chapters.FR4_stripes.tuning import layer_report
from data_gen import bumps
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.book.comparison import with_candidate

DATA = ("grid", "hold_out", "encoding", "polarity")

VARIABLES = (positions.VARIABLES | curves.VARIABLES) | {
    "stripe_mse": ("mean squared error of stripes", "1"),
    "cross_mse_ood": ("mean squared error against the additive cross, held-out bumps", "1"),
    "hit_x_ood": ("share of peaks within 1 px in x, held-out positions", "1"),
    "hit_y_ood": ("share of peaks within 1 px in y, held-out positions", "1"),
    "bump_hit_*": ("share of peaks within 1 px in images more like a bump than a cross, {}", "1"),
    "line_ood": ("weight of the two stripes in held-out images", "1"),
    "product_ood": ("weight of the stripes' product in held-out images", "1"),
    "like_cross_ood": ("correlation of held-out images with the additive cross", "1"),
    "like_bump_ood": ("correlation of held-out images with the bump", "1"),
    "cross_share_ood": ("share of held-out images that are more like a cross than a bump", "1"),
    "bumps": ("number of bumps in training", "1"),
    "items": ("number of bumps and stripes in training", "1"),
    "stripes": ("whether stripes were in training", "1"),
    "picture": ("drawn image", "1"),
    "tuning_rest": ("share of a layer's variance that no sum of stripes gives", "1"),
    "tuning_quantile": ("share of a unit's variance that no sum of stripes gives", "1"),
    "tuning_axis": ("share of a unit's variance in its better axis, median", "1"),
    "responding": ("share of units that respond", "1"),
    "volume_rough": ("mean difference of log10 volume between held-out neighbours", "1/px"),
    "volume_sd": ("standard deviation of log10 volume", "1"),
    "volume_gap": ("median log10 volume, held out less ID", "1"),
    "log_volume": ("log10 of the volume element", "1"),
    "unit": ("map of a unit over its largest magnitude", "1"),
    "dose_bumps": ("number of bumps in training, of a dose", "1"),
    "dose_items": ("number of bumps and stripes in training, of a dose", "1"),
    "accuracy": ("share of tested positions that are right", "1"),
    "need": ("fewest training items that reach a target", "1"),
    "diet": ("what a decoder is trained on", ""),
    "sample": ("position of a drawn bump, x and y in px", ""),
    "layer": ("layer", ""),
    "quantile": ("quantile over units", "1"),
    "kind": ("with stripes, or bumps only", ""),
    "region": ("what is held out", ""),
    "places": ("where bumps may stand", ""),
    "measure": ("accuracy that is asked for", ""),
    "target": ("accuracy to be reached", "1"),
    "grid": ("side of the images", "px"),
    "polarity": ("bright bumps on 0, or dark ones on 1", ""),
}


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """The reported runs over (model, seed), and those behind the selection (None where there are none).
    Models choose by their error on ID validation bumps, on one diet; of those of other image sides
    there are `few` seeds.
    """
    sides = {name: m["grid"] for name, m in chapter.models.items() if "side" in m}
    others = [name for name in chapter.models if name not in sides]
    parts, selection = [], None
    if others:
        runs, selection = with_twins(
            replace(chapter, parameters={**chapter.parameters, "models": others}),
            run,
            settings,
            VARIABLES,
            criterion=lambda tried: tried["mse_val"].sel(diet=chapter.settings["selection_diet"]),
        )
        parts.append(runs)
    if sides:
        axes = {"model": list(sides), "seed": chapter.first_seeds(chapter.settings["few"])}
        parts.append(chapter.grid(run, axes, growth_settings, variables=VARIABLES))
    whole = xr.merge(parts, "no_conflicts", join="outer", combine_attrs="override")
    return whole, selection


def growth_settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run of a model of another image side depends on besides its axes."""
    every, model = chapter.settings, chapter.model(axes["model"])
    lr, options = with_candidate(model, 0)
    own = {"options": options, "lr": lr, "batch_size": model["batch_size"]}
    return {
        "side": model["grid"],
        "sigma": chapter.parameters["sigma"],
        "count": every["doses"],
        "targets": every["targets"],
        "training": {"family": model["family"], **own, **positions.lengths(model, every["scale"])},
    }


def settings(chapter: Chapter, axes: Axes, candidate: int, selecting: bool) -> Settings:
    """What a run depends on besides its axes."""
    every, model = chapter.settings, chapter.model(axes["model"])
    lr, options = with_candidate(model, candidate)
    if model["family"] == "cnn":
        options = {"width": every["width"]} | options
    diets = [every["selection_diet"]] if selecting else every["diets"][model["diets"]]
    if not selecting and axes["seed"] not in chapter.first_seeds(every["few"]):
        diets = [name for name in diets if name in every["often"]]
    pictured = not selecting and axes["seed"] == chapter.seeds[0]
    looked_into = not selecting and axes["model"] in every["looked_into"]
    return {
        "data": {name: model[name] for name in DATA} | {"sigma": chapter.parameters["sigma"]},
        "constant": model["constant"],
        "training": {
            "family": model["family"],
            "options": options,
            "lr": lr,
            "batch_size": model["batch_size"],
            **positions.lengths(model, every["scale"]),
        },
        "diets": diets,
        "evaluations": every["evaluations"],
        "units_shown": every["units_shown"],
        "samples": every["samples"] if pictured else [],
        "layers_of": every["layers_of"] if looked_into else [],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder per diet, trained with one seed, which draws the start and the split: what it
    draws; for a model of another image side, how much data it needs.

    It is kept at its best step on held-out bumps of the ID region; without any bump in the diet
    there are only the stripes themselves.
    """
    s, seed, device, parts = settings, axes["seed"], chapter.device, []
    if "count" in s:
        given = {name: s[name] for name in ("side", "sigma", "count", "training")}
        found = growth.report(device, workdir, seed=seed, **given)
        return found.merge(needs(found, targets=s["targets"]))
    data, lines = datasets(s["constant"], split_seed=seed, **s["data"])
    side, available = data.sizes["y"], int((data["split"] == "train").sum())
    held, ood = (positions.pair(data, split, device) for split in ("val", "ood"))
    for name in s["diets"]:
        eaten = diet(name, side=side, available=available)
        images = training_set(data, lines, eaten, seed=seed)
        train = tuple(torch.from_numpy(values).to(device) for values in images)
        training = s["training"] | {"seed": seed, "workdir": workdir / name}
        if training["family"] != "vn":
            length = {"steps": training["steps"], "evaluations": s["evaluations"]}
            training["watch"] = curves.Watch(mean_squared_error, {"ood": ood}, **length)
        model = train_decoder(train, held if eaten.bumps else train, **training)
        found = drawing_report(model, data, lines)
        found = found.assign(bumps=eaten.bumps, items=len(train[0]), stripes=int(eaten.stripes))
        if "watch" in training:
            found = found.merge(training["watch"].curves())
        if s["samples"]:
            found = found.merge(pictures(model, data, samples=s["samples"]))
        if name in s["layers_of"]:
            ood_map = (data["split"].values == "ood").reshape(side, side)
            plane = as_pair(data, device)[0]
            found = found.merge(layer_report(model, plane, ood_map, units_shown=s["units_shown"]))
        parts.append(found.expand_dims(diet=[name]))
    found = xr.merge(parts, join="outer", compat="no_conflicts").reindex(diet=s["diets"])
    return found.assign(positions.zero_baseline(data))


@cache
def datasets(constant: float, **config: Any) -> tuple[xr.Dataset, xr.Dataset]:
    """All bumps of a square grid, and all stripes (see `bumps.BumpConfig` and `with_constant`)."""
    made = bumps.BumpConfig(**config)
    return with_constant(bumps.make(made), constant), with_constant(bumps.stripes(made), constant)
