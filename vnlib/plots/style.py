"""One look for all figures: seaborn's style, and the colours of models from `book/models.toml`."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from functools import cache

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from vnlib.book import paths

PALETTE = sns.color_palette("colorblind").as_hex()
SEQUENTIAL = "cividis"  # ordered and readable with any colour vision
DIVERGING = "PuOr_r"  # zero is white
IN_ROWS = "in rows"  # label of a figure that phones read row by row: its columns have no titles
COLUMN = 773  # px of a page's column of text at 1280 px, to which wider figures are shrunk


def use_style() -> None:
    """Set matplotlib's defaults for the book."""
    sns.set_theme(context="notebook", style="ticks", palette="colorblind", font_scale=0.9)
    plt.rcParams.update(
        {
            "figure.dpi": 110,
            "savefig.dpi": 160,
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "image.cmap": SEQUENTIAL,
            "legend.frameon": False,
            "svg.fonttype": "none",
        }
    )


def readable(fig: Figure) -> Figure:
    """The figure, with labels enlarged that a page would show with less than 9 px, exponents with 7."""
    pixel = 72 * max((fig.get_figwidth() + 0.2) / COLUMN, 1 / 96)
    _ = [(ax.get_xticklabels(), ax.get_yticklabels()) for ax in fig.axes]  # which writes them
    for text in fig.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), (10 if "$" in text.get_text() else 9) * pixel))
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
