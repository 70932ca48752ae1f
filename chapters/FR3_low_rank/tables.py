"""The low-rank maps in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from chapters.FR3_low_rank.claims import own_band, zero_baseline
from vnlib.book.evidence import spearman
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, over_seeds, percent, texts
from vnlib.plots.tables import SHOWN, Table, frame, if_computed, spreads

PLACES = {"square": "square", "large_corner": "corner"}


def effective_rank(results: xr.Dataset) -> xr.DataArray:
    """Of the median map."""
    return results["effective_rank"].median(("axis", "token"))


def relative(results: xr.Dataset) -> xr.DataArray:
    """OOD error as a share of what a zero image costs, median over seeds."""
    return median(results["mse_ood"] / results["zero_baseline_ood"])


def with_maps(results: xr.Dataset) -> list[str]:
    """The models that have maps."""
    return effective_rank(results).dropna("model", how="all")["model"].values.tolist()


@if_computed
def errors(results: xr.Dataset) -> Table:
    """Errors, peaks and maps per model and hold-out: medians over seeds, the OOD error with its
    range.
    """
    ends = over_seeds(results["mse_ood"])
    columns = {
        "training error": median(results["mse_train"]),
        "ID test error": median(results["mse_id"]),
        **{("OOD error", name): ends[name] for name in SHOWN},
        "OOD / zero image": relative(results),
        "peak within 1 px, OOD": median(results["hit_ood"]),
        "effective rank": median(effective_rank(results)),
        "in bands": median(own_band(results)),
    }
    rows = {
        (label(results, m), place): {
            name: float(values.sel(model=m, hold_out=h)) for name, values in columns.items()
        }
        for m in results["model"].values.tolist()
        for h, place in PLACES.items()
    }
    return Table(frame(rows, "model", "held out"), name="errors and maps per model and hold-out")


def who_composes(results: xr.Dataset) -> Table:
    """Rank and bands of the models with maps beside their OOD error, the worse of both hold-outs;
    the least error first.
    """
    some = results.sel(model=with_maps(results))
    columns = {
        "effective rank": median(effective_rank(some)).max("hold_out"),
        "in bands": median(own_band(some)).min("hold_out"),
        "OOD / zero image": relative(some).max("hold_out"),
    }
    names = pd.Index(some["label"].values.astype(str), name="model")
    found = pd.DataFrame({name: values.values for name, values in columns.items()}, index=names)
    return Table(found.sort_values("OOD / zero image"), name="rank, bands and OOD error")


@if_computed
def evenness(results: xr.Dataset) -> Table:
    """How even the output's volume is inside the hold-out."""
    values = results["volume_spread"].sel(layer="output", drop=True)
    values = values.sel(hold_out=list(PLACES)).assign_coords(hold_out=list(PLACES.values()))
    found = spreads({"": values.sel(model=with_maps(results))}, "model")
    return Table(found, name="standard deviation of log10 volume inside the hold-out")


def correlation(results: xr.Dataset, values: xr.DataArray) -> float:
    """Rank correlation of the OOD error with a number, over all runs of models with maps."""
    error = results["mse_ood"] / results["zero_baseline_ood"]
    pair = xr.broadcast(*(v.sel(model=with_maps(results)) for v in (values, error)))
    return spearman(*(v.values.ravel() for v in pair))


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: OOD errors as shares of a zero image's, shares of peaks that are right,
    and what the error goes with.
    """
    rank, bands = (correlation(results, f(results)) for f in (effective_rank, own_band))
    return {
        "fr3-correlation-rank": f"{rank:+.2f}",
        "fr3-correlation-bands": f"{bands:+.2f}",
        **texts("fr3-zero", zero_baseline(results).median()),
        **texts("fr3", relative(results), share),
        **texts("fr3-hits", median(results["hit_ood"]), percent),
    }


def share(value: float) -> str:
    """Two digits of a share, in percent; whole numbers from 100 % on."""
    return f"{100 * value:.2g} %" if value < 1 else f"{100 * value:.0f} %"
