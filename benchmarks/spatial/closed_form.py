"""Decoders that nobody trains: the product of the two halves of a code, and least squares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from sklearn.linear_model import LinearRegression, Ridge
from torch import Tensor

from benchmarks.spatial.baseline import Baseline
from vnlib import checks

Codes = Float[np.ndarray, "positions d"]
Images = Float[np.ndarray, "positions y x"]
Draw = Callable[[Codes], Images]

READOUTS = ("affine", "pairs", "profiles")
PENALTIES = tuple(10.0**k for k in range(-8, 3))


class OuterProduct(Baseline):
    """image[row, column] = y[row] x[column], the two halves of the code themselves; no parameters.

    With the bump code of the width of the bumps this is the image.

    Parameters
    ----------
    dark
        One less that product: bumps on a background of 1.

    Raises
    ------
    ValueError
        Unless `n_inputs` is the sum of the sides of the image, which are equal.
    """

    def __init__(self, *, n_inputs: int, image_shape: tuple[int, int], dark: bool = False) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        if {*self.image_shape} != {n_inputs / 2}:
            raise ValueError(
                f"n_inputs must be twice the side of square images, got {n_inputs} for images of "
                f"{self.image_shape} px; the outer product takes the bump and the one-hot code"
            )
        self.dark = dark

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        of_x, of_y = x.chunk(2, dim=1)
        image = torch.einsum("bh,bw->bhw", of_y, of_x)
        return 1 - image if self.dark else image


def least_squares(
    codes: Codes, images: Images, *, readout: str, penalty: float | None = None
) -> Draw:
    """A decoder of bright images fitted in closed form.

    Parameters
    ----------
    codes, images
        Of the training positions; the first half of a code is of x, the second of y.
    readout
        "affine": every pixel is an affine function of the code, hence a sum of one of x and one of
        y. "pairs": of all products of an entry of x's half and one of y's half. "profiles": the
        image is the product of a row profile and a column profile, affine functions of one half
        each; every image needs some ink.
    penalty
        Of the squared weights (ridge regression) per position; None for least squares, which among equally good
        weights takes the smallest.

    Raises
    ------
    ValueError
        For an unknown readout and for a penalty that is not positive.
    """
    checks.choice("readout", readout, READOUTS)
    half = codes.shape[1] // 2
    if readout != "profiles":
        features = _pairs if readout == "pairs" else np.asarray
        draw = _fitted(features(codes), images.reshape(len(images), -1), penalty)
        return lambda new: draw(features(new)).reshape(len(new), *images.shape[1:])
    # The sums of an image y x' over its rows are in proportion to x, those over its columns to y.
    scale = np.sqrt(images.max((1, 2)))[:, None]
    columns, rows = (v / v.max(1, keepdims=True) * scale for v in (images.sum(1), images.sum(2)))
    of_x = _fitted(codes[:, :half], columns, penalty)
    of_y = _fitted(codes[:, half:], rows, penalty)
    return lambda new: np.einsum("ph,pw->phw", of_y(new[:, half:]), of_x(new[:, :half]))


def ridge(
    train: tuple[Codes, Images], validation: tuple[Codes, Images], *, readout: str
) -> tuple[Draw, float]:
    """`least_squares` at the penalty of `PENALTIES` with the least validation error, and that
    penalty.
    """
    found = []
    for penalty in PENALTIES:
        draw = least_squares(*train, readout=readout, penalty=penalty)
        found.append((float(np.square(draw(validation[0]) - validation[1]).mean()), penalty, draw))
    _, penalty, draw = min(found, key=lambda one: one[0])
    return draw, penalty


def _pairs(codes: Codes) -> Codes:
    half = codes.shape[1] // 2
    return np.einsum("pi,pj->pij", codes[:, :half], codes[:, half:]).reshape(len(codes), -1)


def _fitted(features: Codes, targets: Codes, penalty: float | None) -> Callable[[Codes], Codes]:
    if penalty is None:
        return LinearRegression().fit(features, targets).predict
    checks.number("penalty", penalty, above=0)
    return Ridge(alpha=penalty * len(features)).fit(features, targets).predict
