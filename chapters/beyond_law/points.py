"""Decoders of three chapters as points: what was measured of their layers, and how they did at
positions held out. A point is a decoder under one condition, medians over the seeds that learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.spatial.errors import DRAWS

LONGER = "_longer"  # what the names of tasks with more training end with
LEAST = 1e-6  # of the zero baseline's error: what is lower counts as that
# measure -> what readers call it; where it is, over chapters, the same quantity
MEASURES = {
    "rendering": "rendering",
    "readable": "factors readable at every pixel",
    "readable_ood": "the same, in the hold-out",
    "band": "bands among the maps",
    "F": "F, last hidden",
    "F_output": "F, output",
    "volume": "shift of log volume, last hidden",
    "volume_output": "shift of log volume, output",
    "terms": "separable rank, last hidden",
    "terms_output": "separable rank, output",
    "one_factor": "one-factor share, last hidden",
    "one_factor_output": "one-factor share, output",
    "probe": "linear probe in the hold-out",
    "id": "error in distribution",
}
ERRORS = {"ood": "OOD error", "ratio": "OOD / ID"}
WHO = ["family", "decoder", "condition"]
_SAME = ("F", "terms", "one_factor", "probe")
_LAST = {"F": "F", "terms": "terms", "one_factor": "one_factor", "probe": "probe_ood"}


def of_tasks(results: xr.Dataset) -> pd.DataFrame:
    """Decoders on the tasks of `beyond_tasks`: all measures but bands. Trainings that differ from a
    task in their length only are no conditions of their own.
    """
    tasks = [task for task in results["task"].values if not str(task).endswith(LONGER)]
    results = results.sel(task=tasks)
    kinds = (*_SAME, *(f"{name}_output" for name in _SAME))
    names = [*kinds, "rendering", "readable", "readable_ood"]
    shifts = {name: abs(results[name]) for name in ("volume", "volume_output")}
    measures = {name: results[name] for name in names} | shifts
    found = _points(results, measures, ("model", "task"))
    groups = found["model"].map(results["group"].to_series())
    return _named(found, groups, results, found["task"])


def of_manifold(results: xr.Dataset) -> pd.DataFrame:
    """CNNs, MLPs and Vector Networks of FR Fig. 2, with measures of the last hidden layer and of
    the output.
    """
    r = results.sel(weights="trained")
    r = r.sel(model=[m for m in r["model"].values if m not in ("perfect", "crosses", "table")])
    shift = abs(r["volume_in"] - r["volume_out"])
    layers = r.assign(shift=shift)
    measures: dict[str, xr.DataArray] = {}
    for name, own in {**_LAST, "volume": "shift"}.items():
        measures[f"{name}_output"] = layers[own].sel(layer="output")
        # the last layer that a decoder has
        inside = layers[own].sel(layer=[o for o in r["layer"].values if str(o).startswith("layer")])
        place = xr.DataArray(np.arange(inside.sizes["layer"]), dims="layer")
        last = (inside.notnull() * place).max(["layer", "seed"]).astype(int)
        measures[name] = inside.isel(layer=last)
    found = _points(r, measures, ("model",))
    families = found["model"].map(_kind)
    return _named(found, families, r, "square")


def of_maps(results: xr.Dataset) -> pd.DataFrame:
    """Embedding networks of FR Fig. 3 under all penalties: how much of the map of a value of x does
    not vary along y, and the other way round; the smaller of the two.
    """
    band = results["band"]
    kept = [dim for dim in band.dims if dim not in ("model", "hold_out", "seed", "axis", "along")]
    mean = band.mean(kept)
    both = [mean.sel(axis="x", along="y"), mean.sel(axis="y", along="x")]
    measures = {
        "band": xr.concat([one.drop_vars(["axis", "along"]) for one in both], "of").min("of")
    }
    shift = abs(results["volume_shift"])
    measures["volume"] = shift.isel(layer=0).drop_vars("layer")
    measures["volume_output"] = shift.isel(layer=-1).drop_vars("layer")
    found = _points(results, measures, ("model", "hold_out"))
    found = found.dropna(subset=["band"])
    return _named(found, found["model"], results, found["hold_out"])


def _points(
    results: xr.Dataset, measures: Mapping[str, xr.DataArray], over: tuple[str, ...]
) -> pd.DataFrame:
    """Medians over the seeds that learned to draw, a row for each place along `over` that has any;
    errors as log10 over the zero baseline's; and how many `seeds` these are.
    """
    id_, ood = (
        (results[f"mse_{part}"] / results[f"zero_baseline_{part}"]).clip(min=LEAST)
        for part in ("id", "ood")
    )
    drew = id_ <= DRAWS
    values: dict[str, Any] = dict(measures) | {"id": np.log10(id_), "ood": np.log10(ood)}
    values["ratio"] = np.log10(ood / id_)
    medians = {
        n: one.where(drew).median("seed").reset_coords(drop=True) for n, one in values.items()
    }
    medians["seeds"] = drew.sum("seed").reset_coords(drop=True)
    middle = xr.Dataset(medians)
    found = middle.to_dataframe().reset_index()[[*over, *values, "seeds"]]
    return found.dropna(subset=["ood"]).reset_index(drop=True)


def _named(
    found: pd.DataFrame, families: Any, results: xr.Dataset, conditions: Any
) -> pd.DataFrame:
    labels = found["model"].map(results["label"].to_series())
    who = {"family": families, "decoder": found["model"], "condition": conditions}
    return found.assign(**who, label=labels)


def _kind(model: str) -> str:
    """Family of a model of FR Fig. 2, longer trainings with the others."""
    if model.startswith("vn"):
        return "vn_flat" if model == "vn_flat" else "vn"
    network = "cnn" if "cnn" in model else "mlp"
    return f"{network}_{'ramp' if 'ramp' in model else 'bump'}"
