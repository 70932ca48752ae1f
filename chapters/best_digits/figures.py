"""Figures of digits drawn with exactly k coefficients, from results over (model, seed, way, k, set)."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from chapters.best_digits.predictions import error
from vnlib.plots.frames import if_computed, label, some
from vnlib.plots.statistics import over_seeds
from vnlib.plots.style import PALETTE, image_axes, look

MILLI = 1e3
TICKS = (1, 2, 5, 10, 20, 50, 100, 200)  # of errors
SETS = {
    "id": "x (ID)",
    "add2": "x + y",
    "sub2": "x − y",
    "add3": "x + y + z",
    "addsub4": "x + y − z + u",
    "max2": "max of 2",
    "max3": "max of 3",
    "max5": "max of 5",
    "occlude0": "dark block",
    "occlude1": "bright block",
    "stripes0": "dark stripes",
    "stripes1": "bright stripes",
    "invert": "inverted block",
    "salt_pepper": "salt and pepper",
}
CALLED = {  # (model, way) -> what readers call it
    ("vn_2048", "two_layer"): "VN-2L, 2,048 atoms",
    ("vn_2048", "swaps"): "VN-1L, 2,048 atoms",
    ("vn_2048", "complete"): "VN-1L, 2,048 atoms, pixels, cosines",
    ("vn_512", "swaps"): "VN-1L, 512 atoms",
    ("dictionary_learning_512", "omp"): "Dictionary learning, 512 atoms",
    ("ksparse_512", "own"): "k-sparse AE",
    ("ksparse_512", "searched"): "k-sparse AE, searched",
    ("ksparse_512_65", "own"): "k-sparse AE",
    ("ksparse_512_65", "searched"): "k-sparse AE, searched",
    ("pca_largest", "own"): "PCA, largest",
    ("dct", "own"): "DCT, largest",
    ("pca", "own"): "PCA",
    ("all_exemplars", "omp"): "Exemplars, all 59,000",
}
SHOWN = {
    ("dct", "own"): "DCT,\nlargest",
    ("ksparse_512", "searched"): "k-sparse AE,\nsearched",
    ("dictionary_learning_512", "omp"): "dictionary\nlearning",
    ("vn_512", "swaps"): "VN-1L, 512",
    ("vn_2048", "swaps"): "VN-1L, 2,048",
    ("vn_2048", "two_layer"): "VN-2L, 2,048",
}
WAYS = {  # way -> what is said of it behind the name of a model
    "own": "",
    "searched": ", searched",
    "omp": ", matching pursuit",
    "ols": ", without swaps",
    "swaps": ", swaps",
    "pixels": ", pixels beside",
    "complete": ", pixels and cosines beside",
    "two_layer": ", two layers",
    "two_layer_complete": ", two layers, pixels and cosines beside",
}
LAYERED = {  # Vector Network -> its name where it draws with a second layer
    "vn_512": "VN-2L, 512 atoms",
    "vn_2048": "VN-2L, 2,048 atoms",
    "hebb_512": "VN-2L, 512 atoms, Atomic-Hebb",
}
# What is changed -> (own model and way, the other's), the ratio of the errors of the first to the second
STEPS = {
    "learned / exemplars, 512": (("vn_512", "swaps"), ("exemplars_512", "swaps")),
    "learned / exemplars, 2,048": (("vn_2048", "swaps"), ("exemplars_2048", "swaps")),
    "least squares in each pick / matching pursuit": (("vn_512", "ols"), ("vn_512", "omp")),
    "swaps / none": (("vn_512", "swaps"), ("vn_512", "ols")),
    "2,048 / 512 atoms": (("vn_2048", "swaps"), ("vn_512", "swaps")),
    "pixels beside / none": (("vn_2048", "pixels"), ("vn_2048", "swaps")),
    "pixels and cosines beside / none": (("vn_2048", "complete"), ("vn_2048", "swaps")),
    "two layers / one, 2,048": (("vn_2048", "two_layer"), ("vn_2048", "swaps")),
    "two layers / one, 512": (("vn_512", "two_layer"), ("vn_512", "swaps")),
    "Atomic-Hebb / statistics": (("hebb_512", "swaps"), ("vn_512", "swaps")),
    "statistics / scikit-learn": (("vn_512", "swaps"), ("dictionary_learning_512", "swaps")),
    "statistics / decoder of k-sparse AE": (("vn_512", "swaps"), ("ksparse_512", "swaps")),
}


def has(results: xr.Dataset, model: str, way: str, k: int) -> bool:
    """Whether a model was run and draws in this way with k coefficients."""
    there = model in results["model"].values and way in results["way"].values
    return (
        there and k in results["k"].values and bool(error(results, model, way, k).notnull().any())
    )


def name_of(results: xr.Dataset, model: str, way: str) -> str:
    """What readers call a model that draws in one way."""
    layered = LAYERED.get(model) if way.startswith("two_layer") else None
    return (layered or label(results, model)) + WAYS[way]


def pairs(results: xr.Dataset, k: int) -> list[tuple[str, str]]:
    """All models and ways that were run with k coefficients, in the order of the results."""
    return [
        (str(model), str(way))
        for model in results["model"].values
        for way in results["way"].values
        if has(results, str(model), str(way), k)
    ]


@if_computed
def example(results: xr.Dataset) -> Figure:
    """What is drawn of one image of some sets with 24 coefficients, first seed."""
    shown = results.dropna("seed", how="all", subset=["drawn"])
    columns = [
        pair for pair in SHOWN if set(pair) <= {*shown["model"].values, *shown["way"].values}
    ]
    one = shown.isel(seed=0)
    columns = some([(m, w) for m, w in columns if one["drawn"].sel(model=m, way=w).notnull().any()])
    rows = one["picture_set"].values.tolist()
    size = (1.15 * (1 + len(columns)), 1.2 * len(rows) + 0.5)
    fig, axes = plt.subplots(len(rows), 1 + len(columns), figsize=size, squeeze=False)
    truth = one["truth"].sel(model=columns[0][0])
    for line, name in zip(axes, rows, strict=True):
        image = truth.sel(picture_set=name)
        scale = {"vmin": min(0.0, float(image.min())), "vmax": float(image.max())}
        images = {"image": image}
        for model, way in columns:
            images[SHOWN[model, way]] = one["drawn"].sel(model=model, way=way, picture_set=name)
        for ax, (title, drawn) in zip(line, images.items(), strict=True):
            image_axes(ax, title if name == rows[0] else "", size=9).imshow(drawn, **scale)
        line[0].set_ylabel(SETS[name], fontsize=9)
    return fig


@if_computed
def by_set(results: xr.Dataset) -> Figure:
    """The error of each set, one panel for 24 and one for 65 coefficients."""
    ks = some([k for k in (24, 65) if k in results["k"].values])
    size = (4.6 * len(ks) + 1.2, 5.6)
    fig, axes = plt.subplots(1, len(ks), figsize=size, sharey=True, squeeze=False)
    names, handles = list(SETS), {}
    for ax, k in zip(axes[0], ks, strict=True):
        for (model, way), text in CALLED.items():
            if model == "all_exemplars" or not has(results, model, way, k):
                continue
            told = over_seeds(MILLI * error(results, model, way, k).sel(set=names))
            vn = model.startswith("vn")
            rows = np.arange(len(names)) + (0.0 if vn else 0.22)
            ends = np.abs(np.stack([told["low"], told["high"]]) - told["median"].values)
            color, marker = look(text)
            mark = {"color": color, "marker": marker, "ms": 6 if vn else 4.5, "ls": "none"}
            bars = ax.errorbar(told["median"], rows, xerr=np.nan_to_num(ends), lw=0.8, **mark)
            handles.setdefault(text, bars)
        ax.set(xscale="log", xlabel="error [10⁻³ ink²]", title=f"{k} coefficients")
        ax.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        ax.minorticks_off()
        ax.grid(axis="x", color="0.92", lw=0.6)
    axes[0, 0].set_yticks(range(len(names)), [*SETS.values()])
    axes[0, 0].invert_yaxis()
    fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return fig


CURVES = (
    ("vn_2048", "swaps"),
    ("vn_2048", "two_layer"),
    ("vn_512", "swaps"),
    ("ksparse_512", "searched"),
    ("ksparse_512_65", "searched"),
    ("dictionary_learning_512", "omp"),
    ("pca_largest", "own"),
    ("dct", "own"),
    ("pca", "own"),
)


@if_computed
def rate_distortion(results: xr.Dataset) -> Figure:
    """Error against the number of coefficients, a panel for each set."""
    fig, axes = plt.subplots(3, 5, figsize=(11, 7), sharex=True, sharey=True)
    handles: dict[str, object] = {}
    for ax, (name, text) in zip(axes.flat, SETS.items(), strict=False):
        handles |= _curves(ax, results.sel(set=[name]))
        ax.set_title(text, fontsize=9)
    axes.flat[-1].set_axis_off()
    axes.flat[-1].legend(handles.values(), handles.keys(), loc="center", fontsize=7.5)
    axes[0, 0].set(xscale="log", yscale="log")
    axes[0, 0].set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes[0, 0].set_xticks([4, 8, 16, 32, 65, 128], ["4", "8", "16", "32", "65", "128"])
    axes[0, 0].minorticks_off()
    fig.supxlabel("coefficients", fontsize=10)
    fig.supylabel("error [10⁻³ ink²]", fontsize=10)
    return fig


def _curves(ax: Axes, results: xr.Dataset, bits: bool = False) -> dict[str, object]:
    """Medians over seeds against k, or against the bits of the indices, with their intervals."""
    handles = {}
    for model, way in CURVES:
        ks = [int(k) for k in results["k"].values if has(results, model, way, int(k))]
        if not ks:
            continue
        text = CALLED[model, way]
        color, marker = look(text)
        one = results.sel(model=model, way=way, k=ks)
        told = over_seeds(MILLI * one["mse"].isel(set=0))
        x = np.array(ks) * (np.log2(one["atoms"].max("seed").values) if bits else 1.0)
        line = {"color": color, "marker": marker, "ms": 4, "lw": 1.1}
        (handles[text],) = ax.plot(x, told["median"], **line)
        ax.fill_between(x, told["low"], told["high"], color=color, alpha=0.2, lw=0)
    return handles


@if_computed
def code_length(results: xr.Dataset) -> Figure:
    """ID error against the bits that name the atoms, k log2 K, where there are atoms to name."""
    fig, ax = plt.subplots(figsize=(6.6, 4))
    named = results.where(results["atoms"].notnull())
    handles = _curves(ax, named.sel(set=["id"]), bits=True)
    ax.set(xscale="log", yscale="log", xlabel="bits of the indices", ylabel="error [10⁻³ ink²]")
    ax.legend(handles.values(), handles.keys(), fontsize=8)
    return fig


@if_computed
def ablation(results: xr.Dataset) -> Figure:
    """What each ingredient changes with 24 coefficients: ratios of errors, ID and set by set."""
    rows = some([name for name, (a, b) in STEPS.items() if has_both(results, a, b)])
    fig, ax = plt.subplots(figsize=(8.6, 0.42 * len(rows) + 1.4))
    for place, name in enumerate(rows):
        told = over_seeds(changed(results, name))
        outside = told["median"].drop_sel(set="id")
        own = {end: float(told[end].sel(set="id")) for end in ("median", "low", "high")}
        ax.plot(outside, np.full(outside.size, place + 0.16), "|", color="0.45", ms=8)
        ax.hlines(place - 0.1, own["low"], own["high"], color=PALETTE[0], lw=1.6)
        ax.plot(own["median"], place - 0.1, "o", color=PALETTE[0], ms=6)
    ax.axvline(1, color="0.3", lw=0.9)
    ax.set(xscale="log", xlabel="ratio of errors, 24 coefficients")
    ticks = [0.6, 0.7, 0.8, 0.9, 1.0, 1.1]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(rows)), rows)
    ax.invert_yaxis()
    ax.plot([], [], "o", color=PALETTE[0], label="single digits (ID), with interval")
    ax.plot([], [], "|", color="0.45", label="each other set")
    fig.legend(fontsize=8, loc="outside lower center", ncols=2)
    return fig


def has_both(results: xr.Dataset, one: Sequence[str], other: Sequence[str], k: int = 24) -> bool:
    """Whether both models and ways were run."""
    return has(results, one[0], one[1], k) and has(results, other[0], other[1], k)


def changed(results: xr.Dataset, step: str, k: int = 24) -> xr.DataArray:
    """The ratio of errors (seed, set) that an ingredient changes, in the seeds that have both."""
    (model, way), (other, its) = STEPS[step]
    found = error(results, model, way, k) / error(results, other, its, k)
    return found.dropna("seed", how="all")
