"""The low-rank maps in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from chapters.FR3_low_rank.claims import HOLD_OUTS, own_band, zero_baseline
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, spread

ROWS = ("model", "hold_out")
PLACES = {"square": "square", "large_corner": "corner"}


def effective_rank(results: xr.Dataset) -> xr.DataArray:
    """Of the median map."""
    return results["effective_rank"].median(("axis", "token"))


def relative(results: xr.Dataset) -> xr.DataArray:
    """OOD error as a share of what a zero image costs, median over seeds."""
    return median(results["mse_ood"] / results["zero_baseline_ood"])


def with_maps(results: xr.Dataset) -> list[str]:
    """The models that have maps."""
    present = results["effective_rank"].notnull()
    return results["model"].values[present.any([d for d in present.dims if d != "model"])].tolist()


def errors(results: xr.Dataset) -> Table:
    """Errors, peaks and maps per model and hold-out: medians over seeds, the OOD error with its
    range.
    """
    cells = [(m, h) for m in results["model"].values for h in results["hold_out"].values]
    stacked = results["mse_ood"].stack(row=ROWS, create_index=False)
    frame = spread(stacked.assign_coords(row=range(len(cells))), "row", title="OOD error")
    columns = {
        "training error": results["mse_train"],
        "ID test error": results["mse_id"],
        "OOD / zero image": results["mse_ood"] / results["zero_baseline_ood"],
        "peak within 1 px, OOD": results["hit_ood"],
        "effective rank": effective_rank(results),
        "in bands": own_band(results),
    }
    for place, (name, values) in enumerate(columns.items()):
        numbers = median(values).transpose(*ROWS).values.ravel()
        frame.insert(place if place < 2 else frame.shape[1], (name, ""), numbers)
    names = [(label(results, m), PLACES[h]) for m, h in cells]
    frame.index = pd.MultiIndex.from_tuples(names, names=["model", "held out"])
    return Table(frame, name="errors and maps per model and hold-out")


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
    frame = pd.DataFrame({name: values.values for name, values in columns.items()}, index=names)
    return Table(frame.sort_values("OOD / zero image"), name="rank, bands and OOD error")


def evenness(results: xr.Dataset) -> Table:
    """How even the output's volume is inside the hold-out."""
    values = results["volume_spread"].sel(layer="output", drop=True)
    values = values.sel(hold_out=list(HOLD_OUTS)).assign_coords(hold_out=list(PLACES.values()))
    frame = spread(values.sel(model=with_maps(results)), "model", "hold_out")
    return Table(frame, name="standard deviation of log10 volume inside the hold-out")


def correlation(results: xr.Dataset, values: xr.DataArray) -> float:
    """Rank correlation of the OOD error with a number, over all runs of models with maps."""
    models = with_maps(results)
    error = (results["mse_ood"] / results["zero_baseline_ood"]).sel(model=models)
    pair = xr.broadcast(values.sel(model=models), error)
    one, other = (pd.Series(v.transpose(*error.dims).values.ravel()).rank() for v in pair)
    return float(one.corr(other))


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: OOD errors as shares of a zero image's, shares of peaks that are right,
    and what the error goes with.
    """
    error, hits = relative(results), median(results["hit_ood"])
    found = {
        "fr3-correlation-rank": f"{correlation(results, effective_rank(results)):+.2f}",
        "fr3-correlation-bands": f"{correlation(results, own_band(results)):+.2f}",
        "fr3-zero": short(float(zero_baseline(results).median())),
    }
    for model in results["model"].values.tolist():
        for hold_out, place in PLACES.items():
            key = f"fr3-{model.replace('_', '-')}-{place}"
            cell = {"model": model, "hold_out": hold_out}
            share = 100 * float(error.sel(cell))
            found[key] = f"{share:.2g} %" if share < 100 else f"{share:.0f} %"
            found[f"{key}-hits"] = f"{100 * float(hits.sel(cell)):.0f} %"
    return found
