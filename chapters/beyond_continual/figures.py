"""Figures of tasks learned one after the other: errors, what is forgotten, shared updates, few
images (VN Sec. 5).

`results` is what `studies.continual.study` returns over model, seed and stream, with `power`
(task), the mean square of a task's tests, and `data_error` (images, set). Coordinates of the model:
label, group, and tasks, "digits" or "forces".
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from vnlib.plots.rows import absent, group, label, points
from vnlib.plots.style import GROUPS, PALETTE, SEQUENTIAL

KINDS = {"digits": "pairs of digits", "forces": "force laws"}
STREAMS = {
    "sequence": ("in turn", "o"),
    "replay": ("with replay", "s"),
    "joint": ("all mixed", "D"),
    "last": ("the last alone", "v"),
}
LOOKS = {"vn": GROUPS["vn"][1:], "backprop": (PALETTE[3], "s"), "control": GROUPS["control"][1:]}
SETS = {"id": "single digits", "add2": "sums of two"}
LINES = ("-", "--", ":", "-.")


def models(results: xr.Dataset, kind: str) -> list[str]:
    """The models of digits or of forces."""
    return results["model"].values[results["tasks"].values == kind].tolist()


def relative(results: xr.Dataset) -> xr.DataArray:
    """Errors in units of the mean square of a task (model, seed, stream, after, task); those of
    forces are so.

    Streams are those of `STREAMS`, with NaN where no model went through one.
    """
    return results["error"].reindex(stream=list(STREAMS)) / results["power"].where(
        results["tasks"] == "digits", 1.0
    )


def end(results: xr.Dataset) -> xr.DataArray:
    """Relative errors after the last turn (model, seed, stream, task)."""
    errors, turns = relative(results), results["power"].notnull().sum("task")
    return errors.where(errors["after"] == turns).max("after")


def final(results: xr.Dataset) -> xr.DataArray:
    """Mean relative error over tasks after the last turn (model, seed, stream)."""
    return end(results).mean("task")


def forgotten(results: xr.Dataset) -> xr.DataArray:
    """Error at the end over that right after the task, mean over all tasks but the last (model,
    seed, stream).
    """
    errors = relative(results)
    own = errors.where(errors["after"] == errors["task"] + 1).max("after")
    turns = results["power"].notnull().sum("task")
    return (end(results) / own).where(own["task"] < turns - 1).mean("task")


def transfer(results: xr.Dataset) -> xr.DataArray:
    """Error on a task just before it is learned over that at the start, mean over all tasks but the
    first.
    """
    errors = relative(results)
    before = errors.where(errors["after"] == errors["task"]).max("after")
    return (before / errors.sel(after=0)).where(before["task"] > 0).mean("task")


def _rows(ax: plt.Axes, results: xr.Dataset, names: list[str], *, labels: bool) -> None:
    ax.set_yticks(range(len(names)), [label(results, name) for name in names] if labels else [])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xscale("log")
    ax.grid(axis="y", lw=0.3, alpha=0.6)


def _readable(axis: plt.Axis) -> None:
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
    axis.set_major_formatter(ScalarFormatter())
    axis.set_minor_formatter(NullFormatter())


def matrices(results: xr.Dataset, kind: str = "digits") -> plt.Figure:
    """Errors on each task after each turn, medians over seeds, a panel per model that learns in
    turn.
    """
    errors = relative(results).sel(stream="sequence").median("seed")
    names = [name for name in models(results, kind) if bool(errors.sel(model=name).notnull().any())]
    if not names:
        return absent(f"None of these models learned {KINDS[kind]}.")
    errors = errors.sel(model=names).dropna("task", how="all").dropna("after", how="all")
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    fig, axes = plt.subplots(
        rows, columns, figsize=(2.6 * columns, 2.3 * rows + 0.3), squeeze=False
    )
    low, high = (
        float(errors.sel(after=slice(1, None)).min()),
        float(errors.sel(after=slice(1, None)).max()),
    )
    low = max(low, 1e-4)
    scale = plt.matplotlib.colors.LogNorm(low, max(high, low * 1.01))
    for ax, name in zip(axes.flat, names, strict=False):
        image = errors.sel(model=name).transpose("after", "task")
        drawn = ax.imshow(np.maximum(image, low), norm=scale, cmap=SEQUENTIAL, aspect="auto")
        for (i, j), value in np.ndenumerate(image.values):
            level = float(np.clip(scale(max(value, low)), 0, 1))
            ax.text(
                j,
                i,
                f"{value:.2g}",
                ha="center",
                va="center",
                fontsize=6.5,
                color="k" if level > 0.5 else "w",
            )
        ax.set_title(label(results, name), fontsize=8)
        ax.set_xticks(
            range(errors.sizes["task"]), [str(1 + n) for n in range(errors.sizes["task"])]
        )
        ax.set_yticks(
            range(errors.sizes["after"]), ["start", *(str(n) for n in errors["after"].values[1:])]
        )
    for ax in list(axes.flat)[len(names) :]:
        ax.set_axis_off()
    fig.supxlabel("task", fontsize=9)
    fig.supylabel("turns", fontsize=9)
    bar = fig.colorbar(drawn, ax=axes, label="error over mean square", shrink=0.8)
    if kind == "digits":  # those of forces span decades
        _readable(bar.ax.yaxis)
    return fig


def ends(results: xr.Dataset) -> plt.Figure:
    """What is forgotten, and the error at the end by stream; every seed a point."""
    kinds = [kind for kind in KINDS if models(results, kind)]
    heights = [len(models(results, kind)) + 1.5 for kind in kinds]
    fig, axes = plt.subplots(
        len(kinds), 2, figsize=(10.5, 0.36 * sum(heights) + 1), squeeze=False, height_ratios=heights
    )
    ratio, errors = forgotten(results), final(results)
    for row, kind in zip(axes, kinds, strict=True):
        names = models(results, kind)
        for y, name in enumerate(names):
            color, _ = LOOKS[group(results, name)]
            for stream, (_, marker) in STREAMS.items():
                if stream in ("sequence", "replay"):
                    one = ratio.sel(model=name, stream=stream)
                    points(row[0], one, y, color, marker, hollow=stream == "replay")
                one = errors.sel(model=name, stream=stream)
                points(row[1], one, y, color, marker, hollow=stream not in ("sequence", "last"))
        row[0].axvline(1, color="0.5", lw=0.8)
        for number, ax in enumerate(row):
            _rows(ax, results, names, labels=number == 0)
            if kind == "digits":  # those of forces span decades
                _readable(ax.xaxis)
        row[0].set_title(KINDS[kind], fontsize=9)
        row[0].set_xlabel("error at the end / right after the task")
        row[1].set_xlabel("error at the end over mean square")
    handles = [
        Line2D(
            [],
            [],
            color="0.3",
            marker=marker,
            ls="",
            mfc="none" if stream in ("replay", "joint") else "0.3",
            label=title,
        )
        for stream, (title, marker) in STREAMS.items()
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8)
    return fig


def overlaps(results: xr.Dataset) -> plt.Figure:
    """What the updates of two tasks share, against what their codes share; a point per model and
    seed.
    """
    shown = {
        "shared_units": "shared by units",
        "shared_weights": "shared by single weights",
        "cosine": "cosine",
    }
    kinds = [kind for kind in KINDS if models(results, kind)]
    fig, axes = plt.subplots(
        len(kinds), 3, figsize=(10.5, 3.2 * len(kinds) + 0.6), squeeze=False, sharex=True
    )
    one = results.sel(stream="sequence")
    for row, kind in zip(axes, kinds, strict=True):
        for index, name in enumerate(models(results, kind)):
            color, _ = LOOKS[group(results, name)]
            marker = "osD^vP*Xh<>p"[index % 12]
            across = one["shared_code"].sel(model=name).mean(("task", "other"))
            for ax, measure in zip(row, shown, strict=True):
                up = one[measure].sel(model=name).mean(("task", "other"))
                ax.scatter(
                    across,
                    up,
                    s=20,
                    marker=marker,
                    color=color,
                    alpha=0.8,
                    label=label(results, name),
                )
        for ax, title in zip(row, shown.values(), strict=True):
            ax.set(ylabel=title, xlim=(-0.05, 1.05))
        row[0].set_title(KINDS[kind], fontsize=9)
        row[2].axhline(0, color="0.5", lw=0.8)
        row[2].legend(fontsize=7.5, loc="center left", bbox_to_anchor=(1, 0.5))
    for ax in axes[-1]:
        ax.set_xlabel("codes: share of their energy")
    return fig


def data(results: xr.Dataset) -> plt.Figure:
    """Error on single digits and on sums of two against the number of training images."""
    if "data_error" not in results:
        return absent("None of these models was trained on fewer images.")
    names = (
        results["model"]
        .values[results["data_error"].notnull().any(("seed", "images", "set")).values]
        .tolist()
    )
    fig, axes = plt.subplots(1, len(SETS), figsize=(10.5, 3.6), squeeze=False)
    seen: dict[str, int] = {}
    for name in names:
        kind = group(results, name)
        style = LINES[seen.setdefault(kind, 0) % len(LINES)]
        seen[kind] += 1
        color, marker = LOOKS[kind]
        for ax, which in zip(axes[0], SETS, strict=True):
            one = results["data_error"].sel(model=name, set=which)
            ax.plot(
                one["images"],
                one.median("seed"),
                style,
                color=color,
                lw=1.4,
                label=label(results, name),
            )
            for seed in one["seed"].values:
                ax.scatter(
                    one["images"], one.sel(seed=seed), color=color, marker=marker, s=9, alpha=0.7
                )
    for ax, title in zip(axes[0], SETS.values(), strict=True):
        ax.set(
            xscale="log",
            yscale="log",
            title=title,
            xlabel="training images",
            ylabel="mean squared error per pixel",
        )
        ax.set_xticks(
            results["images"].values, [str(n) for n in results["images"].values], fontsize=8
        )
        ax.xaxis.set_minor_formatter(NullFormatter())
        _readable(ax.yaxis)
    axes[0, 1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig
