"""Figures of signals that are filled in, from results over (model, seed, mask, set, step, case)."""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.functions.names import MASKS, SETS
from chapters.best_signals.predictions import RUN, error, ratio, singles
from vnlib.plots.frames import if_computed, label, some
from vnlib.plots.statistics import over_seeds
from vnlib.plots.style import IN_ROWS, PALETTE, look

OWN = ("vn_2048", "carried")
UNIT = "ID power"
# Models of pictures -> step
PICTURED = {"vn_2048": "carried", "process_rq": "drawn", "deep_ae_masked": "drawn"}
BY_CELL = (
    "vn_2048",
    "process_rq",
    "process_se",
    "exemplars",
    "vn_1",
    "vn_3",
    "deep_ae_masked",
    "transformer_masked",
    "rnn_masked",
    "pca",
    "linear",
    "hold_last",
)
# What is changed -> model without it: ratios of the network's errors to those of that model
STEPS = {
    "atoms / fine layer alone": "vn_fine_only",
    "fine layer / none": "vn_no_fine",
    "six slots / three": "vn_three_slots",
    "2,048 atoms / 256": "vn_256",
    "eight chains / one": "vn_one_chain",
    "mean over supports / best one": "vn_best_support",
    "ten sweeps / thirty": "vn_longer",
}
# The same settle over other atoms: ratios of their errors to those of 256 exemplars
ATOMS = {"256 learned / 256 exemplars": "vn_256_learned", "162 fixed / 256 exemplars": "vn_fixed"}
TAILS = ("vn_2048", "process_rq", "exemplars", "deep_ae_masked")
HUES = {"id": PALETTE[0], "easy": PALETTE[1], "hard": PALETTE[2]}


def run(results: xr.Dataset, models: Iterable[str]) -> list[str]:
    """Those of some models that were run."""
    there = [m for m in models if m in results["model"].values]
    return [m for m in there if bool(results["hidden"].sel(model=m).notnull().any())]


def step_of(model: str) -> str:
    """How a model counts: the network with what it leaves carried to the rest, others as they draw."""
    return "carried" if model.startswith("vn_") and model not in ("vn_1", "vn_3") else "drawn"


@if_computed
def example(results: xr.Dataset) -> Figure:
    """The first test signal of each set under three masks, and how models fill it in, first seed."""
    one = results.isel(seed=0)
    models = some([m for m in PICTURED if "filled" in one and m in run(one, PICTURED)])
    models = some([m for m in models if one["filled"].sel(model=m).notnull().any()])
    masks = one["picture_mask"].values.tolist()
    size = (10.5, 1.9 * len(SETS) + 0.7)
    fig, axes = plt.subplots(len(SETS), len(masks), figsize=size, sharex=True, sharey="row")
    fig.set_label(IN_ROWS)
    handles: dict[str, object] = {}
    for line, (name, title) in zip(axes, SETS.items(), strict=True):
        for ax, mask in zip(line, masks, strict=True):
            shown = one.sel(picture_mask=mask, example=f"{name} 0")
            handles |= _signal(ax, shown, models)
            if name == "id":
                ax.set_title(f"hidden: {MASKS[mask]}", fontsize=9)
            if name == "hard":
                ax.set_xlabel("time [s]", fontsize=9)
        line[0].set_ylabel(f"{title}\n[r.m.s.]", fontsize=9)
    fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8.5)
    return fig


def _signal(ax: Axes, one: xr.Dataset, models: list[str]) -> dict[str, object]:
    """A signal, what is hidden of it, and drawings of that."""
    time, truth = one["time"].values, one["truth"].sel(model=models[0]).values
    hidden = one["seen"].sel(model=models[0]).values == 0
    ax.fill_between(
        time, 0, 1, where=hidden, color="0.92", lw=0, transform=ax.get_xaxis_transform()
    )
    (line,) = ax.plot(time, truth, color="black", lw=2.4)
    handles: dict[str, object] = {}
    for model in models[::-1]:
        drawn = one["filled"].sel(model=model, step=PICTURED[model]).values
        color, _ = look(str(one["label"].sel(model=model).values))
        dashes = {"vn_2048": "-", "process_rq": "--"}.get(model, ":")
        (drew,) = ax.plot(time, np.where(hidden, drawn, np.nan), dashes, color=color, lw=1.6)
        handles = {str(one["label"].sel(model=model).values): drew} | handles
    room = 0.35 * np.ptp(truth)
    low, high = ax.get_ylim() if ax.get_ylim() != (0.0, 1.0) else (np.inf, -np.inf)
    ax.set_ylim(max(low, truth.min() - 2 * room), min(high, truth.max() + 2 * room))
    return {"truth": line} | handles


@if_computed
def by_cell(results: xr.Dataset) -> Figure:
    """The error of each mask and set; runs of hidden samples above, scattered ones below."""
    models = some(run(results, BY_CELL))
    masks = [m for m in MASKS if m in results["mask"].values]
    rows = [f"{mask} {name}" for mask in masks for name in SETS]
    far = [row for row in rows if row.startswith("random")]
    parts = [[row for row in rows if row not in far], far]
    parts = [part for part in parts if part]
    ratios = [len(part) for part in parts]
    size = (8.6, 0.44 * len(rows) + 2.4)
    fig, axes = plt.subplots(len(parts), 1, figsize=size, height_ratios=ratios, squeeze=False)
    handles: dict[str, object] = {}
    for ax, part in zip(axes[:, 0], parts, strict=True):
        for i, model in enumerate(models):
            told = over_seeds(error(results, model, step_of(model)).sel(cell=part))
            shift = 0.6 * (i / max(1, len(models) - 1) - 0.5)
            ends = np.abs(np.stack([told["low"], told["high"]]) - told["median"].values)
            text = label(results, model)
            color, marker = look(text)
            mark = {"color": color, "marker": marker, "ms": 7 if model == "vn_2048" else 4.5}
            places = np.arange(len(part)) + shift
            bars = ax.errorbar(
                told["median"], places, xerr=np.nan_to_num(ends), lw=0.8, ls="none", **mark
            )
            handles.setdefault(text, bars)
        ax.set_xscale("log")
        ax.set_yticks(range(len(part)), [_named(row) for row in part])
        ax.invert_yaxis()
        for place in range(1, len(part)):
            ax.axhline(place - 0.5, color="0.85" if place % 3 else "0.4", lw=0.7)
    axes[-1, 0].set_xlabel(f"mean squared error on hidden samples [{UNIT}]")
    fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return fig


def _named(cell: str) -> str:
    mask, name = cell.split()
    return f"{MASKS[mask]}, {SETS[name]}"


@if_computed
def ingredients(results: xr.Dataset) -> Figure:
    """What each ingredient changes: ratios of errors, a panel for each mask."""
    rows = some(changes(results))
    size = (10.5, 0.62 * len(rows) + 1.5)
    fig, axes = plt.subplots(1, len(RUN), figsize=size, sharex=True, sharey=True)
    for ax, mask in zip(axes, RUN, strict=True):
        for place, name in enumerate(rows):
            for i, (which, color) in enumerate(HUES.items()):
                told = over_seeds(changed(results, name).sel(cell=f"{mask} {which}", drop=True))
                y = place + 0.22 * (i - 1)
                ax.hlines(y, told["low"], told["high"], color=color, lw=1.4)
                ax.plot(told["median"], y, "oD^"[i], color=color, ms=5)
        ax.axvline(1, color="0.3", lw=0.9)
        ax.set(xscale="log", title=f"hidden: {MASKS[mask]}")
    axes[0].set_xticks([1e-6, 1e-3, 1, 1e3])
    axes[1].set_xlabel("ratio of errors, below 1 where the first named is better")
    axes[0].set_yticks(range(len(rows)), rows)
    axes[0].invert_yaxis()
    for i, (which, color) in enumerate(HUES.items()):
        axes[0].plot([], [], "oD^"[i], color=color, label=SETS[which])
    fig.legend(loc="outside lower center", ncols=3, fontsize=8.5)
    return fig


def changes(results: xr.Dataset) -> list[str]:
    """The ingredients whose both models were run."""
    there = run(results, [OWN[0], "vn_256", *STEPS.values(), *ATOMS.values()])
    own = [name for name, model in STEPS.items() if {OWN[0], model} <= {*there}]
    return own + [name for name, model in ATOMS.items() if {"vn_256", model} <= {*there}]


def changed(results: xr.Dataset, name: str) -> xr.DataArray:
    """The ratio of errors (seed, cell) that an ingredient changes, where samples are hidden in runs."""
    if name in STEPS:
        return ratio(results, OWN, [(STEPS[name], "carried")], "run")
    return ratio(results, (ATOMS[name], "carried"), [("vn_256", "carried")], "run")


@if_computed
def tails(results: xr.Dataset) -> Figure:
    """The share of signals whose error is at most so large, all seeds together, by mask and set."""
    models = some(run(results, TAILS))
    fig, axes = plt.subplots(len(SETS), len(RUN), figsize=(10.5, 7.4), sharex=True, sharey=True)
    for line, (name, title) in zip(axes, SETS.items(), strict=True):
        for ax, mask in zip(line, RUN, strict=True):
            for model in models:
                each = singles(results, model, step_of(model)).sel(cell=f"{mask} {name}").values
                each = np.sort(each[np.isfinite(each)]).clip(1e-10)
                share = np.arange(1, len(each) + 1) / len(each)
                text = label(results, model)
                ax.step(each, share, where="post", color=look(text)[0], lw=1.5, label=text)
            if name == "id":
                ax.set_title(f"hidden: {MASKS[mask]}", fontsize=9)
        line[0].set(ylabel=f"{title}\nshare of signals")
    axes[0, 0].set(xscale="log", xticks=[1e-10, 1e-7, 1e-4, 1e-1, 1e2])
    axes[-1, 1].set_xlabel(f"mean squared error on hidden samples, at most [{UNIT}]")
    fig.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8
    )
    return fig
