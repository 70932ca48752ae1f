"""Made-up results of a code and a decoder, whose measures are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.beyond_definitions.study import LAYERS


@pytest.fixture
def results() -> xr.Dataset:
    """Three seeds; the code has its first layer only, the decoder one hidden layer."""
    coords = {"model": ["code", "mlp"], "seed": [0, 1, 2], "layer": list(LAYERS)}
    ones = xr.DataArray(np.ones((2, 3, len(LAYERS))), coords)
    there = (ones["model"] == "mlp") & ones["layer"].isin(["code", "before 1", "after 1", "images"])
    ones = ones.where(there | (ones["layer"] == "code"))
    number = xr.DataArray(np.arange(float(len(LAYERS))), {"layer": list(LAYERS)})
    ds = xr.Dataset({name: 0.1 * number * ones for name in ("of_x", "of_y", "of_both")})
    ds = ds.assign(linear=(1 - 0.1 * number) * ones, curved=0.9 * ones, apart=0.2 * ones)
    ds = ds.assign(silent=0 * ones, units=32 * ones)
    flat = ones.isel(layer=0, drop=True).where(ones["model"] == "mlp")
    ds = ds.assign(mse_ood=0.01 * flat, zero_baseline_ood=0.02 * flat)
    return ds.assign_coords(
        label=("model", ["Code", "MLP"]), group=("model", ["code", "entangled"])
    )


@pytest.fixture
def targets() -> xr.Dataset:
    coords = {"shape": ["bump", "ring"]}
    return xr.Dataset({n: ("shape", [1.0, 3.0]) for n in ("exact", "near", "terms")}, coords)


@pytest.fixture
def diets() -> xr.Dataset:
    values = {"parts": ("hold_out", [1.0, 2.0]), "distance": ("hold_out", [0.0, 0.25])}
    return xr.Dataset(values, {"hold_out": ["none", "square"]})
