"""How much data a decoder needs (FR Sec. 4.2, Fig. 4c)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float, Real

from vnlib import checks


def crossing(
    items: Real[np.ndarray, " doses"], accuracy: Float[np.ndarray, " doses"], target: float
) -> float:
    """The number of items at which an accuracy, straight in log(items) between the doses, first
    reaches a target: the least dose where it is there at once, inf where it never is.
    """
    reached = np.flatnonzero(accuracy >= target)
    if not len(reached):
        return float("inf")
    n = reached[0]
    if not n:
        return float(items[0])
    span = slice(n - 1, n + 1)
    return float(np.exp(np.interp(target, accuracy[span], np.log(items[span]))))


def needs(report: xr.Dataset, *, targets: Sequence[float]) -> xr.Dataset:
    """`need` (..., target): the fewest training items with which a target accuracy is reached (see
    `crossing`). An item is a stripe or a bump.

    Parameters
    ----------
    report
        `dose_items` and `accuracy`, the one along some of the other's dimensions, both along dose.
    """
    for target in targets:
        checks.number("each of targets", target, above=0, high=1)
    per_target = [
        xr.apply_ufunc(
            partial(crossing, target=target),
            report["dose_items"],
            report["accuracy"],
            input_core_dims=[["dose"], ["dose"]],
            vectorize=True,
        )
        for target in targets
    ]
    return xr.Dataset({"need": xr.concat(per_target, pd.Index(targets, name="target"))})
