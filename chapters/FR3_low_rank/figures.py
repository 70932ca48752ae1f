"""Figures of the low-rank maps (FR Figs. 3, 6), from the dataset of `studies.low_rank.report`.

The dataset has dims model, hold_out, seed and, for what was kept of one seed, position, sample,
axis, token_shown, layer, y, x; coordinates label(model) and group(model).
"""

from __future__ import annotations

import math
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm

from vnlib.plots.rows import label
from vnlib.plots.style import DIVERGING, GROUPS, PALETTE, bare

FOUR = ("none", "entropy", "variance", "both")
HOLD_OUTS = {"square": "square held out", "large_corner": "corner held out"}
# Colour and marker of each model; those of the four settings are their own.
LOOKS = {
    "none": (PALETTE[3], "s"),
    "entropy": (PALETTE[1], "D"),
    "variance": (PALETTE[0], "o"),
    "both": (PALETTE[2], "*"),
    "variance_low": (PALETTE[9], "v"),
    "variance_high": (PALETTE[4], "^"),
    "rank1": (PALETTE[5], "P"),
    "decay": (PALETTE[8], "X"),
    "free": (PALETTE[7], "h"),
    "bands": ("black", "d"),
    "factorised": (GROUPS["factorised"][1], "<"),
}


def models_of(results: xr.Dataset, wanted: tuple[str, ...] = tuple(LOOKS)) -> list[str]:
    return [m for m in wanted if m in results["model"].values]


def _pictured(results: xr.Dataset) -> xr.Dataset:
    """The first seed of which images were kept; the first of all where there is none."""
    kept = (
        results["sample_image"]
        .notnull()
        .any([d for d in results["sample_image"].dims if d != "seed"])
        .values
    )
    return results.isel(seed=int(kept.argmax()))


def _square(values: xr.DataArray) -> np.ndarray:
    side = math.isqrt(values.sizes["position"])
    return values.values.reshape(side, side)


def _outline(ax: plt.Axes, results: xr.Dataset, hold_out: str, color: str = "white") -> None:
    # The same for every model and seed.
    outside = results["split_ood"].sel(hold_out=hold_out).isel(model=0)
    ax.contour(
        _square(outside).astype(float), levels=[0.5], colors=color, linewidths=1.2, linestyles="--"
    )


def id_against_ood(results: xr.Dataset) -> plt.Figure:
    """Every seed of every model, one panel per hold-out (FR Fig. 3e)."""
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), sharey=True)
    for ax, (hold_out, title) in zip(axes, HOLD_OUTS.items(), strict=True):
        here = results.sel(hold_out=hold_out)
        for model in models_of(results):
            color, marker = LOOKS[model]
            one = here.sel(model=model)
            ax.scatter(
                one["mse_id"],
                one["mse_ood"],
                color=color,
                marker=marker,
                s=90 if marker == "*" else 46,
                alpha=0.8,
                edgecolor="white",
                lw=0.4,
                label=label(results, model),
            )
        ends = np.array([1e-9, 1.0])
        ax.plot(ends, ends, color="0.6", lw=1, label="OOD = ID")
        ax.axhline(
            float(here["blank_ood"].median()), color="0.3", ls=":", lw=1.2, label="blank image, OOD"
        )
        low, high = float(results["mse_id"].min()) / 2, float(results["mse_id"].max()) * 2
        ax.set(
            xscale="log",
            yscale="log",
            xlim=(low, high),
            title=title,
            xlabel="ID test error (mean squared error)",
        )
    lowest = float(results[["mse_id", "mse_ood"]].to_array().min()) / 2
    axes[0].set(
        ylabel="OOD error (mean squared error)", ylim=(lowest, 3 * float(results["mse_ood"].max()))
    )
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def what_matters(results: xr.Dataset) -> plt.Figure:
    """OOD error against the effective rank of a map, and against the share of its energy in bands
    along its axis.
    """
    rank = results["effective_rank"].median(("axis", "token"))
    panels = (
        (rank, "effective rank of a map (median over tokens)", {}),
        (own_band(results), "share of a map in bands along its axis", {"xlim": (-0.03, 1.03)}),
    )
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), sharey=True)
    for ax, (value, name, options) in zip(axes, panels, strict=True):
        for model in models_of(results, tuple(m for m in LOOKS if m != "factorised")):
            color, marker = LOOKS[model]
            for hold_out in HOLD_OUTS:
                ax.scatter(
                    value.sel(model=model, hold_out=hold_out),
                    results["mse_ood"].sel(model=model, hold_out=hold_out),
                    color=color,
                    marker=marker,
                    s=90 if marker == "*" else 44,
                    alpha=0.8,
                    edgecolor="white",
                    lw=0.4,
                    label=label(results, model) if hold_out == "square" else None,
                )
        ax.axhline(
            float(results["blank_ood"].median()), color="0.3", ls=":", lw=1.2, label="blank image"
        )
        ax.set(yscale="log", xlabel=name, **options)
    axes[0].set_ylabel("OOD error (mean squared error)")
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def own_band(results: xr.Dataset) -> xr.DataArray:
    """Median over tokens of the share of a map that is constant along the other axis, mean of x and
    y.
    """
    return (
        sum(
            results["band"].sel(axis=a, along=b, drop=True).median("token")
            for a, b in (("x", "y"), ("y", "x"))
        )
        / 2
    )


def embeddings(results: xr.Dataset, hold_out: str = "large_corner") -> plt.Figure:
    """The maps of a few tokens, one row per model (FR Figs. 3b, 6); each map divided by its largest
    magnitude.
    """
    shown = _pictured(results).sel(hold_out=hold_out)["embedding"]
    models = models_of(results, ("none", "entropy", "variance", "both", "rank1", "free", "bands"))
    tokens = shown["token_shown"].values
    fig, axes = plt.subplots(
        len(models),
        2 * len(tokens),
        figsize=(1.25 * 2 * len(tokens), 1.32 * len(models)),
        squeeze=False,
    )
    for row, model in zip(axes, models, strict=True):
        pairs = [(axis, token) for axis in ("x", "y") for token in tokens]
        for ax, (axis, token) in zip(row, pairs, strict=True):
            image = shown.sel(model=model, axis=axis, token_shown=token).values
            largest = np.nanmax(np.abs(image)) if np.isfinite(image).any() else 1.0
            bare(ax, f"{axis} = {token}" if model == models[0] else "")
            ax.imshow(image / largest, origin="lower", cmap=DIVERGING, vmin=-1, vmax=1)
        row[0].set_ylabel(
            label(results, model).replace(", ", ",\n"),
            fontsize=8.5,
            rotation=0,
            ha="right",
            va="center",
        )
    return fig


def spectra(results: xr.Dataset) -> plt.Figure:
    """Mean spectrum of the maps (left), and what the penalty counts against the rank that the maps
    have (right).
    """
    fig, axes = plt.subplots(1, 2, figsize=(10, 3.8))
    models = models_of(results, ("none", "entropy", "variance", "both", "rank1", "free", "bands"))
    spectrum = results["spectrum"].mean(("axis", "hold_out")).median("seed")
    for model in models:
        color, marker = LOOKS[model]
        share = spectrum.sel(model=model).values
        modes = np.arange(1, len(share) + 1)
        axes[0].plot(
            modes, share, color=color, marker=marker, ms=4, lw=1, label=label(results, model)
        )
    axes[0].set(
        yscale="log", ylim=(1e-6, 1.5), xlabel="singular value", ylabel="share of the map's energy"
    )
    axes[0].legend(fontsize=8)
    for model in (m for m in models if m in (*FOUR, "rank1")):
        color, marker = LOOKS[model]
        one = results.sel(model=model)
        counted, has = (
            one["s_rank"].mean("axis"),
            one["effective_rank"].median("token").mean("axis"),
        )
        axes[1].scatter(
            counted, has, color=color, marker=marker, s=40, alpha=0.8, label=label(results, model)
        )
    ends = [1, results.sizes["mode"]]
    axes[1].plot(ends, ends, color="0.6", lw=1)
    axes[1].set(
        xscale="log",
        yscale="log",
        xlabel="modes counted by $s_k^2$",
        ylabel="effective rank of the map",
    )
    axes[1].legend(fontsize=8)
    return fig


def error_maps(results: xr.Dataset) -> plt.Figure:
    """Error at every position, one row per hold-out, one column per model."""
    one = _pictured(results)
    models = models_of(
        results, ("none", "entropy", "variance", "both", "rank1", "free", "bands", "factorised")
    )
    fig, axes = plt.subplots(2, len(models), figsize=(1.35 * len(models) + 0.8, 3.5), squeeze=False)
    for row, hold_out in zip(axes, HOLD_OUTS, strict=True):
        for ax, model in zip(row, models, strict=True):
            values = one["mse"].sel(model=model, hold_out=hold_out)
            picture = ax.imshow(
                _square(values).clip(1e-6), origin="lower", norm=LogNorm(vmin=1e-6, vmax=3e-2)
            )
            _outline(ax, one, hold_out)
            bare(
                ax,
                fill(label(results, model), 12) if hold_out == "square" else "",
                8.5,
            )
    fig.colorbar(picture, ax=axes, label="mean squared error", shrink=0.8, extend="both")
    return fig


def volumes(results: xr.Dataset) -> plt.Figure:
    """log10 of the volume element of the maps and of the output over the plane (FR Fig. 3d), corner
    held out.
    """
    one = _pictured(results).sel(hold_out="large_corner")
    models = models_of(results, ("none", "entropy", "variance", "both", "bands"))
    truth = float(one["target_log_volume"].median())
    fig, axes = plt.subplots(2, len(models), figsize=(1.9 * len(models) + 0.8, 4), squeeze=False)
    names = {"maps": "the two maps", "output": "output"}
    for row, (layer, name) in zip(axes, names.items(), strict=True):
        values = one["log_volume"].sel(layer=layer, model=models)
        middle = truth if layer == "output" else float(values.median())
        for ax, model in zip(row, models, strict=True):
            picture = ax.imshow(
                values.sel(model=model),
                origin="lower",
                cmap=DIVERGING,
                vmin=middle - 1.5,
                vmax=middle + 1.5,
            )
            _outline(ax, _pictured(results), "large_corner", color="black")
            bare(ax, label(results, model) if layer == "maps" else "")
        row[0].set_ylabel(name)
        fig.colorbar(picture, ax=row, label="log10 volume", extend="both")
    return fig


def weights(results: xr.Dataset) -> plt.Figure:
    """ID test and OOD error against the weight of the variance penalty, every seed a point, medians
    joined.
    """
    sweep = {"none": 0.0, "variance_low": 1e-3, "variance": 1e-2, "variance_high": 1e-1}
    models = models_of(results, tuple(sweep))
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    places = np.arange(len(models))
    for ax, (hold_out, title) in zip(axes, HOLD_OUTS.items(), strict=True):
        here = results.sel(hold_out=hold_out, model=models)
        for name, said, color, marker in (
            ("mse_id", "ID test", PALETTE[7], "s"),
            ("mse_ood", "OOD", PALETTE[0], "o"),
        ):
            values = here[name].transpose("model", "seed")
            spread = (
                np.linspace(-0.1, 0.1, values.sizes["seed"])
                if values.sizes["seed"] > 1
                else np.zeros(1)
            )
            ax.scatter(
                places[:, None] + spread, values, color=color, marker=marker, s=22, alpha=0.6, lw=0
            )
            ax.plot(places, values.median("seed"), color=color, marker=marker, label=said)
        ax.axhline(
            float(here["blank_ood"].median()), color="0.3", ls=":", lw=1.2, label="blank image, OOD"
        )
        ax.set(
            yscale="log", title=title, xlabel="weight of the variance penalty, no entropy penalty"
        )
        ax.set_xticks(places, [f"{sweep[m]:g}" for m in models])
    axes[0].set_ylabel("mean squared error")
    axes[0].legend(fontsize=8, loc="center")
    return fig


def samples(results: xr.Dataset, hold_out: str = "large_corner") -> plt.Figure:
    """What one seed of each model draws at the sample positions, below the targets."""
    one = _pictured(results).sel(hold_out=hold_out)
    models = models_of(
        results, ("none", "entropy", "variance", "both", "rank1", "free", "bands", "factorised")
    )
    tiles = [("target", results["target_image"])]
    tiles += [(label(results, m), one["sample_image"].sel(model=m)) for m in models]
    places = results["sample"].values
    fig, axes = plt.subplots(
        len(places), len(tiles), figsize=(1.2 * len(tiles), 1.25 * len(places)), squeeze=False
    )
    held = one["split_ood"].isel(model=0)
    for column, (name, images) in zip(axes.T, tiles, strict=True):
        for ax, index in zip(column, range(len(places)), strict=True):
            ax.imshow(images.isel(sample=index), origin="lower", vmin=0, vmax=1)
            bare(ax, fill(name, 12) if ax is column[0] else "", 8.5)
    for ax, place in zip(axes[:, 0], places, strict=True):
        x, y = (int(results[f"position_{a}"].sel(position=place)) for a in ("x", "y"))
        where = "OOD" if bool(held.sel(position=place)) else "ID"
        ax.set_ylabel(f"({x}, {y})\n{where}", fontsize=8.5)
    return fig
