"""From labelled arrays to seaborn: long frames, and the two drawings of models that it lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

NOT_COMPUTED = "Not computed in this run: other models or another profile have it."
Groups = Mapping[str, tuple[str, Any, str]]
"""Group of models -> its name in legends, its colour, its marker (see `style.GROUPS`)."""


def long_frame(values: xr.DataArray, name: str = "value") -> pd.DataFrame:
    """One row per value that exists, with a column for each coordinate: what seaborn draws from."""
    return values.rename(name).to_dataframe().reset_index().dropna(subset=[name])


def label(results: xr.Dataset | xr.DataArray, model: str) -> str:
    """How readers call a model."""
    return str(results["label"].sel(model=model).item())


def group(results: xr.Dataset | xr.DataArray, model: str) -> str:
    """Which group of the chapter a model belongs to."""
    return str(results["group"].sel(model=model).item())


def in_groups(results: xr.Dataset, *groups: str) -> list[str]:
    """The models of these groups in the order of the results; of all where none is named."""
    models, of = results["model"].values, results["group" if groups else "model"].values
    return [str(m) for m, one in zip(models, of, strict=True) if not groups or one in groups]


def seeds_and_medians(
    ax: Axes,
    frame: pd.DataFrame,
    *,
    value: str,
    by: str,
    hue: str,
    groups: Groups,
    order: Sequence[str],
    hollow: bool = False,
    shift: float = 0.0,
) -> None:
    """Rows of points, one for each seed, and the median of each row as a bar; horizontal, the first
    row on top.

    Parameters
    ----------
    frame
        Long, with the columns `value`, `by` (the row) and `hue` (the group).
    hollow
        For a second condition.
    shift
        How far below its row all is drawn, in rows: two conditions can stand apart.
    """
    there, palette = {*ax.lines}, {name: look[1] for name, look in groups.items()}
    bar = {"marker": "|", "markersize": 12, "linestyle": "none", "legend": False, "zorder": 2}
    center = {"estimator": "median", "errorbar": None, "ax": ax, "order": order}
    sns.pointplot(frame, x=value, y=by, hue=hue, palette=palette, **center, **bar)
    for bars in {*ax.lines} - there:
        bars.set_ydata(np.add(bars.get_ydata(), shift))
    for name, (_, color, marker) in groups.items():
        one = frame.loc[(frame[hue] == name) & frame[by].isin(order)]
        rows = np.array([[*order].index(row) for row in one[by]], int)
        look = {"marker": marker, "s": 16, "linewidth": 0.7, "zorder": 3}
        face = "none" if hollow else color
        # All rows at once: seaborn's `stripplot` draws each of its own, which takes seconds.
        ax.scatter(one[value], rows + shift + _jitter(rows), fc=face, ec=color, **look)
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
    looks = [look for name, look in groups.items() if name in set(names)]
    return [Line2D([], [], color=c, marker=m, ls="", label=text, ms=5) for text, c, m in looks]


def empty(said: str) -> Figure:
    """A figure that says why there is none: the reader asked for other models."""
    fig, ax = plt.subplots(figsize=(5, 0.6))
    ax.text(0, 0.5, said, va="center")
    ax.set_axis_off()
    return fig


def some(found: Any) -> Any:
    """The models that are there, of those a figure shows; KeyError where none is."""
    if not len(found):
        raise KeyError("none of them")
    return found


def otherwise(say: Callable[[str], Any]) -> Callable[[Callable], Callable]:
    """A decorator: where results lack what is shown, which is a KeyError, `say` says so."""

    def decorate(show: Callable) -> Callable:
        @wraps(show)
        def shown(*args: Any, **kwargs: Any) -> Any:
            try:
                return show(*args, **kwargs)
            except KeyError:
                return say(NOT_COMPUTED)

        return shown

    return decorate


if_computed = otherwise(empty)
