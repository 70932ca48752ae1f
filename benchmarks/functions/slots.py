"""Signals as sums of few atoms in slots and a smooth rest, settled by sampling (an extension of VN
Eqs. 6 and 39).

A slot is empty or holds one atom v with an amplitude of prior N(0, amplitude^2); under them lies a
fine layer of smooth atoms with a Gaussian code, which is a process of covariance
variance * kernel(t, t'); both and noise make up a signal. Of atoms each slot prefers none: empty
has as much prior weight as all atoms together. The energy is the negative logarithm of the
posterior; amplitudes and the code of the fine layer are integrated out, so that it holds what each
support costs in evidence.

Settling redraws one slot after the other, and the kernel and variance after each sweep, from their
conditional posteriors. The answer is the mean over the last supports of all chains, weighted by
their evidence to the power 1 / temper: not the exact posterior mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.special
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from benchmarks.functions.masks import shown
from benchmarks.functions.processes import KERNELS, covariance
from vnlib import checks
from vnlib.compilation import Array

FINE = tuple((kernel, scale) for kernel in ("se", "rq") for scale in (0.03, 0.06, 0.12))
VARIANCES = tuple(10 ** (power / 2) for power in range(-16, 9))  # of the fine layer, ID power
WHITE = ("white", 1.0)  # instead of FINE: no fine layer, but noise whose variance is inferred
LAST = ("matern", 0.05, 1e-8)  # process that carries what is left where observed to the rest


@dataclass(frozen=True)
class Slots:
    """Atoms (atoms, time) in slots over a fine layer.

    Parameters
    ----------
    atoms
        Not normalised: amplitudes have their scale.
    slots
        The most atoms of a signal; 0 leaves the fine layer alone.
    amplitude
        Standard deviation of an amplitude.
    fine
        Kernels and scales [s] of the fine layer to choose from; `WHITE` alone for none.
    chains, sweeps, kept
        Chains are drawn by themselves; of each the last `kept` of its sweeps count.
    temper
        0 takes the single support of most evidence.
    every
        Settling looks at each so many-th observed sample; `processes.carried` with `LAST` mends
        what is left at the others.
    noise
        Variance of the noise, in ID power.

    Raises
    ------
    ValueError
        For numbers out of their ranges.
    """

    atoms: Array
    slots: int = 6
    amplitude: float = 0.3
    fine: tuple[tuple[str, float], ...] = FINE
    chains: int = 8
    sweeps: int = 10
    kept: int = 3
    temper: float = 16.0
    every: int = 8
    noise: float = 1e-8

    def __post_init__(self) -> None:
        checks.number("slots", self.slots, low=0, integer=True)
        for name in ("chains", "sweeps", "kept", "every"):
            checks.number(name, getattr(self, name), low=1, integer=True)
        checks.number("kept", self.kept, high=self.sweeps, integer=True)
        checks.number("temper", self.temper, low=0)
        for name in ("amplitude", "noise"):
            checks.number(name, getattr(self, name), above=0)
        for kernel, scale in self.fine:
            checks.choice("fine", kernel, KERNELS)
            checks.number("scale", scale, above=0)
        if self.atoms.ndim != 2 or not np.isfinite(self.atoms).all():
            raise ValueError(f"atoms must be a finite matrix, got shape {self.atoms.shape}")

    @cached_property
    def covariances(self) -> list[Array]:
        """Of the fine layer over all of time, by kernel."""
        return [covariance(*one, self.atoms.shape[1]) for one in self.fine]

    def complete(
        self, x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"], *, seed: int
    ) -> tuple[Float[Tensor, "batch time"], dict[str, Float[Tensor, " batch"]]]:
        """What the network draws of all samples, and of each signal how many atoms it took and the
        variance and the scale of its fine layer, means by weight (of the variance the logarithm).

        What x holds where it is hidden is not looked at. The same seed draws for every signal, so
        that no signal depends on those beside it.
        """
        seen = shown(x, observed, self.atoms.shape[1]).double().numpy()
        drawn, facts = np.empty_like(seen), np.empty((len(seen), 3))
        problem: _Problem | None = None
        for i, mask in enumerate(observed.numpy()):
            if problem is None or not np.array_equal(problem.mask, mask):
                problem = _Problem(self, mask)
            drawn[i], facts[i] = problem.settled(seen[i], np.random.default_rng(seed))
        names = ("atoms", "log_variance", "scale")
        found = dict(zip(names, torch.from_numpy(facts).unbind(1), strict=True))
        return torch.from_numpy(drawn).to(x), found


class State(NamedTuple):
    """One chain: the atom of every slot (-1: empty), and the numbers of kernel and variance."""

    support: Array
    kernel: int
    variance: int


class _Problem:
    """One mask: all that does not depend on the signal, in the axes of each kernel."""

    def __init__(self, model: Slots, mask: Array) -> None:
        self.model, self.mask = model, mask
        self.at = np.flatnonzero(mask)[:: model.every]
        seen = model.atoms[:, self.at]
        self.axes, self.atoms, self.squares, self.spread = [], [], [], []
        variances = np.array(VARIANCES)
        weights = np.empty((len(model.fine), len(variances), len(self.at)))
        for m, one in enumerate(model.covariances):
            values, vectors = scipy.linalg.eigh(one[np.ix_(self.at, self.at)])
            weights[m] = 1 / (variances[:, None] * values.clip(0) + model.noise)
            rotated = seen @ vectors
            self.axes.append(vectors)
            self.atoms.append(rotated)
            self.squares.append(rotated**2)
            self.spread.append(one[:, self.at] @ vectors)
        self.weights, self.volume = weights, -np.log(weights).sum(2)

    def settled(self, seen: Array, rng: np.random.Generator) -> tuple[Array, Array]:
        """What is drawn of one signal, and its facts."""
        model, signal = self.model, [seen[self.at] @ axes for axes in self.axes]
        kept: list[State] = []
        for _ in range(model.chains):
            state = State(np.full(model.slots, -1), 0, 0)
            state = self.redrawn_fine(state, signal, rng)
            for sweep in range(model.sweeps):
                state = self.redrawn_slots(state, signal, rng)
                state = self.redrawn_fine(state, signal, rng)
                if sweep >= model.sweeps - model.kept:
                    kept.append(state)
        logs = np.array([self.log_joint(one, signal) for one in kept])
        if model.temper:
            weight = scipy.special.softmax(logs / model.temper)
        else:
            weight = (np.arange(len(kept)) == logs.argmax()).astype(float)
        drawn = weight @ np.stack([self.mean(one, signal) for one in kept])
        facts = [
            (len(_taken(s)), np.log10(VARIANCES[s.variance]), model.fine[s.kernel][1]) for s in kept
        ]
        return drawn, weight @ np.array(facts, dtype=float)

    def log_evidence(self, taken: Array, kernel: int, y: Array) -> Array:
        """Of the atoms taken, for all variances of a kernel, up to a constant of the mask."""
        weights, n = self.weights[kernel], len(taken)
        found = -0.5 * (weights @ y**2 + self.volume[kernel])
        if not n:
            return found
        atoms, amplitude = self.atoms[kernel][taken], self.model.amplitude
        pairs = (atoms[:, None] * atoms).reshape(n * n, -1)
        gram = (weights @ pairs.T).reshape(-1, n, n) + np.eye(n) / amplitude**2
        factor = np.linalg.cholesky(gram)
        half = np.linalg.solve(factor, (weights @ (atoms * y).T)[..., None])
        volume = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(1) + n * np.log(amplitude)
        return found + 0.5 * (half**2).sum((1, 2)) - volume

    def log_joint(self, state: State, signal: list[Array]) -> float:
        """The evidence of a state with its prior."""
        taken, m = _taken(state), state.kernel
        found = self.log_evidence(taken, m, signal[m])[state.variance]
        return float(found) - len(taken) * np.log(len(self.model.atoms))

    def redrawn_fine(self, state: State, signal: list[Array], rng: np.random.Generator) -> State:
        """Kernel and variance from their posterior, given the support."""
        taken = _taken(state)
        logs = np.stack([self.log_evidence(taken, m, y) for m, y in enumerate(signal)])
        kernel, variance = np.unravel_index(_drawn(logs.ravel(), rng), logs.shape)
        return state._replace(kernel=int(kernel), variance=int(variance))

    def redrawn_slots(self, state: State, signal: list[Array], rng: np.random.Generator) -> State:
        """Every slot from its posterior, given the others, kernel and variance."""
        support, m = state.support.copy(), state.kernel
        weights = self.weights[m, state.variance]
        alone = self.squares[m] @ weights
        for slot in range(len(support)):
            support[slot] = -1
            logs = self.log_odds(support[support >= 0], m, weights, alone, signal[m])
            support[slot] = _drawn(logs, rng) - 1
        return state._replace(support=support)

    def log_odds(self, taken: Array, kernel: int, weights: Array, alone: Array, y: Array) -> Array:
        """Of nothing and of each atom in one more slot beside the atoms taken, up to a constant;
        `alone` are the atoms' squares by weight.
        """
        power, atoms = self.model.amplitude**2, self.atoms[kernel][taken]
        weighed = atoms * weights
        gram = weighed @ atoms.T + np.eye(len(taken)) / power
        half = np.linalg.solve(np.linalg.cholesky(gram), weighed)
        left = weights * y - half.T @ (half @ y)
        along = self.atoms[kernel] @ np.vstack([half, left]).T
        shared = np.einsum("ks,ks->k", along[:, :-1], along[:, :-1])
        gain = 1 + power * (alone - shared).clip(0)
        logs = np.empty(len(gain) + 1)
        logs[0] = np.log(len(gain))
        logs[1:] = 0.5 * (power * along[:, -1] ** 2 / gain - np.log(gain))
        return logs

    def mean(self, state: State, signal: list[Array]) -> Array:
        """Of all samples, given a state."""
        taken, m = _taken(state), state.kernel
        weights, y, atoms = self.weights[m, state.variance], signal[m], self.atoms[m][taken]
        gram = (atoms * weights) @ atoms.T + np.eye(len(taken)) / self.model.amplitude**2
        amplitudes = np.linalg.solve(gram, (atoms * weights) @ y)
        fine = VARIANCES[state.variance] * self.spread[m] @ (weights * (y - amplitudes @ atoms))
        return amplitudes @ self.model.atoms[taken] + fine


def _taken(state: State) -> Array:
    return state.support[state.support >= 0]


def _drawn(logs: Array, rng: np.random.Generator) -> int:
    """An index with odds exp(logs)."""
    odds = np.cumsum(np.exp(logs - logs.max()))
    return int(min(np.searchsorted(odds, rng.random() * odds[-1], side="right"), len(odds) - 1))
