"""Tables of spatial decoding in full (VN App. F), and the numbers that the page's prose quotes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.baselines.longer import once
from benchmarks.spatial import tables as spatial
from benchmarks.spatial.errors import reported
from vnlib.plots.frames import label
from vnlib.plots.statistics import short, texts
from vnlib.plots.tables import Table, if_computed, spreads

ENCODINGS = {
    "bump": "bump",
    "one_hot": "one-hot",
    "fourier14": "Fourier-14",
    "fourier7": "Fourier-7",
    "scalar": "scalar",
}
# Models of Table 3, before what says how they read a position.
ENCODED = (
    "Sparse AE",
    "VAE, beta 0.01",
    "VAE, beta 0.1",
    "VN-1L per axis",
    "VN-3L per axis",
    "CNN",
    "Full 2D VN",
)
# Tables whose models have the names of others.
OWN = {"sharp": "sharp bumps", "ring": "ring", "entangled": "image", "continuous": "between pixels"}
# How many times the OOD error of the second model is that of the first.
GAINS = {
    "care": ("factorised_care", "factorised"),
    "care-vn": ("factorised_care", "vn_1_8"),
    "care-full": ("factorised_care", "full"),
    "plain": ("vn_1_8", "vn_1_plain"),
    "deeper": ("vn_2_16", "vn_1_16"),
}


def within(results: xr.Dataset, part: str) -> xr.Dataset:
    """The models of one table, in their order. KeyError where there are none."""
    inside = [part in str(parts).split() for parts in results["parts"].values]
    if not any(inside):
        raise KeyError(f"the models of {part}")
    return results.isel(model=np.flatnonzero(inside))


@if_computed
def errors(results: xr.Dataset, part: str) -> Table:
    """Errors, ratio and peaks per model of one table, and the errors of the zero baseline."""
    return spatial.errors(within(results, part))


def apart(results: xr.Dataset) -> xr.Dataset:
    """The results with labels that tell the models of different tables apart."""
    pairs = zip(results["label"].values, results["parts"].values, strict=True)
    found = [
        f"{name} ({said})" if (said := OWN.get(str(parts))) and said not in name else name
        for name, parts in pairs
    ]
    return results.assign_coords(label=("model", found))


@if_computed
def sizes(results: xr.Dataset) -> Table:
    """Training errors, atoms in use and parameters of all models."""
    return spatial.sizes(apart(results))


def encoded(results: xr.Dataset) -> pd.DataFrame:
    """Errors of Table 3, a row per run, with the `family` of its model and the `code` it reads."""
    errors = within(results, "encodings")[["mse_id", "mse_ood"]].to_dataframe().reset_index()
    families = errors["label"].str.extract(f"^({'|'.join(ENCODED)})")[0]
    return errors.assign(family=families, code=errors["encoding"].replace(ENCODINGS))


@if_computed
def encodings(results: xr.Dataset) -> Table:
    """Table 3 as the paper has it, a row per code and a column per model: medians of the OOD error
    over the seeds that are `reported`.
    """
    errors = encoded(reported(results)).pivot_table("mse_ood", "code", "family", aggfunc="median")
    rows, columns = (
        [name for name in names if name in found]
        for names, found in ((ENCODINGS.values(), errors.index), (ENCODED, errors.columns))
    )
    frame = errors.loc[rows, columns].rename_axis(index=None, columns=None)
    return Table(frame, best=columns, name="OOD errors of each model with each code")


@if_computed
def streams(results: xr.Dataset) -> Table:
    """How alike the streams of each model of rank 2 and 3 are."""
    titles = {
        "stream_similarity": "absolute cosine of images",
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


def at_edges(selection: xr.Dataset) -> list[str]:
    """The models whose choice has the least or the largest rate (or sparsity) of those tried."""
    settings = selection["run_settings"].transpose("model", "candidate").values
    chosen, found = selection["mse_val"].argmin("candidate").values, []
    for model, row, best in zip(selection["model"].values, settings, chosen, strict=True):
        tried = [json.loads(str(text))["training"] for text in row]
        values = [one["lr"] for one in tried]
        if len(set(values)) == 1:
            values = [one["options"]["sparsity"] for one in tried]
        if values[best] in (min(values), max(values)):
            found.append(str(model))
    return found


def numbers(results: xr.Dataset, selection: xr.Dataset) -> dict[str, str]:
    """Medians over seeds of models that prose names, what they come to, what twice the updates leave
    of their errors, and whose choice lies at an edge.
    """
    longer, counts = spatial.lengthened(results), spatial.unsettled(results)
    results = reported(once(results))
    factors = spread_of_seeds(results)
    remains = 100 * results["mse_ood"] / results["zero_baseline_ood"]
    found = texts("appF-remains", remains, lambda value: f"{short(value)} %")
    edges = "; ".join(label(selection, model) for model in at_edges(selection))
    more = {
        "zero": results["zero_baseline_ood"].median(),
        "seeds": str(results.sizes["seed"]),
        "seeds-least": factors.min(),
        "widest": label(results, factors.idxmax("model").item()),
        "edges": edges,
    }
    found |= texts("appF-late", counts, "{:.0f}".format)
    found |= texts("appF-twice", {key: one for key, one in longer.items() if one.size})
    return found | texts("appF", spatial.gains(results["mse_ood"], GAINS) | more)
