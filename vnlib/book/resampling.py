"""How sure a statement is: it is asked again of results of some of the seeds. All that belongs to a
seed stays together, so models are compared in pairs: its initialisation and, where chapters say so,
its data and split.

Of few seeds all subsets are gone through, of more as many (Praestgaard and Wellner 1993), and nothing
is drawn at random. What an estimator makes of them are typical values (Hartigan 1969): the truth is
as probably between any neighbours among them, exactly so for a median, and a mean of what is symmetric.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import xarray as xr
from scipy import stats

LEVEL = 0.95
FEW = 5  # seeds: the range of fewer holds the median with a probability of less than 90 %
REACH = 0.79  # of a typical value that a tail must hold: that of five seeds holds 0.8
BITS = 6  # all subsets of so many seeds are gone through; of more, as many: a rule takes a second
RARE = 0.02  # share of resamples without a value up to which they are left out


@cache
def subsets(n: int) -> np.ndarray:
    """All subsets of up to `BITS` seeds but the empty one, shape (subsets, seeds). Of more seeds a
    group of them: with two it has their symmetric difference, as typical values need, and two seeds
    are together in a quarter.
    """
    bits = max(min(n, BITS), n.bit_length())  # the latter tells more than 63 seeds apart
    signs = sorted(range(1, 2**bits), key=lambda sign: (sign.bit_count() > 1, -sign))
    words = np.arange(1, 2**bits)[:, None] & np.array(signs[:n], int)
    return np.bitwise_count(words) % 2 == 1


def resamples(results: xr.Dataset, *, unit: str = "seed") -> Iterator[xr.Dataset]:
    """Results of every subset of seeds; as they are where nothing varies."""
    if not results.sizes.get(unit, 0):
        yield results
        return
    for chosen in subsets(results.sizes[unit]):
        yield results.isel({unit: np.flatnonzero(chosen)})


def interval(
    values: np.ndarray, estimate: np.ndarray, seeds: int, many: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """The central interval of resampled values, one for each of several.

    Where resamples do not reach so far, as those of fewer than `FEW` seeds, it is at least as wide as
    by Student's t with their standard error. Of one seed nothing is known.

    Parameters
    ----------
    values
        Shape (resamples, values).
    estimate
        The values of the sample itself, shape (values,).
    seeds
        0 for resamples of test cases, and where nothing varies.
    many
        Among how many values the least is looked for: upper ends are for all of these at once
        (Bonferroni), since any that is wrong makes the least wrong. Lower ends need it not: the truth
        of the least is wrong only if its own is.
    """
    # What is not a number may be anything, unless few resamples are, as those of seeds that lack it.
    unknown = np.isnan(values)
    rare = max(RARE, 2.0**-seeds) if seeds else RARE
    values = np.where(unknown & (unknown.mean(0) <= rare), estimate, values)
    ends = []
    for side, tail in ((-1, (1 - LEVEL) / 2), (1, (1 - LEVEL) / 2 / many)):
        known = np.sort(np.where(np.isnan(values), np.inf, side * values), axis=0)
        steps = (len(known) + 1) * tail
        end = _between(known, steps)
        reached = min(steps, 2.0**seeds * tail) if seeds else steps
        if reached < REACH and (seeds or len(known) > 1):
            wide = _students(values, seeds, tail)
            with np.errstate(invalid="ignore"):  # an infinite estimate less an infinite width
                end = np.fmax(end, side * estimate + wide)
        ends.append(side * end)
    return ends[0], ends[1]


def joined(
    estimate: np.ndarray, *intervals: tuple[np.ndarray, np.ndarray], whole: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The interval of what several independent sources of chance make of values: distances from
    the estimate add as squares; of `whole` numbers, which cannot add, the widest counts.
    """
    ends = []
    for side, tips in zip((-1, 1), zip(*intervals, strict=True), strict=True):
        with np.errstate(invalid="ignore"):  # where both are infinite
            far = np.stack([side * (tip - estimate) for tip in tips]).clip(0)
        far = np.where(np.stack(tips) == estimate, 0, far)
        far = far.max(0) if whole else np.sqrt((far**2).sum(0))
        with np.errstate(invalid="ignore"):
            ends.append(np.where(np.isinf(far), side * np.inf, estimate + side * far))
    return ends[0], ends[1]


def _between(known: np.ndarray, steps: float) -> np.ndarray:
    """What lies so many steps below the top of sorted values, one for each column."""
    whole = max(1, int(steps + 1e-9))
    end, inner = known[-whole], known[-min(whole + 1, len(known))]
    share = max(0.0, steps - whole) * (np.isfinite(end) & np.isfinite(inner))
    with np.errstate(invalid="ignore"):
        return np.where(share > 0, end + share * (inner - end), end)


def _students(values: np.ndarray, seeds: int, tail: float) -> np.ndarray:
    """How far an interval by Student's t reaches, one for each of several: infinitely for one seed."""
    if seeds == 1:
        return np.full(values.shape[1], np.inf)
    with np.errstate(invalid="ignore"):
        error = values.std(axis=0)
    if seeds:  # what subsets make of a mean varies more than the mean itself
        error = error / np.sqrt(seeds * np.mean(1 / subsets(seeds).sum(1) - 1 / seeds))
    return stats.t.isf(tail, seeds - 1 if seeds else np.inf) * error
