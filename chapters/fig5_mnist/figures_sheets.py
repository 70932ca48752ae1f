"""Contact sheets of the two image benchmarks: a row for each set, a few of its samples (VN
Fig. 5).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr
from jaxtyping import Float
from matplotlib.image import AxesImage

from chapters.fig5_mnist.names import said
from vnlib.plots.style import DIVERGING

GAP = 2  # px between images
# inches: side of an image, room for the names and the colour bar, for the titles
CELL, LABELS, EDGE = 0.66, 2.0, 0.5
INK = "Greys"  # of pictures without negative values
MOST = 2.0  # ink beyond it has the last colour, so that a single digit is not too pale
FRAMES = ("before", "after", "image")

Grid = Float[np.ndarray, "row column y x"]


def digits(ds: xr.Dataset, *, columns: int = 8) -> plt.Figure:
    """The first samples of each set of composed or damaged digits; where ink is negative, in the
    other colour.

    Colours end at twice the full ink of a digit.

    Parameters
    ----------
    ds
        `image` (set, sample, y, x) and the coordinate `family` (set).
    columns
        How many samples; a dataset that has fewer shows those.

    Raises
    ------
    ValueError
        If columns is below 1 or ds has no set.
    """
    grid = _first(ds, "image", columns, "columns")
    signed = grid.min() < 0
    fig, ax = _axis(grid, ds)
    top = min(float(np.abs(grid).max()) or 1.0, MOST)
    picture = _show(ax, grid, DIVERGING if signed else INK, (-top if signed else 0, top))
    families = ds["family"].values
    for row in np.flatnonzero(families[1:] != families[:-1]) + 1:
        ax.axhline(_starts(grid, 0)[row] - (GAP + 1) / 2, color="0.2", lw=1)
    _bar(fig, ax, picture, "ink [1: full ink of one digit]")
    return fig


def motions(ds: xr.Dataset, *, samples: int = 3) -> plt.Figure:
    """The first samples of each set of motions: before, after (black: full ink), and the motion
    signal between them.

    Parameters
    ----------
    ds
        `image`, `before` and `after` (set, sample, y, x).
    samples
        How many, three pictures each; a dataset that has fewer shows those.

    Raises
    ------
    ValueError
        If samples is below 1 or ds has no set.
    """
    frames = np.stack([_first(ds, name, samples, "samples") for name in FRAMES], axis=2)
    grid = frames.reshape(len(frames), -1, *frames.shape[3:])  # before, after, signal, before, ...
    signal = np.arange(grid.shape[1]) % len(FRAMES) == len(FRAMES) - 1
    fig, ax = _axis(grid, ds)
    _show(ax, np.where(signal[:, None, None], np.nan, grid), INK, (0, 1))
    picture = _show(ax, np.where(signal[:, None, None], grid, np.nan), DIVERGING, (-1, 1))
    starts, side = _starts(grid, 1), grid.shape[3]
    ax.set_xticks(
        starts + (side - 1) / 2,
        ["before", "after", "signal"] * (len(starts) // len(FRAMES)),
        fontsize=9,
        rotation=45,  # narrow columns on phones
        ha="left",
        rotation_mode="anchor",
    )
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    for start in starts[len(FRAMES) :: len(FRAMES)]:
        ax.axvline(start - (GAP + 1) / 2, color="0.2", lw=1)
    _bar(fig, ax, picture, "motion signal [ink after minus ink before]")
    return fig


def _first(ds: xr.Dataset, name: str, count: int, asked: str) -> Grid:
    """The first `count` samples of each set."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"{asked} must be an integer >= 1, got {count!r}")
    values = ds[name].transpose("set", "sample", "y", "x").values[:, :count]
    if not values.size:
        raise ValueError(f"ds must have a set and a sample, got sizes {dict(ds.sizes)}")
    return values


def _starts(grid: Grid, axis: int) -> np.ndarray:
    """The first pixel row (axis 0) or column (axis 1) of each image in the mosaic."""
    return np.arange(grid.shape[axis]) * (grid.shape[axis + 2] + GAP)


def _axis(grid: Grid, ds: xr.Dataset) -> tuple[plt.Figure, plt.Axes]:
    """A figure with one axis for the mosaic, the names of the sets beside its rows."""
    rows, columns = grid.shape[:2]
    fig, ax = plt.subplots(figsize=(LABELS + CELL * columns, EDGE + CELL * rows))
    ax.set_facecolor("0.86")  # shows as lines between the images
    ax.set_yticks(
        _starts(grid, 0) + (grid.shape[2] - 1) / 2,
        [said(str(name)) for name in ds["set"].values],
        fontsize=10,
    )
    ax.set_xticks([])
    ax.tick_params(length=0)
    sns.despine(ax=ax, left=True, bottom=True)
    return fig, ax


def _show(ax: plt.Axes, grid: Grid, cmap: str, limits: tuple[float, float]) -> AxesImage:
    """The images as one mosaic; what is NaN stays open."""
    rows, columns, height, width = grid.shape
    mosaic = np.pad(grid, ((0, 0), (0, 0), (0, GAP), (0, GAP)), constant_values=np.nan)
    mosaic = mosaic.transpose(0, 2, 1, 3).reshape(rows * (height + GAP), columns * (width + GAP))[
        :-GAP, :-GAP
    ]
    return ax.imshow(mosaic, cmap=cmap, vmin=limits[0], vmax=limits[1], interpolation="nearest")


def _bar(fig: plt.Figure, ax: plt.Axes, picture: AxesImage, label: str) -> None:
    values, (low, high) = picture.get_array(), picture.get_clim()
    below, above = values.min() < low, values.max() > high
    extend = (("neither", "max"), ("min", "both"))[int(below)][int(above)]
    height = fig.get_size_inches()[1]
    bar = fig.colorbar(
        picture, ax=ax, extend=extend, shrink=min(1.0, 3.5 / height), aspect=25, pad=0.02
    )
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=9)
