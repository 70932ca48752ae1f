"""Panels of a figure for a phone: in fewer columns, each with the names that it shared with others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import ceil
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

from book.site.phone_labels import WIDTH, has_names
from book.site.phone_legends import to_figure
from book.site.phone_names import labelled, titled, titled_in_rows
from vnlib.plots.style import IN_ROWS

TALLEST = 34.0
"""Inches; a taller figure would be scrolled for too long."""
NARROWEST = 1.2
"""Inches of a panel."""
PICTURE = 2.2
"""Inches of the height of an image at most."""
MANY = 30
"""Panels; a figure of more is a table of pictures, which may be small."""
LONG = 27
"""Rows with names; panels of more stand side by side, else they would be very tall."""
SMALL = 0.8
"""Inches of a panel where there are `MANY`."""

Place = tuple[int, int]


def arrange(figure: Figure) -> bool:
    """Arrange the panels in fewer columns; False where they are in no simple grid.

    Titles of the top panels alone name columns: the first columns stand with all their rows, below
    them the next ones. Where lower panels have titles, too, or the figure says so (`IN_ROWS`), a row
    comes after the other, and those without a name (`IN_ROWS`) need not begin anew. The figure's id
    tells captions which of the two it is, of how many rows, in how many columns.
    """
    panels = [one for one in figure.axes if one.get_subplotspec() is not None]
    grids = {one.get_subplotspec().get_gridspec() for one in panels}  # pyright: ignore
    if len(grids) != 1:
        return False
    grid: Any = grids.pop()
    at: dict[Place, Axes] = {}
    for one in panels:
        spec: Any = one.get_subplotspec()
        if spec.num1 != spec.num2 or (spec.rowspan.start, spec.colspan.start) in at:
            return False
        at[spec.rowspan.start, spec.colspan.start] = one
    rows, columns, ratios = grid.nrows, grid.ncols, grid.get_height_ratios()
    parts = grid.get_width_ratios() or [1] * columns
    widths = [figure.get_figwidth() * one / sum(parts) for one in parts]
    wide, high = figure.get_figwidth() / columns, figure.get_figheight() / rows
    listed = figure.get_label() == IN_ROWS
    in_rows = listed or any(_title(one) for (row, _), one in at.items() if row)
    beside = _pictures_first(at, columns) if in_rows else 0
    fit = beside or _columns(panels, columns, wide)
    named = any(one.get_ylabel() for (_, column), one in at.items() if not column)
    if fit < columns and (named or not listed):
        figure.set_gid(f"phone-{'rows' if in_rows else 'columns'}-{rows}-{fit}")
    feet = {at[place]: at[max(at, key=lambda one: (one[1] == place[1], one))] for place in at}
    if listed and not named:
        at = {(0, number): at[place] for number, place in enumerate(sorted(at))}
        rows, columns, ratios = 1, len(at), None
    heights: list[float] = []
    places: dict[Place, Place] = {}
    alone: set[Place] = set()
    shares = ratios or [1] * rows
    share = [rows * one / sum(shares) for one in shares]
    steps = list(product(range(ceil(columns / fit)), range(rows)))
    for chunk, row in sorted(steps, key=lambda step: step[::-1]) if in_rows else steps:
        inside = [(row, c) for c in range(chunk * fit, min(columns, chunk * fit + fit))]
        there = [one for one in inside if one in at and _seen(at[one])]
        if not there:
            continue
        for place in there:
            places[place] = (len(heights), place[1] - chunk * fit)
        lefts = [at[row, c] for c in range(there[0][1]) if (row, c) in at]
        labelled(at[there[0]], lefts)
        if beside and len(there) == 1 and not is_bare(at[there[0]]):
            alone.add(there[0])
        shapes = [_shape(at[one]) for one in there]
        old = sum(widths[at[one].get_subplotspec().colspan.start] for one in there) / len(there)  # pyright: ignore
        more = max(max(shapes) * (WIDTH / fit - old), 0.3 - high * share[row])
        new = high * share[row] + (more if any(shapes) else 0.0)
        bare = all(map(is_bare, (at[one] for one in there)))
        heights.append(min(new, max(PICTURE, high * share[row])) if bare else new)
    for place, one in list(at.items()):
        if place not in places:
            if one.get_legend():  # a panel that has it and nothing else
                to_figure(one)
            one.remove()
            del at[place]
    for one in figure.axes:
        if bar := vars(one).get("_colorbar_info"):  # its panels may have gone
            bar["parents"] = [panel for panel in bar["parents"] if panel in figure.axes]
    if not 0 < sum(heights) <= TALLEST:
        return False
    if in_rows and fit < columns:
        titled_in_rows(figure, {places[one]: at[one] for one in at}, feet)
    else:
        titled(figure, at)
    ratios = _ratios(grid.get_width_ratios(), fit)
    new = GridSpec(len(heights), fit, figure=figure, height_ratios=heights, width_ratios=ratios)
    figure.set_size_inches(WIDTH, sum(heights))
    for place, one in at.items():
        row, column = places[place]
        one.set_subplotspec(new[row, :] if place in alone else new[row, column])
    if all(_shape(one) for one in at.values() if one.axison):
        figure.set_layout_engine("compressed")
    return True


def _title(axes: Axes) -> str:
    """What stands above a panel."""
    return axes.get_title() or axes.get_title(loc="left")


def _seen(axes: Axes) -> bool:
    """Whether a panel shows anything."""
    return axes.get_visible() and bool(axes.axison or axes.texts or axes.has_data())


def _shape(axes: Axes) -> float:
    """Height over width of a panel whose shape is fixed, else 0."""
    if axes.get_box_aspect():
        return float(axes.get_box_aspect() or 0)
    if axes.get_aspect() == "auto":
        return 0.0
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    return float(abs(high - low) / abs(right - left) * float(axes.get_aspect()))


def is_bare(axes: Axes) -> bool:
    """Whether a panel is an image, without numbers beside it."""
    return bool(_shape(axes)) and not len(axes.get_yticks())


def _ratios(widths: Sequence[float] | None, fit: int) -> list[float]:
    """Widths of the columns, of which there are as many as before, or all are alike."""
    return list(widths) if widths and len(widths) == fit else [1] * fit


def _columns(panels: Sequence[Axes], columns: int, wide: float) -> int:
    """How many columns fit: images may be small, axes with numbers need room."""
    shown = [one for one in panels if one.axison and one.get_visible()]
    own = all(one.get_ylabel() for one in shown)
    small = (
        (all(map(_shape, shown)) and not own)
        or (wide < 2.3 and not any(map(has_names, shown)))
        or wide < 1.8
    )
    long = all(len(one.get_yticks()) > LONG for one in shown) and any(map(has_names, shown))
    if columns > 1 and long:
        return 3 if columns == 3 else 2  # names once for several panels
    least = NARROWEST if len(panels) <= MANY else SMALL
    pictures = all(is_bare(one) for one in shown if one.has_data() or len(panels) <= MANY)
    most = int(WIDTH / (least if pictures else 2.1 if small else WIDTH))
    even = ceil(columns / ceil(columns / max(1, most)))  # no column stands alone below the others
    return min(columns, max(1, even))


def _pictures_first(at: Mapping[Place, Axes], columns: int) -> int:
    """How many columns of images stand left of one of plots, if they fit side by side; else 0."""
    kinds = [
        all(is_bare(one) for (_, column), one in at.items() if column == number and _seen(one))
        for number in range(columns)
    ]
    count = columns - 1
    return count if kinds == [True] * count + [False] and 1 < count <= WIDTH / NARROWEST else 0
