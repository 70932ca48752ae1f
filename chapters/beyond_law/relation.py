"""How well a number measured on a decoder predicts its error at held-out positions: rank
correlation and predictions for families that were left out, with intervals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

from vnlib.book import resampling

DRAWS = 500
FEW = 200  # draws of what takes a fit for each family
FEWEST = 4  # points below which nothing is said


def rank(points: pd.DataFrame, measure: str, error: str) -> float:
    """Spearman's coefficient; NaN for fewer than four points, and where one of both is constant."""
    pair = points[[measure, error]].dropna().to_numpy()
    return float(_spearman(*pair.T, np.ones((1, len(pair)), int))[0])


def within(points: pd.DataFrame, measure: str, error: str, by: str = "family") -> float:
    """The same of deviations from the median of each family: what a measure says beyond which
    family a decoder is of.
    """
    pair = points[[measure, error, by]].dropna()
    return rank(
        pair[[measure, error]] - pair.groupby(by)[[measure, error]].transform("median"),
        measure,
        error,
    )


def explained(points: pd.DataFrame, measure: str, error: str, by: str = "family") -> float:
    """Share of the variance of an error in families that were left out, one after the other, that a
    monotone function fitted to the others explains; 0 is what the mean of the others does.
    """
    pair = points[[measure, error, by]].dropna()
    x, y = pair[[measure, error]].to_numpy().T
    return _explained(x, y, pd.factorize(pair[by])[0], np.ones(len(pair), int))


def _explained(x: np.ndarray, y: np.ndarray, group: np.ndarray, times: np.ndarray) -> float:
    """The same of points of which some count several times, or not at all; NaN below three groups."""
    there = np.unique(group[times > 0])
    if len(there) < 3:
        return float("nan")
    wrong = around = 0.0
    for name in there:
        left, others = (group == name) & (times > 0), (group != name) & (times > 0)
        rising = _spearman(x[others], y[others], times[None, others])[0] > 0
        fitted = IsotonicRegression(increasing=rising, out_of_bounds="clip")
        fitted.fit(x[others], y[others], sample_weight=times[others])
        mean = np.average(y[others], weights=times[others])
        wrong += float(times[left] @ np.square(fitted.predict(x[left]) - y[left]))
        around += float(times[left] @ np.square(mean - y[left]))
    return 1 - wrong / around


def explained_intervals(
    points: pd.DataFrame, measures: Sequence[str], error: str, *, draws: int = FEW, seed: int = 0
) -> list[tuple[float, float]]:
    """95 % intervals of `explained` in families, of each measure, and last of the first one's less the
    second one's, all on the same draws of decoders and of conditions (see `interval`).
    """
    known = points.dropna(subset=[*measures, error])
    family, y = pd.factorize(known["family"])[0], known[error].to_numpy()
    shares = np.array(
        [
            [_explained(known[name].to_numpy(), y, family, one) for name in measures]
            for one in _drawn(known, draws, seed)
        ]
    )
    whole = [explained(known, name, error) for name in measures]
    found = [*zip(shares.T, whole, strict=True), (shares[:, 0] - shares[:, 1], whole[0] - whole[1])]
    return [_middle(*one) for one in found]


def interval(
    points: pd.DataFrame, measure: str, error: str, *, draws: int = DRAWS, seed: int = 0
) -> tuple[float, float]:
    """95 % interval of `rank` by bootstrap: decoders and conditions are drawn with replacement, each
    by themselves, since points that share one of them are not independent. NaN where more than a
    few draws give no number.
    """
    known = points.dropna(subset=[measure, error])
    times = _drawn(known, draws, seed)
    drawn = _spearman(*known[[measure, error]].to_numpy().T, times)
    return _middle(drawn, rank(known, measure, error))


def _drawn(points: pd.DataFrame, draws: int, seed: int) -> np.ndarray:
    """How often each point stands in each draw (row)."""
    rng = np.random.default_rng(seed)
    times = np.ones((draws, len(points)), int)
    of = [pd.factorize(points[name]) for name in ("decoder", "condition")]
    for one in times:
        for place, names in of:
            if len(names) > 1:
                drawn = rng.integers(len(names), size=len(names))
                one *= np.bincount(drawn, minlength=len(names))[place]
    return times


def _middle(values: np.ndarray, estimate: float) -> tuple[float, float]:
    """The interval of what draws make of an estimate, as the ledger's; NaN where draws say none."""
    ends = resampling.interval(values[:, None], np.array([estimate]), 0)
    low, high = (float(one.item()) for one in ends)
    return (low, high) if np.isfinite([low, high]).all() else (np.nan, np.nan)


def _spearman(x: np.ndarray, y: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Spearman's coefficient of points of which each draw (row) has some several times."""
    many = times.sum(1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        dx, dy = (
            r - (times * r).sum(1, keepdims=True) / many
            for r in map(_ranks, (x, y), (times, times))
        )
        found = (times * dx * dy).sum(1) / np.sqrt((times * dx**2).sum(1) * (times * dy**2).sum(1))
    return np.where(many[:, 0] < FEWEST, np.nan, found)


def _ranks(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Ranks of values in every draw, those of equal ones their mean."""
    found, place = np.unique(values, return_inverse=True)
    equal = times @ np.eye(len(found))[place]
    return (equal.cumsum(1) - (equal - 1) / 2)[:, place]
