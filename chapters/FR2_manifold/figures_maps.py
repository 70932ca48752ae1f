"""Figures with a place for every position: maps of volume, planes of layers, drawn images (FR
Figs. 2, 5, 10-14).
"""

from __future__ import annotations

from collections.abc import Collection

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import PowerNorm

from benchmarks.spatial.figures import plane
from chapters.FR2_manifold.claims import layers_of
from chapters.FR2_manifold.figures import KINDS, NONE, kinds, of_kind
from vnlib.plots.frames import empty, label
from vnlib.plots.style import PALETTE, image_axes

COLOURS = (1, 99)  # percentiles of a map


def _depth(results: xr.Dataset, model: str) -> int:
    return int(results["depth"].sel(model=model))


def volume(results: xr.Dataset, group: str, encoding: str) -> plt.Figure:
    """log10 of the volume element by layer (columns) and depth (rows), of the first seed (FR
    Figs. 2e-f, 11-14).

    The colours of a map span its own percentiles `COLOURS`, which stand below it.
    """
    models = of_kind(results, group, encoding)
    if not models:
        return empty(f"These results hold no {KINDS[group, encoding]}.")
    columns = max(len(layers_of(results, m)) for m in models)
    size = (0.78 * columns + 0.6, 1.05 * len(models) + 0.3)
    fig, axes = plt.subplots(len(models), columns, figsize=size, squeeze=False)
    outside = plane(results["split"] == "ood").astype(float)
    for ax in axes.flat:
        ax.set_visible(False)
    for row, model in zip(axes, models, strict=True):
        maps = results["log_volume"].sel(model=model, weights="trained").isel(seed=0)
        for ax, layer in zip(row, layers_of(results, model), strict=False):
            ax.set_visible(True)
            one = plane(maps.sel(layer=layer))
            if not np.isfinite(one).all():
                image_axes(ax, "no map")
                continue
            low, high = np.percentile(one, COLOURS)
            ax.imshow(one, origin="lower", vmin=low, vmax=max(high, low + 1e-3))
            ax.contour(outside, levels=[0.5], colors="white", linewidths=0.8, linestyles="--")
            image_axes(ax, layer.replace("layer", ""), size=8.5)
            ax.set_xlabel(f"{low:.1f} to {high:.1f}", fontsize=7, labelpad=1)
        row[0].set_ylabel(f"depth {_depth(results, model)}", fontsize=9)
    return fig


def planes(results: xr.Dataset, wanted: Collection[str] = ()) -> plt.Figure:
    """The grid of positions in the first two principal components of a layer (FR Fig. 5), of the
    first seed.

    One row per network for which it was kept, of those `wanted` if there is one; lines join
    neighbours, orange in the hold-out.
    """
    kept = results["plane"].sel(weights="trained").isel(seed=0)
    models = [m for m in results["model"].values if np.isfinite(kept.sel(model=m)).all()]
    models = [m for m in models if m in wanted] or models
    if not models:
        return empty("These results hold no network whose planes were kept.")
    stages = results["stage"].values.tolist()
    size = (2.2 * len(stages), 2.2 * len(models))
    fig, axes = plt.subplots(len(models), len(stages), figsize=size, squeeze=False)
    held = plane(results["split"] == "ood")
    for row, model in zip(axes, models, strict=True):
        for ax, stage in zip(row, stages, strict=True):
            one = kept.sel(model=model, stage=stage)
            u, v = (plane(one.isel(component=c)) for c in (0, 1))
            for a, b, inside in ((u, v, held), (u.T, v.T, held.T)):
                ax.plot(a.T, b.T, color="0.55", lw=0.5)
                masked = (np.where(inside, values, np.nan).T for values in (a, b))
                ax.plot(*masked, color=PALETTE[3], lw=0.7)
            image_axes(ax, "" if model != models[0] else stage)
            ax.set_aspect("equal", adjustable="datalim")
        row[0].set_ylabel(label(results, model), fontsize=9)
    return fig


def drawn(results: xr.Dataset) -> plt.Figure:
    """Ink, shown bright, that the first seed draws at held-out positions (FR Fig. 10); the targets
    come first.
    """
    found = kinds(results)
    if not found:
        return empty(NONE)
    n = results.sizes["sample"]
    rows = 1 + max(map(len, found.values()))
    size = (0.56 * len(found) * n + 0.6, 0.66 * rows + 0.4)
    fig, axes = plt.subplots(rows, len(found) * n, figsize=size, squeeze=False)
    for ax in axes.flat:
        ax.set_visible(False)
    images = results["sample_image"].sel(weights="trained").isel(seed=0)
    for block, (kind, models) in enumerate(found.items()):
        shown = {"target": results["target_image"]}
        shown |= {f"depth {_depth(results, m)}": images.sel(model=m) for m in models}
        columns = slice(block * n, (block + 1) * n)
        for row, (name, pictures) in zip(axes[:, columns], shown.items(), strict=False):
            for ax, image in zip(row, pictures.transpose("sample", "y", "x").values, strict=True):
                ax.set_visible(True)
                image_axes(ax).imshow(
                    (1 - image).clip(0), origin="lower", norm=PowerNorm(0.5, 0, 1)
                )
            row[0].set_ylabel(name.removeprefix("depth ") if block else name, fontsize=8)
        axes[0, block * n].set_title(kind, fontsize=9, loc="left")
    return fig
