"""Figures of decoders on many tasks, from the results over (task, model, seed)."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from benchmarks.baselines.figures import between_groups, looks, of_groups, seeds_and_medians
from benchmarks.spatial.errors import DRAWS
from benchmarks.spatial.figures import ZERO, wrapped
from vnlib.plots.frames import empty, group, label, long_frame
from vnlib.plots.statistics import median, short
from vnlib.plots.style import image_axes

# task -> what readers call it
TASKS = {
    "base": "bump 1 px, code 1 px, 25 % held out",
    "sigma_code_half": "code 0.5 px wide",
    "sigma_code_double": "code 2 px wide",
    "code_fourier": "Fourier code",
    "code_rotated": "rotated code",
    "code_entangled": "entangled code",
    "shape_ring": "ring",
    "shape_cross": "cross",
    "shape_corner": "L",
    "shape_oriented": "oriented Gaussian",
    "place_coordinates": "between pixels, coordinates held out",
    "share_05": "6 % held out",
    "share_60": "56 % held out",
    "diet_stripes": "stripes and 30 bumps",
    "penalty_decay": "weight decay of 1",
}
# task that trains four times as long -> the task that it is otherwise
LONGER = {f"{task}_longer": task for task in ("base", "code_rotated", "shape_ring")}
GROUPS = {
    "vn": "Vector Networks, product readout",
    "product": "factorised decoders",
    "closed": "closed forms",
    "coordinates": "told the pixel's coordinates",
    "entangled": "CNNs and MLP",
    "vn_flat": "Flat VN",
    "sum": "a sum over the axes",
}
LEAST, MOST = 1e-6, 1.0  # of errors over the zero baseline's, in colours and on axes
SEEN = 0.001  # errors below it are written as that
SHAPES = ("base", "shape_ring", "shape_cross", "shape_corner", "shape_oriented")
SHARES = ("share_05", "base", "share_60")
WIDTHS = ("sigma_code_half", "base", "sigma_code_double")
COMPARED = ("vn_axes", "vn_axes_8", "factorised", "factorised_8", "broadcast", "cnn")
DRAWN = (*COMPARED, "ridge_pairs")
# On the page's grid; all others have one of their own.
FIRST = (*COMPARED[:4], "vn_full", "ridge_profiles", "outer", "broadcast", "cnn")
CHANGED = ("base", "code_rotated", "shape_ring", "place_coordinates")
EXAMPLE = ("outer", "factorised", "vn_full", "vn_axes_8", "broadcast", "cnn")
SAID = {
    "base": "bump",
    "code_rotated": "rotated\ncode",
    "place_coordinates": "coordinates\nheld out",
}


def tasks(results: xr.Dataset) -> list[str]:
    """The tasks that there are, in the order of `TASKS`; longer trainings are none of their own."""
    return [task for task in TASKS if task in results["task"].values]


def on_tasks(results: xr.Dataset) -> xr.Dataset:
    """All tasks, and the decoders that have runs on them: some are trained longer only."""
    chosen = results.sel(task=tasks(results))
    return chosen.sel(model=chosen["mse_ood"].notnull().any(["task", "seed"]))


def seeds(results: xr.Dataset) -> xr.DataArray:
    """How many seeds each task has."""
    return results["mse_ood"].notnull().any("model").sum("seed")


def names(results: xr.Dataset) -> dict[str, str]:
    """What readers call the tasks that there are; those with fewer seeds than others say so."""
    count = seeds(results)
    fewer = {t: int(count.sel(task=t)) for t in tasks(results)}
    most = max(fewer.values())
    few = {t: f" ({n} seed{'s' * (n != 1)})" for t, n in fewer.items() if n < most}
    return {task: TASKS[task] + few.get(task, "") for task in fewer}


def over_zero(results: xr.Dataset, part: str) -> xr.DataArray:
    """The error on "id" or "ood" positions over that of the zero baseline."""
    return results[f"mse_{part}"] / results[f"zero_baseline_{part}"]


def failed(results: xr.Dataset) -> xr.DataArray:
    """Which runs have learned nothing, NaN for those that there are not."""
    error = over_zero(results, "id")
    return (error > DRAWS).where(error.notnull())


def first(results: xr.Dataset) -> Figure:
    """`grid_of_errors` of the decoders that the page compares."""
    return grid_of_errors(results.sel(model=[m for m in FIRST if m in results["model"].values]))


def rest(results: xr.Dataset) -> Figure:
    """`grid_of_errors` of all others."""
    there = on_tasks(results)["model"].values.tolist()
    models = [model for model in there if model not in FIRST]
    if not models:
        return empty("There are no other decoders in this profile.")
    return grid_of_errors(results.sel(model=models))


def grid_of_errors(results: xr.Dataset) -> Figure:
    """OOD error over the zero baseline's, medians over seeds, of decoders on all tasks."""
    chosen = on_tasks(results)
    rows, models = tasks(chosen), chosen["model"].values.tolist()
    error = median(over_zero(chosen, "ood")).transpose("task", "model").values
    nothing = median(failed(chosen)).transpose("task", "model").values > DRAWS
    fig, ax = plt.subplots(figsize=(3.2 + 0.68 * len(models), 1.7 + 0.31 * len(rows)))
    picture = ax.imshow(error.clip(LEAST, MOST), norm=LogNorm(LEAST, MOST), aspect="auto")
    for (row, column), value in np.ndenumerate(error):
        if not np.isfinite(value):
            continue
        dark = np.log10(np.clip(value, LEAST, MOST)) < np.log10(LEAST * MOST) / 2
        ax.text(
            column,
            row,
            short(value) if value >= SEEN else f"< {SEEN}",
            ha="center",
            va="center",
            fontsize=8.4,
            color="white" if dark else "black",
            in_layout=False,
        )
        if nothing[row, column]:
            ax.add_patch(Rectangle((column - 0.46, row - 0.44), 0.92, 0.88, fc="none", ec="black"))
    ax.set_xticks(range(len(models)), [wrapped(label(results, m), 16) for m in models], fontsize=9)
    ax.tick_params(axis="x", rotation=60)
    ax.set_yticks(range(len(rows)), [*names(chosen).values()], fontsize=9)
    plt.setp(ax.get_xticklabels(), ha="right", rotation_mode="anchor")
    fig.colorbar(picture, ax=ax, label="OOD error, 1: zero baseline", extend="both", shrink=0.7)
    return fig


def longer(results: xr.Dataset) -> Figure:
    """OOD errors after the updates of all decoders (filled) and after four times as many
    (hollow), on the same seeds.
    """
    pairs = {long: task for long, task in LONGER.items() if long in results["task"].values}
    if not pairs:
        return empty("No task was trained longer in this profile.")
    models = [m for m in results["model"].values.tolist() if group(results, m) != "closed"]
    models = [m for m in models if bool(results["mse_ood"].sel(task=[*pairs], model=m).any())]
    order = [label(results, model) for model in models]
    size = (3.6 * len(pairs) + 1.6, 0.42 * len(models) + 1.5)
    fig, axes = plt.subplots(1, len(pairs), figsize=size, sharey=True, sharex=True, squeeze=False)
    for ax, (long, task) in zip(axes[0], pairs.items(), strict=True):
        error = over_zero(results.sel(model=models), "ood").clip(min=LEAST * 1e-3)
        both = error.sel(task=task).where(error.sel(task=long).notnull()), error.sel(task=long)
        for one, hollow, shift in zip(both, (False, True), (-0.17, 0.2), strict=True):
            frame = long_frame(one)
            rows = {"value": "value", "by": "label", "order": order}
            seeds_and_medians(ax, frame, hollow=hollow, shift=shift, **rows)
        between_groups(ax, [group(results, model) for model in models])
        ax.axvline(1, **ZERO)
        ax.set(xscale="log", xlabel="OOD error, 1: zero baseline")
        ax.set_title(TASKS[task], fontsize=9)
    handles = of_groups(results, models, GROUPS)
    said = "hollow: four times the updates"
    handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec="0.3", label=said))
    fig.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8)
    return fig


def example(results: xr.Dataset) -> Figure:
    """What decoders draw at one held-out position where the task gives the answer away, and where
    it does not.
    """
    return drawings(results, CHANGED, EXAMPLE)


def shapes(results: xr.Dataset) -> Figure:
    """What decoders draw of each shape at one held-out position."""
    return drawings(results, SHAPES, DRAWN)


def drawings(results: xr.Dataset, which: Sequence[str], who: Sequence[str]) -> Figure:
    """What decoders draw at one held-out position of each task, beside the true image."""
    rows = [task for task in which if task in tasks(results)]
    models = [model for model in who if model in results["model"].values]
    seed = results["sample_image"].notnull().any(["task", "model", "y", "x"])
    if not (rows and models and bool(seed.any())):
        return empty("No image of these tasks was kept.")
    one = results.isel(seed=int(seed.argmax("seed")))
    size = (1.25 * (1 + len(models)), 1.28 * len(rows) + 0.5)
    fig, axes = plt.subplots(len(rows), 1 + len(models), figsize=size, squeeze=False)
    for row, task in zip(axes, rows, strict=True):
        named = [("true image", one["target_image"].sel(task=task, model=models[0]))]
        named += [(label(results, m), one["sample_image"].sel(task=task, model=m)) for m in models]
        for ax, (name, image) in zip(row, named, strict=True):
            title = wrapped(name, 14) if task == rows[0] else ""
            image_axes(ax, title, size=9).imshow(image, origin="lower", vmin=0, vmax=1)
        row[0].set_ylabel(SAID.get(task, wrapped(TASKS[task], 12)), fontsize=9)
    return fig


def along(results: xr.Dataset, *, models: Sequence[str] = COMPARED) -> Figure:
    """OOD error against the condition number of the code, and against the share held out."""
    fig, axes = plt.subplots(1, 2, figsize=(10, 3.9), sharey=True)
    names = [model for model in models if model in results["model"].values]
    panels = (("condition", WIDTHS), ("held_out", SHARES))
    for ax, (quantity, which) in zip(axes, panels, strict=True):
        rows = [task for task in which if task in tasks(results)]
        for model, (color, marker) in looks(results, names).items():
            one = results.sel(task=rows, model=model)
            x = one[quantity].median("seed")
            error = over_zero(one, "ood").clip(min=1e-13)
            line = {"color": color, "marker": marker, "ms": 6}
            ax.plot(x, median(error), label=label(results, model), **line)
            for seed in error["seed"]:
                own = error.sel(seed=seed)
                ax.plot(x, own, ls="", color=color, marker=marker, ms=3, alpha=0.6)
        ax.axhline(1, **ZERO)
        ax.set(yscale="log")
    axes[0].set(
        xscale="log", xlabel="condition number of the code", ylabel="OOD error, 1: zero baseline"
    )
    axes[1].set(xlabel="share of the plane held out")
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig
