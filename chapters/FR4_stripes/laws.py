"""How the need of data grows with the image: a power of its side (FR Sec. 4.2, Fig. 4c)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float, Real

from chapters.FR4_stripes.claims import sizes
from vnlib.book import resampling

FITTED = ("exponent", "low", "high", "reached", "sides")


def exponent(sides: Real[np.ndarray, " sides"], need: Float[np.ndarray, "sides seeds"]) -> float:
    """The slope of log(median need) in log(side): b of need = a side^b.

    Sides where the median need is infinite (never reached) are left out; NaN with fewer than three
    others.
    """
    middle = _middle(need)
    reached = np.isfinite(middle)
    if reached.sum() < 3:
        return float("nan")
    return float(np.polyfit(np.log(sides[reached]), np.log(middle[reached]), 1)[0])


def law(
    sides: Real[np.ndarray, " sides"], need: Float[np.ndarray, "sides seeds"]
) -> dict[str, float]:
    """`exponent` with its 95 % interval (low, high) over seeds (see `resampling`), NaN where these
    tell none.

    reached: share of (side, seed) that reach the target; sides: how many the fit rests on.

    Raises
    ------
    ValueError
        For sizes that do not agree.
    """
    if need.ndim != 2 or len(sides) != len(need):
        raise ValueError(
            f"need must have one row per side ({len(sides)}), got the shape {need.shape}"
        )
    seeds, slope = need.shape[1], exponent(sides, need)
    drawn = np.array([exponent(sides, need[:, chosen]) for chosen in resampling.subsets(seeds)])
    ends = np.ravel(resampling.interval(drawn[:, None], np.array([slope]), seeds))
    low, high = np.where(np.isfinite(ends), ends, np.nan)
    return {
        "exponent": slope,
        "low": float(low),
        "high": float(high),
        "reached": float(np.isfinite(need).mean()),
        "sides": float(np.isfinite(_middle(need)).sum()),
    }


def laws(results: xr.Dataset) -> xr.Dataset:
    """`law` for every reading of `need`, and `at_once`: the share of runs that are there with the
    least dose, whose need is that dose by construction. Nothing without models of other sides.
    """
    models = sizes(results)
    if not models:
        return xr.Dataset()
    some = results[["need", "dose_items"]].sel(model=list(models))
    some = some.dropna("seed", how="all", subset=["need"])
    others = [d for d in some["need"].dims if d not in ("model", "seed")]
    table = some["need"].transpose(*others, "model", "seed")
    sides, found = np.array(list(models.values()), float), {}
    for name in FITTED:
        found[name] = (others, np.full(table.shape[:-2], np.nan))
    for at in np.ndindex(*table.shape[:-2]):
        for name, value in law(sides, table.values[at]).items():
            found[name][1][at] = value
    first = some["dose_items"].isel(dose=0)
    at_once = (table == first).mean(("model", "seed"))
    return xr.Dataset(found, {d: table[d].values for d in others}).assign(at_once=at_once)


def _middle(need: Float[np.ndarray, "sides seeds"]) -> Float[np.ndarray, " sides"]:
    """The lower median over seeds: no mean with inf."""
    return np.sort(need, axis=1)[:, (need.shape[1] - 1) // 2]
