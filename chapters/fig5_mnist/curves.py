"""Curves of training, as rules, tables and prose read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

# Checks of the validation error in a training, unless a model says it, and how many are kept.
CHECKS = {"autoencoder": 40, "vn": 5}
KEPT = 10


def late_gain(results: xr.Dataset) -> xr.DataArray:
    """The share of the validation error that went in the last fifth of the updates (model, seed);
    between two checks the logarithm of the error is a line.
    """
    gains = {}
    for model in results["model"].values.tolist():
        one = results[["curve", "run_settings"]].sel(model=model).dropna("seed", subset=["curve"])
        if one.sizes["seed"]:
            at = checked(json.loads(str(one["run_settings"].values[0]))["training"])
            logs = np.log(one["curve"].transpose("seed", "evaluation").values)
            late = [np.interp(0.8, at, row) for row in logs]
            gain = xr.DataArray(1 - np.exp(logs[:, -1] - late), {"seed": one["seed"]}, ["seed"])
            gains[model] = gain.reset_coords(drop=True)
    if not gains:
        return results["curve"].isel(evaluation=0, drop=True).isel(model=[])
    found = xr.concat(gains.values(), "model").assign_coords(model=list(gains))
    names = results[["label", "group", "benchmark"]].sel(model=list(gains)).coords
    return found.assign_coords(
        {key: ("model", names[key].values) for key in ("label", "group", "benchmark")}
    )


def checked(training: Mapping[str, Any]) -> np.ndarray:
    """After which shares of the updates the ten errors of a curve were measured.

    Autoencoders are checked more often early in training, Vector Networks a few times, and the last
    check is after the last update.
    """
    steps, family = training["steps"], training["family"]
    many = training["options"].get("evaluations", CHECKS.get(family, CHECKS["vn"]))
    if family == "autoencoder":
        due = sorted({int(np.ceil(steps * i**2 / many**2)) for i in range(1, many + 1)})
    else:
        every = max(1, steps // many)
        due = sorted({*range(every, steps + 1, every), steps})
    kept = np.ceil(np.arange(1, KEPT + 1) * len(due) / KEPT).astype(int) - 1
    return np.array(due)[kept] / steps
