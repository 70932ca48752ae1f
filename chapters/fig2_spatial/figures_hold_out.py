"""The example of Fig. 2: one bump that training showed and one that it left out, as four decoders draw
them.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.patches import Rectangle

from benchmarks.spatial import figures as spatial
from chapters.fig2_spatial import tables
from vnlib.plots.frames import empty, label
from vnlib.plots.statistics import median, short
from vnlib.plots.style import PALETTE, image_axes

MODELS = ["cnn4", "vn_full", "vn_flat", "bilinear_linear"]
NAMES = {  # short, for a phone
    "cnn4": "CNN",
    "vn_full": "VN,\nproduct\nreadout",
    "vn_flat": "VN,\nflat\nreadout",
    "bilinear_linear": "no VN,\nproduct\nreadout",
}
POSITIONS = (98, 406)  # of the samples, x = 14: one below the square, one in its middle


def hold_out(results: xr.Dataset) -> plt.Figure:
    """A bump outside and one inside the hold-out, and what models draw of them: of each the seed
    of the median error there; below, the median of these errors over that of the zero baseline.
    """
    models = [one for one in MODELS if one in results["model"].values]
    positions = [one for one in POSITIONS if one in results["sample"].values]
    if not models or not positions:
        return empty("None of the models of this picture was computed.")
    shape = (len(positions), 1 + len(models))
    fig, axes = plt.subplots(*shape, figsize=(1.15 * shape[1], 3.5), squeeze=False)
    left = median(tables.left(results.sel(model=models)))
    for row, position in zip(axes, positions, strict=True):
        target = results["target_image"].sel(sample=position)
        images = {"target": target}
        for model in models:
            drawn = results["sample_image"].sel(model=model, sample=position)
            images[model] = drawn.isel(seed=middle_seed(results["mse_ood"].sel(model=model)))
        for ax, (model, image) in zip(row, images.items(), strict=True):
            image_axes(ax).imshow(image, origin="lower", vmin=0, vmax=1)
            _outline(ax, results)
            if position == positions[0]:
                called = "target" if model == "target" else label(results, model)
                ax.set_title(NAMES.get(model, spatial.wrapped(called, 16)), fontsize=11)
            if position == positions[-1] and model != "target":
                ax.set_xlabel(f"{short(float(left.sel(model=model)))} %", fontsize=11)
        outside = str(results["split"].sel(position=position).item()) != "ood"
        row[0].set_ylabel("outside" if outside else "held out", fontsize=11)
    return fig


def middle_seed(errors: xr.DataArray) -> int:
    """The place of the seed whose error is the (lower) median."""
    return int(np.argsort(errors.values, kind="stable")[(errors.sizes["seed"] - 1) // 2])


def _outline(ax: plt.Axes, results: xr.Dataset) -> None:
    held = results["split"].values == "ood"
    xs, ys = results["position_x"].values[held], results["position_y"].values[held]
    if held.any():
        corner = (xs.min() - 0.5, ys.min() - 0.5)
        wide, high = xs.max() - xs.min() + 1, ys.max() - ys.min() + 1
        style = {"fill": False, "edgecolor": PALETTE[1], "linestyle": "--", "linewidth": 1.4}
        ax.add_patch(Rectangle(corner, wide, high, **style))
