"""Several layers: time to a gap of the joint energy, by the default settle and by sweeps (VN App.
C).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from chapters.C_inference.speed.clock import in_turns, one_thread
from chapters.C_inference.speed.problems import precision
from vnlib.layer import Layer
from vnlib.settle import SettleConfig, Settled, Settler

METHODS = ("auto", "line_search", "restart")


def several_layers(
    layers: Sequence[Layer],
    x: Float[Tensor, "batch d"],
    *,
    feedback: float,
    gap: float,
    methods: Sequence[str] = METHODS,
    repeats: int = 5,
    patience: float = 5.0,
    max_sweeps: int = 20_000,
    check_every: int = 5,
) -> xr.Dataset:
    """What it costs to make the relative duality gap of F at most `gap`, setup included, over the
    methods of `SettleConfig`; "auto" is the default settle.

    Sweeps look at the gap every `check_every`, and the looks count. Times are medians of some
    repeats in turns, with one thread.

    Parameters
    ----------
    patience
        Seconds after which a method is not repeated any more.
    """
    dtype = precision(gap)
    x = x.to(dtype)
    layers = [
        replace(one, V=one.V.to(dtype), U=None if one.U is None else one.U.to(dtype))
        for one in layers
    ]
    options = {"max_sweeps": max_sweeps, "check_every": check_every}

    def settle(method: str) -> Settled:
        config = SettleConfig(method=method, criterion="gap", tol=gap, **options)
        return Settler(layers, feedback=feedback, config=config)(x)

    with one_thread():
        for method in methods:  # loads and compiles what is needed
            config = SettleConfig(method=method, tol=1.0)
            Settler(layers, feedback=feedback, config=config)(x[:1])
        calls = {method: lambda method=method: settle(method) for method in methods}
        found = in_turns(calls, repeats=repeats, patience=patience).values()
    table = {
        "wall": [cost.wall for _, cost in found],
        "cpu": [cost.cpu for _, cost in found],
        "sweeps": [float(settled.sweeps.double().mean()) for settled, _ in found],
        "reached": [float(settled.converged.double().mean()) for settled, _ in found],
        "energy": [float(settled.energy.double().mean()) for settled, _ in found],
    }
    variables = {name: ("solver", np.array(values)) for name, values in table.items()}
    return xr.Dataset(variables, {"solver": list(methods)}).assign(n_samples=len(x))
