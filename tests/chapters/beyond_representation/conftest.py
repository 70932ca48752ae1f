"""Made-up results: codes of four benchmarks whose measures are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

# model -> benchmark, group, linearity of its code, overlap, error at new combinations
MODELS = {
    "s_a": ("spatial", "vn", 1.0, 0.0, 1e-4),
    "s_b": ("spatial", "backprop", 0.5, 0.5, 1e-1),
    "s_c": ("spatial", "backprop", 0.25, 0.5, 1.0),
    "s_d": ("spatial", "control", 1.0, 0.0, 0.9),
    "f_a": ("functions", "vn", 0.6, 0.2, 1e-3),
    "f_b": ("functions", "backprop", 0.9, 0.2, 1e-2),
    "f_c": ("functions", "backprop", 0.95, 0.2, 1e-1),
    "f_d": ("functions", "control", 1.0, 0.1, 0.0),
    "b_a": ("forces", "vn", 1.0, 0.0, 0.01),
    "d_a": ("digits", "untrained", 0.7, 0.6, 2.0),
}


@pytest.fixture
def results() -> xr.Dataset:
    """Two seeds; layers "hidden 1" and "code 1", with a support for Vector Networks; forces have no
    hidden layer.
    """
    layers = ["code 1", "hidden 1", "support 1"]
    coords = {"model": list(MODELS), "seed": [0, 1], "layer": layers}
    shape = tuple(len(values) for values in coords.values())
    told = np.array([row[2:] for row in MODELS.values()])
    names = (
        "shared",
        "transfer",
        "overlap_random",
        "cosine",
        "cosine_random",
        "read_first",
        "read_second",
        "error_linear",
        "units",
    )
    ds = xr.Dataset({name: (tuple(coords), np.full(shape, 0.3)) for name in names}, coords)
    for k, name in enumerate(("linearity", "overlap")):
        # Hidden layers have half of the code's, supports a quarter.
        values = told[:, k, None, None] * np.array([1, 0.5, 0.25])[None, None] * np.ones((1, 2, 1))
        ds[name] = (tuple(coords), values)
    ds["order"] = (tuple(coords), np.broadcast_to(np.array([1.0, 0, 2]), shape).copy())
    ds["is_code"] = (tuple(coords), np.broadcast_to(np.array([1.0, 0, 0]), shape).copy())
    ds["error_unseen"] = (("model", "seed"), told[:, 2:] * np.ones((1, 2)))
    ds["error_seen"] = ds["error_unseen"] / 2
    kinds = [row[1] for row in MODELS.values()]
    gone = xr.DataArray([k != "vn" for k in kinds], {"model": list(MODELS)}) & (
        ds["layer"] == "support 1"
    )
    gone = gone | ((ds["model"] == "b_a") & (ds["layer"] == "hidden 1"))
    ds = ds.map(lambda v: v.where(~gone) if "layer" in v.dims else v)
    table = np.full((len(MODELS), 2, 5, 5), np.nan)
    table[0, 0], table[4, 0, :4, :4] = np.eye(5), np.eye(4)
    effects = [0, 1, 2, 100, 101]
    ds = ds.assign_coords(
        effect=effects, other=effects, label=("model", [m.upper() for m in MODELS])
    )
    ds["cosines"] = (("model", "seed", "effect", "other"), table)
    return ds.assign_coords(
        group=("model", kinds), benchmark=("model", [row[0] for row in MODELS.values()])
    )
