"""The example of Fig. 5: a digit as training shows it, and digits as it never did, as three models draw
them.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from chapters.fig5_mnist.figures import present_models
from vnlib.plots.frames import empty, label
from vnlib.plots.statistics import short
from vnlib.plots.style import DIVERGING, image_axes

SETS = {
    "id": "one digit\n(trained on)",
    "add2": "a sum\nof two",
    "sub2": "a difference\nof two",
    "max5": "the maximum\nof five",
    "occlude1": "a block\nof full ink",
}
MODELS = ("vn_1", "ae", "dct")


def example(results: xr.Dataset) -> Figure:
    """The image of median power of some sets, and what three models of equal error on single digits
    draw of it; numbers are the error of the drawing over the power of the image, in percent.
    """
    models = [one for one in MODELS if one in present_models(results, "digits")]
    sets = [one for one in SETS if one in results["set"].values]
    if "drawn" not in results or not models or not sets:
        return empty("No pictures are stored of these models.")
    one = results.isel(seed=0).sel(set=sets)
    truth = one["truth"].sel(model=models[0])
    rows = {"image": truth}
    rows |= {label(results, m): one["drawn"].sel(model=m, reading="own") for m in models}
    size = (1.5 * len(sets) + 0.9, 1.5 * len(rows) + 0.5)
    fig, axes = plt.subplots(len(rows), len(sets), figsize=size, squeeze=False)
    most = float(np.abs(truth).max())
    for row, (name, images) in zip(axes, rows.items(), strict=True):
        for ax, key in zip(row, sets, strict=True):
            image, target = images.sel(set=key), truth.sel(set=key)
            image_axes(ax).imshow(image, cmap=DIVERGING, vmin=-most, vmax=most)
            if name != "image":
                left = float(((image - target) ** 2).sum() / (target**2).sum())
                ax.set_xlabel(f"{short(100 * left)} %", fontsize=9.5)
        row[0].set_ylabel(name, fontsize=10)
    for ax, key in zip(axes[0], sets, strict=True):
        ax.set_title(SETS[key], fontsize=10)
    return fig
