"""How much data a decoder needs, and how that grows with the image (FR Sec. 4.2, Fig. 4c)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import xarray as xr
from jaxtyping import Float, Real

from vnlib import checks, seeding

FITTED = ("exponent", "low", "high", "reached", "sides")


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


def exponent(sides: Real[np.ndarray, " sides"], need: Float[np.ndarray, "sides seeds"]) -> float:
    """The slope of log(median need) in log(side): b of need = a side^b.

    Sides where the median need is infinite (never reached) are left out; NaN with fewer than three
    others.
    """
    # the lower median: no mean with inf
    middle = np.sort(need, axis=1)[:, (need.shape[1] - 1) // 2]
    reached = np.isfinite(middle)
    if reached.sum() < 3:
        return float("nan")
    return float(np.polyfit(np.log(np.asarray(sides)[reached]), np.log(middle[reached]), 1)[0])


def law(
    sides: Sequence[int], need: Float[np.ndarray, "sides seeds"], *, seed: int, resamples: int = 500
) -> dict[str, float]:
    """`exponent` with a 95 % interval (low, high) from resampling the seeds of every side, by
    themselves.

    reached: share of (side, seed) that reach the target; sides: how many the fit rests on. The
    interval is that of the resamples that can be fitted, NaN where none can.

    Raises
    ------
    ValueError
        For sizes that do not agree.
    """
    checks.number("resamples", resamples, low=1, integer=True)
    if need.ndim != 2 or len(sides) != len(need):
        raise ValueError(
            f"need must have one row per side ({len(sides)}), got the shape {need.shape}"
        )
    rng = np.random.default_rng(seeding.derive(seed, "bootstrap"))
    picks = rng.integers(need.shape[1], size=(resamples, *need.shape))
    slopes = [exponent(np.asarray(sides), np.take_along_axis(need, pick, axis=1)) for pick in picks]
    fitted = [s for s in slopes if np.isfinite(s)]
    low, high = np.quantile(fitted, [0.025, 0.975]) if fitted else (np.nan, np.nan)
    median = np.sort(need, axis=1)[:, (need.shape[1] - 1) // 2]
    return {
        "exponent": exponent(np.asarray(sides), need),
        "low": float(low),
        "high": float(high),
        "reached": float(np.isfinite(need).mean()),
        "sides": float(np.isfinite(median).sum()),
    }


def laws(
    results: xr.Dataset, *, models: Sequence[str], sides: Sequence[int], seed: int = 0
) -> xr.Dataset:
    """`law` for every reading of `need` (model, seed, ...), and `at_once`: the share of runs that
    are there with the least dose, whose need is that dose by construction.
    """
    need = results["need"].sel(model=list(models))
    others = [d for d in need.dims if d not in ("model", "seed")]
    table = need.transpose(*others, "model", "seed")
    found = {name: np.full(table.shape[:-2], np.nan) for name in FITTED}
    for at in np.ndindex(*table.shape[:-2]):
        for name, value in law(sides, table.values[at], seed=seed).items():
            found[name][at] = value
    first = results["dose_items"].sel(model=list(models)).isel(dose=0)
    at_once = (need == first).mean(("model", "seed"))
    fits = xr.Dataset(
        {name: (others, values) for name, values in found.items()},
        {d: need[d].values for d in others},
    )
    return fits.assign(at_once=at_once)
