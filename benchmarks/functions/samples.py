"""Signals by set, and what of them is observed, as tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import torch
import xarray as xr
from jaxtyping import Shaped
from torch import Tensor

from data_gen import signals

BySet = Mapping[str, Shaped[Tensor, "signal time"]]
Seen = Mapping[str, BySet]


@cache
def dataset(**sizes: int) -> xr.Dataset:
    """The signals of all sets."""
    return signals.make(signals.SignalConfig(**sizes))


def by_set(
    data: xr.Dataset, n: int | None = None, *, device: torch.device | str = "cpu"
) -> dict[str, Tensor]:
    """The signals (signal, time) of every set: all of "train", the first n (None: all) of the
    others.
    """
    value, where = data["value"].values, data["set"].values
    return {
        name: torch.from_numpy(value[where == name][: None if name == "train" else n]).to(device)
        for name in signals.SETS
    }


def observed(x: BySet, masks: Iterable[str], seeds: Mapping[str, int]) -> dict[str, dict]:
    """What is observed under each mask of the sets that have a seed, bool (signal, time)."""
    return {
        mask: {
            name: torch.from_numpy(signals.observed(mask, *x[name].shape, seed=seed)).to(
                x[name].device
            )
            for name, seed in seeds.items()
        }
        for mask in masks
    }
