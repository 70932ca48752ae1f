"""Closed forms for each law by itself: features of its tokens, a ridge regression, and their sum.

Training states have one force each, so that the laws are separate problems, and each has a penalty
of its own (and a bandwidth), by its own validation states. What is learned of each law is summed
over the laws that act.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg
import torch
from scipy.sparse import csr_array

from benchmarks.nbody.bodies import LAWS, Accelerations, Bodies, Samples, Scales, check, tokens
from vnlib import checks, seeding
from vnlib.compilation import Array

# The numbers of a token that are ever not 0: a body's own velocity; displacement and presence.
KINDS = {"own": (0, 1), "pair": (2, 3, 6)}
PENALTIES = tuple(10.0**k for k in range(-13, 0, 2))  # relative to the mean square of the features
BANDWIDTHS = (0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.2, 3.3)


class Tokens(NamedTuple):
    """Tokens of one kind: their numbers x (tokens, d) and the body (tokens,) that each is of."""

    x: Array
    owner: Array


class LawTokens(NamedTuple):
    """The tokens of one law in some states.

    Parameters
    ----------
    kinds
        By the names of `KINDS`.
    rows
        Bodies, absent ones too.
    """

    kinds: Mapping[str, Tokens]
    rows: int


class LawStates(NamedTuple):
    """Bodies under one law alone: their tokens, and the accelerations (rows, 2) to be learned, in
    units of their scale. Absent bodies have none and are left out.
    """

    tokens: LawTokens
    y: Array


Matrix = Array | csr_array
Features = Callable[[LawTokens], Matrix]  # -> (rows, features)


class Readable(Protocol):
    """What tells the accelerations (rows, 2) of one law from its tokens."""

    def __call__(self, tokens: LawTokens) -> Array: ...


class Linear(NamedTuple):
    """Accelerations that are linear in features."""

    features: Features
    weights: Array
    penalty: float

    def __call__(self, tokens: LawTokens) -> Array:
        return self.features(tokens) @ self.weights


def tokens_of(bodies: Bodies, scales: Scales, law: int) -> LawTokens:
    """The tokens of one law of `LAWS`, in states in which it acts."""
    alone = torch.zeros_like(bodies.forces)
    alone[:, law] = 1
    everything = tokens(bodies._replace(forces=alone), scales)[:, :, law].flatten(0, 1)
    body, place = everything.any(-1).nonzero(as_tuple=True)
    x, own = everything[body, place].double().numpy(), (place == 0).numpy()
    found = {
        name: Tokens(np.ascontiguousarray(x[there][:, columns]), body.numpy()[there])
        for (name, columns), there in zip(KINDS.items(), (own, ~own), strict=True)
    }
    return LawTokens(found, len(everything))


def states_of(samples: Samples, scales: Scales, law: int) -> LawStates:
    """The bodies of the states in which one law acts alone.

    Raises
    ------
    ValueError
        Where there are none.
    """
    alone = (samples.forces[:, law] != 0) & (samples.forces.sum(1) == 1)
    if not bool(alone.any()):
        raise ValueError(f"samples must hold states of every single law, got none of {LAWS[law]}")
    part = Samples(*(one[alone] for one in samples))
    there = part.present.flatten().numpy()
    found, place = tokens_of(part.bodies, scales, law), np.cumsum(there) - 1
    kinds = {n: one._replace(owner=place[one.owner]) for n, one in found.kinds.items()}
    y = (part.acceleration.double() / scales.acceleration).flatten(0, 1).numpy()
    return LawStates(LawTokens(kinds, int(there.sum())), y[there])


class ByLaw:
    """The sum over the laws that act of what is told of each."""

    def __init__(self, laws: Sequence[Readable], scales: Scales) -> None:
        self.laws, self.scales = laws, scales

    def predict(self, bodies: Bodies) -> Accelerations:
        """Accelerations in box/s^2 of any bodies.

        Raises
        ------
        ValueError
            For wrong shapes.
        """
        check(bodies)
        there, total = bodies.cpu(), np.zeros((*bodies.present.shape, 2))
        for law, tell in enumerate(self.laws):
            acts = there.forces[:, law] != 0
            if bool(acts.any()):
                part = Bodies(*(one[acts] for one in there))
                told = tell(tokens_of(part, self.scales, law)).reshape(-1, *total.shape[1:])
                total[acts.numpy()] += part.forces[:, law, None, None].double().numpy() * told
        total *= self.scales.acceleration
        found = torch.from_numpy(total).to(bodies.position)
        return torch.where(bodies.present[..., None], found, 0.0)


def solutions(x: Matrix, y: Array, penalties: Sequence[float]) -> list[Array]:
    """Ridge weights (features, 2) for every penalty, from one decomposition of the normal
    equations.
    """
    square = _dense(x.T @ x)
    values, vectors = scipy.linalg.eigh(square)
    values = values.clip(0)
    along = vectors.T @ (x.T @ y)
    return [vectors @ (along / (values + p * values.mean())[:, None]) for p in penalties]


def solved(x: Matrix, y: Array, penalty: float) -> Array:
    """The same for one penalty, by a Cholesky decomposition."""
    square = _dense(x.T @ x)
    square[np.diag_indices(len(square))] += penalty * np.trace(square) / len(square)
    return scipy.linalg.solve(square, x.T @ y, assume_a="pos")


def chosen(
    choices: Sequence[Features],
    train: LawStates,
    validation: LawStates,
    penalties: Sequence[float] = PENALTIES,
) -> Linear:
    """The features and the penalty with the least error on validation states."""
    found = []
    for features in choices:
        x, held = features(train.tokens), features(validation.tokens)
        for penalty, weights in zip(penalties, solutions(x, train.y, penalties), strict=True):
            error = float(np.square(held @ weights - validation.y).mean())
            found.append((error, Linear(features, weights, penalty)))
    return min(found, key=lambda one: one[0])[1]


def summed(values: Matrix, owner: Array, rows: int) -> Matrix:
    """The sums over the tokens of each body."""
    ones = np.ones(len(owner))
    return csr_array((ones, (owner, np.arange(len(owner)))), (rows, len(owner))) @ values


class Kernels:
    """Gaussian kernels of pair tokens at centres, own and pair tokens beside them, summed.

    Parameters
    ----------
    centres
        By kind, (centres, d).
    """

    def __init__(self, centres: Mapping[str, Array], bandwidth: float) -> None:
        checks.number("bandwidth", bandwidth, above=0)
        self.centres, self.bandwidth = centres, bandwidth

    def __call__(self, tokens: LawTokens) -> Array:
        parts = []
        for name, (x, owner) in tokens.kinds.items():
            parts.append(summed(x, owner, tokens.rows))
            if len(self.centres[name]):
                parts.append(summed(self._kernels(x, self.centres[name]), owner, tokens.rows))
        return np.concatenate(parts, 1)

    def _kernels(self, x: Array, centres: Array) -> Array:
        x, c = x / self.bandwidth, centres / self.bandwidth
        exponent = x @ c.T
        exponent -= 0.5 * np.square(c).sum(1)
        exponent -= 0.5 * np.square(x).sum(1)[:, None]
        return np.exp(exponent, out=exponent)


def rbf_ridge(
    train: Samples,
    validation: Samples,
    scales: Scales,
    *,
    centres: int,
    seed: int,
    bandwidths: Sequence[float] = BANDWIDTHS,
) -> tuple[ByLaw, dict[str, float]]:
    """`Kernels` of each law at so many of its training tokens, with a bandwidth and a penalty of
    its own, and facts about it. As `benchmarks.nbody.ridge` draws them: from all tokens of the law.

    Raises
    ------
    ValueError
        Where a law has fewer training tokens than centres.
    """
    found = []
    for law, name in enumerate(LAWS):
        states, held = (states_of(one, scales, law) for one in (train, validation))
        at = places(states.tokens, centres, seed, name)
        found.append(chosen([Kernels(at, width) for width in bandwidths], states, held))
    facts: dict[str, float] = {"numbers": 0.0}
    for name, one in zip(LAWS, found, strict=True):
        sizes = [c.size for c in one.features.centres.values()]
        facts["numbers"] += one.weights.size + sum(sizes)
        facts |= {f"width_{name}": one.features.bandwidth, f"penalty_{name}": one.penalty}
        facts[f"atoms_{name}"] = sum(len(c) for c in one.features.centres.values())
    return ByLaw(found, scales), facts


def places(tokens: LawTokens, centres: int, seed: int, name: str) -> dict[str, Array]:
    """So many of all tokens of a law, by kind.

    Raises
    ------
    ValueError
        Where there are fewer.
    """
    sizes = {kind: len(one.x) for kind, one in tokens.kinds.items()}
    total = sum(sizes.values())
    checks.number(f"centres of {name}", centres, low=1, high=total, integer=True)
    pick = torch.randperm(total, generator=seeding.generator(seed, "centres", name))[:centres]
    rows, first, found = pick.numpy(), 0, {}
    for kind, size in sizes.items():
        own = rows[(rows >= first) & (rows < first + size)] - first
        found[kind], first = tokens.kinds[kind].x[own], first + size
    return found


def _dense(x: Matrix) -> Array:
    return x if isinstance(x, np.ndarray) else x.toarray()
