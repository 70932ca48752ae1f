"""Errors of decoders over (model, seed), as rules, tables and prose read them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from vnlib.book.evidence import SETTLED, bounded, compared, every, select, tagged
from vnlib.book.ledger import Part

MEDIANS = (
    "All are medians over the seeds that learned, with an ID error of at most half of the zero "
    "baseline's; the ratio is of OOD to ID error."
)
DRAWS = 0.5  # ID error over the zero baseline's up to which a run has learned to draw
COMPOSES = (
    f"{MEDIANS} A model composes with a ratio ≤ 3 and an OOD error ≤ 1 % of the zero baseline's; "
    "what is shown of it is the larger of these two over its bound."
)


def ratio(results: xr.Dataset) -> xr.DataArray:
    """OOD error over ID error, seed by seed."""
    return results["mse_ood"] / results["mse_id"]


def middles(results: xr.Dataset, *models: str) -> xr.Dataset:
    """Medians over seeds of the errors `id` and `ood`, of their `ratio`, and of the zero baseline's OOD
    error `zero`; and which models this makes say that it `composes` (see `COMPOSES`).

    Parameters
    ----------
    *models
        Those wanted, all where none is named. KeyError says which of them lack.
    """
    r = select(results, model=models) if models else results
    errors = {"id": r["mse_id"], "ood": r["mse_ood"], "ratio": ratio(r)}
    found = xr.Dataset(errors | {"zero": r["zero_baseline_ood"]}).median("seed")
    low = found["ood"] <= 0.01 * found["zero"]
    return found.assign(composes=(found["ratio"] <= 3) & low)


def seeds_below(error: xr.DataArray, bound: float) -> str:
    """In how many seeds an error is below a bound, of those that have one: "5 of 8"."""
    there = error.dropna("seed")
    return f"{int((there < bound).sum())} of {there.sizes['seed']}"


def composing(results: xr.Dataset, says: str, *models: str, holds: bool = True) -> Part:
    """That each of these models composes, or that none does."""
    m = middles(of_learned(results), *models)
    numbers = tagged(m["ratio"], "ratio") | tagged(m["ood"], "ood")
    # The nearer of both bounds decides.
    most = np.maximum(m["ratio"] / 3, m["ood"] / (0.01 * m["zero"]))
    return compared(says, most, "<=" if holds else ">", 1.0, **numbers)


def learned(results: xr.Dataset) -> xr.DataArray:
    """Which runs draw anything: those with an ID test error of at most half of the zero baseline's."""
    return results["mse_id"] <= DRAWS * results["zero_baseline_id"]


def of_learned(results: xr.Dataset) -> xr.Dataset:
    """Results without the errors of runs that draw nothing."""
    errors = (name for name in ("mse_id", "mse_ood") if name in results)
    return results.assign({name: results[name].where(learned(results)) for name in errors})


def late_gain(results: xr.Dataset) -> xr.DataArray:
    """By what share the least ID validation error fell over the last fifth of the updates (see
    `curves.Watch`): a run below `SETTLED` has settled. NaN for a run that was not watched.
    """
    step, best = results["curve_step"], results["curve_val"]
    early = best.where(step <= 0.8 * step.max("checkpoint")).min("checkpoint")
    return 1 - best.min("checkpoint") / early


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
