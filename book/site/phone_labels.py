"""Texts of a figure for a phone: legends below it, long words broken or turned, and which texts run into each other."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from itertools import combinations, pairwise
from math import ceil
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import VPacker
from matplotlib.text import Text
from matplotlib.ticker import ScalarFormatter
from matplotlib.transforms import Bbox

WIDTH = 4.4
"""Inches of a figure; at this width labels of 9 pt have the 9 pixels that they need."""
SIDE = "outside lower center"


def legend_below(axes: Axes) -> None:
    """A legend beside its panel goes below the figure."""
    legend: Any = axes.get_legend()
    if legend is None or not isinstance(axes.figure, Figure):
        return
    beside = legend.get_bbox_to_anchor().width == 0 and legend._bbox_to_anchor is not None
    if not beside:
        return
    handles = list(legend.legend_handles)
    names = [text.get_text() for text in legend.get_texts()]
    size = legend.get_texts()[0].get_fontsize() if names else None
    title = legend.get_title().get_text() or None
    legend.remove()
    made = axes.figure.legend(
        handles, names, loc=SIDE, ncols=2, fontsize=size, title=title, frameon=False
    )
    if size:
        made.get_title().set_fontsize(size)


def one_legend(figure: Figure) -> bool:
    """Join the legends of a figure, which would lie upon each other; False where one has a title."""
    legends: list[Any] = list(figure.legends)
    if len(legends) > 1:
        if any(one.get_title().get_text() for one in legends):
            return False
        first, *others = legends
        for one in others:
            first._legend_handle_box._children += one._legend_handle_box.get_children()
            first.texts += one.get_texts()
            one.remove()
    return True


def narrow_legend(legend: Any) -> None:
    """Set the entries of a figure's legend in as many columns as fit, below the figure."""
    figure = legend.figure
    box, size = legend._legend_handle_box, legend._fontsize
    items = [one for column in box.get_children() for one in column.get_children()]
    for columns in range(min(len(items), 4), 0, -1):
        per = ceil(len(items) / columns)
        packed = []
        for start in range(0, len(items), per):
            one = VPacker(
                pad=0,
                sep=legend.labelspacing * size,
                align="baseline",
                children=items[start : start + per],
            )
            one.set_figure(figure)
            packed.append(one)
        box._children = packed
        if legend.get_window_extent().width <= 1.02 * WIDTH * figure.dpi:
            break
    legend.set_bbox_to_anchor(None)
    legend.set_loc("lower center")
    legend._outside_loc = "lower"


def wrap(figure: Figure) -> bool:
    """Break titles and labels of axes that are longer than their room; whether there were any."""
    room, found = figure.bbox.width, False
    rows = [round(one.get_position().y0, 3) for one in figure.axes]
    for axes, row in zip(figure.axes, rows, strict=True):
        inside, parts = axes.get_window_extent(), vars(axes)
        middle = inside.x0 + inside.width / 2
        free = 0.95 * inside.width if rows.count(row) > 1 else 2 * min(middle, room - middle)
        for text in (axes.title, axes.xaxis.label):
            found |= break_text(text, text.get_window_extent().width, free)
        text = parts["_left_title"]
        found |= break_text(text, text.get_window_extent().width, max(free, room - inside.x0))
        label = axes.yaxis.label
        found |= break_text(label, label.get_window_extent().height, inside.height)
        names = axes.get_yticklabels()
        if any(one.get_window_extent().width > 0.42 * room and _breakable(one) for one in names):
            found |= _names(axes)
        boxes = [(text, text.get_window_extent()) for text in axes.texts]
        heads = sorted(boxes, key=lambda head: (round(head[1].y0), head[1].x0))
        close = [
            {one, other}
            for (one, left), (other, right) in pairwise(heads)
            if round(left.y0) == round(right.y0) and over(left, right)
        ]
        for text in set().union(*close):
            found |= _formula(text)
    for name in ("_suptitle", "_supxlabel"):
        text = getattr(figure, name, None)
        if text is not None:
            found |= break_text(text, text.get_window_extent().width, room)
    return found


def _formula(text: Text) -> bool:
    """Break a formula after its sums or products; whether it has any."""
    before = text.get_text()
    sign = "+" if "+" in before else "*"
    text.set_text(re.sub(rf"\{sign}(?=\S)", f"{sign}\n", before))
    return text.get_text() != before


def _names(axes: Axes) -> bool:
    """Break the long names of the rows of a panel; whether there were any."""
    if not has_names(axes):
        return False
    before = axes.get_yticklabels()
    looks: list[Any] = [(t.get_fontsize(), t.get_fontweight(), t.get_color()) for t in before]
    texts = [one.get_text() for one in before]
    broken = ["\n".join(textwrap.wrap(one, 24)) for one in texts]
    axes.set_yticks(axes.get_yticks(), broken)
    for one, (size, weight, color) in zip(axes.get_yticklabels(), looks, strict=True):
        one.set(fontsize=size, fontweight=weight, color=color)
    if broken == texts:
        return False
    counts = [one.count("\n") + 1 for one in broken]
    most = max((a + b) / 2 for a, b in pairwise([*counts, 1]))
    lines = (1.2 * most + 0.4) * looks[0][0] / 72  # inches that names need from one to the next
    room = axes.get_window_extent().height / axes.figure.dpi / abs(np.diff(axes.get_ylim())[0])
    if isinstance(axes.figure, Figure) and lines > room > 0:
        axes.figure.set_figheight(axes.figure.get_figheight() * lines / room)
    return True


def _breakable(text: Text) -> bool:
    return "$" not in text.get_text() and " " in text.get_text()


def break_text(text: Text, length: float, room: float) -> bool:
    """Break a text of some length in pixels that has no room; whether it was broken."""
    if length <= room or room <= 0 or not _breakable(text):
        return False
    before = text.get_text()
    lines = before.splitlines()
    most = max(8, int(max(map(len, lines)) * room / length))
    text.set_text(
        "\n".join(
            part
            for one in lines
            for part in textwrap.wrap(one, most, break_long_words=False) or [""]
        )
    )
    return text.get_text() != before


def turn(figure: Figure) -> bool:
    """Turn the names below a panel where they run into each other; whether some did."""
    found = False
    for axes in figure.axes:
        texts = shown_ticks(axes.xaxis) if axes.axison else []
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        if not any(over(a, b) for a, b in pairwise(boxes)):
            continue
        formatter = axes.xaxis.get_major_formatter()
        if any(re.match("[^\\W\\d_]{2}", text.get_text()) for text in texts):
            axes.tick_params(axis="x", rotation=90)
            plt.setp(axes.get_xticklabels(), ha="center", va="top", rotation_mode="default")
        elif isinstance(formatter, ScalarFormatter) and axes.get_xscale() == "linear":
            axes.locator_params(axis="x", nbins=4)
        else:
            continue
        found = True
    return found


def has_names(axes: Axes) -> bool:
    """Whether the rows of a panel have names, not numbers."""
    return any(re.match("[^\\W\\d_]{2}", one.get_text()) for one in axes.get_yticklabels())


def over(one: Bbox, other: Bbox) -> bool:
    """Whether two labels cover each other by more than their margins."""
    shared = Bbox.intersection(one, other)
    return (
        shared is not None
        and shared.width > 2
        and shared.height > 0.25 * min(one.height, other.height)
    )


def _shown(figure: Figure) -> list[Bbox]:
    """Where the texts of axes, titles and legends are."""
    texts: list[Text] = []
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        ticks = shown_ticks(axes.xaxis) + shown_ticks(axes.yaxis) if axes.axison else []
        labels = [axes.xaxis.label, axes.yaxis.label] if axes.axison else []
        texts += [*ticks, *labels, axes.title, *axes.texts]
        texts += legend.get_texts() if (legend := axes.get_legend()) else []
    for legend in figure.legends:
        texts += legend.get_texts()
    seen = [text for text in texts if text.get_visible() and text.get_text().strip()]
    boxes = [text.get_window_extent() for text in seen]
    return [one for one in boxes if one.width and one.height]


def shown_ticks(axis: Any) -> list[Text]:
    """The names of the ticks that an axis shows."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-6 * (high - low)
    major = axis.get_major_ticks()
    return [t.label1 for t in major if low - slack <= t.get_loc() <= high + slack]


def clashes(figure: Figure) -> int:
    """How many pairs of labels cover each other."""
    rows: dict[int, list[int]] = defaultdict(list)
    boxes = _shown(figure)
    for number, one in enumerate(boxes):
        for band in range(int(one.y0 // 50), int(one.y1 // 50) + 1):
            rows[band].append(number)
    pairs = {pair for band in rows.values() for pair in combinations(band, 2)}
    return sum(over(boxes[a], boxes[b]) for a, b in pairs)
