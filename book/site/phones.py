"""The same figure for a phone: panels below each other instead of side by side, labels as large as
they are on a wide screen, legends below.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import product
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D
from matplotlib.text import Text

from book.site.phone_labels import (
    WIDTH,
    break_text,
    clashes,
    has_names,
    legend_below,
    narrow_legend,
    one_legend,
    turn,
    wrap,
)
from book.site.phone_tables import bar_below, cut_table
from vnlib.plots.style import IN_ROWS

COLUMN = 342
"""CSS pixels of the text on a phone of 390."""
LEAST = 9
"""CSS pixels of the smallest label."""
TALLEST = 34.0
"""Inches; a taller figure would be scrolled for too long."""
NARROWEST = 1.2
"""Inches of a panel."""
PICTURE = 2.2
"""Inches of the height of an image at most."""
MANY = 30
"""Panels; a figure of more is a table of pictures, which may be small."""
SMALL = 0.8
"""Inches of a panel where there are `MANY`."""
MOST = 100
"""Panels; more would take too long to arrange."""
HEAVY = 150_000
"""Characters of marks and lines, by an estimate."""
FINE = 130
"""Points of a picture per inch, more than one to a CSS pixel."""

PARTS = "its parts are figures of their own, which are to be seen beside each other"
LONG = "its many panels of the same rows would be scrolled through for more than three screens"
SENTENCES = "the sentences above its groups of rows are wider than a phone"
ORDER = "panels below each other would lose their order, or the names that they share"
MOVED = {
    "appA-inferred": PARTS,
    "appA-updates": PARTS,
    "appB-adaptive": PARTS,
    "appI-example": PARTS,
    "appC-speed": LONG,
    "beyond-init-saved": LONG,
    "beyond-representation-codes": LONG,
    "fig5-errors": LONG,
    "FR4-vn-samples": LONG,
    "readings-bodies-deciders": SENTENCES,
    "readings-digits-deciders": SENTENCES,
    "readings-signals-deciders": SENTENCES,
    "readings-positions-overview": "names of rows and what stands beside them leave no room for marks",
    "beyond-cont-example": "the entries of its legends are wider than its panels",
    "fig1-pieces": ORDER,
    "fig1-superposition": ORDER,
    "fig1-library": ORDER,
    "summary-digits": ORDER,
    "FR5-errors": ORDER,
    "best-bodies-fields": ORDER,
    "best-digits-rate": ORDER,
    "beyond-cont-end": ORDER,
    "beyond-cont-overlaps": ORDER,
    "beyond-kernel-errors": ORDER,
    "appE-beyond": ORDER,
    "appD-upkeep": ORDER,
    "FR2-plane": "a picture of so many curves would weigh more than a megabyte",
}
"""Figures of the book without a drawing for phones, and why it is better to move them sideways."""


def rearrange(figure: Figure) -> bool:
    """Lay a figure out for a phone, in place; whether it can be read then. If not, it is in no order.

    Panels are arranged anew in as many columns as fit: the first columns with all their rows, below
    them the next ones, or row by row (`IN_ROWS`), which need not begin anew where none has a name. A
    panel that comes to the left side gets the labels of the one that was there.
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
    if not _in_rows(figure):
        return False
    for axes in figure.axes:
        legend_below(axes)
    if not one_legend(figure):
        return False
    for axes in figure.axes:  # titles at the left would take the room of their panels
        title = vars(axes)["_left_title"]
        break_text(title, title.get_window_extent().width, figure.bbox.width / 2)
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
    more = figure.get_tightbbox().width - WIDTH  # what stands beside panels
    if 0.1 < more < WIDTH / 3:
        figure.set_figwidth(WIDTH - more)
        _lay_out(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        figure.draw_without_rendering()  # entries of new legends know their places only then
    _lighten(figure)
    return _readable(figure, before)


def _enlarge(figure: Figure) -> None:
    least = LEAST * 72 * (WIDTH + 0.2) / COLUMN
    for text in figure.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), least))


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


# --- Panels ---------------------------------------------------------------------------------------


def _in_rows(figure: Figure) -> bool:
    """Arrange the panels in fewer columns; False where they are in no simple grid."""
    panels = [one for one in figure.axes if one.get_subplotspec() is not None]
    grids = {one.get_subplotspec().get_gridspec() for one in panels}  # pyright: ignore
    if len(grids) != 1:
        return False
    grid: Any = grids.pop()
    at: dict[tuple[int, int], Axes] = {}
    for one in panels:
        spec: Any = one.get_subplotspec()
        if spec.num1 != spec.num2 or (spec.rowspan.start, spec.colspan.start) in at:
            return False
        at[spec.rowspan.start, spec.colspan.start] = one
    rows, columns, ratios = grid.nrows, grid.ncols, grid.get_height_ratios()
    wide, high = figure.get_figwidth() / columns, figure.get_figheight() / rows
    fit, listed = _columns(panels, columns, wide), figure.get_label() == IN_ROWS
    if listed and not any(one.get_ylabel() for (_, column), one in at.items() if not column):
        at = {(0, number): at[place] for number, place in enumerate(sorted(at))}
        rows, columns, ratios = 1, len(at), None
    heights, places = [], {}
    shares = ratios or [1] * rows
    share = [rows * one / sum(shares) for one in shares]
    steps = list(product(range(ceil(columns / fit)), range(rows)))
    for chunk, row in sorted(steps, key=lambda step: step[::-1]) if listed else steps:
        inside = [(row, c) for c in range(chunk * fit, min(columns, chunk * fit + fit))]
        there = [one for one in inside if one in at and _seen(at[one])]
        if not there:
            continue
        for place in there:
            places[place] = (len(heights), place[1] - chunk * fit)
        shapes = [_shape(at[one]) for one in there]
        more = max(max(shapes) * (WIDTH / fit - wide), 0.3 - high * share[row])
        new = high * share[row] + (more if any(shapes) else 0.0)
        bare = all(map(_bare, (at[one] for one in there)))
        heights.append(min(new, max(PICTURE, high * share[row])) if bare else new)
    for place, one in list(at.items()):
        if place not in places:
            one.remove()
            del at[place]
    for one in figure.axes:
        if bar := vars(one).get("_colorbar_info"):  # its panels may have gone
            bar["parents"] = [panel for panel in bar["parents"] if panel in figure.axes]
    if sum(heights) > TALLEST:
        return False
    ratios = _ratios(grid.get_width_ratios(), fit)
    for (row, column), one in at.items():
        if places[row, column][1] == 0 and column:
            _labelled(one, [at[row, c] for c in range(column) if (row, c) in at])
    _titled(figure, at)
    new = GridSpec(len(heights), fit, figure=figure, height_ratios=heights, width_ratios=ratios)
    figure.set_size_inches(WIDTH, sum(heights))
    for place, one in at.items():
        one.set_subplotspec(new[places[place]])
    if all(_shape(one) for one in at.values() if one.axison):
        figure.set_layout_engine("compressed")
    return True


def _seen(axes: Axes) -> bool:
    """Whether a panel shows anything."""
    return axes.get_visible() and bool(axes.axison or axes.texts)


def _shape(axes: Axes) -> float:
    """Height over width of a panel whose shape is fixed, else 0."""
    if axes.get_box_aspect():
        return float(axes.get_box_aspect() or 0)
    if axes.get_aspect() == "auto":
        return 0.0
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    return float(abs(high - low) / abs(right - left) * float(axes.get_aspect()))


def _bare(axes: Axes) -> bool:
    """Whether a panel is an image, without numbers beside it."""
    return bool(_shape(axes)) and not len(axes.get_yticks())


def _ratios(widths: Sequence[float] | None, fit: int) -> list[float]:
    """Widths of the columns, of which there are as many as before, or all are alike."""
    return list(widths) if widths and len(widths) == fit else [1] * fit


def _columns(panels: Sequence[Axes], columns: int, wide: float) -> int:
    """How many columns fit: images may be small, axes with numbers need room."""
    shown = [one for one in panels if one.axison]
    own = all(one.get_ylabel() for one in shown)
    small = (
        (all(map(_shape, shown)) and not own)
        or (wide < 2.3 and not any(map(has_names, shown)))
        or wide < 1.8
    )
    least = NARROWEST if len(panels) <= MANY else SMALL
    pictures = all(_bare(one) for one in shown if one.has_data() or len(panels) <= MANY)
    most = int(WIDTH / (least if pictures else 2.1 if small else WIDTH))
    even = ceil(columns / ceil(columns / max(1, most)))  # no column stands alone below the others
    return min(columns, max(1, even))


def _labelled(axes: Axes, lefts: Sequence[Axes]) -> None:
    """Give a panel that is now at the left the labels of the one that was there, if they share them."""
    named = next((left for left in lefts if left.get_ylabel()), None)
    if named is not None and _bare(axes) and _bare(named):
        _name(axes, named)
    for left in lefts:
        shared = axes.get_shared_y_axes().joined(axes, left)
        if not shared and (axes.get_ylim() != left.get_ylim() or len(axes.get_yticks())):
            continue
        told: Any = left.yaxis.get_tick_params(which="major")
        if shared and told.get("labelleft", True):
            axes.tick_params(axis="y", labelleft=True)
            for new, old in zip(axes.get_yticklabels(), left.get_yticklabels(), strict=False):
                new.set_rotation(old.get_rotation())
        elif not shared and len(left.get_yticks()):
            names, limits = left.get_yticklabels(), axes.get_ylim()
            axes.set_yticks(left.get_yticks(), [text.get_text() for text in names])
            axes.set_ylim(limits)
            axes.tick_params(axis="y", labelsize=names[0].get_fontsize())
        if left.get_ylabel() and not axes.get_ylabel():
            _name(axes, left)
        return


def _name(axes: Axes, left: Axes) -> None:
    """Give a panel the name of the row that another one has."""
    old: Any = left.yaxis.label
    look = {"rotation": old.get_rotation(), "ha": old.get_ha(), "va": old.get_va()}
    axes.set_ylabel(old.get_text(), size=old.get_fontsize(), **look)


def _titled(figure: Figure, at: dict[tuple[int, int], Axes]) -> None:
    """The lowest panel of each column says what x is, if those of other columns, or the figure, do."""
    lowest = {column: at[row, column] for row, column in sorted(at)}
    told = {one.get_xlabel(): one for one in lowest.values() if one.get_xlabel()}
    whole: Any = getattr(figure, "_supxlabel", None)
    for one in lowest.values():
        if not one.axison or one.get_xlabel():
            continue
        if whole is not None:
            one.set_xlabel(whole.get_text(), size=whole.get_fontsize())
        elif len(told) == 1:
            (text,) = told
            if told[text].get_xlim() == one.get_xlim():
                one.set_xlabel(text, size=told[text].xaxis.label.get_fontsize())
    if whole is not None:
        whole.set_text("")


# --- Whether it can be read -----------------------------------------------------------------------


def _readable(figure: Figure, before: int) -> bool:
    """Whether no more labels cover each other than `before`, nothing is cut off and panels have room."""
    whole = figure.get_tightbbox()
    small = whole.width <= WIDTH + 0.25 and figure.get_figheight() <= 1.2 * TALLEST
    return small and _wide(figure.axes) and clashes(figure) <= before + 1


def _wide(axes: Iterable[Axes]) -> bool:
    """Whether all panels have room; images need less."""
    panels = [one for one in axes if one.get_subplotspec() is not None and one.axison]
    widths = [one.get_window_extent().width / one.figure.dpi for one in panels]
    return all(
        wide >= (0.6 if _bare(one) else 0.8) for wide, one in zip(widths, panels, strict=True)
    )
