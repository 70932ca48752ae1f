"""Made-up results whose ratios of errors are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from data_gen import nbody

ERRORS = {  # relative to the power, the same in every cell
    "vn_256": 0.01,
    "vn_512": 0.005,
    "vn_256_vector": 0.05,
    "vn_512_vector": 0.02,
    "vn_256_random": 0.2,
    "vn_608": 0.9,
    "token_mlp": 0.2,
    "factorized": 0.25,
    "rbf_256": 0.015,
    "rbf_512": 0.008,
    "process_rational": 0.004,
    "vn_256_n100": 0.04,
    "mlp": 0.6,
    "gnn": 0.5,
    "transformer": 0.7,
    "film": 0.7,
    "factorized_dense": 0.4,
}
SEEDS = 6
AWAY = {"vn_256": 0.01, "process_rational": 0.04, "mlp": 9.0}  # squared distance at the end


@pytest.fixture
def results() -> xr.Dataset:
    """Six seeds, whose errors and powers differ by the same factor in all models; the MLP has
    three.
    """
    models, coords = list(ERRORS), {"seed": range(SEEDS), "forces": list(nbody.FORCE_SETS)}
    sizes = [len(models), SEEDS, len(nbody.FORCE_SETS), 3]
    coords = {"model": models, **coords, "bodies": [5, 4, 3]}
    factor = xr.DataArray(2 + 0.1 * np.arange(SEEDS), {"seed": list(range(SEEDS))})
    power = xr.DataArray(np.ones(sizes), coords) * factor
    power = power.where((power["model"] != "mlp") | (power["seed"] < 3))
    joint = power * xr.DataArray(list(ERRORS.values()), {"model": models})
    inference = xr.IndexVariable("inference", ["joint", "passes"])
    one = power.isel(forces=0, bodies=0, drop=True) * 0 + 1
    law = xr.DataArray(np.ones(4), {"law": list(nbody.LAWS)})
    own = one["model"].str.startswith("vn") | one["model"].str.startswith("rbf")
    at = np.linspace(-1, 1, 3)
    field = one.where(one["seed"] == 0) * xr.DataArray(
        np.ones((2, 3, 3, 2)),
        {"between": ["gravity", "spring"], "y": at, "x": at, "axis": ["x", "y"]},
    )
    ds = xr.Dataset(
        {
            "mse": xr.concat([joint, 3 * joint], inference),
            "power": power,
            "fact_parameters": 5000 * one,
            "learning_time": 7 * one,
            "telling_time": 0.5 * one,
            "law_atoms": (264 * one * law).where(own),
            "law_width": (0.3 * one * law).where(one["model"].str.startswith("rbf")),
            "told": field.where(field["model"].isin(["vn_256", "token_mlp"])),
            "true": 1.5 * field.where(field["model"].isin(["vn_256", "token_mlp"])),
        }
    )
    ds = ds.merge(paths(one)).transpose("model", "seed", ...)
    groups = ["vn" if m.startswith("vn") else "printed" for m in models]
    return ds.assign_coords(label=("model", [m.upper() for m in models]), group=("model", groups))


def paths(one: xr.DataArray) -> xr.Dataset:
    """Three starts for each of three panels, whose squared distance and energy grow evenly; the last
    is far off.
    """
    panels, steps = ["gravity", "gravity+drag", "gravity+spring+drag+lorentz"], [0, 500, 999]
    coords = {"panel": panels, "start": [0, 1, 2], "step": steps}
    grown = xr.DataArray(np.ones((3, 3, 3)), coords) * np.array(steps) / 999
    away = one * grown * xr.DataArray(list(AWAY.values()), {"model": list(AWAY)})
    away = away.reindex(model=one["model"])
    drift = away.where(away["start"] < 2, np.inf).where(away.notnull())
    energy = drift.where(~drift["panel"].str.contains("drag"))
    return xr.Dataset({"drift": drift, "energy": energy + 1, "energy_true": energy * 0 + 1})
