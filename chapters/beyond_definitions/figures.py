"""Figures of layers by the definitions of FR App. A, from the results over (model, seed)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.figure import Figure

from vnlib.plots.frames import empty, in_groups, label
from vnlib.plots.statistics import extremes, median
from vnlib.plots.style import look

MEASURES = {
    "of_both": "share of variance that\ndepends on x and y together",
    "linear": r"$R^2$ of x and y, read linearly",
    "curved": r"$R^2$ of x and y, read by Gaussians",
    "apart": "least distance of two positions\n(median distance: 1)",
}

EXAMPLE = {  # what is measured -> its title, and the extreme of the layers behind the code
    "ood": ("OOD error\n(zero baseline: 1)", None),
    "curved": ("$R^2$ of x and y, worst layer\n(factorised by any map: 1)", "least"),
    "of_both": ("variance of both, worst layer\n(factorised by a linear map: 0)", "most"),
}


def example(results: xr.Dataset) -> Figure:
    """Who composes, and what each definition of a factorised layer says of it: a row of bars per
    decoder, medians, every seed a mark.
    """
    models = in_groups(results, "product", "entangled")
    if not models:
        return empty("No decoder was computed.")
    hidden = results.drop_sel(layer="code")
    error = results["mse_ood"] / results["zero_baseline_ood"]
    fig, axes = plt.subplots(1, len(EXAMPLE), figsize=(8.6, 0.55 * len(models) + 1.0), sharey=True)
    for ax, (measure, (title, end)) in zip(axes, EXAMPLE.items(), strict=True):
        for row, model in enumerate(models):
            values = (hidden[measure] if end else error).sel(model=model)
            values = extremes(values)[end] if end else values
            color, marker = look(label(results, model))
            middle = float(median(values))
            ax.barh(row, middle, color=color, height=0.6, alpha=0.75)
            ax.plot(values, [row] * values.size, marker, color="0.15", ms=4)
            text = "< 0.01" if middle < 5e-3 else f"{middle:.2f}"
            ax.text(max(float(values.max()), middle) + 0.04, row, text, va="center", fontsize=10)
        ax.set_title(title, fontsize=10)
        ax.set(xlim=(0, 1.25), xticks=(0, 0.5, 1))
        if measure != "of_both":  # where 1 says nothing
            ax.axvline(1, color="0.5", ls=":", lw=1.2, zorder=0)
    axes[0].set_yticks(range(len(models)), [label(results, m) for m in models])
    axes[0].invert_yaxis()
    return fig


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
        for model in models:
            one = results[measure].sel(model=model).dropna("layer", how="all")
            places = [results["layer"].values.tolist().index(name) for name in one["layer"].values]
            color, marker = look(label(results, model))
            mark = {"color": color, "marker": marker}
            line = "--" if model == "mlp" else "-"
            ax.plot(places, median(one), line, label=label(results, model), ms=6, **mark)
            for seed in one["seed"]:
                ax.plot(places, one.sel(seed=seed), ls="", ms=3, alpha=0.6, **mark)
        ax.set_title(title, fontsize=9)
        ax.set_ylim(-0.03 if measure != "apart" else 0, 1.03 if measure != "apart" else None)
    for ax in axes[1]:
        ax.set_xticks(range(len(names)), names, fontsize=8)
        ax.set_xlabel("layer: before and after each ReLU")
    handles, texts = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, texts, loc="outside lower center", ncols=4, fontsize=8)
    return fig
