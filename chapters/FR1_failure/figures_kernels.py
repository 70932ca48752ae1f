"""Figures of FR Figs. 1(e) and 8: similarity matrices against kernels of the positions."""

from __future__ import annotations

import matplotlib.pyplot as plt
import seaborn as sns
import xarray as xr

from benchmarks.spatial import figures as spatial
from chapters.FR1_failure.figures import dots, few, panels, with_images, within
from vnlib.plots.frames import label, long_frame
from vnlib.plots.style import image_axes, look

# References: what the images of any decoder are compared with.
SOURCES = {"bumps": "true bumps", "superposed bumps": "superposed bumps"}


def matrices(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """Cosine, distance and overlap (rows) of the ink at every third row and column, ID positions
    first, after FR's kernel. Distances and overlaps have the scale of their own matrix.
    """
    kept = with_images(within(few(results), hold_out))
    at = kept["matrix_position"].isel(model=0).astype(int)
    x, y = (kept[f"position_{axis}"].isel(position=at).values for axis in "xy")
    border = int((kept["held_out"].isel(model=0, position=at) == 0).sum()) - 0.5
    binary = ((x[:, None] == x) + 1.0 * (y[:, None] == y)) / 2
    models = kept["model"].values
    size = (1.25 * (1 + len(models)), 4.2)
    fig, axes = plt.subplots(3, 1 + len(models), figsize=size, squeeze=False)
    for row, metric in zip(axes, kept["shown_metric"].values, strict=True):
        tiles = {"binary kernel": binary}
        one = kept["matrix"].sel(shown_metric=metric)
        tiles |= {label(kept, m): one.sel(model=m).values for m in models}
        for ax, (title, tile) in zip(row, tiles.items(), strict=True):
            title = spatial.wrapped(title, 12) if ax in axes[0] else ""
            ends = {"vmin": 0, "vmax": 1} if metric == "cosine" else {}
            image_axes(ax, title, 8).imshow(tile, interpolation="nearest", **ends)
            ax.axhline(border, color="white", lw=0.8)
            ax.axvline(border, color="white", lw=0.8)
        row[0].set_ylabel({"l2": "−distance"}.get(metric, metric), fontsize=9)
    return fig


def displacement(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """Mean cosine of two OOD images against how far apart their positions are."""
    own = within(few(results), hold_out)["displacement"].sel(pairs="ood").median("seed")
    tiles = {said: own.sel(source=name).isel(model=0) for name, said in SOURCES.items()}
    tiles |= {label(own, m): own.sel(source="model", model=m) for m in own["model"].values}
    columns = -(-len(tiles) // 2)
    fig, axes = spatial.mosaic(len(tiles), columns, (1.75, 2.15))
    for number, (ax, (title, tile)) in enumerate(zip(axes, tiles.items(), strict=True)):
        picture = ax.imshow(tile.transpose("dy", "dx"), origin="lower", vmin=0, vmax=1)
        ax.set_title(spatial.wrapped(title, 12), fontsize=9)
        first = number % columns == 0
        ax.set(xticks=[0, 8, 16], yticks=[0, 8, 16] if first else [])
        if number + columns >= len(tiles):  # nothing stands below
            ax.set_xlabel("|x − x'| [px]", fontsize=9)
        if first:
            ax.set_ylabel("|y − y'| [px]", fontsize=9)
    fig.colorbar(picture, ax=axes, label="mean cosine", shrink=0.9)
    return fig


def kernels(results: xr.Dataset) -> plt.Figure:
    """R^2 of the sum kernel against that of the product kernel on OOD cosines."""
    results = few(results)
    fig, axes = plt.subplots(1, results.sizes["hold_out"], figsize=(9.4, 3.9), squeeze=False)
    axes = dict(zip(results["hold_out"].values.tolist(), axes[0], strict=True))
    r2 = results["kernel_r2"].sel(metric="cosine", pairs="ood").isel(width=0)
    models = r2["model"].values.tolist()
    names = [label(r2, m) for m in models]
    style = {"x": "product", "y": "sum", "hue": "label", "style": "label", "hue_order": names}
    style |= {"palette": {name: look(name)[0] for name in names}, "style_order": names}
    style |= {"markers": {name: look(name)[1] for name in names}}
    for hold_out, ax in axes.items():
        own = r2.sel(hold_out=hold_out)
        ax.set_title(f"{hold_out} held out")
        ax.plot([0, 1], [0, 1], color="0.7", lw=1, zorder=0)
        frame = long_frame(own.sel(source="model")).pivot(
            index=["label", "seed"], columns="kernel", values="value"
        )
        last = ax is list(axes.values())[-1]
        sns.scatterplot(
            frame.reset_index(), s=44, alpha=0.75, linewidth=0.4, ax=ax, legend=last, **style
        )
        for (name, said), mark in zip(SOURCES.items(), "+x", strict=True):
            one = own.sel(source=name).isel(model=0, seed=0)
            at = [one.sel(kernel="product")], [one.sel(kernel="sum")]
            ax.scatter(*at, s=90, marker=mark, color="black", lw=1.6, label=said)
        ax.set(xlabel="$R^2$ of the product kernel", ylabel="$R^2$ of the sum kernel")
        ax.set(xlim=(0, 1.03), ylim=(0, 1.03))
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def binary(results: xr.Dataset) -> plt.Figure:
    """R^2 of FR's binary kernel on the cosines of OOD positions; lines: the two references."""
    fig, axes = panels(results)
    most = 0.0
    for hold_out, ax in axes.items():
        own = within(results, hold_out)["kernel_r2"].isel(width=0)
        own = own.sel(metric="cosine", pairs="ood", kernel="binary")
        most = max(most, float(own.max()))
        dots(ax, {"model": own.sel(source="model")}, {"model": ("0.3", "o")})
        for (name, said), line in zip(SOURCES.items(), (":", "--"), strict=True):
            value = float(own.sel(source=name).isel(model=0, seed=0))
            ax.axvline(value, color="0.3", ls=line, lw=1.2, label=said)
        ax.set(xlim=(0, 1.05 * most), xlabel="$R^2$ of the binary kernel")
        ax.label_outer()
    handles = ax.get_legend_handles_labels()
    fig.legend(*handles, fontsize=8, loc="outside lower center", ncols=len(SOURCES))
    return fig
