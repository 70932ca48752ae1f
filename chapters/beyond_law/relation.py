"""How well a number measured on a decoder predicts its error at held-out positions: rank
correlation with an interval, and predictions for families that were left out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.isotonic import IsotonicRegression

DRAWS = 500
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
    if pair[by].nunique() < 3:
        return float("nan")
    wrong = around = 0.0
    for name in pair[by].unique():
        left, others = pair[pair[by] == name], pair[pair[by] != name]
        rising = rank(others, measure, error) > 0
        fitted = IsotonicRegression(increasing=rising, out_of_bounds="clip")
        fitted.fit(others[measure].to_numpy(), others[error].to_numpy())
        wrong += float(np.square(fitted.predict(left[measure].to_numpy()) - left[error]).sum())
        around += float(np.square(others[error].mean() - left[error]).sum())
    return 1 - wrong / around


def interval(
    points: pd.DataFrame, measure: str, error: str, *, draws: int = DRAWS, seed: int = 0
) -> tuple[float, float]:
    """95 % interval of `rank` by bootstrap: decoders and conditions are drawn with replacement, each
    by themselves, since points that share one of them are not independent. NaN where most draws
    give no number.
    """
    rng = np.random.default_rng(seed)
    known = points.dropna(subset=[measure, error])
    times = np.ones((draws, len(known)), int)
    of = [pd.factorize(known[name]) for name in ("decoder", "condition")]
    for one in times:
        for place, names in of:
            if len(names) > 1:
                drawn = rng.integers(len(names), size=len(names))
                one *= np.bincount(drawn, minlength=len(names))[place]
    values = _spearman(*known[[measure, error]].to_numpy().T, times)
    values = values[np.isfinite(values)]
    if len(values) < draws / 2:
        return float("nan"), float("nan")
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


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
