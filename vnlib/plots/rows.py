"""What figures of many models share: names, and rows of points, one for each seed.

Results have the coordinates `label` and `group` of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D


def absent(said: str) -> Figure:
    """An empty figure that says why: the reader asked for other models."""
    fig, ax = plt.subplots(figsize=(5, 0.6))
    ax.text(0, 0.5, said, va="center")
    ax.set_axis_off()
    return fig


def whole(table: pd.DataFrame, name: str) -> HTML:
    """A long table with all its rows, of which pandas leaves out the middle, in a box that scrolls.

    Parameters
    ----------
    name
        What those are told who hear the page.
    """
    box = (
        f'<div tabindex="0" role="region" aria-label="{name}" style="max-height: 28rem; '
        'overflow: auto">'
    )
    return HTML(f"{box}{table.to_html()}</div>")


def label(results: xr.Dataset, model: str) -> str:
    """How readers call a model."""
    return str(results["label"].sel(model=model).item())


def group(results: xr.Dataset, model: str) -> str:
    """Which group of the chapter a model belongs to."""
    return str(results["group"].sel(model=model).item())


def looks(
    results: xr.Dataset, models: Sequence[str], groups: Mapping[str, tuple[str, Any, str]]
) -> list[Line2D]:
    """Legend entries of those `groups` (name, colour, marker) that are there."""
    shown = [groups[name] for name in dict.fromkeys(group(results, m) for m in models)]
    return [
        Line2D([], [], color=color, marker=marker, ls="", label=name, ms=5)
        for name, color, marker in shown
    ]


def rows_of(
    ax: Axes,
    results: xr.Dataset,
    models: Sequence[str],
    *,
    size: float = 8,
    margin: float = 0.6,
) -> None:
    """Models as rows, the first on top, with lines between groups; `margin` above the first and
    below the last.
    """
    ax.set_yticks(range(len(models)), [label(results, m) for m in models], fontsize=size)
    ax.set_ylim(len(models) - 1 + margin, -margin)
    ax.grid(axis="x", color="0.92", lw=0.6)
    for number in range(1, len(models)):
        if group(results, models[number]) != group(results, models[number - 1]):
            ax.axhline(number - 0.5, color="0.75", lw=0.6)


def points(
    ax: Axes,
    values: xr.DataArray,
    y: float,
    color: Any,
    marker: str,
    *,
    hollow: bool = False,
    height: float = 0.25,
) -> None:
    """Every seed a point within `height` of y, and a bar at the median; nothing where all seeds are
    NaN.
    """
    one = values.dropna("seed").values
    if len(one):
        shift = 0.7 * height * np.linspace(-1, 1, len(one)) if len(one) > 1 else np.zeros(1)
        face = "none" if hollow else [color]
        ax.scatter(
            one,
            y + shift,
            marker=marker,
            s=14,
            facecolors=face,
            edgecolors=[color],
            lw=0.7,
            zorder=3,
        )
        line = ":" if hollow else "-"
        ax.plot(
            [np.median(one)] * 2, [y - height, y + height], color=color, lw=1.6, ls=line, zorder=2
        )
