"""What lies behind the errors of image composition: samples, matching, readings, active units (VN
Fig. 5, controls).

Datasets as in `figures.images`.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D

from chapters.fig5_mnist.figures import (
    FAMILIES,
    GROUPS,
    MSE,
    colors,
    error,
    in_order,
    inside,
    legend,
    logarithmic,
    main,
    number,
    power,
    sets_of,
)
from vnlib.plots.rows import absent, group, label, points, rows_of
from vnlib.plots.style import DIVERGING, PALETTE, bare

SOME = {
    "digits": ("id", "add2", "sub2", "max5", "stripes1"),
    "motions": ("single", "RTS", "RTS_x3", "single_3d", "RTS_x2_3d"),
}
PATHS = {
    "digits": ("add2", "sub2", "addsub4", "max5", "occlude1", "stripes1"),
    "motions": ("RTS", "RTS_x3", "single_3d", "RTS_x2_3d"),
}
MATCHED = {"digits": ("vn_1", "ae"), "motions": ("m_vn_1", "m_ae")}
GAP, NOTE = 2, 10  # px between images in a row, and below each
SIDE = {"top": "from the code of the top layer alone", "searched": "code optimised for each image"}


def samples(results: xr.Dataset, benchmark: str = "digits") -> plt.Figure:
    """The image of median power of each set, and what the models of `main` draw of it; numbers are
    errors of these drawings in 10⁻³ ink². Each set has its own colour scale.
    """
    models = main(results, benchmark)
    if "drawn" not in results or not models:
        return absent("No pictures are stored of these models.")
    sets = sets_of(results, benchmark)
    one = results.isel(seed=0).sel(set=sets)
    truth = one["truth"].sel(model=models[0]).transpose("set", "y", "x").values
    drawn = one["drawn"].sel(model=models, reading="own").transpose("model", "set", "y", "x").values
    height, width = truth.shape[1:]
    # One mosaic, with room for a number under each image.
    grid = np.concatenate([truth[None], drawn]) / np.abs(truth).max((1, 2))[:, None, None]
    grid = np.pad(grid, ((0, 0), (0, 0), (0, NOTE), (0, GAP)), constant_values=np.nan)
    mosaic = grid.transpose(0, 2, 1, 3).reshape(len(grid) * (height + NOTE), -1)
    fig, ax = plt.subplots(figsize=(0.56 * len(sets) + 1.4, 0.76 * len(grid) + 0.6))
    ax.imshow(mosaic, cmap=DIVERGING, vmin=-1, vmax=1, interpolation="nearest")
    across, down = (
        np.arange(len(sets)) * (width + GAP) + width / 2,
        np.arange(len(grid)) * (height + NOTE),
    )
    for (row, column), mse in np.ndenumerate(np.square(drawn - truth).mean((2, 3))):
        at = down[row + 1] + height + NOTE / 2
        ax.text(across[column], at, number(1e3 * mse), ha="center", va="center", fontsize=8)
    bare(ax)
    ax.set_xticks(across, sets, fontsize=9, rotation=45, ha="left", rotation_mode="anchor")
    ax.set_yticks(down + height / 2, ["image", *(label(results, m) for m in models)], fontsize=9)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    return fig


def path(results: xr.Dataset, benchmark: str = "digits") -> plt.Figure:
    """The matched autoencoder along its training: ID error against that of sets of `PATHS`, and the
    point of VN-1L.
    """
    vn, ae = MATCHED[benchmark]
    if "path_mse" not in results or not {vn, ae} <= set(results["model"].values):
        return absent("The matched autoencoder and VN-1L are not both there.")
    sets = [name for name in PATHS[benchmark] if name in sets_of(results, benchmark)]
    own = error(results, benchmark)
    trained = results["path_mse"].sel(model=ae)
    middle = float(own.sel(model=vn, set=inside(benchmark)).median("seed"))
    rows = -(-len(sets) // 3)
    fig, axes = plt.subplots(
        rows, -(-len(sets) // rows), figsize=(9, 0.7 + 2.3 * rows), sharex=True, squeeze=False
    )
    for ax, name in zip(axes.flat, sets, strict=True):
        ax.axvspan(middle / 1.05, middle * 1.05, color="0.85", lw=0)
        for seed in results["seed"].values:
            one = trained.sel(seed=seed).dropna("stage", how="all")
            ax.plot(
                one.sel(set=inside(benchmark)),
                one.sel(set=name),
                color=PALETTE[3],
                lw=1,
                marker=".",
                ms=3,
            )
        for model, color, marker in ((ae, PALETTE[3], "s"), (vn, PALETTE[0], "o")):
            at = own.sel(model=model)
            ax.scatter(
                at.sel(set=inside(benchmark)),
                at.sel(set=name),
                color=color,
                marker=marker,
                s=26,
                zorder=4,
            )
        logarithmic(ax, "x", (1, 3))
        logarithmic(ax, "y")
        ax.set_title(name, fontsize=10)
    fig.supxlabel(f"ID ({inside(benchmark)}): {MSE}", fontsize=10)
    fig.supylabel(MSE, fontsize=10)
    handles = [
        Line2D(
            [], [], color=PALETTE[3], marker=".", label=f"{label(results, ae)}, along its training"
        ),
        Line2D([], [], color=PALETTE[3], marker="s", ls="", label="the stage that is kept"),
        Line2D([], [], color=PALETTE[0], marker="o", ls="", label=label(results, vn)),
        plt.Rectangle((0, 0), 1, 1, color="0.85", label="ID error within 5 % of its median"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=9)
    return fig


def readings(
    results: xr.Dataset, benchmark: str, reading: str, more: Sequence[str] = ()
) -> plt.Figure:
    """Two ways to draw, of the models that have both: their own (filled), and `reading` (hollow);
    and `more` models.
    """
    second = error(results, benchmark, reading=reading)
    both = [m for m in in_order(results, benchmark) if bool(second.sel(model=m).notnull().any())]
    if not both:
        return absent("No model that was asked for has this reading.")
    models = [*both, *(m for m in in_order(results, benchmark) if m in more and m not in both)]
    first, blank = error(results, benchmark), power(results, benchmark)
    shown = [name for name in SOME[benchmark] if name in sets_of(results, benchmark)]
    fig, axes = plt.subplots(
        1,
        len(shown),
        figsize=(9, 1.5 + 0.27 * len(models)),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for ax, name in zip(axes[0], shown, strict=True):
        for y, model in enumerate(models):
            _, color, marker = GROUPS[group(results, model)]
            ends = [float(v.sel(model=model, set=name).median("seed")) for v in (first, second)]
            ax.plot(ends, [y, y], color=color, lw=1, alpha=0.6, zorder=1)
            points(ax, first.sel(model=model, set=name), y, color, marker)
            points(ax, second.sel(model=model, set=name), y, color, marker, hollow=True)
        ax.axvline(float(blank.sel(set=name)), color="k", ls=":", lw=1.2)
        rows_of(ax, results, models)
        logarithmic(ax, "x", (1,))
        ax.set_title(f"{name} (ID)" if name == inside(benchmark) else name, fontsize=9)
    fig.supxlabel(MSE, fontsize=10)
    handles = [
        Line2D([], [], color="0.3", marker="o", ls="", ms=5, label="own drawing"),
        Line2D([], [], color="0.3", marker="o", mfc="none", ls="", ms=5, label=SIDE[reading]),
        Line2D([], [], color="k", ls=":", label="zero baseline"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=9)
    return fig


def active(results: xr.Dataset, benchmark: str = "digits") -> plt.Figure:
    """Mean nonzero units of the code of each set, every seed a point; of Vector Networks each layer
    a panel.
    """
    if "active" not in results:
        return absent("No model that was asked for has a code.")
    models = [
        m
        for m in in_order(results, benchmark)
        if bool(results["active"].sel(model=m).notnull().any())
    ]
    if not models:
        return absent("No model that was asked for has a code.")
    sets, layers = sets_of(results, benchmark), [int(n) for n in results["layer"].values]
    dense = {
        m: bool((results["active"].sel(model=m, layer=1, set=sets).std("set") < 1e-9).all())
        for m in models
    }
    styles = colors(results, [m for m in models if not dense[m]])
    fig, axes = plt.subplots(
        1,
        len(layers),
        figsize=(9.6, 4.6),
        sharey=True,
        squeeze=False,
        width_ratios=[2, 1, 1][: len(layers)],
    )
    for ax, layer in zip(axes[0], layers, strict=True):
        for model, style in styles.items():
            one = results["active"].sel(model=model, layer=layer, set=sets)
            if bool(one.notnull().any()):
                ax.plot(range(len(sets)), one.median("seed"), **style, ms=4, lw=1.2)
                ax.vlines(
                    range(len(sets)), one.min("seed"), one.max("seed"), color=style["color"], lw=1
                )
        ax.set_xticks(range(len(sets)), sets, rotation=90, fontsize=8)
        ax.set_title(f"layer {layer}", fontsize=9)
        logarithmic(ax, "y")
    axes[0, 0].set_ylabel("nonzero units per image")
    fig.legend(handles=legend(results, styles), loc="outside lower center", ncols=4, fontsize=9)
    return fig


def curves(results: xr.Dataset) -> plt.Figure:
    """Validation error at the checks of training, medians over seeds, a panel for each
    benchmark.
    """
    trained = {
        b: [m for m in in_order(results, b) if bool(results["curve"].sel(model=m).notnull().any())]
        for b in FAMILIES
    }
    trained = {b: models for b, models in trained.items() if models}
    if not trained:
        return absent("No model that is trained was asked for.")
    fig, axes = plt.subplots(1, len(trained), figsize=(9.4, 5.4), squeeze=False)
    for ax, (benchmark, models) in zip(axes[0], trained.items(), strict=True):
        styles = colors(results, models)
        for model, style in styles.items():
            one = results["curve"].sel(model=model).median("seed")
            ax.plot(one["check"], one, **style, ms=4, lw=1.4)
        ax.set(
            xlabel="share of the checks of training", ylabel=f"validation: {MSE}", title=benchmark
        )
        logarithmic(ax, "y")
        ax.legend(
            handles=legend(results, styles),
            fontsize=8,
            ncols=3,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.15),
        )
    return fig
