"""What is found once is what matplotlib finds each time."""

from __future__ import annotations

from contextlib import nullcontext
from io import BytesIO
from unittest.mock import patch

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from book.site import phones
from book.site.in_place_measures import PARTS, TEXT, WHOLE, measured_once


def figure(dpi: int = 100) -> Figure:
    """A figure with all that ticks and their texts depend on."""
    made = Figure((7, 4), dpi=dpi, layout="constrained")
    (a, b), (c, d) = made.subplots(2, 2, sharex="col")
    a.semilogy([1, 2, 3], [1e-3, 1, 1e5], label="a line")
    a.set(title="Title above $x^2$", ylabel="long name of\nan axis")
    a.twinx().plot([1e9, 2e9, 3e9])
    made.colorbar(b.imshow(np.arange(12).reshape(3, 4) * 1e-7), ax=b, label="colour")
    b.set_title("left", loc="left")
    c.barh(["one", "another name", "three"], [1, 2, 3])
    c.secondary_xaxis("top", functions=(np.sqrt, np.square)).set_xlabel("root")
    c.tick_params(axis="x", rotation=40)
    d.xaxis.tick_top()
    d.set(xlabel="above", title="under a label")
    d.annotate("said", (0.5, 0.5), (0.2, 0.9), arrowprops={"arrowstyle": "->"})
    made.align_ylabels()
    a.legend()
    return made


def drawn(form: str, dpi: int, once: bool) -> bytes:
    """It, as drawn for a page, and then for a phone."""
    one, both = figure(dpi), BytesIO()
    with measured_once() if once else nullcontext(), mpl.rc_context({"svg.hashsalt": "same"}):
        for _ in range(2):
            one.savefig(
                both,
                format=form,
                bbox_inches="tight",
                metadata={"Date": None} if form == "svg" else None,
            )
            phones.rearrange(one)
    return both.getvalue()


@pytest.mark.parametrize(("form", "dpi"), [("svg", 144), ("png", 100)])
def test_pictures_have_the_same_bytes(form, dpi):
    assert drawn(form, dpi, once=True) == drawn(form, dpi, once=False)


def test_less_is_measured():
    counts = []
    for meanwhile in (nullcontext, measured_once):
        one = figure()
        (kind, name), *_ = PARTS
        update = patch.object(kind, name, autospec=True, side_effect=vars(kind)[name])
        with update as ticks, meanwhile():
            one.draw_without_rendering()
        counts.append(ticks.call_count)
    assert counts[1] < 0.5 * counts[0]


def test_a_text_of_another_size_or_font_is_measured_anew():
    wide = []
    with measured_once():
        for font, size in (
            ("DejaVu Sans", 10),
            ("DejaVu Sans Mono", 10),
            ("DejaVu Sans", 10),
            ("DejaVu Sans", 20),
        ):
            with mpl.rc_context({"font.sans-serif": [font]}):
                text = Figure().text(0, 0, "wwww", fontsize=size)
                wide.append(text.get_window_extent().width)
                text.set_text("wwwwwwww")
                assert text.get_window_extent().width > 1.9 * wide[-1]
    assert wide[0] == wide[2] != wide[1]
    assert wide[3] > 1.9 * wide[0]


def test_matplotlib_is_as_before_afterwards():
    known = [getattr(kind, name) for kind, name in (*WHOLE, *PARTS, TEXT)]
    with pytest.raises(KeyError), measured_once():
        assert vars(TEXT[0])[TEXT[1]] is not known[-1]
        raise KeyError
    assert [getattr(kind, name) for kind, name in (*WHOLE, *PARTS, TEXT)] == known
