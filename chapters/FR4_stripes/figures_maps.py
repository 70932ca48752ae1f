"""Figures of the layers of the CNN over the plane of positions (FR Figs. 4d-f and 15): volume,
tuning, units; from the dataset of `study.results`.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import seaborn as sns
import xarray as xr

from chapters.FR4_stripes.claims import ALONE, FEW, MOST, STRIPES, hidden
from vnlib.plots.frames import if_computed, long_frame
from vnlib.plots.style import PALETTE, image_axes

DIETS = {
    STRIPES: ("stripes only", PALETTE[2], "^"),
    FEW: ("stripes and 100 bumps", PALETTE[0], "o"),
    ALONE: ("100 bumps only", PALETTE[1], "D"),
    MOST: ("all bumps, no stripes", PALETTE[3], "s"),
}
EDGE = 13.5  # of the corner that is held out, on 28 px


@if_computed
def volumes(results: xr.Dataset, diets: Sequence[str] = (FEW, ALONE, MOST)) -> plt.Figure:
    """log10 volume at every position by layer (first seed), its colour range mean +- 3 sd of each
    map.
    """
    layers = hidden(results)
    size = (1.6 * len(layers) + 1.6, 1.75 * len(diets))
    fig, axes = plt.subplots(len(diets), len(layers), figsize=size)
    for row, diet in zip(axes, diets, strict=True):
        maps = results["log_volume"].sel(model="cnn", diet=diet).isel(seed=0)
        for ax, layer in zip(row, layers, strict=True):
            one = maps.sel(layer=layer).values
            middle, sd = float(one.mean()), max(float(one.std()), 1e-6)
            image_axes(ax, layer.replace("layer", "layer ") if diet == diets[0] else "")
            ax.imshow(one, origin="lower", vmin=middle - 3 * sd, vmax=middle + 3 * sd)
            ax.plot([EDGE, EDGE, 27.5], [27.5, EDGE, EDGE], color="white", lw=1, ls="--")
        name = DIETS[diet][0].replace(" and ", "\nand ").replace(", ", ",\n")
        row[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    return fig


def _by_layer(ax: plt.Axes, values: xr.DataArray) -> None:
    """A number by ReLU layer, one line per diet; every seed a point, medians joined."""
    diets = {d: look for d, look in DIETS.items() if d in values["diet"].values}
    layers = hidden(values)
    frame = long_frame(values.sel(model="cnn", diet=list(diets), layer=layers))
    frame["ReLU layer"] = frame["layer"].map(lambda name: int(name.removeprefix("layer")))
    frame["training"] = frame["diet"].map(lambda diet: diets[diet][0])
    given = {"x": "ReLU layer", "y": "value", "hue": "training", "style": "training", "ax": ax}
    given |= {"palette": {text: color for text, color, _ in diets.values()}}
    given |= {"markers": {text: marker for text, _, marker in diets.values()}}
    sns.scatterplot(frame, **given, s=14, alpha=0.55, lw=0, legend=False)
    sns.lineplot(frame, **given, estimator="median", errorbar=None, dashes=False, lw=1.6)
    ax.get_legend().remove()
    ax.set(ylabel="", xticks=range(1, len(layers) + 1))


@if_computed
def smoothness(results: xr.Dataset) -> plt.Figure:
    """Roughness of log10 volume inside the hold-out, and how much more volume there is inside than
    outside.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3))
    _by_layer(left, results["volume_rough"])
    _by_layer(right, results["volume_gap"])
    left.set_ylabel("roughness of log10 volume [1/px]")
    right.set_ylabel("log10 volume, OOD minus ID")
    right.axhline(0, color="0.6", lw=1)
    left.legend(fontsize=8)
    return fig


@if_computed
def tuning(results: xr.Dataset) -> plt.Figure:
    """Share of the maps that no sum of stripes gives: median unit, whole layer; and the share of
    the better axis.
    """
    panels = {
        "neither stripe nor sum of stripes,\nmedian unit": results["tuning_quantile"].sel(
            quantile=0.5
        ),
        "the same, whole layer": results["tuning_rest"],
        "one axis, median unit": results["tuning_axis"],
    }
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.4), sharey=True)
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        _by_layer(ax, values)
        ax.set_title(title, fontsize=9)
    axes[0].set_ylabel("share of variance")
    axes[2].legend(fontsize=8)
    return fig


@if_computed
def units(results: xr.Dataset, diets: Sequence[str] = (STRIPES, FEW)) -> plt.Figure:
    """Maps of some units of every ReLU layer over the plane of positions, each scaled by its
    largest value: one row per diet and layer.
    """
    rows = [(diet, layer) for diet in diets for layer in hidden(results)]
    size = (0.95 * results.sizes["neuron"] + 1.6, 0.95 * len(rows))
    fig, axes = plt.subplots(len(rows), results.sizes["neuron"], figsize=size)
    for line, (diet, layer) in zip(axes, rows, strict=True):
        maps = results["unit"].sel(model="cnn", diet=diet, layer=layer).isel(seed=0)
        for ax, picture in zip(line, maps.transpose("neuron", ...).values, strict=True):
            image_axes(ax).imshow(picture, origin="lower", vmin=0, vmax=1)
        name = f"{DIETS[diet][0].replace(' and ', chr(10) + 'and ')}\n{layer.replace('r', 'r ')}"
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    return fig
