"""Signatures of failure, measured (VN App. G.3), from the results of chapter fig3_functions.

Of whole signals by band of frequency: band_gain, band_missed; in one number: spread, bend, variety,
correlation. Of the hidden quarter by its eighths (place): tail_error, tail_truth. Points and thin
lines are seeds, bars and thick lines medians.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr

from benchmarks.baselines.figures import between_groups, seeds_and_medians
from benchmarks.functions.names import ELEVEN
from benchmarks.functions.protocols import PROTOCOLS
from benchmarks.functions.tables import present
from vnlib.plots import frames
from vnlib.plots.statistics import median
from vnlib.plots.style import look

COLLAPSE = {
    "spread": "spread: power\naround its own mean",
    "bend": "bend: power\naround its own best line",
    "variety": "variety: power\naround the mean drawing",
    "correlation": "correlation\nwith the signal",
}
NOTHING = "None of the paper's models was asked for."


def _small(
    results: xr.Dataset,
    frame: pd.DataFrame,
    models: Sequence[str],
    *,
    x: str,
    style: str,
    entries: Sequence[str],
    finish: Callable[[plt.Axes], object],
) -> plt.Figure:
    """One small panel per model; the conditions of `style`: solid with filled points, and dashed
    with hollow ones.
    """
    columns = min(6, len(models))
    rows = -(-len(models) // columns)
    size = (0.6 + 1.75 * columns, 0.7 + 1.75 * rows)
    fig, axes = plt.subplots(rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
    looks = list(zip(frame[style].unique(), ("-", "--"), (None, "white"), strict=False))
    for ax in axes.flat[len(models) :]:
        ax.set_axis_off()
    for ax, model in zip(axes.flat, models, strict=False):
        color, _ = look(frames.label(results, model))
        for condition, dash, face in looks:
            one = frame[(frame["model"] == model) & (frame[style] == condition)]
            if one.empty:
                continue
            common = {"x": x, "y": "value", "color": color, "ls": dash, "ax": ax}
            sns.lineplot(one, **common, units="seed", estimator=None, lw=0.5, alpha=0.5)
            sns.lineplot(
                one.groupby(x, as_index=False)["value"].median(),
                **common,
                estimator=None,
                marker="o",
                ms=4.5,
                mfc=face or color,
                mec=color,
            )
        ax.axhline(1, color="k", ls=":", lw=1)
        title = frames.label(results, model).replace(", trained with masks", ",\nwith masks")
        ax.set_title(title, fontsize=8.5, color=color)
        ax.set(xlabel="", ylabel="")
        finish(ax)
    handles = [
        plt.Line2D([], [], color="0.3", ls=dash, marker="o", ms=4.5, mfc=face or "0.3", label=said)
        for (_, dash, face), said in zip(looks, entries, strict=False)
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=2, fontsize=8.5)
    return fig


def bands(results: xr.Dataset, name: str = "hard") -> plt.Figure:
    """Per model, the share of power that is missed and the gain in each band of frequency."""
    models = present(results, ELEVEN)
    if not models:
        return frames.empty(NOTHING)
    one = results[["band_missed", "band_gain"]].sel(model=models, set=name)
    frame = frames.long_frame(one.to_dataarray("measure"))
    entries = ("missed (1: the zero baseline)", "gain (1: perfect)")

    def finish(ax: plt.Axes) -> None:
        ax.set(ylim=(-0.1, 1.6))
        ax.tick_params(axis="x", labelsize=6.5, rotation=60)

    fig = _small(results, frame, models, x="band", style="measure", entries=entries, finish=finish)
    fig.supxlabel("band [cycles per signal]", fontsize=10)
    fig.supylabel("share of the band's power", fontsize=10)
    return fig


def tails(results: xr.Dataset, name: str = "hard") -> plt.Figure:
    """Per model, the error along the hidden quarter over the signal's own power there.

    Dotted: the zero baseline. Dashed: the last value held.
    """
    models = present(results, (*ELEVEN, "deep_ae_masked"))
    if not models:
        return frames.empty(NOTHING)
    one = results.sel(set=name)
    relative = one["tail_error"] / one["tail_truth"]
    frame = frames.long_frame(relative.sel(model=models, protocol=list(PROTOCOLS)))
    held = present(results, ["hold_last"])

    def finish(ax: plt.Axes) -> None:
        for rule in held:
            line = median(relative.sel(model=rule, protocol="mask_aware"))
            ax.plot(line["place"], line, color="0.4", ls="--", lw=0.9)
        ax.set(ylim=(0, 3), xticks=[1, 4, 8])

    entries = list(PROTOCOLS.values())
    fig = _small(
        results, frame, models, x="place", style="protocol", entries=entries, finish=finish
    )
    fig.supxlabel("eighth of the hidden quarter", fontsize=10)
    fig.supylabel("error / power of the signal", fontsize=10)
    return fig


def collapse(results: xr.Dataset, name: str = "hard") -> plt.Figure:
    """What is left of a signal's shape, one panel per measure, one row per model; 1 is the
    truth's.
    """
    models = present(results, ELEVEN)
    if not models:
        return frames.empty(NOTHING)
    groups = [frames.group(results, m) for m in models]
    order = [frames.label(results, m) for m in models]
    size = (11, 1.2 + 0.26 * len(models))
    fig, axes = plt.subplots(1, len(COLLAPSE), figsize=size, sharey=True)
    for ax, (measure, title) in zip(axes, COLLAPSE.items(), strict=True):
        frame = frames.long_frame(results[measure].sel(model=models, set=name))
        seeds_and_medians(ax, frame, value="value", by="label", order=order)
        between_groups(ax, groups, margin=0.5)
        for at, style in ((1, "-"), (0, ":")):
            ax.axvline(at, color="k", ls=style, lw=0.9, zorder=1)
        ax.set(xlabel="")
        ax.set_title(title, fontsize=9)
        ax.tick_params(axis="y", labelsize=8)
        ax.set_xlim(left=min(-0.05, np.floor(10 * frame["value"].min()) / 10))
    said = "relative to the signal (0: nothing, a line, or one drawing for all)"
    fig.supxlabel(said, fontsize=9.5)
    return fig
