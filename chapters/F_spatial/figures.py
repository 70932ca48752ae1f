"""Figures of spatial decoding in full (VN App. F), from the results over (model, seed).

The coordinate `parts` holds the names of the tables that a model is in, with blanks between.
"""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr
from matplotlib.colors import LogNorm

from benchmarks.spatial import figures as spatial
from chapters.F_spatial.tables import ENCODED, ENCODINGS, encoded, within
from vnlib.plots.frames import if_computed, label, long_frame
from vnlib.plots.style import PALETTE, look

RANKS = {
    "Factorised decoder, default rate": ("default_1", "default_2", "default_3"),
    "Factorised decoder": ("factorised", "factorised_2", "factorised_3"),
    "VN-1L per axis": ("vn_1_8", "vn_rank_2", "vn_rank_3"),
}
WATCHED = ("cnn_ring", "default_1", "factorised_care", "vn_1_8", "full")
DEEP = {"vn_3_8": "bottom-up", "vn_3_down": "top-down", "vn_3_mix": "top-down,\nmix 0.5"}


@if_computed
def scatter(results: xr.Dataset, part: str) -> plt.Figure:
    """ID test and OOD error of one table: every seed a point, medians larger."""
    return spatial.id_against_ood(within(results, part))


@if_computed
def encodings(results: xr.Dataset) -> plt.Figure:
    """ID against OOD error, a panel per model of Table 3, a mark per code; every seed a point."""
    one, errors = within(results, "encodings"), encoded(results)
    errors[["mse_id", "mse_ood"]] = errors[["mse_id", "mse_ood"]].clip(spatial.FLOOR)
    present = [name for name in ENCODED if name in set(errors["family"])]
    looks = {
        one: (c, m) for one, c, m in zip(ENCODINGS.values(), PALETTE, "osD^vPX*", strict=False)
    }
    style = {
        "x": "mse_id",
        "y": "mse_ood",
        "hue": "code",
        "style": "code",
        "palette": {name: color for name, (color, _) in looks.items()},
        "markers": {name: marker for name, (_, marker) in looks.items()},
        "hue_order": list(ENCODINGS.values()),
        "style_order": list(ENCODINGS.values()),
    }
    fig, axes = spatial.mosaic(len(present), 4, (2.6, 2.5))
    for ax, name in zip(axes, present, strict=True):
        own = errors[errors["family"] == name]
        sns.scatterplot(own, s=26, alpha=0.7, linewidth=0.3, ax=ax, **style)
        spatial.error_axes(ax, one, labels=False)
        ax.set_title(name, fontsize=9)
    handles = axes[0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside lower center", ncols=4, fontsize=8.5)
    for ax in axes:
        ax.get_legend().remove()
    return fig


@if_computed
def depth(results: xr.Dataset) -> plt.Figure:
    """OOD error against the cap K for each depth (left), and what top-down inference does (right)."""
    one = within(results, "depth")
    caps = {f"vn_{n}_{k}": (k, f"{n} layer{'s' * (n > 1)}") for n in (1, 2, 3) for k in (4, 8, 16)}
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, width_ratios=[1.3, 1])
    capped = _named(one["mse_ood"], caps, ("cap", "depth"))
    looks = {name: look(f"VN-{name[0]}L per axis") for name in dict.fromkeys(capped["depth"])}
    spatial.seeds_and_medians(axes[0], capped, x="cap", hue="depth", looks=looks, joined=True)
    axes[0].set(xlabel="atoms per top code at most, K", ylabel=f"OOD error ({spatial.ERROR})")
    deep = _named(one["mse_ood"], {m: (name, name) for m, name in DEEP.items()}, ("inference", "_"))
    looks = dict.fromkeys(DEEP.values(), look("VN-3L per axis"))
    spatial.seeds_and_medians(axes[1], deep, x="inference", hue="inference", looks=looks)
    axes[1].set_title("3 layers, K 8", fontsize=9)
    axes[1].set_xlabel("way of inference")
    for ax in axes:
        _zero(ax, one)
        ax.set_yscale("log")
    if len(capped):
        # Below the line of the zero baseline.
        axes[0].legend(fontsize=8, loc="upper right", bbox_to_anchor=(1, 0.92))
    return fig


def learning(results: xr.Dataset) -> plt.Figure:
    """Errors of some decoders along training, a panel each."""
    return spatial.learning(results, WATCHED)


@if_computed
def rank(results: xr.Dataset) -> plt.Figure:
    """How alike the streams of rank-R readouts are (left), and the OOD error of every rank (right)."""
    one = within(results, "rank")
    ranks = {m: (r, name) for name, models in RANKS.items() for r, m in enumerate(models, 1)}
    looks = {name: look(name) for name in RANKS}
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.5))
    for ax, name in zip(axes, ("stream_similarity", "mse_ood"), strict=True):
        values = one[name] if name in one else xr.full_like(one["mse_ood"], np.nan)
        frame = _named(values, ranks, ("rank", "family"))
        spatial.seeds_and_medians(ax, frame, x="rank", hue="family", looks=looks)
        if legend := ax.get_legend():
            legend.remove()
    if "full" in one["model"].values:
        full = one["mse_ood"].sel(model="full")
        color, _ = look("Full 2D VN")
        band = {"color": color, "alpha": 0.2, "lw": 0}
        axes[1].axhspan(float(full.min()), float(full.max()), **band)
        said = "Full 2D VN (band: all seeds)"
        axes[1].axhline(float(full.median()), color=color, lw=1.5, label=said)
    _zero(axes[1], one)
    axes[0].set(xlabel="rank R", ylabel="absolute cosine of two streams' images", ylim=(0, 1.03))
    axes[1].set(xlabel="rank R", ylabel=f"OOD error ({spatial.ERROR})", yscale="log")
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


@if_computed
def maps(results: xr.Dataset) -> plt.Figure:
    """Error at every position with the ring held out, median over seeds, one colour scale."""
    one = within(results, "ring")
    fig, axes = spatial.mosaic(one.sizes["model"], one.sizes["model"], (2.4, 2.6))
    middle = one[["mse", "held_out"]].median("seed")
    for ax, model in zip(axes, one["model"].values, strict=True):
        cell, norm = middle.sel(model=model), LogNorm(vmin=1e-8, vmax=1e-1)
        drawn = spatial.error_map(ax, cell["mse"], cell["held_out"], norm, label(one, model))
    bar = fig.colorbar(drawn, ax=axes, label=spatial.ERROR, extend="both", shrink=0.85)
    zero = float(one["zero_baseline_ood"].median())
    bar.ax.axhline(zero, color="white", lw=2)
    across = bar.ax.get_yaxis_transform()
    bar.ax.text(-0.2, zero, "zero", ha="right", va="center", fontsize=7.5, transform=across)
    return fig


@if_computed
def images(results: xr.Dataset, part: str, name: str = "sample") -> plt.Figure:
    """What the models of a table draw, `<name>_image`, after the target; the first seed kept."""
    one, pair = within(results, part), [f"{name}_image", f"{name}_target"]
    shown = one[pair].dropna("seed", how="all").dropna("model", how="all").isel(seed=0)
    drawn = [(label(shown, m), shown[pair[0]].sel(model=m).values) for m in shown["model"].values]
    return spatial.tiles([("target", shown[pair[1]].isel(model=0).values), *drawn], 7)


def _named(
    values: xr.DataArray, models: Mapping[str, tuple], columns: tuple[str, str]
) -> pd.DataFrame:
    """A long frame of those models that are there, with two columns that say what each of them is."""
    present = [m for m in models if m in values["model"].values]
    frame = long_frame(values.sel(model=present).clip(spatial.FLOOR))
    for number, column in enumerate(columns):
        frame[column] = [models[m][number] for m in frame["model"]]
    return frame


def _zero(ax: plt.Axes, results: xr.Dataset) -> None:
    """The OOD error of the zero baseline, as a line."""
    zero = float(results["zero_baseline_ood"].median())
    ax.axhline(zero, label="zero baseline", zorder=0, **spatial.ZERO)
