"""Models that follow bodies by themselves: how far from the truth, in time and at the end (VN
Fig. 10).

Results of Fig. 4 over model, seed, panel, start, step, with the coordinates label and group of the
model. What is lost is inf there and drawn at `CAP`.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.baselines.figures import between_groups, of_groups, seeds_and_medians
from benchmarks.nbody.figures import DT, GROUPS, MEAN, in_order, title
from chapters.H_nbody.figures_looks import CAP, drawn, line, lines
from vnlib.plots.frames import empty, group, label, long_frame
from vnlib.plots.statistics import median, over_seeds

FLOOR = 1e-8  # box^2; smaller distances are drawn here
DRIFT = "squared distance from the truth [box²]"


def drift(ds: xr.Dataset, models: Sequence[str] | None = None, *, dt: float = DT) -> Figure:
    """Distance from the truth in time, median over starts: its median over seeds with the interval as
    a band, every seed a thin line; single forces on top.
    """
    shown = drawn(ds, "drift", models)
    if not shown:
        return empty("No model that was followed was asked for.")
    panels = [str(p) for p in ds["panel"].values]
    rows = [[p for p in panels if "+" not in p], [p for p in panels if "+" in p]]
    rows = [row for row in rows if row]
    width = max(map(len, rows))
    fig, axes = plt.subplots(
        len(rows),
        width,
        figsize=(3.5 * width, 2.9 * len(rows) + 0.7),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for across, row in zip(axes, rows, strict=True):
        for ax in across[len(row) :]:
            ax.set_axis_off()
        for ax, panel in zip(across, row, strict=False):
            for model in shown:
                one = ds["drift"].sel(model=model, panel=panel)
                _band(ax, one, label(ds, model), dt)
            ax.set_title(title(panel) + (" (ID)" if "+" not in panel else " (OOD)"), fontsize=10)
            ax.grid(axis="y", color="0.93", lw=0.6)
        across[0].set_ylabel(DRIFT, fontsize=8.5)
    _logarithmic(axes[0, 0])
    axes[-1, len(rows[-1]) // 2].set_xlabel("time [s]", fontsize=9)
    fig.legend(handles=lines(ds, shown), loc="outside lower center", ncols=5, fontsize=8)
    return fig


def final(ds: xr.Dataset, models: Sequence[str] | None = None) -> Figure:
    """Distance from the truth at the end: every seed a point (median over starts), a bar at their
    median.

    All models by default. Dotted: the mean prediction.
    """
    asked = ds["model"].values.tolist() if models is None else models
    followed = drawn(ds, "drift", asked)
    shown = [m for m in in_order(ds) if m in followed]
    if not shown:
        return empty("No model that was followed was asked for.")
    panels = ds["panel"].values.tolist()
    columns = min(3, len(panels))
    height = -(-len(panels) // columns)
    size = (10.5, height * (0.75 + 0.2 * len(shown)) + 0.5)
    fig, axes = plt.subplots(height, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
    end = median(ds["drift"].isel(step=-1).clip(FLOOR, CAP), "start")
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, panel in zip(axes.flat, panels, strict=False):
        seeds_and_medians(
            ax,
            long_frame(end.sel(model=shown, panel=panel)),
            value="value",
            by="label",
            order=[label(ds, m) for m in shown],
        )
        between_groups(ax, [group(ds, m) for m in shown])
        if MEAN in followed:
            ax.axvline(float(median(end.sel(model=MEAN, panel=panel))), color="0.2", ls=":", lw=1.3)
        ax.set(xscale="log", xlabel="")
        ax.set_title(title(panel), fontsize=10)
        ax.tick_params(axis="y", labelsize=8.5)
    axes[0, 0].xaxis.set_major_locator(LogLocator(numticks=8))
    axes[0, 0].xaxis.set_minor_formatter(NullFormatter())
    fig.supxlabel(f"{DRIFT} at the end", fontsize=9)
    mean = Line2D([], [], color="0.2", ls=":", label="mean prediction (Random)")
    handles = [*of_groups(ds, shown, GROUPS), mean]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8.5)
    return fig


def energy(ds: xr.Dataset, models: Sequence[str] | None = None, *, dt: float = DT) -> Figure:
    """How far the change of energy is from the truth's, where no drag acts: median over starts, drawn
    as `drift` is.

    Dotted: what the truth itself loses at the boundary, the median over starts.
    """
    shown = drawn(ds, "drift", models)
    if not shown:
        return empty("No model that was followed was asked for.")
    panels = [
        str(p) for p in ds["panel"].values if bool(ds["energy_true"].sel(panel=p).notnull().any())
    ]
    if not panels:
        return empty("Drag acts in every panel, and takes energy.")
    fig, axes = plt.subplots(
        1, len(panels), figsize=(10.5, 3.6), sharex=True, sharey=True, squeeze=False
    )
    for ax, panel in zip(axes[0], panels, strict=True):
        one = ds.sel(panel=panel)
        off = np.abs(one["energy"] - one["energy_true"])
        for model in shown:
            _band(ax, off.sel(model=model), label(ds, model), dt)
        lost = np.abs(one["energy_true"]).max(("model", "seed")).isel(step=slice(1, None))
        middle = median(lost.clip(FLOOR, CAP), "start").values
        ax.plot(
            lost["step"] * dt,
            np.where(middle > FLOOR, middle, np.nan),
            color="k",
            ls=(0, (1, 1)),
            lw=1.2,
        )
        ax.set_title(title(panel), fontsize=10)
        ax.grid(axis="y", color="0.93", lw=0.6)
    axes[0, 0].set_ylabel("change of energy, distance\nfrom the truth's [box²/s²]", fontsize=8.5)
    _logarithmic(axes[0, 0])
    for ax in axes[0]:
        ax.set_xlabel("time [s]", fontsize=9)
    boundary = Line2D([], [], color="k", ls=(0, (1, 1)), label="the truth's own, at the boundary")
    fig.legend(
        handles=[*lines(ds, shown), boundary], loc="outside lower center", ncols=4, fontsize=8
    )
    return fig


def _band(ax: Axes, values: xr.DataArray, name: str, dt: float) -> None:
    one = values.isel(step=slice(1, None)).dropna("seed", how="all").clip(FLOOR, CAP)
    seeds = median(one, "start").transpose("step", "seed")
    found, time, style = over_seeds(seeds), one["step"] * dt, line(name)
    ax.fill_between(time, found["low"], found["high"], color=style["color"], alpha=0.1, lw=0)
    each = [np.column_stack([time, seed]) for seed in seeds.transpose("seed", "step").values]
    ax.add_collection(LineCollection(each, colors=style["color"], linewidths=0.3, alpha=0.5))
    ax.plot(time, found["median"], **style)


def _logarithmic(ax: Axes) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(numticks=7))
    ax.yaxis.set_minor_formatter(NullFormatter())
