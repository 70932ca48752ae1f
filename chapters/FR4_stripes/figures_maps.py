"""Figures of the layers of a decoder over the plane of positions (FR Figs. 4d-f and 15): volume,
tuning, units.

From `log_volume`, `unit` and the numbers of `studies.tuning.layer_report`, with dims model, seed,
diet, layer.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from chapters.FR4_stripes.figures import of_cnn
from vnlib.plots.style import PALETTE, bare

DIETS = {
    "stripes+0": ("stripes only", PALETTE[2], "^"),
    "stripes+100": ("stripes and 100 bumps", PALETTE[0], "o"),
    "bumps+100": ("100 bumps only", PALETTE[1], "D"),
    "bumps+all": ("all bumps, no stripes", PALETTE[3], "s"),
}


def hidden(results: xr.Dataset) -> list[str]:
    """The ReLU layers, first to last."""
    names = [str(n) for n in results["layer"].values if str(n).startswith("layer")]
    return sorted(names, key=lambda n: int(n[5:]))


@of_cnn
def volumes(
    results: xr.Dataset,
    diets: Sequence[str] = ("stripes+100", "bumps+100", "bumps+all"),
    start: int = 14,
) -> plt.Figure:
    """log10 volume at every position by layer (first seed), its colour range mean +- 3 sd of each
    map.
    """
    layers = hidden(results)
    fig, axes = plt.subplots(
        len(diets), len(layers), figsize=(1.6 * len(layers) + 1.6, 1.75 * len(diets))
    )
    for number, (row, diet) in enumerate(zip(axes, diets, strict=True)):
        for ax, layer in zip(row, layers, strict=True):
            one = results["log_volume"].sel(model="cnn", diet=diet, layer=layer).isel(seed=0).values
            middle, sd = float(one.mean()), max(float(one.std()), 1e-6)
            bare(ax, layer.replace("layer", "layer ") if number == 0 else "")
            ax.imshow(one, origin="lower", vmin=middle - 3 * sd, vmax=middle + 3 * sd)
            ax.plot(
                [start - 0.5, start - 0.5, 27.5],
                [27.5, start - 0.5, start - 0.5],
                color="white",
                lw=1,
                ls="--",
            )
        row[0].set_ylabel(
            DIETS[diet][0].replace(" and ", "\nand ").replace(", ", ",\n"),
            rotation=0,
            ha="right",
            va="center",
            fontsize=8,
        )
    return fig


def _by_layer(ax: plt.Axes, values: xr.DataArray, layers: Sequence[str], label: str) -> None:
    """A number by layer, one line per diet; every seed a point, medians joined."""
    for diet, (said, color, marker) in DIETS.items():
        if diet not in values["diet"].values:
            continue
        one = values.sel(model="cnn", diet=diet, layer=list(layers)).transpose("layer", "seed")
        x = np.arange(1, len(layers) + 1)
        ax.scatter(
            np.repeat(x[:, None], one.sizes["seed"], 1),
            one,
            color=color,
            marker=marker,
            s=14,
            alpha=0.55,
            lw=0,
        )
        ax.plot(x, one.median("seed"), color=color, marker=marker, ms=5, lw=1.6, label=said)
    ax.set(xlabel="ReLU layer", ylabel=label, xticks=range(1, len(layers) + 1))


@of_cnn
def smoothness(results: xr.Dataset) -> plt.Figure:
    """Roughness of log10 volume inside the hold-out, and how much more volume there is inside than
    outside.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.3))
    layers = hidden(results)
    _by_layer(axes[0], results["volume_rough"], layers, "roughness of log10 volume [1/px]")
    _by_layer(axes[1], results["volume_gap"], layers, "log10 volume, OOD minus ID")
    axes[1].axhline(0, color="0.6", lw=1)
    axes[0].legend(fontsize=8)
    return fig


@of_cnn
def tuning(results: xr.Dataset) -> plt.Figure:
    """Share of the maps that no sum of stripes gives: median unit, whole layer; and the share of
    the better axis.
    """
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.4), sharey=True)
    layers = hidden(results)
    _by_layer(axes[0], results["tuning_quantile"].sel(quantile=0.5), layers, "share of variance")
    _by_layer(axes[1], results["tuning_rest"], layers, "")
    _by_layer(axes[2], results["tuning_axis"], layers, "")
    titles = (
        "neither stripe nor sum of stripes,\nmedian unit",
        "the same, whole layer",
        "one axis, median unit",
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize=9)
    axes[2].legend(fontsize=8)
    return fig


@of_cnn
def units(results: xr.Dataset, diets: Sequence[str] = ("stripes+0", "stripes+100")) -> plt.Figure:
    """Maps of some units of every ReLU layer over the plane of positions, each scaled by its
    largest value.
    """
    layers = hidden(results)
    n = results.sizes["neuron"]
    widths = ([1.0] * n + [0.3]) * len(diets)  # a gap after each diet
    fig, axes = plt.subplots(
        len(layers),
        len(widths),
        figsize=(0.7 * sum(widths) + 0.8, 0.76 * len(layers)),
        width_ratios=widths,
    )
    for depth, (row, layer) in enumerate(zip(axes, layers, strict=True)):
        for column, ax in enumerate(row):
            group, neuron = divmod(column, n + 1)
            if neuron == n:
                ax.set_visible(False)
                continue
            diet = diets[group]
            one = (
                results["unit"]
                .sel(model="cnn", diet=diet, layer=layer)
                .isel(seed=0, neuron=neuron)
                .values
            )
            said = DIETS[diet][0] if depth == 0 and neuron == n // 2 else ""
            bare(ax, said).imshow(one, origin="lower", vmin=0, vmax=1)
        row[0].set_ylabel(
            layer.replace("layer", "layer "), rotation=0, ha="right", va="center", fontsize=9
        )
    return fig
