"""Results of learned starts where what must be said of them is known beforehand."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from chapters.beyond_initialiser import figures

MODELS = {"free": "FREE", "capped": "CAPPED"}
NEEDED = {"cold": 100.0, "nearest": 90.0, "untrained": 95.0, "lista": 40.0, "mlp": 80.0}
COST = {"cold": 0.0, "nearest": 30.0, "untrained": 2.0, "lista": 4.0, "mlp": 1.0}


@pytest.fixture
def results() -> xr.Dataset:
    """LISTA saves most; momentum needs a fifth of the sweeps; sums gain nothing; under the cap no
    perceptron.
    """
    coords = {
        "model": list(MODELS),
        "seed": [0, 1],
        "start": list(NEEDED),
        "solver": list(figures.SOLVERS),
        "level": [1e-2, 1e-3, 1e-4],
        "set": list(figures.SETS),
        "sweep": [0, 1, 10, 100],
        "layer": [1, 2],
        "timed_solver": list(figures.TIMED)[1:],
    }
    ds = xr.Dataset(coords=coords).assign_coords(label=("model", list(MODELS.values())))

    def over(*dims: str, value: float | xr.DataArray = 0.0) -> xr.DataArray:
        names = ("model", "seed", *dims)
        zero = xr.DataArray(
            np.zeros([ds.sizes[d] for d in names]), dims=names, coords={d: ds[d] for d in names}
        )
        return (zero + value).transpose(*names)

    start = {"start": list(NEEDED)}
    needed = xr.DataArray(list(NEEDED.values()), dims="start", coords=start)
    needed = needed.where(ds["set"] != "sum", 100.0) * xr.DataArray([1, 0.2, 0.1], dims="solver")
    cost = xr.DataArray(list(COST.values()), dims="start", coords=start)
    cell = ("start", "solver", "level", "set")
    ds["sweeps"], ds["cost"] = over(*cell, value=needed), over("start", value=cost)
    cold = ds["sweeps"].sel(start="cold", drop=True)
    ds["saved"], ds["saved_paid"] = 1 - ds["sweeps"] / cold, 1 - (ds["sweeps"] + ds["cost"]) / cold
    ds["height"] = over("start", "solver", "sweep", "set", value=1 / (1 + ds["sweep"]))
    for name in (
        "start_height",
        "start_distance",
        "end_distance",
        "end_height",
        "end_differs",
        "end_lower",
    ):
        ds[name] = over("start", "set", value=1e-7)
    ds["end_differs"] = ds["end_differs"].where(ds["model"] == "free", 0.25)
    for name in ("overlap", "recall", "precision"):
        ds[name] = over("start", "layer", "set", value=0.5)
    ds["end_gap"] = over("set", value=1e-9).where(ds["model"] == "free")
    for name in ("train_time", "rate", "excess", "excess_untrained"):
        ds[name] = over("start", value=0.25)
    ds["time_ratio"] = over("start", "timed_solver", value=0.5).where(ds["model"] == "free")
    ds["time_cold"] = over("timed_solver", value=xr.DataArray([8.0, 4.0, 1.0], dims="timed_solver"))
    ds["time_ratio"].loc[{"start": "cold"}] *= 2
    told = json.dumps({"sizes": {"sweeps": dict.fromkeys(figures.SOLVERS, 100)}})
    ds["run_settings"] = (("model", "seed"), np.full((2, 2), told))
    gone = (ds["model"] == "capped") & (ds["start"] == "mlp")
    return ds.map(lambda v: v.where(~gone) if "start" in v.dims else v, keep_attrs=True)
