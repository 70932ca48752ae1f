"""Ratios of errors, each of one ingredient."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from vnlib.plots.statistics import over_seeds
from vnlib.plots.style import PALETTE


def changes(
    rows: Mapping[str, tuple[xr.DataArray, xr.DataArray]], *, told: str, single: str, of: str
) -> Figure:
    """A row for each ingredient, 1 where it changes nothing.

    Parameters
    ----------
    rows
        Name -> a ratio over seeds, whose median and interval are drawn, and single values, which are
        small marks below it.
    told, single
        What the legend calls the two.
    of
        What the ratios are of.
    """
    fig, ax = plt.subplots(figsize=(8.6, 0.42 * len(rows) + 1.5))
    for place, (ratio, each) in enumerate(rows.values()):
        middle = over_seeds(ratio)
        ax.plot(each, np.full(each.size, place + 0.16), "|", color="0.45", ms=7)
        ax.hlines(place - 0.1, middle["low"], middle["high"], color=PALETTE[0], lw=1.6)
        ax.plot(middle["median"], place - 0.1, "o", color=PALETTE[0], ms=6)
    ax.axvline(1, color="0.3", lw=0.9)
    ax.set(xscale="log", xlabel=f"ratio of {of}")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.invert_yaxis()
    ax.plot([], [], "o", color=PALETTE[0], label=told)
    ax.plot([], [], "|", color="0.45", label=single)
    fig.legend(fontsize=8, loc="outside lower center", ncols=2)
    return fig
