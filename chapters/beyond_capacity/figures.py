"""Figures of errors against size and against coefficients, from results over (model, size, seed)."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatterMathtext, LogLocator, NullFormatter

from benchmarks.baselines.figures import of_models
from vnlib.plots.frames import if_computed, label, some
from vnlib.plots.statistics import median, over_seeds
from vnlib.plots.style import image_axes, look

# Names of today for a stored one that tells a single size
RENAMED = {"Exemplars, 3 of 2048": "Exemplars, 3 at a time"}
OPTIMISED = "_optimised"  # ends the name of a model whose codes are optimised for the very input
SEARCHED = {
    "digits_ae": "AE, optimised codes",
    "digits_ksparse": "k-sparse AE, optimised codes",
}
ADDED = ("add2", "sub2", "add3", "addsub4")
LEAST, MOST = 1e-6, 10  # errors that are shown
PARTS = {"id": "in distribution", "ood": "out of distribution"}


@dataclass(frozen=True)
class Task:
    """What models are asked: of which benchmark, and the sets of each part, by name."""

    title: str
    benchmark: str
    sets: dict[str, tuple[str, ...]]


def _signals(title: str, task: str) -> Task:
    return Task(title, "signals", {"id": (f"{task} id",), "ood": (f"{task} hard",)})


TASKS = {
    "whole": _signals("signals, whole", "whole"),
    "quarter": _signals("signals, last quarter hidden", "forecast_25"),
    "digits": Task("digits; sums and differences", "digits", {"id": ("id",), "ood": ADDED}),
    "forces": Task("bodies, one force; several", "forces", {"id": (), "ood": ()}),
}


def sets(results: xr.Dataset, task: str, part: str) -> list[str]:
    """The sets of a part: for bodies, five of them under one force alone or under several."""
    one = TASKS[task]
    if one.benchmark != "forces":
        return [name for name in one.sets[part] if name in results["set"].values]
    five = [str(name) for name in results["set"].values if str(name).endswith(", 5 bodies")]
    return [name for name in five if ("+" in name) == (part == "ood")]


def error(results: xr.Dataset, task: str, part: str) -> xr.DataArray:
    """Errors (model, size, seed) of the models of a task: medians over its sets. A model whose codes
    are optimised for the very input, too, is there a second time with these.
    """
    there = results["benchmark"].values == TASKS[task].benchmark
    found = results[["error", "searched"]].isel(model=there).sel(set=sets(results, task, part))
    names = [RENAMED.get(name, name) for name in found["label"].values.tolist()]
    found = found.assign_coords(label=("model", names))
    own, optimised = found["error"].median("set"), found["searched"].median("set")
    there = [name for name in SEARCHED if name in own["model"].values]
    told = {
        "model": [name + OPTIMISED for name in there],
        "label": ("model", [SEARCHED[name] for name in there]),
    }
    return (
        xr.concat([own, optimised.sel(model=there).assign_coords(told)], "model") if there else own
    )


def known(results: xr.Dataset, name: str, values: xr.DataArray) -> xr.DataArray:
    """What results say of the models of `values`, however their codes are found."""
    models = [str(one).removesuffix(OPTIMISED) for one in values["model"].values]
    same = {name: values[name] for name in ("model", "label")}
    return results[name].sel(model=models).assign_coords(same)


def inputs(signals: xr.Dataset, images: xr.Dataset, bodies: xr.Dataset) -> Figure:
    """An input of each benchmark in distribution, above, and one out of it, below."""
    fig, axes = plt.subplots(2, 3, figsize=(9, 4.8), width_ratios=[1.8, 1, 1])
    shown = (
        ("id", "a signal, over the r.m.s. of all", "id", "a digit", "spring", "bodies, one force"),
        (
            "hard",
            "a Hard signal, likewise",
            "add2",
            "a sum of two",
            "gravity+spring",
            "bodies, two forces",
        ),
    )
    for row, (kind, *titles) in zip(axes, shown, strict=True):
        one = signals["value"].values[signals["set"].values == kind][0]
        row[0].plot(signals["time"], one, color="0.2", lw=1)
        row[0].set_xlabel("time [s]")
        name, forces = titles[1::2]
        image_axes(row[1]).imshow(images["image"].sel(set=name).isel(sample=0), vmin=0, vmax=2)
        state = bodies.isel(state=int((bodies["forces"].values == forces).argmax()))
        at, push = state["position"].values.T, state["acceleration"].values.T
        longest = (push**2).sum(0).max() ** 0.5  # is drawn as a unit of length
        style = {"angles": "xy", "scale_units": "xy", "scale": longest, "width": 0.012}
        row[2].quiver(*at, *push, color=look("VN-1L")[0], **style)
        row[2].plot(*at, "o", color="0.2", ms=5)
        image_axes(row[2]).set(aspect="equal", xmargin=0.4, ymargin=0.4)
        for ax, title in zip(row, titles[::2], strict=True):
            ax.set_title(title, fontsize=10)
    return fig


@if_computed
def sizes(results: xr.Dataset) -> Figure:
    """Errors against size over the usual one: medians over seeds out of distribution (full lines)
    and in it (dashed), every seed a point.
    """
    fig, axes = plt.subplots(2, 2, figsize=(10, 8.2))
    for ax, task in zip(axes.flat, TASKS, strict=True):
        models = []
        for part, line in (("id", "--"), ("ood", "-")):
            values = error(results, task, part)
            models = [
                str(m) for m in values["model"].values if bool(values.sel(model=m).notnull().any())
            ]
            for model in models:
                own = values.sel(model=model).dropna("size", how="all")
                at = own["size"].values / own["usual"].item()
                color, marker = look(label(values, model))
                faint = 0.45 if part == "id" else 1
                ax.plot(at, median(own), ls=line, color=color, marker=marker, ms=5, alpha=faint)
                for one in own.transpose("seed", "size") if part == "ood" else ():
                    ax.plot(at, one, ls="", marker=".", ms=3, color=color)
        _level(ax)
        ax.axvline(1, color="0.6", ls=":", lw=1)
        ax.set(xscale="log", title=TASKS[task].title)
        ax.set(xlabel="size, 1: as in the paper's figure", ylabel="error, 1: zero baseline")
        _twos(ax)
        ax.legend(handles=of_models(values, models), fontsize=8)
    lines = [("-", "0.2", "out of distribution"), ("--", "0.6", "in distribution")]
    handles = [Line2D([], [], ls=ls, color=c, label=text) for ls, c, text in lines]
    fig.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8.5)
    return fig


@if_computed
def coefficients(results: xr.Dataset) -> Figure:
    """Errors against nonzero coefficients, in distribution and out of it: medians over seeds, and
    their intervals.
    """
    tasks = [task for task in TASKS if task != "forces"]
    fig, axes = plt.subplots(2, len(tasks), figsize=(11, 7), sharex="col", squeeze=False)
    for column, task in zip(axes.T, tasks, strict=True):
        for ax, (part, text) in zip(column, PARTS.items(), strict=True):
            values = error(results, task, part)
            active = known(results, "active", values)
            models = some(coded(active))
            for model in models:
                own = values.sel(model=model).dropna("size", how="all")
                at = median(active.sel(model=model, size=own["size"]))
                middle, low, high = (over_seeds(own)[name] for name in ("median", "low", "high"))
                color, marker = look(label(values, model))
                style = {"color": color, "marker": marker, "ms": 5, "lw": 1.2, "elinewidth": 0.8}
                ax.errorbar(at, middle, (middle - low, high - middle), **style)
            _level(ax)
            ax.set(xscale="log", title=f"{TASKS[task].title}\n{text}")
            ax.legend(handles=of_models(values, models), fontsize=8)
        axis = column[-1].xaxis
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())  # such as 300 and 400, which overlap
        column[-1].set_xlabel("nonzero coefficients of an input")
    for ax in axes[:, 0]:
        ax.set_ylabel("error, 1: zero baseline")
    return fig


def coded(active: xr.DataArray) -> list[str]:
    """The models that write an input as coefficients, of which these are counts."""
    there = active.notnull().any(["size", "seed"])
    return [str(model) for model in active["model"].values[there.values]]


def _level(ax: Axes) -> None:
    """The zero baseline, and an axis of the errors that are shown, by powers of ten in every panel."""
    ax.axhline(1, color="0.6", ls=":", lw=1)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(LogFormatterMathtext())
    ax.set_ylim(max(ax.get_ylim()[0], LEAST), min(ax.get_ylim()[1], MOST))


def _twos(ax: Axes) -> None:
    """Ticks at powers of two within the axis, as fractions."""
    low, high = ax.get_xlim()
    powers = [k for k in range(-6, 7) if low <= 2.0**k <= high][:: 1 if high / low < 200 else 2]
    names = [f"1/{2**-k}" if k < 0 else str(2**k) for k in powers]
    ax.set_xticks([2.0**k for k in powers], names)
    ax.minorticks_off()
