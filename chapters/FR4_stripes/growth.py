"""Trainings with a growing dose of bumps, in all readings of "the data needed" (FR Fig. 4c).

The paper leaves open whether the positions asked for lie in a held-out region, whether bumps stand
on pixels only, and which accuracy is meant: all are measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from jaxtyping import Int
from torch import nn

from benchmarks.spatial.decoders import Pair, train_decoder
from chapters.FR4_stripes.measure import draw, ink, shapes
from data_gen import bumps

REGIONS = ("corner", "none")  # what is held out
PLACES = ("pixels", "anywhere")  # where bumps may stand
KINDS = ("bumps", "stripes")  # bumps alone, or with all stripes
MEASURES = ("joint", "marginal", "drawn")
LARGEST = {"pixels": 0.65, "anywhere": 2.0}  # dose over the number of pixels
TESTED = 400  # positions, at most


class Sample(NamedTuple):
    """Rows of a data set."""

    train: Int[np.ndarray, " train"]
    val: Int[np.ndarray, " val"]
    test: Int[np.ndarray, " test"]


def doses(kind: str, place: str, *, side: int, count: int) -> list[int]:
    """Numbers of bumps in about equal ratios: from N/2 without stripes, from none and N/4 with
    them.
    """
    most = LARGEST[place] * side**2
    if kind == "bumps":
        return np.geomspace(side / 2, most, count).round().astype(int).tolist()
    return [0, *np.geomspace(side / 4, most, count - 1).round().astype(int).tolist()]


@cache
def pool(place: str, seed: int, *, side: int, sigma: float) -> xr.Dataset:
    """The positions to draw from: those of all pixels, or more than are needed anywhere between."""
    config = bumps.BumpConfig(
        grid=side, sigma=sigma, hold_out="corner", encoding="bump", polarity="dark", split_seed=seed
    )
    if place == "pixels":
        return bumps.make(config)
    return bumps.scattered(config, 4 * side**2 + 1000, seed=seed)


def sampled(data: xr.Dataset, region: str, dose: int, *, seed: int) -> Sample:
    """Rows to train on, a tenth of the others (100 at most) to select by, and rows to test on: of
    the hold-out, or of those never seen where nothing is held out.

    With one seed, a smaller dose is part of every larger one.
    """
    held_out = (data["split"].values == "ood") & (region == "corner")
    order = np.random.default_rng(seed).permutation(np.flatnonzero(~held_out))
    val, rest = np.split(order, [min(100, len(order) // 10)])
    if dose > len(rest):
        raise ValueError(f"dose must be at most the {len(rest)} positions there are, got {dose}")
    unseen = np.flatnonzero(held_out) if region == "corner" else rest[dose:]
    return Sample(rest[:dose], val, unseen[:TESTED])


def accuracies(model: nn.Module, data: xr.Dataset) -> dict[str, float]:
    """Shares of positions whose strongest pixel is within 1 px in x and in y ("joint"), in one of
    them (mean of both, "marginal"), in both and in an image more like a bump than a cross
    ("drawn").
    """
    x, y = data["position_x"].values, data["position_y"].values
    drawn = ink(draw(model, data["code"].values), data)
    row, column = np.unravel_index(drawn.reshape(len(drawn), -1).argmax(1), drawn.shape[1:])
    right_x, right_y = abs(column - x) <= 1, abs(row - y) <= 1
    like = shapes(drawn, x, y, sigma=_config(data).sigma)
    bump = like["like_bump"] >= like["like_cross"]
    both = right_x & right_y
    shares = (both, (right_x + right_y.astype(float)) / 2, both & bump)
    return {name: float(share.mean()) for name, share in zip(MEASURES, shares, strict=True)}


def report(
    device: torch.device,
    workdir: Path,
    *,
    side: int,
    sigma: float,
    count: int,
    seed: int,
    training: Mapping[str, Any],
) -> xr.Dataset:
    """One decoder per reading and dose.

    Returns
    -------
    xr.Dataset
        `dose_bumps` and `dose_items`, which counts the 2 `side` stripes too (places, kind, dose),
        and `accuracy` (region, places, kind, dose, measure).
    """
    shape = (len(REGIONS), len(PLACES), len(KINDS), count)
    found, number = np.full((*shape, len(MEASURES)), np.nan), np.zeros(shape[1:], int)
    for p, k in product(range(len(PLACES)), range(len(KINDS))):
        data = pool(PLACES[p], seed, side=side, sigma=sigma)
        lines = bumps.stripes(_config(data)) if KINDS[k] == "stripes" else None
        number[p, k] = doses(KINDS[k], PLACES[p], side=side, count=count)
        for (r, region), (n, dose) in product(enumerate(REGIONS), enumerate(number[p, k])):
            rows = sampled(data, region, dose, seed=seed)
            model = _trained(data, lines, rows, device, workdir / f"{r}{p}{k}{n}", seed, training)
            right = accuracies(model, data.isel(position=rows.test))
            found[r, p, k, n] = [right[name] for name in MEASURES]
    items = number + np.array([0, 2 * side])[:, None]
    where, each = ("places", "kind", "dose"), ("region", "places", "kind", "dose", "measure")
    return xr.Dataset(
        {"dose_bumps": (where, number), "dose_items": (where, items), "accuracy": (each, found)},
        {
            "region": list(REGIONS),
            "places": list(PLACES),
            "kind": list(KINDS),
            "measure": list(MEASURES),
        },
    )


def _config(data: xr.Dataset) -> bumps.BumpConfig:
    return bumps.BumpConfig(**json.loads(data.attrs["config"]))


def _trained(
    data: xr.Dataset,
    lines: xr.Dataset | None,
    rows: Sample,
    device: torch.device,
    workdir: Path,
    seed: int,
    training: Mapping[str, Any],
) -> nn.Module:
    """A decoder of some bumps and, if any, stripes; selected by bumps, or by the stripes that are
    all it knows.
    """

    def pair(*parts: xr.Dataset) -> Pair:
        codes, images = (
            np.concatenate([one[n].values for one in parts]) for n in ("code", "image")
        )
        return torch.from_numpy(codes).to(device), torch.from_numpy(images).to(device)

    eaten = [data.isel(position=rows.train), *([] if lines is None else [lines])]
    train = pair(*eaten)
    held = pair(data.isel(position=rows.val)) if len(rows.train) else train
    return train_decoder(train, held, seed=seed, workdir=workdir, **training)
