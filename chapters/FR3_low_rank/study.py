"""A decoder learns one picture per value of x and of y, and what became of the pictures is
measured (FR Sec. 4.1, App. C).
"""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from benchmarks.spatial import curves, positions
from benchmarks.spatial.decoders import mean_squared_error
from chapters.FR3_low_rank.baselines import EmbeddingDecoder
from chapters.FR3_low_rank.measure import report
from vnlib.book.chapter import Axes, Chapter, Settings

SHARED = ("grid", "samples", "tokens", "steps", "batch_size", "evaluations")
TRAINED = ("options", "lr", "lr_floor", "steps", "batch_size")

VARIABLES = (
    positions.VARIABLES
    | curves.VARIABLES
    | {
        "sample_image": ("drawn image", "1"),
        "target_image": ("true image", "1"),
        "spectrum": ("share of a singular value in a map's energy, mean over tokens", "1"),
        "effective_rank": ("exponential of the entropy of a map's spectrum", "1"),
        "band": ("share of a map's energy that does not vary along an axis", "1"),
        "s_rank": ("number of modes by their factors s, median over tokens", "1"),
        "vector_constant": ("share of the factors u and v in the constant direction", "1"),
        "vector_length": ("length of the factors u and v before they are normalised, median", "1"),
        "embedding": ("map of a token", "1"),
        "log_volume": ("log10 of the volume element", "1"),
        "volume_shift": ("median log10 volume, held out less trained", "1"),
        "volume_spread": ("standard deviation of log10 volume, held-out positions", "1"),
        "target_log_volume": ("log10 volume of the true images, median of held-out positions", "1"),
        "split_ood": ("whether a position is held out", "1"),
        "hold_out": ("region that is held out", ""),
        "sample": ("number of a position whose image is kept", "1"),
        "axis": ("axis of a token", ""),
        "along": ("axis along which a map does not vary", ""),
        "token": ("value of x or y that a map stands for", "px"),
        "token_shown": ("value of x or y whose map is kept", "px"),
        "layer": ("layer", ""),
    }
)


def results(chapter: Chapter) -> xr.Dataset:
    """The runs over (model, hold_out, seed)."""
    axes = chapter.axes(hold_out=chapter.settings["hold_outs"])
    return chapter.grid(run, axes, settings, variables=VARIABLES)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes; the penalties given overrule those that a model
    has.
    """
    every, model, given = chapter.settings, chapter.models[axes["model"]], chapter.parameters
    penalties = {name: given[name] for name in model["options"] if given.get(name) is not None}
    return {name: every[name] for name in SHARED} | {
        **{name: model[name] for name in ("lr", "lr_floor", "weight_decay", "family")},
        "split_seed": axes["seed"],
        "options": model["options"] | penalties,
        "sigma": given["sigma"],
        "pictures": axes["seed"] == every["pictured_seed"],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One decoder, trained with one hold-out and one seed, which draws the start and the split, and
    measured (see `measure.report`).
    """
    s, bump = settings, {name: settings[name] for name in ("grid", "sigma", "split_seed")}
    data = positions.plane(hold_out=axes["hold_out"], encoding="one_hot", **bump)
    held_out = {"ood": positions.pair(data, "ood", chapter.device)}
    watch = curves.Watch(
        mean_squared_error, held_out, steps=s["steps"], evaluations=s["evaluations"]
    )
    training = {name: s[name] for name in TRAINED} | {"family": s["family"], "watch": watch}
    if s["family"] == "embedding":  # the factorised decoder keeps the weight decay of all decoders
        training |= {"family": EmbeddingDecoder, "weight_decay": s["weight_decay"]}
    training |= {"seed": axes["seed"], "workdir": workdir}
    model = positions.trained(data, chapter.device, **training)
    shown = positions.numbers(s["samples"], s["grid"])
    found = report(model, data, samples=shown, tokens=s["tokens"], pictures=s["pictures"])
    found = found.merge(watch.curves())
    found["split_ood"] = ("position", data["split"].values == "ood")
    places = {name: data[name] for name in ("position_x", "position_y")}
    places["target_image"] = (("sample", "y", "x"), data["image"].values[shown])
    return found.assign(positions.zero_baseline(data)).assign_coords(places)
