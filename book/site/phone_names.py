"""Names of panels for a phone: what a row or a column of a figure shared is said where it is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from book.site.phone_labels import has_names


def labelled(axes: Axes, lefts: Sequence[Axes]) -> None:
    """Give a panel that is now at the left the labels of the one that was there, if they share them."""
    named = next((left for left in lefts if left.get_ylabel()), None)
    for left in lefts:
        shared = axes.get_shared_y_axes().joined(axes, left)
        if not shared and (axes.get_ylim() != left.get_ylim() or _numbered(axes)):
            continue
        old: list[Text] = left.get_yticklabels()
        if not _numbered(axes) and _numbered(left):
            if not shared:
                limits, names = axes.get_ylim(), [text.get_text() for text in old]
                axes.set_yticks(left.get_yticks(), names)
                axes.set_ylim(limits)
            axes.tick_params(axis="y", labelleft=True)
        if _numbered(left):
            for one, look in zip(axes.get_yticklabels(), old, strict=False):
                _alike(one, look)
        break
    hidden = not axes.get_ylabel() or not axes.yaxis.label.get_visible()
    if named is not None and hidden and _same(axes, named):
        _name(axes, named)


def _numbered(axes: Axes) -> bool:
    """Whether numbers or names stand at the left of a panel."""
    told: Any = axes.yaxis.get_tick_params(which="major")
    texts = axes.get_yticklabels() if told.get("labelleft", True) else []
    return any(one.get_text() for one in texts)


def _same(axes: Axes, left: Axes) -> bool:
    """Whether the name of a panel's y axis can be that of another one: of the same row of images, or
    of numbers about as large.
    """
    if not len(axes.get_yticks()) or axes.get_shared_y_axes().joined(axes, left):
        return True
    if has_names(axes) or has_names(left) or axes.get_yscale() != left.get_yscale():
        return False
    (low, high), (bottom, top) = (
        sorted(axes.transData.transform((1, y))[1] for y in one.get_ylim()) for one in (axes, left)
    )
    return min(high, top) - max(low, bottom) > 0.25 * max(high - low, top - bottom)


def _alike(new: Text, old: Text) -> None:
    """Show a name as another one, such as that of a group of rows."""
    new.set(fontsize=old.get_fontsize(), fontweight=old.get_fontweight(), color=old.get_color())
    new.set(rotation=old.get_rotation(), fontstyle=old.get_fontstyle())


def _name(axes: Axes, left: Axes) -> None:
    """Give a panel the name of the row that another one has."""
    old: Any = left.yaxis.label
    look = {"rotation": old.get_rotation(), "ha": old.get_ha(), "va": old.get_va()}
    axes.set_ylabel(old.get_text(), size=old.get_fontsize(), visible=True, **look)


def titled(figure: Figure, at: Mapping[tuple[int, int], Axes]) -> None:
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


def titled_in_rows(
    figure: Figure, at: Mapping[tuple[int, int], Axes], feet: Mapping[Axes, Axes]
) -> None:
    """Each panel says what x is as the lowest panel of its column did, unless what is now below it
    says the same.
    """
    whole: Any = getattr(figure, "_supxlabel", None)
    whole = whole if whole is not None and whole.get_text() else None
    single = not any(column for _, column in at)
    for (row, column), one in at.items():
        below, foot = at.get((row + 1, column)), feet[one]
        if not one.axison or (below and not single and below.get_xlim() == one.get_xlim()):
            continue
        told: Any = foot.xaxis.get_tick_params(which="major")
        if told.get("labelbottom", True) and foot.get_xlim() == one.get_xlim():
            one.tick_params(axis="x", labelbottom=True)
        label = whole or (foot.xaxis.label if foot.get_xlim() == one.get_xlim() else None)
        if label is not None and not (one.get_xlabel() and one.xaxis.label.get_visible()):
            one.set_xlabel(label.get_text(), size=label.get_fontsize(), visible=True)
    if whole is not None:
        whole.set_text("")
