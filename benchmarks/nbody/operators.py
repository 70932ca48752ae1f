"""A Vector Network on tokens whose inferred operator is applied: y = W(x) x (not in the papers).

One library for each law and kind of token. The code a of a token x has the least l1
(`benchmarks.nbody.least_l1`). VN Sec. 3 writes the map that a network infers as W(x) = sum_k a_k
(...), and reads its output from a alone: y = sum_k a_k u_k, here the readout "vector". The readout
"operator" is ours: each atom has a matrix B_k, and W(x) = sum_k a_k(x) B_k acts on x. Both are linear
in what is learned, and are solved in closed form or taught by the delta rule, which is local.

Atoms are training tokens. They are recruited where the readout errs and where the atoms at hand
span a token badly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, hstack

from benchmarks.nbody.bodies import LAWS, Samples, Scales
from benchmarks.nbody.by_law import (
    KINDS,
    PENALTIES,
    ByLaw,
    LawStates,
    LawTokens,
    Linear,
    chosen,
    solved,
    states_of,
)
from benchmarks.nbody.least_l1 import Codes, LeastL1, excess
from vnlib import checks, seeding
from vnlib.compilation import Array, compiled

READOUTS = ("operator", "vector")
RECRUITING = ("error", "coverage", "random")
PRESENCE = 0.7  # as in pair tokens
BEYOND = 1.3
GROWTH = 0.3  # of the atoms at hand, in a round
SETTLED = 1e-13  # relative training error from which on nothing is recruited: that of float32


@dataclass(frozen=True)
class Library:
    """Atoms of unit norm of one law, by kind of token (d, atoms), and how codes are read: features
    of bodies, a_k for "vector", all products a_k x_j for "operator", summed over tokens.
    """

    V: Mapping[str, Array]
    readout: str

    @cached_property
    def infer(self) -> dict[str, LeastL1]:
        """The inference of each kind."""
        return {kind: LeastL1(V) for kind, V in self.V.items()}

    @property
    def atoms(self) -> int:
        """Atoms of all kinds."""
        return sum(V.shape[1] for V in self.V.values())

    def codes(self, tokens: LawTokens) -> dict[str, Codes]:
        """The codes of tokens, by kind."""
        return {kind: self.infer[kind](one.x) for kind, one in tokens.kinds.items()}

    def __call__(self, tokens: LawTokens) -> csr_array:
        return self.read(tokens, self.codes(tokens))

    def read(self, tokens: LawTokens, codes: Mapping[str, Codes]) -> csr_array:
        """The features (rows, features) of bodies whose tokens have these codes."""
        parts = []
        for kind, (atoms, weights, _) in codes.items():
            x, owner = tokens.kinds[kind]
            size = self.V[kind].shape[1]
            if self.readout == "operator":
                x = with_presence(kind, x)
                d = x.shape[1]
                values = weights[:, :, None] * x[:, None]
                columns = atoms[:, :, None] * d + np.arange(d)
                size *= d
            else:
                values, columns = weights, atoms
            rows = np.repeat(owner, columns[0].size if len(columns) else 0)
            place = (rows, columns.ravel())
            parts.append(csr_array((values.ravel(), place), (tokens.rows, size)))
        return csr_array(hstack(parts, format="csr"))

    def with_pairs(self, x: Array) -> Library:
        """The library with pair tokens (atoms, 3), brought to unit norm, as further atoms."""
        pair = np.concatenate([self.V["pair"], unit(x)], 1)
        return Library({**self.V, "pair": pair}, self.readout)


def with_presence(kind: str, x: Array) -> Array:
    """Tokens with the constant that says that a body is there, which own tokens lack.

    Without it a_k(x) x is even in x, and no operator could tell a law that is odd, such as drag.
    """
    return x if kind == "pair" else np.concatenate([x, np.full((len(x), 1), PRESENCE)], 1)


def rng_of(seed: int, *stream: object) -> np.random.Generator:
    """Random numbers of NumPy by the seed and what they are for."""
    return np.random.default_rng(seeding.derive(seed, *stream))


def unit(x: Array) -> Array:
    """Tokens (atoms, d) as atoms (d, atoms) of unit norm."""
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).T


def guards(tokens: LawTokens, count: int) -> dict[str, Array]:
    """So many tokens of each kind (count, d) around all that are there, in even directions: of pairs
    `BEYOND` the largest displacement.

    Without them a token at the rim lies on a facet that spans the whole plane, on which no training
    token lies. Codes are signed, so that velocities need directions in half the plane only.
    """
    angle = np.pi * np.arange(count) / count
    far = BEYOND * np.linalg.norm(tokens.kinds["pair"].x[:, :2], axis=1).max()
    around = far * np.stack([np.cos(2 * angle), np.sin(2 * angle)], 1)
    return {
        "own": np.stack([np.cos(angle), np.sin(angle)], 1),
        "pair": np.concatenate([around, np.full((count, 1), PRESENCE)], 1),
    }


def drawn(tokens: LawTokens, sizes: Mapping[str, int], seed: int, name: str) -> dict[str, Array]:
    """So many tokens of each kind (size, d), at random.

    Raises
    ------
    ValueError
        Where a kind has fewer tokens.
    """
    found = {}
    for kind, size in sizes.items():
        x = tokens.kinds[kind].x
        checks.number(f"atoms ({kind}) of {name}", size, low=0, high=len(x), integer=True)
        found[kind] = x[rng_of(seed, "atoms", name, kind).permutation(len(x))[:size]]
    return found


def recruited(
    library: Library,
    states: LawStates,
    *,
    recruits: int,
    by: str,
    penalty: float,
    seed: int,
    name: str,
) -> Library:
    """A library with up to so many pair tokens of training more, in rounds.

    A round takes `GROWTH` of the atoms at hand, the tokens with the highest score: by "error", the
    squared error of the token's body times the square root of the token's l1 excess; by "coverage",
    the excess; both with one token for each facet at most; at "random", any. Tokens without excess
    are atoms already and are not taken. It ends where the training error is below `SETTLED`.
    """
    tokens, y, power = states.tokens, states.y, np.square(states.y).mean()
    rng, left, pair = rng_of(seed, "recruits", name), recruits, tokens.kinds["pair"]
    while left > 0:
        codes = library.codes(tokens)
        x = library.read(tokens, codes)
        error = np.square(x @ solved(x, y, penalty) - y).mean(1)
        if error.mean() < SETTLED * power:
            break
        gap = excess(codes["pair"], pair.x)
        if by == "error":
            score = error[pair.owner] * np.sqrt(gap)
        else:
            score = gap if by == "coverage" else rng.random(len(gap)) * (gap > 0)
        count = min(left, int(np.ceil(GROWTH * library.atoms)))
        rows = best(score, codes["pair"].facet if by != "random" else np.arange(len(gap)), count)
        if not len(rows):
            break
        library, left = library.with_pairs(pair.x[rows]), left - len(rows)
    return library


def best(score: Array, facet: Array, count: int) -> Array:
    """The rows of the `count` highest scores above 0, no two of the same facet."""
    order = np.argsort(-score, kind="stable")
    order = order[score[order] > 0]
    _, first = np.unique(facet[order], return_index=True)
    return order[np.sort(first)][:count]


def operator_network(
    train: Samples,
    validation: Samples,
    scales: Scales,
    *,
    seed: int,
    readout: str = "operator",
    around: int = 8,
    own: int = 0,
    pair: int = 0,
    recruits: int = 0,
    recruit: str = "error",
    penalty: float = 1e-10,
    passes: int = 0,
    penalties: Sequence[float] = PENALTIES,
) -> tuple[ByLaw, dict[str, float]]:
    """A network for each law, and facts about them.

    Parameters
    ----------
    around, own, pair
        What a library starts from: atoms of each kind around all tokens (`guards`), and training
        tokens of each kind at random.
    recruits, recruit
        Atoms that join at most, and by what (`recruited`); `penalty` is that of the readout
        meanwhile.
    passes
        Of the delta rule over the training bodies; 0: the closed form, whose penalty validation
        states choose.

    Raises
    ------
    ValueError
        For options out of range, and for too few tokens.
    """
    checks.choice("readout", readout, READOUTS)
    checks.choice("recruit", recruit, RECRUITING)
    checks.number("recruits", recruits, low=0, integer=True)
    checks.number("passes", passes, low=0, integer=True)
    checks.number("penalty", penalty, above=0)
    found = []
    for law, name in enumerate(LAWS):
        states, held = (states_of(one, scales, law) for one in (train, validation))
        sizes = dict(zip(KINDS, (own, pair), strict=True))
        start = guards(states.tokens, around), drawn(states.tokens, sizes, seed, name)
        V = {kind: unit(np.concatenate([one[kind] for one in start])) for kind in KINDS}
        library = Library(V, readout)
        more = {"recruits": recruits, "by": recruit, "penalty": penalty, "seed": seed}
        library = recruited(library, states, name=name, **more)
        if passes:
            x = library(states.tokens)
            order = rng_of(seed, "delta rule", name)
            found.append(Linear(library, delta_rule(x, states.y, passes, order), np.nan))
        else:
            found.append(chosen([library], states, held, penalties))
    libraries = [one.features for one in found]
    numbers = sum(one.weights.size + sum(V.size for V in one.features.V.values()) for one in found)
    facts: dict[str, float] = {"numbers": numbers}
    facts |= {f"atoms_{n}": one.atoms for n, one in zip(LAWS, libraries, strict=True)}
    facts |= {f"penalty_{n}": one.penalty for n, one in zip(LAWS, found, strict=True)}
    return ByLaw(found, scales), facts


def delta_rule(
    x: csr_array, y: Array, passes: int, rng: np.random.Generator, rate: float = 1.0
) -> Array:
    """Weights (features, 2) taught example by example: dW = rate x' (y - x W) / `|x|^2`, from 0.

    The rate falls to 0 over the second half of the passes.
    """
    weights = np.zeros_like(x.T @ y)
    for done in range(passes):
        step = rate * min(1.0, 2 * (1 - done / passes))
        _pass(x.indptr, x.indices, x.data, y, rng.permutation(len(y)), step, weights)
    return weights


@compiled
def _pass(
    first: Array, columns: Array, values: Array, y: Array, order: Array, rate: float, W: Array
) -> None:
    for row in order:
        size = 0.0
        for i in range(first[row], first[row + 1]):
            size += values[i] * values[i]
        if size == 0:
            continue
        for m in range(W.shape[1]):
            left = y[row, m]
            for i in range(first[row], first[row + 1]):
                left -= values[i] * W[columns[i], m]
            left *= rate / size
            for i in range(first[row], first[row + 1]):
                W[columns[i], m] += left * values[i]
