"""The pictures of the summary: errors condition by condition, errors against the length of the
code, and factors of what one part changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks.baselines.figures import Members, members, seeds_and_medians
from benchmarks.functions.figures import log_axis
from chapters.summary import effects
from vnlib.plots.frames import empty, long_frame
from vnlib.plots.statistics import over_seeds
from vnlib.plots.style import PALETTE, look

KINDS = {
    "vn": "Vector Network",
    "printed": "other models of the papers",
    "control": "our controls",
}
HEIGHT = 0.2  # of a row in inches
MOST = 4.0  # one seed that went astray must not press all others together
LEAST = 1e-12
NOTHING = "No picture: no models of this benchmark are stored here."

# Rows of digits that are drawn against the length of their codes.
CODES = (
    *("vn_1", "vn_untrained", "dictionary_learning", "dct", "dct_count", "pca_matched", "pca"),
    *("pca_adaptive", "ksparse_linear", "ae", "ksparse"),
)


def kinds(*tables: xr.DataArray) -> list[Members]:
    """Legend entries of the kinds of models in these tables."""
    rows = {
        (kind, name)
        for table in tables
        for kind, name in zip(table["kind"].values, table["name"].values, strict=True)
    }
    every = [(title, sorted(n for k, n in rows if k == kind)) for kind, title in KINDS.items()]
    return [entry for title, names in every for entry in members(title, names)]


def by_condition(table: xr.DataArray | None, where: str = "", *, columns: int = 4) -> plt.Figure:
    """Errors over those of the zero baseline, a panel for each condition whose name begins with
    `where`: every seed a point, bars are medians; the first look hollow, the second filled.

    Parameters
    ----------
    table
        As `errors.tables` has it; None gives a line that says why there is no picture.
    """
    if table is None:
        return empty(NOTHING)
    names = [one for one in table["condition"].values.tolist() if one.startswith(where)]
    table = table.sel(condition=names).transpose("row", "condition", "look", "seed")
    blocks = dict.fromkeys(table["block"].values.tolist())
    keys = {b: table["key"].values[table["block"].values == b].tolist() for b in blocks}
    order = [line for block, rows in keys.items() for line in (block, *rows)]
    columns = min(columns, len(names))
    rows = -(-len(names) // columns)
    size = (3.4 + (2.1 if columns > 1 else 5.2) * columns, 0.9 + rows * (0.5 + HEIGHT * len(order)))
    fig, axes = plt.subplots(rows, columns, figsize=size, sharey=True, squeeze=False)
    for ax, name in zip(axes.ravel(), names, strict=False):
        _panel(ax, table.sel(condition=name), order)
        ax.set_title(name.removeprefix(where).removeprefix(": "), fontsize=9)
    called = dict(zip(table["key"].values.tolist(), table["name"].values.tolist(), strict=True))
    axes[0, 0].set_yticks(range(len(order)), [called.get(one, one) for one in order], fontsize=8)
    for line, label in zip(order, axes[0, 0].get_yticklabels(), strict=True):
        label.set_weight("bold" if line in blocks else "normal")
    axes[0, 0].set_ylim(len(order) - 0.4, -0.7)
    fig.supxlabel("mean squared error over that of the zero baseline", fontsize=9)
    looks = zip(("none", "0.3"), table["look"].values.tolist(), strict=True)
    marks = [
        Line2D([], [], color="0.3", marker="o", mfc=face, ls="", ms=5, label=text)
        for face, text in looks
    ]
    zero = Line2D([], [], color="k", ls=(0, (1, 3)), lw=1.2, label="zero baseline")
    handles = [*kinds(table), *marks, zero]
    fig.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=8)
    return fig


def _panel(ax: Axes, table: xr.DataArray, order: Sequence[str]) -> None:
    """One condition; seeds beyond the axis are counted at its end."""
    names = zip(table["key"].values.tolist(), table["name"].values.tolist(), strict=True)
    groups = {key: (name, *look(name)) for key, name in names}
    for side, which in enumerate(table["look"].values):
        frame = long_frame(table.sel(look=which).clip(LEAST).drop_vars("name"), "error")
        how = {"value": "error", "by": "key", "hue": "key", "groups": groups, "order": order}
        if len(frame):
            seeds_and_medians(ax, frame, hollow=side == 0, **how)
    worst = float(table.max())
    most = 1.2 * worst if MOST < worst < 1.5 * MOST else min(2 * worst, MOST)
    ax.set(xscale="log", xlim=(float(table.clip(LEAST).min()) / 2, max(most, 1.6)), xlabel="")
    log_axis(ax.xaxis)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=8)
    ax.grid(axis="x", color="0.93", lw=0.6)
    ax.axvline(1, color="k", ls=(0, (1, 3)), lw=1.2)
    beyond = (table > ax.get_xlim()[1]).any("look").sum("seed").values.tolist()
    for key, count in zip(table["key"].values.tolist(), beyond, strict=True):
        if count:
            text = f"{count} seed{'s' * (count > 1)} →"
            at = {"xycoords": ("axes fraction", "data"), "va": "center", "ha": "right"}
            box = {"boxstyle": "square,pad=0.15", "fc": "w", "ec": "none"}
            ax.annotate(text, (0.995, order.index(key)), fontsize=7.5, bbox=box, zorder=1, **at)


def against_length(table: xr.DataArray | None) -> plt.Figure:
    """Errors of digits against the number of active coefficients, a panel for each set of images:
    medians over seeds, and lines over their intervals.
    """
    if table is None:
        return empty(NOTHING)
    values = over_seeds(table.isel(look=0))
    conditions = table["condition"].values.tolist()
    shape = {"figsize": (8.6, 8.4), "sharex": True, "sharey": True}
    fig, axes = plt.subplots(4, 4, **shape)
    for ax, condition in zip(axes.ravel(), conditions, strict=False):
        one = values.sel(condition=condition)
        for key in CODES:
            for row in np.flatnonzero(one["key"].values == key):
                color, marker = look(str(one["name"].values[row]))
                x, at = float(one["active"][row]), one.isel(row=row)
                ax.plot([x, x], [float(at["low"]), float(at["high"])], color=color, lw=1)
                ax.plot(x, float(at["median"]), marker, color=color, ms=5.5)
        ax.set(xscale="log", yscale="log", xlim=(45, 950))
        ax.set_xticks((50, 100, 200, 400, 800), (50, 100, 200, 400, 800))
        ax.minorticks_off()
        ax.set_title(condition, fontsize=9)
        ax.grid(color="0.93", lw=0.6)
        ax.tick_params(labelsize=8)
    called = dict(zip(table["key"].values.tolist(), table["name"].values.tolist(), strict=True))
    names = [called[key] for key in CODES if key in called]
    handles = [
        Line2D([], [], color=look(name)[0], marker=look(name)[1], ls="", label=name)
        for name in names
    ]
    for ax in axes.ravel()[len(conditions) :]:
        ax.set_axis_off()
    for ax in axes.ravel()[max(0, len(conditions) - 4) : len(conditions)]:  # the last of its column
        ax.tick_params(labelbottom=True)
    fig.legend(handles=handles, loc="lower right", bbox_to_anchor=(0.99, 0.06), fontsize=7.5)
    fig.supxlabel("active coefficients per image", fontsize=9)
    fig.supylabel("mean squared error over that of the zero baseline", fontsize=9)
    return fig


def factors(found: Mapping[tuple[str, ...], xr.DataArray]) -> plt.Figure:
    """Factors of errors, a row for each effect and a point for each condition, with its interval;
    effects of one part blue, of several and interactions grey and hollow.

    Parameters
    ----------
    found
        The heading first -> logarithms of factors (condition, seed).
    """
    if not found:
        return empty(NOTHING)
    heads = list(dict.fromkeys(key[0] for key in found))
    lines = [line for head in heads for line in (head, *(k for k in found if k[0] == head))]
    fig, ax = plt.subplots(figsize=(8.6, 1 + 0.21 * len(lines)))
    for place, line in enumerate(lines):
        if isinstance(line, str):
            continue
        several = effects.SEVERAL in line[1] or " × " in line[1]
        color, face = ("0.45", "w") if several else (PALETTE[0], PALETTE[0])
        values = over_seeds(np.exp(found[line]))[["median", "low", "high"]]
        shifts = place + np.linspace(-0.25, 0.25, values.sizes["condition"] + 2)[1:-1]
        ax.hlines(shifts, values["low"], values["high"], color=color, lw=0.8)
        ax.plot(values["median"], shifts, "o", color=color, mfc=face, ms=3.5)
    texts = [line if isinstance(line, str) else ": ".join(line[1:]) for line in lines]
    ax.set_yticks(range(len(lines)), texts, fontsize=8)
    for line, label in zip(lines, ax.get_yticklabels(), strict=True):
        label.set_weight("bold" if isinstance(line, str) else "normal")
    ax.axvline(1, color="k", ls=(0, (1, 3)), lw=1.2)
    ax.set(xscale="log", ylim=(len(lines) - 0.4, -0.7))
    ax.grid(axis="x", color="0.93", lw=0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("OOD error after over OOD error before", fontsize=9)
    marks = {
        "one part": (PALETTE[0], PALETTE[0]),
        "several parts, or an interaction": ("0.45", "w"),
    }
    handles = [
        Line2D([], [], color=c, marker="o", mfc=face, ms=4, lw=0.8, label=text)
        for text, (c, face) in marks.items()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=8)
    return fig
