"""A decoder learns one picture per value of x and of y, and what became of the pictures is
measured (FR Sec. 4.1, App. C).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from benchmarks.spatial import positions
from benchmarks.spatial.decoders import train_decoder
from chapters.FR3_low_rank.baselines import EmbeddingDecoder
from chapters.FR3_low_rank.measure import report
from data_gen import bumps
from vnlib.book.chapter import Chapter

SHARED = ("grid", "split_seed", "samples", "tokens", "steps", "batch_size")

VARIABLES = positions.VARIABLES | {
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


def results(chapter: Chapter) -> xr.Dataset:
    """The runs over (model, hold_out, seed)."""
    axes = {"model": list(chapter.models), "hold_out": chapter.settings["hold_outs"]}
    return chapter.grid(
        partial(run, device=chapter.device),
        axes | {"seed": chapter.seeds},
        partial(settings, chapter),
        variables=VARIABLES,
    )


def settings(chapter: Chapter, axes: Mapping[str, Any]) -> dict[str, Any]:
    """What a run depends on besides its axes; the penalties given overrule those that a model
    has.
    """
    every, model, given = chapter.settings, chapter.models[axes["model"]], chapter.parameters
    penalties = {name: given[name] for name in ("entropy", "variance") if given[name] is not None}
    own = {name: penalties.get(name, value) for name, value in model["options"].items()}
    return {name: every[name] for name in SHARED} | {
        "lr": model["lr"],
        "weight_decay": model["weight_decay"],
        "family": model["family"],
        "options": own,
        "sigma": given["sigma"],
        "pictures": axes["seed"] == every["pictured_seed"],
    }


def run(
    axes: Mapping[str, Any],
    settings: Mapping[str, Any],
    workdir: Path,
    *,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """One decoder, trained with one hold-out and one seed, and measured (see `measure.report`).

    Parameters
    ----------
    axes
        model, hold_out and seed.
    settings
        As `settings` gives them.
    workdir
        Where checkpoints are kept.
    device
        Where to compute.
    """
    bump = {name: settings[name] for name in ("grid", "sigma", "split_seed")}
    data = plane(hold_out=axes["hold_out"], **bump)
    # The factorised decoder keeps the weight decay of all decoders.
    embedding = settings["family"] == "embedding"
    own = {"weight_decay": settings["weight_decay"]} if embedding else {}
    model = train_decoder(
        *(positions.pair(data, part, device) for part in ("train", "val")),
        family=EmbeddingDecoder if embedding else settings["family"],
        seed=axes["seed"],
        workdir=workdir,
        **{name: settings[name] for name in ("options", "lr", "steps", "batch_size")},
        **own,
    )
    shown = [int(x + settings["grid"] * y) for x, y in settings["samples"]]
    found = report(
        model, data, samples=shown, tokens=settings["tokens"], pictures=settings["pictures"]
    )
    found = found.assign(positions.zero_baseline(data))
    found["split_ood"] = ("position", data["split"].values == "ood")
    return found.assign_coords(
        position_x=data["position_x"],
        position_y=data["position_y"],
        target_image=(("sample", "y", "x"), data["image"].values[shown]),
    )


@cache
def plane(**config: Any) -> xr.Dataset:
    """All positions of a square grid, with one-hot codes (see `bumps.BumpConfig`)."""
    return bumps.make(bumps.BumpConfig(encoding="one_hot", **config))
