"""What decoders of the stripe study are trained on: stripes, bumps, and how many of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from vnlib import seeding


@dataclass(frozen=True)
class Diet:
    """What a decoder is trained on: all stripes or none, and how many bumps of the ID region."""

    stripes: bool
    bumps: int


def diet(name: str, *, side: int, available: int) -> Diet:
    """The diet of a name such as "stripes+50", "bumps+all" or "stripes+2N", where N is the image
    side.

    At most `available` bumps.

    Raises
    ------
    ValueError
        For another form, and for a diet of nothing.
    """
    found = re.fullmatch(r"(stripes|bumps)\+(?:(all)|(\d+(?:\.\d+)?)(N?))", name)
    if not found:
        raise ValueError(
            f"diet must be 'stripes+n' or 'bumps+n' with n a number, xN or 'all', got {name!r}"
        )
    kind, everything, number, times = found.groups()
    count = available if everything else round(float(number) * (side if times else 1))
    if kind == "bumps" and not count:
        raise ValueError(f"diet must hold something to train on, got {name!r}")
    return Diet(kind == "stripes", min(count, available))


def training_set(
    data: xr.Dataset, lines: xr.Dataset, eaten: Diet, *, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Codes and images of a diet: bumps drawn by chance from the split "train", then the stripes.

    With one seed, a smaller number of bumps is part of every larger one.
    """
    train = np.flatnonzero(data["split"].values == "train")
    order = torch.randperm(len(train), generator=seeding.generator(seed, "bumps")).numpy()
    rows = train[order[: eaten.bumps]]
    parts = [(data["code"].values[rows], data["image"].values[rows])]
    if eaten.stripes:
        parts.append((lines["code"].values, lines["image"].values))
    codes, images = zip(*parts, strict=True)
    return np.concatenate(codes), np.concatenate(images)


def with_constant(data: xr.Dataset, value: float) -> xr.Dataset:
    """Data with a constant entry at the end of each half of a code, so that no half is ever empty;
    0 leaves them alone.
    """
    if not value:
        return data
    x, y = np.split(data["code"].values, 2, axis=1)
    constant = np.full((len(x), 1), value, x.dtype)
    codes = np.concatenate([x, constant, y, constant], axis=1)
    return data.drop_dims("code").assign(code=(data["code"].dims, codes))
