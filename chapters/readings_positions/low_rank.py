"""The readings of FR-3: maps of low rank compose, from the results of FR Fig. 3."""

from __future__ import annotations

import numpy as np
import xarray as xr

from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import Choice, Exclusion, Reading, Statement
from benchmarks.readings.curve import above, below
from chapters.readings_positions.common import BAND, SEEDS, counted, summed

FOUR = ("none", "entropy", "variance", "both")
HOLD_OUT = Choice(
    name="hold_out",
    says="hold-out",
    options={"both": "both, the worse", "square": "square", "large_corner": "corner"},
)
POINT = Choice(
    name="point",
    says="point in training",
    options={
        "reported": "least validation error",
        "1": "the end",
        "0.5": "half-way",
        "0.1": "after a tenth",
    },
)
UNIT = Choice(
    name="unit",
    says="unit of the error",
    options={"mse": "mean square", "rmse": "root of it"},
)
MEASURE = Choice(
    name="measure",
    says="what is measured",
    options={"mse": "mean squared error", "rmse": "root of it", "hit": "peaks within 1 px"},
)
PEAKS = Exclusion(
    options={"measure": ["hit"], "point": ["1", "0.5", "0.1"]},
    why="peaks were counted at the least validation error only",
)
# A share of readings must not count the same one twice.
ROOTS = {
    name: Exclusion(
        options={name: ["rmse"]},
        why="the root of an error is that error again, with another bound or the same",
    )
    for name in ("unit", "measure")
}
COMPARED = Choice(
    name="compared",
    says="how settings are compared",
    options={"summary": "summaries of seeds", "paired": "seed by seed"},
)
HELPS = Choice(
    name="unit",
    says="unit of the error",
    options={
        "mse": "ratio of mean squares",
        "rmse": "ratio of their roots",
        "absolute": "difference, a third of the zero baseline's",
    },
)


def gathered(results: xr.Dataset) -> xr.Dataset:
    """Errors over (model, hold_out, seed, point): `ood` over the zero baseline's, `hit`, `learned`.

    Peaks were counted at the reported point only.
    """
    r = results.sel(model=[name for name in FOUR if name in results["model"].values])
    zero, step = r["zero_baseline_ood"], r["curve_step"]
    along = [r["mse_ood"] / zero]
    for share in ("1", "0.5", "0.1"):
        seen = (step <= float(share) * step.max("checkpoint")).sum("checkpoint")
        along.append(r["curve_ood"].isel(checkpoint=(seen - 1).clip(min=0)) / zero)
    ood = xr.concat(along, "point").assign_coords(point=[*POINT.options])
    learned = r["mse_id"] <= 0.5 * r["zero_baseline_id"]
    found = xr.Dataset({"ood": ood, "hit": r["hit_ood"], "learned": learned})
    return found.reset_coords(drop=True)


def _errors(r: Arrays, reading: Reading, model: str) -> np.ndarray:
    """OOD errors over the zero baseline's at a point, over (hold_out, seed), of the runs that count."""
    errors = r("ood", model=model, point=reading["point"])
    return counted(errors, r("learned", model=model), reading)


def _worse(r: Arrays, margin: np.ndarray, reading: Reading) -> np.ndarray:
    """The margin in the hold-outs of a reading, of those in the last axis."""
    if reading["hold_out"] == "both":
        return margin.min(-1)
    return margin[..., r.labels["hold_out"][reading["hold_out"]]]


def _hits(r: Arrays, reading: Reading, model: str, *, high: bool) -> np.ndarray:
    """The share of peaks within 1 px."""
    hits = counted(r("hit", model=model), r("learned", model=model), reading)
    return summed(hits, reading, high=high)


def composes(r: Arrays, reading: Reading) -> np.ndarray:
    """With both penalties the network composes."""
    if reading["measure"] == "hit":
        margin = above(_hits(r, reading, "both", high=True), 0.9)
    else:
        margin = below(summed(_errors(r, reading, "both"), reading, high=False), 0.1)
    return _worse(r, margin, reading)


def fails(r: Arrays, reading: Reading) -> np.ndarray:
    """Without penalties it does not."""
    if reading["measure"] == "hit":
        margin = below(_hits(r, reading, "none", high=False).clip(1e-3), 0.5)
    else:
        margin = above(summed(_errors(r, reading, "none"), reading, high=True), 0.5)
    return _worse(r, margin, reading)


def _ratio(r: Arrays, reading: Reading, one: str, other: str, *, high: bool) -> np.ndarray:
    """The error of one setting over another's, seeds as one number before or after."""
    own, rest = (_errors(r, reading, model) for model in (one, other))
    if reading["compared"] == "paired":
        return summed(own / rest, reading, high=high)
    return summed(own, reading, high=high) / summed(rest, reading, high=not high)


def variance_helps(r: Arrays, reading: Reading) -> np.ndarray:
    """The variance penalty alone takes two thirds of the error at least."""
    if reading["unit"] == "absolute":
        none, variance = (_errors(r, reading, model) for model in ("none", "variance"))
        if reading["compared"] == "paired":
            gained = summed(none - variance, reading, high=True)
        else:
            gained = summed(none, reading, high=True) - summed(variance, reading, high=False)
        return _worse(r, above(gained.clip(1e-3), 1 / 3), reading)
    return _worse(r, below(_ratio(r, reading, "variance", "none", high=False), 1 / 3), reading)


def entropy_helps(r: Arrays, reading: Reading) -> np.ndarray:
    """The entropy penalty alone takes a part of the error, half of it at most."""
    some = below(_ratio(r, reading, "entropy", "none", high=False), 1.0)
    little = above(_ratio(r, reading, "entropy", "none", high=True), 0.5)
    return _worse(r, np.minimum(some, little), reading)


def both_lowest(r: Arrays, reading: Reading) -> np.ndarray:
    """Both penalties have the lowest error of the four settings."""
    ratios = [_ratio(r, reading, "both", name, high=False) for name in FOUR[:3]]
    return _worse(r, below(np.max(ratios, 0), 1.0), reading)


def none_highest(r: Arrays, reading: Reading) -> np.ndarray:
    """No penalty has the highest error of the four settings."""
    ratios = [_ratio(r, reading, "none", name, high=True) for name in FOUR[1:]]
    return _worse(r, above(np.min(ratios, 0), 1.0), reading)


SHARED = (HOLD_OUT, POINT, SEEDS)
STATEMENTS = (
    Statement(
        id="FR-3 composes",
        says="An embedding network with both penalties composes",
        choices=(*SHARED, MEASURE),
        margin=composes,
        excluded=(PEAKS, ROOTS["measure"]),
        band=BAND,
    ),
    Statement(
        id="FR-3 fails",
        says="Without penalties it does not",
        choices=(*SHARED, MEASURE),
        margin=fails,
        excluded=(PEAKS, ROOTS["measure"]),
        band=BAND,
    ),
    Statement(
        id="FR-3 none highest",
        says="Without penalties the OOD error is the highest of the four settings",
        choices=(*SHARED, UNIT, COMPARED),
        margin=none_highest,
        excluded=(ROOTS["unit"],),
        band=BAND,
    ),
    Statement(
        id="FR-3 entropy",
        says="The entropy penalty alone takes a part of the OOD error, half at most",
        choices=(*SHARED, UNIT, COMPARED),
        margin=entropy_helps,
        excluded=(ROOTS["unit"],),
        band=BAND,
    ),
    Statement(
        id="FR-3 variance",
        says="The variance penalty alone takes two thirds of the OOD error at least",
        choices=(*SHARED, HELPS, COMPARED),
        margin=variance_helps,
        excluded=(ROOTS["unit"],),
        band=BAND,
    ),
    Statement(
        id="FR-3 both lowest",
        says="Both penalties have the lowest OOD error of the four settings",
        choices=(*SHARED, UNIT, COMPARED),
        margin=both_lowest,
        excluded=(ROOTS["unit"],),
        band=BAND,
    ),
)
