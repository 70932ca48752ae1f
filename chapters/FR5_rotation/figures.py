"""Figures of the rotated digits (FR Fig. 9), from the dataset of `studies.rotation.report`.

The dataset has dims model, digit, seed and angle, gap_angle or layer, and, for what was kept of one
seed, shown, y, x, end, component; the coordinate label(model).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.style import PALETTE, bare

LOOKS = {
    "cnn": (PALETTE[3], "s"),
    "cnn_4": (PALETTE[0], "o"),
    "cnn_8": (PALETTE[2], "^"),
    "mlp": (PALETTE[1], "D"),
}
RESTS = {
    "rest_blend": ("best blend of the edge images", PALETTE[3], "-"),
    "rest_rotation": ("nearest rotation in the gap", PALETTE[0], "-"),
    "rest_truth": ("true image", PALETTE[2], "-"),
    "rest_null": ("best blend of two images a quarter turn away", PALETTE[7], "--"),
    "rest_mean": ("mean training image", "0.4", ":"),
}
LAYERS = {
    "layer1": "hidden layer 1",
    "layer2": "hidden layer 2",
    "output": "output",
    "target": "true images",
}


def _models(results: xr.Dataset) -> list[str]:
    return [m for m in LOOKS if m in results["model"].values]


def _label(results: xr.Dataset, model: str) -> str:
    return str(results["label"].sel(model=model).item())


def _pictured(results: xr.Dataset) -> xr.Dataset:
    """The first digit, and the first seed of which images were kept (the first of all where there
    is none).
    """
    kept = (
        results["drawn_image"]
        .notnull()
        .any([d for d in results["drawn_image"].dims if d != "seed"])
        .values
    )
    return results.isel(seed=int(kept.argmax()), digit=0)


def middle(results: xr.Dataset) -> xr.Dataset:
    """What is left in the middle half of the gap, where a blend and a rotation differ most: means
    over its angles.
    """
    angle = results["gap_angle"].values
    quarter = (angle[-1] - angle[0]) / 4
    inner = (angle >= angle[0] + quarter) & (angle <= angle[-1] - quarter)
    return results[list(RESTS)].isel(gap_angle=np.flatnonzero(inner)).mean("gap_angle")


def errors(results: xr.Dataset) -> plt.Figure:
    """Error against the angle, one panel per digit, medians over seeds (FR Fig. 9a)."""
    digits, gap = results["digit"].values, results["gap_angle"].values
    columns = min(3, len(digits))
    rows = -(-len(digits) // columns)
    fig, axes = plt.subplots(
        rows, columns, figsize=(3.1 * columns, 2.4 * rows + 0.6), squeeze=False, sharey=True
    )
    for ax in axes.flat[len(digits) :]:
        ax.set_visible(False)
    for ax, digit in zip(axes.flat, digits, strict=False):
        one = results.sel(digit=digit)
        for model in _models(results):
            ax.plot(
                one["angle"],
                one["error_model"].sel(model=model).median("seed"),
                color=LOOKS[model][0],
                lw=1.1,
                label=_label(results, model),
            )
        first = one.isel(model=0, seed=0)
        ax.plot(
            gap,
            first["blend_error"],
            color="black",
            lw=1.3,
            ls="--",
            label="blend linear in the angle",
        )
        ax.plot(
            one["angle"],
            first["error_mean"],
            color="0.5",
            lw=1.1,
            ls="--",
            label="mean training image",
        )
        ax.plot(
            one["angle"], first["error_blank"], color="0.3", lw=1.2, ls=":", label="blank image"
        )
        ax.axvspan(gap[0], gap[-1], color="0.92", zorder=0)
        ax.set(
            yscale="log",
            title=f"digit {int(digit)}",
            xlabel="angle [degrees]",
            xticks=[0, 90, 180, 270, 360],
        )
    for row in axes:
        row[0].set_ylabel("mean squared error")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    fig.legend(handles, labels, fontsize=9, loc="outside lower center", ncols=4)
    return fig


def images(results: xr.Dataset) -> plt.Figure:
    """True images in the gap, the linear blend of its ends, and what each model draws (FR Figs. 9c,
    d).
    """
    one = _pictured(results)
    angles, gap = one["shown"].values, results["gap_angle"].values
    step = gap[1] - gap[0]
    share = (angles - gap[0] + step) / (gap[-1] - gap[0] + 2 * step)
    first = one.isel(model=0)
    low, high = (first["end_image"].sel(end=e).values for e in ("low", "high"))
    rows = [("true image", first["true_image"].values)]
    rows.append(("linear blend\nof the edges", low + share[:, None, None] * (high - low)))
    rows += [
        (_label(results, m).replace(", ", ",\n"), one["drawn_image"].sel(model=m).values)
        for m in _models(results)
    ]
    fig, axes = plt.subplots(
        len(rows), len(angles), figsize=(1.0 * len(angles) + 1.3, 1.05 * len(rows)), squeeze=False
    )
    for row, (name, pictures) in zip(axes, rows, strict=True):
        for ax, picture, angle in zip(row, pictures, angles, strict=True):
            bare(ax, f"{angle:.0f}°" if name == "true image" else "").imshow(
                picture, vmin=0, vmax=1
            )
        row[0].set_ylabel(name, fontsize=8.5, rotation=0, ha="right", va="center")
    return fig


def blend(results: xr.Dataset) -> plt.Figure:
    """The weight of the best blend against the angle, and what blends, rotations and the truth
    leave of the outputs.
    """
    models = [m for m in ("cnn", "cnn_4", "cnn_8") if m in results["model"].values]
    gap = results["gap_angle"].values
    fig, axes = plt.subplots(
        2, len(models), figsize=(3.1 * len(models), 6.4), squeeze=False, sharex=True, sharey="row"
    )
    step = gap[1] - gap[0]
    for (top, bottom), model in zip(axes.T, models, strict=True):
        for number, digit in enumerate(results["digit"].values):
            weight = results["weight"].sel(model=model, digit=digit)
            for seed, one in enumerate(weight.transpose("seed", "gap_angle").values):
                said = f"digit {int(digit)}" if seed == 0 else None
                top.plot(
                    gap, one, color=PALETTE[number % len(PALETTE)], lw=1, alpha=0.8, label=said
                )
        ends = [gap[0] - step, gap[-1] + step]
        top.plot(ends, [0, 1], color="black", lw=1.2, ls="--", label="in proportion")
        top.set(title=_label(results, model), ylim=(-0.05, 1.05))
        for name, (said, color, style) in RESTS.items():
            value = results[name].sel(model=model).median(("seed", "digit"))
            bottom.plot(gap, value, color=color, ls=style, lw=1.4, label=said)
        bottom.set(xlabel="angle [degrees]", yscale="log")
    axes[0, 0].set_ylabel("weight of the later edge image")
    axes[1, 0].set_ylabel("mean squared difference\nof the output from ...")
    axes[0, 0].legend(fontsize=8)
    fig.legend(
        *axes[1, 0].get_legend_handles_labels(), fontsize=9, loc="outside lower center", ncols=2
    )
    return fig


def explained(results: xr.Dataset) -> plt.Figure:
    """How much of each run's outputs a blend explains, and how much a rotation does, in the middle
    of the gap.
    """
    rest = middle(results)
    fig, ax = plt.subplots(figsize=(6.6, 4.4))
    for model in _models(results):
        color, marker = LOOKS[model]
        one = rest.sel(model=model)
        blended, turned = (1 - one[f"rest_{n}"] / one["rest_mean"] for n in ("blend", "rotation"))
        ax.scatter(
            turned,
            blended,
            color=color,
            marker=marker,
            s=38,
            alpha=0.75,
            edgecolor="white",
            lw=0.4,
            label=_label(results, model),
        )
    low = max(-3.0, min(-0.05, *ax.get_xlim(), *ax.get_ylim()))
    ax.plot([low, 1], [low, 1], color="0.6", lw=1, label="equally well")
    ax.set(
        xlim=(low, 1),
        ylim=(low, 1),
        xlabel="explained by the nearest rotation",
        ylabel="explained by the best blend",
    )
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def rings(results: xr.Dataset) -> plt.Figure:
    """A whole turn in the first two principal components of each layer, the gap in colour (FR
    Fig. 9b).
    """
    one = _pictured(results)
    models = [m for m in ("cnn", "cnn_4", "cnn_8") if m in results["model"].values]
    gap = results["gap_angle"].values
    inside = (one["angle"].values >= gap[0]) & (one["angle"].values <= gap[-1])
    fig, axes = plt.subplots(
        len(models), len(LAYERS), figsize=(9.5, 2.5 * len(models)), squeeze=False
    )
    for row, model in zip(axes, models, strict=True):
        for ax, (layer, name) in zip(row, LAYERS.items(), strict=True):
            here = one.sel(model=model, layer=layer)
            x, y = here["ring"].transpose("component", "angle").values
            ax.plot([*x, x[0]], [*y, y[0]], color="0.55", lw=1)
            ax.scatter(x[inside], y[inside], color=PALETTE[3], s=7, zorder=3)
            share, step = float(here["ring_share"]), float(here["ring_step"])
            bare(ax, f"{name}\n{100 * share:.0f} % of variance, step {step:.2f}", 8)
            ax.set_aspect("equal")
        row[0].set_ylabel(_label(results, model).replace(", ", ",\n"), fontsize=8.5)
    return fig


def table(results: xr.Dataset) -> pd.DataFrame:
    """Errors and what explains the outputs, per model: median over digits and seeds, and the
    range.
    """
    rest, rows = middle(results), {}
    for model in _models(results):
        one, left = results.sel(model=model), rest.sel(model=model)
        columns = {
            "ID test error": one["mse_id"],
            "error in the gap": one["mse_ood"],
            "explained by a blend": 1 - left["rest_blend"] / left["rest_mean"],
            "by a rotation": 1 - left["rest_rotation"] / left["rest_mean"],
            "by the true image": 1 - left["rest_truth"] / left["rest_mean"],
        }
        rows[_label(results, model)] = {name: _spread(v) for name, v in columns.items()}
        rows[_label(results, model)]["parameters"] = f"{int(one['n_parameters'].max()):,}"
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(columns="model")


def _spread(values: xr.DataArray) -> str:
    form = "{:.1e}" if float(abs(values).max()) < 0.1 else "{:.2f}"
    low, high = (form.format(float(values.quantile(q))) for q in (0, 1))
    return f"{form.format(float(values.median()))} [{low}, {high}]"


def summary(results: xr.Dataset) -> str:
    """What each model draws in the gap, as Markdown; numbers are medians over digits and seeds."""
    rest, gap = (
        middle(results),
        results["error_blank"].isel(model=0).sel(angle=results["gap_angle"].values),
    )
    lines = []
    for model in _models(results):
        one, left = results.sel(model=model), rest.sel(model=model)
        share = {
            n: float((1 - left[f"rest_{n}"] / left["rest_mean"]).median())
            for n in ("blend", "rotation")
        }
        nearer = float((left["rest_blend"] < left["rest_rotation"]).mean())
        hump = float((one["mse_ood"] / one["mse_id"]).median())
        lines.append(
            f"- **{_label(results, model)}:** error {hump:.0f} times as large in the gap as "
            "outside. In the middle of the gap a blend of the edge images explains "
            f"{100 * share['blend']:.0f} % of the output, the nearest rotation "
            f"{100 * share['rotation']:.0f} %; the blend is nearer in {100 * nearer:.0f} % of "
            "the runs."
        )
    mean = results["error_mean"].isel(model=0).sel(angle=results["gap_angle"].values)
    blended = results["blend_error"].isel(model=0)
    lines.append(
        f"- **In the gap** a blank image costs {float(gap.mean('angle').median()):.1e}, the mean "
        f"training image {float(mean.mean('angle').median()):.1e}, and a blend in proportion to "
        f"the angle {float(blended.mean('gap_angle').median()):.1e}."
    )
    return (
        "*Explained* is a share of the output's squared distance from the mean training image.\n\n"
        + "\n".join(lines)
    )
