"""Figures of force composition: the task, errors on mixtures, and in against out of distribution
(VN Fig. 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr
from matplotlib.colors import LogNorm, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.baselines.figures import (
    Groups,
    between_groups,
    looks,
    of_groups,
    of_models,
    seeds_and_medians,
)
from benchmarks.nbody.figures import (
    GROUPS,
    LAWS,
    MEAN,
    MSE,
    RELATIVE,
    by_number,
    error,
    in_order,
    inside_and_out,
)
from vnlib.plots.frames import empty, group, label, long_frame
from vnlib.plots.statistics import median
from vnlib.plots.style import PALETTE, SEQUENTIAL, look

NUMBERS = {1: "one force (ID)", 2: "two forces", 3: "three forces", 4: "four forces"}
FLOOR = 1e-6  # smaller errors are drawn here


def pale(color: str, share: float) -> str:
    """A colour mixed with white; share: how much of it is left."""
    return to_hex([1 - share * (1 - c) for c in to_rgb(color)])


def shades(values: Sequence[int]) -> dict[int, float]:
    """How much colour the values of a condition have: the first all of it."""
    return dict(zip(values, (1.0, 0.62, 0.36, 0.25), strict=False))


def paler(names: Sequence[str], share: float) -> Groups:
    """The looks of models in pale colours."""
    return {name: (name, pale(look(name)[0], share), look(name)[1]) for name in names}


# --- 4a: the task ---------------------------------------------------------------------------------


def task(data: xr.Dataset, bodies: Sequence[int] = (5, 3)) -> Figure:
    """A trajectory under each law, and one under all four for each number of bodies, with arrows of
    acceleration.

    Parameters
    ----------
    data
        States of `data_gen.nbody.make`: position, acceleration (state, body, axis), forces, bodies,
        split, trajectory.
    """
    every = max(data["forces"].values.tolist(), key=len)
    tests = data.isel(state=np.flatnonzero(data["split"] == "test"))
    wanted = [(law, 5, f"{name} (training)") for law, name in LAWS.items()]
    wanted += [(every, n, f"all four, {n} bodies") for n in bodies]
    fig, axes = plt.subplots(2, 3, figsize=(9.6, 6.4), sharex=True, sharey=True)
    for ax, (forces, n, title) in zip(axes.flat, wanted, strict=True):
        one = tests.isel(state=np.flatnonzero((tests["forces"] == forces) & (tests["bodies"] == n)))
        one = one.isel(state=np.flatnonzero(one["trajectory"] == one["trajectory"][0]))
        x, a = one["position"].values, one["acceleration"].values
        for body, color in enumerate(PALETTE[:n]):
            ax.plot(*x[:, body].T, color=color, lw=1.6, alpha=0.75)
            ax.scatter(*x[-1, body], color=color, s=36, zorder=4, edgecolors="w", lw=0.6)
            ax.scatter(*x[0, body], facecolors="w", edgecolors=color, s=18, zorder=3)
        scale = {"angles": "xy", "scale_units": "xy", "scale": 2.0, "width": 0.007}
        arrows = ax.quiver(*x[-1, :n].T, *a[-1, :n].T, color="0.15", zorder=5, **scale)
        ax.set(title=title, aspect="equal", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
        ax.add_patch(plt.Rectangle((-2.5, -2.5), 5, 5, fill=False, ec="0.7", ls="--", lw=0.9))
    axes[-1, -1].quiverkey(
        arrows, 0.8, 0.96, 2.0, "2 box/s²", labelpos="W", fontproperties={"size": 9}
    )
    for ax in axes[-1]:
        ax.set_xlabel("x [box]")
    for ax in axes[:, 0]:
        ax.set_ylabel("y [box]")
    return fig


# --- 4b: errors -----------------------------------------------------------------------------------


def errors(results: xr.Dataset, *, relative: bool = False) -> Figure:
    """Errors by number of forces (panels) and of bodies (paler for fewer); dotted: the mean
    prediction.
    """
    models = in_order(results)
    if not models:
        return empty("No model was asked for.")
    cells = by_number(error(results, relative=relative)).clip(FLOOR)
    frame = long_frame(cells.sel(model=models))
    bodies = shades(cells["bodies"].values.tolist())
    shifts = dict(zip(bodies, np.linspace(-0.27, 0.27, len(bodies)), strict=True))
    fig, axes = plt.subplots(1, 4, figsize=(9, 1.5 + 0.36 * len(models)), sharex=True, sharey=True)
    for ax, (number, title) in zip(axes, NUMBERS.items(), strict=True):
        for n, share in bodies.items():
            rows(
                ax,
                results,
                frame[(frame["number"] == number) & (frame["bodies"] == n)],
                models,
                share=share,
                shift=shifts[n],
            )
            if MEAN in results["model"].values:
                at = float(median(cells.sel(model=MEAN, number=number, bodies=n)))
                ax.axvline(at, color=pale("black", share), ls=":", lw=1.2, zorder=1)
        ax.set(xscale="log", title=title)
    fig.supxlabel(RELATIVE if relative else MSE, fontsize=10)
    named = {f"{n} bodies": {"color": pale("black", share)} for n, share in bodies.items()}
    legend(fig, results, models, named)
    return fig


def rows(
    ax: plt.Axes,
    results: xr.Dataset,
    frame: pd.DataFrame,
    models: Sequence[str],
    *,
    share: float = 1.0,
    shift: float = 0.0,
    hollow: bool = False,
) -> None:
    """Rows of seeds and medians, a row per model, with lines between groups of models."""
    order = [label(results, m) for m in models]
    seeds_and_medians(
        ax,
        frame,
        value="value",
        by="label",
        hue="label",
        groups=paler(order, share),
        order=order,
        shift=shift,
        hollow=hollow,
    )
    between_groups(ax, [group(results, m) for m in models])
    ax.tick_params(axis="y", labelsize=9)
    ax.set_xlabel("")


def legend(
    fig: Figure, results: xr.Dataset, models: Sequence[str], named: Mapping[str, dict]
) -> None:
    """The groups of models, more marks by name, and the dotted line of the mean prediction."""
    marks = {"ls": "", "marker": "o", "ms": 5}
    fig.legend(
        handles=[
            *of_groups(results, models, GROUPS),
            *(Line2D([], [], **(marks | one), label=name) for name, one in named.items()),
            Line2D([], [], color="k", ls=":", label="mean prediction (Random)"),
        ],
        loc="outside upper center",
        ncols=4,
        fontsize=9,
    )


def table(results: xr.Dataset, inference: str = "joint") -> Figure:
    """All force sets and numbers of bodies as colours: relative errors, medians over seeds."""
    models = in_order(results, mean=True)
    values = median(error(results, relative=True, inference=inference)).sel(model=models)
    names = ["".join(LAWS[law][0].upper() for law in f.split("+")) for f in values["forces"].values]
    numbers = values["bodies"].values.tolist()
    fig, axes = plt.subplots(
        1,
        len(numbers),
        figsize=(9.6, 1.6 + 0.24 * len(models)),
        sharey=True,
        squeeze=False,
    )
    for ax, bodies in zip(axes[0], numbers, strict=True):
        sns.heatmap(
            values.sel(bodies=bodies).transpose("model", "forces").values,
            norm=LogNorm(1e-3, 3),
            cmap=SEQUENTIAL,
            cbar=False,
            xticklabels=names,
            yticklabels=[label(results, m) for m in models],
            ax=ax,
        )
        for column in np.flatnonzero(np.diff([len(n) for n in names])):
            ax.axvline(column + 1, color="w", lw=2)
        for row in range(1, len(models)):
            if group(results, models[row]) != group(results, models[row - 1]):
                ax.axhline(row, color="w", lw=2)
        ax.set_title(f"{bodies} bodies", fontsize=10)
        ax.tick_params(length=0, labelsize=8.5)
    fig.supxlabel("forces: G gravity, S spring, D drag, L Lorentz", fontsize=9)
    bar = fig.colorbar(axes[0, 0].collections[0], ax=axes, extend="both", fraction=0.03, pad=0.01)
    bar.set_label(RELATIVE, fontsize=9)
    return fig


# --- 4c: in against out of distribution -----------------------------------------------------------


def diagonal(results: xr.Dataset) -> Figure:
    """Mean ID error against mean OOD error, every seed a point: as it is, and relative to the
    power.
    """
    models = in_order(results, mean=True)
    fig, axes = plt.subplots(1, 2, figsize=(9.2, 5.4))
    for ax, relative, unit in zip(axes, (False, True), (MSE, RELATIVE), strict=True):
        inside, outside = (v.clip(FLOOR) for v in inside_and_out(error(results, relative=relative)))
        for model, (color, marker) in looks(results, models).items():
            points = inside.sel(model=model), outside.sel(model=model)
            ax.scatter(*points, color=color, marker=marker, s=40, zorder=3)
        both = xr.concat([inside, outside], "axis")
        limits = (float(both.min()) / 1.6, float(both.max()) * 1.6)
        ax.plot(limits, limits, color="0.4", lw=1, zorder=1)
        ax.set(xscale="log", yscale="log", xlim=limits, ylim=limits, aspect="equal")
        ax.set_xlabel(f"one force, five bodies: {unit}", fontsize=8.5)
        ax.set_ylabel(f"mixtures: {unit}", fontsize=8.5)
    handles = of_models(results, models, ms=7)
    handles.append(Line2D([], [], color="0.4", lw=1, label="diagonal"))
    fig.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=9)
    return fig
