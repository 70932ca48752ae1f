"""The example of appendix B: one digit, the atoms of its code, and the weights of one patch."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.patches import Rectangle

from vnlib.plots.statistics import short
from vnlib.plots.style import DIVERGING, PALETTE, image_axes

HEAD = 0


def example(results: xr.Dataset) -> plt.Figure:
    """The digit that is shown, first seed: its code, an atom a cell; then the digit as attention
    sees it, and the weights that one hidden patch gives to all, a patch a cell.
    """
    one = results.isel(seed=0)
    fig, axes = plt.subplots(1, 4, figsize=(9.4, 2.9))
    images = {"input": "digit", "visible": "patches that attention sees"}
    for ax, (name, title) in zip(axes[::2], images.items(), strict=True):
        pixels = np.ma.masked_invalid(one["shown"].sel(image=name))
        image_axes(ax, title, 11).imshow(pixels, vmin=0, vmax=1, cmap="gray_r")
        ax.set_facecolor("0.8")
    code = one["shown_code"].values
    atoms = square(np.where(code == 0, np.nan, code) / np.abs(code).max())
    image_axes(axes[1], "its code", 11)
    axes[1].pcolormesh(atoms, cmap=DIVERGING, vmin=-1, vmax=1, edgecolor="0.85", lw=0.4)
    axes[1].set_xlabel(f"{np.count_nonzero(code)} of {code.size} atoms in use")
    weights = one["shown_weights"].isel(head=HEAD, query=hidden(one)).values
    image_axes(axes[3], "weights of the framed patch", 11)
    axes[3].pcolormesh(square(weights), cmap="Greys", vmin=0, vmax=1, edgecolor="0.85", lw=0.4)
    for place, weight in enumerate(weights):
        y, x = divmod(place, round(len(weights) ** 0.5))
        color = "white" if weight > 0.5 else "black"
        axes[3].text(x + 0.5, y + 0.5, short(100 * weight), ha="center", va="center", c=color)
    used = np.count_nonzero(weights)
    axes[3].set_xlabel(f"{used} of {weights.size} patches in use (weights in %)")
    for ax in axes[1::2]:
        ax.invert_yaxis()
        ax.set_aspect("equal")
    patch = one.sizes["x"] // square(weights).shape[0]
    y, x = divmod(hidden(one), square(weights).shape[0])
    corner = (x * patch - 0.5, y * patch - 0.5)
    axes[2].add_patch(Rectangle(corner, patch, patch, fill=False, ec=PALETTE[3], lw=2))
    return fig


def square(values: np.ndarray) -> np.ndarray:
    """Cells in rows, as many columns as rows or a few more; empty ones at the end."""
    side = int(np.ceil(values.size**0.5))
    rows = int(np.ceil(values.size / side))
    return np.pad(values, (0, rows * side - values.size), constant_values=np.nan).reshape(rows, -1)


def hidden(one: xr.Dataset) -> int:
    """The hidden patch in the middle of those that attention does not see."""
    side = round(one.sizes["key"] ** 0.5)
    unseen = np.isnan(one["shown"].sel(image="visible").values)
    patch = unseen.shape[0] // side
    found = np.flatnonzero(unseen.reshape(side, patch, side, patch).all((1, 3)))
    return int(found[len(found) // 2])
