"""Errors of decoders as tables, and as the numbers that prose quotes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.baselines import tables
from benchmarks.baselines.failures import failures
from benchmarks.baselines.longer import change, once
from benchmarks.spatial.errors import learned, ratio, reported
from benchmarks.spatial.settling import late_gain
from vnlib.book.evidence import SETTLED
from vnlib.plots.statistics import extremes, median, texts
from vnlib.plots.tables import Table, if_computed, spreads

PEAKS = {"ID peaks within 1 px [%]": "hit_id", "OOD peaks within 1 px [%]": "hit_ood"}


def with_zero_baseline(frame: pd.DataFrame, values: Mapping[str, float]) -> pd.DataFrame:
    """The frame with a last row for the zero baseline, which has no seeds; `values` by quantity."""
    known = [values.get(column[0], np.nan) for column in frame.columns]
    row = np.where([column[-1] == "n" for column in frame.columns], np.nan, known)
    return pd.concat([frame, pd.DataFrame([row], ["Zero baseline"], frame.columns)])


def errors(results: xr.Dataset) -> Table:
    """Errors, their ratio and peaks of each model, of the seeds that are `reported`; how many did not
    learn (see `failures`); and the errors of the zero baseline.
    """
    told = reported(results[["mse_id", "mse_ood", "zero_baseline_id", *PEAKS.values()]])
    quantities = {"ID test error": told["mse_id"], "OOD error": told["mse_ood"]}
    quantities |= {"OOD / ID": ratio(told)}
    quantities |= {title: 100 * told[name] for title, name in PEAKS.items()}
    quantities["failed"] = failures((~learned(results)).where(results["mse_id"].notnull()))
    id_, ood = (float(results[f"zero_baseline_{split}"].median()) for split in ("id", "ood"))
    zero = {"ID test error": id_, "OOD error": ood, "OOD / ID": ood / id_}
    frame = with_zero_baseline(spreads(quantities, "model"), zero)
    return Table(frame, name="errors of all models")


def sizes(results: xr.Dataset) -> Table:
    """The training error of each model, the share of its atoms in use, and its parameters."""
    quantities = {
        "training error": results["mse_train"],
        "atoms in use [%]": 100 * results["active_share"],
        "parameters": results["n_parameters"],
    }
    formats = {"parameters": "{:,.0f}"}
    return Table(spreads(quantities, "model"), formats, name="sizes of all models")


def gains(values: xr.DataArray, pairs: Mapping[str, tuple[str, str]]) -> dict[str, xr.DataArray]:
    """How many times the value of the second model of each pair is that of the first."""
    return {
        name: values.sel(model=worse) / values.sel(model=better)
        for name, (better, worse) in pairs.items()
    }


def extent(values: xr.DataArray) -> str:
    """From the least to the largest, for prose; over seeds of the medians, with their intervals."""
    seeds = "seed" in values.dims
    ends = extremes(values) if seeds else {"least": values.min(), "most": values.max()}
    return " to ".join(dict.fromkeys(texts("", ends).values()))


@if_computed
def late_gains(results: xr.Dataset) -> Table:
    """The share of the ID validation error that went in the last fifth of the updates, in percent."""
    gains = {"late gain [%]": 100 * late_gain(once(results))}
    return Table(spreads(gains, "model"), name="late gains of all models")


def unsettled(results: xr.Dataset) -> dict[str, int]:
    """Of how many models the medians had not settled, and of how many this is known."""
    gains = median(late_gain(once(results))).dropna("model")
    return {"of": int((gains >= SETTLED).sum()), "all": gains.size}


def lengthened(results: xr.Dataset) -> dict[str, xr.DataArray]:
    """What twice the updates leave of errors, as a factor (model, seed)."""
    told = reported(results)
    return {"id": change(told["mse_id"]), "ood": change(told["mse_ood"])}


def longer(results: xr.Dataset) -> Table:
    """What twice the updates leave of the errors of trained models."""
    names = {"id": "ID error", "ood": "OOD error"}
    return tables.longer({names[key]: one for key, one in lengthened(results).items()})
