"""What decoders learn from stripes, with and without bumps (FR Sec. 4.2, App. E and F.4).

Data sets are those of the bump benchmark: `data` has code (position, code), image (position, y, x),
position_x, position_y and split (position); `lines` has code and image (stripe, ...). *Ink* is how
far a pixel is away from the background, towards the bump: bright on 0 or dark on 1, the same
measures serve both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Real
from torch import Tensor, nn

from benchmarks.spatial.decoders import train_decoder
from chapters.FR4_stripes.scaling import needs
from chapters.FR4_stripes.tuning import layer_report
from vnlib import checks, evaluate, metrics, seeding

SETS = (("train", "train"), ("val", "val"), ("id", "id_test"), ("ood", "ood"))


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


def with_constant(codes: Real[np.ndarray, "n code"], value: float) -> Real[np.ndarray, "n code+2"]:
    """Codes with a constant entry at the end of each half, so that no half is ever empty; 0 leaves
    them alone.
    """
    if not value:
        return codes
    x, y = np.split(codes, 2, axis=1)
    constant = np.full((len(codes), 1), value, codes.dtype)
    return np.concatenate([x, constant, y, constant], axis=1)


def ink(images: Real[np.ndarray, "n y x"], data: xr.Dataset) -> Real[np.ndarray, "n y x"]:
    """How far pixels are from the background of the images of `data`, in the direction of its
    bumps.
    """
    return 1 - images if json.loads(data.attrs["config"])["polarity"] == "dark" else images


def shapes(
    drawn: Float[np.ndarray, "n y x"],
    x: Real[np.ndarray, " n"],
    y: Real[np.ndarray, " n"],
    *,
    sigma: float,
) -> dict[str, Float[np.ndarray, " n"]]:
    """Cross or bump?

    Ink at positions (x, y) [px] against the stripes s_x, s_y of width `sigma` and their product.

    line, product: weights of (s_x, s_y; their mean) and of s_x s_y in the least-squares fit with a
    constant; the additive cross s_x + s_y has (1, 0), the bump (0, 1). like_cross, like_bump:
    correlation with these two images; 0 for an image without contrast. cross_mse: mean squared
    error against the additive cross.
    """
    height, width = drawn.shape[1:]
    column, row = (
        np.exp(-0.5 * ((np.arange(n) - np.asarray(at, float)[:, None]) / sigma) ** 2)
        for n, at in ((width, x), (height, y))
    )
    bump = row[:, :, None] * column[:, None, :]
    lines = [np.broadcast_to(part, bump.shape) for part in (column[:, None, :], row[:, :, None])]
    design = np.stack([np.ones_like(bump), *lines, bump], 1).reshape(len(bump), 4, -1)
    flat = drawn.reshape(len(drawn), -1).astype(float)
    # Normal equations: four well-separated regressors, and one solve for all images.
    weight = np.linalg.solve(design @ design.swapaxes(1, 2), design @ flat[:, :, None])[..., 0]
    cross = design[:, 1] + design[:, 2]
    return {
        "line": weight[:, 1:3].mean(1),
        "product": weight[:, 3],
        "like_cross": _correlation(flat, cross),
        "like_bump": _correlation(flat, design[:, 3]),
        "cross_mse": ((flat - cross) ** 2).mean(1),
    }


def _correlation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of each row of `a` with the same row of `b`; 0 where a row of `a` does not vary."""
    a, b = (v - v.mean(1, keepdims=True) for v in (a, b))
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.where(norms > 1e-12, (a * b).sum(1) / np.maximum(norms, 1e-12), 0.0)


def drawing_report(
    model: nn.Module, data: xr.Dataset, lines: xr.Dataset, *, constant: float
) -> xr.Dataset:
    """How a decoder draws bumps everywhere and stripes.

    Per set (train, val, id, ood): mse; hit, the *joint* accuracy: the strongest pixel is within 1
    px in x and in y; bump_hit, the share that hits and is more like a bump than like a cross. For
    ood: marginal accuracy hit_x and hit_y, and the means of `shapes`, with `cross_share` the share
    that is more like a cross. stripe_mse.
    """
    device = next(model.parameters()).device

    def draw(of: xr.Dataset) -> np.ndarray:
        codes = torch.from_numpy(with_constant(of["code"].values, constant)).to(device)
        return evaluate.predict(model, codes).cpu().numpy()

    images = draw(data)
    x, y, split = data["position_x"].values, data["position_y"].values, data["split"].values
    error = ((images.astype(np.float64) - data["image"].values) ** 2).mean((1, 2))
    drawn = ink(images, data)
    hit = metrics.peak_distance(drawn, x, y) <= 1
    found = shapes(drawn, x, y, sigma=json.loads(data.attrs["config"])["sigma"])
    crossed = found["like_cross"] > found["like_bump"]
    values: dict[str, float] = {
        "stripe_mse": float(((draw(lines) - lines["image"].values) ** 2).mean())
    }
    for name, split_name in SETS:
        inside = split == split_name
        values |= {
            f"mse_{name}": error[inside].mean(),
            f"hit_{name}": hit[inside].mean(),
            f"bump_hit_{name}": (hit & ~crossed)[inside].mean(),
        }
    ood = split == "ood"
    flat = drawn.reshape(len(drawn), -1).argmax(1)
    row, column = np.unravel_index(flat, drawn.shape[1:])
    values |= {f"{name}_ood": value[ood].mean() for name, value in found.items()}
    values |= {
        "cross_share_ood": crossed[ood].mean(),
        "hit_x_ood": (abs(column - x) <= 1)[ood].mean(),
        "hit_y_ood": (abs(row - y) <= 1)[ood].mean(),
    }
    return xr.Dataset({name: ((), float(value), {"units": "1"}) for name, value in values.items()})


def pictures(
    model: nn.Module,
    data: xr.Dataset,
    lines: xr.Dataset,
    *,
    constant: float,
    samples: Sequence[Sequence[int]],
) -> xr.Dataset:
    """What a decoder draws at the bump positions `samples` (x, y) [px], as `picture` (sample, v,
    u).
    """
    x, y = data["position_x"].values, data["position_y"].values
    rows = [int(np.flatnonzero((x == a) & (y == b))[0]) for a, b in samples]
    device = next(model.parameters()).device
    codes = torch.from_numpy(with_constant(data["code"].values[rows], constant)).to(device)
    drawn = evaluate.predict(model, codes).cpu().numpy()
    names = [f"{a}, {b}" for a, b in samples]
    return xr.Dataset(
        {"picture": (("sample", "v", "u"), coarse(drawn), {"units": "1"})}, {"sample": names}
    )


def coarse(values: np.ndarray, step: float = 1 / 256) -> np.ndarray:
    """Values on a grid of `step`, which files keep in a third of the space; for pictures only."""
    return (np.round(values / step) * step).astype(np.float32)


def study(
    data: xr.Dataset,
    lines: xr.Dataset,
    *,
    diets: Sequence[str],
    training: Mapping[str, Any],
    constant: float,
    samples: Sequence[Sequence[int]],
    layers_of: Sequence[str],
    units_shown: int,
    targets: Sequence[float],
    seed: int,
    workdir: Path,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """One decoder per diet, with all that is measured of it: `drawing_report` (diet), and how much
    data it needs.

    The validation set are the held-out bumps of the ID region; without any bump in the diet there
    are only the stripes themselves.

    Parameters
    ----------
    training
        Family, options, lr, steps, batch_size, consolidation of `train_decoder`.
    samples
        Positions whose pictures are kept, may be empty.
    layers_of
        Diets for which `layer_report` looks into the network (one with ReLU layers).
    units_shown
        Neurons per layer whose maps are kept.
    targets
        Accuracies that `needs` asks for.
    """
    checks.number("constant", constant, low=0)
    side = data.sizes["y"]
    available = int((data["split"] == "train").sum())
    found = []
    for name in diets:
        eaten = diet(name, side=side, available=available)
        codes, images = training_set(data, lines, eaten, seed=seed)
        train = _tensors(with_constant(codes, constant), images, device)
        held = data.isel(position=np.flatnonzero(data["split"].values == "val"))
        held = _tensors(with_constant(held["code"].values, constant), held["image"].values, device)
        model = train_decoder(
            train, held if eaten.bumps else train, seed=seed, workdir=workdir / name, **training
        )
        parts = [drawing_report(model, data, lines, constant=constant)]
        parts.append(
            xr.Dataset({"bumps": eaten.bumps, "items": len(codes), "stripes": int(eaten.stripes)})
        )
        if samples:
            parts.append(pictures(model, data, lines, constant=constant, samples=samples))
        if name in layers_of:
            grid = torch.from_numpy(with_constant(data["code"].values, constant)).to(device)
            ood = (data["split"].values == "ood").reshape(side, side)
            parts.append(layer_report(model, grid, ood, units_shown=units_shown))
        found.append(xr.merge(parts).expand_dims(diet=[name]))
    whole = xr.merge(found, join="outer", compat="no_conflicts").reindex(diet=list(diets))
    return xr.merge([whole, needs(whole, targets=targets)])


def _tensors(
    codes: np.ndarray, images: np.ndarray, device: torch.device | str
) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(codes).to(device), torch.from_numpy(images).to(device)
