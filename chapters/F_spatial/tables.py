"""Tables of spatial decoding in full (VN App. F), and the numbers that the page's prose quotes."""

from __future__ import annotations

import numpy as np
import xarray as xr

from benchmarks.spatial import tables as spatial
from benchmarks.spatial.errors import middles
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, texts
from vnlib.plots.tables import Table, if_computed, spreads

# How many times the OOD error of the second model is that of the first.
GAINS = {"care": ("factorised_care", "factorised"), "care-vn": ("factorised_care", "vn_1_8")}


def within(results: xr.Dataset, part: str) -> xr.Dataset:
    """The models of one table, in their order. KeyError where there are none."""
    inside = [part in str(parts).split() for parts in results["parts"].values]
    if not any(inside):
        raise KeyError(f"the models of {part}")
    return results.isel(model=np.flatnonzero(inside))


@if_computed
def errors(results: xr.Dataset, part: str) -> Table:
    """Errors, ratio and peaks per model of one table, and the errors of a zero image."""
    return spatial.errors(within(results, part), training=True)


@if_computed
def streams(results: xr.Dataset) -> Table:
    """How alike the streams of each model of rank 2 and 3 are."""
    names = {
        "|cosine| of images": "stream_similarity",
        "of profiles along x": "stream_similarity_x",
        "of profiles along y": "stream_similarity_y",
        "energy, weakest / strongest": "stream_share",
    }
    one = within(results, "rank")[list(names.values())].dropna("model", how="all")
    return Table(
        spreads({title: one[name] for title, name in names.items()}, "model"),
        name="similarity of streams",
    )


@if_computed
def two(results: xr.Dataset) -> Table:
    """Two bumps at once: errors, how far from additive, and the brightness of what is drawn."""
    one = within(results, "two")
    errors = {"one at a time, added": "two_single_mse", "both at once": "two_mse"}
    brightness = {"brightness at the bumps": "two_real", "at the crossings": "two_ghost"}
    quantities = errors | {"not additive": "two_additivity"}
    frame = spreads({title: one[name] for title, name in quantities.items()}, "model")
    for title, name in brightness.items():
        frame[title, ""] = median(one[name]).values
    zero = dict.fromkeys(errors, float(one["two_zero_baseline"].median()))
    frame = spatial.with_zero_baseline(frame, zero | dict.fromkeys(brightness, 0.0))
    return Table(frame, dict.fromkeys(brightness, _hundredths), name="two bumps at once")


def _hundredths(value: float) -> str:
    """Two decimals, and no minus sign before zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def spread_of_seeds(results: xr.Dataset) -> xr.DataArray:
    """By which factor the worst seed's OOD error is above the best one's, in Table 2."""
    ood = within(results, "depth")["mse_ood"]
    return ood.max("seed") / ood.min("seed")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """Medians over seeds of all models that prose names, and what they come to."""
    m, factors = middles(results), spread_of_seeds(results)
    found: dict = {name: m[name] for name in ("ood", "ratio")} | spatial.gains(m["ood"], GAINS)
    found |= {"alike": median(results["stream_similarity"]), "ghost": median(results["two_ghost"])}
    found |= {"seeds": spatial.extent(factors), "zero": results["zero_baseline_ood"].median()}
    return texts("appF", found | {"widest": label(results, factors.idxmax("model").item())})
