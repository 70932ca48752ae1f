"""Models as rows of points, and their legends; each has the look that `book/models.toml` gives its
name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D

from vnlib.plots.frames import group, label
from vnlib.plots.style import look

MOST = 3  # marks of a group in a legend
Groups = Mapping[str, tuple[str, Any, str]]
"""Group of models -> its name in legends, its colour, its marker."""


class Members(tuple):
    """The marks of a group of models, side by side before its name."""

    label = ""

    def get_label(self) -> str:
        """The name, where matplotlib asks for it."""
        return self.label


Legend.update_default_handler_map({Members: HandlerTuple(ndivide=None, pad=0)})


def members(title: str, names: Iterable[str]) -> list[Members]:
    """The legend entry of a group, with the marks of the models of these names; none without any."""
    marks = dict.fromkeys(look(name) for name in names)
    found = Members(Line2D([], [], color=c, marker=m, ls="", ms=5) for c, m in [*marks][:MOST])
    found.label = title
    return [found] if found else []


def legible(ax: Axes, columns: int) -> None:
    """Numbers of a heat map in white or black, whichever has more contrast with its cell."""
    colors = ax.collections[0].get_facecolors()
    for text in ax.texts:
        column, row = map(int, text.get_position())
        light = sns.utils.relative_luminance(colors[row * columns + column])
        text.set_color("black" if light > 0.18 else "white")


def of_groups(
    results: xr.Dataset | xr.DataArray, models: Sequence[str], names: Mapping[str, str]
) -> list[Members]:
    """Legend entries of the groups of these models; names: group -> what readers call it."""
    of = {key: [label(results, m) for m in models if group(results, m) == key] for key in names}
    return [one for key, title in names.items() for one in members(title, of[key])]


def looks(results: xr.Dataset | xr.DataArray, models: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Model -> colour and marker."""
    return {model: look(label(results, model)) for model in models}


def each(results: xr.Dataset | xr.DataArray, models: Sequence[str]) -> Groups:
    """Models as groups of their own."""
    return {model: (label(results, model), *one) for model, one in looks(results, models).items()}


def of_models(
    results: xr.Dataset | xr.DataArray, models: Sequence[str], **style: object
) -> list[Line2D]:
    """Legend entries of models."""
    given = {"ls": "", "ms": 5} | style
    named = looks(results, models)
    return [
        Line2D([], [], **({"color": c, "marker": k, "label": label(results, m)} | given))
        for m, (c, k) in named.items()
    ]


def seeds_and_medians(
    ax: Axes,
    frame: pd.DataFrame,
    *,
    value: str,
    by: str,
    order: Sequence[str],
    hue: str = "",
    groups: Groups | None = None,
    hollow: bool = False,
    shift: float = 0.0,
) -> None:
    """Rows of points, one for each seed, and the median of each row as a bar; horizontal, the first
    row on top.

    Parameters
    ----------
    frame
        Long, with the columns `value`, `by` (the row) and `hue` (the group). Without groups, rows
        are models, each with its own look.
    hollow
        For a second condition.
    shift
        How far below its row all is drawn, in rows: two conditions can stand apart.
    """
    hue, groups = (hue, groups) if groups else (by, {name: (name, *look(name)) for name in order})
    there, palette = {*ax.lines}, {name: one[1] for name, one in groups.items()}
    bar = {"marker": "|", "markersize": 12, "linestyle": "none", "legend": False, "zorder": 2}
    center = {"estimator": "median", "errorbar": None, "ax": ax, "order": order}
    sns.pointplot(frame, x=value, y=by, hue=hue, palette=palette, **center, **bar)
    for bars in {*ax.lines} - there:
        bars.set_ydata(np.add(bars.get_ydata(), shift))
    for name, (_, color, marker) in groups.items():
        one = frame.loc[(frame[hue] == name) & frame[by].isin(order)]
        rows = np.array([[*order].index(row) for row in one[by]], int)
        face = "none" if hollow else color
        # All rows at once: seaborn's `stripplot` draws each of its own, which takes seconds.
        shape = {"marker": marker, "s": 16, "linewidth": 0.7, "zorder": 3}
        ax.scatter(one[value], rows + shift + _jitter(rows), fc=face, ec=color, **shape)
    ax.set(ylabel="")


def _jitter(rows: np.ndarray) -> np.ndarray:
    """How far points that share their row are moved apart; the same each time."""
    shared = np.bincount(rows)[rows] > 1
    places = [place for place in np.argsort(rows, kind="stable") if shared[place]]
    moves = np.zeros(len(rows))
    moves[places] = np.random.RandomState(0).uniform(-0.15, 0.15, len(places))
    return moves


def between_groups(ax: Axes, of: Sequence[str], *, margin: float = 0.6) -> None:
    """Lines between rows of different groups; of: the group of each row, the first on top."""
    ax.set_ylim(len(of) - 1 + margin, -margin)
    ax.grid(axis="x", color="0.92", lw=0.6)
    for number in np.flatnonzero([a != b for a, b in pairwise(of)]):
        ax.axhline(number + 0.5, color="0.75", lw=0.6)


def entries(groups: Groups, names: Sequence[str]) -> list[Line2D]:
    """Legend entries of the groups named, in the order of `groups`."""
    looks = [one for name, one in groups.items() if name in set(names)]
    return [Line2D([], [], color=c, marker=m, ls="", label=text, ms=5) for text, c, m in looks]
