"""The atlas of atoms: what they draw, and the digits that use them (VN App. I).

`results` as in `figures.selection`; its atlas is of the first seed of the default network.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from vnlib.figures.style import DIVERGING, PALETTE, bare

TITLES = {"most": "used most", "middle": "in the middle", "least": "used least"}


def atlas(results: xr.Dataset, layer: int) -> plt.Figure:
    """Atoms of one layer in three bands: drawing, the two images with the largest coefficients, use by digit."""
    found = entries(results, layer)
    if found is None:
        fig, ax = plt.subplots(figsize=(6, 1))
        ax.axis("off")
        ax.text(0.5, 0.5, "No atlas was made of these networks.", ha="center", va="center")
        return fig
    count = found.sizes["place"]
    fig = plt.figure(figsize=(10.5, 7.6))
    parts = fig.subfigures(len(TITLES), 1)
    highest = float(found["atlas_profile"].max())
    for part, (band, title) in zip(parts, TITLES.items(), strict=True):
        axes = part.subplots(3, count, squeeze=False, height_ratios=(1.5, 1, 0.9))
        part.supylabel(title, fontsize=9)
        for place in range(count):
            _atom(axes[:, place], found.sel(band=band).isel(place=place), highest, place == 0)
    return fig


def entries(results: xr.Dataset, layer: int) -> xr.Dataset | None:
    """The atlas of a layer (band, place), of the network and seed that have one; None where there is none."""
    wanted = [str(name) for name in results if str(name).startswith("atlas")]
    if not wanted or layer not in results["layer"].values:
        return None
    every = results[wanted].sel(layer=layer)
    there = every["atlas_atom"].notnull().any(("band", "place"))
    for model in every["model"].values:
        for seed in every["seed"].values:
            if bool(there.sel(model=model, seed=seed)):
                return every.sel(model=model, seed=seed).dropna("place", how="all", subset=["atlas_atom"])
    return None


def _atom(axes: np.ndarray, atom: xr.Dataset, highest: float, first: bool) -> None:
    """One column: the drawing, its two images side by side, its bars."""
    bare(axes[0], f"{100 * float(atom['atlas_use']):.0f} %", 8)
    axes[0].imshow(atom["atlas_drawing"], cmap=DIVERGING, vmin=-1, vmax=1)
    pair = np.concatenate(list(atom["atlas_examples"].values), axis=1)
    bare(axes[1]).imshow(pair, cmap="gray_r", vmin=0, vmax=1)
    digits = atom["digit"].values
    axes[2].bar(digits, 100 * atom["atlas_profile"].fillna(0), color=PALETTE[0], width=0.8)
    axes[2].set_ylim(0, 100 * highest)
    axes[2].set_xticks(digits, [str(d) for d in digits], fontsize=5.5)
    axes[2].tick_params(axis="x", length=0, pad=1)
    axes[2].tick_params(axis="y", labelsize=6)
    if first:
        axes[2].set_ylabel("use [%]", fontsize=7)
    else:
        axes[2].set_yticklabels([])
