"""Figures of settles watched sweep by sweep (VN Fig. 12, App. I).

Results as in `chapters.I_mnist.figures`.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import seaborn as sns
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from chapters.I_mnist.figures import (
    CAPPED,
    DEFAULT,
    FAST,
    LOCKED,
    SETS,
    SOLVERS,
    layers_of,
    median_line,
    networks,
    seed_lines,
    typical,
)
from vnlib.plots.frames import label, long_frame
from vnlib.plots.statistics import median


def solver_entries(*more: Line2D) -> list[Line2D]:
    """Legend entries of solvers and whatever else there is."""
    named = [
        Line2D([], [], color=color, ls=style, lw=1.8, label=name)
        for name, color, style, _ in SOLVERS.values()
    ]
    return [*named, *more]


def locking(results: xr.Dataset) -> Figure:
    """Overlap of the support with that at rest against sweeps, single digits; medians over seeds,
    thin: each seed.
    """
    models = networks(results, (DEFAULT, CAPPED)) or [typical(results)]
    count = max(len(layers_of(results, m)) for m in models)
    fig, axes = plt.subplots(
        len(models),
        count,
        figsize=(10.5, 0.9 + 2.6 * len(models)),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for row, model in zip(axes, models, strict=True):
        for ax, layer in zip(row, results["layer"].values[:count], strict=True):
            values = results["overlap"].sel(model=model, set="id", layer=layer)
            _curves(ax, values)
            ax.axhline(LOCKED, color="0.4", lw=0.8, ls="-.")
            ax.axvline(FAST, color="0.4", lw=0.8, ls="-.")
            ax.set(xscale="log", ylim=(0, 1.03))
            ax.set_title(f"{label(results, model)}: layer {layer}", fontsize=9)
        row[0].set_ylabel("overlap with the support at rest", fontsize=9)
    _sweeps(axes[-1])
    rule = Line2D([], [], color="0.4", lw=0.8, ls="-.", label=f"overlap {LOCKED:g}; {FAST} sweeps")
    fig.legend(handles=solver_entries(rule), loc="outside upper center", ncols=4, fontsize=9)
    return fig


def _curves(ax: Axes, values: xr.DataArray) -> None:
    """Each solver's values over sweeps: seeds thin, medians thick."""
    for solver, (_, color, style, _) in SOLVERS.items():
        one = values.sel(solver=solver)
        seed_lines(ax, one, "sweep", color, lw=0.5, alpha=0.5)
        median_line(ax, one, "sweep", color, ls=style, lw=1.8)


def _sweeps(axes: Sequence[Axes]) -> None:
    for ax in axes:
        ax.set_xlabel("sweeps")
        ax.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
        ax.minorticks_off()


def levels(results: xr.Dataset) -> Figure:
    """Sweeps until the mean overlap stays at 0.9 or above, for each network and layer; every seed a
    point.
    """
    models, last = networks(results), int(results["sweep"].max())
    rows = [(model, layer) for model in models for layer in layers_of(results, model)]
    order = [f"{label(results, model)}, layer {layer}" for model, layer in rows]
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 1.5 + 0.22 * len(rows)), sharex=True, sharey=True)
    for ax, (kind, (title, *_)) in zip(axes, SETS.items(), strict=True):
        frame = long_frame(results["locked_mean"].sel(set=kind, threshold=LOCKED))
        frame["row"] = frame["label"] + ", layer " + frame["layer"].astype(str)
        for solver, (_, color, _, marker) in SOLVERS.items():
            sns.stripplot(
                frame[frame["solver"] == solver],
                x="value",
                y="row",
                order=order,
                color=color,
                marker=marker,
                size=4,
                alpha=0.7,
                jitter=False,
                ax=ax,
            )
        for number in range(1, len(rows)):
            if rows[number][0] != rows[number - 1][0]:
                ax.axhline(number - 0.5, color="0.75", lw=0.6)
        ax.axvline(FAST, color="0.4", lw=0.8, ls="-.")
        ax.axvspan(last + 0.5, 1.25 * last, color="0.92", zorder=0)
        ax.set(xscale="log", title=title, ylabel="")
        ax.set_xlim(min(3, 0.9 * float(frame["value"].min())), 1.25 * last)
        ax.tick_params(axis="y", labelsize=8.5)
        ax.grid(axis="x", color="0.93", lw=0.6)
        ticks = [t for t in (5, 10, 20, 50, 100) if t <= last]
        ax.set_xticks(ticks, [str(t) for t in ticks])
        ax.minorticks_off()
        said = f"sweeps until the overlap stays ≥ {LOCKED:g}; grey: not within {last}"
        ax.set_xlabel(said, fontsize=9)
    handles = [
        Line2D([], [], color=color, marker=m, ls="", label=name)
        for name, color, _, m in SOLVERS.values()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=9)
    return fig


def motion(results: xr.Dataset) -> Figure:
    """Support size, flips and error against sweeps for the default network on single digits."""
    model = typical(results)
    one = results.sel(model=model, set="id")
    layers = layers_of(results, model)
    widths = {layer: 0.8 + 0.8 * k for k, layer in enumerate(layers)}
    shares = {
        "active atoms, share of all": one["nonzero"] / one["atoms"],
        "share of the support that flips": (median(one["flips"]) / median(one["nonzero"]))
        .clip(1e-4)
        .expand_dims("seed"),
    }
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.5), sharex=True)
    for solver, (_, color, style, _) in SOLVERS.items():
        for ax, values in zip(axes, shares.values(), strict=False):
            for layer in layers:
                at = values.sel(solver=solver, layer=layer)
                median_line(ax, at, "sweep", color, ls=style, lw=widths[layer])
        median_line(axes[2], one["error"].sel(solver=solver), "sweep", color, ls=style, lw=1.6)
    axes[2].axhline(float(one["zero_baseline"].median()), color="k", ls=(0, (1, 3)), lw=1.2)
    for ax, title in zip(axes, [*shares, "MSE per pixel of $V_1 a_1$"], strict=True):
        ax.set(xscale="log", ylabel=title)
    axes[1].set_yscale("log")
    axes[2].set_yscale("log")
    _sweeps(axes)
    more = [
        Line2D([], [], color="0.4", lw=w, label=f"layer {layer}") for layer, w in widths.items()
    ]
    more.append(Line2D([], [], color="k", ls=(0, (1, 3)), label="zero baseline"))
    fig.legend(handles=solver_entries(*more), loc="outside upper center", ncols=4, fontsize=9)
    return fig


ENERGIES = {"energy": "joint energy F", "summed_energy": "sum of the layers' energies"}


def energies(results: xr.Dataset) -> Figure:
    """F, which descends, and the summed energies of VN Eq. 3 against sweeps; default network, both
    sets.
    """
    model = typical(results)
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.6), sharex=True)
    for ax, (name, title) in zip(axes, ENERGIES.items(), strict=True):
        for kind, (_, _, face) in SETS.items():
            values = results.sel(model=model, set=kind)
            curves = values[name] / values[f"{name}_end"].sel(solver="line_search", drop=True)
            _curves(ax, curves)
            last = median(curves).isel(sweep=-1)
            for solver, (_, color, _, marker) in SOLVERS.items():
                at = float(last.sel(solver=solver))
                ax.plot(last["sweep"], at, marker=marker, color=color, mfc=face or color, ms=5)
        ax.axhline(1, color="0.4", lw=0.8, ls="-.")
        ax.set(xscale="log", ylim=(0.85, 1.6))
        ax.set_title(f"{title}, over its value at rest", fontsize=9.5)
    _sweeps(axes)
    sets = [
        Line2D([], [], color="0.3", marker="o", mfc=face or "0.3", ls="", label=title)
        for title, _, face in SETS.values()
    ]
    fig.legend(handles=solver_entries(*sets), loc="outside upper center", ncols=5, fontsize=9)
    return fig
