"""Choices that the readings of several statements on positions have."""

from __future__ import annotations

import numpy as np

from benchmarks.readings.arrays import over
from benchmarks.readings.choices import Choice, Reading

BAND = np.log(1.05)  # within which ratios count as equal to their bound, as in the ledger
MOST = 0.5  # share of runs that must have learned, where only those count

SEEDS = Choice(
    name="seeds",
    says="summary of seeds",
    options={"median": "median", "mean": "mean", "worst": "worst seed"},
    extremes=("worst",),
)
RUNS = Choice(
    name="runs",
    says="runs that count",
    options={"learned": "those that draw in distribution", "all": "all"},
)


def summed(values: np.ndarray, reading: Reading, *, high: bool) -> np.ndarray:
    """Seeds, the last axis, as one number; high: whether the statement is that values are high, so
    that the worst is the least.
    """
    how = reading["seeds"]
    return over(values, ("min" if high else "max") if how == "worst" else how)


def counted(values: np.ndarray, learned: np.ndarray, reading: Reading) -> np.ndarray:
    """The runs that a reading counts, those that learned where it does not say; NaN in place of
    others, and of all where most learned nothing.
    """
    if reading.get("runs") == "all":
        return values
    return np.where(learned & (learned.mean(-1, keepdims=True) >= MOST), values, np.nan)
