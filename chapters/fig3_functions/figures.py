"""Figures of Fig. 3 beside those of the kit: the task, all cells in colours, training.

Results have the coordinates `label` and `group` of the model (see `benchmarks.functions.tables`).
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr
from matplotlib.colors import LogNorm

from benchmarks.baselines.figures import legible
from benchmarks.functions.figures import FLOOR
from benchmarks.functions.names import MASKS, SETS
from benchmarks.functions.protocols import PRINTED, by_protocol, five_rounds
from benchmarks.functions.tables import GROUPS, RULES, UNIT, measured, present
from vnlib.plots import frames
from vnlib.plots.statistics import median, raised, short
from vnlib.plots.style import DIVERGING, IN_ROWS, PALETTE, look

TITLES = {"id": "in distribution", "easy": "Easy:\nsums", "hard": "Hard:\ncompositions"}


def task(data: xr.Dataset) -> plt.Figure:
    """Three signals of each kind, a row of panels per set; data: value (signal, time), set, kind."""
    fig, axes = plt.subplots(3, 6, figsize=(10.5, 4.6), sharex=True, sharey=True)
    fig.set_label(IN_ROWS)  # on phones, too
    for row, (name, title) in zip(axes, TITLES.items(), strict=True):
        one = data.isel(signal=np.flatnonzero(data["set"].values == name))
        kinds = list(dict.fromkeys(one["kind"].values.astype(str)))
        for ax in row[len(kinds) :]:
            ax.set_axis_off()
        for ax, kind in zip(row, kinds, strict=False):
            lines = one["value"].values[one["kind"].values == kind][:3]
            for line, color in zip(lines, PALETTE[:3], strict=False):
                ax.plot(data["time"], line, color=color, lw=1.1)
            ax.set_title(kind, fontsize=8)
            ax.axhline(0, color="0.8", lw=0.6, zorder=0)
        row[0].set_ylabel(title, fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]", fontsize=8)
    return fig


def grid(results: xr.Dataset, protocol: str, groups: Sequence[str] = tuple(GROUPS)) -> plt.Figure:
    """All masks and sets as a table in colours: error over that of the zero baseline; numbers are
    the errors, medians over seeds, and the lowest of each column is framed.

    Rules of thumb, which have one protocol only, stand below the models of another one, and as
    printed what five rounds of Vector Networks leave.
    """
    hidden = by_protocol(results["hidden"], protocol)
    asked = frames.in_groups(results, *groups)
    models = [m for m in measured(results, hidden) if m in asked]
    if not models:
        return frames.empty("No model of this kind was asked for.")
    rules = [m for m in present(results, list(RULES)) if m not in models]
    asked = results["hidden"].sel(model=[*models, *rules], set=list(SETS))
    own, told = (by_protocol(asked, one) for one in (protocol, "mask_aware"))
    values = median(own.where(~asked["model"].isin(rules), told)).reset_coords(drop=True)
    if protocol == PRINTED:
        rounds = five_rounds(results, asked)
        values = xr.concat([values, median(rounds).reset_coords(drop=True)], "model")
        rules = [*rules, *rounds["model"].values]
    zero = results["zero_baseline_hidden"].max(("model", "seed"))
    table, relative = (_cells(one) for one in (values, values / zero))
    fig, ax = plt.subplots(figsize=(10.5, 1.7 + 0.26 * len(table)))
    sns.heatmap(
        relative.clip(lower=1e-4),
        annot=table.map(_brief),
        fmt="",
        annot_kws={"fontsize": 7, "in_layout": False},
        norm=LogNorm(0.05, 20),
        cmap=DIVERGING,
        ax=ax,
        cbar_kws={"label": "error / error of the zero baseline", "extend": "both", "pad": 0.01},
    )
    legible(ax, relative.shape[1])
    for column, row in enumerate(np.nanargmin(table.values, axis=0)):
        for edge, width in (("w", 3.2), ("k", 1.6)):  # black on pale cells, in white on dark ones
            ax.add_patch(plt.Rectangle((column, row), 1, 1, fill=False, ec=edge, lw=width))
    _heads(ax, results, table, len(models) if rules else 0)
    return fig


def _brief(value: float) -> str:
    """Two digits, as they fit a cell: one where a power of ten is written out."""
    return raised(f"{value:.0e}" if 0 < value < 1e-3 else short(value)).replace(" ", "")


def _cells(values: xr.DataArray) -> pd.DataFrame:
    """Numbers (model, mask, set) with a row for each model."""
    frame = values.rename("value").transpose("model", "mask", "set").to_series()
    wide = frame.unstack(["mask", "set"])
    return wide.loc[values["model"].values, [(m, s) for m in values["mask"].values for s in SETS]]


def _heads(ax: plt.Axes, results: xr.Dataset, table: pd.DataFrame, below: int) -> None:
    """Names of rows and columns, and lines between masks and above the rules of thumb."""
    masks = list(dict.fromkeys(table.columns.get_level_values("mask")))
    ax.set(xlabel="", ylabel="")
    names = [SETS[name] for name in table.columns.get_level_values("set")]
    ax.set_xticks(np.arange(len(names)) + 0.5, names, fontsize=8, rotation=0)
    rows = [_named(results, m) for m in table.index]
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows, fontsize=8, rotation=0)
    top = ax.secondary_xaxis("top")
    top.set_xticks([3 * i + 1.5 for i in range(len(masks))], [MASKS[m] for m in masks], fontsize=9)
    for axis in (ax, top):
        axis.tick_params(length=0)
    for i in range(1, len(masks)):
        ax.axvline(3 * i, color="k", lw=1.5)
    if below:
        ax.axhline(below, color="k", lw=1.5)


def _named(results: xr.Dataset, model: str) -> str:
    """The name of a row: that of its model, and of what five rounds of it leave."""
    own = model.removesuffix("_rounds")
    return frames.label(results, own) + ", five rounds" * (own != model)


def curves(results: xr.Dataset) -> plt.Figure:
    """Validation error in training at tenths of the updates, medians over seeds."""
    models = measured(results, results["curve"])
    if not models:
        return frames.empty("No model that is trained was asked for.")
    frame = frames.long_frame(median(results["curve"].sel(model=models)).clip(FLOOR), "error")
    networks = frame["group"].isin(("printed", "masked"))
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 5.2))
    sides = {"Vector Networks": frame[~networks], "networks and rSLDS": frame[networks]}
    for ax, (title, side) in zip(axes, sides.items(), strict=True):
        ax.set(yscale="log", title=title)
        if len(side):
            ends = side.sort_values("evaluation").groupby("label")["error"].last()
            order = ends.sort_values(ascending=False).index.tolist()  # as the lines end
            colors, markers = zip(*map(look, order), strict=True)
            sns.lineplot(side, x="evaluation", y="error", ax=ax, lw=1.5, ms=6, dashes=False,
                         hue="label", hue_order=order, palette=dict(zip(order, colors, strict=True)),
                         style="label", style_order=order, markers=list(markers))  # fmt: skip
            ax.legend(fontsize=7.5, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
        ax.set(xlabel="share of the updates", ylabel="")
    axes[0].set_ylabel(f"ID validation error [{UNIT}]")
    return fig
