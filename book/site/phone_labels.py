"""Texts of a figure for a phone: long ones broken or turned, names apart, and which run into each other."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from itertools import combinations, pairwise
from math import ceil
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, ScalarFormatter
from matplotlib.transforms import Bbox, blended_transform_factory

WIDTH = 4.4
"""Inches of a figure; at this width labels of 9 pt have the 9 pixels that they need."""
LINE = 0.125
"""Inches of a line of letters."""
_STAY = re.compile(r"(?<=\d) (?=%|px\b)|(?<=\w) (?=\d+$)| (?=[^][]*\])")


def wrap(figure: Figure) -> bool:
    """Break titles and labels of axes that are longer than their room; whether there were any."""
    room, found = figure.bbox.width, False
    rows = [round(one.get_position().y0, 3) for one in figure.axes]
    for axes, row in zip(figure.axes, rows, strict=True):
        inside = axes.get_window_extent()
        middle = inside.x0 + inside.width / 2
        free = 0.95 * inside.width if rows.count(row) > 1 else 2 * min(middle, room - middle)
        for text in (axes.title, axes.xaxis.label):
            found |= break_text(text, text.get_window_extent().width, free)
        found |= begin_left(axes)
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


def begin_left(axes: Any) -> bool:
    """Let a title at the left of a panel begin at the left of the figure if it is longer than the
    panel, and break it if it is longer than the figure; whether it changed. In the layout its middle
    counts.
    """
    title, inside, room = axes._left_title, axes.get_window_extent(), axes.figure.bbox.width
    wide, spec = title.get_window_extent().width, axes.get_subplotspec()
    if spec is None or spec.get_gridspec().ncols > 1:
        return break_text(title, wide, inside.width)
    if wide > room - inside.x0:
        above = axes.transAxes + axes.titleOffsetTrans
        title.set_transform(blended_transform_factory(axes.figure.transFigure, above))
        title.set_x(0.01)
    return break_text(title, wide, 0.97 * room)


def _names(axes: Axes) -> bool:
    """Break the long names of the rows of a panel; whether there were any."""
    if not has_names(axes):
        return False
    before = axes.get_yticklabels()
    looks: list[Any] = [(t.get_fontsize(), t.get_fontweight(), t.get_color()) for t in before]
    texts = [one.get_text() for one in before]
    broken = ["\n".join(_parts(one, 24)) for one in texts]
    axes.set_yticks(axes.get_yticks(), broken)
    for one, (size, weight, color) in zip(axes.get_yticklabels(), looks, strict=True):
        one.set(fontsize=size, fontweight=weight, color=color)
    return broken != texts


def spread(figure: Figure) -> bool:
    """Make a figure higher until no names of the rows of a panel touch; whether some did."""
    factor, margin = 1.0, 0.4 * LINE * figure.dpi
    for axes in figure.axes:
        names = shown_ticks(axes.yaxis) if axes.axison and has_names(axes) else []
        boxes = sorted((one.get_window_extent() for one in names), key=lambda box: box.y0)
        for one, other in pairwise(box for box in boxes if box.height > 1):
            need = (one.height + other.height) / 2 + margin
            there = (other.y0 + other.y1 - one.y0 - one.y1) / 2
            factor = max(factor, need / max(1.0, there))
    if factor > 1.01:
        figure.set_figheight(figure.get_figheight() * min(factor, 3.0))
    return factor > 1.01


def _breakable(text: Text) -> bool:
    return "$" not in text.get_text() and " " in text.get_text()


def break_text(text: Text, length: float, room: float) -> bool:
    """Break a text of some length in pixels that has no room; whether it was broken."""
    if length <= room or room <= 0 or not _breakable(text):
        return False
    before = text.get_text()
    lines = before.splitlines()
    most = max(8, int(max(map(len, lines)) * room / length))
    text.set_text("\n".join(part for one in lines for part in _even(one, most)))
    return text.get_text() != before


def _even(line: str, most: int) -> list[str]:
    """A line in as few parts of at most so many letters as it needs, which are about as long."""
    parts = _parts(line, most) or [""]
    for width in range(ceil(len(line) / len(parts)), most):
        even = _parts(line, width)
        if len(even) == len(parts):
            return even
    return parts


def _parts(line: str, most: int) -> list[str]:
    """Parts of at most so many letters, in which numbers stay with their words: "25 %", "rank 8", "[1, 2]"."""
    kept = textwrap.wrap(_STAY.sub("\u00a0", line), most, break_long_words=False)
    return [part.replace("\u00a0", " ") for part in kept]


def turn(figure: Figure) -> bool:
    """Turn the names below a panel where they run into each other, and leave out some of such numbers;
    whether there were any.
    """
    found = False
    for axes in figure.axes:
        texts = shown_ticks(axes.xaxis) if axes.axison else []
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        words = any(re.match("[^\\W\\d_]{2}", text.get_text()) for text in texts)
        gap = LINE / (2 if words else 4) * figure.dpi  # what nearly touches is read as one
        if not any(
            over(a, Bbox.from_extents(b.x0 - gap, *b.extents[1:])) for a, b in pairwise(boxes)
        ):
            continue
        formatter = axes.xaxis.get_major_formatter()
        if words:
            axes.tick_params(axis="x", rotation=90)
            plt.setp(axes.get_xticklabels(), ha="center", va="top", rotation_mode="default")
        elif isinstance(formatter, ScalarFormatter) and axes.get_xscale() == "linear":
            axes.locator_params(axis="x", nbins=4)
        elif isinstance(axes.xaxis.get_major_locator(), LogLocator):
            axes.xaxis.set_major_locator(LogLocator(numticks=4))
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
