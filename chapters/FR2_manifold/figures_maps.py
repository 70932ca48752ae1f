"""Figures with a place for every position: maps of volume, planes of layers, drawn images (FR
Figs. 2, 5, 10-14).
"""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import PowerNorm

from chapters.FR2_manifold.figures import KINDS, models, nothing, path
from vnlib.plots.style import PALETTE, bare


def volume(results: xr.Dataset, group: str, encoding: str) -> plt.Figure:
    """log10 of the volume element by layer (columns) and depth (rows), of the first seed (FR
    Figs. 2e-f, 11-14).

    The colours of a map span its own mean +- 3 standard deviations.
    """
    here = models(results, group, encoding)
    if not here:
        return nothing(KINDS[group, encoding])
    columns = max(len(path(results, "F", m)[0]) for m in here)
    fig, axes = plt.subplots(
        len(here), columns, figsize=(0.78 * columns + 0.6, 1.05 * len(here) + 0.3), squeeze=False
    )
    side = math.isqrt(results.sizes["position"])
    outside = (results["split"] == "ood").values.reshape(side, side).astype(float)
    for row, model in zip(axes, here, strict=True):
        maps = results["log_volume"].sel(model=model, weights="trained").isel(seed=0)
        for ax in row:
            ax.set_visible(False)
        for ax, layer in zip(row, path(results, "F", model)[0], strict=False):
            ax.set_visible(True)
            one = maps.sel(layer=layer).values.reshape(side, side)
            if not np.isfinite(one).all():
                bare(ax, "no map")
                continue
            middle, spread = one.mean(), max(float(one.std()), 1e-3)
            ax.imshow(one, origin="lower", vmin=middle - 3 * spread, vmax=middle + 3 * spread)
            ax.contour(outside, levels=[0.5], colors="white", linewidths=0.8, linestyles="--")
            bare(ax, layer.replace("layer", ""), size=8.5)
            ax.set_xlabel(f"{middle:.1f} ± {spread:.2f}", fontsize=7, labelpad=1)
        row[0].set_ylabel(f"depth {int(results['depth'].sel(model=model))}", fontsize=9)
    return fig


def planes(results: xr.Dataset) -> plt.Figure:
    """The grid of positions in the first two principal components of a layer (FR Fig. 5), of the
    first seed.

    One row per network for which it was kept; lines join neighbours, orange in the hold-out.
    """
    kept = results["plane"].sel(weights="trained").isel(seed=0)
    here = [m for m in results["model"].values if np.isfinite(kept.sel(model=m)).all()]
    if not here:
        return nothing("network whose planes were kept")
    stages = [str(s) for s in results["stage"].values]
    fig, axes = plt.subplots(
        len(here), len(stages), figsize=(2.2 * len(stages), 2.2 * len(here)), squeeze=False
    )
    side = math.isqrt(results.sizes["position"])
    held = (results["split"] == "ood").values.reshape(side, side)
    for number, (row, model) in enumerate(zip(axes, here, strict=True)):
        for ax, stage in zip(row, stages, strict=True):
            u, v = (
                kept.sel(model=model, stage=stage).isel(component=c).values.reshape(side, side)
                for c in (0, 1)
            )
            for a, b, inside in ((u, v, held), (u.T, v.T, held.T)):
                for line, other, mask in zip(a, b, inside, strict=True):
                    ax.plot(line, other, color="0.55", lw=0.5)
                    ax.plot(
                        np.where(mask, line, np.nan),
                        np.where(mask, other, np.nan),
                        color=PALETTE[3],
                        lw=0.7,
                    )
            bare(ax, "" if number else stage)
            ax.set_aspect("equal", adjustable="datalim")
        row[0].set_ylabel(str(results["label"].sel(model=model).item()), fontsize=9)
    return fig


def drawn(results: xr.Dataset) -> plt.Figure:
    """Ink, shown bright, that the first seed draws at held-out positions (FR Fig. 10); the targets
    come first.
    """
    kinds = [kind for kind in KINDS if models(results, *kind)]
    if not kinds:
        return nothing("CNN and no MLP")
    n = results.sizes["sample"]
    rows = 1 + max(len(models(results, *kind)) for kind in kinds)
    fig, axes = plt.subplots(
        rows,
        len(kinds) * n,
        figsize=(0.56 * len(kinds) * n + 0.6, 0.66 * rows + 0.4),
        squeeze=False,
    )
    for ax in axes.flat:
        ax.set_visible(False)
    images = results["sample_image"].sel(weights="trained").isel(seed=0)
    for block, kind in enumerate(kinds):
        shown = [("target", results["target_image"])]
        shown += [
            (f"{int(results['depth'].sel(model=m))}", images.sel(model=m))
            for m in models(results, *kind)
        ]
        for row, (name, four) in zip(axes, shown, strict=False):
            for ax, image in zip(
                row[block * n :], four.transpose("sample", "y", "x").values, strict=False
            ):
                ax.set_visible(True)
                bare(ax).imshow((1 - image).clip(0), origin="lower", norm=PowerNorm(0.5, 0, 1))
            row[block * n].set_ylabel(
                name if block else ("target" if name == "target" else f"depth {name}"), fontsize=8
            )
        axes[0, block * n].set_title(KINDS[kind], fontsize=9, loc="left")
    return fig
