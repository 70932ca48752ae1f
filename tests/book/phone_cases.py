"""Figures that are drawn for phones."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.text import Text

from book.site import phones
from vnlib.plots.style import readable

NAMES = ["Vector Network", "CNN, ramp code", "MLP"]


def panels(rows: int = 1, columns: int = 3) -> plt.Figure:
    """A figure of rows of names, which all panels of a row share."""
    fig, axes = plt.subplots(rows, columns, figsize=(10.5, 3.0 * rows), sharey=True, squeeze=False)
    for number, ax in enumerate(axes.ravel()):
        ax.plot([1, 2, 3 + number], NAMES, "o")
        ax.set_title(f"panel {number}")
    axes[0, 0].set_ylabel("model")
    fig.supxlabel("error")
    handles = [Line2D([], [], label=f"a long entry, number {n}") for n in range(4)]
    fig.legend(handles=handles, loc="outside upper center", ncols=4)
    return readable(fig)


def shown_px(fig: plt.Figure) -> list[float]:
    """Heights of letters on a phone, in CSS pixels."""
    whole = fig.get_tightbbox().width + 0.2
    texts = (one for one in fig.findobj(Text) if one.get_text().strip() and one.get_visible())
    return [one.get_fontsize() / 72 * phones.COLUMN / whole for one in texts]
