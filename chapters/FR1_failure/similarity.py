"""How similar the drawn images of two positions are, and which kernel of the positions that follows
(FR Sec. 3.3, F.1).

FR compares similarity matrices with the binary factorised kernel G = (delta_xx' + delta_yy') / 2.
Off the diagonal a kernel of *either* coordinate and one of *both* differ in kind: true bumps of
width s have the cosine k(x - x') k(y - y') with k(d) = exp(-d^2 / 4 s^2), superpositions of bumps
in the same row or column something like k(x - x') + k(y - y'). Which of the two explains a matrix
better is a score that can fall either way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from chapters.FR1_failure.superposition import Images, ink, memorised
from vnlib import checks

METRICS = ("cosine", "l2", "overlap")
KERNELS = ("binary", "sum", "product")
Matrix = Float[np.ndarray, "n n"]
Axis = Int[np.ndarray, " n"]


def similarity(drawn: Images, *, metric: str, threshold: float = 0.7) -> Matrix:
    """Similarity of all pairs of images, from their ink.

    An image without ink has the cosine 0 with all.

    Parameters
    ----------
    metric
        "cosine"; "l2", minus the distance; or "overlap", the share of pixels where both have more
        ink than `threshold`, which is FR's "both below 0.3" on dark bumps.
    """
    checks.choice("metric", metric, METRICS)
    flat = drawn.reshape(len(drawn), -1)
    if metric == "overlap":
        dark = (flat > threshold).astype(np.float64)
        return dark @ dark.T / flat.shape[1]
    if metric == "cosine":
        unit = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
        return unit @ unit.T
    square = (flat**2).sum(1)
    return -np.sqrt(np.maximum(square[:, None] + square - 2 * flat @ flat.T, 0))


def kernels(x: Axis, y: Axis, *, width: float) -> dict[str, Matrix]:
    """FR's binary kernel (Eqs. 3, 4), and the sum and the product of two Gaussians exp(-d^2 / 4
    width^2).
    """
    near_x, near_y = (np.exp(-((v[:, None] - v) ** 2) / (4 * width**2)) for v in (x, y))
    binary = ((x[:, None] == x).astype(float) + (y[:, None] == y)) / 2
    return {"binary": binary, "sum": near_x + near_y, "product": near_x * near_y}


def pairs(matrix: Matrix) -> Float[np.ndarray, " pairs"]:
    """The entries above the diagonal."""
    return matrix[np.triu_indices(len(matrix), 1)]


def r_squared(
    values: Float[np.ndarray, "m pairs"], features: Float[np.ndarray, "k pairs"]
) -> Float[np.ndarray, "m k"]:
    """Share of the variance of each row of `values` that an affine function of each feature
    explains.

    With one feature that is the squared correlation. NaN for values or features that do not vary.
    """

    def unit(rows: np.ndarray) -> np.ndarray:
        away = rows - rows.mean(1, keepdims=True)
        size = np.linalg.norm(away, axis=1, keepdims=True)
        return away / np.where(
            size > 1e-10 * np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True)), size, np.nan
        )

    return (unit(values) @ unit(features).T) ** 2


def by_displacement(matrix: Matrix, x: Axis, y: Axis, *, reach: int) -> Float[np.ndarray, "dy dx"]:
    """Mean similarity of two different positions that are `|dx|` columns and `|dy|` rows apart, up
    to `reach`.

    NaN at (0, 0), and where no pair is that far apart. A product kernel looks like a blob here, a
    sum like a cross.
    """
    dx, dy = pairs(abs(x[:, None] - x)), pairs(abs(y[:, None] - y))
    near = (dx <= reach) & (dy <= reach)
    cell = dy[near] * (reach + 1) + dx[near]
    size = (reach + 1) ** 2
    count, total = (
        np.bincount(cell, minlength=size),
        np.bincount(cell, pairs(matrix)[near], minlength=size),
    )
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(reach + 1, reach + 1)


def weights(
    values: Float[np.ndarray, " pairs"], features: Float[np.ndarray, "k pairs"]
) -> Float[np.ndarray, " k"]:
    """Least-squares weights of the features, fitted together with a constant."""
    design = np.concatenate([np.ones((1, len(values))), features])
    return np.linalg.solve(design @ design.T, design @ values)[1:]


def similarity_report(
    drawn: Images,
    data: xr.Dataset,
    *,
    polarity: str,
    sigma: float,
    widths: Sequence[float],
    reach: int,
    every: int,
    show: bool,
) -> xr.Dataset:
    """Which kernel the similarities of drawn images follow, over pairs of ID and of OOD positions
    (`pairs`).

    `kernel_r2` (source, pairs, metric, kernel, width) for three sources: the model, the true bumps,
    and the sum of true bumps at training positions of the same row or column, which is what a pure
    superposition would draw. `kernel_weight` (source, pairs, part) for the cosine; `white_cosine`,
    the smallest cosine of the model's raw images on a white ground, ink not taken. With `show`, else
    NaN: `displacement` (source, pairs, dy, dx), the mean cosine by displacement, and all three
    similarities of every `every`-th row and column as `matrix` (shown_metric, one, other), ID
    positions first.

    Parameters
    ----------
    sigma
        Width of the bump [px].
    widths
        Of the smooth kernels, in units of sigma, the first being the bump's own.
    """
    true, split = ink(data["image"].values, polarity=polarity), data["split"].values
    x, y, ood = data["position_x"].values, data["position_y"].values, split == "ood"
    superposed = memorised(true, x, y, split == "train")
    sources = {"model": drawn, "bumps": true, "superposed bumps": superposed}
    groups = {"id": ~ood, "ood": ood}
    r2 = np.full((len(sources), 2, len(METRICS), len(KERNELS), len(widths)), np.nan)
    weight = np.full((len(sources), 2, 2), np.nan)
    apart = np.full((len(sources), 2, reach + 1, reach + 1), np.nan, np.float32)
    for j, inside in enumerate(groups.values()):
        place = (x[inside], y[inside])
        by_width = [kernels(*place, width=sigma * w) for w in widths]
        features = np.stack([pairs(k[name]) for name in KERNELS for k in by_width])
        smooth = np.stack([pairs(by_width[0][name]) for name in ("sum", "product")])
        for i, images in enumerate(sources.values()):
            found = [similarity(images[inside], metric=metric) for metric in METRICS]
            values = np.stack([pairs(matrix) for matrix in found])
            r2[i, j] = r_squared(values, features).reshape(len(METRICS), len(KERNELS), len(widths))
            weight[i, j] = weights(values[0], smooth)
            if show:
                apart[i, j] = by_displacement(found[0], *place, reach=reach)
    lattice = np.flatnonzero((x % every == 0) & (y % every == 0))
    lattice = lattice[np.lexsort((y[lattice], x[lattice], ood[lattice]))]
    few = (
        np.stack([similarity(drawn[lattice], metric=metric) for metric in METRICS])
        .round(3)
        .astype(np.float32)
    )
    dims = ("source", "pairs", "metric", "kernel", "width")
    return xr.Dataset(
        {
            "kernel_r2": (dims, r2),
            "kernel_weight": (("source", "pairs", "part"), weight),
            "displacement": (("source", "pairs", "dy", "dx"), apart.round(3)),
            "white_cosine": ((), pairs(similarity(1 - drawn, metric="cosine")).min()),
            "ink_pixels": ((), (drawn[ood].max((1, 2)) > 0.7).mean()),
            "matrix_position": ("one", lattice),
            "matrix": (
                ("shown_metric", "one", "other"),
                few if show else np.full_like(few, np.nan),
            ),
        },
        {
            "source": list(sources),
            "pairs": list(groups),
            "metric": list(METRICS),
            "kernel": list(KERNELS),
            "width": list(widths),
            "part": ["sum", "product"],
            "shown_metric": list(METRICS),
        },
    )
