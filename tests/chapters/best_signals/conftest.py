"""Made-up results whose ratios of errors are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import chapter

MASKS = ("forecast_25", "forecast_50", "block_128", "random_30")
SETS = ("id", "easy", "hard")
MODELS = chapter.spec("best_signals").sidecar["models"]
ERRORS = {  # model -> error on every signal as it draws; carried it is half of that
    "vn_2048": 0.02,
    "vn_fine_only": 0.5,
    "vn_no_fine": 0.1,
    "vn_one_chain": 0.03,
    "vn_best_support": 0.04,
    "vn_three_slots": 0.05,
    "vn_256": 0.04,
    "vn_256_learned": 0.06,
    "vn_fixed": 0.08,
    "process_rq": 0.2,
    "process_matern": 0.3,
    "process_se": 0.4,
    "exemplars": 0.05,
    "deep_ae_masked": 0.6,
    "transformer_masked": 0.7,
    "linear": 1.0,
    "hold_last": 1.1,
}
SIGNALS, FEW = 8, 3


@pytest.fixture
def results() -> xr.Dataset:
    """Six seeds, whose errors differ by the same factor in all models; ingredients were given three
    signals and no scattered samples.
    """
    coords = {
        "model": list(ERRORS),
        "seed": list(range(6)),
        "mask": list(MASKS),
        "set": list(SETS),
        "step": ["drawn", "carried"],
        "case": list(range(SIGNALS)),
    }
    seed = xr.DataArray(1 + 0.1 * np.arange(6), {"seed": coords["seed"]})
    case = xr.DataArray(np.linspace(0.5, 1.5, SIGNALS), {"case": coords["case"]})
    step = xr.DataArray([1.0, 0.5], {"step": coords["step"]})
    model = xr.DataArray(list(ERRORS.values()), {"model": coords["model"]})
    ones = xr.DataArray(np.ones([len(v) for v in coords.values()]), coords)
    few = xr.DataArray([MODELS[m].get("few", False) for m in ERRORS], {"model": coords["model"]})
    given = ~few | ((ones["mask"] != "random_30") & (ones["case"] < FEW))
    hidden = (ones * model * seed * case * step).where(given)
    per_cell = ones.isel(step=0, case=0, drop=True)
    slots = xr.DataArray(
        [m.startswith("vn") for m in ERRORS], {"model": coords["model"]}, name="slots"
    )
    pictures = {"picture_mask": list(MASKS[:3]), "example": [f"{s} 0" for s in SETS]}
    time = np.linspace(0, 1, 16)
    wave = xr.DataArray(np.sin(6 * time), {"time": time}).expand_dims(pictures)
    wave = wave.expand_dims(model=coords["model"], seed=coords["seed"])
    drawn = wave.where((wave["seed"] == 0) & ~few)
    return xr.Dataset(
        {
            "hidden": hidden,
            "power": (ones.isel(step=0, drop=True) * case).where(given),
            "signal_time": per_cell.isel(set=0, drop=True) * 0.3,
            "learning_time": per_cell.isel(mask=0, set=0, drop=True) * 7,
            "truth": drawn,
            "seen": xr.ones_like(drawn).where(drawn["time"] < 0.6, 0).where(drawn.notnull()),
            "filled": (drawn + 0.1).expand_dims(step=coords["step"]),
        }
        | {
            name: (per_cell * 3).where(slots)
            for name in ("fact_atoms", "fact_log_variance", "fact_scale")
        }
    ).assign_coords(
        label=("model", [MODELS[m]["label"] for m in ERRORS]),
        group=("model", [MODELS[m]["group"] for m in ERRORS]),
    )
