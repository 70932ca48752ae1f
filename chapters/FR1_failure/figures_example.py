"""The example of FR Fig. 1: a bump outside and one inside the hold-out, as a few decoders draw them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.colors import PowerNorm

from benchmarks.spatial import figures as spatial
from chapters.FR1_failure import tables
from chapters.FR1_failure.figures import few, with_images, within
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, short
from vnlib.plots.style import image_axes

MODELS = ("cnn_bump", "cnn_ramp", "coordinate_mlp", "factorised")
SAMPLES = (0, 2)  # in the order of the settings: the first is ID, the other in the square


def example(results: xr.Dataset) -> plt.Figure:
    """The ink at one ID and one OOD position of the square, first seed, after the targets; below,
    the median over seeds of the OOD error over that of the zero baseline.
    """
    kept = with_images(within(few(results, MODELS), "square"))
    models, left = kept["model"].values.tolist(), median(tables.left(results))
    shape = (len(SAMPLES), 1 + len(models))
    fig, axes = plt.subplots(*shape, figsize=(1.3 * shape[1], 3.3), squeeze=False)
    for row, place in zip(axes, SAMPLES, strict=True):
        one = kept["shown_image"].isel(sample=place)
        tiles = [one.sel(panel="target").isel(model=0)]
        tiles += [one.sel(panel="output", model=name) for name in models]
        for ax, tile in zip(row, tiles, strict=True):
            image_axes(ax).imshow(tile.clip(0), origin="lower", norm=PowerNorm(0.5, 0, 1))
        row[0].set_ylabel("outside" if place == SAMPLES[0] else "held out", fontsize=11)
    for ax, name in zip(axes[0], ["target", *models], strict=True):
        title = "target" if name == "target" else spatial.wrapped(label(kept, name), 12)
        ax.set_title(title, fontsize=11)
    for ax, name in zip(axes[-1, 1:], models, strict=True):
        ax.set_xlabel(f"{short(float(left.sel(model=name)))} %", fontsize=11)
    return fig
