"""What decoders learn from stripes, with and without bumps (FR Sec. 4.2, App. E and F.4).

Data sets are those of the bump benchmark: `data` has code (position, code), image (position, y, x),
position_x, position_y and split (position); `lines` has code and image (stripe, ...). *Ink* is how
far a pixel is away from the background, towards the bump: bright on 0 or dark on 1, the same
measures serve both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Real
from torch import nn

from benchmarks.spatial.report import peak_distance
from vnlib import evaluate

SETS = (("train", "train"), ("val", "val"), ("id", "id_test"), ("ood", "ood"))


def ink(images: Real[np.ndarray, "n y x"], data: xr.Dataset) -> Real[np.ndarray, "n y x"]:
    """How far pixels are from the background of the images of `data`, in the direction of its
    bumps.
    """
    return 1 - images if json.loads(data.attrs["config"])["polarity"] == "dark" else images


def draw(model: nn.Module, codes: Real[np.ndarray, "n code"]) -> Float[np.ndarray, "n y x"]:
    """The images that a decoder makes of codes."""
    device = next(model.parameters()).device
    return evaluate.predict(model, torch.from_numpy(codes).to(device)).cpu().numpy()


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


def drawing_report(model: nn.Module, data: xr.Dataset, lines: xr.Dataset) -> xr.Dataset:
    """How a decoder draws bumps everywhere and stripes.

    Per set (train, val, id, ood): mse; hit, the *joint* accuracy: the strongest pixel is within 1
    px in x and in y; bump_hit, the share that hits and is more like a bump than like a cross. For
    ood: marginal accuracy hit_x and hit_y, and the means of `shapes`, with `cross_share` the share
    that is more like a cross. stripe_mse.
    """
    images = draw(model, data["code"].values)
    x, y, split = data["position_x"].values, data["position_y"].values, data["split"].values
    error = ((images.astype(np.float64) - data["image"].values) ** 2).mean((1, 2))
    drawn = ink(images, data)
    hit = peak_distance(drawn, x, y) <= 1
    found = shapes(drawn, x, y, sigma=json.loads(data.attrs["config"])["sigma"])
    crossed = found["like_cross"] > found["like_bump"]
    values: dict[str, float] = {
        "stripe_mse": float(
            ((draw(model, lines["code"].values) - lines["image"].values) ** 2).mean()
        )
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
    return xr.Dataset({name: ((), float(value)) for name, value in values.items()})


def pictures(model: nn.Module, data: xr.Dataset, *, samples: Sequence[Sequence[int]]) -> xr.Dataset:
    """What a decoder draws at the bump positions `samples` (x, y) [px], as `picture` (sample, v,
    u).
    """
    x, y = data["position_x"].values, data["position_y"].values
    rows = [int(np.flatnonzero((x == a) & (y == b))[0]) for a, b in samples]
    drawn = draw(model, data["code"].values[rows])
    names = [f"{a}, {b}" for a, b in samples]
    return xr.Dataset({"picture": (("sample", "v", "u"), coarse(drawn))}, {"sample": names})


def coarse(values: np.ndarray, step: float = 1 / 256) -> np.ndarray:
    """Values on a grid of `step`, which files keep in a third of the space; for pictures only."""
    return (np.round(values / step) * step).astype(np.float32)
