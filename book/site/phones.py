"""The same figure for a phone: panels below each other instead of side by side, labels as large as
they are on a wide screen, legends below.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise, product
from math import ceil
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D
from matplotlib.offsetbox import VPacker
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.ticker import ScalarFormatter
from matplotlib.transforms import Bbox

from vnlib.plots.style import IN_ROWS

COLUMN = 342
"""CSS pixels of the text on a phone of 390."""
LEAST = 9
"""CSS pixels of the smallest label."""
WIDTH = 4.4
"""Inches of a figure; at this width labels of 9 pt have `LEAST` pixels."""
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
SIDE = "outside lower center"

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
    before = _clashes(figure)
    if figure.subfigs or not 0 < len(figure.axes) <= MOST:
        return False
    _enlarge(figure)
    _cut(figure)
    if len(figure.axes) > MANY:  # each column counts
        for one in list(figure.axes):
            if (told := vars(one).get("_colorbar_info")) and told["location"] == "right":
                _bar_below(vars(one)["_colorbar"], told["parents"])
    _enlarge(figure)
    if not _in_rows(figure):
        return False
    for axes in figure.axes:
        _legend_below(axes)
    if not _one_legend(figure):
        return False
    for axes in figure.axes:  # titles at the left would take the room of their panels
        title = vars(axes)["_left_title"]
        _break(title, title.get_window_extent().width, figure.bbox.width / 2)
    _lay_out(figure)
    for legend in figure.legends:
        _narrow(legend)
    if figure.legends:  # panels keep their height
        more = sum(one.get_window_extent().height for one in figure.legends) / figure.dpi
        figure.set_figheight(figure.get_figheight() + more)
        _lay_out(figure)
    for _ in range(2):  # what is wrapped or turned takes room from the rest
        if not _wrap(figure) | _turn(figure):
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


def _named(axes: Axes) -> bool:
    """Whether the rows of a panel have names, not numbers."""
    return any(re.match("[^\\W\\d_]{2}", one.get_text()) for one in axes.get_yticklabels())


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
        or (wide < 2.3 and not any(map(_named, shown)))
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


# --- Tables in colours ----------------------------------------------------------------------------


def _cut(figure: Figure) -> None:
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
    names = [t for t in [*axes.get_yticklabels(), *axes.texts] if t not in inside]
    left = max(one.get_window_extent().width for one in names) / figure.dpi if names else 0.0
    fit = max(2, int((WIDTH - 0.1 - min(left, 0.42 * WIDTH)) / need))
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
    axes.set_xlim(low, edges[cuts[1]])
    if bar := table[0].colorbar:
        _bar_below(bar, blocks)
        axes.set_subplotspec(grid[0, 0])


def _bar_below(bar: Any, panels: Sequence[Axes]) -> None:
    """Draw a bar of colours anew, below its panels."""
    told = {"label": bar.ax.get_ylabel(), "extend": bar.extend, "ticks": bar.get_ticks()}
    figure, table = bar.ax.figure, bar.mappable
    bar.remove()
    figure.colorbar(table, ax=panels, location="bottom", aspect=40, pad=0.01, **told)


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
        block.imshow(table.get_array(), extent=table.get_extent(), **look)
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


# --- Legends and long words -----------------------------------------------------------------------


def _legend_below(axes: Axes) -> None:
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


def _one_legend(figure: Figure) -> bool:
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


def _narrow(legend: Any) -> None:
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


def _wrap(figure: Figure) -> bool:
    """Break titles and labels of axes that are longer than their room; whether there were any."""
    room, found = figure.bbox.width, False
    rows = [round(one.get_position().y0, 3) for one in figure.axes]
    for axes, row in zip(figure.axes, rows, strict=True):
        inside, parts = axes.get_window_extent(), vars(axes)
        middle = inside.x0 + inside.width / 2
        free = 0.95 * inside.width if rows.count(row) > 1 else 2 * min(middle, room - middle)
        for text in (axes.title, axes.xaxis.label):
            found |= _break(text, text.get_window_extent().width, free)
        text = parts["_left_title"]
        found |= _break(text, text.get_window_extent().width, max(free, room - inside.x0))
        label = axes.yaxis.label
        found |= _break(label, label.get_window_extent().height, inside.height)
        names = axes.get_yticklabels()
        if any(one.get_window_extent().width > 0.42 * room and _breakable(one) for one in names):
            found |= _names(axes)
        boxes = [(text, text.get_window_extent()) for text in axes.texts]
        heads = sorted(boxes, key=lambda head: (round(head[1].y0), head[1].x0))
        close = [
            {one, other}
            for (one, left), (other, right) in pairwise(heads)
            if round(left.y0) == round(right.y0) and _over(left, right)
        ]
        for text in set().union(*close):
            found |= _formula(text)
    for name in ("_suptitle", "_supxlabel"):
        text = getattr(figure, name, None)
        if text is not None:
            found |= _break(text, text.get_window_extent().width, room)
    return found


def _formula(text: Text) -> bool:
    """Break a formula after its sums or products; whether it has any."""
    before = text.get_text()
    sign = "+" if "+" in before else "*"
    text.set_text(re.sub(rf"\{sign}(?=\S)", f"{sign}\n", before))
    return text.get_text() != before


def _names(axes: Axes) -> bool:
    """Break the long names of the rows of a panel; whether there were any."""
    if not _named(axes):
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


def _break(text: Text, length: float, room: float) -> bool:
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


def _turn(figure: Figure) -> bool:
    """Turn the names below a panel where they run into each other; whether some did."""
    found = False
    for axes in figure.axes:
        texts = _ticks(axes.xaxis) if axes.axison else []
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        if not any(_over(a, b) for a, b in pairwise(boxes)):
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


# --- Whether it can be read -----------------------------------------------------------------------


def _over(one: Bbox, other: Bbox) -> bool:
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
        ticks = _ticks(axes.xaxis) + _ticks(axes.yaxis) if axes.axison else []
        labels = [axes.xaxis.label, axes.yaxis.label] if axes.axison else []
        texts += [*ticks, *labels, axes.title, *axes.texts]
        texts += legend.get_texts() if (legend := axes.get_legend()) else []
    for legend in figure.legends:
        texts += legend.get_texts()
    seen = [text for text in texts if text.get_visible() and text.get_text().strip()]
    boxes = [text.get_window_extent() for text in seen]
    return [one for one in boxes if one.width and one.height]


def _ticks(axis: Any) -> list[Text]:
    """The names of the ticks that an axis shows."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-6 * (high - low)
    major = axis.get_major_ticks()
    return [t.label1 for t in major if low - slack <= t.get_loc() <= high + slack]


def _clashes(figure: Figure) -> int:
    """How many pairs of labels cover each other."""
    rows: dict[int, list[int]] = defaultdict(list)
    boxes = _shown(figure)
    for number, one in enumerate(boxes):
        for band in range(int(one.y0 // 50), int(one.y1 // 50) + 1):
            rows[band].append(number)
    pairs = {pair for band in rows.values() for pair in combinations(band, 2)}
    return sum(_over(boxes[a], boxes[b]) for a, b in pairs)


def _readable(figure: Figure, before: int) -> bool:
    """Whether no more labels cover each other than `before`, nothing is cut off and panels have room."""
    whole = figure.get_tightbbox()
    small = whole.width <= WIDTH + 0.25 and figure.get_figheight() <= 1.2 * TALLEST
    return small and _wide(figure.axes) and _clashes(figure) <= before + 1


def _wide(axes: Iterable[Axes]) -> bool:
    """Whether all panels have room; images need less."""
    panels = [one for one in axes if one.get_subplotspec() is not None and one.axison]
    widths = [one.get_window_extent().width / one.figure.dpi for one in panels]
    return all(
        wide >= (0.6 if _bare(one) else 0.8) for wide, one in zip(widths, panels, strict=True)
    )
