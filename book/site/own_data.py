"""The pictures of the page "Use it on your own data", from what `book/own_data_peers.py` stored."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from book import own_data_peers as peers
from book.site import in_place
from vnlib.plots.style import DIVERGING, PALETTE, use_style

SIDE, ROWS = 8, 4  # pixels of a digit; rows of atoms
MARKERS = "o^sD"  # of the methods
PANELS = ("fit, s", "transform, µs a sample")


def atoms(learned: pd.DataFrame) -> Figure:
    """Every atom as an image, white where it is zero; learned (atom, pixel), the most used first."""
    images = learned.to_numpy().reshape(ROWS, -1, SIDE, SIDE)
    images = images / np.abs(images).max((2, 3), keepdims=True)
    framed = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    fig, ax = plt.subplots(figsize=(8.4, 2.2))
    mosaic = framed.transpose(0, 2, 1, 3).reshape(ROWS * (SIDE + 2), -1)
    ax.imshow(mosaic, cmap=DIVERGING, vmin=-1, vmax=1)
    ax.set_axis_off()
    return fig


def times(table: pd.DataFrame) -> Figure:
    """Error against the time of a fit (above) and of a transform; one column for each data set."""
    names, methods = list(dict.fromkeys(table["data"])), list(dict.fromkeys(table["method"]))
    fig, axes = plt.subplots(len(PANELS), len(names), figsize=(8.4, 4.6), sharey="col")
    for row, column in zip(axes, PANELS, strict=True):
        for ax, name in zip(row, names, strict=True):
            for method in methods:
                part = table[(table["data"] == name) & (table["method"] == method)]
                error = part["squared error / variance"]
                ax.plot(part[column], error, _marker(methods, method), color=_colour(method), ms=7)
            values = table.loc[table["data"] == name, column]
            highest = table.loc[table["data"] == name, "squared error / variance"].max()
            ax.set(xlabel=column, xlim=(0, 1.15 * values.max()), ylim=(0, 1.15 * highest))
            ax.grid(color="0.93")
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(name, fontsize=10)
    for ax in axes[:, 0]:
        ax.set_ylabel("squared error / variance", fontsize=8.5)
    handles = [
        Line2D([], [], ls="", marker=_marker(methods, one), color=_colour(one), label=one)
        for one in methods
    ]
    fig.legend(handles=handles, loc="outside lower center", ncol=2, fontsize=8.5)
    return fig


def _marker(methods: list[str], method: str) -> str:
    return MARKERS[methods.index(method)]


def _colour(method: str) -> str:
    return PALETTE[0] if method.startswith("VectorNetwork") else PALETTE[1]


def write(folder: Path, narrow: Path) -> None:
    """Draw all pictures into a folder, and those for phones into the other one."""
    use_style()
    for name, fig in {
        "own-data-atoms": atoms(pd.read_csv(peers.LEARNED)),
        "own-data-times": times(pd.read_csv(peers.FILE)),
    }.items():
        with plt.rc_context({"svg.hashsalt": name}):
            fig.savefig(folder / f"{name}.svg", metadata={"Date": None})
        for drawn in in_place.for_phones(fig).values():
            (narrow / f"{name}.phone.svg").write_text(drawn, encoding="utf-8")
        plt.close(fig)
