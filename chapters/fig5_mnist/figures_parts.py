"""What lies behind the errors of image composition: samples, matching, readings, active units (VN
Fig. 5, controls).

Results as in `chapters.fig5_mnist.figures`.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.baselines.figures import looks, of_models
from chapters.fig5_mnist.figures import (
    FAMILIES,
    MSE,
    errors_of,
    inside,
    line_styles,
    logarithmic,
    main_models,
    model_entries,
    power,
    present_models,
    rows_by_set,
    sets_of,
    titled,
    with_intervals,
)
from chapters.fig5_mnist.names import said
from vnlib.plots.frames import empty, if_computed, label, long_frame
from vnlib.plots.statistics import median, short
from vnlib.plots.style import DIVERGING, image_axes

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
BELOW = 0.35  # rows by which the second way to draw stands below the first
SIDE = {
    "top": "from the code of the top layer alone",
    "searched": "from a code searched for each image",
}


def samples(results: xr.Dataset, benchmark: str = "digits") -> Figure:
    """The image of median power of each set, and what the main models draw of it; numbers are
    errors of these drawings in 10⁻³ ink².

    Each set has its own colour scale.
    """
    models = main_models(results, benchmark)
    if "drawn" not in results or not models:
        return empty("No pictures are stored of these models.")
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
    across = np.arange(len(sets)) * (width + GAP) + width / 2
    down = np.arange(len(grid)) * (height + NOTE)
    for (row, column), mse in np.ndenumerate(np.square(drawn - truth).mean((2, 3))):
        at = down[row + 1] + height + NOTE / 2
        ax.text(across[column], at, short(1e3 * mse), ha="center", va="center", fontsize=8)
    image_axes(ax)
    ax.set_xticks(
        across, list(map(said, sets)), fontsize=9, rotation=45, ha="left", rotation_mode="anchor"
    )
    ax.set_yticks(down + height / 2, ["image", *(label(results, m) for m in models)], fontsize=9)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    return fig


@if_computed
def training_path(results: xr.Dataset, benchmark: str = "digits") -> Figure:
    """The matched autoencoder along its training: ID error against that of some sets, and the point
    of VN-1L.
    """
    vn, ae = MATCHED[benchmark]
    start = inside(benchmark)
    sets = [name for name in PATHS[benchmark] if name in sets_of(results, benchmark)]
    own, trained = errors_of(results, benchmark), results["path_mse"].sel(model=ae)
    trained = trained.assign_coords(start=trained.sel(set=start, drop=True))
    middle = float(median(own.sel(model=vn, set=start)))
    rows = -(-len(sets) // 3)
    styles = looks(results, [ae, vn])
    fig, axes = plt.subplots(
        rows, -(-len(sets) // rows), figsize=(9, 0.7 + 2.3 * rows), sharex=True, squeeze=False
    )
    for ax, name in zip(axes.flat, sets, strict=True):
        ax.axvspan(middle / 1.05, middle * 1.05, color="0.85", lw=0)
        sns.lineplot(
            long_frame(trained.sel(set=name)).dropna(),
            x="start",
            y="value",
            units="seed",
            estimator=None,
            sort=False,
            color=styles[ae][0],
            lw=1,
            marker=".",
            markersize=4,
            markeredgewidth=0,
            ax=ax,
        )
        for model, (color, marker) in styles.items():
            at = own.sel(model=model)
            ax.scatter(
                at.sel(set=start), at.sel(set=name), color=color, marker=marker, s=26, zorder=4
            )
        logarithmic(ax, "x", (1, 3))
        logarithmic(ax, "y")
        ax.set(xlabel="", ylabel="")
        ax.set_title(said(name), fontsize=10)
    fig.supxlabel(f"{titled(start, benchmark)}: {MSE}", fontsize=10)
    fig.supylabel(MSE, fontsize=10)
    handles = [
        Line2D([], [], color=styles[ae][0], marker=".", label=f"{label(results, ae)}, in training"),
        *of_models(results, [ae, vn]),
        plt.Rectangle((0, 0), 1, 1, color="0.85", label="ID error within 5 % of VN-1L's"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=9)
    return fig


def readings(results: xr.Dataset, benchmark: str, reading: str, more: Sequence[str] = ()) -> Figure:
    """Two ways to draw, of the models that have both: their own (filled), and `reading` (hollow);
    and `more` models.
    """
    first, second = errors_of(results, benchmark), errors_of(results, benchmark, reading=reading)
    names = present_models(results, benchmark)
    both = [m for m in names if bool(second.sel(model=m).notnull().any())]
    if not both:
        return empty("No model that was asked for has this reading.")
    models = [*both, *(m for m in names if m in more and m not in both)]
    zero = power(results, benchmark)
    shown = [name for name in SOME[benchmark] if name in sets_of(results, benchmark)]
    fig, axes = plt.subplots(
        1,
        len(shown),
        figsize=(9, 1.5 + 0.38 * len(models)),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for ax, name in zip(axes[0], shown, strict=True):
        ends = [median(v.sel(model=models, set=name)).values for v in (first, second)]
        rows = np.arange(len(models))
        ax.plot(ends, [rows, rows + BELOW], color="0.6", lw=1, zorder=1)
        rows_by_set(ax, first.sel(set=name), models)
        rows_by_set(ax, second.sel(set=name), models, hollow=True, shift=BELOW)
        ax.axvline(float(zero.sel(set=name)), color="k", ls=":", lw=1.2)
        ax.set_title(titled(name, benchmark), fontsize=9)
    fig.supxlabel(MSE, fontsize=10)
    handles = [
        Line2D([], [], color="0.3", marker="o", ls="", ms=5, label="own drawing"),
        Line2D([], [], color="0.3", marker="o", mfc="none", ls="", ms=5, label=SIDE[reading]),
        Line2D([], [], color="k", ls=":", label="zero baseline"),
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=9)
    return fig


@if_computed
def active_units(results: xr.Dataset, benchmark: str = "digits") -> Figure:
    """Mean nonzero units of the code of each set, of models whose number depends on the image:
    medians, their intervals as bars, every seed a small point; a panel for each layer.
    """
    sets, layers = sets_of(results, benchmark), results["layer"].values.tolist()
    units = results["active"].sel(set=sets, model=present_models(results, benchmark))
    varies = (units.sel(layer=1).std("set") > 1e-9).any("seed")
    models = units["model"].values[varies.values].tolist()
    if not models:
        return empty("No model that was asked for lets its active units depend on the image.")
    styles = line_styles(results, models)
    for model in styles:  # networks of one colour, whose lines would be alike
        if "interface" in label(results, model):
            styles[model]["ls"] = "--"
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
            one = units.sel(layer=layer, model=model)
            if one.notnull().any():
                with_intervals(ax, np.arange(len(sets)), one, style)
        ax.set_xticks(range(len(sets)), list(map(said, sets)), rotation=90, fontsize=8)
        ax.set_title(f"layer {layer}", fontsize=9)
        ax.set(xlabel="", ylabel="")
        logarithmic(ax, "y")
    axes[0, 0].set_ylabel("nonzero units per image")
    handles = model_entries(results, styles)
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def training_curves(results: xr.Dataset) -> Figure:
    """Validation error at the evaluations of training, medians over seeds, a panel for each
    benchmark.
    """
    curve = results["curve"]
    there = curve.notnull().any(("seed", "evaluation"))
    trained = {
        name: [m for m in present_models(results, name) if there.sel(model=m)] for name in FAMILIES
    }
    trained = {name: models for name, models in trained.items() if models}
    if not trained:
        return empty("No model that is trained was asked for.")
    fig, axes = plt.subplots(1, len(trained), figsize=(9.4, 5.4), squeeze=False)
    for ax, (benchmark, models) in zip(axes[0], trained.items(), strict=True):
        lines = {model: long_frame(median(curve.sel(model=model))) for model in models}
        # Named in the order in which the lines end.
        models = sorted(models, key=lambda model: -lines[model]["value"].iloc[-1])
        styles = line_styles(results, models)
        for model, style in styles.items():
            sns.lineplot(
                lines[model],
                x="evaluation",
                y="value",
                estimator=None,
                markersize=6,
                lw=1.4,
                markeredgewidth=0,
                ax=ax,
                **style,
            )
        ax.set(
            xlabel="share of the evaluations in training",
            ylabel=f"validation: {MSE}",
            title=benchmark,
        )
        logarithmic(ax, "y")
        ax.legend(
            handles=model_entries(results, styles),
            fontsize=8,
            ncols=2,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.15),
        )
    return fig
