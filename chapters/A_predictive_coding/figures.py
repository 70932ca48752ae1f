"""Figures of appendix A, from the dataset of `study.results`."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.baselines.figures import Groups, each, seeds_and_medians
from vnlib.plots.frames import if_computed, label, long_frame, some
from vnlib.plots.statistics import median
from vnlib.plots.style import DIVERGING, PALETTE, SEQUENTIAL, image_axes

LEARNED = ("pc", "bpc", "vn", "pc_sparse", "vn_dense", "vn_revived", "autoencoder", "linear")
MODELS = (*LEARNED, "vn_untrained", "vn_random")
# Until task 2 the VN whose atoms are revived hardly differs from the VN.
FIRST_TASK = tuple(name for name in LEARNED if name != "vn_revived")
# Pair of tasks -> label, colour, marker.
PAIRS = {
    "digits": ("digits 0-4, then 5-9", "black", "o"),
    "permuted": ("images, then permuted images", PALETTE[4], "D"),
    "halves": ("left halves, then right halves", "0.6", "^"),
}


def present_models(results: xr.Dataset, wanted: Sequence[str] = MODELS) -> Groups:
    """Model -> label, colour, marker, of the models wanted that the results hold."""
    there = results["model"].values
    return each(results, some([m for m in wanted if m in there]))


def present_pairs(results: xr.Dataset) -> Groups:
    """Pair of tasks -> label, colour, marker, of those that the results hold."""
    return {pair: one for pair, one in PAIRS.items() if pair in results["pair"].values}


def model_rows(ax: plt.Axes, values: xr.DataArray, models: Groups, **axis: object) -> None:
    """Rows of models on one pair of tasks: every seed a point, the median a bar."""
    frame = long_frame(values.sel(model=list(models)))
    order = [one[0] for one in models.values()]
    seeds_and_medians(ax, frame, value="value", by="label", hue="model", groups=models, order=order)
    ax.set(**{"xlabel": "", **axis})


def pair_rows(ax: plt.Axes, values: xr.DataArray, models: Groups, **axis: object) -> None:
    """Rows of models on all pairs of tasks, which lie one below another within a row."""
    frame, pairs = long_frame(values.sel(model=list(models))), present_pairs(values)
    order = [one[0] for one in models.values()]
    common = {
        "x": "value",
        "y": "label",
        "order": order,
        "hue": "pair",
        "hue_order": list(pairs),
        "palette": {pair: one[1] for pair, one in pairs.items()},
        "legend": False,
        "ax": ax,
    }
    for pair, (_, _, marker) in pairs.items():
        sns.stripplot(
            frame[frame["pair"] == pair],
            dodge=True,
            jitter=False,
            marker=marker,
            size=4,
            alpha=0.6,
            clip_on=False,
            **common,
        )
    sns.pointplot(
        frame,
        dodge=0.8 * (1 - 1 / len(pairs)),
        estimator="median",
        errorbar=None,
        marker="|",
        markersize=9,
        linestyle="none",
        **common,
    )
    ax.set(**{"ylabel": "", **axis})
    ax.set_yticks(np.arange(len(order) - 1) + 0.5, minor=True)
    ax.grid(axis="y", which="minor", color="0.9")
    ax.tick_params(axis="y", which="both", length=0)


def legend(fig: plt.Figure, looks: Groups, columns: int) -> None:
    """The names of models or pairs below a figure."""
    handles = [
        plt.Line2D([], [], color=color, marker=marker, ls="", label=text, ms=5)
        for text, color, marker in looks.values()
    ]
    fig.legend(handles=handles, ncols=columns, fontsize=8, loc="outside lower center")


@if_computed
def inferred(results: xr.Dataset) -> plt.Figure:
    """What is inferred: activity of samples by units, its sorted sizes, energy in inference."""
    models = present_models(results, ("pc", "bpc", "pc_sparse", "vn"))
    digits = results.sel(pair="digits", model=list(models))
    fig = plt.figure(figsize=(9.8, 6.0))
    above, below = fig.subfigures(2, 1, height_ratios=[1, 1.05])
    axes = above.subplots(1, len(models), squeeze=False)[0]
    for ax, (model, (text, _, _)) in zip(axes, models.items(), strict=True):
        code = digits["code"].isel(seed=0).sel(model=model).values
        scaled = np.where(code == 0, np.nan, code / np.abs(code).max(1, keepdims=True))
        image = ax.imshow(
            scaled, cmap=DIVERGING, vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
        )
        active = 100 * float((code != 0).mean())
        ax.set(
            title=f"{text}:\n{active:.0f} % nonzero", xlabel="unit of the first level", yticks=[]
        )
    axes[0].set_ylabel("test sample")
    above.colorbar(image, ax=axes, label="state / largest", shrink=0.8)
    left, right = below.subplots(1, 2)
    size = abs(digits["code"])
    size = (size / size.max("unit")).transpose(..., "unit")
    ordered = (
        size.copy(data=-np.sort(-size.values)).mean(["seed", "sample"]).to_dataset(name="size")
    )
    share = 100 * (1 + np.arange(size.sizes["unit"])) / size.sizes["unit"]
    ordered = long_frame(ordered.assign_coords(share=("unit", share))["size"])
    common = {
        "hue": "model",
        "hue_order": list(models),
        "palette": {m: one[1] for m, one in models.items()},
    }
    sns.lineplot(ordered, x="share", y="value", ax=left, **common)
    left.set(xlabel="units, largest first (%)", ylabel="|state| / largest", ylim=(0, 1))
    handles = left.get_legend_handles_labels()[0]
    left.legend(handles, [one[0] for one in models.values()], fontsize=8)
    sns.lineplot(
        long_frame(digits["energy"]),
        x="step",
        y="value",
        units="seed",
        estimator=None,
        lw=1,
        legend=False,
        ax=right,
        **common,
    )
    right.set(
        xlabel="step of inference (VN: sweep)", ylabel="energy / energy of silence", yscale="log"
    )
    return fig


@if_computed
def maps(results: xr.Dataset) -> plt.Figure:
    """How much the map varies from input to input, described in three ways, and its rank."""
    models = present_models(results, FIRST_TASK)
    fig, axes = plt.subplots(1, 4, figsize=(9.8, 4.5), sharey=True)
    titles = {
        "map_variability": "the map,\nas printed",
        "gated_variability": "columns weighted by\nwhat is inferred",
        "slope_variability": "slope of the\nreconstruction",
    }
    varies = {"xlim": (-0.03, 1.03), "xlabel": "share of power\nthat varies"}
    for ax, (name, title) in zip(axes, titles.items(), strict=False):
        pair_rows(ax, results[name], models, **varies)
        ax.set_title(title, fontsize=9)
    pair_rows(axes[3], results["rank"], models, xlabel="rank", xlim=(0, None))
    axes[3].set_title("rank of the map", fontsize=9)
    legend(fig, present_pairs(results), 3)
    return fig


@if_computed
def updates(results: xr.Dataset) -> plt.Figure:
    """One sample's update, weight by weight; its reach by batch; where its power lies."""
    fig = plt.figure(figsize=(9.8, 6.6))
    above, below = fig.subfigures(2, 1, height_ratios=[1, 1.1])
    update_images(above, results)
    left, middle, right = below.subplots(1, 3, width_ratios=[1.5, 1, 1])
    models = present_models(results, FIRST_TASK)
    touched = 100 * median(results["touched"].sel(pair="digits", model=list(models)))
    for model, (text, color, marker) in models.items():
        curve = touched.sel(model=model)
        left.plot(curve["batch"], curve, f"{marker}-", color=color, ms=4, label=text)
    room = (0.8, 40 * float(touched["batch"].max()))  # for the legend
    left.set(xscale="log", xlabel="samples in the batch", xlim=room, ylim=(0, 103))
    left.set_ylabel("weights that the rule changes (%)")
    left.set_xticks(results["batch"].values, results["batch"].values.astype(str))
    left.minorticks_off()
    left.legend(fontsize=7.5, loc="lower right", frameon=False)
    moved = "weights that one real step\non one sample moves (%)"
    pair_rows(middle, 100 * results["moved"], models, xlabel=moved)
    held = "weights that hold 90 % of\nits update's power (%)"
    pair_rows(right, 100 * results["power_share"], models, xlabel=held)
    right.set_yticklabels([])
    legend(below, present_pairs(results), 3)
    return fig


def update_images(fig: plt.Figure, results: xr.Dataset) -> None:
    """The size of one sample's update of the weights next to the data, pixel by unit."""
    one = results.sel(pair="digits").isel(seed=0)
    images = [
        ("pc", "down", r"$\Delta G_0$"),
        ("bpc", "down", r"$\Delta G_0$"),
        ("bpc", "up", r"$\Delta D_0^\top$"),
        ("vn", "down", r"$\Delta V_1$"),
    ]
    images = some([entry for entry in images if entry[0] in results["model"].values])
    axes = fig.subplots(1, len(images), squeeze=False)[0]
    for ax, (model, kind, symbol) in zip(axes, images, strict=True):
        error, activity = (
            one[f"{kind}_{part}"].sel(model=model).values for part in ("error", "activity")
        )
        update = np.abs(np.outer(error, activity))
        update = update.T if kind == "up" else update  # pixels downward in every panel
        relative = np.where(update == 0, np.nan, update / update.max())
        image = ax.imshow(
            np.log10(relative),
            cmap=SEQUENTIAL,
            vmin=-5,
            vmax=0,
            aspect="auto",
            interpolation="nearest",
        )
        zero = 100 * float((update == 0).mean())
        image_axes(ax, f"{label(results, model)}, {symbol}: {zero:.0f} % exactly 0", 9).set(
            xlabel="unit"
        )
    axes[0].set_ylabel("pixel")
    fig.colorbar(image, ax=axes, label=r"$\log_{10}$ |update| / largest", shrink=0.8)


def forgetting(results: xr.Dataset) -> plt.Figure:
    """What learning task 2 costs task 1, against where it was, and against staying with it."""
    models, pairs = present_models(results), present_pairs(results)
    fig, axes = plt.subplots(2, len(pairs), figsize=(9.8, 7.0), sharey=True, squeeze=False)
    measures = {
        "forgetting": "error on task 1:\nafter task 2 / before it",
        "interference": "error on task 1:\nafter task 2 / after task 1 again",
    }
    for column, (pair, (text, _, _)) in zip(axes.T, pairs.items(), strict=True):
        for ax, (name, quotient) in zip(column, measures.items(), strict=True):
            quotients = 1 + results[name].sel(pair=pair)
            model_rows(ax, quotients, models, xscale="log", xlabel=quotient)
            ax.axvline(1, color="0.6", lw=1, zorder=0)
            low, high = ax.get_xlim()
            ax.xaxis.set_major_locator(
                LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,), numticks=8)
            )
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.tick_params(axis="y", labelsize=8.5)
        column[0].set_title(text, fontsize=10)
    return fig


@if_computed
def both_tasks(results: xr.Dataset) -> plt.Figure:
    """Error on the first against error on the second task, after learning one and then both; the
    exercise asks for those of the VN without sparsity.
    """
    shown = [model for model in MODELS if model != "vn_dense"]
    models, pairs = present_models(results, shown), present_pairs(results)
    fig, axes = plt.subplots(
        1, len(pairs), figsize=(9.8, 4.5), squeeze=False, sharex=True, sharey=True
    )
    mse = 100 * results["mse"].sel(model=list(models))
    ends = [float(mse.min()), 150.0]
    for ax, (pair, (text, _, _)) in zip(axes[0], pairs.items(), strict=True):
        for model, (_, color, marker) in models.items():
            stages = [mse.sel(model=model, pair=pair, stage=stage) for stage in ("first", "second")]
            for stage, fill in zip(stages, ("none", "full"), strict=True):
                ax.plot(
                    stage.sel(task=2),
                    stage.sel(task=1),
                    marker,
                    color=color,
                    fillstyle=fill,
                    ms=5,
                    alpha=0.8,
                    zorder=3 if model == "vn" else 2,
                )
            tail, head = (median(stage).sel(task=[2, 1]).values for stage in stages)
            if not np.allclose(tail, head, rtol=0.02):
                ax.annotate(
                    "", head, tail, arrowprops={"arrowstyle": "->", "color": color, "lw": 1}
                )
        ax.plot(ends, ends, color="0.8", lw=1, zorder=0)
        ax.set(xscale="log", yscale="log", xlabel="error on task 2 (%)")
        ax.set_title(text, fontsize=10)
    axes[0, 0].set_ylabel("error on task 1\n(% of the zero baseline's)")
    legend(fig, models, 4)
    return fig


@if_computed
def overlap(results: xr.Dataset) -> plt.Figure:
    """How alike the updates of the two tasks' samples are, and how that goes with interference."""
    models, pairs = present_models(results, LEARNED), present_pairs(results)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.8, 4.6))
    alike = "absolute cosine of the updates of a sample of each task"
    pair_rows(
        left, results["overlap"], models, xlabel=alike, xlim=(-0.001, None)
    )  # 0: off the axis
    frame = results[["overlap", "interference"]].sel(model=list(models)).to_dataframe()
    sns.scatterplot(
        frame.assign(quotient=1 + frame["interference"]).reset_index(),
        x="overlap",
        y="quotient",
        hue="model",
        palette={model: one[1] for model, one in models.items()},
        style="pair",
        markers={pair: one[2] for pair, one in pairs.items()},
        legend=False,
        s=30,
        alpha=0.8,
        ax=right,
    )
    right.set(xlabel="absolute cosine of the updates", yscale="log")
    right.set_ylabel("error on task 1:\nafter task 2 / after task 1 again")
    for tick, (_, color, _) in zip(left.get_yticklabels(), models.values(), strict=True):
        tick.set_color(color)
    for ax in (left, right):
        ax.locator_params(axis="x", nbins=5)
    legend(fig, pairs, 3)
    return fig
