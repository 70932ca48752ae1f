"""Made-up results of image composition, of which everything is known."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from data_gen import digits, motions

# ID error in 10⁻³ and growth in all other sets.
MODELS = {
    "vn_1": ("vn", 5.0, 1.5),
    "vn_3": ("vn", 6.0, 1.5),
    "vn_1_longer": ("longer", 4.5, 1.2),
    "ae": ("printed", 5.1, 3.0),
    "ae_signed": ("control", 8.0, 2.0),
    "dct": ("control", 5.0, 1.2),
    "zero_baseline": ("control", 100.0, 3.0),
    "m_vn_1": ("vn", 5.0, 2.0),
    "m_ae": ("printed", 5.5, 4.0),
    "m_zero_baseline": ("control", 40.0, 3.0),
}
SETS = {"digits": digits.SETS, "motions": motions.SETS}


def benchmark(model: str) -> str:
    return "motions" if model.startswith("m_") else "digits"


@pytest.fixture(scope="session")
def fig5_results() -> xr.Dataset:
    seeds, stages, samples = 3, 4, 5
    r = xr.Dataset(
        coords={
            "model": list(MODELS),
            "seed": range(seeds),
            "reading": ["own", "top", "searched"],
            "set": [*digits.SETS, *motions.SETS],
            "layer": [1, 2, 3],
            "stage": range(stages),
            "evaluation": np.arange(1, 11) / 10,
        }
    )

    def empty(*dims: str, **more: int) -> tuple:
        return (*dims, *more), np.full([*(r.sizes[d] for d in dims), *more.values()], np.nan)

    r["mse"], r["zero_baseline"] = (
        empty("model", "seed", "reading", "set"),
        empty("model", "seed", "set"),
    )
    r["active"], r["criterion"] = empty("model", "seed", "layer", "set"), empty("model", "seed")
    r["curve"], r["case"] = (
        empty("model", "seed", "evaluation"),
        empty("model", "seed", "set", sample=samples),
    )
    r["path_mse"], r["path_error"] = (
        empty("model", "seed", "stage", "set"),
        empty("model", "seed", "stage"),
    )
    r["truth"] = empty("model", "seed", "set", y=4, x=4)
    r["drawn"] = empty("model", "seed", "reading", "set", y=4, x=4)
    for model, (_, inside, growth) in MODELS.items():
        sets = SETS[benchmark(model)]
        own = {"model": model, "reading": "own"}
        r["mse"].loc[own | {"set": list(sets)}] = 1e-3 * inside * growth
        r["mse"].loc[own | {"set": sets[0]}] = 1e-3 * inside
        r["zero_baseline"].loc[{"model": model, "set": list(sets)}] = 0.1
        r["criterion"].loc[{"model": model}] = 1e-3 * inside
        r["active"].loc[{"model": model, "layer": 1, "set": list(sets)}] = 60
        r["case"].loc[{"model": model, "seed": 0, "set": list(sets)}] = inside
        r["truth"].loc[{"model": model, "seed": 0, "set": list(sets)}] = 1
        r["drawn"].loc[own | {"seed": 0, "set": list(sets)}] = 0.9
        if "zero_baseline" not in model and model != "dct":
            r["curve"].loc[{"model": model}] = np.linspace(2, 1, 10)
    r["active"].loc[{"model": ["vn_1", "m_vn_1"], "layer": 1, "set": ["addsub4", "RTS_x3"]}] = 90
    r["active"] = r["active"].where(r["zero_baseline"].notnull())
    r["active"].loc[{"model": "vn_3", "layer": [2, 3], "set": list(digits.SETS)}] = 30
    r["mse"].loc[{"model": "vn_3", "reading": "top", "set": list(digits.SETS)}] = 0.2
    r["mse"].loc[{"model": "ae", "reading": "searched"}] = 0.5 * r["mse"].sel(
        model="ae", reading="own"
    )
    r["mse"].loc[{"model": "ae", "set": "sub2"}] *= 10
    for model in ("ae", "m_ae"):
        r["path_error"].loc[{"model": model}] = [0.4, 0.3, 0.2, 0.1]
        r["path_mse"].loc[{"model": model, "set": list(SETS[benchmark(model)])}] = 0.2
    family = {m: "vn" if group == "vn" else "autoencoder" for m, (group, _, _) in MODELS.items()}
    made = {"steps": 100, "options": {"evaluations": 10}}
    settings = [json.dumps({"training": made | {"family": one}}) for one in family.values()]
    r["run_settings"] = (("model", "seed"), np.array([settings] * seeds).T)
    told = {
        "label": ("model", [m.upper() for m in MODELS]),
        "group": ("model", [g for g, _, _ in MODELS.values()]),
        "benchmark": ("model", [benchmark(m) for m in MODELS]),
    }
    return r.assign_coords(told)
