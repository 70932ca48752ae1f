"""Gaussian processes of each law by itself, whose lengths and noise have the most evidence.

What a body is told is a linear map of its tokens and a process of each, summed over tokens. The
process is projected onto inducing tokens (subset of regressors; Quinonero-Candela and Rasmussen
2005), drawn as the centres of the RBF ridge are. Nothing is chosen by validation states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist

from benchmarks.nbody.bodies import LAWS, Samples, Scales
from benchmarks.nbody.by_law import (
    BANDWIDTHS,
    ByLaw,
    LawStates,
    LawTokens,
    Linear,
    places,
    states_of,
    summed,
)
from vnlib import checks
from vnlib.compilation import Array

KERNELS = ("rational_quadratic", "matern")  # with alpha = 1; with nu = 5/2
NOISES = tuple(10.0**k for k in range(-14, 0))  # variance of the noise over that of the process
LINEAR = 100.0  # variance of the linear weights over that of the process
LEAST = 1e-12  # relative eigenvalue of the kernel matrix below which directions are left out


def correlation(kernel: str, distance: Array) -> Array:
    """Of two values of a process, by their distance in units of its length."""
    if kernel == "rational_quadratic":
        return 1 / (1 + 0.5 * np.square(distance))
    scaled = np.sqrt(5) * distance
    return (1 + scaled + np.square(scaled) / 3) * np.exp(-scaled)


@dataclass(frozen=True)
class Process:
    """Features (rows, features) of bodies whose weights have unit prior variance each.

    Parameters
    ----------
    inducing
        Tokens by kind, (tokens, d).
    """

    inducing: Mapping[str, Array]
    kernel: str
    length: float

    def __post_init__(self) -> None:
        checks.choice("kernel", self.kernel, KERNELS)
        checks.number("length", self.length, above=0)

    @cached_property
    def roots(self) -> dict[str, Array]:
        """Inverse roots of the kernel matrices of inducing tokens, by kind."""
        found = {}
        for kind, x in self.inducing.items():
            if len(x):
                values, vectors = scipy.linalg.eigh(self._between(x, x))
                kept = values > LEAST * values[-1]
                found[kind] = vectors[:, kept] / np.sqrt(values[kept])
        return found

    def _between(self, x: Array, inducing: Array) -> Array:
        return correlation(self.kernel, cdist(x, inducing) / self.length)

    def __call__(self, tokens: LawTokens) -> Array:
        parts = []
        for kind, (x, owner) in tokens.kinds.items():
            parts.append(np.sqrt(LINEAR) * summed(x, owner, tokens.rows))
            if kind in self.roots:
                near = summed(self._between(x, self.inducing[kind]), owner, tokens.rows)
                parts.append(near @ self.roots[kind])
        return np.concatenate(parts, 1)


def evidence(x: Array, y: Array, noises: Sequence[float]) -> tuple[Array, list[Array]]:
    """The log evidence of the values y (rows, 2) for each noise, with the variance of the process that
    makes it largest, and the mean weights (features, 2) that belong to it.
    """
    values, vectors = scipy.linalg.eigh(x.T @ x)
    kept = values > np.finfo(float).eps * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    along = vectors.T @ (x.T @ y)
    outside = np.square(y - x @ (vectors @ (along / values[:, None]))).sum()
    inside, rest = np.square(along).sum(1) / values, len(y) - len(values)
    found, weights = [], []
    for noise in noises:
        square = outside / noise + (inside / (values + noise)).sum()
        volume = np.log(values + noise).sum() + rest * np.log(noise)
        found.append(-0.5 * (y.size * np.log(square / y.size) + y.shape[1] * volume))
        weights.append(vectors @ (along / (values + noise)[:, None]))
    return np.array(found), weights


def likeliest(
    inducing: Mapping[str, Array], kernel: str, train: LawStates, lengths: Sequence[float]
) -> Linear:
    """The mean of the process whose length and noise have the most evidence."""
    best: tuple[float, Linear] | None = None
    for length in lengths:
        process = Process(inducing, kernel, length)
        found, weights = evidence(process(train.tokens), train.y, NOISES)
        at = int(found.argmax())
        if best is None or found[at] > best[0]:
            best = float(found[at]), Linear(process, weights[at], NOISES[at])
    if best is None:
        raise ValueError("lengths must name at least one length, got none")
    return best[1]


def processes(
    train: Samples,
    validation: Samples,
    scales: Scales,
    *,
    kernel: str,
    inducing: int,
    seed: int,
    lengths: Sequence[float] = BANDWIDTHS,
) -> tuple[ByLaw, dict[str, float]]:
    """A process for each law with so many inducing tokens, and facts about it: `width` is its
    length, `penalty` its noise. Validation states are not looked at.

    Raises
    ------
    ValueError
        For an unknown kernel, and where a law has fewer training tokens than inducing ones.
    """
    found = []
    for law, name in enumerate(LAWS):
        states = states_of(train, scales, law)
        at = places(states.tokens, inducing, seed, name)
        found.append(likeliest(at, kernel, states, lengths))
    facts: dict[str, float] = {"numbers": 0.0}
    for name, one in zip(LAWS, found, strict=True):
        sizes = [x.size for x in one.features.inducing.values()]
        facts["numbers"] += one.weights.size + sum(sizes)
        facts |= {f"width_{name}": one.features.length, f"penalty_{name}": one.penalty}
        facts[f"atoms_{name}"] = sum(len(x) for x in one.features.inducing.values())
    return ByLaw(found, scales), facts
