"""Results that are small enough to be checked by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from chapters.summary import errors


def _drawn(ood: dict[str, float], seeds: int = 3) -> xr.Dataset:
    values = np.array([[one * (1 + 0.1 * n) for n in range(seeds)] for one in ood.values()])
    over = ("model", "seed")
    ds = xr.Dataset({"mse_ood": (over, 0.5 * values), "mse_id": (over, 0.25 * 0.1 * values)})
    ds["zero_baseline_ood"] = xr.full_like(ds["mse_id"], 0.5)
    ds["zero_baseline_id"] = xr.full_like(ds["mse_id"], 0.25)
    names = [f"{model} for readers" for model in ood]
    return ds.assign_coords(model=list(ood), seed=range(seeds), label=("model", names))


@pytest.fixture
def drawn() -> Callable[..., xr.Dataset]:
    """Makes decoders with given OOD errors over the zero baseline's, which grow by a tenth with each
    seed; ID errors are a tenth of them. A zero image has 0.5 and 0.25.
    """
    return _drawn


@pytest.fixture
def nothing() -> dict[str, None]:
    """No chapter has results."""
    return dict.fromkeys(name for names in errors.READ.values() for name in names)


@pytest.fixture
def table(nothing) -> xr.DataArray:
    ood = {"vn_full": 0.01, "random_full": 0.02, "vn_flat": 0.9, "cnn4": 0.5}
    return errors.positions(nothing | {"fig2_spatial": _drawn(ood)})


@pytest.fixture
def masked() -> xr.Dataset:
    """Signals of two models: of VN-1L what is hidden costs 1, 2, 3, 4 (masks) by 1, 10, 100 (sets),
    twice that of untrained atoms, and a quarter of either if solved; a zero baseline has 8.
    """
    hidden = xr.DataArray(
        np.multiply.outer([1.0, 2.0], np.multiply.outer([1.0, 0.25], _costs()))[:, None],
        dims=("model", "seed", "protocol", "mask", "set"),
        coords={
            "model": ["vn_1", "vn_untrained"],
            "seed": [0],
            "protocol": ["zero_filled", "mask_aware"],
            "mask": ["forecast_25", "forecast_50", "random_30", "block_128"],
            "set": ["id", "easy", "hard"],
        },
    )
    zero = xr.full_like(hidden.isel(protocol=0, drop=True), 8.0)
    return xr.Dataset({"hidden": hidden, "zero_baseline_hidden": zero})


def _costs() -> np.ndarray:
    return np.multiply.outer([1.0, 2.0, 3.0, 4.0], [1.0, 10.0, 100.0])
