"""Errors of decoders over (model, seed), as rules, tables and prose read them."""

from __future__ import annotations

import xarray as xr

from vnlib.book.evidence import select

DRAWS = 0.5  # ID error over the zero baseline's up to which a run has learned to draw


def ratio(results: xr.Dataset) -> xr.DataArray:
    """OOD error over ID error, seed by seed."""
    return results["mse_ood"] / results["mse_id"]


def learned(results: xr.Dataset) -> xr.DataArray:
    """Which runs draw anything: those with an ID test error of at most half of the zero baseline's."""
    return results["mse_id"] <= DRAWS * results["zero_baseline_id"]


def of_learned(results: xr.Dataset) -> xr.Dataset:
    """Results without the errors of runs that draw nothing."""
    errors = (name for name in ("mse_id", "mse_ood") if name in results)
    return results.assign({name: results[name].where(learned(results)) for name in errors})


def reported(results: xr.Dataset) -> xr.Dataset:
    """Errors and peaks of the runs that learned or, of a model of which none did, of all."""
    able = learned(results)
    measured = [name for name in ("mse_id", "mse_ood", "hit_id", "hit_ood") if name in results]
    return results.assign(results[measured].where(able | ~able.any("seed")))


def middles(results: xr.Dataset, *models: str) -> xr.Dataset:
    """Medians over the seeds that learned of the errors `id` and `ood`, of their `ratio`, and of the
    zero baseline's OOD error `zero`; and which models this makes say that it `composes`: with a ratio
    of at most 3 and an OOD error of at most 1 % of the zero baseline's.

    Parameters
    ----------
    *models
        Those wanted, all where none is named. KeyError says which of them lack.
    """
    r = of_learned(select(results, model=models) if models else results)
    errors = {"id": r["mse_id"], "ood": r["mse_ood"], "ratio": ratio(r)}
    found = xr.Dataset(errors | {"zero": r["zero_baseline_ood"]}).median("seed")
    low = found["ood"] <= 0.01 * found["zero"]
    return found.assign(composes=(found["ratio"] <= 3) & low)


def seeds_below(error: xr.DataArray, bound: float) -> str:
    """In how many seeds an error is below a bound, of those that have one: "5 of 8"."""
    there = error.dropna("seed")
    return f"{int((there < bound).sum())} of {there.sizes['seed']}"
