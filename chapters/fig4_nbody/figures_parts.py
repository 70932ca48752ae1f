"""What lies behind the errors of force composition: superposition, single laws, training (VN
Fig. 4, controls).

Datasets as in `figures.nbody`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D

from benchmarks.nbody.figures import (
    BLANK,
    FLOOR,
    GROUPS,
    LETTERS,
    MSE,
    NAMES,
    NUMBERS,
    RELATIVE,
    by_number,
    error,
    in_order,
    light,
)
from vnlib.plots.rows import absent, group, label, looks, points, rows_of
from vnlib.plots.style import PALETTE


def passes(results: xr.Dataset) -> plt.Figure:
    """Mixtures of five bodies: all forces at once (filled) against one pass per force (hollow); and
    how far apart.
    """
    models = in_order(results)
    if not models:
        return absent("No model was asked for.")
    fig, axes = plt.subplots(1, 2, figsize=(9, 1.5 + 0.28 * len(models)), sharey=True)
    mixed = results["forces"].str.contains(r"\+")
    ways = {
        way: error(results, way=way).sel(bodies=5).where(mixed).mean("forces")
        for way in ("joint", "passes")
    }
    gap = by_number(results, results["gap"])
    for y, model in enumerate(models):
        _, color, marker = GROUPS[group(results, model)]
        ends = [float(ways[way].sel(model=model).median("seed").clip(FLOOR)) for way in ways]
        axes[0].plot(ends, [y, y], color=color, lw=1, zorder=1)
        for way, values in ways.items():
            one = values.sel(model=model).clip(FLOOR)
            face = color if way == "joint" else "w"
            shift = 0.2 * np.linspace(-1, 1, len(one)) if len(one) > 1 else 0
            axes[0].scatter(
                one,
                np.full(len(one), y) + shift,
                marker=marker,
                s=16,
                facecolors=face,
                edgecolors=color,
            )
        for number, shift in zip((2, 3, 4), (-0.25, 0, 0.25), strict=True):
            one = gap.sel(model=model, number=number)
            points(
                axes[1], one.clip(FLOOR), y + shift, light(color, 7 - number), marker, height=0.11
            )
    if BLANK in results["model"].values:
        axes[0].axvline(
            float(ways["joint"].sel(model=BLANK).median("seed")), color="k", ls=":", lw=1.2
        )
    for ax in axes:
        rows_of(ax, results, models, size=9)
        ax.set_xscale("log")
    axes[0].set(xlabel=f"mixtures, five bodies: {MSE}")
    axes[1].set(xlabel="joint minus passes, mean square over power")
    for ax in axes:
        ax.xaxis.label.set_size(8.5)
    handles = [
        *looks(results, models, GROUPS),
        Line2D([], [], color="0.3", marker="o", ls="", ms=5, label="all forces at once"),
        Line2D([], [], color="0.3", marker="o", mfc="w", ls="", ms=5, label="one pass per force"),
        *(
            Line2D([], [], color=light("#000000", 7 - n), marker="o", ls="", ms=5, label=NUMBERS[n])
            for n in (2, 3, 4)
        ),
        Line2D([], [], color="k", ls=":", label="mean prediction"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9)
    return fig


def laws(results: xr.Dataset) -> plt.Figure:
    """Relative error of each single force, five bodies."""
    models = in_order(results)
    if not models:
        return absent("No model was asked for.")
    single = error(results, relative=True).sel(bodies=5)
    fig, axes = plt.subplots(1, 4, figsize=(9, 1.3 + 0.27 * len(models)), sharex=True, sharey=True)
    for ax, law in zip(axes, LETTERS, strict=True):
        for y, model in enumerate(models):
            _, color, marker = GROUPS[group(results, model)]
            points(
                ax, single.sel(model=model, forces=law).clip(FLOOR), y, color, marker, height=0.25
            )
        ax.axvline(1, color="k", ls=":", lw=1.2)
        rows_of(ax, results, models, size=9)
        ax.set(xscale="log", title=NAMES[law])
    fig.supxlabel(f"{RELATIVE}, five bodies", fontsize=10)
    blank = Line2D([], [], color="k", ls=":", label="mean prediction (Random)")
    fig.legend(
        handles=[*looks(results, models, GROUPS), blank],
        loc="outside upper center",
        ncols=4,
        fontsize=9,
    )
    return fig


def curves(results: xr.Dataset) -> plt.Figure:
    """Validation error in training at tenths of the updates, medians over seeds."""
    models = [m for m in in_order(results) if bool(results["curve"].sel(model=m).notnull().any())]
    if not models:
        return absent("No model that is trained was asked for.")
    fig, ax = plt.subplots(figsize=(7.4, 4.2))
    for number, model in enumerate(models):
        one = results["curve"].sel(model=model).median("seed").clip(FLOOR)
        style = {"vn": "-", "printed": "--", "control": ":"}[group(results, model)]
        ax.plot(
            one["share"],
            one,
            color=PALETTE[number % len(PALETTE)],
            ls=style,
            lw=1.6,
            label=label(results, model),
        )
    ax.set(yscale="log", xlabel="share of the updates", ylabel=f"{RELATIVE}, validation")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig
