"""One look for all figures: seaborn's style, and the colours of models from `book/models.toml`."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from functools import cache

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib import _mathtext
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatterSciNotation

from vnlib.book import paths

PALETTE = sns.color_palette("colorblind").as_hex()
SEQUENTIAL = "cividis"  # ordered and readable with any colour vision
DIVERGING = "PuOr_r"  # zero is white
IN_ROWS = "in rows"  # label of a figure that phones read row by row: its columns have no titles
COLUMN = 773  # px of a page's column of text at 1280 px, to which wider figures are shrunk
RAISED = 0.85  # size of an exponent in its label; with matplotlib's 0.7 it would be too small


def use_style() -> None:
    """Set matplotlib's defaults for the book."""
    _mathtext.SHRINK_FACTOR = RAISED
    sns.set_theme(context="notebook", style="ticks", palette="colorblind", font_scale=0.9)
    plt.rc("axes.spines", top=False, right=False)
    plt.rc("figure", dpi=110, **{"constrained_layout.use": True})
    plt.rc("legend", frameon=False)
    plt.rc("savefig", dpi=160)
    plt.rc("image", cmap=SEQUENTIAL)
    plt.rc("svg", fonttype="none")


class _Decimals(LogFormatterSciNotation):
    """Writes the powers of ten of an axis out if it has none but 0.001 to 1,000."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        text, (low, high) = super().__call__(x, pos), self.axis.get_view_interval()  # pyright: ignore
        few = 1e-4 < abs(low or 1) < 1e4 > high > 1e-4
        return self.fix_minus(f"{x:,g}") if text and few else text


def readable(fig: Figure) -> Figure:
    """The figure, with powers of ten written out if they are few, and no text below 9 px on a page."""
    for axis in (one for ax in fig.axes for one in (ax.xaxis, ax.yaxis)):
        for one in (axis.get_major_formatter(), axis.get_minor_formatter()):
            if type(one) is LogFormatterSciNotation:
                one.__class__ = _Decimals
    pixel = 72 * max((fig.get_figwidth() + 0.2) / COLUMN, 1 / 96)
    _ = [(ax.get_xticklabels(), ax.get_yticklabels()) for ax in fig.axes]  # which writes them
    for text in fig.findobj(Text):
        least = 9 / RAISED if "$" in text.get_text() else 9
        text.set_fontsize(max(text.get_fontsize(), least * pixel))
    return fig


@cache
def look(name: str) -> tuple[str, str]:
    """Colour and marker of a model that readers know by this name: the same on every page."""
    known = tomllib.loads((paths.SOURCE / "book" / "models.toml").read_text("utf-8"))
    found = (one for shape, one in known["looks"].items() if fnmatchcase(name, shape))
    hue, marker = next(found, ("dark", "."))
    return known["hues"][hue], marker


def image_axes(ax: Axes, title: str = "", size: float = 8.5) -> Axes:
    """An axis for an image: no ticks, a small title."""
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize=size)
    sns.despine(ax=ax, left=True, bottom=True)
    return ax
