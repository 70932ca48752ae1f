"""Figures of function composition (VN Fig. 3), from the dataset of `studies.functions.study` over
models and seeds.

Dims: model, seed, set (id, easy, hard), mask, way (paper, aware), check; coordinates label and
group of the model: "vn", "paper" (the eight others of the paper), "masked" (trained with masks),
"control".
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from vnlib.plots.rows import absent, group, label, looks, points, rows_of
from vnlib.plots.style import DIVERGING, PALETTE
from vnlib.plots.texts import short

GROUPS = {
    "vn": ("Vector Network", PALETTE[0], "o"),
    "paper": ("other models of the paper", PALETTE[3], "s"),
    "masked": ("trained with masks", PALETTE[2], "D"),
    "control": ("controls", PALETTE[7], "^"),
}
SETS = {"id": "in distribution", "easy": "Easy: sums", "hard": "Hard: compositions"}
MASKS = {
    "forecast_25": "last quarter",
    "forecast_50": "last half",
    "random_30": "random 30 %",
    "block_128": "a block",
}
LINES = {
    "zeros": ("zero", ":"),
    "hold_last": ("last value held", "--"),
    "linear": ("linear interpolation", "-."),
}
FLOOR = 1e-5  # smaller reconstruction errors are drawn here
UNIT = "in units of the signals' mean power"


def with_values(
    results: xr.Dataset, values: xr.DataArray, groups: Sequence[str] = tuple(GROUPS)
) -> list[str]:
    """The models of some groups that have numbers, in the order of the groups."""
    names = [str(m) for m in results["model"].values if bool(values.sel(model=m).notnull().any())]
    return [m for g in groups for m in names if group(results, m) == g]


def task(data: xr.Dataset) -> plt.Figure:
    """One signal of each kind, a row of panels per set.

    Parameters
    ----------
    data
        Value (signal, time), set, kind, time.
    """
    fig, axes = plt.subplots(3, 6, figsize=(10.5, 4.6), sharex=True, sharey=True)
    for row, (name, title) in zip(axes, SETS.items(), strict=True):
        one = data.isel(signal=np.flatnonzero(data["set"].values == name))
        kinds = list(dict.fromkeys(one["kind"].values.astype(str)))
        for ax in row[len(kinds) :]:
            ax.set_axis_off()
        for ax, kind in zip(row, kinds, strict=False):
            lines = one["value"].values[one["kind"].values == kind][:3]
            for line, color in zip(lines, (PALETTE[0], PALETTE[1], PALETTE[2]), strict=False):
                ax.plot(data["time"], line, color=color, lw=1.1)
            ax.set_title(kind, fontsize=8)
            ax.axhline(0, color="0.8", lw=0.6, zorder=0)
        row[0].set_ylabel(title.replace(": ", ":\n"), fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]", fontsize=8)
    return fig


def reconstruction(results: xr.Dataset) -> plt.Figure:
    """Reconstruction error of every model that draws whole signals, one panel per set; dotted: the
    zero prediction.
    """
    models = [m for m in with_values(results, results["mse"]) if m != "zeros"]
    if not models:
        return absent("No model that reconstructs was asked for.")
    fig, axes = plt.subplots(
        1, 3, figsize=(10.5, 1.4 + 0.24 * len(models)), sharex=True, sharey=True
    )
    for ax, (name, title) in zip(axes, SETS.items(), strict=True):
        for y, model in enumerate(models):
            points(
                ax,
                results["mse"].sel(model=model, set=name).clip(FLOOR),
                y,
                *GROUPS[group(results, model)][1:],
            )
        ax.axvline(float(results["blank"].sel(set=name).max()), color="0.2", ls=":", lw=1.3)
        rows_of(ax, results, models, margin=0.5)
        ax.set(xscale="log", title=title)
    axes[1].set_xlabel(f"mean squared error of whole signals, {UNIT}")
    handles = [
        *looks(results, models, GROUPS),
        Line2D([], [], color="0.2", ls=":", label="zero prediction"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8)
    return fig


def hidden_panel(
    ax: plt.Axes, results: xr.Dataset, models: Sequence[str], mask: str, name: str
) -> None:
    """Errors on hidden samples of one cell: filled marks the paper's protocol, hollow ones
    inference with the mask.
    """
    for y, model in enumerate(models):
        one = results["hidden"].sel(model=model, mask=mask, set=name)
        both = bool(one.sel(way="paper").notnull().any() and one.sel(way="aware").notnull().any())
        for way, shift in (("paper", -0.2), ("aware", 0.2)):
            points(
                ax,
                one.sel(way=way),
                y + shift * both,
                *GROUPS[group(results, model)][1:],
                hollow=way == "aware",
                height=0.18 if both else 0.32,
            )
    for model, (_, style) in LINES.items():
        if model in results["model"].values:
            value = float(
                results["hidden"].sel(model=model, mask=mask, set=name, way="aware").median()
            )
            if value > 0:
                ax.axvline(value, color="0.2", ls=style, lw=1.1, zorder=1)
    rows_of(ax, results, models, margin=0.5)
    ax.set_xscale("log")


def tail(results: xr.Dataset, mask: str = "forecast_25") -> plt.Figure:
    """Errors on hidden samples of one mask, one panel per set; lines: zero, last value held, linear
    interpolation.
    """
    models = [m for m in with_values(results, results["hidden"]) if m not in LINES]
    if not models:
        return absent("No model was asked for.")
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 1.6 + 0.27 * len(models)), sharey=True)
    for ax, (name, title) in zip(axes, SETS.items(), strict=True):
        hidden_panel(ax, results, models, mask, name)
        ax.set(title=title)
        low, high = ax.get_xlim()
        high = min(high, 5 * float(results["blank_hidden"].sel(mask=mask, set=name).max()))
        ticks = [t for t in (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10) if low < t < high]
        ax.set_xlim(low, high)
        ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes[1].set_xlabel(f"mean squared error on hidden samples ({MASKS.get(mask, mask)}), {UNIT}")
    handles = [
        *looks(results, models, GROUPS),
        Line2D([], [], color="0.3", marker="o", ls="", ms=5, label="paper's protocol"),
        Line2D([], [], color="0.3", marker="o", mfc="none", ls="", ms=5, label="knows the mask"),
        *(
            Line2D([], [], color="0.2", ls=s, label=n)
            for m, (n, s) in LINES.items()
            if m in results["model"].values
        ),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8)
    return fig


def cells(results: xr.Dataset, way: str, models: Sequence[str]) -> np.ndarray:
    """Median error on hidden samples (model, mask and set)."""
    one = (
        results["hidden"]
        .sel(way=way, model=list(models))
        .median("seed")
        .transpose("model", "mask", "set")
    )
    return one.sel(set=list(SETS)).values.reshape(len(models), -1)


def grid(results: xr.Dataset, way: str, groups: Sequence[str] = tuple(GROUPS)) -> plt.Figure:
    """All masks and sets as a table in colours: error over that of the zero prediction; numbers are
    the errors.

    The lowest error of each column is framed.

    Parameters
    ----------
    way
        "paper" or "aware".
    """
    models = with_values(results, results["hidden"].sel(way=way), groups)
    reference = [m for m in LINES if m in results["model"].values and m not in models]
    if not models:
        return absent("No model of this kind was asked for.")
    values = cells(results, way, models)
    if reference:
        values = np.concatenate([values, cells(results, "aware", reference)])
    models = [*models, *reference]
    blank = (
        results["blank_hidden"]
        .max(("model", "seed"))
        .transpose("mask", "set")
        .sel(set=list(SETS))
        .values.ravel()
    )
    fig, ax = plt.subplots(figsize=(10.5, 1.7 + 0.26 * len(models)))
    image = ax.imshow(
        np.maximum(values / blank, 1e-4), norm=LogNorm(0.05, 20), cmap=DIVERGING, aspect="auto"
    )
    best = np.nanargmin(values, axis=0)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            light = not 0.25 < value / blank[column] < 6
            ax.text(
                column,
                row,
                short(value),
                ha="center",
                va="center",
                fontsize=7,
                color="w" if light else "k",
                weight="bold" if best[column] == row else "normal",
            )
    for column, row in enumerate(best):
        ax.add_patch(
            plt.Rectangle((column - 0.48, row - 0.48), 0.96, 0.96, fill=False, ec="k", lw=1.4)
        )
    masks = [str(m) for m in results["mask"].values]
    ax.set_xticks(range(len(blank)), [n for _ in masks for n in ("ID", "Easy", "Hard")], fontsize=8)
    top = ax.secondary_xaxis("top")
    top.set_xticks(
        [3 * i + 1 for i in range(len(masks))], [MASKS.get(m, m) for m in masks], fontsize=9
    )
    top.tick_params(length=0)
    ax.set_yticks(range(len(models)), [label(results, m) for m in models], fontsize=8)
    for i in range(1, len(masks)):
        ax.axvline(3 * i - 0.5, color="k", lw=1.5)
    if reference:
        ax.axhline(len(models) - len(reference) - 0.5, color="k", lw=1.5)
    ax.tick_params(length=0)
    bar = fig.colorbar(image, ax=ax, extend="both", fraction=0.025, pad=0.01)
    bar.set_label("error / error of zero", fontsize=8)
    return fig


def curves(results: xr.Dataset) -> plt.Figure:
    """Validation error in training at tenths of the updates, medians over seeds."""
    models = with_values(results, results["curve"])
    if not models:
        return absent("No model that is trained was asked for.")
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 5.2))
    styles = ("-", "--", ":", "-.")
    drawn = [0, 0]
    for model in models:
        side = int(group(results, model) in ("paper", "masked"))
        one = results["curve"].sel(model=model).median("seed").clip(FLOOR)
        number = drawn[side]
        axes[side].plot(
            one["check"],
            one,
            color=PALETTE[number % 8],
            ls=styles[number // 4 % 4],
            lw=1.5,
            label=label(results, model),
        )
        drawn[side] += 1
    for ax, title, count in zip(
        axes, ("Vector Networks", "networks and rSLDS"), drawn, strict=True
    ):
        ax.set(yscale="log", xlabel="share of the updates", title=title)
        if count:
            ax.legend(fontsize=7.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    axes[0].set_ylabel("ID validation error")
    return fig
