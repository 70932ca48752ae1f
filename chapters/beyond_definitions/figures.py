"""Figures of layers by the definitions of FR App. A, from the results over (model, seed)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.figure import Figure

from vnlib.plots.frames import empty, group, in_groups, label
from vnlib.plots.statistics import median
from vnlib.plots.style import PALETTE

# group -> its name, its colour, its marker
GROUPS = {
    "code": ("codes by themselves", PALETTE[7], "^"),
    "product": ("factorised decoder", PALETTE[1], "D"),
    "coordinates": ("told the pixel's coordinates", PALETTE[2], "v"),
    "entangled": ("CNN and MLP", PALETTE[3], "s"),
}
MEASURES = {
    "of_both": "share of variance that\ndepends on x and y together",
    "linear": r"$R^2$ of x and y, read linearly",
    "curved": r"$R^2$ of x and y, read by Gaussians",
    "apart": "least distance of two positions\n(median distance: 1)",
}


def layers(results: xr.Dataset) -> Figure:
    """Measures of every layer of trained decoders, in the order of the pass: medians as lines,
    every seed as a mark.
    """
    models = in_groups(results, "product", "coordinates", "entangled")
    if not models:
        return empty("No decoder was computed.")
    names = [str(name).replace(" ", "\n") for name in results["layer"].values]
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 6.2), sharex=True)
    for ax, (measure, title) in zip(axes.flat, MEASURES.items(), strict=True):
        for number, model in enumerate(models):
            one = results[measure].sel(model=model).dropna("layer", how="all")
            places = [results["layer"].values.tolist().index(name) for name in one["layer"].values]
            look = {"color": PALETTE[number], "marker": GROUPS[group(results, model)][2]}
            ax.plot(places, median(one), label=label(results, model), ms=6, **look)
            for seed in one["seed"]:
                ax.plot(places, one.sel(seed=seed), ls="", ms=3, alpha=0.6, **look)
        ax.set_title(title, fontsize=9)
        ax.set_ylim(-0.03 if measure != "apart" else 0, 1.03 if measure != "apart" else None)
    for ax in axes[1]:
        ax.set_xticks(range(len(names)), names, fontsize=8)
        ax.set_xlabel("layer: before and after each ReLU")
    handles, texts = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, texts, loc="outside lower center", ncols=4, fontsize=8)
    return fig
