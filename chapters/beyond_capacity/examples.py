"""An input or two of each benchmark, to be shown."""

from __future__ import annotations

import xarray as xr

from data_gen import digits, mnist, nbody, signals


def inputs() -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """Signals, images and bodies, made as those of the runs are."""
    images = mnist.load("test", n=40, allow_fallback=True)["image"].values
    return (
        signals.make(signals.SignalConfig(n_train=64, n_val=1, n_test=16)),
        digits.make(images, n=1, seed=3, sets=("id", "add2")),
        nbody.make(nbody.NBodyConfig(n_train=1, n_val=1, n_test=1, steps=50, test_seed=7)),
    )
