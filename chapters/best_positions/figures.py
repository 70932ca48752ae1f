"""Figures of positions drawn by the operator of a code and by rivals, from results over (task,
model, seed).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from benchmarks.confirm.figures import changes
from benchmarks.spatial.figures import wrapped
from chapters.best_positions.predictions import NETWORK, chosen, errors, ratio
from vnlib.plots.frames import if_computed, label, some
from vnlib.plots.statistics import over_seeds
from vnlib.plots.style import image_axes, look

VN = "VN-1L, operator"  # what readers call the network
TASKS = {
    "plain": "bump, code 1 px wide",
    "narrow": "code 0.5 px wide",
    "wide": "code 2 px wide",
    "rotated": "rotated code",
    "entangled": "entangled code",
    "ring": "ring",
    "oriented": "oriented Gaussian",
    "coordinates": "coordinates held out",
    "share_60": "60 % held out",
    "noise": "noise 0.1",
    "hidden": "30 % of entries hidden",
    "rotated_noise": "rotated code, noise 0.1",
}
DRAWN = ("rotated", "ring", "noise", "hidden", "share_60")
COMPARED = (NETWORK, "ridge_profiles", "factorised_longer", "vn_axes_longer", "broadcast", "cnn")
LEAST = 1e-5  # errors below it are drawn there
# What changes -> task, with it, without it
STEPS = {
    "noise: settled / as given": ("noise", "operator_settled", "operator"),
    "hidden entries: settled / as given": ("hidden", "operator_settled", "operator"),
    "noise: all atoms by evidence / the best": ("noise", "operator_settled", "settled_nearest"),
    "hidden entries: fine layer / none": ("hidden", "operator_settled", "settled_coarse"),
    "hidden entries: settled / imputed": ("hidden", "operator_settled", "operator_imputed"),
    "entangled: tanh undone / as given": ("entangled", "operator_linked", "operator"),
    "ring: up to six terms / one": ("ring", "operator", "operator_one"),
    "bump: closed form / back-propagation": ("plain", "operator", "operator_trained_longer"),
    "ring: closed form / back-propagation": ("ring", "operator", "operator_trained_longer"),
    "rotated: closed form / back-propagation": ("rotated", "operator", "operator_trained_longer"),
}
DATA = ("ring_100", "ring_200", "ring", "ring_800")
ON_DATA = ("operator", "factorised", "broadcast", "cnn")


def tasks(results: xr.Dataset) -> list[str]:
    """The tasks that there are and that every model takes part in."""
    return [task for task in TASKS if task in results["task"].values]


def run(results: xr.Dataset, models: Iterable[str]) -> list[str]:
    """Those of some models that were run."""
    found = []
    for name in models:
        with suppress(KeyError):
            if bool(errors(results, name).notnull().any()):
                found.append(name)
    return found


def called(results: xr.Dataset, model: str) -> str:
    """What readers call a model."""
    return VN if model == NETWORK else label(results, model)


@if_computed
def example(results: xr.Dataset) -> Figure:
    """What models draw at one held-out position of tasks, beside the true image, first seed."""
    one = results.isel(seed=0)
    rows = some([task for task in DRAWN if task in tasks(results)])
    models = some(run(results, COMPARED))
    size = (1.25 * (1 + len(models)), 1.3 * len(rows) + 0.5)
    fig, axes = plt.subplots(len(rows), 1 + len(models), figsize=size, squeeze=False)
    reading = chosen(one)["reading"] if NETWORK in models else None
    for line, task in zip(axes, rows, strict=True):
        of = one.sel(task=task)
        names = [str(reading.sel(task=task).item()) if m == NETWORK else m for m in models]
        images = {"true image": of["target_image"].sel(model=names[0])}
        for model, name in zip(models, names, strict=True):
            images[called(results, model)] = of["sample_image"].sel(model=name)
        for ax, (title, image) in zip(line, images.items(), strict=True):
            title = wrapped(title, 14) if task == rows[0] else ""
            image_axes(ax, title, size=9).imshow(image, origin="lower", vmin=0, vmax=1)
        line[0].set_ylabel(wrapped(TASKS[task], 12), fontsize=9)
    return fig


@if_computed
def by_task(results: xr.Dataset) -> Figure:
    """Errors in the hold-out of all tasks: every seed, and the median."""
    rows, models = some(tasks(results)), some(run(results, COMPARED))
    fig, ax = plt.subplots(figsize=(8.4, 0.52 * len(rows) + 1.9))
    shifts = np.linspace(-0.3, 0.3, len(models))
    for model, shift in zip(models, shifts, strict=True):
        text = called(results, model)
        color, marker = look(text)
        error = errors(results, model).sel(task=rows).clip(LEAST).transpose("task", "seed")
        at = np.arange(len(rows)) + shift
        points = {"color": color, "marker": marker, "ls": "none"}
        ax.plot(error.values, np.repeat(at[:, None], error.sizes["seed"], 1), ms=3, **points)
        ax.plot(over_seeds(error)["median"], at, ms=7, mec="white", mew=0.5, label=text, **points)
    ax.axvline(1, color="0.3", lw=0.9)
    for place in range(1, len(rows)):
        ax.axhline(place - 0.5, color="0.92", lw=0.8)
    ax.set(xscale="log", xlabel="error in the hold-out, 1: zero baseline")
    ax.set_yticks(range(len(rows)), [TASKS[task] for task in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    fig.legend(fontsize=8, loc="outside lower center", ncols=3)
    return fig


@if_computed
def ingredients(results: xr.Dataset) -> Figure:
    """What each part of the network changes: ratios of errors in the hold-out, every seed."""
    found = some({name: (one, one) for name in STEPS if (one := changed(results, name)).size})
    return changes(
        found, told="median, with interval", single="each seed", of="errors in the hold-out"
    )


def changed(results: xr.Dataset, step: str) -> xr.DataArray:
    """The ratio of errors (seed) that a part changes; empty where it was not run."""
    task, own, other = STEPS[step]
    if task not in results["task"].values or len(run(results, (own, other))) < 2:
        return xr.DataArray(np.zeros(0), dims="seed")
    return ratio(results, own, [other], [task]).isel(task=0)


@if_computed
def data(results: xr.Dataset) -> Figure:
    """Errors on rings in the hold-out against the number of training positions."""
    there = some([task for task in DATA if task in results["task"].values])
    models = some(run(results.sel(task=there), ON_DATA))
    fig, ax = plt.subplots(figsize=(5.6, 3.6))
    for model in models:
        text = called(results, model)
        color, marker = look(text)
        of = results.sel(task=there)
        told = over_seeds(errors(of, model))
        count = of["n_train"].sel(model=model).median("seed")
        line = {"color": color, "marker": marker, "ms": 6, "lw": 1.2, "label": text}
        ax.plot(count, told["median"], **line)
        ax.vlines(count, told["low"], told["high"], color=color, lw=1.2)
    ax.set(xscale="log", yscale="log", xlabel="training positions")
    ax.set(ylabel="error in the hold-out,\n1: zero baseline")
    ax.set_xticks(count, [f"{int(n)}" for n in count])
    ax.xaxis.minorticks_off()
    fig.legend(fontsize=8, loc="outside lower center", ncols=2)
    return fig
