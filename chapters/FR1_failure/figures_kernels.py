"""Figures of FR Figs. 1(e) and 8: similarity matrices against kernels, from `studies.similarity`;
and the tables.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

from chapters.FR1_failure.figures import SOURCES, dots, label_of, look_of, model_axis, with_images
from vnlib.plots.style import PALETTE, bare


def matrices(results: xr.Dataset, hold_out: str = "square", metric: str = "cosine") -> plt.Figure:
    """Similarity of the ink at every third row and column, ID positions first, and FR's binary
    kernel on the left.
    """
    shown, models = (
        with_images(results).sel(hold_out=hold_out, shown_metric=metric),
        results["model"].values,
    )
    columns = -(-(1 + len(models)) // 2)
    fig, axes = plt.subplots(2, columns, figsize=(1.9 * columns, 4.6), squeeze=False)
    at = shown["matrix_position"].isel(model=0).astype(int)
    x, y = (shown[f"position_{axis}"].isel(position=at).values for axis in "xy")
    border = int((shown["held_out"].isel(model=0, position=at) == 0).sum()) - 0.5
    binary = ((x[:, None] == x) + 1.0 * (y[:, None] == y)) / 2
    tiles = [binary, *(shown["matrix"].sel(model=m).values for m in models)]
    titles = ["binary kernel", *(label_of(results, m) for m in models)]
    for ax in axes.flat[len(tiles) :]:
        ax.set_visible(False)
    for ax, tile, title in zip(axes.flat, tiles, titles, strict=False):
        top = 1 if metric == "cosine" or tile is binary else max(1e-3, np.nanmax(tile))
        bare(ax, title, 9).imshow(tile, vmin=0, vmax=top, interpolation="nearest")
        ax.axhline(border, color="white", lw=0.8)
        ax.axvline(border, color="white", lw=0.8)
    return fig


def displacement(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """Mean cosine of two OOD images against how far apart their positions are, median over
    seeds.
    """
    here = results["displacement"].sel(hold_out=hold_out, of="ood").median("seed")
    models = results["model"].values
    tiles = {said: here.sel(source=name).isel(model=0) for name, said in SOURCES.items()}
    tiles |= {label_of(results, m): here.sel(source="model", model=m) for m in models}
    columns = -(-len(tiles) // 2)
    fig, axes = plt.subplots(2, columns, figsize=(1.6 * columns + 0.9, 4.3), squeeze=False)
    for ax in axes.flat[len(tiles) :]:
        ax.set_visible(False)
    for ax, (title, tile) in zip(axes.flat, tiles.items(), strict=False):
        picture = ax.imshow(tile.transpose("dy", "dx"), origin="lower", vmin=0, vmax=1)
        ax.set_title(title.replace(" bumps", "\nbumps"), fontsize=9)
        ax.set(xticks=[0, 8, 16], yticks=[0, 8, 16] if ax in axes[:, 0] else [])
        if ax not in axes[0, : len(tiles) - columns]:  # nothing stands below
            ax.set_xlabel("|x - x'| [px]", fontsize=9)
    for ax in axes[:, 0]:
        ax.set_ylabel("|y - y'| [px]", fontsize=9)
    fig.colorbar(picture, ax=axes, label="mean cosine", shrink=0.9)
    return fig


def kernels(results: xr.Dataset) -> plt.Figure:
    """R^2 of the sum kernel against that of the product kernel on OOD cosines, every seed a
    point.
    """
    hold_outs = results["hold_out"].values
    fig, axes = plt.subplots(
        1, len(hold_outs), figsize=(3.8 * len(hold_outs) + 1.8, 3.9), sharey=True, squeeze=False
    )
    r2 = results["kernel_r2"].sel(metric="cosine", of="ood").isel(width=0)
    marks = "osD^vPX*"
    for ax, hold_out in zip(axes[0], hold_outs, strict=True):
        here = r2.sel(hold_out=hold_out)
        ax.plot([0, 1], [0, 1], color="0.7", lw=1)
        for (name, said), mark in zip(SOURCES.items(), "+x", strict=True):
            one = here.sel(source=name).isel(model=0, seed=0)
            ax.scatter(
                one.sel(kernel="product"),
                one.sel(kernel="sum"),
                s=90,
                marker=mark,
                color="black",
                lw=1.6,
                label=said,
            )
        for number, model in enumerate(results["model"].values):
            one = here.sel(model=model, source="model")
            ax.scatter(
                one.sel(kernel="product"),
                one.sel(kernel="sum"),
                s=44,
                marker=marks[number % len(marks)],
                alpha=0.75,
                color=look_of(results, model)[0],
                edgecolor="white",
                lw=0.4,
                label=str(results["label"].sel(model=model).item()),
            )
        ax.set(
            title=f"{hold_out} held out",
            xlabel="$R^2$ of the product kernel",
            xlim=(0, 1.03),
            ylim=(0, 1.03),
        )
    axes[0, 0].set_ylabel("$R^2$ of the sum kernel")
    axes[0, -1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def binary(results: xr.Dataset) -> plt.Figure:
    """R^2 of FR's binary kernel on the cosines of different OOD positions; lines: the two
    references.
    """
    hold_outs = results["hold_out"].values
    fig, axes = plt.subplots(
        1, len(hold_outs), figsize=(4.8 * len(hold_outs), 3.2), sharey=True, squeeze=False
    )
    r2 = results["kernel_r2"].sel(metric="cosine", of="ood", kernel="binary").isel(width=0)
    for ax, hold_out in zip(axes[0], hold_outs, strict=True):
        here = r2.sel(hold_out=hold_out)
        dots(ax, here.sel(source="model"), 0, color=PALETTE[3], marker="s")
        for (name, said), style in zip(SOURCES.items(), (":", "--"), strict=True):
            ax.axhline(
                float(here.sel(source=name).isel(model=0, seed=0)),
                color="0.3",
                ls=style,
                lw=1.2,
                label=said,
            )
        ax.set(title=f"{hold_out} held out", ylim=(0, None))
        model_axis(results, ax)
    axes[0, 0].set_ylabel("$R^2$ of the binary kernel")
    axes[0, 0].legend(fontsize=8)
    return fig


def kernel_table(results: xr.Dataset, hold_out: str = "square") -> pd.DataFrame:
    """R^2 of the three kernels by similarity and pairs: median over seeds.

    "-": these similarities do not vary.
    """
    r2 = results["kernel_r2"].sel(hold_out=hold_out).isel(width=0).median("seed")
    rows = {}
    for source, said in SOURCES.items():
        rows[said] = r2.sel(source=source).isel(model=0)
    for model in results["model"].values:
        rows[str(results["label"].sel(model=model).item())] = r2.sel(source="model", model=model)
    pairs = [("cosine", "id"), ("cosine", "ood"), ("l2", "ood"), ("overlap", "ood")]
    return pd.DataFrame.from_dict(
        {
            name: {
                f"{metric}, {of.upper()} pairs": " / ".join(
                    f"{float(v):.2f}" if np.isfinite(v) else "-"
                    for v in row.sel(
                        metric=metric, of=of, kernel=["binary", "sum", "product"]
                    ).values
                )
                for metric, of in pairs
            }
            for name, row in rows.items()
        },
        orient="index",
    ).rename_axis(columns="R² of binary / sum / product")


def table(results: xr.Dataset, hold_out: str = "square") -> pd.DataFrame:
    """The numbers behind the figures: medians over seeds, and the range of the OOD error."""
    here = results.sel(hold_out=hold_out)
    relative, ood = here["error"] / here["blank"], here.sel(where="ood")
    columns = {
        "training error": (relative.sel(where="train"), "{:.2g}"),
        "ID error": (relative.sel(where="id"), "{:.2g}"),
        "OOD error": (relative.sel(where="ood"), "{:.2g}"),
        "lowest": (relative.sel(where="ood").min("seed"), "{:.2g}"),
        "highest": (relative.sel(where="ood").max("seed"), "{:.2g}"),
        "bumps per OOD image": (ood["maxima"], "{:.1f}"),
        "largest ink, OOD": (ood["height"], "{:.2f}"),
        "peak within 1 px, OOD": (ood["hit"], "{:.2f}"),
        "smallest cosine of raw images": (here["white_cosine"], "{:.3f}"),
    }
    rows = {
        str(results["label"].sel(model=m).item()): {
            name: form.format(float(values.sel(model=m).median()))
            for name, (values, form) in columns.items()
        }
        for m in results["model"].values
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(columns="model")
