"""Figures of spatial decoding in full (VN App. F).

The dataset has dims model and seed, errors per split, and the coordinates label(model),
group(model), encoding(model) and parts(model): the names of the tables that a model is in, with
blanks between.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from vnlib.plots.rows import label as name_of
from vnlib.plots.style import PALETTE, bare

FLOOR = 1e-17  # below this an error is rounding
MARKS = "osD^vP*X<>dhp8H"
COLORS = [PALETTE[i] for i in (0, 3, 2, 1, 4, 7, 5, 8, 9, 6)]
ENCODINGS = {
    "bump": "bump",
    "one_hot": "one-hot",
    "fourier14": "Fourier-14",
    "fourier7": "Fourier-7",
    "scalar": "scalar",
}
ENCODED = {
    "sae": "SAE",
    "vae_low": r"VAE, $\beta$ 0.01",
    "vae_high": r"VAE, $\beta$ 0.1",
    "vn_1": "VN-1L",
    "vn_3": "VN-3L",
    "full": "full 2D VN",
}
ERROR = "mean squared error"
BLANK = {"color": "0.3", "ls": ":", "lw": 1.2}


def within(results: xr.Dataset, part: str) -> xr.Dataset:
    """The models of one table, in their order."""
    inside = [part in str(parts).split() for parts in results["parts"].values]
    return results.isel(model=np.flatnonzero(inside))


def _missing() -> plt.Figure:
    fig, ax = plt.subplots(figsize=(4, 1))
    ax.text(0.5, 0.5, "none of these models was computed", ha="center", va="center")
    bare(ax)
    return fig


def _blank(
    ax: plt.Axes, results: xr.Dataset, *, across: bool = True, label: str | None = "blank image"
) -> None:
    """The OOD error of an empty image, as a line."""
    (ax.axhline if across else ax.axvline)(
        float(results["blank_ood"].median()), label=label, **BLANK
    )


def scatter(results: xr.Dataset, part: str) -> plt.Figure:
    """ID test error against OOD error of one table: every seed a point, medians as larger marks."""
    one = within(results, part)
    if not one.sizes["model"]:
        return _missing()
    fig, ax = plt.subplots(figsize=(7.6, 4.2))
    for number, model in enumerate(one["model"].values):
        x, y = (one[f"mse_{s}"].sel(model=model).dropna("seed").clip(FLOOR) for s in ("id", "ood"))
        style = {"marker": MARKS[number % len(MARKS)], "color": COLORS[number % len(COLORS)]}
        ax.scatter(x, y, s=18, alpha=0.6, lw=0.2, edgecolor="white", **style)
        ax.scatter(
            x.median(),
            y.median(),
            s=75,
            lw=0.6,
            edgecolor="0.2",
            label=name_of(one, model),
            **style,
        )
    _square(ax, one)
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def _square(ax: plt.Axes, one: xr.Dataset) -> None:
    """Logarithmic axes with the line of equal errors and that of a blank image, which is always
    inside.
    """
    errors = one[["mse_id", "mse_ood"]].to_array().clip(FLOOR)
    low, high = float(errors.min()) / 3, 3 * max(float(errors.max()), float(one["blank_ood"].max()))
    ends = np.array([low / 10, 10 * high])
    ax.plot(ends, ends, color="0.6", lw=1, label="OOD = ID", zorder=0)
    _blank(ax, one, label="blank image, OOD")
    ax.set(
        xscale="log",
        yscale="log",
        ylim=(low, high),
        xlim=(low, 3 * float(errors.sel(variable="mse_id").max())),
    )
    ax.set(xlabel=f"ID test error ({ERROR})", ylabel=f"OOD error ({ERROR})")


def encodings(results: xr.Dataset) -> plt.Figure:
    """ID against OOD error, one panel per model of Table 3, one mark per encoding; every seed a
    point.
    """
    one = within(results, "encodings")
    here = {m: t for m, t in ENCODED.items() if any(_is(str(n), m) for n in one["model"].values)}
    if not here:
        return _missing()
    columns = min(3, len(here))
    rows = math.ceil(len(here) / columns)
    fig, axes = plt.subplots(
        rows, columns, figsize=(3.1 * columns, 2.7 * rows), squeeze=False, sharey=True
    )
    for ax in axes.flat[len(here) :]:
        ax.set_visible(False)
    for ax, (name, title) in zip(axes.flat, here.items(), strict=False):
        inside = one.sel(model=[m for m in one["model"].values if _is(str(m), name)])
        for model in inside["model"].values:
            number = list(ENCODINGS).index(str(inside["encoding"].sel(model=model).item()))
            x, y = (inside[f"mse_{s}"].sel(model=model).clip(FLOOR) for s in ("id", "ood"))
            ax.scatter(
                x,
                y,
                s=26,
                marker=MARKS[number],
                color=COLORS[number],
                alpha=0.7,
                edgecolor="white",
                lw=0.3,
            )
        _square(ax, one)
        ax.set_title(title, fontsize=9)
        ax.set(xlabel="ID test error", ylabel="OOD error" if ax in axes[:, 0] else "")
    handles = [
        Line2D([], [], ls="", marker=MARKS[i], color=COLORS[i], label=label)
        for i, label in enumerate(ENCODINGS.values())
    ]
    handles += [
        Line2D([], [], color="0.6", lw=1, label="OOD = ID"),
        Line2D([], [], label="blank image, OOD", **BLANK),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8.5)
    return fig


def _is(model: str, base: str) -> bool:
    """Whether a model of Table 3 is this one with some encoding."""
    return model == base or model.removeprefix(f"{base}_") in {*ENCODINGS, "8"}


def depth(results: xr.Dataset) -> plt.Figure:
    """OOD error against the cap K for each depth, and what top-down inference does to three
    layers.
    """
    one = within(results, "depth")
    if not one.sizes["model"]:
        return _missing()
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, width_ratios=[1.3, 1])
    for number in (1, 2, 3):
        names = [m for m in (f"vn_{number}_{k}" for k in (4, 8, 16)) if m in one["model"].values]
        if not names:
            continue
        color, mark = COLORS[number - 1], MARKS[number - 1]
        k = np.array([int(m.rsplit("_", 1)[1]) for m in names], float) * 1.04 ** (number - 2)
        values = one["mse_ood"].sel(model=names).transpose("seed", "model").clip(FLOOR)
        for row in values.values:
            axes[0].plot(k, row, ls="", marker=mark, ms=3.5, color=color, alpha=0.5)
        axes[0].plot(
            k,
            values.median("seed"),
            marker=mark,
            color=color,
            label=f"{number} layer{'s' * (number > 1)}",
        )
    axes[0].set(
        xscale="log",
        yscale="log",
        xlabel="atoms per top code at most, K",
        ylabel=f"OOD error ({ERROR})",
    )
    axes[0].set_xticks([4, 8, 16], ["4", "8", "16"])
    axes[0].minorticks_off()
    deep = {"vn_3_8": "bottom-up", "vn_3_down": "top-down", "vn_3_mix": "top-down,\nmix 0.5"}
    _strip(axes[1], one["mse_ood"], {m: t for m, t in deep.items() if m in one["model"].values})
    axes[1].set_title("3 layers, K 8", fontsize=9)
    for ax in axes:
        _blank(ax, one)
    # below the line of the blank image
    axes[0].legend(fontsize=8, loc="upper right", bbox_to_anchor=(1, 0.92))
    return fig


def _strip(ax: plt.Axes, values: xr.DataArray, models: dict[str, str]) -> None:
    """Every seed as a point over the name of its model, and the median as a bar."""
    for place, model in enumerate(models):
        one = values.sel(model=model).dropna("seed").clip(FLOOR).values
        spread = np.linspace(-0.15, 0.15, len(one)) if len(one) > 1 else np.zeros(1)
        ax.plot(
            place + spread,
            one,
            ls="",
            marker="o",
            ms=4,
            color=COLORS[place % len(COLORS)],
            alpha=0.6,
        )
        ax.hlines(np.median(one), place - 0.3, place + 0.3, color=COLORS[place % len(COLORS)], lw=2)
    ax.set_xticks(range(len(models)), list(models.values()), fontsize=8.5)
    ax.set_xlim(-0.6, max(1, len(models)) - 0.4)


def rank(results: xr.Dataset) -> plt.Figure:
    """How alike the streams of rank-R readouts are (left), and the OOD error of every rank
    (right).
    """
    one = within(results, "rank")
    families = {
        "factorised, default rate": ("default_1", "default_2", "default_3"),
        "factorised, tuned": ("factorised", "factorised_2", "factorised_3"),
        "VN per axis": ("vn_1_8", "vn_rank_2", "vn_rank_3"),
    }
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.5))
    for number, (label, models) in enumerate(families.items()):
        style = {"color": COLORS[(1, 3, 0)[number]], "marker": MARKS[number]}
        for ax, name in zip(axes, ("stream_similarity", "mse_ood"), strict=True):
            for r, model in enumerate(models, 1):
                if (
                    name not in one
                    or model not in one["model"].values
                    or (r == 1 and name != "mse_ood")
                ):
                    continue
                values = one[name].sel(model=model).dropna("seed")
                x = r + 0.16 * (number - 1)
                ax.scatter([x] * values.size, values, s=16, alpha=0.55, lw=0, **style)
                ax.scatter(
                    [x],
                    [values.median()],
                    s=60,
                    edgecolor="white",
                    **style,
                    label=label if r == 2 else None,
                )
    if "full" in one["model"].values:
        full = one["mse_ood"].sel(model="full")
        axes[1].axhspan(float(full.min()), float(full.max()), color=PALETTE[2], alpha=0.2, lw=0)
        axes[1].axhline(
            float(full.median()), color=PALETTE[2], lw=1.5, label="full 2D VN (band: all seeds)"
        )
    _blank(axes[1], one)
    axes[0].set(
        xticks=[2, 3],
        xlim=(1.5, 3.5),
        xlabel="rank R",
        ylabel="|cosine| of two streams' images",
        ylim=(0, 1.03),
    )
    axes[1].set(
        xticks=[1, 2, 3],
        xlim=(0.5, 3.5),
        yscale="log",
        xlabel="rank R",
        ylabel=f"OOD error ({ERROR})",
    )
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def maps(results: xr.Dataset) -> plt.Figure:
    """Error at every position with the ring held out, median over seeds, one colour scale; the ring
    is outlined.
    """
    one = within(results, "ring")
    if not one.sizes["model"]:
        return _missing()
    n = one.sizes["model"]
    fig, axes = plt.subplots(1, n, figsize=(2.3 * n + 0.8, 2.6), squeeze=False)
    blank = float(one["blank_ood"].median())
    for ax, model in zip(axes.flat, one["model"].values, strict=True):
        side = math.isqrt(one.sizes["position"])
        picture, out = (
            one[v].sel(model=model).median("seed").values.reshape(side, side)
            for v in ("mse", "held_out")
        )
        drawn = ax.imshow(picture.clip(1e-9), origin="lower", norm=LogNorm(vmin=1e-8, vmax=1e-1))
        ax.contour(out, levels=[0.5], colors="white", linewidths=1, linestyles="--")
        bare(ax, str(one["label"].sel(model=model).item()))
    bar = fig.colorbar(drawn, ax=axes, label=ERROR, extend="both", shrink=0.85)
    bar.ax.axhline(blank, color="white", lw=2)
    bar.ax.text(
        -0.2,
        blank,
        "blank",
        ha="right",
        va="center",
        fontsize=7.5,
        transform=bar.ax.get_yaxis_transform(),
    )
    return fig


def images(results: xr.Dataset, part: str, name: str = "sample") -> plt.Figure:
    """What the models of a table draw, `<name>_image`, after the target; the first seed that has
    it.
    """
    one = within(results, part)
    if f"{name}_image" not in one:
        return _missing()
    shown = (
        one[[f"{name}_image", f"{name}_target"]]
        .dropna("seed", how="all")
        .dropna("model", how="all")
    )
    if not shown.sizes["model"] or not shown.sizes["seed"]:
        return _missing()
    shown = shown.isel(seed=0)
    tiles = [("target", shown[f"{name}_target"].isel(model=0).values)]
    tiles += [(str(m["label"].item()), m.values) for m in shown[f"{name}_image"]]
    return _tiles(tiles)


def _tiles(tiles: Sequence[tuple[str, np.ndarray]]) -> plt.Figure:
    rows = math.ceil(len(tiles) / 7)
    columns = math.ceil(len(tiles) / rows)
    fig, axes = plt.subplots(
        rows, columns, figsize=(1.5 * columns + 0.7, 1.85 * rows), squeeze=False
    )
    for ax in axes.flat[len(tiles) :]:
        ax.set_visible(False)
    for ax, (label, image) in zip(axes.flat, tiles, strict=False):
        bare(ax, "\n".join(textwrap.wrap(label, 19, break_on_hyphens=False)))
        drawn = ax.imshow(image, origin="lower", vmin=0, vmax=1)
    fig.colorbar(drawn, ax=axes, label="brightness", extend="both", shrink=0.8)
    return fig
