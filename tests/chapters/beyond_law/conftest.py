"""Made-up results of the three chapters that are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

ZERO = 0.01
MEASURED = [
    f"{name}{end}" for name in ("F", "terms", "one_factor", "probe") for end in ("", "_output")
]


@pytest.fixture
def points() -> pd.DataFrame:
    """Four families of three decoders under five conditions: the error falls with `rendering` and
    has nothing to do with `F`; `probe` differs between families only.
    """
    rng = np.random.default_rng(0)
    rows = []
    for family in range(4):
        for decoder in range(3):
            for condition in range(5):
                rendering = 0.2 * family + 0.02 * decoder + 0.003 * condition
                rows.append(
                    {
                        "family": f"f{family}",
                        "decoder": f"f{family}_{decoder}",
                        "condition": f"c{condition}",
                        "label": f"F{family}",
                        "rendering": rendering,
                        "F": rng.uniform(),
                        "probe": float(family),
                        "seeds": 1 + (condition > 0),
                        "id": -3.0,
                        "ood": -4 * rendering,
                        "ratio": 3 - 4 * rendering,
                    }
                )
    return pd.DataFrame(rows)


@pytest.fixture
def tasks() -> xr.Dataset:
    """Two decoders on two tasks with three seeds, of which the second decoder's first learned
    nothing.
    """
    coords = {"task": ["base", "ring"], "model": ["a", "b"], "seed": [0, 1, 2]}
    ones = xr.DataArray(np.ones((2, 2, 3)), coords)
    seed = xr.DataArray([0.5, 1.0, 2.0], {"seed": [0, 1, 2]})
    id_ = xr.DataArray([1e-9, 0.01], {"model": ["a", "b"]}) * ones
    id_ = id_.where((id_["model"] == "a") | (id_["seed"] > 0), 0.9)
    ds = xr.Dataset({name: ones * 0.5 * seed for name in MEASURED})
    ds = ds.assign({name: ones * 0.25 * seed for name in ("rendering", "readable", "readable_ood")})
    ds = ds.assign({name: -ones * seed for name in ("volume", "volume_output")})
    ds = ds.assign(mse_id=id_ * ZERO, mse_ood=ones * seed * 0.1 * ZERO)
    ds = ds.assign({f"zero_baseline_{part}": ones * ZERO for part in ("id", "ood")})
    return ds.assign_coords(label=("model", ["A", "B"]), group=("model", ["vn", "entangled"]))


@pytest.fixture
def manifold() -> xr.Dataset:
    """A CNN of two hidden layers, a Vector Network of one, and a reference; two seeds."""
    layers = ["input", "layer1", "layer2", "factors", "output"]
    coords = {"model": ["cnn_bump_2", "vn_full", "table"], "seed": [0, 1]}
    coords |= {"weights": ["trained", "untrained"], "layer": layers}
    ones = xr.DataArray(np.ones((3, 2, 2, 5)), coords)
    number = xr.DataArray([0.0, 1.0, 2.0, 3.0, 4.0], {"layer": layers})
    gone = (ones["model"] == "vn_full") & (ones["layer"] == "layer2")
    names = ("F", "terms", "one_factor", "probe_ood", "volume_in")
    ds = xr.Dataset({name: (ones * number).where(~gone) for name in names})
    ds["volume_out"] = ds["volume_in"] + 0.5
    flat = ones.isel(layer=0, drop=True)
    ds = ds.assign(mse_id=flat * 0.001, mse_ood=flat * 0.004)
    return ds.assign(
        {f"zero_baseline_{part}": flat.isel(weights=0, drop=True) * ZERO for part in ("id", "ood")}
    ).assign_coords(label=("model", ["C", "V", "T"]))


@pytest.fixture
def maps() -> xr.Dataset:
    """Two embedding networks, bands of x and of y, and a factorised decoder without maps."""
    coords = {"model": ["none", "bands", "factorised"], "hold_out": ["square"], "seed": [0, 1]}
    ones = xr.DataArray(np.ones((3, 1, 2)), coords)
    band = xr.DataArray([0.1, 1.0, np.nan], {"model": coords["model"]}) * ones
    of = xr.DataArray(
        [[0.0, 1.0], [0.5, 0.0]], {"axis": ["x", "y"], "along": ["x", "y"]}
    )  # of x along y: 1, of y along x: 0.5
    layer = xr.DataArray([1.0, 2.0], {"layer": ["hidden", "output"]})
    ds = xr.Dataset(
        {
            "band": (band * of).expand_dims(token=[0, 1]),
            "volume_shift": -ones * layer,
            "mse_id": ones * 0.001,
            "mse_ood": ones * 0.002,
            "zero_baseline_id": ones * ZERO,
            "zero_baseline_ood": ones * ZERO,
        }
    )
    return ds.assign_coords(label=("model", ["N", "B", "Q"]))
