"""Figures of appendix D on single layers: which atoms move, how updates meet, upkeep."""

from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr

from benchmarks.baselines.figures import each, entries, seeds_and_medians
from chapters.D_learning.claims import main_network
from vnlib.plots.frames import label, long_frame
from vnlib.plots.statistics import median
from vnlib.plots.style import PALETTE, look

OPTIMISERS = {
    "masked Adam": (PALETTE[0], "o", "-"),
    "SGD": (PALETTE[2], "D", "-."),
    "Adam": (PALETTE[3], "s", "--"),
}
DENSE = ("linear", "whitened", "ReLU")
STARTS = {
    "samples": ("start: samples", PALETTE[0], "o"),
    "chance": ("start: chance", PALETTE[1], "D"),
}
UPKEEP = {
    "mse": ("error of V a", 1.0),
    "active": ("active atoms", 1.0),
    "dead": ("dead atoms (%)", 100.0),
    "coherence": ("coherence", 1.0),
}
FLOOR = 1e-6  # of a cosine, on logarithmic axes


def curves(
    ax: plt.Axes, values: xr.DataArray, x: str, color: str, marker: str, **style: object
) -> None:
    """Every seed as a small point, the median over seeds as a line."""
    frame = long_frame(values)
    points = {"color": color, "marker": marker, "s": 14, "alpha": 0.45, "legend": False}
    sns.scatterplot(frame, x=x, y="value", **points, ax=ax)
    middle = median(values)
    ax.plot(middle[x], middle, color=color, marker=marker, **style)


def sizes_as_ticks(ax: plt.Axes, sizes: np.ndarray) -> None:
    """A logarithmic axis whose ticks are these sizes."""
    ax.set_xscale("log")
    ax.set_xticks(sizes, [f"{size:g}" for size in sizes])
    ax.minorticks_off()


def local(results: xr.Dataset) -> plt.Figure:
    """Idle atoms against the batch, and how far idle and active atoms move."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.3))
    mean = results.mean("update")
    idle = 100 * mean["local_idle"].sel(optimiser="masked Adam")
    curves(left, idle, "batch_size", PALETTE[0], "o", ms=5)
    left.set(ylabel="idle atoms (%)", ylim=(-2, 100))
    for optimiser, (color, marker, line) in OPTIMISERS.items():
        moved = mean.sel(optimiser=optimiser)
        share = 100 * moved["local_idle_change"] / moved["local_active_change"]
        # Two of them lie on each other at zero.
        ms, fill = (9, "none") if optimiser == "masked Adam" else (5, "full")
        style = {"ms": ms, "fillstyle": fill, "ls": line, "label": optimiser}
        curves(right, share, "batch_size", color, marker, **style)
    right.set_ylabel("change of idle atoms\n(% of that of active ones)")
    for ax in (left, right):
        sizes_as_ticks(ax, results["batch_size"].values)
        ax.set_xlabel("samples per update")
    right.set_xlim(left.get_xlim())
    right.legend(fontsize=8.5)
    return fig


def overlap(results: xr.Dataset) -> plt.Figure:
    """Cosine of two updates against the overlap of supports, and all models side by side."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.8, 3.7), width_ratios=[1.2, 1])
    one, vn = results.isel(seed=0), main_network(results)
    x = one["meet_pair_overlap"].sel(model=vn).values
    y = np.maximum(abs(one["meet_pair_cosine"].sel(model=vn).values), FLOOR)
    kind = np.where(one["meet_same_label"], "same digit", "other digit")
    kinds = {"other digit": (PALETTE[0], "o"), "same digit": (PALETTE[1], "^")}
    sns.scatterplot(
        pd.DataFrame({"x": x, "y": y, "kind": kind}),
        x="x",
        y="y",
        hue="kind",
        palette={name: look[0] for name, look in kinds.items()},
        style="kind",
        markers={name: look[1] for name, look in kinds.items()},
        s=12,
        alpha=0.5,
        linewidth=0,
        ax=left,
    )
    edges = np.quantile(x, np.linspace(0, 1, 9))
    middle = [np.median(y[(x >= low) & (x <= high)]) for low, high in pairwise(edges)]
    left.plot((edges[:-1] + edges[1:]) / 2, middle, color="black", lw=2, label="median")
    left.set(yscale="log", xlabel="overlap of supports (Jaccard)", title=label(results, vn))
    left.set_ylabel("|cosine| of two updates")
    left.legend(fontsize=8.5, loc="lower right")
    models = each(results, results["model"].values.tolist())
    active = 100 * median(results["meet_active_share"])
    rows = {m: f"{look[0]} ({float(active.sel(model=m)):.0f} %)" for m, look in models.items()}
    frame = long_frame(abs(results["meet_pair_cosine"]).median("pair"))
    seeds_and_medians(
        right,
        frame.assign(row=frame["model"].map(rows)),
        value="value",
        by="row",
        hue="model",
        groups=models,
        order=list(rows.values()),
    )
    right.set(xscale="log", xlabel="median |cosine| of two updates", title="model (active atoms)")
    return fig


def factors(results: xr.Dataset) -> plt.Figure:
    """The two factors of the cosine of two updates: residuals and codes."""
    fig, ax = plt.subplots(figsize=(5.6, 3.8))
    models = each(results, results["model"].values.tolist())
    for number, (model, (text, color, marker)) in enumerate(models.items()):
        one = results.sel(model=model)
        code, residual = one["meet_code_cosine"], one["meet_residual_cosine"]
        ax.plot(code, residual, marker, color=color, ms=6, alpha=0.65)
        if model not in DENSE:
            end, shift = (residual.max(), 8) if number else (residual.min(), -13)
            ax.annotate(
                text.split(", ")[1],
                (float(median(code)), float(end)),
                xytext=(0, shift),
                textcoords="offset points",
                fontsize=8,
                ha="center",
            )
    ax.set(xscale="log", xlabel="|cosine| of two codes (median over pairs)", ylim=(0, 0.056))
    ax.set_ylabel("|cosine| of two residuals")
    handles = entries({"vn": ("VN-1L", *look("VN-1L"))} | models, ["vn", *DENSE])
    ax.legend(handles=handles, fontsize=8.5, loc="lower right")
    return fig


def passed(results: xr.Dataset) -> plt.Figure:
    """What a step on one sample does to another's loss: against overlap, and all models."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.8, 3.5), width_ratios=[1.1, 1])
    vn, one = main_network(results), results.isel(seed=0)
    x, y = (one[name].sel(stepped=vn) for name in ("passed_overlap", "passed_on"))
    left.plot(x, 100 * y, "o", ms=3, alpha=0.5, color=PALETTE[0])
    left.axhline(0, color="0.4", lw=1)
    left.set_yscale("symlog", linthresh=0.1)
    left.set(xlabel="overlap of supports (Jaccard)", title=label(results, vn))
    left.set_ylabel("change of the other's loss\n(% of the own; above 0: helps)")
    models = each(results, results["stepped"].values.tolist())
    frame = long_frame(100 * results["passed_on"])
    common = {"x": "value", "y": "row", "order": [look[0] for look in models.values()], "ax": right}
    frame["row"] = frame["stepped"].map({m: look[0] for m, look in models.items()})
    sns.boxplot(frame, whis=(5, 95), showfliers=False, width=0.5, fill=False, color="0.3", **common)
    per_seed = frame.groupby(["stepped", "row", "seed"], as_index=False)["value"].median()
    for place, (model, (_, color, marker)) in enumerate(models.items()):
        values = per_seed.loc[per_seed["stepped"] == model, "value"]
        right.plot(values, [place + 0.38] * len(values), marker, ms=4, color=color, alpha=0.7)
    right.axvline(0, color="0.4", lw=1)
    right.set_xscale("symlog", linthresh=0.1)
    right.set(xlabel="change of the other's loss (% of the own)", ylabel="")
    right.set_title("5, 25, 50, 75, 95 % of all pairs")
    return fig


def upkeep(results: xr.Dataset) -> plt.Figure:
    """Error, active atoms, dead atoms and coherence by option, for two sparsities and starts."""
    lambdas, variants = results["upkeep_sparsity"].values, results["variant"].values.tolist()
    size = (10.4, 2.6 * len(lambdas))
    fig, axes = plt.subplots(len(lambdas), len(UPKEEP), figsize=size, sharey=True, squeeze=False)
    for row, sparsity in zip(axes, lambdas, strict=True):
        for ax, (name, (text, scale)) in zip(row, UPKEEP.items(), strict=True):
            frame = long_frame(scale * results[f"upkeep_{name}"].sel(upkeep_sparsity=sparsity))
            for start, (_, _, marker) in STARTS.items():
                sns.stripplot(
                    frame[frame["start"] == start],
                    x="value",
                    y="variant",
                    order=variants,
                    hue="start",
                    hue_order=list(STARTS),
                    palette={key: look[1] for key, look in STARTS.items()},
                    dodge=True,
                    jitter=False,
                    marker=marker,
                    size=4.5,
                    alpha=0.55,
                    legend=False,
                    ax=ax,
                )
            ax.set(xlim=(0, 100 if name == "dead" else None), xlabel=text, ylabel="")
            ax.grid(axis="y", color="0.92")
        row[0].set_title(rf"$\lambda$ = {sparsity:g}", loc="left", fontsize=10)
    handles = entries(STARTS, list(STARTS))
    fig.legend(handles=handles, loc="outside upper right", ncols=2, fontsize=8.5)
    return fig
