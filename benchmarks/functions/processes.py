"""Signals filled in by Gaussian processes of time whose scale, noise and variance have the most
evidence, each signal by itself: no training signal is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import scipy.linalg
import torch
from jaxtyping import Bool, Float
from sklearn.gaussian_process import kernels
from torch import Tensor

from benchmarks.functions.masks import by_mask, shown
from vnlib import checks
from vnlib.compilation import Array

KERNELS = {
    "se": kernels.RBF,
    "rq": kernels.RationalQuadratic,  # alpha = 1
    "matern": lambda scale: kernels.Matern(scale, nu=2.5),
    "white": lambda scale: kernels.WhiteKernel(1.0),
}
SCALES = (0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.22, 0.35, 0.5, 0.8)
NOISES = (1e-10, 1e-8, 1e-6, 1e-4)  # variance of the noise over that of the process
EVERY = 2  # evidence looks at each second observed sample


@cache
def covariance(kernel: str, scale: float, length: int) -> Array:
    """Correlations (time, time) of a process over t = 0..1 s; scale in s."""
    checks.choice("kernel", kernel, KERNELS)
    return KERNELS[kernel](scale)(np.linspace(0, 1, length)[:, None])


def completed(kernel: str, scale: float, noise: float, x: Array, mask: Array) -> Array:
    """The mean of a process given what is observed of signals (time,) or (time, signals)."""
    of_all = covariance(kernel, scale, len(x))
    seen = of_all[np.ix_(mask, mask)]
    seen[np.diag_indices_from(seen)] += noise
    return of_all[:, mask] @ scipy.linalg.cho_solve(scipy.linalg.cho_factor(seen), x[mask])


class Evidence:
    """The log evidence of signals under one mask, for every scale and noise, with the variance of
    the process that makes it largest.
    """

    def __init__(
        self, kernel: str, scales: Sequence[float], noises: Sequence[float], mask: Array
    ) -> None:
        self.mask, self.at = mask, np.flatnonzero(mask)[::EVERY]
        self.parts = []
        for scale in scales:
            seen = covariance(kernel, scale, len(mask))[np.ix_(self.at, self.at)]
            values, vectors = scipy.linalg.eigh(seen)
            self.parts.append((values.clip(0) + np.array(noises)[:, None], vectors))

    def __call__(self, x: Array) -> Array:
        """(scales, noises) of one signal (time,)."""
        n, found = len(self.at), []
        for values, vectors in self.parts:
            square = ((x[self.at] @ vectors) ** 2 / values).sum(1)
            found.append(-0.5 * (n * np.log(square / n) + np.log(values).sum(1)))
        return np.array(found)


def complete(
    x: Float[Tensor, "batch time"],
    observed: Bool[Tensor, "batch time"],
    *,
    kernel: str,
    scales: Sequence[float] = SCALES,
    noises: Sequence[float] = NOISES,
) -> Float[Tensor, "batch time"]:
    """What the process of most evidence draws of every signal.

    Raises
    ------
    ValueError
        For an unknown kernel, and signals or masks that do not fit.
    """
    checks.choice("kernel", kernel, KERNELS)
    seen = shown(x, observed).double().numpy()
    drawn, evidence = np.zeros_like(seen), None
    for i, mask in enumerate(observed.numpy()):
        if evidence is None or not np.array_equal(evidence.mask, mask):
            evidence = Evidence(kernel, scales, noises, mask)
        if not seen[i].any():
            continue  # zero where observed: zero
        found = evidence(seen[i])
        scale, noise = np.unravel_index(found.argmax(), found.shape)
        drawn[i] = completed(kernel, scales[scale], noises[noise], seen[i], mask)
    return torch.from_numpy(drawn).to(x)


def carried(
    drawn: Float[Tensor, "batch time"],
    x: Float[Tensor, "batch time"],
    observed: Bool[Tensor, "batch time"],
    kernel: str,
    scale: float,
    noise: float,
) -> Float[Tensor, "batch time"]:
    """Drawings plus the mean of a process that explains what they leave where signals are observed:
    near these samples they are mended, far from them they stay.
    """
    left = (shown(x, observed) - torch.where(observed, drawn, 0.0)).double().numpy()
    filled = np.empty_like(left)
    for mask, rows in by_mask(observed):
        filled[rows] = completed(kernel, scale, noise, left[rows].T, mask.numpy()).T
    return (drawn.double() + torch.from_numpy(filled)).to(drawn)
