"""Ticks are found, and measured, once for each time that matplotlib looks at a panel, and so is any text.

To know how much room a panel needs, or to draw it, matplotlib asks for the same ticks and their texts again for the
axis, its label, the title and each of four spines, and it lays a figure out twice, for each of several sizes: up to
a quarter of the time of a chapter's page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis, YAxis
from matplotlib.spines import Spine
from matplotlib.text import Text

WHOLE = ((Axes, "get_tightbbox"), (Axes, "draw"))
"""Meanwhile ticks stay where they are."""
PARTS = (
    (Axis, "_update_ticks"),
    (Axis, "_get_ticklabel_bboxes"),
    (XAxis, "_update_label_position"),
    (YAxis, "_update_label_position"),
    (Spine, "get_window_extent"),
)
"""What stays the same for as long; of a later matplotlib that has it no more, nothing is kept."""
TEXT = (Text, "_get_layout")
"""The lines of a text and their sizes, wherever it stands."""


@contextmanager
def measured_once() -> Iterator[None]:
    """Meanwhile all is found once for each panel that is measured or drawn, at its resolution, and of each
    text, by the same kind of renderer.
    """
    at_work: list[tuple[Any, dict]] = [(None, {})]
    texts: dict[tuple, Any] = {}

    def whole(call: Callable) -> Callable:
        @wraps(call)
        def measure(axes: Axes, *given: Any, **named: Any) -> Any:
            at_work.append((axes if axes.name == "rectilinear" else None, {}))
            try:
                return call(axes, *given, **named)
            finally:
                at_work.pop()

        return measure

    def part(name: str, call: Callable) -> Callable:
        @wraps(call)
        def find(one: Any, *given: Any, **named: Any) -> Any:
            axes, known = at_work[-1]
            if one.axes is not axes or axes is None:
                return call(one, *given, **named)
            key = (name, one, one.get_figure(root=True).dpi)
            if key not in known:
                known[key] = call(one, *given, **named)
            return known[key]

        return find

    def text(call: Callable) -> Callable:
        @wraps(call)
        def lay_out(one: Any, renderer: Any) -> Any:
            if one.get_wrap():  # depends on its place
                return call(one, renderer)
            key = (*_look(one), *_by(renderer), one.get_figure(root=True).dpi)
            if key not in texts:
                texts[key] = call(one, renderer)
            return texts[key]

        return lay_out

    with ExitStack() as stack:
        if all(name in vars(kind) for kind, name in (*PARTS, TEXT)):
            for kind, name in WHOLE:
                stack.enter_context(patch.object(kind, name, whole(getattr(kind, name))))
            for kind, name in PARTS:
                stack.enter_context(patch.object(kind, name, part(name, getattr(kind, name))))
            kind, name = TEXT
            stack.enter_context(patch.object(kind, name, text(getattr(kind, name))))
        yield


def _look(text: Any) -> tuple:
    """All of a text that its lines and their sizes follow from."""
    return (
        text.get_text(),
        hash(text.get_fontproperties()),
        text._linespacing,
        text._multialignment,
        text.get_ha(),
        text.get_va(),
        text.get_rotation(),
        text.get_rotation_mode(),
        text.get_parse_math(),
        text.get_usetex(),
    )


def _by(renderer: Any) -> tuple:
    """By what a text is measured: the kind of a renderer, and of that which it leaves the work to, and the
    fonts that stand for any.
    """
    inner, fonts = getattr(renderer, "_renderer", None), rcParams["font.sans-serif"]
    return type(renderer), type(inner), getattr(renderer, "dpi", None), tuple(fonts)
