"""Spatial decoding beyond the error at held-out positions (VN App. F): streams of a product, and
two bumps at once.

Data sets are those of `benchmarks.spatial.report.decoder_report`: code (position, code), image (position, y,
x), position_x, position_y and split (position).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor, nn

from benchmarks.spatial.report import decoder_report
from vnlib import evaluate, seeding


def report(
    model: nn.Module, data: xr.Dataset, *, maps: bool = False, shown: int | None = None
) -> xr.Dataset:
    """Errors and peaks per split as in `decoder_report`; for products of several streams
    also `streams`.

    Parameters
    ----------
    maps
        Keep the error at every position, too, `mse` (position), and which of them are `held_out`.
    shown
        A position whose `sample_image` and `sample_target` (y, x) are kept.
    """
    found = decoder_report(model, data, samples=[shown or 0]).isel(sample=0, drop=True)
    if getattr(model, "rank", 1) > 1:
        device = next(model.parameters()).device
        found = found.assign(
            streams(*model.streams(torch.from_numpy(data["code"].values).to(device)))
        )
    errors, image = found["mse"].astype(np.float32), found["sample_image"]
    found = found.drop_vars(["mse", "sample_image"])
    if maps:
        held_out = (data["split"].values == "ood").astype(np.float32)
        found = found.assign(mse=errors, held_out=("position", held_out))
    if shown is not None:
        found = found.assign(
            sample_image=image, sample_target=(("y", "x"), data["image"].values[shown])
        )
    return found


@torch.no_grad()
def streams(
    rows: Float[Tensor, "batch rank height"], columns: Float[Tensor, "batch rank width"]
) -> dict[str, xr.DataArray]:
    """How far the R streams of a product readout are copies of each other.

    Stream r draws the image rows_r columns_r'. `stream_similarity`: `|cosine|` between the images
    of two streams, mean over inputs and pairs; `stream_similarity_x` and `_y`: the same of their
    profiles. An image of rank 1 needs copies in one of the two only. `stream_share`: energy of the
    weakest stream's image over that of the strongest, mean over inputs.

    Raises
    ------
    ValueError
        For a single stream.
    """
    rank = rows.shape[1]
    if rank < 2:
        raise ValueError(f"rows must hold at least 2 streams to compare, got {rank}")
    pairs = list(combinations(range(rank), 2))
    along_y, along_x = (
        torch.stack([torch.cosine_similarity(p[:, r], p[:, s]).abs() for r, s in pairs])
        for p in (rows, columns)
    )
    energy = rows.square().sum(2) * columns.square().sum(2)
    values = {
        "stream_similarity": along_y * along_x,
        "stream_similarity_x": along_x,
        "stream_similarity_y": along_y,
        "stream_share": energy.amin(1) / energy.amax(1).clamp_min(1e-30),
    }
    return {name: xr.DataArray(float(v.mean())) for name, v in values.items()}


# --- two bumps at once ---


def distant_pairs(
    data: xr.Dataset, n: int, *, distance: float, seed: int
) -> Int[np.ndarray, "n 2"]:
    """Pairs of training positions at least `distance` px apart on both axes.

    Apart on both axes, each of the two bumps and of the crossings (x1, y2), (x2, y1) stands alone.

    Raises
    ------
    ValueError
        If the data set has fewer than `n` such pairs.
    """
    inside = np.flatnonzero(data["split"].values == "train")
    x, y = (data[name].values[inside] for name in ("position_x", "position_y"))
    far = np.triu((np.abs(x[:, None] - x) >= distance) & (np.abs(y[:, None] - y) >= distance))
    candidates = np.argwhere(far)
    if len(candidates) < n:
        raise ValueError(
            f"n must be at most {len(candidates)}, the pairs {distance:g} px apart, got {n}"
        )
    order = torch.randperm(len(candidates), generator=seeding.generator(seed, "pairs")).numpy()
    return inside[candidates[order[:n]]]


def two_bumps(model: nn.Module, data: xr.Dataset, pairs: Int[np.ndarray, "pair 2"]) -> xr.Dataset:
    """What a model draws for the sum of two codes, against the sum of the two images.

    `two_mse`: error of that; `two_single_mse`: error of the same bumps drawn one at a time and
    added; `two_additivity`: `|f(c1 + c2) - f(c1) - f(c2)|^2` over `|f(c1) + f(c2)|^2`, which is 0
    for a model that superposes; `two_real` and `two_ghost`: brightness at the two bumps and at the
    crossings (x1, y2), (x2, y1), medians over pairs; `two_zero_baseline`: error of a zero image.
    `two_image` and `two_target` (y, x): the first pair.
    """
    device = next(model.parameters()).device
    code, image = data["code"].values, data["image"].values
    first, second = pairs.T

    def drawn(codes: np.ndarray) -> np.ndarray:
        return (
            evaluate.predict(model, torch.from_numpy(codes).to(device))
            .cpu()
            .numpy()
            .astype(np.float64)
        )

    both, alone = drawn(code[first] + code[second]), drawn(code[first]) + drawn(code[second])
    target = image[first] + image[second]
    x, y = (np.rint(data[f"position_{axis}"].values[pairs]).astype(int) for axis in "xy")
    row = np.arange(len(pairs))[:, None]
    values = {
        "two_mse": np.square(both - target).mean(),
        "two_single_mse": np.square(alone - target).mean(),
        "two_additivity": np.square(both - alone).sum() / np.square(alone).sum(),
        "two_real": np.median(both[row, y, x]),
        "two_ghost": np.median(both[row, y[:, ::-1], x]),
        "two_zero_baseline": np.square(target, dtype=np.float64).mean(),
    }
    found = xr.Dataset({name: ((), float(value)) for name, value in values.items()})
    for name, one in (("two_image", both), ("two_target", target)):
        found[name] = (("y", "x"), one[0].astype(np.float32))
    return found
