"""The summary at a glance: of each benchmark one condition and four models."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from chapters.summary.figures import MOST, NOTHING, kinds
from vnlib.plots.frames import empty
from vnlib.plots.statistics import median, short
from vnlib.plots.style import look

# Benchmark -> title, condition, and rows: a model and which of the two looks at it. First a model of
# the papers that is no Vector Network, then a Vector Network, then what differs from that in one part.
SWAPS = {
    "positions": (
        "Positions: a bump inside the hold-out",
        "the hold-out",
        {"cnn": 1, "vn_full": 1, "flat": 1, "linear_pass": 1},
    ),
    "signals": (
        "Signals (hard): the last quarter, hidden",
        "Hard: last quarter",
        {"transformer": 0, "vn_3": 1, "vn_1": 1, "held": 1},
    ),
    "forces": (
        "Forces: several at once, five bodies",
        "5 bodies",
        {"gnn": 1, "tokens": 1, "vn_3": 1, "tokens_rbf": 1},
    ),
    "digits": (
        "Digits: the sum of two",
        "sum of 2",
        {"ae": 0, "vn_1": 0, "vn_untrained": 0, "dct": 0},
    ),
}
LEAST = 1e-6


def swaps(shown: Mapping[str, xr.DataArray | None]) -> plt.Figure:
    """Errors over those of the zero baseline, a panel for each benchmark, which has an axis of its
    own: every seed a point, bars and numbers are medians.

    Parameters
    ----------
    shown
        Benchmark -> table as `errors.tables` has it, None where nothing is stored.
    """
    there = {key: shown[key] for key in SWAPS if shown.get(key) is not None}
    if not there:
        return empty(NOTHING)
    fig, axes = plt.subplots(len(there), figsize=(5.4, 0.5 + 1.5 * len(there)), squeeze=False)
    for ax, (key, table) in zip(axes.ravel(), there.items(), strict=True):
        _panel(ax, table, *SWAPS[key])
    axes[-1, 0].set_xlabel("squared error over that of the zero baseline", fontsize=10)
    zero = Line2D([], [], color="k", ls=(0, (1, 3)), lw=1.2, label="zero baseline")
    keys = {key: table["key"].values.tolist() for key, table in there.items()}
    drawn = (
        there[key].isel(row=[keys[key].index(one) for one in rows if one in keys[key]])
        for key, (_, _, rows) in SWAPS.items()
        if key in there
    )
    handles = [*kinds(*drawn), zero]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=9.5)
    return fig


def _panel(ax: Axes, table: xr.DataArray, title: str, condition: str, rows: dict[str, int]) -> None:
    keys, names = table["key"].values.tolist(), table["name"].values.tolist()
    known = [key for key in rows if key in keys]
    least = 0.2
    for place, key in enumerate(known):
        row = keys.index(key)
        one = table.isel(row=row, look=rows[key]).sel(condition=condition)
        color, marker = look(names[row])
        values = one.values[np.isfinite(one.values)].clip(LEAST)
        ax.plot(values, np.full(values.shape, place), marker, color=color, ms=4.5, alpha=0.55)
        middle = float(median(one))
        ax.plot(2 * [max(middle, LEAST)], [place - 0.3, place + 0.3], color=color, lw=2.5)
        text = f"{short(100 * middle)} %"
        at = {"xycoords": ("axes fraction", "data"), "va": "center"}
        ax.annotate(text, (1.02, place), fontsize=10, annotation_clip=False, **at)
        least = min(least, *values)
    ax.set_yticks(range(len(known)), [names[keys.index(key)] for key in known], fontsize=10)
    ax.set(xscale="log", xlim=(least / 2, MOST), ylim=(len(known) - 0.4, -0.6))
    ax.set_title(title, fontsize=10.5, loc="left", fontweight="bold")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=9.5)
    ax.grid(axis="x", color="0.93", lw=0.6)
    ax.axvline(1, color="k", ls=(0, (1, 3)), lw=1.2)
