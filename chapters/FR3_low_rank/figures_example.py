"""The example of FR Fig. 3: two maps of one position that was held out, and what is drawn of them."""

from __future__ import annotations

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from chapters.FR3_low_rank.figures import called, pictured, those
from chapters.FR3_low_rank.tables import relative, share
from vnlib.plots.frames import empty, if_computed
from vnlib.plots.statistics import median
from vnlib.plots.style import DIVERGING, image_axes

MODELS = ("none", "rank1", "variance", "bands")
CORNER = "large_corner"


@if_computed
def example(results: xr.Dataset) -> plt.Figure:
    """The maps of x and of y of the first held-out position shown, first seed, and the drawing;
    below, the median over seeds of the OOD error over that of the zero baseline. At the left
    the target.
    """
    one, models = pictured(results).sel(hold_out=CORNER), those(results, MODELS)
    left = median(relative(results)).sel(hold_out=CORNER)
    if (found := held_out(one)) is None:
        return empty("No map of a held-out position was kept.")
    sample, tokens = found
    fig, axes = plt.subplots(3, 1 + len(models), figsize=(1.45 * (1 + len(models)), 4.7))
    for column, model in zip(axes.T[1:], models, strict=True):
        maps = one["embedding"].sel(model=model)
        for ax, (axis, token) in zip(column, tokens.items(), strict=False):
            image = maps.sel(axis=axis, token_shown=token).values
            largest = np.nanmax(np.abs(image)) or 1.0
            image_axes(ax).imshow(image / largest, origin="lower", cmap=DIVERGING, vmin=-1, vmax=1)
        _ink(column[2], one["sample_image"].sel(model=model).isel(sample=sample))
        column[0].set_title(fill(called(results, model), 12), fontsize=11)
        column[2].set_xlabel(share(float(left.sel(model=model))), fontsize=11)
    _ink(axes[2, 0], results["target_image"].isel(sample=sample))
    axes[2, 0].set_xlabel("target", fontsize=11)
    for ax in axes[:2, 0]:
        ax.set_visible(False)
    for ax, name in zip(axes[:, 1], ("map of x", "map of y", "drawn"), strict=True):
        ax.set_ylabel(name, fontsize=11)
    return fig


def held_out(one: xr.Dataset) -> tuple[int, dict[str, int]] | None:
    """The first sample that was held out and has its maps kept, with its x and y; None if none."""
    held, kept = one["split_ood"].isel(model=0), one["token_shown"].values
    for sample, place in enumerate(one["sample"].values):
        at = {axis: int(one[f"position_{axis}"].isel(position=place)) for axis in ("x", "y")}
        if held.isel(position=place) and all(token in kept for token in at.values()):
            return sample, at
    return None


def _ink(ax: plt.Axes, image: xr.DataArray) -> None:
    image_axes(ax).imshow(image, origin="lower", vmin=0, vmax=1)
