"""Figures of one law: what was measured on a decoder against its error at held-out positions.

`points` is what `points.of_tasks` returns, or by set what it, `of_manifold` and `of_maps` do.
"""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.spatial.figures import wrapped
from chapters.beyond_law.points import ERRORS, MEASURES
from chapters.beyond_law.tables import SETS
from vnlib.plots.frames import empty
from vnlib.plots.statistics import median, raised, short
from vnlib.plots.style import PALETTE, image_axes, look

# family -> its name and one of its models, whose look it has
FAMILIES = {
    "vn": ("Vector Networks, product readout", "Full 2D VN"),
    "product": ("factorised decoders", "Factorised decoder"),
    "closed": ("closed forms", "Outer product of the code"),
    "coordinates": ("told the pixel's coordinates", "Coordinate MLP"),
    "entangled": ("CNNs and MLP", "CNN"),
    "vn_flat": ("Flat VN", "Flat VN"),
    "sum": ("a sum over the axes", "Additive decoder"),
    "cnn_bump": ("CNNs, bump code", "CNN, bump code"),
    "cnn_ramp": ("CNNs, ramp code", "CNN, ramp code"),
    "mlp_bump": ("MLPs, bump code", "MLP, bump code"),
    "mlp_ramp": ("MLPs, ramp code", "MLP, ramp code"),
}
EXAMPLE = ("cnn", "broadcast", "factorised", "vn_axes", "vn_axes_8")
EXAMPLE_TASKS = ("base", "shape_ring")
ERROR = "OOD error, 1: zero baseline"
MOST = 3.0  # larger errors are drawn here


def law(points: pd.DataFrame) -> Figure:
    """OOD error against rendering, a mark for each decoder on each task."""
    if points.empty:
        return empty("No decoder has learned to draw in this profile.")
    fig, ax = plt.subplots(figsize=(8.6, 5.2))
    _scatter(ax, points, "rendering")
    ax.axhline(1, color="0.3", ls=":", lw=1.2)
    ax.text(0.01, 1.12, "zero baseline", fontsize=8, color="0.3")
    ax.set(xlabel="rendering: how much every pixel's own units know of x alone and of y alone")
    ax.set(xlim=(0, 1.02), ylabel="error at positions held out, 1: zero baseline")
    ax.legend(fontsize=8.5, loc="lower left")
    for x, align, text in ((0.02, "left", "no pixel knows"), (1.0, "right", "every pixel knows")):
        ax.annotate(text, (x, 1.02), xycoords="axes fraction", ha=align, fontsize=9, style="italic")
    return fig


def example(results: xr.Dataset, points: pd.DataFrame) -> Figure:
    """A bump and a ring at a position held out, as decoders of rising rendering draw them: images of
    one seed, medians over seeds below.
    """
    found = points.set_index(["condition", "decoder"])
    tasks = [task for task in EXAMPLE_TASKS if task in results["task"].values]
    models = [m for m in EXAMPLE if all((task, m) in found.index for task in tasks)]
    kept = "sample_image" in results and bool(results["sample_image"].notnull().any())
    if not (tasks and models and kept):
        return empty("No image of these decoders was kept.")
    seed = results["sample_image"].notnull().any(["task", "model", "y", "x"])
    one = results.isel(seed=int(seed.values.argmax()))
    error = median(results["mse_ood"] / results["zero_baseline_ood"])
    size = (1.75 * (len(models) + 1), 2.05 * len(tasks) + 0.3)
    fig, axes = plt.subplots(len(tasks), len(models) + 1, figsize=size, squeeze=False)
    for row, task in zip(axes, tasks, strict=True):
        target = one["target_image"].sel(task=task, model=models[0])
        images = [target, *(one["sample_image"].sel(task=task, model=m) for m in models)]
        for ax, image in zip(row, images, strict=True):
            image_axes(ax).imshow(image, origin="lower", vmin=0, vmax=1)
        for ax, model in zip(row[1:], models, strict=True):
            rendering = found.loc[(task, model), "rendering"]
            said = raised(short(float(error.sel(task=task, model=model))))
            ax.set_xlabel(f"rendering {rendering:.2f}\nerror {said}", fontsize=9)
    names = ["true image", *(found.loc[(tasks[0], m), "label"] for m in models)]
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(wrapped(str(name), 18), fontsize=9)
    return fig


def others(points: Mapping[str, pd.DataFrame]) -> Figure:
    """The measures of the papers on their own networks: factorisation, volume, separable rank, and
    how far maps are bands.
    """
    panels = [("manifold", "F"), ("manifold", "volume"), ("manifold", "terms"), ("maps", "band")]
    panels = [(kind, m) for kind, m in panels if not points[kind].empty]
    if not panels:
        return empty("No decoder has learned to draw in this profile.")
    fig, axes = plt.subplots(
        1, len(panels), figsize=(2.9 * len(panels) + 0.4, 3.7), sharey=True, squeeze=False
    )
    for ax, (kind, measure) in zip(axes[0], panels, strict=True):
        _scatter(ax, points[kind], measure)
        ax.axhline(1, color="0.3", ls=":", lw=1.2)
        ax.set(xlabel=MEASURES[measure], title=SETS[kind])
    axes[0, 0].set_ylabel(ERROR)
    handles = {}
    for ax in axes[0]:
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(text, handle)
    fig.legend(handles.values(), handles, loc="outside lower center", ncols=4, fontsize=8)
    return fig


def forest(found: pd.DataFrame) -> Figure:
    """Rank correlation of every measure with the OOD error, and with its ratio to the ID error, with
    95 % intervals, by chapter (see `tables.ranks`).
    """
    there = [name for name in MEASURES if found["measure"].eq(name).any()]
    if not there:
        return empty("Too few decoders have learned to draw in this profile.")
    size = (10.5, 0.42 * len(there) + 1.5)
    fig, axes = plt.subplots(1, len(ERRORS), figsize=size, sharey=True)
    for ax, (error, title) in zip(axes, ERRORS.items(), strict=True):
        for number, kind in enumerate(SETS):
            own = found[(found["set"] == kind) & (found["error"] == error)]
            y = [there.index(name) + 0.22 * (number - 1) for name in own["measure"]]
            ax.hlines(y, own["low"], own["high"], color=PALETTE[number], lw=2)
            mark = {"color": PALETTE[number], "marker": "osD"[number], "s": 26, "zorder": 3}
            ax.scatter(own["rank"], y, label=SETS[kind], **mark)
        ax.set_yticks(range(len(there)), [MEASURES[name] for name in there], fontsize=8.5)
        ax.axvline(0, color="0.6", lw=0.8)
        ax.set(xlim=(-1.05, 1.05), ylim=(len(there) - 0.5, -0.5))
        ax.set(xlabel=f"rank correlation with {title}")
        ax.grid(axis="y", color="0.93")
    fig.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8
    )
    return fig


def _scatter(ax: Axes, points: pd.DataFrame, measure: str) -> None:
    """A mark for each point, by family."""
    for family in dict.fromkeys(points["family"]):
        own = points[points["family"] == family]
        text, name = FAMILIES.get(family, 2 * ("Embedding networks",))
        color, marker = look(name)
        style = {"color": color, "marker": marker, "s": 26, "alpha": 0.75, "lw": 0.3, "ec": "white"}
        named = text in ax.get_legend_handles_labels()[1]
        error = (10 ** own["ood"]).clip(upper=MOST)
        ax.scatter(own[measure], error, label=None if named else text, **style)
    ax.set(yscale="log")
