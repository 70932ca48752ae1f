"""Legends of a figure for a phone: below it, or below the panel that they are of."""

from __future__ import annotations

from math import ceil
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.offsetbox import VPacker
from matplotlib.transforms import ScaledTranslation

from book.site.phone_labels import WIDTH

SIDE = "outside lower center"
BELOW = "below its panel"


def legends_below(figure: Figure) -> None:
    """Legends beside their panels go below the figure; each goes below its panel if the same mark means
    one thing in one panel and another in the next, and so does one that fills its panel.
    """
    for one in figure.axes:
        if _fills(one):
            _under(one)
    beside = [one for one in figure.axes if _beside(one.get_legend())]
    said: dict[Any, str] = {}
    clear = all(
        said.setdefault(_look(handle), text.get_text()) == text.get_text()
        for one in beside
        for handle, text in _entries(one.get_legend())
    )
    for one in beside:
        (to_figure if clear or len(beside) == 1 else _under)(one)


def _fills(axes: Axes) -> bool:
    """Whether a legend takes nearly all the width of its panel, and so covers what is drawn there."""
    legend = axes.get_legend()
    if legend is None or _beside(legend):
        return False
    share = 0.9 if len(legend.get_texts()) > 3 else 1.0
    return legend.get_window_extent().width > share * axes.get_window_extent().width


def _beside(legend: Any) -> bool:
    """Whether a legend has a place of its own beside its panel, and not below it already."""
    if legend is None or legend._bbox_to_anchor is None or legend.get_gid() == BELOW:
        return False
    return legend.get_bbox_to_anchor().width == 0


def _entries(legend: Any) -> list[tuple[Any, Any]]:
    return list(zip(legend.legend_handles, legend.get_texts(), strict=True))


def _look(handle: Any) -> str:
    """How an entry of a legend looks; what has several parts is taken for the only one of its kind."""
    if not isinstance(handle, Artist):
        return str(id(handle))
    parts = ("color", "facecolor", "marker", "linestyle", "markerfacecolor")
    return str([getattr(handle, f"get_{one}", str)() for one in parts])


def _under(axes: Axes) -> None:
    """Put a legend below what stands below its panel."""
    legend: Any = axes.get_legend()
    figure, inside = axes.figure, axes.get_window_extent()
    _pack(legend, inside.width)
    ticks: Any = axes.xaxis.get_tightbbox()
    down = (inside.y0 - (ticks.y0 if ticks else inside.y0)) / figure.dpi + 0.05  # pyright: ignore
    shift = ScaledTranslation(0, -down, figure.dpi_scale_trans)  # pyright: ignore
    legend.set_gid(BELOW)
    legend.set_loc("upper center")
    legend.set_bbox_to_anchor((0.5, 0), transform=axes.transAxes + shift)
    more = legend.get_window_extent().height / figure.dpi
    figure.set_figheight(figure.get_figheight() + more)  # pyright: ignore


def to_figure(axes: Axes) -> None:
    """Put a legend below the figure."""
    legend: Any = axes.get_legend()
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
    """Join the legends of a figure, which would lie upon each other, and say once what several do;
    False where one has a title.
    """
    legends: list[Any] = list(figure.legends)
    if len(legends) > 1:
        if any(one.get_title().get_text() for one in legends):
            return False
        first, *others = legends
        said = {(_look(handle), text.get_text()) for handle, text in _entries(first)}
        for one in others:
            columns = one._legend_handle_box.get_children()
            items = [item for column in columns for item in column.get_children()]
            told = dict(zip(items, _entries(one), strict=True))
            new = [n for n, (h, t) in told.items() if (_look(h), t.get_text()) not in said]
            for column in columns:
                column._children = [item for item in column.get_children() if item in new]
            said |= {(_look(told[item][0]), told[item][1].get_text()) for item in new}
            first._legend_handle_box._children += [part for part in columns if part.get_children()]
            first.texts += [told[item][1] for item in new]
            one.remove()
    return True


def narrow_legend(legend: Any) -> None:
    """Set the entries of a figure's legend in as many columns as fit, below the figure."""
    _pack(legend, WIDTH * legend.figure.dpi)
    legend.set_bbox_to_anchor(None)
    legend.set_loc("lower center")
    legend._outside_loc = "lower"


def _pack(legend: Any, room: float) -> None:
    """Set the entries of a legend in as many columns as fit into so many pixels."""
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
        if legend.get_window_extent().width <= 1.02 * room:
            break
