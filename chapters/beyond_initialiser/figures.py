"""Figures of learned starts: what they save of a settle, and what they know before it (VN Sec. 5).

`results` is what `studies.initialiser.study` returns over model and seed, with the coordinate label
(model).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D

from vnlib.plots.rows import absent, label, points
from vnlib.plots.style import PALETTE

# name -> (what readers call it, colour, line, marker)
STARTS = {
    "cold": ("cold", "0.15", "-", "x"),
    "nearest": ("nearest training code", PALETTE[7], "--", "^"),
    "untrained": ("ISTA steps, untrained", PALETTE[9], ":", "v"),
    "steps": ("learned step sizes", PALETTE[2], "-.", "s"),
    "lista": ("LISTA, from codes", PALETTE[0], "-", "o"),
    "lista_energy": ("LISTA, from the energy", PALETTE[4], "--", "D"),
    "linear": ("linear guess", PALETTE[1], ":", "P"),
    "mlp": ("perceptron", PALETTE[3], "-.", "X"),
}
SOLVERS = {
    "ista": ("plain steps", PALETTE[3], "v"),
    "restart": ("momentum, restarted", PALETTE[0], "s"),
    "line_search": ("momentum and line search", PALETTE[2], "o"),
}
SETS = {"id": "in distribution", "sum": "sums of two", "other": "damaged, or composed otherwise"}
LEVEL = 1e-3  # the height that single numbers are of


def starts(results: xr.Dataset, model: str | None = None) -> list[str]:
    """The starts that there are, for one network or for any."""
    cost = results["cost"] if model is None else results["cost"].sel(model=model)
    return [
        name
        for name in STARTS
        if name in cost["start"].values and bool(cost.sel(start=name).notnull().any())
    ]


def free(results: xr.Dataset) -> list[str]:
    """The networks without a cap, which have a single lowest energy."""
    return [
        m
        for m in results["model"].values.tolist()
        if bool(results["end_gap"].sel(model=m).notnull().any())
    ]


def descent(results: xr.Dataset) -> plt.Figure:
    """The energy above its minimum against sweeps, those that the start costs included; in
    distribution.
    """
    if not (models := free(results)):
        return absent("Shown of networks without a cap only.")
    fig, axes = plt.subplots(
        len(models),
        len(SOLVERS),
        figsize=(10.5, 2.7 * len(models) + 0.7),
        squeeze=False,
        sharex="col",
        sharey="row",
    )
    for row, model in zip(axes, models, strict=True):
        for ax, (solver, (title, _, _)) in zip(row, SOLVERS.items(), strict=True):
            for name in starts(results, model):
                one = results.sel(model=model, start=name)
                height = one["height"].sel(solver=solver, set="id").median("seed").dropna("look")
                cost = float(one["cost"].median())
                ax.plot(
                    height["look"] + cost,
                    height.clip(1e-6),
                    color=STARTS[name][1],
                    ls=STARTS[name][2],
                    lw=1.4,
                )
                ax.plot(cost, height[0], STARTS[name][3], color=STARTS[name][1], ms=5)
            ax.set(yscale="log", title=f"{label(results, model)}: {title}")
            ax.set_xscale("symlog", linthresh=10, linscale=0.6)
            ax.set_xlim(0, None)
            ax.set_ylim(5e-5, None)
            ax.title.set_fontsize(9)
        row[0].set_ylabel("F above its minimum, relative")
    for ax in axes[-1]:
        ax.set_xlabel("sweeps, with the cost of the start")
    _legend(fig, starts(results))
    return fig


def saved(results: xr.Dataset) -> plt.Figure:
    """The share of sweeps saved to a height of 1e-3, by set and solver; every seed a point."""
    models, there = results["model"].values.tolist(), [s for s in starts(results) if s != "cold"]
    shares = 100 * np.stack(
        [
            results[name].sel(level=LEVEL, method="nearest").values
            for name in ("saved", "saved_paid")
        ]
    )
    shares = shares[np.isfinite(shares)].clip(-100)
    ends = shares.min(initial=-20) - 6, shares.max(initial=20) + 6
    fig, axes = plt.subplots(
        len(SETS),
        len(models),
        figsize=(2.4 + 2.5 * len(models), 2.6 * len(SETS) + 0.8),
        squeeze=False,
        sharey=True,
        sharex=True,
    )
    for kind, row in zip(SETS, axes, strict=True):
        for ax, model in zip(row, models, strict=True):
            one = results.sel(model=model, set=kind).sel(level=LEVEL, method="nearest")
            for y, name in enumerate(there):
                for j, (solver, (_, color, marker)) in enumerate(SOLVERS.items()):
                    for values, hollow in (("saved", False), ("saved_paid", True)):
                        # Far below zero a point only says "longer".
                        share = one[values].sel(start=name, solver=solver).clip(-1, 1)
                        points(
                            ax,
                            100 * share,
                            y + 0.27 * (j - 1),
                            color,
                            marker,
                            hollow=hollow,
                            height=0.1,
                        )
            ax.axvline(0, color="0.6", lw=0.8, zorder=0)
            ax.set(yticks=range(len(there)), xlim=ends, title=label(results, model))
            ax.set_yticklabels([STARTS[name][0] for name in there], fontsize=8)
            ax.title.set_fontsize(9)
        row[0].set_ylabel(SETS[kind])
        row[0].invert_yaxis() if kind == "id" else None
    for ax in axes[-1]:
        ax.set_xlabel("sweeps saved [%]")
    handles = [
        Line2D([], [], color=color, marker=marker, ls="none", label=title)
        for title, color, marker in SOLVERS.values()
    ]
    handles += [
        Line2D(
            [],
            [],
            color="0.3",
            marker="o",
            mfc="none",
            ls="none",
            label="with the cost of the start",
        )
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    return fig


def supports(results: xr.Dataset) -> plt.Figure:
    """How much of the final support a start has, and how much of its own is in it; all layers,
    before any sweep.
    """
    models = results["model"].values.tolist()
    fig, axes = plt.subplots(
        1, len(models), figsize=(max(8, 2.7 * len(models) + 0.8), 3.6), squeeze=False, sharey=True
    )
    for ax, model in zip(axes[0], models, strict=True):
        for name in starts(results, model):
            if name == "cold":
                continue
            one = results.sel(model=model, start=name).mean("layer")
            for kind in ("id", "sum"):
                recall, precision = (one[share].sel(set=kind) for share in ("recall", "precision"))
                face = STARTS[name][1] if kind == "id" else "none"
                ax.scatter(
                    100 * recall,
                    100 * precision,
                    marker=STARTS[name][3],
                    s=26,
                    facecolors=face,
                    edgecolors=STARTS[name][1],
                    lw=0.9,
                )
        ax.set(
            title=label(results, model),
            xlabel="found of the final support [%]",
            xlim=(0, 103),
            ylim=(0, 103),
        )
        ax.title.set_fontsize(9)
    axes[0, 0].set_ylabel("of the guess in the final support [%]")
    _legend(fig, [name for name in starts(results) if name != "cold"])
    return fig


def ends(results: xr.Dataset) -> plt.Figure:
    """How far from the end of the cold settle that of every start is, in codes; all sets, every
    seed a point.
    """
    models, there = results["model"].values.tolist(), [s for s in starts(results) if s != "cold"]
    fig, ax = plt.subplots(figsize=(8.5, 0.5 + 0.42 * len(there) * 1.3))
    for y, name in enumerate(there):
        for j, model in enumerate(models):
            if name in starts(results, model):
                worst = (
                    results["end_distance"].sel(model=model, start=name).max("set").clip(1.5e-10)
                )
                shift = 0.18 * (j - (len(models) - 1) / 2)
                points(ax, worst, y + shift, PALETTE[j], "osDv"[j % 4], height=0.07)
    ax.set(
        xscale="log",
        xlim=(1e-10, 3),
        yticks=np.arange(len(there)),
        xlabel="largest distance of codes at rest, relative",
    )
    ax.set_yticklabels([STARTS[name][0] for name in there])
    ax.invert_yaxis()
    handles = [
        Line2D([], [], color=PALETTE[j], marker="osDv"[j % 4], ls="none", label=label(results, m))
        for j, m in enumerate(models)
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    return fig


def _legend(fig: plt.Figure, names: list[str]) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=STARTS[n][1],
            ls=STARTS[n][2],
            marker=STARTS[n][3],
            ms=5,
            label=STARTS[n][0],
        )
        for n in names
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
