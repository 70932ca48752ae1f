"""Figures of FR Figs. 1 and 8, from the datasets of `studies.superposition` and
`studies.similarity`.

Dims model, hold_out, seed, position (x runs fastest), sample, where ("train", "id", "ood"), test,
of, source, metric, kernel, width; coordinates label(model), group(model), position_x, position_y.
"""

from __future__ import annotations

import math
import textwrap

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm, PowerNorm

from vnlib.plots.style import GROUPS, PALETTE, bare

TESTS = {"averaged": "averaged inputs", "memorised": "outputs at training positions"}
SOURCES = {"bumps": "true bumps", "superposed bumps": "superposed bumps"}


def label_of(results: xr.Dataset, model: str, width: int = 12) -> str:
    label = str(results["label"].sel(model=model).item())
    return "\n".join(textwrap.wrap(label, width, break_long_words=False))


def look_of(results: xr.Dataset, model: str) -> tuple[str, str]:
    _, color, marker = GROUPS[str(results["group"].sel(model=model).item())]
    return color, marker


def _plane(values: xr.DataArray) -> np.ndarray:
    """Values per position as a square (y, x)."""
    side = math.isqrt(values.sizes["position"])
    return values.values.reshape(side, side)


def with_images(results: xr.Dataset) -> xr.Dataset:
    """The seed whose images were kept: the first that has any."""
    images = results["shown_image"]
    return results.isel(seed=int(images.notnull().any(set(images.dims) - {"seed"}).argmax("seed")))


def _outline(ax: plt.Axes, results: xr.Dataset, hold_out: str) -> None:
    held = results["held_out"].sel(hold_out=hold_out).isel(model=0, seed=0)
    ax.contour(_plane(held), levels=[0.5], colors="white", linewidths=1.2, linestyles="--")


def model_axis(results: xr.Dataset, ax: plt.Axes) -> None:
    models = results["model"].values
    ax.set_xticks(range(len(models)), [label_of(results, m, 8) for m in models], fontsize=8)
    ax.set_xlim(-0.5, len(models) - 0.5)


def dots(
    ax: plt.Axes,
    values: xr.DataArray,
    shift: float,
    *,
    color: str,
    marker: str = "o",
    label: str = "",
    hollow: bool = False,
) -> None:
    """One point per seed and a bar at the median, for each model (model, seed)."""
    for number, model in enumerate(values["model"].values):
        y = values.sel(model=model).values
        x = number + shift + np.linspace(-0.05, 0.05, len(y)) * (len(y) > 1)
        ax.scatter(
            x,
            y,
            s=18,
            marker=marker,
            facecolor="none" if hollow else color,
            edgecolor=color,
            alpha=0.7,
            lw=0.9,
            label=label if number == 0 else None,
        )
        ax.plot(
            [number + shift - 0.1, number + shift + 0.1], [np.nanmedian(y)] * 2, color=color, lw=1.6
        )


# --- errors ---


def error_maps(results: xr.Dataset) -> plt.Figure:
    """Error at every position over that of a blank image there, median over seeds; rows:
    hold-outs.
    """
    models, hold_outs = results["model"].values, results["hold_out"].values
    fig, axes = plt.subplots(
        len(hold_outs),
        len(models),
        squeeze=False,
        figsize=(1.2 + 1.15 * len(models), 0.4 + 1.35 * len(hold_outs)),
    )
    blank = results["blank"].sel(where="ood")
    for row, hold_out in zip(axes, hold_outs, strict=True):
        for ax, model in zip(row, models, strict=True):
            one = (results["mse"] / blank).sel(model=model, hold_out=hold_out).median("seed")
            picture = ax.imshow(_plane(one).clip(1e-4), origin="lower", norm=LogNorm(1e-3, 3))
            _outline(ax, results, hold_out)
            bare(ax, label_of(results, model) if ax in axes[0] else "")
        row[0].set_ylabel(hold_out, fontsize=8.5)
    bar = fig.colorbar(picture, ax=axes, label="error / blank image", extend="both", shrink=0.9)
    bar.ax.axhline(1, color="white", lw=2)
    return fig


def errors(results: xr.Dataset) -> plt.Figure:
    """Error on training, held-out ID and OOD positions, every seed a point, over a blank image's
    (the line at 1).
    """
    hold_outs = results["hold_out"].values
    fig, axes = plt.subplots(
        1, len(hold_outs), figsize=(4.8 * len(hold_outs), 3.5), sharey=True, squeeze=False
    )
    relative = results["error"] / results["blank"]
    kinds = {
        "train": ("training", PALETTE[7], "o"),
        "id": ("ID test", PALETTE[0], "D"),
        "ood": ("OOD", PALETTE[3], "s"),
    }
    for ax, hold_out in zip(axes[0], hold_outs, strict=True):
        for shift, (where, (said, color, marker)) in zip(
            (-0.25, 0, 0.25), kinds.items(), strict=True
        ):
            dots(
                ax,
                relative.sel(where=where, hold_out=hold_out),
                shift,
                color=color,
                marker=marker,
                label=said,
            )
        ax.axhline(1, color="0.3", ls=":", lw=1.2, label="blank image")
        ax.set(yscale="log", title=f"{hold_out} held out")
        model_axis(results, ax)
    axes[0, 0].set_ylabel("error / blank image")
    axes[0, 0].legend(fontsize=8)
    return fig


# --- what is drawn ---


def samples(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """The ink that each model draws at the sample positions, after the targets.

    Columns: models, rows: positions.
    """
    shown = with_images(results).sel(hold_out=hold_out)
    images, models = shown["shown_image"], results["model"].values
    places, n = shown["sample"].values, results.sizes["sample"]
    fig, axes = plt.subplots(
        n, 1 + len(models), figsize=(1.15 * (1 + len(models)), 1.15 * n + 0.4), squeeze=False
    )
    for row, sample in zip(axes, places, strict=True):
        at = shown.sel(sample=sample)
        held = "OOD" if bool(at["held_out"].isel(model=0, position=int(sample))) else "ID"
        place = [int(results[f"position_{axis}"].isel(position=int(sample))) for axis in "xy"]
        tiles = [at["shown_image"].sel(panel="target").isel(model=0)]
        tiles += [images.sel(sample=sample, panel="output", model=m) for m in models]
        for ax, tile in zip(row, tiles, strict=True):
            bare(ax).imshow(tile.clip(0), origin="lower", norm=PowerNorm(0.5, 0, 1))
        row[0].set_ylabel(f"({place[0]}, {place[1]})\n{held}", fontsize=8)
    for ax, title in zip(axes[0], ["target", *[label_of(results, m) for m in models]], strict=True):
        ax.set_title(title, fontsize=8)
    return fig


def drawn(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """OOD: how many images hold several bumps, and where the ink is; grey: where it is relative to
    another position.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9.6, 3.8))
    ood = results.sel(where="ood", hold_out=hold_out)
    dots(axes[0], ood["several"], 0, color=PALETTE[3], marker="s")
    axes[0].set(ylabel="share with several bumps", ylim=(-0.05, 1.05))
    kinds = {
        "share_cross": ("right row or column", PALETTE[0], "D"),
        "share_place": ("right row and column", PALETTE[2], "o"),
        "chance_cross": ("another position's row or column", "0.55", "^"),
    }
    for shift, (name, (said, color, marker)) in zip((-0.25, 0, 0.25), kinds.items(), strict=True):
        dots(axes[1], ood[name], shift, color=color, marker=marker, label=said)
    axes[1].set(ylabel="share of the ink", ylim=(-0.05, 1.05))
    fig.legend(
        *axes[1].get_legend_handles_labels(), fontsize=9, loc="outside lower center", ncols=3
    )
    for ax in axes:
        model_axis(results, ax)
    return fig


# --- superposition ---


def superposition(results: xr.Dataset, hold_out: str = "square", sample: int = 3) -> plt.Figure:
    """One OOD position: the ink for x alone, for y alone, their sum, the sum of seen outputs, the
    output, the target.

    Every picture has its own scale, as in FR. Rows: models.
    """
    shown = with_images(results).sel(hold_out=hold_out).isel(sample=sample)["shown_image"]
    models = results["model"].values
    titles = [
        "$f(x, \\bar{y})$",
        "$f(\\bar{x}, y)$",
        "their sum",
        "sum of seen\noutputs",
        "output $f(x, y)$",
        "target",
    ]
    fig, axes = plt.subplots(len(models), 6, figsize=(7.6, 1.2 * len(models) + 0.3), squeeze=False)
    for row, model in zip(axes, models, strict=True):
        one = shown.sel(model=model)
        alone = [one.sel(panel=f"{axis} alone").values for axis in "xy"]
        tiles = [
            *alone,
            sum(alone),
            *(one.sel(panel=p).values for p in ("memorised", "output", "target")),
        ]
        for ax, tile in zip(row, tiles, strict=True):
            bare(ax).imshow(tile, origin="lower", vmin=0, vmax=max(0.05, tile.max()))
        row[0].set_ylabel(label_of(results, model), fontsize=7.5)
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title, fontsize=8)
    return fig


def resemblance(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """How the OOD output correlates with the sum of seen parts, that for another position, and the
    true bump.
    """
    here = results.sel(hold_out=hold_out)
    fig, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), sharey=True)
    for ax, (test, said) in zip(axes, TESTS.items(), strict=True):
        one = here.sel(test=test)
        dots(ax, one["resembles"], -0.22, color=PALETTE[0], marker="D", label="sum of seen parts")
        dots(
            ax,
            one["resembles_shuffled"],
            0,
            color="0.55",
            marker="^",
            label="that for another position",
        )
        dots(ax, one["resembles_bump"], 0.22, color=PALETTE[1], marker="o", label="true bump")
        ax.set(title=f"sum over {said}", ylim=(-0.4, 1.05))
        ax.axhline(0, color="0.8", lw=0.8)
        model_axis(results, ax)
    axes[0].set_ylabel("correlation with the OOD output")
    fig.legend(
        *axes[1].get_legend_handles_labels(), fontsize=9, loc="outside lower center", ncols=3
    )
    return fig


def summary(results: xr.Dataset) -> str:
    """What happened inside the hold-outs, as Markdown; every number is a median over seeds."""
    models = {m: str(results["label"].sel(model=m).item()) for m in results["model"].values}
    relative = (results["error"] / results["blank"]).median("seed")
    several = 100 * results["several"].sel(where="ood").median("seed")
    true_bump = results["resembles_bump"].median("seed")

    def over(values: xr.DataArray, model: str, form: str = "{:.2f}") -> str:
        return ", ".join(
            form.format(float(values.sel(model=model, hold_out=h)))
            for h in results["hold_out"].values
        )

    lines = [
        "Medians over seeds, for the hold-outs "
        f"{', '.join(str(h) for h in results['hold_out'].values)}. Errors are over that of a "
        "blank image. The last columns say how OOD images correlate with the sum of two seen "
        "parts, and with the true bump.",
        "",
        "| model | ID error | OOD error | OOD images with several bumps | like the sum | "
        "like the true bump |",
        "|---|---|---|---|---|---|",
    ]
    for model, label in models.items():
        parts = (
            results["resembles"]
            .sel(test="memorised" if model.endswith("ramp") else "averaged")
            .median("seed")
        )
        cells = [
            over(relative.sel(where="id"), model, "{:.2g}"),
            over(relative.sel(where="ood"), model, "{:.2g}"),
            over(several, model, "{:.0f} %"),
            over(parts, model),
            over(true_bump, model),
        ]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)
