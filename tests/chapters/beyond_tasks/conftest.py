"""Made-up results of three decoders on all tasks, whose errors are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.beyond_tasks.figures import LONGER, TASKS

# model -> group, ID and OOD error over the zero baseline's, late gain
MODELS = {
    "vn_axes": ("vn", 1e-8, 1e-8, 0.5),
    "cnn": ("entangled", 0.02, 0.6, 0.01),
    "additive": ("sum", 0.7, 1.4, 0.03),
    "outer": ("closed", 1e-3, 2e-3, np.nan),
}
ZERO = 0.01


@pytest.fixture
def results() -> xr.Dataset:
    """Three seeds, errors times 0.5, 1 and 2; the last task lacks the first and the last model.
    Longer trainings have two seeds and a tenth of the OOD errors.
    """
    coords = {"task": [*TASKS, *LONGER], "model": list(MODELS), "seed": [0, 1, 2]}
    ones = xr.DataArray(np.ones([len(v) for v in coords.values()]), coords)
    told = np.array([row[1:] for row in MODELS.values()])
    by_model = [xr.DataArray(told[:, k], {"model": list(MODELS)}) for k in range(3)]
    factor = xr.DataArray([0.5, 1.0, 2.0], {"seed": [0, 1, 2]})
    ds = xr.Dataset(
        {
            "mse_id": ones * by_model[0] * ZERO,
            "mse_ood": ones * by_model[1] * factor * ZERO,
            "zero_baseline_id": ones * ZERO,
            "zero_baseline_ood": ones * ZERO,
            "late_gain": ones * by_model[2],
            "n_parameters": 10 * ones,
            "samples_seen": 1000 * ones,
            "held_out": 0.25 * ones,
            "condition": 58.5 * ones,
            "target_terms": ones,
        }
    )
    gone = (ds["task"] == "penalty_decay") & ds["model"].isin(["vn_axes", "outer"])
    long = ds["task"].isin(list(LONGER))
    ds = ds.where(~gone & (~long | (ds["seed"] < 2)))
    ds["mse_ood"] = ds["mse_ood"].where(~long, 0.1 * ds["mse_ood"])
    for name in ("sample_image", "target_image"):
        ds[name] = ones.where(ones["seed"] == 0).expand_dims(y=4, x=4)
    labels = [m.upper() for m in MODELS]
    groups = [row[0] for row in MODELS.values()]
    return ds.assign_coords(label=("model", labels), group=("model", groups))
