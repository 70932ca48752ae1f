"""Codes of positions with noise, and with entries that nobody sees."""

from __future__ import annotations

import numpy as np
import xarray as xr

from data_gen import guards


def corrupted(data: xr.Dataset, *, noise: float, hidden: float, seed: int) -> xr.Dataset:
    """Data of positions whose `code` (position, entry) has Gaussian noise, and zeros where it is
    hidden; `observed`, of the same dimensions, says where it is not.

    Parameters
    ----------
    noise
        Standard deviation of the noise of every entry.
    hidden
        Share of entries that are hidden, each by itself.
    seed
        Of both.

    Raises
    ------
    ValueError
        For noise below 0, and for a share below 0 or not below 1.
    """
    guards.seeds(seed=seed)
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise must be a number >= 0, got {noise!r}")
    if not 0 <= hidden < 1:
        raise ValueError(f"hidden must be a number >= 0 and < 1, got {hidden!r}")
    rng = np.random.default_rng(seed)
    code = data["code"]
    noisy = code.values + noise * rng.standard_normal(code.shape)
    seen = rng.random(code.shape) >= hidden
    return data.assign(
        code=(code.dims, np.where(seen, noisy, 0.0).astype(np.float32), code.attrs),
        observed=(code.dims, seen, {"long_name": "whether an entry is seen"}),
    )
