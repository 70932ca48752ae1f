"""The pictures of the summary: one form for all benchmarks (see `swaps` for what a table holds)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.lines import Line2D

from chapters.summary.tables import factors, times
from vnlib.plots.frames import empty, entries, long_frame, seeds_and_medians
from vnlib.plots.statistics import median
from vnlib.plots.style import PALETTE

KINDS = {
    "vn": ("Vector Network", PALETTE[0], "o"),
    "printed": ("other models of the papers", PALETTE[3], "s"),
    "control": ("our controls", "0.35", "^"),
}
HEIGHT = 0.235  # of a row in inches
MOST = 30.0  # one seed that went astray must not press all others together
LEAST = 1e-12


def swaps(table: xr.Dataset | None) -> plt.Figure:
    """Errors in and out of distribution of every row over those of the zero baseline; every seed a
    point, bars are medians, factors at the right are of the OOD error.

    Parameters
    ----------
    table
        As `swaps.tables` has it; None gives a line that says why there is no picture.
    """
    if table is None:
        return empty("No picture: the results of the first row are not stored here.")
    blocks = dict.fromkeys(table["block"].values.tolist())
    keys = {b: table["key"].values[table["block"].values == b].tolist() for b in blocks}
    order = [line for block, names in keys.items() for line in (block, *names)]
    fig, ax = plt.subplots(figsize=(8.6, 1.25 + HEIGHT * len(order)))
    for side, hollow in (("inside", True), ("outside", False)):
        frame = long_frame(table[side].clip(LEAST), "error")
        look = {"value": "error", "by": "key", "hue": "kind", "groups": KINDS, "order": order}
        seeds_and_medians(ax, frame, hollow=hollow, **look)
    ends = [median(table[side]).clip(LEAST) for side in ("inside", "outside")]
    ax.hlines([order.index(key) for key in table["key"]], *ends, color="0.8", lw=1, zorder=1)
    _axes(ax, table, order)
    for line in range(len(order)):
        if order[line] in blocks:
            ax.get_yticklabels()[line].set_weight("bold")
    _beside(ax, table, order)
    marks = [
        Line2D([], [], color="0.3", marker="o", mfc=face, ls="", ms=5, label=text)
        for face, text in (("none", "in distribution"), ("0.3", "out of it"))
    ]
    zero = Line2D([], [], color="k", ls=(0, (1, 3)), lw=1.2, label="Zero baseline")
    handles = [*entries(KINDS, table["kind"].values.tolist()), *marks, zero]
    fig.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles),
        fontsize=7.5,
        handletextpad=0.2,
        columnspacing=1.1,
    )
    return fig


def _axes(ax: plt.Axes, table: xr.Dataset, order: list[str]) -> None:
    """A logarithmic axis of errors, and a name for every row."""
    names = dict(zip(table["key"].values.tolist(), table["name"].values.tolist(), strict=True))
    ax.set_yticks(range(len(order)), [names.get(line, line) for line in order], fontsize=8.5)
    both = table[["inside", "outside"]].to_array().clip(LEAST)
    high = max(min(2 * float(both.max()), MOST), 1.6)
    ax.set(xscale="log", xlim=(float(both.min()) / 2, high), ylim=(len(order) - 0.4, -0.7))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="0.93", lw=0.6)
    ax.axvline(1, color="k", ls=(0, (1, 3)), lw=1.2)
    reference = float(median(table["outside"]).isel(row=0))
    ax.axvline(reference, color=PALETTE[0], lw=0.9, alpha=0.6, zorder=0)
    ax.set_xlabel("mean squared error over that of the zero baseline", fontsize=9)


def _beside(ax: plt.Axes, table: xr.Dataset, order: list[str]) -> None:
    """At the right of every row its factor, and at the end of the axis how many seeds are beyond
    it.
    """
    at = {"xycoords": ("axes fraction", "data"), "va": "center"}
    plain = {"boxstyle": "square,pad=0.15", "fc": "w", "ec": "none"}  # hides the zero baseline
    for row, factor in enumerate(factors(table).values.tolist()):
        place = order.index(str(table["key"].values[row]))
        ax.annotate(times(factor), (1.015, place), fontsize=8.5, **at)
        beyond = int((table["outside"].isel(row=row) > ax.get_xlim()[1]).sum())
        if beyond:
            text = f"{beyond} seed{'s' * (beyond > 1)} →"
            ax.annotate(text, (0.995, place), ha="right", fontsize=7.5, bbox=plain, **at)
    ax.annotate(
        "OOD error,\nfirst row = 1", (1.015, 1.0), xycoords="axes fraction", va="bottom", fontsize=8
    )
