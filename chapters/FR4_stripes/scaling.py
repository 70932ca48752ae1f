"""How much data a decoder needs, and how that grows with the image (FR Sec. 4.2, Fig. 4c)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float, Real

from vnlib import checks, seeding

KINDS = ("bumps", "stripes")
MEASURES = ("hit", "bump_hit")


def needs(report: xr.Dataset, *, targets: Sequence[float]) -> xr.Dataset:
    """The fewest training items with which a target accuracy out of distribution is reached.

    Parameters
    ----------
    report
        `hit_ood`, `bump_hit_ood`, `items` and `stripes` (0 or 1), each (diet).

    Returns
    -------
    xr.Dataset
        `need` (kind, measure, target), inf where no diet of the kind reaches the target, and `most`
        (kind), the largest number of items tried (NaN for a kind without diets). An item is a
        stripe or a bump.
    """
    for target in targets:
        checks.number("each of targets", target, above=0, high=1)
    need = np.full((len(KINDS), len(MEASURES), len(targets)), np.nan)
    most = np.full(len(KINDS), np.nan)
    items, stripes = report["items"].values.astype(float), report["stripes"].values
    for k in range(len(KINDS)):
        of_kind = stripes == k
        if not of_kind.any():
            continue
        most[k] = items[of_kind].max()
        for m, measure in enumerate(MEASURES):
            accuracy = report[f"{measure}_ood"].values[of_kind]
            for t, target in enumerate(targets):
                need[k, m, t] = items[of_kind][accuracy >= target].min(initial=np.inf)
    return xr.Dataset(
        {
            "need": (("kind", "measure", "target"), need),
            "most": (("kind",), most),
        },
        {"kind": list(KINDS), "measure": list(MEASURES), "target": list(targets)},
    )


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
    """`law` for every kind, measure and target of `need` (model, seed, kind, measure, target)."""
    names = ("exponent", "low", "high", "reached", "sides")
    shape = [results.sizes[d] for d in ("kind", "measure", "target")]
    found = {name: np.full(shape, np.nan) for name in names}
    table = (
        results["need"]
        .sel(model=list(models))
        .transpose("kind", "measure", "target", "model", "seed")
        .values
    )
    for at in np.ndindex(*shape):
        for name, value in law(sides, table[at], seed=seed).items():
            found[name][at] = value
    coords = {d: results[d].values for d in ("kind", "measure", "target")}
    return xr.Dataset({n: (("kind", "measure", "target"), v) for n, v in found.items()}, coords)
