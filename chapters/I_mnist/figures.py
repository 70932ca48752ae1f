"""Figures of which atoms are used, and when their supports lock in (VN Fig. 12, App. I).

`results` is what `studies.selection.study` returns over model and seed, with the coordinate label
(model).
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D

from vnlib.plots.rows import label
from vnlib.plots.style import PALETTE

DEFAULT, CAPPED = "vn_3", "vn_3_top24"
COLORS = {
    "vn_3": PALETTE[0],
    "vn_3_half": PALETTE[2],
    "vn_3_double": PALETTE[4],
    "vn_3_top24": PALETTE[1],
    "vn_3_equal": PALETTE[5],
    "vn_1": PALETTE[7],
}
MARKERS = {
    "vn_3": "o",
    "vn_3_half": "v",
    "vn_3_double": "^",
    "vn_3_top24": "s",
    "vn_3_equal": "D",
    "vn_1": "x",
}
SOLVERS = {
    "ista": ("plain steps", PALETTE[3], ":", "v"),
    "restart": ("momentum, restarted", PALETTE[0], "--", "s"),
    "line_search": ("momentum and line search", PALETTE[2], "-", "o"),
}
SETS = {"id": ("single digits", "-", None), "add2": ("sums of two", "--", "w")}
LAYERS = ("0.15", "0.5", "0.75")  # shades
LOCKED, FAST = 0.9, 20


def names(results: xr.Dataset, wanted: Sequence[str] = tuple(COLORS)) -> list[str]:
    """The networks wanted that there are."""
    return [name for name in wanted if name in results["model"].values]


def typical(results: xr.Dataset) -> str:
    """The network that single-network figures show: the default, or else the first."""
    return names(results)[0]


def layers_of(results: xr.Dataset, model: str) -> list[int]:
    """The layers that a network has, from 1."""
    there = (
        results["active"]
        .sel(model=model)
        .notnull()
        .any([d for d in ("seed", "set") if d in results["active"].dims])
    )
    return [int(n) for n in results["layer"].values[there.values]]


def usage(results: xr.Dataset) -> plt.Figure:
    """Share of single digits that use each atom, atoms in falling order; a line per seed."""
    models = names(results)
    fig, axes = plt.subplots(1, results.sizes["layer"], figsize=(10.5, 3.6), squeeze=False)
    for ax, layer in zip(axes[0], results["layer"].values, strict=True):
        for model in models:
            values = results["usage"].sel(set="id", layer=layer, model=model)
            for seed in results["seed"].values:
                one = values.sel(seed=seed).dropna("atom").values
                ax.plot(
                    (np.arange(len(one)) + 0.5) / max(len(one), 1),
                    one,
                    color=COLORS[model],
                    lw=1,
                    alpha=0.7,
                )
        ax.set(title=f"layer {layer}", xlabel="atoms, by use [share of all]", xlim=(0, 1))
        ax.set_ylim(0, None)
    axes[0, 0].set_ylabel("share of digits that use it")
    handles = [Line2D([], [], color=COLORS[m], label=label(results, m)) for m in models]
    fig.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=8)
    return fig


MEASURES = {
    "active_share": "active atoms, share of all",
    "hoyer": "Hoyer's sparsity",
    "told": "selectivity above chance",
}


def measure(results: xr.Dataset, name: str) -> xr.DataArray:
    """A measure of sparsity by depth (model, seed, layer, and set but for "told", which is taken
    above chance).
    """
    if name == "told":
        return (results["told"] - results["told_shuffled"]).sel(state="active")
    return results[name]


def depth(results: xr.Dataset) -> plt.Figure:
    """Sparsity and selectivity against the layer: every seed a point, lines through medians."""
    models = names(results)
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.9))
    for ax, (name, title) in zip(axes, MEASURES.items(), strict=True):
        values = measure(results, name)
        sets = [one for one in SETS if "set" in values.dims and one in values["set"].values] or [
            "id"
        ]
        for number, model in enumerate(models):
            shift = 0.05 * (number - (len(models) - 1) / 2)
            for kind in sets:
                one = values.sel(model=model)
                _line(
                    ax,
                    one.sel(set=kind) if "set" in one.dims else one,
                    model,
                    shift,
                    *SETS[kind][1:],
                )
        ax.set(xlabel="layer", ylabel=title, xticks=results["layer"].values)
        ax.set_ylim(min(0, ax.get_ylim()[0]), None)
    handles = [
        Line2D([], [], color=COLORS[m], marker=MARKERS[m], ms=5, label=label(results, m))
        for m in models
    ]
    handles += [
        Line2D([], [], color="0.3", ls=style, label=title) for title, style, _ in SETS.values()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    return fig


def _line(
    ax: plt.Axes, values: xr.DataArray, model: str, shift: float, style: str, face: str | None
) -> None:
    middle, color = values.median("seed"), COLORS[model]
    ax.plot(values["layer"] + shift, middle, color=color, ls=style, lw=1.3)
    for seed in values["seed"].values:
        filled = {} if MARKERS[model] == "x" else {"facecolors": face or color, "edgecolors": color}
        colored = {"color": color} if MARKERS[model] == "x" else {}
        one = values.sel(seed=seed)
        ax.scatter(
            values["layer"] + shift,
            one,
            marker=MARKERS[model],
            s=17,
            lw=0.9,
            zorder=3,
            **filled,
            **colored,
        )


def locking(results: xr.Dataset) -> plt.Figure:
    """Overlap of the support with that at rest against sweeps, single digits; medians over seeds,
    thin: each seed.
    """
    models = names(results, (DEFAULT, CAPPED)) or [typical(results)]
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
            for solver, (_, color, style, _) in SOLVERS.items():
                _curves(ax, values.sel(solver=solver), color, style)
            ax.axhline(LOCKED, color="0.4", lw=0.8, ls="-.")
            ax.axvline(FAST, color="0.4", lw=0.8, ls="-.")
            ax.set(xscale="log", ylim=(0, 1.03), title=f"{label(results, model)}: layer {layer}")
            ax.title.set_size(9)
        row[0].set_ylabel("overlap with the support at rest", fontsize=8.5)
    _sweeps(axes[-1])
    _solvers(
        fig,
        Line2D([], [], color="0.4", lw=0.8, ls="-.", label=f"overlap {LOCKED:g}; {FAST} sweeps"),
    )
    return fig


def _curves(ax: plt.Axes, values: xr.DataArray, color: str, style: str) -> None:
    for seed in values["seed"].values:
        ax.plot(values["sweep"], values.sel(seed=seed), color=color, lw=0.5, alpha=0.5)
    ax.plot(values["sweep"], values.median("seed"), color=color, ls=style, lw=1.8)


def _sweeps(axes: Sequence[plt.Axes]) -> None:
    for ax in axes:
        ax.set_xlabel("sweeps")
        ax.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
        ax.minorticks_off()


def _solvers(fig: plt.Figure, *more: Line2D) -> None:
    handles = [
        Line2D([], [], color=color, ls=style, lw=1.8, label=name)
        for name, color, style, _ in SOLVERS.values()
    ]
    fig.legend(handles=[*handles, *more], loc="outside upper center", ncols=4, fontsize=8)


def levels(results: xr.Dataset) -> plt.Figure:
    """Sweeps until the mean overlap stays at 0.9 or above, for each network and layer; every seed a
    point.
    """
    models, last = names(results), int(results["sweep"].max())
    fig, axes = plt.subplots(
        1, 2, figsize=(10.5, 1.5 + 0.5 * len(models)), sharex=True, sharey=True
    )
    for ax, (kind, (title, *_)) in zip(axes, SETS.items(), strict=True):
        for y, model in enumerate(models):
            layers = layers_of(results, model)
            for layer in layers:
                place = y + 0.24 * (layers.index(layer) - (len(layers) - 1) / 2)
                values = results["locked_mean"].sel(
                    model=model, set=kind, threshold=LOCKED, layer=layer
                )
                for solver, (_, color, _, marker) in SOLVERS.items():
                    one = values.sel(solver=solver)
                    ax.scatter(
                        one,
                        np.full(len(one), place),
                        color=color,
                        marker=marker,
                        s=15,
                        alpha=0.7,
                        lw=0,
                    )
                ax.annotate(
                    f"{layer}",
                    (0.005, place),
                    xycoords=("axes fraction", "data"),
                    fontsize=6.5,
                    va="center",
                )
        ax.axvline(FAST, color="0.4", lw=0.8, ls="-.")
        ax.axvspan(last + 0.5, 1.25 * last, color="0.92", zorder=0)
        ax.set(xscale="log", title=title, xlim=(3, 1.25 * last), ylim=(len(models) - 0.5, -0.5))
        ax.set_yticks(range(len(models)), [label(results, m) for m in models], fontsize=8.5)
        ax.grid(axis="x", color="0.93", lw=0.6)
        ticks = [t for t in (5, 10, 20, 50, 100) if t <= last]
        ax.set_xticks(ticks, [str(t) for t in ticks])
        ax.minorticks_off()
        ax.set_xlabel(
            f"sweeps until the overlap stays ≥ {LOCKED:g}; grey: not within {last}", fontsize=8.5
        )
    handles = [
        Line2D([], [], color=color, marker=m, ls="", label=name)
        for name, color, _, m in SOLVERS.values()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=8)
    return fig


def motion(results: xr.Dataset) -> plt.Figure:
    """Support size, flips and error against sweeps for the default network on single digits."""
    model = typical(results)
    one = results.sel(model=model, set="id")
    layers = layers_of(results, model)
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.5), sharex=True)
    widths = {layer: 0.8 + 0.8 * k for k, layer in enumerate(layers)}
    for solver, (_, color, style, _) in SOLVERS.items():
        here = one.sel(solver=solver).median("seed")
        for layer in layers:
            at = here.sel(layer=layer)
            axes[0].plot(
                here["sweep"], at["nonzero"] / at["atoms"], color=color, ls=style, lw=widths[layer]
            )
            flips = (at["flips"] / at["nonzero"]).clip(1e-4)
            axes[1].plot(here["sweep"], flips, color=color, ls=style, lw=widths[layer])
        axes[2].plot(here["sweep"], here["error"], color=color, ls=style, lw=1.6)
    axes[2].axhline(float(one["zero_baseline"].median()), color="k", ls=(0, (1, 3)), lw=1.2)
    titles = (
        "active atoms, share of all",
        "share of the support that flips",
        "MSE per pixel of $V_1 a_1$",
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set(xscale="log", ylabel=title)
    axes[1].set_yscale("log")
    axes[2].set_yscale("log")
    _sweeps(axes)
    extra = [
        Line2D([], [], color="0.4", lw=w, label=f"layer {layer}") for layer, w in widths.items()
    ]
    _solvers(fig, *extra, Line2D([], [], color="k", ls=(0, (1, 3)), label="zero drawing"))
    return fig


ENERGIES = {"energy": "joint energy F", "summed_energy": "sum of the layers' energies"}


def energies(results: xr.Dataset) -> plt.Figure:
    """F, which descends, and the summed energies of VN Eq. 3 against sweeps; default network, both
    sets.
    """
    model = typical(results)
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.6), sharex=True)
    for ax, (name, title) in zip(axes, ENERGIES.items(), strict=True):
        for kind, (_, _, face) in SETS.items():
            values = results.sel(model=model, set=kind)
            for solver, (_, color, style, marker) in SOLVERS.items():
                curve = values[name].sel(solver=solver) / values[f"{name}_end"].sel(
                    solver="line_search"
                )
                _curves(ax, curve, color, style)
                last = curve.median("seed").isel(sweep=-1)
                ax.plot(
                    values["sweep"][-1], last, marker=marker, color=color, mfc=face or color, ms=5
                )
        ax.axhline(1, color="0.4", lw=0.8, ls="-.")
        ax.set(xscale="log", title=f"{title}, over its value at rest", ylim=(0.85, 1.6))
        ax.title.set_size(9.5)
    _sweeps(axes)
    kinds = [
        Line2D([], [], color="0.3", marker="o", mfc=face or "0.3", ls="", label=title)
        for title, _, face in SETS.values()
    ]
    _solvers(fig, *kinds)
    return fig


def selectivity(results: xr.Dataset) -> plt.Figure:
    """What labels tell of atoms: by layer against shuffled labels, and atom by atom for the default
    network.
    """
    models = names(results)
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.7))
    for ax, state in zip(axes, results["state"].values, strict=False):
        for number, model in enumerate(models):
            shift = 0.07 * (number - (len(models) - 1) / 2)
            _line(ax, results["told"].sel(state=state, model=model), model, shift, "-", None)
            chance = results["told_shuffled_most"].sel(state=state, model=model).max("seed")
            ax.plot(
                chance["layer"] + shift,
                chance,
                color=COLORS[model],
                marker="_",
                ls="",
                ms=8,
                mew=1.5,
            )
        title = {"active": "active or not", "signed": "positive, negative or not"}[str(state)]
        ax.set(
            xlabel="layer",
            ylabel="share of activity that labels tell",
            xticks=results["layer"].values,
        )
        ax.set_title(f"atoms' state: {title}", fontsize=9)
        ax.set_ylim(0, None)
    model = typical(results)
    for number, layer in enumerate(layers_of(results, model)):
        for k, seed in enumerate(results["seed"].values):
            one = (
                results["told_atom"].sel(model=model, layer=layer, seed=seed).dropna("atom").values
            )
            x = (np.arange(len(one)) + 0.5) / max(len(one), 1)
            axes[2].plot(
                x,
                one,
                color=LAYERS[number % len(LAYERS)],
                lw=1,
                alpha=0.8,
                label=f"layer {layer}" if k == 0 else None,
            )
    axes[2].axhline(0, color="0.4", lw=0.8)
    axes[2].set(xlabel="atoms, by selectivity [share of all]", ylabel="selectivity above chance")
    axes[2].set_title(label(results, model), fontsize=9)
    axes[2].legend(fontsize=8)
    handles = [
        Line2D([], [], color=COLORS[m], marker=MARKERS[m], ms=5, label=label(results, m))
        for m in models
    ]
    handles.append(
        Line2D(
            [],
            [],
            color="0.3",
            marker="_",
            ls="",
            ms=8,
            mew=1.5,
            label="most of any shuffled labels",
        )
    )
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    return fig
