"""What the pages on positions draw alike: maps over the plane, tiles, ID and OOD errors."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr
from matplotlib.colors import Normalize
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.typing import ColorType

from benchmarks.spatial.errors import ratio, reported
from vnlib.plots.frames import empty, label
from vnlib.plots.statistics import median, over_seeds, raised, short
from vnlib.plots.style import IN_ROWS, image_axes, look

FLOOR = 1e-17  # below this an error is rounding
ERROR = "mean squared error"
ZERO = {"color": "0.3", "ls": ":", "lw": 1.2}
EQUAL = {"color": "0.6", "lw": 1}


def wrapped(label: str, width: int = 20) -> str:
    """A label on several lines, none of which begins with a number."""
    label = re.sub(r" (?=\d)", "\N{NO-BREAK SPACE}", label)
    return "\n".join(textwrap.wrap(label, width, break_on_hyphens=False, break_long_words=False))


def plane(values: xr.DataArray) -> np.ndarray:
    """Values per position as a square (y, x); position runs with x fastest."""
    side = math.isqrt(values.sizes["position"])
    return values.values.reshape(side, side)


def error_map(
    ax: plt.Axes, errors: xr.DataArray, held_out: xr.DataArray, norm: Normalize, title: str = ""
) -> AxesImage:
    """The error at every position, with a dashed line around those that were held out."""
    picture = plane(errors).clip(norm.vmin)
    drawn = image_axes(ax, title).imshow(picture, origin="lower", norm=norm)
    outside = plane(held_out.astype(float))
    ax.contour(outside, levels=[0.5], colors="white", linewidths=1.2, linestyles="--")
    return drawn


def mosaic(count: int, columns: int, size: tuple[float, float]) -> tuple[plt.Figure, list]:
    """A figure of `count` panels in even rows of `columns` at most, in which phones read them, too.

    Parameters
    ----------
    size
        Width and height of a panel in inches.
    """
    rows = math.ceil(count / columns)
    columns = math.ceil(count / rows)
    fig, axes = plt.subplots(
        rows, columns, figsize=(size[0] * columns, size[1] * rows), squeeze=False
    )
    fig.set_label(IN_ROWS)
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    return fig, list(axes.flat[:count])


def tiles(images: Sequence[tuple[str, np.ndarray]], columns: int) -> plt.Figure:
    """Images between 0 and 1 under their names, with one bar for the brightness."""
    fig, axes = mosaic(len(images), columns, (1.5, 1.8))
    for ax, (name, image) in zip(axes, images, strict=True):
        drawn = image_axes(ax, wrapped(name)).imshow(image, origin="lower", vmin=0, vmax=1)
    fig.colorbar(drawn, ax=axes, label="brightness", extend="both", shrink=0.6)
    return fig


def error_axes(ax: plt.Axes, results: xr.Dataset, *, labels: bool = True) -> None:
    """Logarithmic axes for ID and OOD error, with the lines of equal errors and of the zero baseline.

    Parameters
    ----------
    results
        What is drawn there. All of it is inside, and so is the OOD error of the zero baseline.
    labels
        Whether the axes are labelled in full.
    """
    errors = results[["mse_id", "mse_ood"]].to_array().clip(FLOOR)
    low = float(errors.min()) / 3
    high = 3 * max(float(errors.max()), float(results["zero_baseline_ood"].max()))
    ends = np.array([low / 10, 10 * high])
    ax.plot(ends, ends, label="OOD = ID", zorder=0, **EQUAL)
    ax.axhline(
        float(results["zero_baseline_ood"].median()), label="zero baseline, OOD", zorder=0, **ZERO
    )
    right = 3 * float(errors.sel(variable="mse_id").max())
    ax.set(xscale="log", yscale="log", xlim=(low, right), ylim=(low, high))
    said = f" ({ERROR})" if labels else ""
    ax.set(xlabel=f"ID test error{said}", ylabel=f"OOD error{said}")


def id_against_ood(results: xr.Dataset, width: float = 8.0) -> plt.Figure:
    """ID and OOD error over (model, seed), a row for each model: every seed a small mark, medians of
    those that are `reported` larger and joined, hollow in distribution, and at the right the median
    of OOD over ID error.
    """
    names = ["mse_id", "mse_ood"]
    errors = results[names].transpose("model", "seed").clip(FLOOR)
    typical = reported(results[[*names, "zero_baseline_id"]])[names].clip(FLOOR)
    ratios = median(ratio(typical))
    fig, ax = plt.subplots(figsize=(width, 0.9 + 0.34 * results.sizes["model"]))
    for row, name in enumerate(map(str, results["label"].values)):
        color, marker = look(name)
        one = errors.isel(model=row)
        middle = [float(median(typical[key].isel(model=row))) for key in names]
        ax.plot(middle, [row, row], color=color, lw=1.2, alpha=0.6, zorder=1)
        for key, at, fill in zip(errors, middle, ("white", color), strict=True):
            small = {"color": color, "mfc": fill, "mew": 0.7, "ms": 3.5, "alpha": 0.6, "zorder": 2}
            ax.plot(one[key], one[key] * 0 + row, marker, **small)
            ax.plot(at, row, marker, mfc=fill, mec=color, mew=1.4, ms=8, zorder=3)
        told = raised(short(float(ratios[row])))
        given = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 9}
        ax.annotate(f"× {told}" if told else "", (1.02, row), annotation_clip=False, **given)
    ax.axvline(float(results["zero_baseline_ood"].median()), zorder=0, **ZERO)
    ax.set_yticks(range(results.sizes["model"]), results["label"].values.tolist(), fontsize=9)
    ax.set(xscale="log", xlabel=ERROR, ylim=(results.sizes["model"] - 0.5, -0.5))
    ax.set_title("OOD / ID", loc="right", fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="0.93", lw=0.6)
    line = {"color": "0.3", "marker": "o", "ls": "", "ms": 7}
    handles = [
        Line2D([], [], mfc="white", label="in distribution (ID test)", **line),
        Line2D([], [], label="held out (OOD)", **line),
        Line2D([], [], label="zero baseline, OOD", **ZERO),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def seeds_and_medians(
    ax: plt.Axes,
    frame: pd.DataFrame,
    *,
    x: str,
    hue: str,
    looks: Mapping[str, tuple[str, str]],
    joined: bool = False,
    lying: bool = False,
) -> None:
    """Every seed as a small point and medians as large ones, side by side where hues differ.

    Parameters
    ----------
    frame
        Long, with a column `value`; nothing is drawn of an empty one.
    looks
        Value of `hue` -> colour and marker, in this order.
    joined
        Whether a line joins the medians of each hue.
    lying
        Whether what is named `x` stands below each other, and values go to the right.
    """
    if not len(frame):
        return
    aside = hue != x and len(looks) > 1
    style = {"x": x, "y": "value"} if not lying else {"y": x, "x": "value"}
    style |= {"hue": hue, "hue_order": list(looks), "ax": ax}
    style["palette"] = {name: color for name, (color, _) in looks.items()}
    np.random.seed(0)  # seaborn's jitter has no seed of its own
    sns.stripplot(
        frame,
        dodge=aside,
        jitter=0.08,
        size=3.5,
        alpha=0.55,
        legend=False,
        zorder=2,
        **style,
    )
    sns.pointplot(
        frame,
        estimator="median",
        errorbar=None,
        # As far apart as `stripplot` puts the outermost hues.
        dodge=0.8 * (1 - 1 / len(looks)) if aside else False,
        markers=[marker for _, marker in looks.values()],
        markersize=7,
        linewidth=1.4,
        linestyles="-" if joined else "none",
        legend=aside,
        zorder=3,
        **style,
    )


def along_training(ax: plt.Axes, runs: xr.Dataset, *, color: ColorType, name: str) -> None:
    """Errors along the training of one model over (seed, checkpoint): medians, their intervals as a
    band, every seed a thin line; OOD drawn through, and ID validation dashed. Nothing for no run.
    """
    ax.set(yscale="log", xlabel="updates", ylabel=ERROR)
    ax.locator_params(axis="x", nbins=4)
    runs = runs.dropna("checkpoint", subset=["curve_step"], how="all")
    if not runs.sizes["checkpoint"]:
        return
    step = runs["curve_step"].max("seed")
    for which, style, text in (("ood", "-", name), ("val", "--", None)):
        curve = runs[f"curve_{which}"]
        found = over_seeds(curve)
        ax.plot(step, found["median"], color=color, lw=1.5, ls=style, label=text)
        ax.plot(
            step, curve.transpose("checkpoint", "seed"), color=color, lw=0.4, alpha=0.5, ls=style
        )
        ax.fill_between(step, found["low"], found["high"], color=color, alpha=0.12, lw=0)


def sets_along_training(ax: plt.Axes) -> None:
    """What the lines of `along_training` are, as the first entries of a legend."""
    for text, style in (("OOD", "-"), ("ID validation", "--")):
        ax.plot([], [], color="0.3", lw=1.5, ls=style, label=text)


def learning(results: xr.Dataset, models: Sequence[str]) -> plt.Figure:
    """Errors of some decoders along training, a panel each."""
    shown = [name for name in models if name in results["model"].values]
    if not shown:
        return empty("None of the models of this figure was asked for.")
    size = (0.6 + 2.5 * len(shown), 2.9)
    fig, axes = plt.subplots(1, len(shown), figsize=size, sharey=True, squeeze=False)
    for ax, model in zip(axes.flat, shown, strict=True):
        name = label(results, model)
        along_training(ax, results.sel(model=model), color=look(name)[0], name=name)
        ax.axhline(float(results["zero_baseline_ood"].sel(model=model).median()), **ZERO)
        ax.set(title=wrapped(name, 18), ylabel="")
    first = axes.flat[0]
    sets_along_training(first)
    first.plot([], [], label="zero baseline", **ZERO)
    handles, texts = first.get_legend_handles_labels()
    first.legend(handles[1:], texts[1:], fontsize=8)
    first.set_ylabel(ERROR)
    return fig
