"""How sure a statement is: its rule is asked again of results in which the seeds are drawn anew (the
bootstrap; Efron and Tibshirani 1993), and of results in which the test cases are. All that belongs to
a seed stays together, so models are compared in pairs: its initialisation and, where chapters say so,
its data and split. All seeds share the test cases, so these are another source of chance. Where
results keep none of them, an interval is of training alone.

SciPy's bootstrap takes a statistic of arrays; a rule takes a whole dataset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
import xarray as xr
from scipy import stats

LEVEL = 0.95
FEW = 5  # seeds: the range of fewer holds the median with a probability of less than 90 %
ALL = 500  # up to so many resamples are gone through, as six seeds have; of more, `DRAWN` are drawn
DRAWN = 200
RARE = 0.02  # probability of resamples without a value up to which they are left out


def resamples(results: xr.Dataset, *, unit: str = "seed") -> Iterator[tuple[xr.Dataset, float]]:
    """Results of resampled seeds, each with its probability; as they are where nothing varies."""
    n = results.sizes.get(unit, 0)
    if not n:
        yield results, 1.0
    elif comb(2 * n - 1, n) <= ALL:
        for rows in combinations_with_replacement(range(n), n):
            ways = factorial(n) // prod(factorial(times) for times in Counter(rows).values())
            yield _drawn(results, unit, list(rows)), ways / n**n
    else:
        rng = np.random.default_rng(0)
        for _ in range(DRAWN):
            yield _drawn(results, unit, rng.integers(n, size=n).tolist()), 1 / DRAWN


def retested(
    results: xr.Dataset, cases: Sequence[str], means: Mapping[str, tuple[str, Mapping[str, str]]]
) -> Iterator[xr.Dataset]:
    """Results of resampled test cases, the same for all models and seeds.

    Parameters
    ----------
    cases
        Their dimensions; of none there is no resample.
    means
        Averages over cases, by name: of which errors, and at which coordinates, where the errors
        have that dimension of these, else of the average. Errors may be kept of some seeds only;
        then all averages change by the factor by which those of these seeds do.
    """
    rng = np.random.default_rng(1)
    for _ in range(DRAWN if cases else 0):
        found = results
        for case in cases:
            size = results.sizes[case]
            found = _drawn(found, case, rng.integers(size, size=size).tolist())
        yield found.assign(
            {mean: _changed(results, found, mean, *errors) for mean, errors in means.items()}
        )


def _changed(
    results: xr.Dataset, found: xr.Dataset, mean: str, errors: str, where: Mapping[str, str]
) -> xr.DataArray:
    """An average over cases by those that were drawn, and as it was where none are kept."""
    of = {dim: value for dim, value in where.items() if dim in results[errors].dims}
    case = [dim for dim in results[errors].dims if dim not in results[mean].dims and dim not in of]
    before, after = (one[errors].sel(of).mean(case) for one in (results, found))
    factor = (after / before).mean("seed").fillna(1)
    for dim in where.keys() - of.keys():
        factor = factor.where(results[dim] == where[dim], 1)
    return (results[mean] * factor).transpose(*results[mean].dims)


def _drawn(results: xr.Dataset, unit: str, rows: Sequence[int]) -> xr.Dataset:
    """The rows under the names of those that were there, so that names stay unique."""
    return results.isel({unit: rows}).assign_coords({unit: results[unit]})


def interval(
    values: np.ndarray, chances: np.ndarray, estimate: np.ndarray, seeds: int
) -> tuple[np.ndarray, np.ndarray]:
    """The central interval of resampled values, one for each of several.

    Resamples of few seeds spread too little. So the tails are those that make the interval of a
    mean as wide as Student's t makes it (Hesterberg 2015); and below `FEW` seeds, beyond which
    resamples never reach, it is as wide as by Student's t with the standard error of the bootstrap,
    at least. Of one seed nothing is known.

    Parameters
    ----------
    values
        Shape (resamples, values).
    chances
        Of the resamples, shape (resamples,).
    estimate
        The values of the sample itself, shape (values,).
    seeds
        0 where nothing varies.
    """
    tail = (1 - LEVEL) / 2
    if seeds > 1:
        tail = float(stats.norm.sf(np.sqrt(seeds / (seeds - 1)) * stats.t.isf(tail, seeds - 1)))
    # What is not a number may be anything, unless few resamples are: those of a seed that lacks it.
    unknown = np.isnan(values)
    values = np.where(unknown & (chances @ unknown <= RARE), estimate, values)
    low = _quantile(np.where(np.isnan(values), -np.inf, values), chances, tail)
    high = _quantile(np.where(np.isnan(values), np.inf, values), chances, 1 - tail)
    if 0 < seeds < FEW:
        wide = _students(values, chances, seeds)
        low, high = np.fmin(low, estimate - wide), np.fmax(high, estimate + wide)
    return low, high


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


def _quantile(values: np.ndarray, chances: np.ndarray, share: float) -> np.ndarray:
    """The value that is reached with this probability, one for each of several."""
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(chances[order], axis=0) > share - 1e-12
    place = np.where(reached.any(0), reached.argmax(0), -1)
    return np.take_along_axis(np.take_along_axis(values, order, 0), place[None], 0)[0]


def _students(values: np.ndarray, chances: np.ndarray, seeds: int) -> np.ndarray:
    """Half the width of the interval by Student's t: infinite for one seed."""
    if seeds == 1:
        return np.full(values.shape[1], np.inf)
    with np.errstate(invalid="ignore"):
        mean = np.average(values, axis=0, weights=chances)
        variance = np.average((values - mean) ** 2, axis=0, weights=chances)
    # The bootstrap's variance is that of a population of the seeds (Hesterberg 2015).
    error = np.sqrt(variance * seeds / (seeds - 1))
    return stats.t.ppf(0.5 + LEVEL / 2, seeds - 1) * error
