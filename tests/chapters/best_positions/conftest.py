"""Made-up results whose ratios of errors are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import chapter

SIDECAR = chapter.spec("best_positions").sidecar
ERRORS = {  # relative, in the hold-out, the same on all tasks; in distribution and on validation half
    "operator": 0.1,
    "operator_linked": 0.9,
    "operator_settled": 0.2,
    "operator_one": 0.5,
    "operator_trained_longer": 0.4,
    "settled_nearest": 0.25,
    "settled_coarse": 0.8,
    "operator_imputed": 0.5,
    "ridge_profiles": 0.3,
    "ridge_pairs": 0.6,
    "kernel": 0.7,
    "neighbours": 0.9,
    "factorised": 0.3,
    "factorised_longer": 0.25,
    "broadcast": 0.5,
    "cnn": 0.8,
    "vn_axes": 0.4,
}
SEEDS = 6
CODES_TO_SETTLE = ("noise", "hidden")  # where the settled code is the better one


@pytest.fixture
def results() -> xr.Dataset:
    """Six seeds, whose errors and powers differ by the same factor in all models."""
    tasks, models = list(SIDECAR["settings"]["tasks"]), list(ERRORS)
    power = xr.DataArray(
        np.ones((len(tasks), len(models), SEEDS)),
        {"task": tasks, "model": models, "seed": range(SEEDS)},
    )
    power = power * xr.DataArray(2 + 0.1 * np.arange(SEEDS), {"seed": range(SEEDS)})
    error = power * 0 + xr.DataArray(list(ERRORS.values()), {"model": models})
    swapped = error["task"].isin(CODES_TO_SETTLE)
    error = error.where(~(swapped & (error["model"] == "operator")), 0.6)
    fewer = error["task"].str.startswith("ring_")
    error = error.where(
        ~fewer | error["model"].isin(["operator", "factorised", "broadcast", "cnn"])
    )
    there = error.notnull()
    one = xr.ones_like(error).where(there)
    image = xr.DataArray(np.ones((3, 3)), dims=("y", "x"))
    found = {
        f"mse_{p}": (f * error) ** 2 * power for p, f in (("val", 0.5), ("id", 0.5), ("ood", 1))
    }
    found |= {f"power_{p}": power.where(there) for p in ("val", "id", "ood")}
    found |= {"n_train": 240 * one, "learning_time": 7 * one, "drawing_time": 1e-4 * one}
    found |= {"fact_parameters": 3000 * one, "late_gain": 0.1 * one}
    found |= {"sample_image": 0.5 * one * image, "target_image": one * image}
    return xr.Dataset(found).assign_coords(
        label=("model", [m.upper() for m in models]), group=("model", ["vn"] * len(models))
    )
