"""What it costs: growth with the sizes of a problem, against a feed-forward pass, and the account
of the chapters.

`scaling` (vary, seed, task, place, repeat) as `measure.scaling` makes it, `results` (chapter)
as `account.account` does.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from chapters.J_cost.names import brief
from vnlib.plots.statistics import short
from vnlib.plots.style import PALETTE

# Label, colour, marker.
TASKS = {
    "settle": ("settle to a gap of 0.001, coordinate descent", PALETTE[0], "o"),
    "line_search": ("the same, line search", PALETTE[9], "v"),
    "sweep": ("one sweep of many", PALETTE[2], "."),
    "update": ("learning: one local update, default settle", PALETTE[1], "D"),
    "forward": ("feed-forward: one pass", PALETTE[7], "s"),
    "backward": ("feed-forward: one update", PALETTE[3], "^"),
}
EXAMPLE = ("forward", "settle", "line_search", "backward", "update")
AXES = {
    "d": "d, numbers per input",
    "K": "K, atoms per layer",
    "B": "B, samples per batch",
    "depth": "layers",
}


def along(scaling: xr.Dataset, vary: str) -> xr.Dataset:
    """Costs along one axis, at the places that it has."""
    one = scaling.sel(vary=vary)
    return one.sel(place=one["size"].notnull().all("seed"))


def growth(scaling: xr.Dataset) -> plt.Figure:
    """Operations (above) and time (below) of every task; points: seeds, lines: their medians."""
    fig, axes = _panels(5.4)
    for column, vary in zip(axes.T, AXES, strict=True):
        one = along(scaling, vary)
        sizes = one["size"][0]
        for ax, values in zip(
            column, (one["operations"], one["time"].median("repeat")), strict=True
        ):
            for task, (label, color, marker) in TASKS.items():
                found = values.sel(task=task)
                if found.isnull().all():
                    continue
                ax.plot(sizes, found.median("seed"), "-", color=color, lw=1)
                for seed in found.transpose("seed", ...):
                    ax.plot(sizes, seed, marker, color=color, ms=4, label=label)
                    label = None
            _logarithmic(ax, sizes.values)
            ax.set_xlabel(AXES[vary])
    axes[0, 0].set_ylabel("operations per batch")
    axes[1, 0].set_ylabel("time per batch, s")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncol=3, fontsize=8.5)
    return fig


def _panels(height: float, rows: int = 2) -> tuple[plt.Figure, np.ndarray]:
    """Rows of panels, a column for each axis."""
    return plt.subplots(rows, len(AXES), figsize=(2.55 * len(AXES), height), sharey="row")


def _logarithmic(ax: plt.Axes, sizes: np.ndarray) -> None:
    ax.set(xscale="log", yscale="log")
    ax.set_xticks(sizes, [f"{size:,g}" for size in sizes], fontsize=7.5)
    ax.minorticks_off()
    ax.grid(color="0.93")


def example(scaling: xr.Dataset) -> plt.Figure:
    """Time of one batch by task, with one layer and with the most: bars are medians over seeds, points
    seeds; beside them how many feed-forward passes that is.
    """
    one = along(scaling, "depth")
    tasks = [task for task in EXAMPLE if task in one["task"].values]
    fig, axes = plt.subplots(1, 2, figsize=(10.2, 2.7), sharex=True, sharey=True)
    for ax, place in zip(axes, (0, -1), strict=True):
        at = one.isel(place=place)
        times = 1e3 * at["time"].median("repeat")
        for row, task in enumerate(tasks):
            _, color, marker = TASKS[task]
            found = times.sel(task=task)
            ax.barh(row, found.median("seed"), color=color, alpha=0.6)
            ax.plot(found, [row] * found.size, marker, color=color, ms=3)
            passes = ratio(at, task, "forward")["time"].median("repeat").median("seed")
            said = f"× {short(float(passes))}" if task != "forward" else ""
            ax.text(1.3 * float(found.max()), row, said, va="center", fontsize=9)
        layers = int(at["size"][0])
        ax.set(xscale="log", xlabel="time of one batch, ms")
        ax.xaxis.set_major_formatter("{x:,g}")
        ax.minorticks_off()
        ax.set_title("one layer" if layers == 1 else f"{layers} layers", fontsize=10)
    axes[0].set_yticks(range(len(tasks)), [TASKS[task][0] for task in tasks], fontsize=9)
    axes[0].set_ylim(len(tasks) - 0.4, -0.6)
    axes[0].set_xlim(right=4 * axes[0].get_xlim()[1])
    return fig


def ratio(scaling: xr.Dataset, what: str, over: str) -> xr.Dataset:
    """How many times one task costs another: "time" of each repeat (they took turns), and
    "operations".
    """
    costs = with_fastest(scaling[["time", "operations"]])
    return costs.sel(task=what) / costs.sel(task=over)


EXACT = ("settle", "line_search")  # the default first


def with_fastest(costs: xr.Dataset) -> xr.Dataset:
    """Costs with two tasks more: "exact", at each place the settle whose median time over repeats
    and seeds is the shortest of all exact ones; and "exact_update", an update with that settle in
    the place of the default one, which is reckoned from the three.
    """
    solvers = costs.sel(task=list(EXACT))
    fastest = solvers["time"].median(["repeat", "seed"]).fillna(np.inf).argmin("task")
    exact = solvers.isel(task=fastest).assign_coords(task="exact")
    default, update = (costs.sel(task=task, drop=True) for task in ("settle", "update"))
    update = (update + (exact.drop_vars("task") - default)).assign_coords(task="exact_update")
    return xr.concat([costs, exact, update], "task")


# What the page speaks of, over what, and its name.
PAIRS = (
    ("exact", "forward", "exact settle / forward pass"),
    ("exact_update", "backward", "local update / backpropagation"),
)
# The same by one solver at all places.
SINGLE = (
    ("settle", "forward", "default settle"),
    ("line_search", "forward", "line search"),
    ("update", "backward", "default settle"),
)


def slowdown(scaling: xr.Dataset) -> plt.Figure:
    """How many times the fastest exact settle costs a forward pass, and a local update with it one
    by backpropagation; thin lines: the times of one solver at all places.
    """
    fig, axes = _panels(5.2, len(PAIRS))
    for row, (what, over, name) in zip(axes, PAIRS, strict=True):
        for ax, vary in zip(row, AXES, strict=True):
            one = along(scaling, vary)
            sizes, found = one["size"][0].values, ratio(one, what, over)
            every, counts = found["time"], found["operations"].median("seed")
            low, high = (getattr(every, end)(["seed", "repeat"]) for end in ("min", "max"))
            times = every.median("repeat").median("seed")
            ax.vlines(sizes, low, high, color=PALETTE[0], lw=1, alpha=0.6)
            ax.plot(sizes, times, "o-", color=PALETTE[0], ms=5, label="time")
            ax.plot(sizes, counts, "s--", color=PALETTE[1], ms=4, label="operations")
            for one_solver, same, solver in SINGLE:
                if same == over:
                    alone = ratio(one, one_solver, over)["time"].median("repeat").median("seed")
                    style = "-." if solver == "line search" else ":"
                    ax.plot(sizes, alone, style, color="0.4", lw=1, label=f"time, {solver}")
            _logarithmic(ax, sizes)
            ax.axhline(1, color="0.5", ls=":", lw=1)
            ax.set_xlabel(AXES[vary])
        row[0].set_ylabel(name, fontsize=8.5)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncol=4)
    return fig


def account(results: xr.Dataset) -> plt.Figure:
    """Core-minutes (hollow: minutes with a GPU, by the clock), the largest measured process
    (hollow: stopped early), and disk, chapter by chapter; what is not known has no point.
    """
    names = [str(name) for name in results["chapter"].values]
    panels = (
        ("seconds", 60, "minutes, all runs"),
        ("peak", 1e9, "largest process, GB"),
        ("bytes", 1e6, "results on disk, MB"),
    )
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 0.24 * len(names) + 1.2), sharey=True)
    for ax, (name, unit, label) in zip(axes, panels, strict=True):
        values = results[name].values / unit
        early = results["finished"].values == 0 if name == "peak" else np.zeros(len(names), bool)
        for row, (value, hollow) in enumerate(zip(values, early, strict=True)):
            ax.plot(value, row, "o", mec=PALETTE[0], mfc="none" if hollow else PALETTE[0], ms=6)
        if name == "seconds":
            shared = results["gpu_seconds"].values / unit
            ax.plot(shared, range(len(names)), "D", mec=PALETTE[1], mfc="none", ms=6)
            values = np.append(values, shared)
        ax.set(ylim=(len(names) - 0.5, -0.5), xlabel=label)
        if name == "peak":
            most = np.nanmax(values, initial=0) if np.isfinite(values).any() else 1
            ax.set_xlim(0, 1.1 * most)
        else:
            _decades(ax, values)
        ax.grid(color="0.93")
    program = float((results["peak"] - results["own"]).median()) / 1e9
    if np.isfinite(program):
        axes[1].axvline(program, color="0.5", ls=":", lw=1)
    axes[0].set_yticks(range(len(names)), map(brief, names), fontsize=8)
    return fig


def _decades(ax: plt.Axes, values: np.ndarray) -> None:
    """A logarithmic axis between powers of ten, which alone have ticks."""
    there = values[np.isfinite(values) & (values > 0)]
    if there.size:
        powers = np.arange(np.floor(np.log10(there.min())), np.ceil(np.log10(there.max())) + 1)
        ax.set(xscale="log", xlim=(10 ** powers[0] / 1.3, 10 ** powers[-1] * 1.3))
        powers = powers[:: 2 if len(powers) > 3 else 1]  # else 10 and 100 touch on a phone
        ax.set_xticks(10**powers, [f"{10**p:,g}" for p in powers])
        ax.minorticks_off()
