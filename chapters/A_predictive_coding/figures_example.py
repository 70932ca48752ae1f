"""The example of appendix A: one digit, and the units that infer something about it."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from chapters.A_predictive_coding.figures import present_models
from vnlib.plots.frames import if_computed
from vnlib.plots.style import DIVERGING, image_axes

SHOWN = ("pc", "bpc", "pc_sparse", "vn")
COLUMNS = 8  # of the grid in which units stand


@if_computed
def example(results: xr.Dataset) -> plt.Figure:
    """The first test digit of the first seed, and the state of every first-level unit, relative to
    the largest. An autoencoder reads the image itself, so it has the digit.
    """
    one, models = results.sel(pair="digits").isel(seed=0), present_models(results, SHOWN)
    fig, axes = plt.subplots(1, 1 + len(models), figsize=(1.7 * (1 + len(models)), 3.2))
    digit = np.nanmax(one["up_activity"].sel(model=["autoencoder"]), axis=0)
    side = round(digit.size**0.5)
    image_axes(axes[0], "digit", 12).imshow(digit.reshape(side, side), cmap="gray_r")
    for ax, (model, (name, _, _)) in zip(axes[1:], models.items(), strict=True):
        state = one["down_activity"].sel(model=model).values
        grid = (np.where(state == 0, np.nan, state) / np.abs(state).max()).reshape(-1, COLUMNS)
        image_axes(ax, name, 12)
        ax.pcolormesh(grid, cmap=DIVERGING, vmin=-1, vmax=1, edgecolor="0.85", lw=0.5)
        ax.set_aspect("equal")
        ax.set_xlabel(f"{np.count_nonzero(state)} of {state.size} in use", fontsize=11)
    return fig
