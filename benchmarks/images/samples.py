"""Random images of MNIST as rows, with what they show and where they come from."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from data_gen import mnist


@cache
def mnist_rows(
    part: str, n: int, *, seed: int, allow_fallback: bool
) -> tuple[Float[Tensor, "n pixels"], Int[np.ndarray, " n"], str]:
    """At most n images of a part of MNIST as rows, their labels, and their source.

    Parameters
    ----------
    seed
        Of the order; a larger n adds to a smaller one.
    allow_fallback
        Whether the small digits of scikit-learn will do where MNIST is not at hand.

    Raises
    ------
    MnistError
        As of `data_gen.mnist.load`.
    """
    data = mnist.load(part, allow_fallback=allow_fallback)
    some = np.random.default_rng(seed).permutation(data.sizes["sample"])[:n]
    pixels = torch.from_numpy(data["image"].values[some]).flatten(1)
    return pixels, data["label"].values[some], data.attrs["source"]
