"""Figures of the low-rank maps (FR Figs. 3, 6), from the dataset of `study.results`."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr
from matplotlib.colors import LogNorm

from benchmarks.baselines.figures import looks
from benchmarks.spatial.errors import learned
from benchmarks.spatial.figures import along_training, plane, sets_along_training
from chapters.FR3_low_rank.claims import FOUR, own_band
from chapters.FR3_low_rank.tables import effective_rank, with_maps
from vnlib.plots.frames import if_computed, label, long_frame, some
from vnlib.plots.style import DIVERGING, PALETTE, image_axes, look

HOLD_OUTS = {"square": "square held out", "large_corner": "corner held out"}
MODELS = (
    *("none", "entropy", "variance", "both", "variance_low", "variance_high"),
    *("rank1", "decay", "free", "bands", "factorised"),
)
SHOWN = ("none", "entropy", "variance", "both", "rank1", "free", "bands", "factorised")
SWEEP = {"none": 0.0, "variance_low": 1e-3, "variance": 1e-2, "variance_high": 1e-1}
FLOOR = 1e-7  # errors below are drawn here


def those(results: xr.Dataset, wanted: Sequence[str] = MODELS) -> list[str]:
    return some([m for m in wanted if m in results["model"].values])


def called(results: xr.Dataset, model: str) -> str:
    """What tells the embedding networks apart, or the name of another model."""
    text = label(results, model).removeprefix("Embedding network, ")
    return text.replace("entropy and variance", "both")


def pictured(results: xr.Dataset) -> xr.Dataset:
    """The first seed of which images were kept; the first of all where there is none."""
    others = [d for d in results["sample_image"].dims if d != "seed"]
    return results.isel(seed=int(results["sample_image"].notnull().any(others).values.argmax()))


def _outline(ax: plt.Axes, results: xr.Dataset, hold_out: str, color: str = "white") -> None:
    # The same for every model and seed.
    outside = plane(results["split_ood"].sel(hold_out=hold_out).isel(model=0)).astype(float)
    ax.contour(outside, levels=[0.5], colors=color, linewidths=1.2, linestyles="--")


def _points(
    ax: plt.Axes, results: xr.Dataset, models: Sequence[str], x: xr.DataArray, y: xr.DataArray
) -> None:
    """Every run a point, in the colours and markers of the models."""
    chosen = xr.Dataset({"x": x, "y": y}).drop_vars("label", errors="ignore")
    frame: pd.DataFrame = chosen.sel(model=list(models)).to_dataframe().reset_index()
    names = {m: called(results, m) for m in models}
    sns.scatterplot(
        frame.assign(name=frame["model"].map(names)),
        x="x",
        y="y",
        hue="name",
        style="name",
        palette={names[m]: color for m, (color, _) in looks(results, models).items()},
        markers={names[m]: marker for m, (_, marker) in looks(results, models).items()},
        s=60,
        alpha=0.8,
        ax=ax,
        legend="full",
    )


def id_against_ood(results: xr.Dataset) -> plt.Figure:
    """Every seed of every model, one panel per hold-out (FR Fig. 3e)."""
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), sharey=True)
    errors = results[["mse_id", "mse_ood"]].clip(FLOOR)
    for ax, (hold_out, title) in zip(axes, HOLD_OUTS.items(), strict=True):
        one = errors.sel(hold_out=hold_out)
        _points(ax, results, those(results), one["mse_id"], one["mse_ood"])
        ends = np.array([FLOOR / 2, 1.0])
        ax.plot(ends, ends, color="0.6", lw=1, label="OOD = ID")
        zero = float(results["zero_baseline_ood"].sel(hold_out=hold_out).median())
        ax.axhline(zero, color="0.3", ls=":", lw=1.2, label="zero baseline, OOD")
        limits = (0.7 * float(errors["mse_id"].min()), 2 * float(errors["mse_id"].max()))
        ax.set(xscale="log", yscale="log", xlim=limits, title=title)
        ax.set(xlabel="ID test error (mean squared error)")
        ax.set_ylabel("OOD error (mean squared error)")
    lowest = 0.7 * float(errors.to_array().min())
    axes[0].set(ylim=(lowest, 3 * float(errors["mse_ood"].max())))
    axes[0].get_legend().remove()
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


@if_computed
def learning(results: xr.Dataset) -> plt.Figure:
    """Errors of the four settings along training, one panel per hold-out, runs that learned."""
    curves = results[["curve_step", "curve_val", "curve_ood"]].where(learned(results))
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 4), sharey=True)
    for ax, (hold_out, title) in zip(axes, HOLD_OUTS.items(), strict=True):
        sets_along_training(ax)
        one = curves.sel(hold_out=hold_out)
        for model in those(results, FOUR):
            name = called(results, model)
            along_training(
                ax, one.sel(model=model), color=look(label(results, model))[0], name=name
            )
        zero = float(results["zero_baseline_ood"].sel(hold_out=hold_out).median())
        ax.axhline(zero, color="0.3", ls=":", lw=1.2, label="zero baseline, OOD")
        ax.set_title(title)
    axes[1].set_ylabel("")
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


@if_computed
def rank_or_bands(results: xr.Dataset) -> plt.Figure:
    """OOD error against the effective rank of a map, and against the share of its energy in bands
    along its axis.
    """
    panels = (
        (effective_rank(results), "effective rank of a map (median over tokens)", {}),
        (own_band(results), "share of a map in bands along its axis", {"xlim": (-0.03, 1.03)}),
    )
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True)
    for ax, (value, name, limits) in zip(axes, panels, strict=True):
        _points(ax, results, some(with_maps(results)), value, results["mse_ood"])
        zero = float(results["zero_baseline_ood"].median())
        ax.axhline(zero, color="0.3", ls=":", lw=1.2, label="zero baseline")
        ax.set(yscale="log", xlabel=name, ylabel="OOD error (mean squared error)", **limits)
    axes[0].get_legend().remove()
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


@if_computed
def embeddings(results: xr.Dataset, hold_out: str = "large_corner") -> plt.Figure:
    """The maps of a few tokens, one row per model (FR Figs. 3b, 6); each map divided by its largest
    magnitude.
    """
    shown = pictured(results).sel(hold_out=hold_out)["embedding"]
    models = those(results, SHOWN[:-1])
    pairs = [(axis, token) for axis in ("x", "y") for token in shown["token_shown"].values]
    size = (1.25 * len(pairs), 1.32 * len(models))
    fig, axes = plt.subplots(len(models), len(pairs), figsize=size, squeeze=False)
    for row, model in zip(axes, models, strict=True):
        for ax, (axis, token) in zip(row, pairs, strict=True):
            image = shown.sel(model=model, axis=axis, token_shown=token).values
            largest = np.nanmax(np.abs(image)) if np.isfinite(image).any() else 1.0
            image_axes(ax, f"{axis} = {token}" if model == models[0] else "")
            ax.imshow(image / largest, origin="lower", cmap=DIVERGING, vmin=-1, vmax=1)
        name = called(results, model)
        row[0].set_ylabel(name, fontsize=8.5, rotation=0, ha="right", va="center")
    return fig


@if_computed
def spectra(results: xr.Dataset) -> plt.Figure:
    """Mean spectrum of the maps (left), and what the penalty counts against the rank that the maps
    have (right).
    """
    fig, axes = plt.subplots(1, 2, figsize=(10, 3.8))
    models = those(results, SHOWN[:-1])
    names = {m: called(results, m) for m in models}
    frame = long_frame(results["spectrum"].mean(("axis", "hold_out")).sel(model=models), "share")
    sns.lineplot(
        frame.assign(name=frame["model"].map(names), mode=frame["mode"] + 1),
        x="mode",
        y="share",
        hue="name",
        style="name",
        palette={names[m]: color for m, (color, _) in looks(results, models).items()},
        markers={names[m]: marker for m, (_, marker) in looks(results, models).items()},
        dashes=False,
        estimator="median",
        errorbar=None,
        ax=axes[0],
    )
    axes[0].set(yscale="log", ylim=(1e-6, 1.5))
    axes[0].set(xlabel="singular value", ylabel="share of the map's energy")
    counted = results["s_rank"].mean("axis")
    present = results["effective_rank"].median("token").mean("axis")
    _points(axes[1], results, those(results, (*FOUR, "rank1")), counted, present)
    ends = [1, results.sizes["mode"]]
    axes[1].plot(ends, ends, color="0.6", lw=1)
    axes[1].set(xscale="log", yscale="log")
    axes[1].set(xlabel="modes counted by $s_k^2$", ylabel="effective rank of the map")
    for ax in axes:
        ax.legend(fontsize=8)
    return fig


@if_computed
def error_maps(results: xr.Dataset) -> plt.Figure:
    """Error at every position, one row per hold-out, one column per model."""
    one = pictured(results)
    models = those(results, SHOWN)
    size = (1.35 * len(models) + 0.8, 3.5)
    fig, axes = plt.subplots(2, len(models), figsize=size, squeeze=False)
    norm = LogNorm(vmin=1e-6, vmax=3e-2)
    for row, hold_out in zip(axes, HOLD_OUTS, strict=True):
        for ax, model in zip(row, models, strict=True):
            values = plane(one["mse"].sel(model=model, hold_out=hold_out))
            picture = ax.imshow(values.clip(1e-6), origin="lower", norm=norm)
            _outline(ax, one, hold_out)
            image_axes(ax, fill(called(results, model), 12) if hold_out == "square" else "", 8.5)
    fig.colorbar(picture, ax=axes, label="mean squared error", shrink=0.8, extend="both")
    return fig


@if_computed
def volumes(results: xr.Dataset) -> plt.Figure:
    """log10 of the volume element of the maps and of the output over the plane (FR Fig. 3d), corner
    held out.
    """
    one = pictured(results).sel(hold_out="large_corner")
    models = those(results, (*FOUR, "bands"))
    truth = float(one["target_log_volume"].median())
    size = (1.9 * len(models) + 0.8, 4)
    fig, axes = plt.subplots(2, len(models), figsize=size, squeeze=False)
    names = {"maps": "the two maps", "output": "output"}
    for row, (layer, name) in zip(axes, names.items(), strict=True):
        values = one["log_volume"].sel(layer=layer, model=models)
        values = values - (truth if layer == "output" else values.median())
        for ax, model in zip(row, models, strict=True):
            colors = {"cmap": DIVERGING, "vmin": -1.5, "vmax": 1.5}
            picture = ax.imshow(values.sel(model=model), origin="lower", **colors)
            _outline(ax, pictured(results), "large_corner", color="black")
            image_axes(ax, called(results, model) if layer == "maps" else "")
        row[0].set_ylabel(name)
    fig.colorbar(picture, ax=axes, label="log10 volume less that of white", extend="both")
    return fig


@if_computed
def weights(results: xr.Dataset) -> plt.Figure:
    """ID test and OOD error against the weight of the variance penalty, every seed a point, medians
    joined.
    """
    models = those(results, tuple(SWEEP))
    errors = {"ID test": results["mse_id"], "OOD": results["mse_ood"]}
    both = xr.concat(errors.values(), pd.Index(errors, name="error")).sel(model=models)
    looks = {"palette": {"ID test": PALETTE[7], "OOD": PALETTE[0]}, "markers": ["s", "o"]}
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for ax, (hold_out, title) in zip(axes, HOLD_OUTS.items(), strict=True):
        frame = long_frame(both.sel(hold_out=hold_out), "value")
        frame["weight"] = frame["model"].map(lambda m: f"{SWEEP[m]:g}")
        given = {"x": "weight", "y": "value", "hue": "error", "ax": ax}
        palette = looks["palette"]
        sns.stripplot(frame, **given, palette=palette, size=4, jitter=0, alpha=0.6, legend=False)
        sns.pointplot(frame, **given, **looks, estimator="median", errorbar=None, lw=1.5)
        zero = float(results["zero_baseline_ood"].sel(hold_out=hold_out).median())
        ax.axhline(zero, color="0.3", ls=":", lw=1.2, label="zero baseline, OOD")
        ax.set(title=title, xlabel="weight of the variance penalty, no entropy penalty")
        ax.set(ylabel="mean squared error")
        ax.legend(fontsize=8, loc="center")
    axes[1].get_legend().remove()
    axes[0].set_yscale("log")  # last, since seaborn would take medians of logarithms
    return fig


@if_computed
def samples(results: xr.Dataset, hold_out: str = "large_corner") -> plt.Figure:
    """What one seed of each model draws at the sample positions, beside the targets."""
    one = pictured(results).sel(hold_out=hold_out)
    tiles = {"target": results["target_image"]}
    for model in those(results, SHOWN):
        tiles[called(results, model)] = one["sample_image"].sel(model=model)
    places = results["sample"].values
    size = (1.2 * len(tiles), 1.25 * len(places))
    fig, axes = plt.subplots(len(places), len(tiles), figsize=size, squeeze=False)
    held = one["split_ood"].isel(model=0)
    for column, (name, images) in zip(axes.T, tiles.items(), strict=True):
        for ax, index in zip(column, range(len(places)), strict=True):
            ax.imshow(images.isel(sample=index), origin="lower", vmin=0, vmax=1)
            image_axes(ax, fill(name, 12) if index == 0 else "", 8.5)
    for ax, place in zip(axes[:, 0], places, strict=True):
        x, y = (int(results[f"position_{a}"].sel(position=place)) for a in ("x", "y"))
        where = "OOD" if bool(held.sel(position=place)) else "ID"
        ax.set_ylabel(f"({x}, {y})\n{where}", fontsize=8.5)
    return fig
