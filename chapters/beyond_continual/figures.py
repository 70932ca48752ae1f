"""Figures of tasks learned one after the other: errors, what is forgotten, shared updates, few
images (VN Sec. 5).

Results are over model, seed and stream, as `chapters.beyond_continual.study` returns them, with
`power` (task), the mean square of a task's tests, and `data_error` (images, set). Coordinates of
the model: label, group, and tasks, "digits" or "forces".
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from benchmarks.baselines.figures import between_groups, legible, seeds_and_medians
from chapters.beyond_continual.claims import STREAMS, final, forgotten, relative
from vnlib.plots.frames import empty, group, if_computed, label, long_frame
from vnlib.plots.statistics import median, raised
from vnlib.plots.style import SEQUENTIAL, look

KINDS = {"digits": "pairs of digits", "forces": "force laws"}
POINTS = dict(zip(STREAMS, "osDv", strict=True))
SETS = {"id": "single digits", "add2": "sums of two"}
LINES = ("-", "--", ":", "-.")
EXAMPLE = ("vn_1", "vn_1_rest", "ae", "ae_long", "b_vn_token", "b_mlp", "b_token_mlp")
HOLLOW = ("replay", "joint")  # streams
LEAST = 1e-4  # in colours of matrices: what is below has the last one


def models_of(results: xr.Dataset, kind: str) -> list[str]:
    """The models of digits or of forces."""
    return results["model"].values[results["tasks"].values == kind].tolist()


def _readable(axis: Axis) -> None:
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
    axis.set_major_formatter(ScalarFormatter())
    axis.set_minor_formatter(NullFormatter())


def lines_of(results: xr.Dataset, models: Sequence[str]) -> dict[str, str]:
    """Model -> line: those of one colour have lines of their own."""
    colors = [look(label(results, m))[0] for m in models]
    return {m: LINES[colors[:i].count(colors[i]) % len(LINES)] for i, m in enumerate(models)}


def matrices(results: xr.Dataset, kind: str = "digits") -> Figure:
    """Errors on each task after each turn, medians over seeds, a panel per model that learns in
    turn.
    """
    errors = median(relative(results).sel(stream="sequence", model=models_of(results, kind)))
    errors = errors.dropna("model", how="all")
    names = errors["model"].values.tolist()
    if not names:
        return empty(f"None of these models learned {KINDS[kind]}.")
    errors = errors.dropna("task", how="all").dropna("after", how="all")
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    size = (2.9 * columns + 0.6, 2.3 * rows + 0.3)
    fig, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    later = errors.sel(after=slice(1, None))
    low = max(float(later.min()), LEAST)
    norm = LogNorm(low, max(float(later.max()), low * 1.01))
    turns = ["start", *map(str, errors["after"].values[1:])]
    for ax, name in zip(axes.flat, names, strict=False):
        image = errors.sel(model=name).transpose("after", "task")
        sns.heatmap(
            np.maximum(image.values, low),
            annot=np.vectorize(_cell)(image.values),
            fmt="",
            annot_kws={"fontsize": 7.5, "in_layout": False},
            norm=norm,
            cmap=SEQUENTIAL,
            cbar=False,
            xticklabels=[str(1 + n) for n in range(image.sizes["task"])],
            yticklabels=turns,
            ax=ax,
        )
        legible(ax, image.sizes["task"])
        ax.set_title(label(results, name), fontsize=8.5)
        ax.tick_params(axis="y", rotation=0)
    for ax in list(axes.flat)[len(names) :]:
        ax.set_axis_off()
    fig.supxlabel("task", fontsize=9)
    fig.supylabel("turns", fontsize=9)
    shown = axes.flat[0].collections[0]
    bar = fig.colorbar(shown, ax=axes, label="error over mean square", shrink=0.8)
    if kind == "digits":  # those of forces span decades
        _readable(bar.ax.yaxis)
    return fig


def _cell(error: float) -> str:
    """An error in a cell of a matrix, where what is below the last colour has no room."""
    said = raised(f"{error:#.2g}".rstrip(".")).replace(" ", "")
    return f"<{LEAST}" if error < LEAST else said


def example(results: xr.Dataset) -> Figure:
    """Error on the first task, right after it and after each later one: medians over seeds, and each
    seed.
    """
    errors = relative(results).sel(stream="sequence", task=0)
    kinds = {kind: [m for m in EXAMPLE if m in models_of(results, kind)] for kind in KINDS}
    kinds = {kind: names for kind, names in kinds.items() if names}
    if not kinds:
        return empty("The models of this figure were not asked for.")
    fig, axes = plt.subplots(1, len(kinds), figsize=(5.2 * len(kinds), 3.1), squeeze=False)
    for ax, (kind, names) in zip(axes[0], kinds.items(), strict=True):
        for name, line in lines_of(results, names).items():
            one = errors.sel(model=name, after=slice(1, None)).dropna("after", how="all")
            color, marker = look(label(results, name))
            ax.plot(one["after"], one.transpose("after", "seed"), color=color, lw=0.5, alpha=0.4)
            mark = {"color": color, "ls": line, "marker": marker, "ms": 4.5}
            ax.plot(one["after"], median(one), **mark, label=label(results, name))
        turns = one["after"].values
        ax.set(yscale="log", xticks=turns, xlabel="tasks learned so far")
        ax.set_title(f"{KINDS[kind]}: error on the first", fontsize=10)
        ax.legend(fontsize=8.5)
        if kind == "digits":
            _readable(ax.yaxis)
            ax.set_ylim(top=2.5)  # room for the legend
    axes[0, 0].set_ylabel("error over mean square", fontsize=9)
    return fig


def ends(results: xr.Dataset) -> Figure:
    """What is forgotten, and the error at the end by stream; every seed a point."""
    kinds = [kind for kind in KINDS if models_of(results, kind)]
    heights = [len(models_of(results, kind)) + 1.5 for kind in kinds]
    fig, axes = plt.subplots(
        len(kinds),
        2,
        figsize=(10.5, 0.36 * sum(heights) + 1),
        squeeze=False,
        sharey="row",
        height_ratios=heights,
    )
    ratio, errors = forgotten(results), final(results)
    for row, kind in zip(axes, kinds, strict=True):
        names = models_of(results, kind)
        _streams(row[0], ratio.sel(model=names, stream=["sequence", "replay"]))
        _streams(row[1], errors.sel(model=names))
        row[0].axvline(1, color="0.5", lw=0.8)
        for ax in row:
            if kind == "digits":  # those of forces span decades
                _readable(ax.xaxis)
            ax.set_title(KINDS[kind], fontsize=9)
        row[0].set_xlabel("error at the end / right after the task")
        row[1].set_xlabel("error at the end over mean square")
    handles = [
        Line2D(
            [],
            [],
            color="0.3",
            marker=POINTS[stream],
            ls="",
            mfc="none" if stream in HOLLOW else "0.3",
            label=title,
        )
        for stream, title in STREAMS.items()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9)
    return fig


def _streams(ax: Axes, values: xr.DataArray) -> None:
    """Models as rows of points on a logarithmic axis, with a marker for each stream."""
    order = [label(values, m) for m in values["model"].values]
    for stream in values["stream"].values.tolist():
        frame = long_frame(values.sel(stream=stream))
        if len(frame):
            seeds_and_medians(
                ax,
                frame,
                value="value",
                by="label",
                hue="label",
                groups={name: (name, look(name)[0], POINTS[stream]) for name in order},
                order=order,
                hollow=stream in HOLLOW,
            )
    between_groups(ax, [group(values, m) for m in values["model"].values])
    ax.set_xscale("log")


def overlaps(results: xr.Dataset) -> Figure:
    """What the updates of two tasks share, against what their codes share; a point per model and
    seed.
    """
    shown = {
        "shared_units": "shared by units",
        "shared_weights": "shared by single weights",
        "cosine": "cosine",
    }
    kinds = [kind for kind in KINDS if models_of(results, kind)]
    fig, axes = plt.subplots(
        len(kinds), 3, figsize=(10.5, 3.2 * len(kinds) + 0.6), squeeze=False, sharex=True
    )
    means = results[[*shown, "shared_code"]].sel(stream="sequence").mean(("task", "other"))
    for row, kind in zip(axes, kinds, strict=True):
        names = models_of(results, kind)
        frame = means.sel(model=names).to_dataframe().reset_index()
        labels = [label(results, m) for m in names]
        palette = {name: look(name)[0] for name in labels}
        markers = {name: look(name)[1] for name in labels}
        for ax, (name, title) in zip(row, shown.items(), strict=True):
            sns.scatterplot(
                frame,
                x="shared_code",
                y=name,
                hue="label",
                style="label",
                hue_order=labels,
                style_order=labels,
                palette=palette,
                markers=markers,
                s=28,
                alpha=0.8,
                linewidth=0,
                legend=ax is row[2],
                ax=ax,
            )
            ax.set(xlabel="", ylabel=title, xlim=(-0.05, 1.05))
            ax.set_title(KINDS[kind], fontsize=9)
        row[2].axhline(0, color="0.5", lw=0.8)
        row[2].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    for ax in axes[-1]:
        ax.set_xlabel("shared by codes")
    return fig


@if_computed
def data(results: xr.Dataset) -> Figure:
    """Error on single digits and on sums of two against the number of training images."""
    errors = results["data_error"].dropna("model", how="all")
    fig, axes = plt.subplots(1, len(SETS), figsize=(10.5, 3.6), squeeze=False)
    for name, line in lines_of(results, errors["model"].values.tolist()).items():
        color, marker = look(label(results, name))
        for ax, which in zip(axes[0], SETS, strict=True):
            frame = long_frame(errors.sel(model=name, set=which))
            sns.lineplot(
                frame.groupby("images", as_index=False)["value"].median(),
                x="images",
                y="value",
                estimator=None,
                color=color,
                ls=line,
                lw=1.4,
                label=label(results, name),
                legend=False,
                ax=ax,
            )
            ax.scatter(frame["images"], frame["value"], color=color, marker=marker, s=9, alpha=0.7)
    counts = results["images"].values
    for ax, title in zip(axes[0], SETS.values(), strict=True):
        ax.set(
            xscale="log",
            yscale="log",
            title=title,
            xlabel="training images",
            ylabel="mean squared error per pixel",
        )
        ax.set_xticks(counts, [f"{n:,}" for n in counts], fontsize=8)
        ax.xaxis.set_minor_formatter(NullFormatter())
        _readable(ax.yaxis)
    axes[0, 1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig
