"""Tables of spatial decoding in full (VN App. F), and the numbers that the page's prose quotes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from IPython.display import HTML

from benchmarks.spatial import tables as spatial
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, caption, spread

NOTHING = "Not computed in this profile."


def within(results: xr.Dataset, part: str) -> xr.Dataset:
    """The models of one table, in their order."""
    inside = [part in str(parts).split() for parts in results["parts"].values]
    return results.isel(model=np.flatnonzero(inside))


def errors(results: xr.Dataset, part: str) -> Table | HTML:
    """Errors, ratio and peaks per model of one table, and the errors of a zero image."""
    one = within(results, part)
    return spatial.errors(one, training=True) if one.sizes["model"] else caption(NOTHING)


def streams(results: xr.Dataset) -> Table | HTML:
    """How alike the streams of each model of rank 2 and 3 are."""
    one = within(results, "rank")
    if "stream_similarity" not in one or not one["stream_similarity"].notnull().any():
        return caption(NOTHING)
    one = one.isel(model=one["stream_similarity"].notnull().any("seed").values)
    names = {
        "|cosine| of images": "stream_similarity",
        "of profiles along x": "stream_similarity_x",
        "of profiles along y": "stream_similarity_y",
        "energy, weakest / strongest": "stream_share",
    }
    frames = [spread(one[name], "model", title=title) for title, name in names.items()]
    return Table(pd.concat(frames, axis=1), name="similarity of streams")


def two(results: xr.Dataset) -> Table | HTML:
    """Two bumps at once: errors, how far from additive, and the brightness of what is drawn."""
    one = within(results, "two")
    if not one.sizes["model"]:
        return caption(NOTHING)
    names = {
        "one at a time, added": "two_single_mse",
        "both at once": "two_mse",
        "not additive": "two_additivity",
    }
    frame = pd.concat(
        [spread(one[name], "model", title=title) for title, name in names.items()], axis=1
    )
    frame["brightness at the bumps", ""] = median(one["two_real"]).values
    frame["at the crossings", ""] = median(one["two_ghost"]).values
    zero = float(one["two_zero_baseline"].median())
    frame = spatial.with_zero_baseline(
        frame,
        {
            "one at a time, added": zero,
            "both at once": zero,
            "brightness at the bumps": 0.0,
            "at the crossings": 0.0,
        },
    )
    brightness = ("brightness at the bumps", "at the crossings")
    return Table(frame, dict.fromkeys(brightness, _hundredths), name="two bumps at once")


def _hundredths(value: float) -> str:
    """Two decimals, and no minus sign before zero."""
    return f"{round(value, 2) + 0.0:.2f}"


# --- what prose quotes ---


def spread_of_seeds(results: xr.Dataset) -> dict[str, float]:
    """By which factor the worst seed's OOD error is above the best one's, in Table 2."""
    one = within(results, "depth")
    factor = one["mse_ood"].max("seed") / one["mse_ood"].min("seed")
    return dict(zip(factor["model"].values.tolist(), factor.values.tolist(), strict=True))


def numbers(results: xr.Dataset) -> dict[str, str]:
    """Medians over seeds of all models that prose names, and what they come to."""
    found = {"appF-zero": short(float(results["zero_baseline_ood"].median()))}
    quoted = {
        "ood": "mse_ood",
        "ratio": "ratio",
        "alike": "stream_similarity",
        "ghost": "two_ghost",
    }
    for key, variable in quoted.items():
        if variable == "ratio" or variable in results:
            values = spatial.medians(results, results["model"].values.tolist(), variable)
            found |= {f"appF-{key}-{m}": short(v) for m, v in values.items() if np.isfinite(v)}
    if factors := spread_of_seeds(results):
        widest = max(factors, key=factors.__getitem__)
        found["appF-seeds"] = spatial.extent(list(factors.values()))
        found["appF-widest"] = label(results, widest)
    for key, (better, worse) in GAINS.items():
        values = spatial.medians(results, (better, worse))
        if len(values) == 2:
            found[f"appF-{key}"] = short(values[worse] / values[better])
    return found


# How many times the OOD error of the second model is that of the first.
GAINS = {
    "care": ("factorised_care", "factorised"),
    "care-vn": ("factorised_care", "vn_1_8"),
}
