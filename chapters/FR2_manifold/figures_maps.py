"""Figures with a place for every position: maps of volume, planes of layers, drawn images (FR
Figs. 2, 5, 10-14).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import Normalize, PowerNorm

from benchmarks.spatial.figures import plane
from chapters.FR2_manifold.claims import layers_of
from chapters.FR2_manifold.figures import KINDS, NONE, kinds, of_kind
from vnlib.plots.frames import empty, in_groups, label
from vnlib.plots.style import DIVERGING, PALETTE, image_axes

SPAN = 1.0  # decades: what is farther off is drawn as this
NORM = Normalize(-SPAN, SPAN)


def _depth(results: xr.Dataset, model: str) -> int:
    return int(results["depth"].sel(model=model))


def volume(results: xr.Dataset, group: str, encoding: str) -> plt.Figure:
    """log10 of the volume element by layer (columns) and depth (rows), less its median outside the
    hold-out, of the first seed (FR Figs. 2e-f, 11-14).

    All maps have one scale of colours, up to `SPAN` either way.
    """
    models = of_kind(results, group, encoding)
    if not models:
        return empty(f"These results hold no {KINDS[group, encoding]}.")
    return _maps(results, {f"depth {_depth(results, model)}": model for model in models})


def longer(results: xr.Dataset) -> plt.Figure:
    """The same of the networks that were trained longer (rows)."""
    models = in_groups(results, "longer")
    if not models:
        return empty("These results hold no network that was trained longer.")
    rows = {}
    for name, model in sorted((label(results, model), model) for model in models):
        kind, size, code, *_ = name.split(", ")
        rows[f"{kind}, {code.removesuffix(' code')}\n{size}"] = model
    return _maps(results, rows)


def _maps(results: xr.Dataset, rows: Mapping[str, str]) -> plt.Figure:
    """Maps of the layers of models, a named row each."""
    columns = max(len(layers_of(results, m)) for m in rows.values())
    size = (0.78 * columns + 1.2, 0.95 * len(rows) + 0.3)
    fig, axes = plt.subplots(len(rows), columns, figsize=size, squeeze=False)
    held = plane(results["split"] == "ood")
    for ax in axes.flat:
        ax.set_visible(False)
    for row, (name, model) in zip(axes, rows.items(), strict=True):
        maps = results["log_volume"].sel(model=model, weights="trained").isel(seed=0)
        for ax, layer in zip(row, layers_of(results, model), strict=False):
            ax.set_visible(True)
            one = plane(maps.sel(layer=layer))
            known = np.isfinite(one).all()
            image_axes(ax, layer.replace("layer", "") if known else "no map", size=8.5)
            if known:
                one = one - np.median(one[~held])
                ax.imshow(one, origin="lower", cmap=DIVERGING, norm=NORM)
                outline = {"colors": "black", "linewidths": 0.8, "linestyles": "--"}
                ax.contour(held.astype(float), levels=[0.5], **outline)
        row[0].set_ylabel(name, fontsize=9)
    shown = plt.cm.ScalarMappable(NORM, DIVERGING)
    bar = fig.colorbar(shown, ax=axes, shrink=0.8, extend="both", ticks=[-SPAN, 0, SPAN])
    bar.set_label("log10 volume,\n0: median outside")
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
