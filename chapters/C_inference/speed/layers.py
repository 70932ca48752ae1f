"""Several layers: sweeps and time to a gap of the joint energy, against interleaved single steps
(VN App. C).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from chapters.C_inference.speed.clock import Cost, limited, timed
from vnlib import checks
from vnlib.layer import Layer
from vnlib.settle import SCHEDULES, SettleConfig, Settler

METHODS = ("ista", "fista", "restart", "line_search")

TEXTS = {
    "wall": ("s", "time by the clock for the whole batch, setup included"),
    "cpu": ("s", "time of all threads for the whole batch, setup included"),
    "sweeps": ("1", "mean sweeps per sample"),
    "sweeps_max": ("1", "sweeps of the slowest sample"),
    "reached": ("1", "share of the samples that reached the gap"),
    "energy": ("1", "mean joint energy F"),
}


def several_layers(
    layers: Sequence[Layer],
    x: Float[Tensor, "batch d"],
    *,
    feedback: float,
    gap: float = 1e-3,
    methods: Sequence[str] = METHODS,
    schedules: Sequence[str] = SCHEDULES,
    threads: int = 1,
    repeats: int = 3,
    patience: float = 10.0,
    max_sweeps: int = 20_000,
    check_every: int = 5,
) -> xr.Dataset:
    """Sweeps and time until the relative duality gap of F is at most `gap`, over (solver,
    schedule).

    All look at the gap every `check_every` sweeps, and the looks count. Times are the least of some
    repeats in turns; patience: seconds after which one is not repeated any more. Plain interleaved
    steps are method "ista", schedule "sweep". On a GPU the time by the clock includes all its work.
    """
    checks.number("repeats", repeats, low=1, integer=True)
    checks.number("patience", patience, above=0)
    dims, shape = ("solver", "schedule"), (len(methods), len(schedules))
    table = {name: np.full(shape, np.inf) for name in TEXTS}

    def settle(method: str, schedule: str) -> object:
        config = SettleConfig.exact(
            method=method,
            schedule=schedule,
            tol=gap,
            max_sweeps=max_sweeps,
            check_every=check_every,
        )
        return Settler(layers, feedback=feedback, config=config)(x)

    with limited(threads):
        # warms up
        timed(
            lambda: Settler(layers, feedback=feedback, config=SettleConfig.momentum(max_sweeps=5))(
                x
            ),
            x.device,
        )
        spent = np.zeros(shape)
        for _ in range(repeats):
            for at in np.ndindex(shape):
                if spent[at] > patience:
                    continue
                method, schedule = methods[at[0]], schedules[at[1]]
                settled, cost = timed(lambda m=method, s=schedule: settle(m, s), x.device)
                spent[at] += cost.wall
                best = cost.least(Cost(table["wall"][at], table["cpu"][at]))
                table["wall"][at], table["cpu"][at] = best.wall, best.cpu
                table["sweeps"][at] = float(settled.sweeps.double().mean())
                table["sweeps_max"][at] = int(settled.sweeps.max())
                table["reached"][at] = float(settled.converged.double().mean())
                table["energy"][at] = float(settled.energy.double().mean())
    ds = xr.Dataset(
        {name: (dims, v) for name, v in table.items()},
        {"solver": list(methods), "schedule": list(schedules)},
    )
    for name, (units, text) in TEXTS.items():
        ds[name].attrs = {"units": units, "long_name": text}
    return ds
