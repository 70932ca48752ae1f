"""Results that are small enough to be checked by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from chapters.summary import swaps


def _drawn(errors: dict[str, float], seeds: int = 3) -> xr.Dataset:
    ood = np.array([[value * (1 + 0.1 * n) for n in range(seeds)] for value in errors.values()])
    over = ("model", "seed")
    ds = xr.Dataset({"mse_ood": (over, 0.5 * ood), "mse_id": (over, 0.25 * 0.1 * ood)})
    ds["zero_baseline_ood"] = xr.full_like(ds["mse_id"], 0.5)
    ds["zero_baseline_id"] = xr.full_like(ds["mse_id"], 0.25)
    names = [f"{model} for readers" for model in errors]
    return ds.assign_coords(model=list(errors), seed=range(seeds), label=("model", names))


@pytest.fixture
def drawn() -> Callable[..., xr.Dataset]:
    """Makes decoders with given OOD errors over a zero image's, which grow by a tenth with each
    seed; ID errors are a tenth of them. A zero image has 0.5 and 0.25.
    """
    return _drawn


@pytest.fixture
def nothing() -> dict[str, None]:
    """No chapter has results."""
    return dict.fromkeys(name for names in swaps.READ.values() for name in names)


@pytest.fixture
def table(nothing) -> xr.Dataset:
    errors = {"vn_full": 0.01, "random_full": 0.02, "vn_flat": 0.9, "cnn4": 0.5}
    return swaps.positions(nothing | {"fig2_spatial": _drawn(errors)})
