"""What a decoder draws at positions it never saw: one bump, or a superposition of bumps it did see
(FR Sec. 3.3).

Everything is measured on *ink*, what stands out from the background: 1 - image for dark bumps, the
image itself for bright ones. Data sets have `code` (position, code), `image` (position, y, x),
`position_x`, `position_y` and `split`.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float, Int
from scipy.ndimage import distance_transform_cdt, maximum_filter
from torch import Tensor, nn

from benchmarks.spatial.report import peak_distance
from benchmarks.spatial.ssim import ssim
from vnlib import checks, seeding
from vnlib.evaluate import predict

WHERE = {"train": "train", "id": "id_test", "ood": "ood"}
TESTS = ("averaged", "memorised")
FAILED = 0.5  # share of the zero baseline's error in distribution above which nothing was learned
Images = Float[np.ndarray, "positions y x"]


def ink(images: Images, *, polarity: str) -> Images:
    """What stands out from the background, in float64: 0 where nothing is drawn, 1 at the centre of
    a bump.
    """
    checks.choice("polarity", polarity, ("bright", "dark"))
    images = np.asarray(images, dtype=np.float64)
    return 1 - images if polarity == "dark" else images


def outputs(model: nn.Module, code: Float[Tensor, "positions code"], *, polarity: str) -> Images:
    """The ink that a model draws for each code."""
    device = next(model.parameters(), code).device  # an outer product has no parameters
    return ink(predict(model, code.to(device)).cpu().numpy(), polarity=polarity)


# --- what is drawn ---


def local_maxima(
    drawn: Images, *, floor: float = 0.05, share: float = 0.25
) -> Int[np.ndarray, " positions"]:
    """Bumps per image: pixels that top their 3 x 3 neighbourhood, `floor`, and `share` of the
    image's largest.
    """
    height = np.maximum(floor, share * drawn.max((1, 2)))
    top = maximum_filter(drawn, size=(1, 3, 3), mode="constant", cval=-np.inf)
    return ((drawn == top) & (drawn > height[:, None, None])).sum((1, 2))


def mass_shares(
    drawn: Images, x: Int[np.ndarray, " positions"], y: Int[np.ndarray, " positions"], *, reach: int
) -> dict[str, Float[np.ndarray, " positions"]]:
    """Share of the ink within `reach` px of row y, of column x, of either (`cross`) and of both
    (`place`).

    Negative ink counts as none; an image without ink has no shares (NaN).
    """
    mass = drawn.clip(0)
    near_row = abs(np.arange(drawn.shape[1]) - y[:, None]) <= reach
    near_column = abs(np.arange(drawn.shape[2]) - x[:, None]) <= reach
    total = mass.sum((1, 2))
    total = np.where(total > 0, total, np.nan)
    row = np.einsum("pij,pi->p", mass, near_row) / total
    column = np.einsum("pij,pj->p", mass, near_column) / total
    place = np.einsum("pij,pi,pj->p", mass, near_row, near_column) / total
    return {"row": row, "column": column, "cross": row + column - place, "place": place}


def elsewhere(n: int, *, seed: int) -> Int[np.ndarray, " n"]:
    """For each of n positions another one, by chance; none is its own."""
    order = torch.randperm(n, generator=seeding.generator(seed, "elsewhere")).numpy()
    other = np.empty(n, dtype=int)
    other[order] = np.roll(order, 1)
    return other


def drawn_report(
    drawn: Images, data: xr.Dataset, *, polarity: str, reach: int, seed: int
) -> xr.Dataset:
    """How good and how many the bumps are, over training, held-out ID and OOD positions (`where`).

    `mse` and `edge_distance` (position); `error` and `zero_baseline` (where), the mean squared
    error of the model and of an empty image; `ssim` and `zero_ssim`, the mean structural similarity
    of the same two; medians of `mass_shares` as `share_row` ...; `chance_row`, `chance_column` for
    rows and columns of other positions of the same set; `maxima` (mean count), `several` (share of
    images with two or more), `height` (median of the largest ink), `hit` (share of largest ink
    within one pixel). `failed`: the ID error is above half of an empty image's.
    """
    true, x, y = (
        ink(data["image"].values, polarity=polarity),
        data["position_x"].values,
        data["position_y"].values,
    )
    error, count = ((drawn - true) ** 2).mean((1, 2)), local_maxima(drawn)
    raw = [ink(images, polarity=polarity) for images in (drawn, true, np.zeros_like(true))]
    alike, blank = ssim(raw[0], raw[1]), ssim(raw[2], raw[1])
    rows = []
    for split in WHERE.values():
        inside = np.flatnonzero(data["split"].values == split)
        some, sx, sy = drawn[inside], x[inside], y[inside]
        other = elsewhere(len(inside), seed=seed)
        shares, chance = (
            mass_shares(some, *place, reach=reach) for place in ((sx, sy), (sx[other], sy[other]))
        )
        rows.append(
            {
                "error": error[inside].mean(),
                "zero_baseline": (true[inside] ** 2).mean(),
                "ssim": alike[inside].mean(),
                "zero_ssim": blank[inside].mean(),
                "maxima": count[inside].mean(),
                "several": (count[inside] >= 2).mean(),
                "height": np.median(some.max((1, 2))),
                "hit": (peak_distance(some, sx, sy) <= 1).mean(),
                **{f"share_{name}": np.nanmedian(value) for name, value in shares.items()},
                **{
                    f"chance_{name}": np.nanmedian(chance[name])
                    for name in ("row", "column", "cross")
                },
            }
        )
    report = xr.Dataset({n: ("where", [row[n] for row in rows]) for n in rows[0]})
    report["mse"] = ("position", error.astype(np.float32))
    report["edge_distance"] = ("position", edge_distance(data["split"].values == "ood"))
    report = report.assign_coords(where=list(WHERE))
    over_zero = (report["error"] / report["zero_baseline"]).sel(where="id", drop=True)
    return report.assign(failed=(over_zero > FAILED).astype(np.int8))


def edge_distance(held_out: Bool[np.ndarray, " positions"]) -> Int[np.ndarray, " positions"]:
    """How deep in a hold-out each position of a square grid lies: rows or columns, whichever are more, to
    the nearest one outside [px]; outside the hold-out the same to the nearest one inside, negative.
    """
    plane = held_out.reshape((math.isqrt(len(held_out)),) * 2)
    deep, away = (distance_transform_cdt(p, metric="chessboard") for p in (plane, ~plane))
    return (deep - away).ravel().astype(np.int8)


# --- is it the sum of what was seen? ---


def averaged(
    model: nn.Module,
    code: Float[Tensor, "positions code"],
    train: Float[Tensor, "samples code"],
    *,
    polarity: str,
) -> tuple[Images, Images]:
    """Ink for (x, mean of y) and for (mean of x, y), the means over the training codes (FR
    Sec. 3.3, Fig. 1d).
    """
    half, mean = code.shape[1] // 2, train.mean(0).expand_as(code)
    drawn = []
    for parts in ((code[:, :half], mean[:, half:]), (mean[:, :half], code[:, half:])):
        # As many different inputs as there are columns or rows, far fewer than positions.
        different, which = torch.unique(torch.cat(parts, 1), dim=0, return_inverse=True)
        drawn.append(outputs(model, different, polarity=polarity)[which.numpy()])
    return drawn[0], drawn[1]


def memorised(
    images: Images,
    x: Int[np.ndarray, " positions"],
    y: Int[np.ndarray, " positions"],
    train: Bool[np.ndarray, " positions"],
) -> Images:
    """For each position the sum of the images at training positions in its column or its row (FR,
    code of Fig. 1).
    """
    seen = images[train].reshape(train.sum(), -1)
    shared = (x[:, None] == x[train]).astype(float) + (y[:, None] == y[train])
    return (shared @ seen).reshape(images.shape)


def correlation(a: Images, b: Images) -> Float[np.ndarray, " positions"]:
    """Pearson's correlation of two images over their pixels, per position; NaN where one is
    constant.
    """
    a, b = (v.reshape(len(v), -1) - v.mean((1, 2))[:, None] for v in (a, b))
    size = np.sqrt((a**2).sum(1) * (b**2).sum(1))
    return (a * b).sum(1) / np.where(size > 0, size, np.nan)


def explained(image: Images, *parts: Images) -> Float[np.ndarray, " positions"]:
    """Share of each image's variance over pixels that the best weighted sum of one or two parts
    explains (R^2).
    """
    r = [correlation(image, part) for part in parts]
    if len(parts) == 1:
        return r[0] ** 2
    between = correlation(*parts)
    rest = np.maximum(1 - between**2, 1e-12)
    return ((r[0] ** 2 + r[1] ** 2 - 2 * r[0] * r[1] * between) / rest).clip(0, 1)


def superposition_report(
    model: nn.Module,
    drawn: Images,
    data: xr.Dataset,
    *,
    polarity: str,
    seed: int,
    samples: list[int],
    show: bool,
) -> xr.Dataset:
    """Two predictions of the OOD ink that no bump at the right place enters, against two nulls,
    over ALL OOD positions.

    Predictions (`test`): "averaged", the sum of `averaged`; "memorised", that of the model's ink at
    training positions. Medians over OOD positions: `resembles` (test), correlation with what is
    drawn; `resembles_shuffled`, the same with the prediction for another position;
    `resembles_bump`, correlation of what is drawn with the true bump; `closer` (test), share of
    positions where the prediction is nearer than the bump. `adds` (test), what the prediction
    explains beyond the bump, and `bump_adds` (test) the reverse, as shares of variance. With `show`
    also `shown_image` (panel, sample, y, x), else NaN.
    """
    x, y = data["position_x"].values, data["position_y"].values
    train, ood = data["split"].values == "train", np.flatnonzero(data["split"].values == "ood")
    code = torch.from_numpy(data["code"].values)
    x_only, y_only = averaged(model, code, code[train], polarity=polarity)
    bump, other = ink(data["image"].values, polarity=polarity), elsewhere(len(ood), seed=seed)
    predictions = {"averaged": x_only + y_only, "memorised": memorised(drawn, x, y, train)}
    seen, with_bump = drawn[ood], correlation(drawn[ood], bump[ood])
    scores = []
    for prediction in predictions.values():
        here = correlation(seen, prediction[ood])
        both = explained(seen, prediction[ood], bump[ood])
        scores.append(
            {
                "resembles": np.nanmedian(here),
                "resembles_shuffled": np.nanmedian(correlation(seen, prediction[ood][other])),
                "closer": np.mean(here > with_bump),
                "adds": np.nanmedian(both - explained(seen, bump[ood])),
                "bump_adds": np.nanmedian(both - explained(seen, prediction[ood])),
            }
        )
    report = xr.Dataset({n: ("test", [score[n] for score in scores]) for n in scores[0]})
    report["resembles_bump"] = ((), np.nanmedian(with_bump))
    panels = {
        "target": bump,
        "output": drawn,
        "x alone": x_only,
        "y alone": y_only,
        "memorised": predictions["memorised"],
    }
    images = (
        np.stack([panel[samples] for panel in panels.values()]).round(2).astype(np.float32) + 0.0
    )
    report["shown_image"] = (
        ("panel", "sample", "y", "x"),
        images if show else np.full_like(images, np.nan),
    )
    return report.assign_coords(test=list(TESTS), panel=list(panels), sample=samples)
