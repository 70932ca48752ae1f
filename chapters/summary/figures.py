"""The pictures of the summary: one form for all benchmarks (see `summary_swaps` for what a table of
rows holds).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D

from chapters.summary.figures_swaps import factors
from vnlib.plots.rows import absent, points
from vnlib.plots.style import PALETTE

KINDS = {
    "vn": ("Vector Network", PALETTE[0], "o"),
    "paper": ("the paper's other models", PALETTE[3], "s"),
    "control": ("our controls", "0.35", "^"),
}
HEIGHT, HEADING = 0.235, 1.25  # of a row in inches, of a heading in rows


def swaps(table: xr.Dataset | None, missing: str = "") -> plt.Figure:
    """Errors in and out of distribution of every row over those of drawing nothing, log axis; every
    seed a point.

    Parameters
    ----------
    table
        As `summary_swaps` returns it; None gives an empty picture with the text `missing`.
    """
    if table is None:
        return absent(missing)
    places, headings, end = _places(table)
    fig, ax = plt.subplots(figsize=(8.6, 1.25 + HEIGHT * end))
    for row, place in enumerate(places):
        one = table.isel(row=row)
        _, color, marker = KINDS[str(one["kind"].item())]
        ends = [float(one[side].median("seed")) for side in ("inside", "outside")]
        ax.plot(ends, [place, place], color="0.75", lw=1, zorder=1)
        points(ax, one["inside"], place, color, marker, hollow=True, height=0.28)
        points(ax, one["outside"], place, color, marker, height=0.36)
    _frame(ax, table, places, end)
    for title, place in headings.items():
        ax.annotate(
            title,
            (-0.005, place),
            xycoords=("axes fraction", "data"),
            va="center",
            ha="right",
            fontsize=8.5,
            weight="bold",
        )
    for place, factor in zip(places, factors(table).values, strict=True):
        ax.annotate(
            times(float(factor)),
            (1.015, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8.5,
        )
    ax.annotate(
        "OOD error,\nfirst row = 1", (1.015, 1.0), xycoords="axes fraction", va="bottom", fontsize=8
    )
    _legend(fig, {str(kind) for kind in table["kind"].values})
    return fig


def _places(table: xr.Dataset) -> tuple[list[float], dict[str, float], float]:
    """Where rows and headings stand, from the top, and where they end."""
    places, headings, place = [], {}, 0.0
    for block in table["block"].values:
        if str(block) not in headings:
            place += 0.35 if headings else 0.0
            headings[str(block)] = place
            place += HEADING - 0.25
        places.append(place)
        place += 1
    return places, headings, place


def _frame(ax: plt.Axes, table: xr.Dataset, places: list[float], end: float) -> None:
    low = min(float(table[side].min()) for side in ("inside", "outside"))
    high = max(float(table[side].max()) for side in ("inside", "outside"))
    # One seed that went astray must not press all others together: what is off the axis is said at
    # its end.
    top = min(2 * high, 30.0)
    ax.set(xscale="log", xlim=(max(low, 1e-12) / 2, max(top, 1.6)), ylim=(end - 0.4, -0.7))
    ax.set_yticks(places, [str(name) for name in table["name"].values], fontsize=8.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="0.93", lw=0.6)
    ax.axvline(1, color="k", ls=(0, (1, 3)), lw=1.2)
    ax.axvline(
        float(table["outside"].isel(row=0).median("seed")),
        color=PALETTE[0],
        lw=0.9,
        alpha=0.6,
        zorder=0,
    )
    ax.set_xlabel("mean squared error, over that of drawing nothing", fontsize=9)
    # hides the line of drawing nothing
    plain = {"boxstyle": "square,pad=0.15", "fc": "w", "ec": "none"}
    for row, place in enumerate(places):
        astray = int((table["outside"].isel(row=row) > ax.get_xlim()[1]).sum())
        if astray:
            ax.annotate(
                f"{astray} seed{'s' * (astray > 1)} →",
                (0.995, place),
                xycoords=("axes fraction", "data"),
                va="center",
                ha="right",
                fontsize=7.5,
                bbox=plain,
            )


def _legend(fig: plt.Figure, kinds: set[str]) -> None:
    handles = [
        Line2D([], [], color=color, marker=marker, ls="", ms=5, label=name)
        for kind, (name, color, marker) in KINDS.items()
        if kind in kinds
    ]
    handles += [
        Line2D([], [], color="0.3", marker="o", mfc="none", ls="", ms=5, label="in distribution"),
        Line2D([], [], color="0.3", marker="o", ls="", ms=5, label="out of it"),
        Line2D([], [], color="k", ls=(0, (1, 3)), lw=1.2, label="drawing nothing"),
    ]
    fig.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles),
        fontsize=7.5,
        handletextpad=0.2,
        columnspacing=1.1,
    )


def times(factor: float) -> str:
    """A factor to two digits: ×0.0038, ×0.25, ×1.2, ×13, ×19,000; nothing where there is no
    number.
    """
    if not np.isfinite(factor):
        return ""
    if factor < 1e-4:
        return f"×{factor:.0e}".replace("e-0", "e-")
    digits = 1 - int(np.floor(np.log10(factor)))
    return f"×{round(factor, digits):,.{max(digits, 0)}f}"
