"""The same figure for a phone: panels below each other instead of side by side, labels as large as
they are on a wide screen, legends below.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from book.site.phone_labels import WIDTH, begin_left, clashes, spread, turn, wrap
from book.site.phone_legends import legends_below, narrow_legend, one_legend
from book.site.phone_panels import MANY, TALLEST, arrange
from book.site.phone_tables import bar_below, cut_table
from vnlib.plots.style import RAISED

COLUMN = 342
"""CSS pixels of the text on a phone of 390."""
LEAST = 9
"""CSS pixels of the smallest label."""
MOST = 100
"""Panels; more would take too long to arrange."""
HEAVY = 150_000
"""Characters of marks and lines, by an estimate."""
FINE = 130
"""Points of a picture per inch, more than one to a CSS pixel."""


def rearrange(figure: Figure) -> bool:
    """Lay a figure out for a phone, in place; whether it can be read then. If not, it is in no order.

    Panels are arranged anew in as many columns as fit (see `phone_panels`). One that comes to the left
    side gets the labels of the one that was there.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure.draw_without_rendering()  # texts know their size in pixels, not in points of a drawing
    before = clashes(figure)
    if figure.subfigs or not 0 < len(figure.axes) <= MOST:
        return False
    _enlarge(figure)
    cut_table(figure)
    if len(figure.axes) > MANY:  # each column counts
        for one in list(figure.axes):
            if (told := vars(one).get("_colorbar_info")) and told["location"] == "right":
                bar_below(vars(one)["_colorbar"], told["parents"])
    _enlarge(figure)
    if not arrange(figure):
        return False
    _lay_out(figure)
    legends_below(figure)
    if not one_legend(figure):
        return False
    for axes in figure.axes:
        begin_left(axes)
    _lay_out(figure)
    for legend in figure.legends:
        narrow_legend(legend)
    if figure.legends:  # panels keep their height
        more = sum(one.get_window_extent().height for one in figure.legends) / figure.dpi
        figure.set_figheight(figure.get_figheight() + more)
        _lay_out(figure)
    for _ in range(2):  # what is wrapped or turned takes room from the rest
        if not wrap(figure) | turn(figure):
            break
        _lay_out(figure)
    for _ in range(2):
        if not spread(figure) | turn(figure):
            break
        _lay_out(figure)
    more = figure.get_tightbbox().width - WIDTH  # what stands beside panels
    if 0.1 < more < WIDTH / 3:
        figure.set_figwidth(WIDTH - more)
        _lay_out(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure.draw_without_rendering()  # entries of new legends know their places only then
    seen = _readable(figure, before)  # at the size for which the drawing was laid out
    _lighten(figure)
    return seen


def _enlarge(figure: Figure) -> None:
    least = LEAST * 72 * (WIDTH + 0.2) / COLUMN
    for text in figure.findobj(Text):
        more = RAISED if "$" in text.get_text() else 1
        text.set_fontsize(max(text.get_fontsize(), least / more))


def _lay_out(figure: Figure) -> None:
    if engine := figure.get_layout_engine():
        with warnings.catch_warnings():  # where there is no room it is said by `_readable`
            warnings.simplefilter("ignore", UserWarning)
            engine.execute(figure)


def _lighten(figure: Figure) -> None:
    """Have very many marks and lines drawn as points of a picture; all else stays a drawing."""
    parts: dict[Any, int] = {}
    drawn: list[Any] = [part for axes in figure.axes for part in axes.get_children()]
    for one in drawn:
        if isinstance(one, Line2D):
            parts[one] = 300 + len(np.asarray(one.get_xydata())) * (
                70 if one.get_marker() != "None" else 20
            )
        elif isinstance(one, Collection):
            outlines = sum(len(np.asarray(path.vertices)) for path in one.get_paths())
            parts[one] = 110 * len(np.asarray(one.get_offsets())) + 20 * outlines
    if sum(parts.values()) > HEAVY:
        for one in parts:
            one.set_rasterized(True)
        figure.set_dpi(FINE)


# --- Whether it can be read -----------------------------------------------------------------------


def _readable(figure: Figure, before: int) -> bool:
    """Whether no more labels cover each other than `before`, nothing is cut off and panels have room."""
    whole = figure.get_tightbbox()
    small = whole.width <= WIDTH + 0.25 and figure.get_figheight() <= 1.2 * TALLEST
    return small and _wide(figure.axes) and clashes(figure) <= before + 1


def _wide(axes: Iterable[Axes]) -> bool:
    """Whether all panels have room."""
    panels = [one for one in axes if one.get_subplotspec() is not None and one.axison]
    return all(one.get_window_extent().width / one.figure.dpi >= 0.6 for one in panels)
