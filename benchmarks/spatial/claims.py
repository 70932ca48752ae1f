"""Rules on decoders that several claims share."""

from __future__ import annotations

import numpy as np
import xarray as xr

from benchmarks.spatial.errors import DRAWS, middles
from benchmarks.spatial.settling import late_gain
from vnlib.book.evidence import SETTLED, bounded, compared, every, select, tagged
from vnlib.book.ledger import Part

LEARNED = (
    "the seeds that learned: with an ID error of at most half of the zero baseline's and, above 5 % of it, "
    "of at most 100 times the least of their model's seeds. What one model has over another is the median "
    "of its ratios within seeds"
)
MEDIANS = f"All are medians over {LEARNED}; the ratio is of OOD to ID error."
COMPOSES = (
    f"{MEDIANS} A model composes with a ratio ≤ 3 and an OOD error ≤ 1 % of the zero baseline's; "
    "what is shown of it is the larger of these two over its bound."
)


def composing(results: xr.Dataset, says: str, *models: str, holds: bool = True) -> Part:
    """That each of these models composes, or that none does."""
    m = middles(results, *models)
    numbers = tagged(m["ratio"], "ratio") | tagged(m["ood"], "ood")
    # The nearer of both bounds decides.
    most = np.maximum(m["ratio"] / 3, m["of_zero"] / 0.01)
    return compared(says, most, "<=" if holds else ">", 1.0, **numbers)


def settled(results: xr.Dataset, says: str) -> Part:
    """That the trainings of all models have settled, medians over seeds, in every hold-out that
    they have; says: which they are.
    """
    gain = late_gain(results).median("seed")
    gain = gain.max("hold_out") if "hold_out" in gain.dims else gain
    share = "the last fifth of the updates takes a share of the ID validation error"
    return bounded(f"{says}: {share}", "<", SETTLED, late_gain=gain)


def have_learned(results: xr.Dataset, says: str, *models: str) -> Part:
    """That models have learned: one that draws no bump in distribution decides nothing."""
    r = select(results, model=models)
    error = (r["mse_id"] / r["zero_baseline_id"]).median("seed")
    return every(f"ID error of {says} over the zero baseline's", "<=", DRAWS, id_of_zero=error)
