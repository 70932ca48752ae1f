"""The example of FR Fig. 1: a bump outside and one inside the hold-out, as a few decoders draw them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import xarray as xr

from chapters.FR1_failure import tables
from chapters.FR1_failure.figures import draw, few, with_images, within
from vnlib.plots.statistics import median, short

MODELS = ("cnn_bump", "cnn_ramp", "coordinate_mlp", "factorised")
SAMPLES = (0, 2)  # in the order of the settings: the first is ID, the other in the square


def example(results: xr.Dataset) -> plt.Figure:
    """The ink at one ID and one OOD position of the square, first seed, after the targets; below,
    the median over seeds of the OOD error over that of the zero baseline.
    """
    kept = with_images(within(few(results, MODELS), "square")).isel(sample=list(SAMPLES))
    models, left = kept["model"].values.tolist(), median(tables.left(results))
    shape = (len(SAMPLES), 1 + len(models))
    fig, axes = plt.subplots(*shape, figsize=(1.3 * shape[1], 3.3), squeeze=False)
    draw(axes, kept, fontsize=11)
    for ax, place in zip(axes[:, 0], ("outside", "held out"), strict=True):
        ax.set_ylabel(place, fontsize=11)
    for ax, name in zip(axes[-1, 1:], models, strict=True):
        ax.set_xlabel(f"{short(float(left.sel(model=name)))} %", fontsize=11)
    return fig
