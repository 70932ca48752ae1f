"""Figures of the rotated digits (FR Fig. 9), from the dataset of `study.results`."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr

from benchmarks.baselines.figures import looks
from benchmarks.spatial.figures import along_training, sets_along_training
from chapters.FR5_rotation.claims import PAPER_DIGIT
from chapters.FR5_rotation.tables import explained
from vnlib.plots.frames import if_computed, label, long_frame, some
from vnlib.plots.statistics import median
from vnlib.plots.style import PALETTE, image_axes, look

MODELS = ("cnn", "cnn_4", "cnn_8", "mlp")
EXPLANATIONS = {
    "rest_blend": ("best blend of the edge images", "0.1", ""),
    "rest_rotation": ("nearest rotation in the gap", "0.1", (4, 2)),
    "rest_truth": ("true image", "0.6", ""),
    "rest_null": ("best blend of two images a quarter turn away", "0.6", (4, 2)),
    "rest_mean": ("mean training image", "0.4", (1, 1)),
}
LAYERS = {
    "layer1": "hidden layer 1",
    "layer2": "hidden layer 2",
    "output": "output",
    "target": "true images",
}


def _present(results: xr.Dataset, family: str = "") -> list[str]:
    """The models whose names begin so."""
    return some([m for m in MODELS if m in results["model"].values and m.startswith(family)])


def _palette(results: xr.Dataset, models: list[str]) -> dict[str, str]:
    return {label(results, m): color for m, (color, _) in looks(results, models).items()}


def _pictured(results: xr.Dataset) -> xr.Dataset:
    """The paper's digit, and the first seed of which images were kept (the first of all where there
    is none).
    """
    results = results.sel(digit=PAPER_DIGIT)
    others = [d for d in results["drawn_image"].dims if d != "seed"]
    kept = results["drawn_image"].notnull().any(others).values
    return results.isel(seed=int(kept.argmax()))


def _share_of_gap(results: xr.Dataset, angle: np.ndarray) -> np.ndarray:
    """How far between its ends an angle lies: the first and the last one are a step away from
    them.
    """
    gap = results["gap_angle"].values
    step = gap[1] - gap[0]
    return (angle - gap[0] + step) / (gap[-1] - gap[0] + 2 * step)


def errors(results: xr.Dataset) -> plt.Figure:
    """Error against the angle, one panel per digit, medians over seeds (FR Fig. 9a)."""
    digits, gap = results["digit"].values, results["gap_angle"].values
    models = _present(results)
    columns = min(3, len(digits))
    rows = -(-len(digits) // columns)
    fig, axes = plt.subplots(
        rows, columns, figsize=(3.1 * columns, 2.4 * rows + 0.6), squeeze=False, sharey=True
    )
    for ax in axes.flat[len(digits) :]:
        ax.set_visible(False)
    entries = {}
    for ax, digit in zip(axes.flat, digits, strict=False):
        one = results.sel(digit=digit)
        sns.lineplot(
            long_frame(median(one["error_model"].sel(model=models)), "error"),
            x="angle",
            y="error",
            hue="label",
            palette=_palette(results, models),
            estimator=None,
            lw=1.1,
            ax=ax,
        )
        first = one.isel(model=0, seed=0)
        for x, name, said, color, style in (
            (gap, "blend_error", "blend in proportion to the angle", "black", "--"),
            (one["angle"], "error_mean", "mean training image", "0.5", "--"),
            (one["angle"], "error_zero_baseline", "zero baseline", "0.3", ":"),
        ):
            ax.plot(x, first[name], color=color, lw=1.2, ls=style, label=said)
        ax.axvspan(gap[0], gap[-1], color="0.92", zorder=0)
        ax.set(title=f"digit {int(digit)}", xticks=[0, 90, 180, 270, 360])
        ax.set(xlabel="angle [degrees]", ylabel="mean squared error")
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
        ax.get_legend().remove()
    axes[0, 0].set_yscale("log")  # last, since seaborn would take medians of logarithms
    fig.legend([*entries.values()], [*entries], fontsize=9, loc="outside lower center", ncols=4)
    return fig


@if_computed
def learning(results: xr.Dataset) -> plt.Figure:
    """Errors along training, of the paper's digit."""
    curves = results[["curve_step", "curve_val", "curve_ood"]].sel(digit=PAPER_DIGIT)
    fig, ax = plt.subplots(figsize=(6.6, 3.8))
    sets_along_training(ax)
    for model in _present(results):
        name = label(results, model)
        given = {"color": look(name)[0], "name": name}
        along_training(ax, curves.sel(model=model), **given)
    ax.set_xlabel("passes through the training angles")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def images(results: xr.Dataset) -> plt.Figure:
    """True images in the gap, the linear blend of its ends, and what each model draws (FR Figs. 9c,
    d).
    """
    one = _pictured(results)
    angles, first = one["shown"].values, one.isel(model=0)
    low, high = (first["end_image"].sel(end=e).values for e in ("low", "high"))
    share = _share_of_gap(results, angles)[:, None, None]
    rows = {
        "true image": first["true_image"].values,
        "linear blend\nof the edges": low + share * (high - low),
    }
    for model in _present(results):
        drawn = one["drawn_image"].sel(model=model).values
        rows[label(results, model).replace(", ", ",\n")] = drawn
    size = (len(angles) + 1.3, 1.05 * len(rows))
    fig, axes = plt.subplots(len(rows), len(angles), figsize=size, squeeze=False)
    for row, (name, pictures) in zip(axes, rows.items(), strict=True):
        for ax, picture, angle in zip(row, pictures, angles, strict=True):
            title = f"{angle:.0f}°" if name == "true image" else ""
            image_axes(ax, title).imshow(picture, vmin=0, vmax=1)
        row[0].set_ylabel(name, fontsize=8.5, rotation=0, ha="right", va="center")
    return fig


@if_computed
def blend(results: xr.Dataset) -> plt.Figure:
    """The weight of the best blend against the angle, and what blends, rotations and the truth
    leave of the outputs.
    """
    models = _present(results, "cnn")
    said = {name: text for name, (text, _, _) in EXPLANATIONS.items()}
    rest = (
        results[list(EXPLANATIONS)]
        .rename(said)
        .to_array("explanation")
        .median("seed")
        .median("digit")
    )
    fig, axes = plt.subplots(
        2, len(models), figsize=(3.1 * len(models), 6.4), squeeze=False, sharex=True, sharey="row"
    )
    gap = results["gap_angle"].values
    named = [f"digit {one}" for one in results["digit"].values]
    step = gap[1] - gap[0]
    for (top, bottom), model in zip(axes.T, models, strict=True):
        weight = long_frame(results["weight"].sel(model=model), "weight")
        weight["digit"] = "digit " + weight["digit"].astype(str)
        sns.lineplot(
            weight,
            x="gap_angle",
            y="weight",
            hue="digit",
            hue_order=named,
            palette=PALETTE[: len(named)],
            units="seed",
            estimator=None,
            lw=1,
            alpha=0.8,
            ax=top,
        )
        ends = [gap[0] - step, gap[-1] + step]
        top.plot(ends, [0, 1], color="black", lw=1.2, ls="--", label="in proportion")
        top.set(title=label(results, model), ylim=(-0.05, 1.05))
        top.set_ylabel("weight of the later edge image")
        sns.lineplot(
            long_frame(rest.sel(model=model), "rest"),
            x="gap_angle",
            y="rest",
            hue="explanation",
            style="explanation",
            palette={text: color for text, color, _ in EXPLANATIONS.values()},
            dashes={text: dash for text, _, dash in EXPLANATIONS.values()},
            lw=1.4,
            ax=bottom,
        )
        bottom.set(xlabel="angle [degrees]", yscale="log")
        bottom.set_ylabel("mean squared difference\nof the output from ...")
        handles, labels = bottom.get_legend_handles_labels()
        top.get_legend().remove()
        bottom.get_legend().remove()
    axes[0, 0].legend(fontsize=8)
    fig.legend(handles, labels, fontsize=9, loc="outside lower center", ncols=2)
    return fig


def explanations(results: xr.Dataset) -> plt.Figure:
    """How much of each run's outputs a blend explains, and how much a rotation does, in the middle
    of the gap.
    """
    models = _present(results)
    shares = xr.Dataset({by: explained(results, by) for by in ("blend", "rotation")})
    frame: pd.DataFrame = shares.sel(model=models).to_dataframe().reset_index()
    fig, ax = plt.subplots(figsize=(6.6, 4.4))
    sns.scatterplot(
        frame,
        x="rotation",
        y="blend",
        hue="label",
        style="label",
        palette=_palette(results, models),
        markers={label(results, m): marker for m, (_, marker) in looks(results, models).items()},
        s=38,
        alpha=0.75,
        ax=ax,
    )
    low = max(-3.0, min(-0.05, *ax.get_xlim(), *ax.get_ylim()))
    ax.plot([low, 1], [low, 1], color="0.6", lw=1, label="equally well")
    ax.set(xlim=(low, 1), ylim=(low, 1))
    ax.set(xlabel="explained by the nearest rotation", ylabel="explained by the best blend")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


@if_computed
def rings(results: xr.Dataset) -> plt.Figure:
    """A whole turn in the first two principal components of each layer, the gap in colour (FR
    Fig. 9b).
    """
    one = _pictured(results)
    models = _present(results, "cnn")
    gap = results["gap_angle"].values
    inside = (one["angle"].values >= gap[0]) & (one["angle"].values <= gap[-1])
    size = (9.5, 2.5 * len(models))
    fig, axes = plt.subplots(len(models), len(LAYERS), figsize=size, squeeze=False)
    for row, model in zip(axes, models, strict=True):
        for ax, (layer, name) in zip(row, LAYERS.items(), strict=True):
            cell = one.sel(model=model, layer=layer)
            x, y = cell["ring"].transpose("component", "angle").values
            ax.plot([*x, x[0]], [*y, y[0]], color="0.55", lw=1)
            ax.scatter(x[inside], y[inside], color=PALETTE[3], s=7, zorder=3)
            share, step = float(cell["ring_share"]), float(cell["ring_step"])
            image_axes(ax, f"{name}\n{100 * share:.0f} % of variance, step {step:#.2g}", 8)
            ax.set_aspect("equal")
        row[0].set_ylabel(label(results, model).replace(", ", ",\n"), fontsize=8.5)
    return fig
