"""Images of MNIST as rows: at random, in order to train on, and composed to test with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from data_gen import digits, mnist


@cache
def mnist_rows(
    part: str, n: int, *, seed: int, real: bool
) -> tuple[Float[Tensor, "n pixels"], Int[np.ndarray, " n"], str]:
    """At most n images of a part of MNIST as rows, their labels, and their source.

    Parameters
    ----------
    seed
        Of the order; a larger n adds to a smaller one.
    real
        Whether no others than those of MNIST will do; if not, the small digits of scikit-learn
        stand in where MNIST is not at hand.

    Raises
    ------
    MnistError
        As of `data_gen.mnist.load`.
    """
    data = mnist.load(part, allow_fallback=not real)
    some = np.random.default_rng(seed).permutation(data.sizes["sample"])[:n]
    pixels = torch.from_numpy(data["image"].values[some]).flatten(1)
    return pixels, data["label"].values[some], data.attrs["source"]


@cache
def training_digits(
    n_train: int, n_val: int, *, real: bool
) -> tuple[Float[Tensor, "train pixels"], Float[Tensor, "validation pixels"], int]:
    """The first digits of the training part, the last ones to validate with, and whether they are
    scikit-learn's.

    Parameters
    ----------
    real
        As in `mnist_rows`.
    """
    data = mnist.load("train", allow_fallback=not real)
    pixels = torch.from_numpy(data["image"].values).flatten(1)
    return pixels[:-n_val][:n_train], pixels[-n_val:], data.attrs["fallback"]


@cache
def composed_digits(
    sets: Sequence[str], n: int, *, seed: int, real: bool
) -> dict[str, Float[Tensor, "n pixels"]]:
    """Sets of `data_gen.digits`, composed of test digits.

    Parameters
    ----------
    real
        As in `mnist_rows`.
    """
    singles = mnist.load("test", allow_fallback=not real)["image"].values
    made = torch.from_numpy(digits.make(singles, n=n, seed=seed, sets=sets)["image"].values)
    return dict(zip(sets, made.flatten(2), strict=True))
