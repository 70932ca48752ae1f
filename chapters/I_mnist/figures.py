"""Figures of which atoms are used, and when their supports lock in (VN Fig. 12, App. I).

Results are over model and seed, as `chapters.I_mnist.measure` returns them, with the coordinate
label of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.baselines.figures import of_models
from vnlib.plots.frames import label, long_frame
from vnlib.plots.statistics import median
from vnlib.plots.style import look

DEFAULT, CAPPED = "vn_3", "vn_3_top24"
NETWORKS = ("vn_3", "vn_3_half", "vn_3_double", "vn_3_top24", "vn_3_equal", "vn_1")
NAMES = {
    "ista": "plain steps",
    "restart": "momentum, restarted",
    "line_search": "momentum and line search",
}
SOLVERS = {  # -> name, colour, line, marker
    solver: (name, look(name)[0], line, look(name)[1])
    for (solver, name), line in zip(NAMES.items(), (":", "--", "-"), strict=True)
}
SETS = {"id": ("single digits", "-", None), "add2": ("sums of two", "--", "w")}
LAYERS = ("0.15", "0.5", "0.75")  # shades
LOCKED, FAST = 0.9, 20


def networks(results: xr.Dataset, wanted: Sequence[str] = NETWORKS) -> list[str]:
    """The networks wanted that there are."""
    return [name for name in wanted if name in results["model"].values]


def typical(results: xr.Dataset) -> str:
    """The network that single-network figures show: the default, or else the first."""
    return networks(results)[0]


def layers_of(results: xr.Dataset, model: str) -> list[int]:
    """The layers that a network has, from 1."""
    there = (
        results["active"]
        .sel(model=model)
        .notnull()
        .any([d for d in ("seed", "set") if d in results["active"].dims])
    )
    return [int(n) for n in results["layer"].values[there.values]]


def model_entries(results: xr.Dataset, models: Sequence[str], *more: Line2D) -> list[Line2D]:
    """Legend entries of networks and whatever else there is."""
    return [*of_models(results, models, ls="-"), *more]


def seed_lines(ax: Axes, values: xr.DataArray, x: str, color: str, **style: object) -> None:
    """A line for each seed."""
    _lines(ax, values, x, color, units="seed", estimator=None, sort=False, **style)


def median_line(ax: Axes, values: xr.DataArray, x: str, color: str, **style: object) -> None:
    """A line through medians over seeds."""
    _lines(ax, values, x, color, estimator="median", errorbar=None, **style)


def _lines(ax: Axes, values: xr.DataArray, x: str, color: str, **options: object) -> None:
    frame = long_frame(values)
    if len(frame):  # seaborn asks the last line for its colour
        sns.lineplot(frame, x=x, y="value", color=color, ax=ax, **options)
    ax.set(xlabel="", ylabel="")


def usage(results: xr.Dataset) -> Figure:
    """Share of single digits that use each atom, atoms in falling order; a line per seed."""
    models = networks(results)
    fig, axes = plt.subplots(1, results.sizes["layer"], figsize=(10.5, 3.6), squeeze=False)
    for ax, layer in zip(axes[0], results["layer"].values, strict=True):
        for number, model in enumerate(models):
            values = _by_share(results["usage"].sel(set="id", layer=layer, model=model))
            color, marker = look(label(results, model))
            seed_lines(ax, values, "share", color, lw=1, alpha=0.7)
            if values.sizes["atom"]:  # marks side by side tell apart what lies on each other
                at = np.linspace(0.07, 0.72, 3) + 0.04 * number
                marked = median(values).swap_dims(atom="share").sel(share=at, method="nearest")
                ax.plot(marked["share"], marked, color=color, marker=marker, ls="", ms=5)
        ax.set(title=f"layer {layer}", xlabel="atoms, by use [share of all]", xlim=(0, 1))
        ax.set_ylim(0, None)
    axes[0, 0].set_ylabel("share of digits that use it")
    handles = model_entries(results, models)
    fig.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=9)
    return fig


def _by_share(values: xr.DataArray) -> xr.DataArray:
    """Values of atoms in falling order with `share`, their place among those that exist."""
    values = values.dropna("atom", how="all")
    count = max(values.sizes["atom"], 1)
    return values.assign_coords(share=("atom", (np.arange(values.sizes["atom"]) + 0.5) / count))


MEASURES = {
    "active_share": "active atoms, share of all",
    "hoyer": "Hoyer's sparsity",
    "told": "selectivity above chance",
}


def measure_of(results: xr.Dataset, name: str) -> xr.DataArray:
    """A measure of sparsity by depth (model, seed, layer, and set but for "told", which is taken
    above chance).
    """
    if name == "told":
        return (results["told"] - results["told_shuffled"]).sel(state="active")
    return results[name]


def depth(results: xr.Dataset) -> Figure:
    """Sparsity and selectivity against the layer: every seed a point, lines through medians."""
    models = networks(results)
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.9))
    for ax, (name, title) in zip(axes, MEASURES.items(), strict=True):
        values = measure_of(results, name)
        there = values["set"].values if "set" in values.dims else ["id"]
        for kind in [one for one in SETS if one in there]:
            for number, model in enumerate(models):
                one = values.sel(model=model)
                one = one.sel(set=kind) if "set" in one.dims else one
                shift = 0.05 * (number - (len(models) - 1) / 2)
                _layers(ax, one, shift, SETS[kind][1], hollow=SETS[kind][2] is not None)
        ax.set(xlabel="layer", ylabel=title, xticks=results["layer"].values)
        ax.set_ylim(min(0, ax.get_ylim()[0]), None)
    sets = [Line2D([], [], color="0.3", ls=style, label=title) for title, style, _ in SETS.values()]
    handles = model_entries(results, models, *sets)
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9)
    return fig


def _layers(
    ax: Axes, values: xr.DataArray, shift: float, style: str, *, hollow: bool = False
) -> None:
    """A network's points, moved beside its layers, and a line through their medians."""
    color, marker = look(str(values["label"].item()))
    values = values.assign_coords(at=("layer", values["layer"].values + shift))
    median_line(ax, values, "at", color, ls=style, lw=1.3)
    frame = long_frame(values)
    ax.scatter(
        frame["at"],
        frame["value"],
        marker=marker,
        s=17,
        lw=0.9,
        zorder=3,
        facecolors="w" if hollow and marker != "x" else color,
        **({} if marker == "x" else {"edgecolors": color}),
    )


def selectivity(results: xr.Dataset) -> Figure:
    """What labels tell of atoms: by layer against shuffled labels, and atom by atom for the default
    network.
    """
    models = networks(results)
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.9))
    for ax, state in zip(axes, results["state"].values, strict=False):
        for number, model in enumerate(models):
            shift = 0.07 * (number - (len(models) - 1) / 2)
            one = results.sel(state=state, model=model)
            _layers(ax, one["told"], shift, "-")
            chance = one["told_shuffled_most"].max("seed")
            at = chance["layer"] + shift
            ax.plot(
                at, chance, color=look(label(results, model))[0], marker="_", ls="", ms=8, mew=1.5
            )
        title = {"active": "active or not", "signed": "positive, negative or not"}[str(state)]
        ax.set(xlabel="layer", ylabel="share of activity that labels tell")
        ax.set_xticks(results["layer"].values)
        ax.set_title(f"atoms' state: {title}", fontsize=9)
        ax.set_ylim(0, None)
    model, ax = typical(results), axes[2]
    for number, layer in enumerate(layers_of(results, model)):
        values = _by_share(results["told_atom"].sel(model=model, layer=layer))
        seed_lines(ax, values, "share", LAYERS[number % len(LAYERS)], lw=1, alpha=0.8)
    ax.axhline(0, color="0.4", lw=0.8)
    ax.set(xlabel="atoms, by selectivity [share of all]", ylabel="selectivity above chance")
    ax.set_title(label(results, model), fontsize=9)
    shades = [
        Line2D([], [], color=color, label=f"layer {layer}")
        for layer, color in zip(layers_of(results, model), LAYERS, strict=False)
    ]
    ax.legend(handles=shades, fontsize=8)
    most = Line2D(
        [], [], color="0.3", marker="_", ls="", ms=8, mew=1.5, label="most of any shuffled labels"
    )
    handles = model_entries(results, models, most)
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9)
    return fig
