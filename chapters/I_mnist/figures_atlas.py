"""The atlas of atoms: what they draw, and the digits that use them (VN App. I).

Results as in `chapters.I_mnist.figures`; its atlas is of the first seed of the default network.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from vnlib.plots.frames import if_computed
from vnlib.plots.style import DIVERGING, PALETTE, image_axes

WIDE, TALL = 7.8, (0.88, 0.48)  # inches that a row of atoms has, and a row of drawings and of pairs
TITLES = {"most": "used most", "middle": "in the middle", "least": "used least"}


@if_computed
def atlas(results: xr.Dataset, layer: int) -> plt.Figure:
    """Atoms of one layer in three bands: drawing, the two images with the largest coefficients, use
    by digit.
    """
    found = entries(results).sel(layer=layer)
    found = found.dropna("place", how="all", subset=["atlas_atom"])
    # One axis for a whole row: an axis per atom would take seconds to lay out.
    fig, axes = plt.subplots(9, 1, figsize=(8.4, 6.9), height_ratios=(*TALL, 0.4) * 3, sharex=True)
    for rows, (band, title) in zip(axes.reshape(3, 3), TITLES.items(), strict=True):
        _band(rows, found.sel(band=band), title, float(found["atlas_profile"].max()))
    return fig


@if_computed
def example(results: xr.Dataset, band: str = "middle", count: int = 3) -> plt.Figure:
    """Some atoms of every layer: drawing, the images with the largest coefficients, use by digit."""
    found = entries(results).sel(band=band).isel(place=slice(count))
    found = found.dropna("layer", how="all", subset=["atlas_atom"])
    layers = found["layer"].values
    fig = plt.figure(figsize=(10.4, 3.4))
    highest = 100 * float(found["atlas_profile"].max())
    wide = (1.12, *[1] * (len(layers) - 1))  # the first has the labels
    parts = fig.subfigures(1, len(layers), squeeze=False, width_ratios=wide)[0]
    for part, layer in zip(parts, layers, strict=True):
        part.suptitle(f"layer {layer}", fontsize=10)
        one = found.sel(layer=layer).dropna("place", subset=["atlas_atom"])
        grid = part.subplots(3, one.sizes["place"], height_ratios=(1.1, 0.6, 0.6), squeeze=False)
        for column, place in zip(grid.T, range(one.sizes["place"]), strict=True):
            atom = one.isel(place=place)
            image_axes(column[0]).imshow(atom["atlas_drawing"], cmap=DIVERGING, vmin=-1, vmax=1)
            pair = np.concatenate(list(atom["atlas_examples"].values), axis=1)
            image_axes(column[1]).imshow(pair, cmap="gray_r", vmin=0, vmax=1)
            column[2].bar(one["digit"], 100 * np.nan_to_num(atom["atlas_profile"]), width=0.8)
            column[2].set(xticks=[0, 5, 9], ylim=(0, highest), yticks=[])
            column[2].tick_params(labelsize=8)
    axes = fig.axes
    for ax, said in zip(axes[:: found.sizes["place"]], ("atom", "used for", "use"), strict=False):
        ax.set_ylabel(said, fontsize=9)
    axes[2 * found.sizes["place"]].set(yticks=[0, round(highest, -1)], ylabel="use [%]")
    return fig


def row_of(pictures: Sequence[np.ndarray], gap: int) -> np.ndarray:
    """Pictures (y, x) of one size side by side, NaN in gaps that surround each of them."""
    return np.concatenate(
        [np.pad(one, ((0, 0), (gap, gap)), constant_values=np.nan) for one in pictures], axis=1
    )


def _band(rows: np.ndarray, band: xr.Dataset, title: str, highest: float) -> None:
    """Three rows of one band: drawings, pairs of digits at half the size, bars; an atom is one
    wide.
    """
    count, digits = band.sizes["place"], band["digit"].values
    pairs = [np.concatenate(list(one), axis=1) for one in band["atlas_examples"].values]
    for ax, pictures, tall, low, cmap in (
        (rows[0], band["atlas_drawing"].values, TALL[0], -1, DIVERGING),
        (rows[1], pairs, TALL[1], 0, "gray_r"),
    ):
        # Gaps that make an atom as wide as it has room, and pixels square.
        room = pictures[0].shape[0] * WIDE / count / tall
        picture = row_of(pictures, max(1, round((room - pictures[0].shape[1]) / 2)))
        image_axes(ax).imshow(
            picture, cmap=cmap, vmin=low, vmax=1, extent=(0, count, 0, 1), aspect="auto"
        )
    for place, use in enumerate(band["atlas_use"].values):
        rows[0].annotate(
            f"{100 * use:.0f} %",
            (place + 0.5, 1.02),
            xycoords=("data", "axes fraction"),
            fontsize=8,
            ha="center",
        )
        x = place + 0.06 + 0.88 * (np.arange(len(digits)) + 0.5) / len(digits)
        rows[2].bar(
            x,
            100 * np.nan_to_num(band["atlas_profile"].values[place]),
            color=PALETTE[0],
            width=0.075,
        )
        for digit, where in zip(digits[::3], x[::3], strict=True):  # all would touch
            rows[2].annotate(
                str(digit),
                (where, -0.1),
                xycoords=("data", "axes fraction"),
                fontsize=8,
                ha="center",
                va="top",
            )
    rows[0].set_ylabel(title, fontsize=9)
    rows[2].set(xlim=(0, count), ylim=(0, 100 * highest), xticks=[])
    rows[2].set_ylabel("use [%]", fontsize=8)
    rows[2].tick_params(axis="y", labelsize=8)


def entries(results: xr.Dataset) -> xr.Dataset:
    """The atlas (layer, band, place) of the network and seed that have one.

    Raises
    ------
    KeyError
        Where none has.
    """
    atlas = results[[str(name) for name in results if str(name).startswith("atlas")]]
    made = atlas["atlas_atom"].notnull().any(("layer", "band", "place"))
    runs = made.where(made, drop=True)
    if not runs.size:
        raise KeyError("an atlas")
    return atlas.sel(model=runs["model"].values[0], seed=runs["seed"].values[0])
