"""Labels of figures, as large as a page shows them."""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import pytest
from labels import sizes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from book.site import in_place
from vnlib.book import chapter
from vnlib.plots.style import COLUMN, readable, use_style

LEAST = 9  # px


@pytest.fixture(autouse=True)
def style():
    with plt.rc_context():
        use_style()
        yield
    plt.close("all")


def small(width: float, size: float = 4) -> Figure:
    """Ticks, a title, a note, a legend and the name of an axis, all of this size in points."""
    figure, ax = plt.subplots(figsize=(width, 3))
    ax.plot([1, 10], [1, 10], label="line")
    ax.set(xscale="log", xlim=(1, 10))
    ax.set_xlabel("name", fontsize=size)
    ax.set_title("title", fontsize=size)
    ax.annotate("note", (2, 2), fontsize=size)
    ax.legend(fontsize=size)
    ax.tick_params(which="both", labelsize=size)
    return figure


def drawn(figure: Figure, patch: pytest.MonkeyPatch) -> dict[str, float]:
    """The texts that a drawing of the figure writes, with their size in pixels on a page: its picture
    has 110 dots to the inch, of which a wide one is shrunk to the column.
    """
    sizes, write = {}, RendererAgg.draw_text

    def noted(self, gc, x, y, text, font, *more, **named):
        sizes[text] = font.get_size_in_points()
        write(self, gc, x, y, text, font, *more, **named)

    with patch.context() as one:
        one.setattr(RendererAgg, "draw_text", noted)
        figure.canvas.draw()
    dots = 110 * figure.get_tightbbox().padded(0.1).width
    return {text: size / 72 * 110 * min(1, COLUMN / dots) for text, size in sizes.items()}


@pytest.mark.parametrize("width", [3, 8, 10, 15])
def test_no_label_has_less_than_nine_pixels_on_a_page(width, monkeypatch):
    sizes = drawn(readable(small(width)), monkeypatch)
    assert {"name", "title", "note", "line", "2"} <= set(sizes)
    assert min(sizes.values()) >= 0.99 * LEAST, sizes
    assert min(drawn(small(width), monkeypatch).values()) < LEAST, "or this shows nothing"


@pytest.mark.parametrize("width", [3, 10, 15])
def test_exponents_have_no_less(width):
    figure = small(width)
    figure.axes[0].set(xlim=(1e-6, 1), xlabel="$x^2$")
    drawing = in_place._picture(readable(figure), sharp=True, alone=True)[1]
    whole = float(re.search(r'viewBox="0 0 ([\d.]+)', drawing)[1]) * 96 / 72
    shown = sizes(drawing, min(whole, COLUMN))
    powers = [size for text, size in shown.items() if "$" in text]
    assert len(powers) > 2 and min(shown.values()) >= 0.99 * LEAST


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ((0.001, 20), ["0.001", "0.01", "0.1", "1", "10"]),
        ((2, 2_000), ["10", "100", "1,000"]),
        ((20, 2), ["10"]),
        ((2e-5, 1), [rf"$\mathdefault{{10^{{{n}}}}}$" for n in range(-4, 1)]),
    ],
)
def test_powers_of_ten_are_written_out_unless_one_is_very_small_or_large(limits, wanted):
    figure = small(8)
    figure.axes[0].set(xscale="log", xlim=limits)
    axis = readable(figure).axes[0].xaxis
    low, high = sorted(limits)
    ticks = [t.label1.get_text() for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
    assert [text.replace("\N{MINUS SIGN}", "-") for text in ticks] == wanted


def test_values_below_zero_keep_their_sign():
    figure = small(8)
    figure.axes[0].set_xscale("symlog", linthresh=0.1)
    figure.axes[0].set_xlim(-1, 1)
    texts = [one.get_text() for one in readable(figure).axes[0].get_xticklabels()]
    assert texts == ["\N{MINUS SIGN}1", "\N{MINUS SIGN}0.1", "0", "0.1", "1"]
    figure.axes[0].set_xlim(0, 20)
    assert [one.get_text() for one in figure.axes[0].get_xticklabels()] == ["0", "0.1", "1", "10"]


def test_labels_that_are_large_enough_stay():
    figure = small(8, 11)
    before = [text.get_fontsize() for text in figure.findobj(Text)]
    assert [text.get_fontsize() for text in readable(figure).findobj(Text)] == before


def test_chapters_show_figures_so(monkeypatch):
    shown = []

    def display(one: object) -> None:
        if isinstance(one, Figure):
            shown.append(drawn(one, monkeypatch))

    monkeypatch.setattr(chapter, "display", display)
    one = chapter.spec("fig2_spatial")
    opened = chapter.Chapter(one, one.check({"profile": "paper"}))

    def draw() -> Figure:
        return small(10)

    opened.show(draw)
    assert min(shown[0].values()) >= 0.99 * LEAST
