"""Choices that the readings of several statements on positions have."""

from __future__ import annotations

import numpy as np
import xarray as xr

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


def summed(values: xr.DataArray, reading: Reading, *, high: bool) -> xr.DataArray:
    """Seeds as one number; high: whether the statement is that values are high, so that the worst
    is the least.
    """
    how = reading["seeds"]
    return getattr(values, ("min" if high else "max") if how == "worst" else how)("seed")


def counted(values: xr.DataArray, learned: xr.DataArray, reading: Reading) -> xr.DataArray:
    """The runs that a reading counts, those that learned where it does not say; NaN in place of
    others, and of all where most learned nothing.
    """
    if reading.get("runs") == "all":
        return values
    return values.where(learned & (learned.mean("seed") >= MOST))
