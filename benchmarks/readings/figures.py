"""Figures of specification curves: the sorted margins over the readings they are of, and the shares
of several statements side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill, shorten

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from benchmarks.readings.curve import (
    CHOICE,
    FAILS,
    HOLDS,
    NOT_TESTABLE,
    TIE,
    UNDECIDED,
    VERDICTS,
    by_option,
    deciding,
    shares,
    summary,
)
from vnlib.plots.frames import empty
from vnlib.plots.statistics import percent
from vnlib.plots.style import PALETTE

# Verdict -> colour and marker: markers repeat what colours say.
LOOKS = {
    HOLDS: (PALETTE[0], "o"),
    TIE: (PALETTE[8], "s"),
    UNDECIDED: (PALETTE[7], "D"),
    FAILS: (PALETTE[3], "v"),
    NOT_TESTABLE: ("0.85", "x"),
}
FACTORS = (1e-6, 1e-3, 0.1, 0.5, 1, 2, 10, 1e3, 1e6)
REACH = np.log(1e7)  # up to which a ratio is drawn


def curve(found: xr.Dataset) -> Figure:
    """One statement: above, its margin in every reading with the 95 % interval, the least first, the
    book's own reading ringed; below, which options each reading takes; on top, the shares.
    """
    if not found["margin"].notnull().any():
        return empty("No reading of this statement can be tested in this profile.")
    rows = _rows(found)
    height = 2.6 + 0.19 * len(rows)
    fig, (top, bottom) = plt.subplots(
        2, 1, figsize=(9.2, height), sharex=True, height_ratios=[2.4, 0.19 * len(rows)]
    )
    _margins(top, found)
    _options(bottom, found, rows)
    top.set_title(_header(found), fontsize=9.5, loc="left")
    return fig


def _header(found: xr.Dataset) -> str:
    plain, weighed = shares(found), shares(found, weighted=True)
    said = (
        f"on the right side in {percent(plain['right'])} of {plain['testable']:,} readings "
        f"[{percent(plain['low'])}, {percent(plain['high'])}], surely in {percent(plain['sure'])} of them"
    )
    if plain["alone"]:
        said += f" ({plain['alone']} have no interval)"
    if found["weight"].max() > found["weight"].min():
        said += f"; by weight {percent(weighed['right'])}"
    whole = said.replace(" %", "\N{NO-BREAK SPACE}%")
    return f"{shorten(found.attrs['says'], 100)}\n{fill(whole, 95)}"


def _margins(ax: Axes, found: xr.Dataset) -> None:
    ratio = found.attrs["kind"] == "ratio"
    known = found["margin"].where(np.isfinite(found["margin"]))
    reach = REACH if ratio else 1.2 * max(float(np.abs(known).max()), 1e-9)
    place = np.arange(found.sizes["reading"])
    middle, low, high = (np.clip(found[n].values, -reach, reach) for n in ("margin", "low", "high"))
    words, thin = found["verdict"].values.astype(str), 0.8 if len(place) <= 400 else 0.3
    for word in VERDICTS[:-1]:
        color, marker = LOOKS[word]
        at = words == word
        if at.any():
            ax.vlines(place[at], low[at], high[at], color=color, lw=thin, alpha=0.4)
            ax.scatter(place[at], middle[at], s=14, color=color, marker=marker, zorder=3, lw=0.5)
    own = found["own"].values & ~np.isnan(middle)
    ax.scatter(place[own], middle[own], s=110, fc="none", ec="black", lw=1.4, zorder=4)
    ax.axhline(0, color="black", lw=0.8)
    looks = {word: LOOKS[word] for word in VERDICTS if word in words}
    handles = [Line2D([], [], color=c, marker=m, ls="", label=w) for w, (c, m) in looks.items()]
    if own.any():
        ring = {"marker": "o", "ls": "", "mfc": "none", "mec": "black", "ms": 9}
        handles.append(Line2D([], [], label="the book's reading", **ring))
    place = {"loc": "outside lower center", "ncols": len(handles)}
    ax.get_figure().legend(handles=handles, fontsize=8, handletextpad=0.2, **place)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="x", length=0)
    if ratio:
        ax.set_yscale("asinh", linear_width=np.log(2))
        ends = [*middle[np.isfinite(middle)], np.log(2), -np.log(2)]
        ax.set_ylim(1.3 * min(ends), 1.9 * max(ends))
        ax.yaxis.set_major_locator(FixedLocator(np.log(FACTORS)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _factor(np.exp(value))))
        ax.yaxis.set_minor_locator(FixedLocator([]))
        ax.set_ylabel("right side of bound by")
    else:
        ax.set_ylabel("distance to bound")


def _factor(value: float) -> str:
    """A factor: 0.5×, 10×, and thousands as powers of ten."""
    power = round(np.log10(value))
    return f"$10^{{{power}}}$×" if abs(power) > 2 else f"{value:.3g}×"


def _rows(found: xr.Dataset) -> list[tuple[str, str]]:
    """The rows below, from the top: each choice as a heading, then its options."""
    rows = []
    for name, options in found.attrs["options"].items():
        rows += [(name, ""), *((name, option) for option in options)]
    return rows


def _options(ax: Axes, found: xr.Dataset, rows: list[tuple[str, str]]) -> None:
    """A mark where a reading takes an option, in the colour of its verdict."""
    colors = np.array([LOOKS[word][0] for word in found["verdict"].values.astype(str)])
    place = np.arange(found.sizes["reading"])
    size = 26 if len(place) <= 150 else 16
    for row, (name, option) in enumerate(rows):
        if option:
            takes = (found[f"{CHOICE}{name}"] == option).values
            at = np.full(takes.sum(), row)
            ax.scatter(place[takes], at, marker="|", s=size, color=colors[takes], lw=1)
            ax.axhline(row, color="0.93", lw=0.5, zorder=0)
    said = [option or found.attrs["choices"][name] for name, option in rows]
    ax.set_yticks(range(len(rows)), said, fontsize=8)
    for text, (_, option) in zip(ax.get_yticklabels(), rows, strict=True):
        text.set_fontweight("normal" if option else "bold")
    own = np.flatnonzero(found["own"].values)
    for reading in own:
        ax.axvline(reading, color="black", lw=0.6, zorder=0)
    ax.set(xlabel="readings, sorted by margin", ylim=(len(rows) - 0.4, -0.6))
    ax.set_xlim(-1.5, len(place) + 0.5)
    ax.tick_params(axis="both", length=0)
    ax.spines["left"].set_visible(False)


def overview(curves: Mapping[str, xr.Dataset]) -> Figure:
    """Every statement: the share of its readings on the right side of the bound, with the interval
    over seeds, and counted by weight; at the right the verdict of the book's own reading, and how
    many readings could be tested.
    """
    frame = summary(curves)
    fig, ax = plt.subplots(figsize=(9, 0.9 + 0.34 * len(frame)))
    rows, beside = np.arange(len(frame)), ax.get_yaxis_transform()
    ax.hlines(rows, frame["low"], frame["high"], color=PALETTE[0], lw=1.4)
    plain = ax.scatter(frame["right"], rows, color=PALETTE[0], s=34, zorder=3)
    heavy = ax.scatter(
        frame["weighted"], rows, marker="D", fc="none", ec=PALETTE[1], s=46, zorder=4
    )
    for row, (word, tested) in enumerate(zip(frame["own"], frame["testable"], strict=True)):
        color, marker = LOOKS[word]
        ax.scatter(1.06, row, color=color, marker=marker, s=30, transform=beside, clip_on=False)
        ax.text(1.1, row, f"{word}\n{tested:,.0f}", va="center", fontsize=8, transform=beside)
    head = {"fontsize": 8, "fontweight": "bold", "transform": beside}
    ax.text(1.04, -0.7, "verdict,\nreadings", **head)
    names = [fill(f"{name}: {one.attrs['says']}", 52) for name, one in curves.items()]
    ax.set_yticks(rows, names, fontsize=8)
    ax.set(xlim=(-0.03, 1.03), ylim=(len(frame) - 0.4, -0.6), xticks=np.linspace(0, 1, 5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    ax.set_xlabel("share of readings on the right side of the bound", fontsize=9)
    ax.tick_params(axis="x", labelsize=8)
    ax.grid(axis="y", color="0.93", lw=0.6)
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1.02), "ncols": 2, "fontsize": 8}
    ax.legend([plain, heavy], ["all counted alike", "by weight"], **place)
    return fig


def deciders(curves: Mapping[str, xr.Dataset]) -> Figure:
    """Of every statement the choice that decides most: the share of its readings on the right side of
    the bound, by the option that they take, with the interval over seeds.
    """
    groups: list[tuple[str, pd.DataFrame]] = []
    for one in curves.values():
        shares = by_option(one).dropna(subset=["right"])
        found = [name for name in deciding(one) if name in shares.index.get_level_values("choice")]
        if found:
            said = f"{one.attrs['says']}; by {one.attrs['choices'][found[0]]}:"
            groups.append((said, shares.loc[found[0]]))
    if not groups:
        return empty("No reading can be tested in this profile.")
    counts = [len(rows) for _, rows in groups]
    size, shape = (9.2, 0.7 + 0.26 * (sum(counts) + len(counts))), {"height_ratios": counts}
    fig, axes = plt.subplots(len(groups), figsize=size, sharex=True, squeeze=False, **shape)
    for ax, (said, rows) in zip(axes.flat, groups, strict=True):
        place = np.arange(len(rows))
        ax.hlines(place, rows["low"], rows["high"], color=PALETTE[0], lw=1.4)
        ax.scatter(rows["right"], place, color=PALETTE[0], s=36, zorder=3)
        ax.set_yticks(place, [str(option) for option in rows.index])
        ax.set(xlim=(-0.02, 1.02), ylim=(len(rows) - 0.4, -0.6), xticks=np.linspace(0, 1, 5))
        ax.set_title(said, fontsize=9, fontweight="bold", loc="left")
        ax.grid(axis="y", color="0.93", lw=0.5)
        ax.tick_params(axis="y", length=0, labelsize=9)
        ax.spines["left"].set_visible(False)
    for ax in axes.flat[:-1]:
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(axis="x", length=0)
    axes[-1, 0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: percent(value)))
    axes[-1, 0].set_xlabel("share of readings in which the statement is right")
    return fig
