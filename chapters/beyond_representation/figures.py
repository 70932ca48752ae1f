"""Figures of linear and orthogonal factors: codes of four benchmarks on grids of combinations.

`results` is what `codes.measured` finds, over model and seed, with the coordinates label, group and
benchmark of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.baselines.figures import between_groups, looks, of_groups, seeds_and_medians
from vnlib.plots.frames import empty, group, in_groups, label
from vnlib.plots.statistics import raised, short
from vnlib.plots.style import DIVERGING, image_axes, look

BENCHMARKS = {
    "spatial": "positions",
    "functions": "functions",
    "forces": "forces",
    "digits": "digits",
}
GROUPS = {
    "vn": "Vector Networks",
    "backprop": "back-propagation",
    "untrained": "untrained networks",
    "control": "nothing learned, or linear",
}
SECOND = 100  # number of the second factor's first value among the effects
EXAMPLE = ("s_vn_1", "s_cnn", "d_vn_1", "d_ae")
LOWEST = 1e-6  # smaller errors are drawn here
COLUMNS = {
    "linearity": "linearity",
    "overlap": "overlap",
    "read": "read right",
    "error_unseen": "error, 1: zero baseline",
}


def of_benchmark(
    results: xr.Dataset, benchmark: str, groups: Sequence[str] = tuple(GROUPS)
) -> list[str]:
    """The models of a benchmark that belong to these groups, in the order of the results."""
    own = results["model"].values[results["benchmark"].values == benchmark]
    return [m for m in in_groups(results, *groups) if m in own]


def benchmarks(results: xr.Dataset) -> list[str]:
    """The benchmarks that there are."""
    return [name for name in BENCHMARKS if of_benchmark(results, name)]


def layers(results: xr.Dataset, model: str) -> list[str]:
    """The layers of a model in the order of the pass."""
    order = results["order"].sel(model=model).max("seed").dropna("layer")
    return order.sortby(order)["layer"].values.tolist()


def codes_of(results: xr.Dataset) -> xr.Dataset:
    """What holds of the layers that count as the models' codes (model, seed); with `read`, both
    factors read right, and `condition`, linearity times 1 - overlap.
    """
    is_code = results["is_code"].max("seed") == 1
    one = results.map(lambda v: v.where(is_code).max("layer") if "layer" in v.dims else v)
    read = (one["read_first"] + one["read_second"]) / 2
    return one.assign(read=read, condition=one["linearity"] * (1 - one["overlap"]))


def codes(results: xr.Dataset) -> Figure:
    """Four measures of every model's code; every seed a point."""
    names = benchmarks(results)
    shown = codes_of(results)[["error_seen", *COLUMNS, "overlap_random"]]
    errors = shown[["error_seen", "error_unseen"]]
    shown = shown.assign(errors.clip(min=LOWEST))
    counts = [len(of_benchmark(results, name)) for name in names]
    fig, axes = plt.subplots(
        len(names),
        len(COLUMNS),
        figsize=(10.5, 0.22 * sum(counts) + 0.55 * len(names) + 0.8),
        sharey="row",
        sharex="col",
        squeeze=False,
        height_ratios=[n + 1.5 for n in counts],
    )
    for row, name in zip(axes, names, strict=True):
        models = of_benchmark(results, name)
        frame = shown.sel(model=models).to_dataframe().reset_index()
        order = [label(results, m) for m in models]
        rows = {"by": "label", "order": order}
        for ax, measure in zip(row, COLUMNS, strict=True):
            if measure == "error_unseen":
                seeds_and_medians(ax, frame, value="error_seen", hollow=True, **rows)
            seeds_and_medians(ax, frame, value=measure, **rows)
            between_groups(ax, [group(results, m) for m in models])
            ax.tick_params(axis="y", labelsize=8.5)
            ax.set_xlabel("")
        for y, one in enumerate(frame.groupby("label")["overlap_random"].median()[order]):
            row[1].plot([one] * 2, [y - 0.4, y + 0.4], color="0.1", lw=1, ls=":", zorder=1)
        row[0].set_ylabel(BENCHMARKS[name])
        row[3].axvline(1, color="0.6", lw=0.8, zorder=0)
    for ax, text in zip(axes[0], COLUMNS.values(), strict=True):
        ax.set_title(text, fontsize=9)
    for ax in axes[-1, :3]:
        ax.set_xlim(-0.03, 1.03)
    axes[-1, 3].set(xscale="log", xlim=(LOWEST / 2, None))
    _legend(fig, results)
    return fig


def paths(results: xr.Dataset) -> Figure:
    """Linearity against overlap, layer by layer; medians over seeds."""
    names = [n for n in benchmarks(results) if of_benchmark(results, n, ("vn", "backprop"))]
    if not names:
        return empty("Shown of Vector Networks and of models trained by back-propagation.")
    fig, axes = plt.subplots(
        1, len(names), figsize=(2.9 * len(names) + 0.6, 3.6), sharey=True, squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        shown = of_benchmark(results, name, ("vn", "backprop"))
        for model, (color, marker) in looks(results, shown).items():
            medians = results[["linearity", "overlap"]].sel(model=model).median("seed")
            steps = [
                layer
                for layer in layers(results, model)
                if not layer.startswith(("support", "input"))
            ]
            x, y = (medians[key].sel(layer=steps).values for key in ("overlap", "linearity"))
            style = {"color": color, "marker": marker, "ms": 4, "lw": 1.2}
            ax.plot(x, y, "-", label=label(results, model), **style)
            ax.plot(x[0], y[0], "o", ms=9, mfc="none", color=color)
        ax.set(title=BENCHMARKS[name], xlabel="overlap", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        ax.legend(fontsize=6.5, loc="lower right")
    axes[0, 0].set_ylabel("linearity")
    return fig


def relation(results: xr.Dataset) -> Figure:
    """Error at new combinations against linearity times 1 - overlap of the code; a point per model,
    medians.
    """
    names = benchmarks(results)
    middle = codes_of(results)[["condition", "error_unseen"]].median("seed")
    columns = min(2, len(names))
    rows = -(-len(names) // columns)
    fig, axes = plt.subplots(rows, columns, figsize=(5 * columns, 3.3 * rows + 0.4), squeeze=False)
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes.flat, names, strict=False):
        found = sorted(
            (max(y, LOWEST), x, model)
            for model in of_benchmark(results, name)
            for x, y in [middle.sel(model=model).to_array().values.tolist()]
        )
        for y, x, model in found:
            color, marker = look(label(results, model))
            ax.scatter(x, y, color=color, marker=marker, s=30, zorder=3)
        ax.axhline(1, color="0.6", lw=0.8, zorder=0)
        errors = [y for y, _, _ in found] + [1.0]
        ax.set(yscale="log", xlim=(-0.03, 1.03), ylim=(min(errors) / 2, max(errors) * 2))
        ax.set(
            title=BENCHMARKS[name],
            xlabel="linearity × (1 − overlap)",
            ylabel="error at new combinations",
        )
        _names(ax, [(x, y, label(results, model)) for y, x, model in found])
    _legend(fig, results)
    return fig


def _names(ax: Axes, found: list[tuple[float, float, str]], gap: float = 0.078) -> None:
    """Names of points in a column at the right, from the lowest up, each with a line to its point.

    Parameters
    ----------
    found
        `x`, `y` and `name` by rising y, on a logarithmic axis.
    gap
        The least distance of two names, in heights of ax.
    """
    low, high = np.log(ax.get_ylim())
    heights = [(np.log(y) - low) / (high - low) for _, y, _ in found]
    for k in range(1, len(heights)):
        heights[k] = max(heights[k], heights[k - 1] + gap)
    for k in reversed(range(len(heights))):
        heights[k] = min(heights[k], 1 - gap * (len(heights) - 1 - k))
    for (x, y, name), height in zip(found, heights, strict=True):
        arrow = {"arrowstyle": "-", "color": "0.75", "lw": 0.7, "shrinkB": 4, "relpos": (0, 0.5)}
        ax.annotate(
            name,
            (x, y),
            (1.06, height),
            textcoords="axes fraction",
            fontsize=8,
            va="center",
            arrowprops=arrow,
        )


def effects(results: xr.Dataset) -> Figure:
    """Cosines between the main effects of all values, first factor first, for a few models; the
    first seed's.
    """
    models = results["model"].values.tolist() if "cosines" in results else []
    models = [m for m in models if bool(results["cosines"].sel(model=m).notnull().any())]
    rows = [[m for m in models if m in of_benchmark(results, name)] for name in benchmarks(results)]
    rows = [row for row in rows if row]
    if not rows:
        return empty("These models keep no cosines.")
    columns = max(len(row) for row in rows)
    fig, axes = plt.subplots(
        len(rows), columns, figsize=(2.1 * columns + 1, 2.3 * len(rows)), squeeze=False
    )
    for ax in axes.flat:
        ax.set_axis_off()
    image = None
    for row, own in zip(axes, rows, strict=True):
        for ax, model in zip(row, own, strict=False):
            ax.set_axis_on()
            table = results["cosines"].sel(model=model).max("seed")
            table = table.dropna("effect", how="all").dropna("other", how="all")
            image = ax.imshow(table, cmap=DIVERGING, vmin=-1, vmax=1, interpolation="nearest")
            edge = int((table["effect"] < SECOND).sum()) - 0.5
            ax.axhline(edge, color="0.2", lw=0.7)
            ax.axvline(edge, color="0.2", lw=0.7)
            image_axes(ax, label(results, model), size=8.5)
        row[0].set_ylabel(
            BENCHMARKS[str(results["benchmark"].sel(model=own[0]).item())], fontsize=10
        )
    fig.colorbar(image, ax=axes, shrink=0.6, label="cosine of two main effects")
    return fig


def example(results: xr.Dataset) -> Figure:
    """The same cosines for four codes, with what the condition says of each and its error: map of the
    first seed, numbers medians over seeds.
    """
    kept = results["cosines"].notnull().any(("seed", "effect", "other"))
    models = [m for m in EXAMPLE if m in results["model"].values and bool(kept.sel(model=m))]
    if not models:
        return empty("These models keep no cosines.")
    found = codes_of(results)[["linearity", "overlap", "error_unseen"]].median("seed")
    size = (2.55 * len(models) + 0.8, 3.3)
    fig, axes = plt.subplots(1, len(models), figsize=size, squeeze=False)
    for ax, model in zip(axes[0], models, strict=True):
        table = results["cosines"].sel(model=model).max("seed")
        table = table.dropna("effect", how="all").dropna("other", how="all")
        name = BENCHMARKS[str(results["benchmark"].sel(model=model).item())]
        image_axes(ax, f"{name}: {label(results, model)}", size=10)
        image = ax.imshow(table, cmap=DIVERGING, vmin=-1, vmax=1, interpolation="nearest")
        edge = int((table["effect"] < SECOND).sum()) - 0.5
        ax.axhline(edge, color="0.2", lw=0.7)
        ax.axvline(edge, color="0.2", lw=0.7)
        linearity, overlap, error = (float(one.sel(model=model)) for one in found.values())
        said = f"linearity {linearity:.2f}, overlap {overlap:.2f}\nerror {raised(short(error))}"
        ax.set_xlabel(said, fontsize=9.5)
    fig.colorbar(image, ax=axes, shrink=0.7, label="cosine of two effects")
    return fig


def _legend(fig: Figure, results: xr.Dataset) -> None:
    handles = of_groups(results, results["model"].values.tolist(), GROUPS)
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=8.5)
