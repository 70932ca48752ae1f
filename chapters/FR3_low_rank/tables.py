"""The low-rank maps in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import xarray as xr

from benchmarks.baselines.failures import failures
from benchmarks.spatial.errors import learned
from benchmarks.spatial.settling import late_gain
from chapters.FR3_low_rank.claims import FOUR, in_order, own_band
from vnlib.book.evidence import spearman
from vnlib.plots.statistics import median, percent, raised, short, texts
from vnlib.plots.tables import Table, if_computed, spreads

PLACES = {"square": "square", "large_corner": "corner"}


def effective_rank(results: xr.Dataset) -> xr.DataArray:
    """Of the median map."""
    return results["effective_rank"].median(("axis", "token"))


def relative(results: xr.Dataset) -> xr.DataArray:
    """OOD error as a share of what the zero baseline costs, of the seeds that learned."""
    return (results["mse_ood"] / results["zero_baseline_ood"]).where(learned(results))


def with_maps(results: xr.Dataset) -> list[str]:
    """The models that have maps."""
    return effective_rank(results).dropna("model", how="all")["model"].values.tolist()


@if_computed
def errors(results: xr.Dataset) -> Table:
    """Errors per model and hold-out over the seeds that learned, and how many failed."""
    able = learned(results)
    r = results.where(able)
    columns = {
        "failed": failures((~able).where(results["mse_id"].notnull())),
        "ID test error": r["mse_id"],
        "OOD error": r["mse_ood"],
        "OOD / zero baseline": r["mse_ood"] / r["zero_baseline_ood"],
    }
    found = spreads(columns, "model", "hold_out", hold_out=PLACES)
    found = found.rename_axis(index={"hold_out": "held out"})
    return Table(found, name="errors per model and hold-out")


@if_computed
def maps(results: xr.Dataset) -> Table:
    """Training errors, peaks and maps per model and hold-out over the seeds that learned."""
    r = results.where(learned(results))
    columns = {
        "training error": r["mse_train"],
        "peak within 1 px, OOD": r["hit_ood"],
        "effective rank": effective_rank(r),
        "in bands": own_band(r),
    }
    found = spreads(columns, "model", "hold_out", hold_out=PLACES)
    found = found.rename_axis(index={"hold_out": "held out"})
    return Table(found, name="peaks and maps per model and hold-out")


@if_computed
def order(results: xr.Dataset) -> Table:
    """How many of the evaluations along training find the four settings in the paper's order, and
    what the last fifth of the updates gained.
    """
    curves = results.sel(model=list(FOUR))
    ood = median(curves["curve_ood"].where(learned(curves)))
    there = curves["curve_step"].notnull().any(("model", "seed")).sum("checkpoint")
    columns = {
        "evaluations": there,
        "in the paper's order": in_order(ood).sum("checkpoint"),
        **{f"late gain, {m}": late_gain(curves.sel(model=m, drop=True)) for m in FOUR},
    }
    found = spreads(columns, "hold_out", hold_out=PLACES).rename_axis(
        index={"hold_out": "held out"}
    )
    whole = dict.fromkeys(("evaluations", "in the paper's order"), "{:.0f}")
    return Table(found, whole, name="order of the four settings along training")


def who_composes(results: xr.Dataset) -> Table:
    """Rank and bands of maps beside the OOD error, of each seed the worse of both hold-outs, in its
    order.
    """
    some = results.sel(model=with_maps(results))
    columns = {
        "effective rank": effective_rank(some).max("hold_out"),
        "in bands": own_band(some).min("hold_out"),
        "OOD / zero baseline": relative(some).max("hold_out"),
    }
    found = spreads(columns, "model").sort_values(("OOD / zero baseline", "median"))
    return Table(found, name="rank, bands and OOD error")


@if_computed
def evenness(results: xr.Dataset) -> Table:
    """How even the output's volume is inside the hold-out."""
    values = results["volume_spread"].sel(layer="output", drop=True, model=with_maps(results))
    found = spreads({"": values}, "model", hold_out=PLACES)
    return Table(found, name="standard deviation of log10 volume inside the hold-out")


def correlation(results: xr.Dataset, values: xr.DataArray) -> float:
    """Rank correlation of the OOD error with a number, over all runs of models with maps."""
    error = results["mse_ood"] / results["zero_baseline_ood"]
    pair = xr.Dataset({"values": values, "error": error}).sel(model=with_maps(results))
    return spearman(*(v.values.ravel() for v in xr.broadcast(*pair.values())))


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: errors and right peaks out of distribution, and what they go with."""
    error = relative(results)
    rank, bands = (correlation(results, f(results)) for f in (effective_rank, own_band))
    return {
        "fr3-correlation-rank": raised(f"{rank:+.2f}"),
        "fr3-correlation-bands": raised(f"{bands:+.2f}"),
        **texts("fr3-zero", results["zero_baseline_ood"].median(("model", "seed")).median()),
        **texts("fr3", relative(results), share),
        **texts("fr3-hits", results["hit_ood"].where(learned(results)), percent),
        **texts("fr3-gain", late_gain(results), percent),
        **texts("fr3-tenth", error.sel(model="variance_low") / error.sel(model="variance")),
        "fr3-seeds": str(results.sizes["seed"]),
    }


def share(value: float) -> str:
    """Two digits of a share, in percent."""
    return f"{short(100 * value)} %"
