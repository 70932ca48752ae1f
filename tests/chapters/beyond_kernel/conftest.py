"""Made-up results of two decoders with both codes, whose errors are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.beyond_kernel.tables import MEASURES, SHARES

ZERO = 0.01
# model -> group, errors of the trained and of the linearised decoder over the zero baseline's
MODELS = {"cnn": ("entangled", 0.02, 0.7), "factorised": ("product", 1e-5, 1.0)}


@pytest.fixture
def results() -> xr.Dataset:
    """Three seeds, errors times 0.5, 1 and 2; the factorised decoder lacks the ramp code."""
    coords = {"code": ["bump", "ramp"], "model": list(MODELS), "seed": [0, 1, 2]}
    ones = xr.DataArray(np.ones((2, 2, 3)), coords)
    factor = xr.DataArray([0.5, 1.0, 2.0], {"seed": coords["seed"]})
    own, linear = (
        xr.DataArray([row[k] for row in MODELS.values()], {"model": list(MODELS)}) for k in (1, 2)
    )
    path = xr.DataArray([2.0, 1.0, np.nan], {"iteration": [1, 10, 100]})
    ds = xr.Dataset({"n_parameters": 1234 * ones, "n_outputs": 5678 * ones, "steps": 10 * ones})
    for part in ("id", "ood"):
        ds[f"mse_{part}"] = ones * own * factor * ZERO
        ds[f"linear_{part}"] = ones * linear * factor * ZERO
        ds[f"path_{part}"] = ds[f"linear_{part}"] * path
        ds[f"two_factor_{part}"] = 0.8 * ones * ZERO
        ds[f"zero_baseline_{part}"] = ones * ZERO
        for number, name in enumerate(SHARES):
            ds[f"explained_{name}_{part}"] = 0.1 * number * ones
    for name in MEASURES:
        ds[f"kernel_{name}"], ds[f"after_{name}"] = 0.3 * ones, 0.4 * ones
    ds = ds.assign(kept=0.5 * ones, moved=1.5 * ones)
    first = ones.where(ones["seed"] == 0)
    for name in ("drawn", "linear", "two_factor", "truth"):
        ds[f"picture_{name}"] = first.expand_dims(y=4, x=4)
    for name in ("before", "after", "two_factor"):
        ds[f"matrix_{name}"] = first.expand_dims(position=16, other=16)
    ds = ds.where((ds["model"] == "cnn") | (ds["code"] == "bump"))
    groups = [row[0] for row in MODELS.values()]
    return ds.assign_coords(label=("model", ["CNN", "FACTORISED"]), group=("model", groups))
