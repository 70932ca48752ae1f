"""Tables of spatial decoding in full (VN App. F), and the numbers that the page's prose quotes."""

from __future__ import annotations

import numpy as np
import xarray as xr

from benchmarks.spatial import tables as spatial
from benchmarks.spatial.errors import middles
from vnlib.plots.frames import label
from vnlib.plots.statistics import texts
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
    titles = {
        "stream_similarity": "|cosine| of images",
        "stream_similarity_x": "of profiles along x",
        "stream_similarity_y": "of profiles along y",
        "stream_share": "energy, weakest / strongest",
    }
    streams = within(results, "rank")[[*titles]].rename(titles).dropna("model", how="all")
    return Table(spreads(streams, "model"), name="similarity of streams")


@if_computed
def two(results: xr.Dataset) -> Table:
    """Two bumps at once: errors, how far from additive, and the brightness of what is drawn."""
    one = within(results, "two")
    errors = {"one at a time, added": one["two_single_mse"], "both at once": one["two_mse"]}
    brightness = {
        "brightness at the bumps": one["two_real"],
        "at the crossings": one["two_ghost"],
    }
    columns = errors | {"not additive": one["two_additivity"]} | brightness
    zero = dict.fromkeys(errors, float(one["two_zero_baseline"].median()))
    zero |= dict.fromkeys(brightness, 0.0)
    frame = spatial.with_zero_baseline(spreads(columns, "model"), zero)
    return Table(frame, name="two bumps at once")


def spread_of_seeds(results: xr.Dataset) -> xr.DataArray:
    """By which factor the worst seed's OOD error is above the best one's, in Table 2."""
    ood = within(results, "depth")["mse_ood"]
    return ood.max("seed") / ood.min("seed")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """Medians over seeds of all models that prose names, and what they come to."""
    m, factors = middles(results), spread_of_seeds(results)
    found = {**m[["ood", "ratio"]], **spatial.gains(m["ood"], GAINS)}
    found |= {"alike": results["stream_similarity"], "ghost": results["two_ghost"]}
    found |= {
        "between-seeds": spatial.extent(factors),
        "zero": results["zero_baseline_ood"].median(),
    }
    return texts("appF", found | {"widest": label(results, factors.idxmax("model").item())})
