"""The operator of a code applied to that code: every atom of a library draws a row profile and a
column profile, and the code says how much of each.

An image is sum_r (B_r c) (A_r c)': the operator W(c) = sum_k c_k sum_r B_r A_rk' has rank one per
term and entry of the code, and is applied to c itself. The papers write W(x) to describe a map and
do not multiply it with x; this is an extension. Learning is closed form, one side at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from vnlib import checks

Codes = Float[np.ndarray, "positions d"]
Images = Float[np.ndarray, "positions y x"]
Pair = tuple[Codes, Images]
Maps = Float[np.ndarray, "d terms pixels"]

SWEEPS = 100
SETTLED = 1e-4  # share of the error by which a sweep must lower it


@dataclass(frozen=True)
class Operator:
    """A library of atoms with what each draws.

    Parameters
    ----------
    rows, columns
        Profiles along y and along x of every entry of a code, the last one a constant, per term.
    penalty
        Of the squared weights, in units of the mean squared feature.
    """

    rows: Maps
    columns: Maps
    penalty: float

    @property
    def terms(self) -> int:
        """Number of products of profiles in an image."""
        return self.rows.shape[1]

    def __call__(self, codes: Codes) -> Images:
        """The images of codes."""
        c = _with_constant(codes)
        return _products(_profiles(c, self.rows), _profiles(c, self.columns))


def fitted(
    train: Pair, validation: Pair, *, terms: int, penalties: Sequence[float], starts: int, seed: int
) -> Operator:
    """The operator with the least validation error among numbers of terms up to `terms`, all
    penalties and all starts. Terms are added one at a time to settled ones, as long as each lowers
    the validation error of its start.

    Raises
    ------
    ValueError
        If `terms` or `starts` is below 1, or a penalty not positive.
    """
    checks.number("terms", terms, low=1, integer=True)
    checks.number("starts", starts, low=1, integer=True)
    found: list[tuple[float, Operator]] = []
    codes, images = _with_constant(train[0]), train[1]
    for penalty in penalties:
        checks.number("penalty", penalty, above=0)
        for start in range(starts):
            rng = np.random.default_rng([seed, start])
            columns, least = np.zeros((codes.shape[1], 0, images.shape[2])), np.inf
            for _ in range(terms):
                one = settled(codes, images, _one_more(columns, rng), penalty)
                error = float(np.square(one(validation[0]) - validation[1]).mean())
                found.append((error, one))
                if error >= least:
                    break
                columns, least = one.columns, error
    return min(found, key=lambda pair: pair[0])[1]


def settled(codes: Codes, images: Images, columns: Maps, penalty: float) -> Operator:
    """Alternate ridge regressions of rows on columns and back until the error stands still."""
    last = np.inf
    for _ in range(SWEEPS):
        rows = _regressed(codes, _profiles(codes, columns), images, penalty)
        drawn = _profiles(codes, rows)
        columns = _regressed(codes, drawn, images.transpose(0, 2, 1), penalty)
        error = float(np.square(_products(drawn, _profiles(codes, columns)) - images).mean())
        # The penalty is of both sides alike only where they are of one size.
        gain = np.sqrt(_size(rows) / _size(columns))
        rows, columns = rows / gain, columns * gain
        if last - error <= SETTLED * error:
            break
        last = error
    return Operator(rows, columns, penalty)


def _regressed(
    codes: Codes, others: Float[np.ndarray, "positions terms x"], images: Images, penalty: float
) -> Maps:
    """The profiles along y that go best with those along x, in closed form."""
    d, terms = codes.shape[1], others.shape[1]
    overlap = others @ others.transpose(0, 2, 1)
    features = np.einsum("pd,prs->pdrs", codes, overlap).reshape(len(codes), -1)
    gram = (codes.T @ features).reshape(d, d, terms, terms).transpose(0, 2, 1, 3)
    gram = gram.reshape(d * terms, d * terms)
    wanted = others @ images.transpose(0, 2, 1)
    right = (codes.T @ wanted.reshape(len(codes), -1)).reshape(d * terms, -1)
    gram += penalty * np.trace(gram) / len(gram) * np.eye(len(gram))
    return np.linalg.solve(gram, right).reshape(d, terms, -1)


def _one_more(maps: Maps, rng: np.random.Generator) -> Maps:
    d, terms, pixels = maps.shape
    scale = 0.3 * np.abs(maps).mean() if terms else d**-0.5
    return np.concatenate([maps, scale * rng.normal(size=(d, 1, pixels))], axis=1)


def _profiles(codes: Codes, maps: Maps) -> Float[np.ndarray, "positions terms pixels"]:
    return np.tensordot(codes, maps, axes=1)


def _products(
    rows: Float[np.ndarray, "positions terms y"], columns: Float[np.ndarray, "positions terms x"]
) -> Images:
    return rows.transpose(0, 2, 1) @ columns


def _size(maps: Maps) -> Float[np.ndarray, "1 terms 1"]:
    return np.sqrt(np.square(maps).mean(axis=(0, 2), keepdims=True)) + 1e-300


def _with_constant(codes: Codes) -> Codes:
    return np.concatenate([codes, np.ones((len(codes), 1))], axis=1)
