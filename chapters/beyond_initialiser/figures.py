"""Figures of learned starts: what they save of a settle, and what they know before it (VN Sec. 5).

Results are those of this chapter, with the coordinate `label` of the network.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D

from benchmarks.baselines.figures import Groups, between_groups, entries, seeds_and_medians
from vnlib.plots import frames
from vnlib.plots.statistics import median
from vnlib.plots.style import PALETTE, look

# name -> (what readers call it, colour, line, marker)
STARTS = {
    "cold": ("cold", "0.15", "-", "x"),
    "nearest": ("nearest training code", PALETTE[7], "--", "^"),
    "untrained": ("ISTA steps, untrained", PALETTE[9], ":", "v"),
    "steps": ("learned step sizes", PALETTE[2], "-.", "s"),
    "lista": ("LISTA, from codes", PALETTE[0], "-", "o"),
    "lista_energy": ("LISTA, from the energy", PALETTE[4], "--", "D"),
    "linear": ("linear guess", PALETTE[1], ":", "P"),
    "mlp": ("perceptron", PALETTE[3], "-.", "X"),
}
SOLVERS = {
    "ista": ("plain steps", *look("plain steps")),
    "restart": ("momentum, restarted", *look("momentum, restarted")),
    "line_search": ("momentum and line search", *look("momentum and line search")),
}
TIMED = {name: one[0] for name, one in SOLVERS.items()} | {"coordinates": "coordinate descent"}
SETS = {
    "id": "in distribution",
    "sum": "sums of two",
    "other": "damaged, or composed otherwise",
}
LEVEL = 1e-3  # the height that single numbers are of
EXAMPLE = {  # start and solver -> what readers call them, as it looks
    ("cold", "ista"): ("plain steps from zero", PALETTE[7], "-"),
    ("lista", "ista"): ("plain steps from the best guess", PALETTE[0], "-"),
    ("cold", "line_search"): ("momentum and line search from zero", PALETTE[2], "--"),
}
GAINS = {
    "free": ("nothing learned", "0.35", "s"),
    "learned": ("best learned guess", PALETTE[0], "o"),
}


def starts(results: xr.Dataset, model: str | None = None) -> list[str]:
    """The starts that there are, for one network or for any."""
    cost = results["cost"] if model is None else results["cost"].sel(model=model)
    known = cost.notnull().any([d for d in cost.dims if d != "start"])
    return [name for name in STARTS if name in cost["start"].values and known.sel(start=name)]


def free(results: xr.Dataset) -> list[str]:
    """The networks without a cap, which have a single lowest energy."""
    known = results["end_gap"].notnull().any(["seed", "set"])
    return results["model"].values[known.values].tolist()


def example(results: xr.Dataset) -> plt.Figure:
    """How the energy of digits with three layers falls by plain steps, from zero and from the best
    guess, and by momentum with a line search; with the sweeps that each needs.
    """
    if "digits_3" not in results["model"]:
        return frames.empty(frames.NOT_COMPUTED)
    one = results.sel(model="digits_3", set="id")
    fig, ax = plt.subplots(figsize=(8.2, 3.9))
    ax.axhline(LEVEL, color="0.5", ls=":", lw=1.2)
    for (start, solver), (text, color, line) in EXAMPLE.items():
        row = one.sel(start=start, solver=solver)
        cost = float(median(row["cost"]))
        height = median(row["height"]).dropna("sweep")
        needed = float(median(row["sweeps"].sel(level=LEVEL))) + cost
        if np.isfinite(needed):
            ax.plot(needed, LEVEL, "o", color=color, ms=8, zorder=3)
            text = f"{text}: {needed:.0f} sweeps"
        ax.plot(height["sweep"] + cost, height, color=color, ls=line, lw=2.2, label=text)
    ax.set(yscale="log", ylim=(3e-4, 6), xlim=(0, 200))
    ax.set(xlabel="sweeps, with the cost of the guess", ylabel="energy above its minimum")
    ax.text(199, 1.1 * LEVEL, "a thousandth", ha="right", va="bottom", fontsize=10, color="0.3")
    fig.legend(fontsize=10, loc="outside upper center", ncols=1)
    return fig


def gain(sweeps: xr.Dataset, times: xr.Dataset) -> plt.Figure:
    """Sweeps of the best solver (hollow: sums of two) and time of the fastest, with nothing learned
    and with something (see `tables.gains`); every seed a point, medians as bars.
    """
    names = sweeps["label"].values.tolist()
    fig, axes = plt.subplots(1, 1 + bool(times), figsize=(9.5, 3.4), sharey=True, squeeze=False)
    axes = axes[0]
    panels = [(axes[0], sweeps.sel(set="id"), 0), (axes[0], sweeps.sel(set="sum"), 0.38)]
    for ax, values, lower in panels + [(ax, times, 0.19) for ax in axes[1:]]:
        for shift, (kind, (_, color, marker)) in zip((-0.28, -0.1), GAINS.items(), strict=True):
            found = values[kind].transpose("model", "seed")
            rows = np.array([names.index(n) for n in found["label"].values]) + shift + lower
            face = {"mfc": "none"} if lower == panels[1][2] else {}
            ax.plot(found, rows, marker, color=color, ms=5, ls="", **face)
            ax.plot(median(found), rows, "|", color=color, ms=14, mew=2)
        between_groups(ax, names, margin=0.5)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set(xlabel="sweeps, momentum and line search", xticks=(10, 20, 40, 80))
    for ax in axes[1:]:
        ax.set(xlabel="coordinate descent, ms per input", xticks=(0.1, 0.3, 1))
    for ax in axes:
        ax.xaxis.set_minor_formatter("")
    sums = Line2D([], [], color="0.35", marker="o", mfc="none", ls="", label="sums of two")
    handles = [*entries(GAINS, list(GAINS)), sums]
    fig.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=10)
    return fig


def descent(results: xr.Dataset) -> plt.Figure:
    """The energy above its minimum against sweeps, those that the start costs included; in
    distribution.
    """
    if not (models := free(results)):
        return frames.empty("Shown of networks without a cap only.")
    size = (10.5, 2.7 * len(models) + 0.7)
    shape = (len(models), len(SOLVERS))
    fig, axes = plt.subplots(*shape, figsize=size, squeeze=False, sharex="col", sharey="row")
    for row, model in zip(axes, models, strict=True):
        for ax, (solver, (title, *_)) in zip(row, SOLVERS.items(), strict=True):
            for name in starts(results, model):
                one = results.sel(model=model, start=name)
                height = median(one["height"].sel(solver=solver, set="id")).dropna("sweep")
                cost = float(one["cost"].median())
                _, color, line, marker = STARTS[name]
                ax.plot(height["sweep"] + cost, height.clip(1e-6), color=color, ls=line, lw=1.4)
                ax.plot(cost, height[0], marker, color=color, ms=5)
            ax.set_title(f"{frames.label(results, model)}: {title}", fontsize=9)
            ax.set(yscale="log")
            ax.set_xscale("symlog", linthresh=10, linscale=0.6)
            ax.set_xlim(0, None)
            ax.set_ylim(5e-5, None)
        row[0].set_ylabel("F above its minimum, relative")
    for ax in axes[-1]:
        ax.set_xlabel("sweeps, with the cost of the start")
    _legend(fig, starts(results))
    return fig


def _rows(
    ax: plt.Axes,
    values: xr.DataArray,
    groups: Groups,
    hue: str,
    order: Sequence[str],
    *,
    hollow: bool = False,
) -> None:
    """Starts as rows, with the groups of `hue` one below the other in each."""
    frame = frames.long_frame(values, "value")
    frame["row"] = frame["start"].map({name: one[0] for name, one in STARTS.items()})
    for number, group in enumerate(groups):
        one = frame[frame[hue] == group]
        if len(one):
            shift = 0.58 * (number / (len(groups) - 1) - 0.5) if len(groups) > 1 else 0.0
            seeds_and_medians(
                ax,
                one,
                value="value",
                by="row",
                hue=hue,
                groups={group: groups[group]},
                order=[STARTS[name][0] for name in order],
                hollow=hollow,
                shift=shift,
            )
    between_groups(ax, order, margin=0.5)
    ax.set(xlabel="")
    ax.tick_params(axis="y", labelsize=8)


def saved(results: xr.Dataset) -> plt.Figure:
    """The share of sweeps saved to a height of 1e-3, by set and solver; every seed a point."""
    models = results["model"].values.tolist()
    order = [name for name in starts(results) if name != "cold"]
    groups = {name: (title, color, marker) for name, (title, color, marker) in SOLVERS.items()}
    shares = results[["saved", "saved_paid"]].sel(level=LEVEL, method="nearest").sel(start=order)
    # Far below zero a point only says "longer".
    shares = 100 * shares.clip(-1, 1)
    both = shares.to_dataarray()  # no number where no settle came to that height
    ends = float(np.fmin(both.min(), -20)) - 6, float(np.fmax(both.max(), 20)) + 6
    size = (2.4 + 2.5 * len(models), 3.0 * len(SETS) + 0.8)
    shape = (len(SETS), len(models))
    fig, axes = plt.subplots(*shape, figsize=size, squeeze=False, sharey=True, sharex=True)
    for kind, row in zip(SETS, axes, strict=True):
        for ax, model in zip(row, models, strict=True):
            one = shares.sel(model=model, set=kind)
            _rows(ax, one["saved"], groups, "solver", order)
            _rows(ax, one["saved_paid"], groups, "solver", order, hollow=True)
            ax.axvline(0, color="0.6", lw=0.8, zorder=0)
            ax.set(xlim=ends)
            ax.set_title(frames.label(results, model), fontsize=9)
        row[0].set_ylabel(SETS[kind])
    for ax in axes[-1]:
        ax.set_xlabel("sweeps saved [%]")
    paid = Line2D([], [], color="0.3", marker="o", mfc="none", ls="", label="with the start's cost")
    handles = [*entries(groups, list(groups)), paid]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    return fig


def supports(results: xr.Dataset) -> plt.Figure:
    """How much of the final support a start has, and how much of its own is in it; all layers,
    before any sweep.
    """
    models = results["model"].values.tolist()
    size = (max(8, 2.7 * len(models) + 0.8), 3.6)
    fig, axes = plt.subplots(1, len(models), figsize=size, squeeze=False, sharey=True)
    shown = [name for name in starts(results) if name != "cold"]
    for ax, model in zip(axes[0], models, strict=True):
        for name in (s for s in starts(results, model) if s in shown):
            _, color, _, marker = STARTS[name]
            one = 100 * results[["recall", "precision"]].sel(model=model, start=name).mean("layer")
            for kind, face in (("id", color), ("sum", "none")):
                pair = one["recall"].sel(set=kind), one["precision"].sel(set=kind)
                ax.scatter(*pair, marker=marker, s=26, facecolors=face, edgecolors=color, lw=0.9)
        ax.set(xlabel="found of the final support [%]", xlim=(0, 103), ylim=(0, 103))
        ax.set_title(frames.label(results, model), fontsize=9)
    axes[0, 0].set_ylabel("of the guess in the final support [%]")
    _legend(fig, shown)
    return fig


def ends(results: xr.Dataset) -> plt.Figure:
    """How far from the end of the cold settle that of every start is, in codes; all sets, every
    seed a point.
    """
    order = [name for name in starts(results) if name != "cold"]
    names = {m: frames.label(results, m) for m in results["model"].values.tolist()}
    groups = {m: (name, *look(name)) for m, name in names.items()}
    worst = results["end_distance"].sel(start=order).max("set", skipna=True).clip(1.5e-10)
    fig, ax = plt.subplots(figsize=(8.5, 0.8 + 0.55 * len(order)))
    _rows(ax, worst, groups, "model", order)
    ax.set(xscale="log", xlim=(1e-10, 3), xlabel="largest distance of codes at rest, relative")
    handles = entries(groups, list(groups))
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    return fig


def _legend(fig: plt.Figure, names: Sequence[str]) -> None:
    handles = [
        Line2D([], [], color=color, ls=line, marker=marker, ms=5, label=text)
        for text, color, line, marker in (STARTS[name] for name in names)
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
