"""Made-up results of App. I, of which everything is known."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import xarray as xr

from chapters.I_mnist import figures

MODELS = {"vn_3": "DEEP", "vn_3_top24": "CAPPED", "vn_1": "FLAT"}


@pytest.fixture
def appI_results() -> xr.Dataset:
    """Of which a test may change what it likes."""
    return made().copy(deep=True)


@cache
def made() -> xr.Dataset:
    """A network whose measures fall with the layer, one with a cap, and one of a single layer."""
    ds = xr.Dataset(
        coords={
            "model": list(MODELS),
            "seed": [0, 1],
            "set": ["id", "add2"],
            "layer": [1, 2, 3],
            "solver": list(figures.SOLVERS),
            "sweep": [1, 10, 100],
            "threshold": [0.9, 0.99],
            "quantile": [0.1, 0.5, 0.9],
            "state": ["active", "signed"],
            "atom": np.arange(8),
            "reading": ["own", "top"],
        }
    )
    ds = ds.assign_coords(label=("model", list(MODELS.values())), factor=("model", [1.0, 1.0, 1.0]))
    falling = xr.DataArray([0.5, 0.25, 0.125], dims="layer", coords={"layer": [1, 2, 3]})

    def over(*dims: str, value: float | xr.DataArray = 0.0) -> xr.DataArray:
        shape = [ds.sizes[d] for d in ("model", "seed", *dims)]
        names = ("model", "seed", *dims)
        return (
            xr.DataArray(np.zeros(shape), dims=names, coords={d: ds[d] for d in names}) + value
        ).transpose(*names)

    numbers = {
        "used": 1.0,
        "active_share": falling,
        "active": 8 * falling,
        "atoms": 8.0,
        "effective": 6.0,
        "carrying": 3.0,
        "hoyer": 1 - falling,
    }
    for name, value in numbers.items():
        ds[name] = over("set", "layer", value=value)
    ds["usage"] = over(
        "set", "layer", "atom", value=xr.DataArray(np.linspace(0.9, 0.1, 8), dims="atom")
    )
    ds["told_atom"] = over("layer", "atom", value=xr.DataArray(np.linspace(0.5, 0, 8), dims="atom"))
    ds["told"] = over("state", "layer", value=0.02 + (0.5 - falling))
    ds["told_shuffled"] = over("state", "layer", value=0.02)
    ds["told_shuffled_most"] = over("state", "layer", value=0.03)
    rising = xr.DataArray([0.2, 0.6, 1.0], dims="sweep", coords={"sweep": [1, 10, 100]})
    for name in ("overlap", "weighted_overlap"):
        ds[name] = over("set", "solver", "sweep", "layer", value=rising)
    ds["nonzero"] = over("set", "solver", "sweep", "layer", value=4.0)
    ds["flips"] = over("set", "solver", "sweep", "layer", value=1 - rising)
    speed = xr.DataArray([101.0, 40.0, 18.0], dims="solver")
    higher = xr.DataArray([0.0, 1.0, 2.0], dims="layer")
    ds["locked_mean"] = over(
        "set", "solver", "layer", "threshold", value=speed + higher.where(speed < 101, 0)
    )
    ds["locked"] = over("set", "solver", "layer", "threshold", "quantile", value=speed)
    for name in ("energy", "summed_energy"):
        ds[name] = over("set", "solver", "sweep", value=3 - rising)
        ds[f"{name}_end"] = over("set", "solver", value=2.0)
        ds[f"{name}_rises"] = over("set", "solver")
    ds["summed_energy"].loc[{"sweep": 10}] = 1.8
    ds["summed_energy_rises"] += 7
    ds["error"] = over("set", "solver", "sweep", value=0.02 - 0.01 * rising)
    ds["error_end"], ds["zero_baseline"] = over("set", "solver", value=0.01), over("set", value=0.1)
    ds["error_locked"] = over("set", "solver", "threshold", value=0.0125).where(
        ds["solver"] != "ista"
    )
    ds["gap_end"] = over("set", "solver", value=1e-5).where(ds["model"] != "vn_3_top24")
    ds["end_certain"], ds["end_agreement"] = (
        over("set", "solver", "layer", value=v) for v in (0.99, 0.75)
    )
    ds["mse"], ds["criterion"] = over("set", "reading", value=0.004), over(value=0.005)
    for name in ds:
        if "layer" in ds[name].dims:
            ds[name].loc[{"model": "vn_1", "layer": [2, 3]}] = np.nan
    return ds


@pytest.fixture
def appI_atlas(appI_results) -> xr.Dataset:
    """An atlas of the first seed of the default, in which digit 4 uses every atom four times as
    often as the mean.
    """
    shape = (3, 3, 3, 2, len(MODELS))  # layer, band, place, seed, model
    dims = ("layer", "band", "place", "seed", "model")
    here = np.zeros(shape, bool)
    here[..., 0, 0] = True
    one = xr.DataArray(np.where(here, 1.0, np.nan), dims=dims)
    profile = xr.DataArray(
        np.r_[np.full(9, 0.2), 1.2], dims="digit", coords={"digit": [0, 1, 2, 3, 5, 6, 7, 8, 9, 4]}
    )
    picture = xr.DataArray(np.eye(4), dims=("y", "x"))
    pair = xr.concat([picture, picture[::-1]], "example")
    found = {
        "atlas_atom": one,
        "atlas_use": 0.3 * one,
        "atlas_size": one,
        "atlas_drawing": one * picture,
        "atlas_profile": one * profile.sortby("digit"),
        "atlas_examples": one * pair,
    }
    coords = {"band": ["most", "middle", "least"], "digit": np.arange(10)}
    return appI_results.assign(
        {name: v.transpose("model", "seed", ...) for name, v in found.items()}
    ).assign_coords(coords)
