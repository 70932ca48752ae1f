"""Made-up results of tasks in turn, of which everything is known."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from chapters.beyond_continual import figures, tables

LABELS = {"vn_1": "VN", "ae": "AE", "pca": "PCA", "b_vn": "TOKENS"}


@pytest.fixture
def continual_results() -> xr.Dataset:
    """Errors are 1 right after a task and grow by the model's factor; before, they are 4, and 8 at
    the start.
    """
    coords = {
        "model": list(LABELS),
        "seed": [0, 1],
        "stream": list(figures.STREAMS),
        "after": range(6),
        "task": range(5),
        "other": range(5),
        "images": [64, 512],
        "set": list(figures.SETS),
        "start": ["cold", "untrained", "lista", "linear"],
        "solver": list(tables.SOLVERS),
        "timed_solver": ["line_search", "coordinates"],
        "level": [1e-2, 1e-3],
    }
    ds = xr.Dataset(coords=coords).assign_coords(
        label=("model", list(LABELS.values())),
        group=("model", ["vn", "backprop", "control", "vn"]),
        tasks=("model", ["digits"] * 3 + ["forces"]),
    )

    def over(*dims: str, value: float | xr.DataArray = 0.0) -> xr.DataArray:
        names = ("model", "seed", *dims)
        zero = xr.DataArray(
            np.zeros([ds.sizes[d] for d in names]), dims=names, coords={d: ds[d] for d in names}
        )
        return (zero + value).transpose(*names)

    factor = xr.DataArray([1.5, 3.0, 5.0, 1.0], dims="model", coords={"model": list(LABELS)})
    ahead = xr.where(ds["after"] == 0, 8.0, 4.0)
    errors = xr.where(
        ds["after"] == ds["task"] + 1, 1.0, xr.where(ds["after"] > ds["task"], factor, ahead)
    )
    forces = ds["tasks"] == "forces"
    inside = (ds["task"] < 4) & (ds["after"] < 5)
    ds["error"] = over("stream", "after", "task", value=errors).where(~forces | inside)
    ds["error"] = ds["error"].where((ds["stream"] != "last") | (ds["model"] != "pca"))
    ds["power"] = over("task", value=10.0).where(~forces | (ds["task"] < 4))
    for name, value in {
        "cosine": -0.1,
        "shared_weights": 0.25,
        "shared_units": 0.5,
        "shared_code": 0.75,
    }.items():
        ds[name] = over("stream", "task", "other", value=value).where(ds["task"] != ds["other"])
    ds["shared_code"] = ds["shared_code"] + 0.01 * ds["task"] + 0.01 * ds["other"]
    ds["shared_units"] = ds["shared_units"] - 0.01 * ds["task"] - 0.01 * ds["other"]
    ds["fact_units"], ds["fact_revived"] = (
        over("stream", "after", value=7.0),
        over("stream", "after"),
    )
    ds["data_error"] = over("images", "set", value=factor / ds["images"]).where(~forces)
    sizes = {"sizes": {"sweeps": dict.fromkeys(tables.SOLVERS, 60)}}
    told = [json.dumps({"inference": sizes if name == "vn_1" else None}) for name in LABELS]
    ds["run_settings"] = (("model", "seed"), np.array([told, told]).T)
    alone = ds["model"] == "vn_1"
    ds["inference_ratio"] = over(value=30.0).where(alone)
    ds["inference_cost"] = over("start", value=2.0).where(alone)
    ds["inference_sweeps"] = over("start", "solver", "level", "set", value=40.0).where(alone)
    ds["inference_saved"] = over("start", "solver", "level", "set", value=0.25).where(alone)
    ds["inference_time_ratio"] = over("start", "timed_solver", value=1.5).where(alone)
    ds["inference_time_cold"] = over("timed_solver", value=2.0).where(alone)
    return ds
