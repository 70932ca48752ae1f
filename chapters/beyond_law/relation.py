"""How well a number measured on a decoder predicts its error at held-out positions: rank
correlation with an interval, and predictions for families that were left out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.isotonic import IsotonicRegression

DRAWS = 500
FEWEST = 4  # points below which nothing is said


def rank(points: pd.DataFrame, measure: str, error: str) -> float:
    """Spearman's coefficient; NaN for fewer than four points, and where one of both is constant."""
    pair = points[[measure, error]].dropna().to_numpy()
    return _spearman(pair[:, 0], pair[:, 1])


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
    x, y = known[[measure, error]].to_numpy().T
    of = [pd.factorize(known[name]) for name in ("decoder", "condition")]
    found = []
    for _ in range(draws):
        times = np.ones(len(known), int)
        for place, names in of:
            if len(names) > 1:
                drawn = rng.integers(len(names), size=len(names))
                times = times * np.bincount(drawn, minlength=len(names))[place]
        found.append(_spearman(np.repeat(x, times), np.repeat(y, times)))
    values = np.array(found)
    values = values[np.isfinite(values)]
    if len(values) < draws / 2:
        return float("nan"), float("nan")
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])
