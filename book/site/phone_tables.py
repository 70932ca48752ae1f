"""Tables in colours for a phone: blocks of columns below each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.patches import Rectangle

from book.site.phone_labels import WIDTH

CELLS = 4
"""Points of a table in colours across a column; one with more is of pictures."""
LEAST = 0.45
"""Inches of a picture."""


def cut_table(figure: Figure) -> None:
    """Cut the only panel, a table in colours with something written in its cells, into blocks of
    columns with room for what is written, and set them below each other.
    """
    panels = [one for one in figure.axes if one.get_subplotspec() is not None]
    if len(panels) != 1:
        return
    axes: Any = panels[0]
    low, high = axes.get_xlim()
    table: list[Any] = [*axes.images, *(c for c in axes.collections if isinstance(c, QuadMesh))]
    inside = [one for one in axes.texts if low < one.get_position()[0] < high]
    columns = sorted({float(one.get_position()[0]) for one in inside})
    if len(table) != 1 or len(columns) < 6:
        return
    bottom, top = sorted(axes.get_ylim())
    written = [one for one in inside if bottom < one.get_position()[1] < top]
    need = 1.15 * max(one.get_window_extent().width for one in written) / figure.dpi
    if table[0].get_array().shape[1] > CELLS * len(columns):
        need = max(need, LEAST)
    names = [t for t in [*axes.get_yticklabels(), *axes.texts] if t not in inside]
    left = max(one.get_window_extent().width for one in names) / figure.dpi if names else 0.0
    right = max(0.0, _beyond(axes) - need / 2)
    fit = max(2, int((WIDTH - 0.1 - min(left, 0.42 * WIDTH) - right) / need))
    if fit >= len(columns):
        return
    steps = np.diff(columns)
    edges = [low, *(columns[:-1] + steps / 2), high]
    lines = [float(one.get_xdata()[0]) for one in axes.lines if _upright(one)]  # pyright: ignore
    ends = {int(np.argmin(np.abs(np.subtract(edges, one)))) for one in lines} | {len(columns)}
    cuts = [0]
    while cuts[-1] < len(columns):
        room = range(cuts[-1] + 1, min(cuts[-1] + fit, len(columns)) + 1)
        cuts.append(max((one for one in room if one in ends), default=0))
        if not cuts[-1]:  # families are too long: all blocks alike
            count = ceil(len(columns) / fit)
            cuts = [round(part * len(columns) / count) for part in range(count + 1)]
            break
    grid = GridSpec(len(cuts) - 1, 1, figure=figure)
    share = max(edges[end] - edges[start] for start, end in pairwise(cuts)) / (high - low)
    wide, tall = figure.get_size_inches()
    figure.set_size_inches(wide * share, tall * (len(cuts) - 1))
    blocks: list[Any] = [axes, *(figure.add_subplot(grid[n, 0]) for n in range(1, len(cuts) - 1))]
    for block, (start, end) in zip(blocks[1:], list(pairwise(cuts))[1:], strict=True):
        _copy(axes, block, table[0], edges[start], edges[end])
    axes.set_subplotspec(grid[0, 0])
    for one in inside:
        if one.get_position()[0] > edges[cuts[1]]:
            one.remove()
    if not isinstance(table[0], QuadMesh):
        table[0].set(**_part(table[0], low, edges[cuts[1]]), interpolation="none")
    axes.set_xlim(low, edges[cuts[1]])
    if bar := table[0].colorbar:
        bar_below(bar, blocks)
        axes.set_subplotspec(grid[0, 0])


def _beyond(axes: Any) -> float:
    """Inches to the right of its column that the longest slanted name of one takes."""
    names = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    ends = [
        one.get_window_extent().x1 - axes.transData.transform((at, 0))[0]
        for at, one in names
        if one.get_rotation() % 90
    ]
    return max(ends, default=0.0) / axes.figure.dpi


def bar_below(bar: Any, panels: Sequence[Axes]) -> None:
    """Draw a bar of colours anew, below its panels."""
    told = {"label": bar.ax.get_ylabel(), "extend": bar.extend, "ticks": bar.get_ticks()}
    told["format"] = bar.formatter
    figure, table = bar.ax.figure, bar.mappable
    bar.remove()
    figure.colorbar(table, ax=panels, location="bottom", aspect=40, pad=0.01, **told)


def _part(image: Any, start: float, end: float) -> dict[str, Any]:
    """The points of an image from `start` to `end`, and where they are."""
    whole, (left, right, bottom, top) = image.get_array(), image.get_extent()
    step = (right - left) / whole.shape[1]
    first, last = (round((one - left) / step) for one in (start, end))
    return {
        "data": whole[:, first:last],
        "extent": (left + first * step, left + last * step, bottom, top),
    }


def _upright(line: Any) -> bool:
    """Whether a line goes from the bottom to the top of its panel."""
    x, y = line.get_data()
    return len(x) == 2 and x[0] == x[1] and list(y) == [0, 1]


def _copy(axes: Any, block: Any, table: Any, start: float, end: float) -> None:
    """Draw the part of a table in colours from `start` to `end` in another panel."""
    look = {"cmap": table.get_cmap(), "norm": table.norm}
    if isinstance(table, QuadMesh):
        corners: Any = table.get_coordinates()
        block.pcolormesh(corners[..., 0], corners[..., 1], table.get_array(), **look)
    else:
        part = _part(table, start, end)
        block.imshow(part["data"], extent=part["extent"], interpolation="none", **look)
    low = axes.get_xlim()[0]
    for text in axes.texts:
        x, y = text.get_position()
        if x <= low or start < x < end:
            new = block.text(x, y, text.get_text(), ha=text.get_ha(), va=text.get_va())  # pyright: ignore
            new.update_from(text)
            new.set(transform=block.transData, x=x + (start - low) * (x <= low), clip_path=None)
            new.set_in_layout(text.get_in_layout())
    for one in axes.patches:
        if isinstance(one, Rectangle) and start <= one.get_x() < end:
            where = one.get_xy(), one.get_width(), one.get_height()
            new = Rectangle(*where)
            new.update_from(one)
            block.add_patch(new)
            new.set(transform=block.transData, clip_path=None)
    for one in axes.lines:
        look = {"color": one.get_color(), "lw": one.get_linewidth(), "ls": one.get_linestyle()}
        (x, _), (y, _) = one.get_data()
        if not _upright(one):
            block.axhline(y, **look)
        elif start < x < end:
            block.axvline(x, **look)
    for one in axes.child_axes:
        heads = zip(one.get_xticks(), one.get_xticklabels(), strict=True)
        there = [(x, text.get_text()) for x, text in heads if start < x < end]
        new = block.secondary_xaxis("top")
        new.set_xticks([x for x, _ in there], [text for _, text in there])
        new.tick_params(length=0)
        _clear(new)
    if axes.xaxis.get_ticks_position() == "top":
        block.xaxis.tick_top()
    for axis, old, span in (
        (block.xaxis, axes.xaxis, (start, end)),
        (block.yaxis, axes.yaxis, sorted(axes.get_ylim())),
    ):
        labels = old.get_ticklabels()
        there = [
            (at, one)
            for at, one in zip(old.get_ticklocs(), labels, strict=True)
            if span[0] < at < span[1]
        ]
        axis.set_ticks([at for at, _ in there], [one.get_text() for _, one in there])
        for new, (_, one) in zip(axis.get_ticklabels(), there, strict=True):
            new.set(rotation=one.get_rotation(), ha=one.get_ha(), fontsize=one.get_fontsize())
            new.set_rotation_mode(one.get_rotation_mode())
    block.tick_params(length=0)
    block.set(xlim=(start, end), ylim=axes.get_ylim(), aspect=axes.get_aspect())
    _clear(block)
    if not axes.axison:
        block.set_axis_off()


def _clear(axes: Any) -> None:
    for one in axes.spines.values():
        one.set_visible(False)
