"""Errors of decoders over (model, seed), as rules, tables and prose read them."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from benchmarks.baselines import paired
from vnlib.book.evidence import select

DRAWS = 0.5  # ID error over the zero baseline's up to which a run draws anything
STUCK = 0.05  # ID error over it above which one of several seeds may be stuck
FAR = 100.0  # times the least ID error of its model's seeds, where it then is


def ratio(results: xr.Dataset) -> xr.DataArray:
    """OOD error over ID error, seed by seed."""
    return results["mse_ood"] / results["mse_id"]


def of_all(results: xr.Dataset) -> xr.Dataset:
    """Results with the least ID error of each model's seeds, over the zero baseline's: rules compare
    runs with it though seeds be left out (see `learned`).
    """
    if not {"mse_id", "zero_baseline_id"} <= {*results}:
        return results
    return results.assign(least_id=(results["mse_id"] / results["zero_baseline_id"]).min("seed"))


def learned(results: xr.Dataset) -> xr.DataArray:
    """Which runs learned: those with an ID test error of at most half of the zero baseline's and, above
    5 % of that, of at most 100 times the least of their model's seeds. Others draw nothing, or are
    stuck where other starts of the same model are not.
    """
    of_zero = results["mse_id"] / results["zero_baseline_id"]
    least = results["least_id"] if "least_id" in results else of_zero.min("seed")
    return (of_zero <= DRAWS) & ((of_zero <= STUCK) | (of_zero <= FAR * least))


def of_learned(results: xr.Dataset) -> xr.Dataset:
    """Results without the errors of runs that did not learn."""
    errors = (name for name in ("mse_id", "mse_ood") if name in results)
    return results.assign({name: results[name].where(learned(results)) for name in errors})


def reported(results: xr.Dataset) -> xr.Dataset:
    """Errors and peaks of the runs that learned or, of a model of which none did, of all."""
    able = learned(results)
    measured = [name for name in ("mse_id", "mse_ood", "hit_id", "hit_ood") if name in results]
    return results.assign(results[measured].where(able | ~able.any("seed")))


def by_seed(results: xr.Dataset, *models: str) -> xr.Dataset:
    """Errors `id` and `ood` of the runs that learned, their `ratio`, and the share `of_zero` that the
    OOD error is of the zero baseline's.

    Parameters
    ----------
    *models
        Those wanted, all where none is named. KeyError says which of them lack.
    """
    r = of_learned(select(results, model=models) if models else results)
    of_zero = r["mse_ood"] / r["zero_baseline_ood"]
    errors = {"id": r["mse_id"], "ood": r["mse_ood"], "ratio": ratio(r), "of_zero": of_zero}
    return xr.Dataset(errors)


def middles(results: xr.Dataset, *models: str) -> xr.Dataset:
    """Medians over seeds of all `by_seed`; and which models these make say that it `composes`: with a
    ratio of at most 3 and an OOD error of at most 1 % of the zero baseline's.
    """
    found = by_seed(results, *models).median("seed")
    return found.assign(composes=(found["ratio"] <= 3) & (found["of_zero"] <= 0.01))


def over(
    results: xr.Dataset, kind: str, models: Sequence[str], others: Sequence[str]
) -> xr.DataArray:
    """Medians over seeds of what models have of some `kind` (see `by_seed`) over what others have of
    it: one by one, or one model over all others. Seeds of which both learned tell.
    """
    own, theirs = (by_seed(results, *names)[kind] for names in (models, others))
    if len(models) == 1:
        own = own.isel(model=0, drop=True)
    else:
        theirs = theirs.assign_coords(model=own["model"])
    return paired.over(own, theirs)


def seeds_below(error: xr.DataArray, bound: float) -> str:
    """In how many seeds an error is below a bound, of those that have one: "5 of 8"."""
    there = error.dropna("seed")
    return f"{int((there < bound).sum())} of {there.sizes['seed']}"
