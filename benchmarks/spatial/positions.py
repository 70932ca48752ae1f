"""What every study on positions shares: the pairs it trains on, and how its files name what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import nn

from benchmarks.spatial.curves import Watch
from benchmarks.spatial.decoders import Pair, as_pair, mean_squared_error, train_decoder
from data_gen import bumps
from vnlib import checks, seeding
from vnlib.book.store.variables import Variables

CHECKPOINTS = 25  # evaluations along a training

# What `benchmarks.spatial.report.decoder_report` and `zero_baseline` return, and where bumps are.
VARIABLES: Variables = {
    "position_x": ("column of the bump's centre", "px"),
    "position_y": ("row of the bump's centre", "px"),
    "split": ("set of the position", ""),
    "mse": ("mean squared error per pixel, by position of the bump", "1"),
    "mse_train": ("mean squared error per pixel at training positions", "1"),
    "mse_val": ("mean squared error per pixel at ID validation positions", "1"),
    "mse_id": ("mean squared error per pixel at ID test positions", "1"),
    "mse_ood": ("mean squared error per pixel at held-out positions", "1"),
    "hit_train": ("share of peaks within 1 px, training positions", "1"),
    "hit_val": ("share of peaks within 1 px, ID validation positions", "1"),
    "hit_id": ("share of peaks within 1 px, ID test positions", "1"),
    "hit_ood": ("share of peaks within 1 px, held-out positions", "1"),
    "active_share": ("share of atoms with nonzero coefficients", "1"),
    "n_parameters": ("number of parameters", "1"),
    "zero_baseline_id": ("mean squared error of a zero image at ID test positions", "1"),
    "zero_baseline_ood": ("mean squared error of a zero image at held-out positions", "1"),
}


def pair(data: xr.Dataset, split: str, device: torch.device | str) -> Pair:
    """Codes (position, code) and images (position, y, x) of one split."""
    return as_pair(bumps.subset(data, split), device)


@cache
def plane(**config: Any) -> xr.Dataset:
    """All positions of a square grid with their codes and images (see `bumps.BumpConfig`)."""
    return bumps.make(bumps.BumpConfig(**config))


def coordinates(data: xr.Dataset) -> dict[str, tuple[str, np.ndarray]]:
    """Where the positions are and which set each is of, as coordinates of results."""
    names = ("position_x", "position_y", "split")
    return {name: ("position", data[name].values) for name in names}


def numbers(places: Sequence[Sequence[int]], grid: int) -> list[int]:
    """The positions (x, y) of a grid as they are counted in `plane`, row by row."""
    return [int(x + grid * y) for x, y in places]


def trained(data: xr.Dataset, device: torch.device | str, **settings: Any) -> nn.Module:
    """A decoder of the training positions, selected by the ID validation ones (see
    `train_decoder`).
    """
    train, validation = (pair(data, split, device) for split in ("train", "val"))
    return train_decoder(train, validation, **settings)


def followed(
    data: xr.Dataset,
    device: torch.device | str,
    *,
    steps: int,
    consolidation: int = 0,
    **settings: Any,
) -> tuple[nn.Module, xr.Dataset]:
    """The same, and its errors at ID validation and at held-out positions along both phases of
    training (see `curves.Watch.curves`).
    """
    length = {"steps": steps, "consolidation": consolidation}
    held_out = {"ood": pair(data, "ood", device)}
    watch = Watch(mean_squared_error, held_out, **length, evaluations=CHECKPOINTS)
    return trained(data, device, **length, watch=watch, **settings), watch.curves()


def watched(
    data: xr.Dataset,
    device: torch.device | str,
    *,
    steps: int,
    seed: int,
    draws: int | None = None,
    lr_floor: float = 1.0,
    **settings: Any,
) -> tuple[nn.Module, xr.Dataset]:
    """The same at a constant learning rate, as FR's public code has it, or at one that falls, and its
    errors along training. Vector Networks train as ever; the errors of theirs are NaN.

    Parameters
    ----------
    draws
        As many training samples are drawn with replacement, once, and an epoch runs over them; None
        for each sample once.
    lr_floor
        As of `train_decoder`: below 1 for networks that have to settle.

    Raises
    ------
    ValueError
        For `draws` below 1.
    """
    watch = Watch(
        mean_squared_error,
        {"ood": pair(data, "ood", device)},
        steps=steps,
        evaluations=CHECKPOINTS,
    )
    settings |= {"steps": steps, "seed": seed}
    if settings["family"] == "vn":
        return trained(data, device, **settings), watch.curves()
    train, validation = (pair(data, split, device) for split in ("train", "val"))
    if draws is not None:
        checks.number("draws", draws, low=1, integer=True)
        rows = torch.randint(len(train[0]), (draws,), generator=seeding.generator(seed, "draws"))
        train = train[0][rows.to(device)], train[1][rows.to(device)]
    model = train_decoder(train, validation, lr_floor=lr_floor, watch=watch, **settings)
    return model, watch.curves()


def unwatched() -> xr.Dataset:
    """The errors along training of what nobody trains: NaN."""
    return Watch(mean_squared_error, {"ood": ()}, steps=1, evaluations=CHECKPOINTS).curves()


def zero_baseline(data: xr.Dataset) -> dict[str, float]:
    """The error of a zero image at ID test positions and at held-out ones."""
    return {
        "zero_baseline_id": bumps.zero_mse(data, "id_test"),
        "zero_baseline_ood": bumps.zero_mse(data, "ood"),
    }


def lengths(model: Mapping[str, Any], scale: Mapping[str, float]) -> dict[str, int]:
    """How long a model trains, as `train_decoder` takes it.

    Parameters
    ----------
    model
        Its `family`, its `steps` and, where it has one, its `consolidation`.
    scale
        Share of these that the profile grants each family, and, if any, all `other` ones.
    """
    share = scale.get(model["family"], scale.get("other"))
    return {
        "steps": max(1, round(share * model["steps"])),
        "consolidation": round(share * model.get("consolidation", 0)),
    }


def training(
    model: Mapping[str, Any], lr: float, options: Mapping[str, Any], scale: Mapping[str, float]
) -> dict[str, Any]:
    """How a model trains, as `train_decoder` takes it and as the settings of its runs say.

    Parameters
    ----------
    scale
        As of `lengths`.
    """
    own = {name: model[name] for name in ("family", "batch_size")}
    return own | {"options": dict(options), "lr": lr} | lengths(model, scale)


def settings_watched(model: Mapping[str, Any], scale: Mapping[str, float]) -> dict[str, Any]:
    """How a model trains, as `watched` takes it: its section of a chapter's settings without what
    its family has no use for.

    Parameters
    ----------
    scale
        As of `lengths`.
    """
    names = ["family", "options", "lr", "batch_size"]
    length = lengths(model, scale)
    if model["family"] != "vn":
        names += ["draws", *({"lr_floor"} & set(model))]
        del length["consolidation"]
    return {name: model[name] for name in names} | length
