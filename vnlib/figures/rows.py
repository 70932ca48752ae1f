"""What figures of many models share: names, and rows of points, one for each seed.

Results have the coordinates `label` and `group` of the model.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr


def absent(said: str) -> plt.Figure:
    """An empty figure that says why: the reader asked for other models."""
    fig, ax = plt.subplots(figsize=(5, 0.6))
    ax.text(0, 0.5, said, va="center")
    ax.set_axis_off()
    return fig


def label(results: xr.Dataset, model: str) -> str:
    """How readers call a model."""
    return str(results["label"].sel(model=model).item())


def group(results: xr.Dataset, model: str) -> str:
    """Which group of the chapter a model belongs to."""
    return str(results["group"].sel(model=model).item())


def points(
    ax: plt.Axes, values: xr.DataArray, y: float, color: Any, marker: str, *, hollow: bool = False, height: float = 0.25
) -> None:
    """Every seed a point within `height` of y, and a bar at the median; nothing where all seeds are NaN."""
    one = values.dropna("seed").values
    if len(one):
        shift = 0.7 * height * np.linspace(-1, 1, len(one)) if len(one) > 1 else np.zeros(1)
        face = "none" if hollow else [color]
        ax.scatter(one, y + shift, marker=marker, s=14, facecolors=face, edgecolors=[color], lw=0.7, zorder=3)
        line = ":" if hollow else "-"
        ax.plot([np.median(one)] * 2, [y - height, y + height], color=color, lw=1.6, ls=line, zorder=2)
