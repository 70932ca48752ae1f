"""Figures of what decoders learn from stripes (FR Figs. 4a-c, 7), from the dataset of
`studies.stripes.study`.

Dims: model, seed, diet, sample, v, u (pixels), kind, measure, target; coordinates label(model),
group(model), grid(model). A diet is "stripes+n" or "bumps+n". The maps of layers are in
`figures.stripes_maps`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from vnlib.plots.rows import absent
from vnlib.plots.style import PALETTE, bare

KINDS = {
    "stripes": ("stripes and bumps", PALETTE[0], "o"),
    "bumps": ("bumps only", PALETTE[3], "s"),
}
MEASURES = {"hit": "place: joint accuracy", "bump_hit": "place and form: a bump there"}


def of_cnn(draw: Callable[..., plt.Figure]) -> Callable[..., plt.Figure]:
    """Draw only where the results hold the model "cnn"."""

    @wraps(draw)
    def drawn(results: xr.Dataset, *given: object, **options: object) -> plt.Figure:
        if "cnn" not in results["model"].values:
            return absent("The model cnn was not asked for.")
        return draw(results, *given, **options)

    return drawn


def amounts(results: xr.Dataset, kind: str, model: str) -> list[str]:
    """The diets of a kind that a model was trained on, fewest bumps first."""
    here = results["bumps"].sel(model=model).max("seed")
    names = [
        str(d)
        for d in here["diet"].values
        if str(d).startswith(f"{kind}+") and np.isfinite(here.sel(diet=d))
    ]
    return sorted(names, key=lambda d: float(here.sel(diet=d)))


def amount_labels(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    """How many bumps the diets of some models hold ("0", "25", ..., "all"), fewest first."""
    bumps = {
        diet.split("+")[1]: float(results["bumps"].sel(model=model, diet=diet).max())
        for model in models
        for kind in KINDS
        for diet in amounts(results, kind, model)
    }
    return sorted(bumps, key=bumps.get)


def by_bumps(ax: plt.Axes, results: xr.Dataset, name: str, model: str, **line: object) -> None:
    """A number against the number of bumps, one line per kind of diet; every seed a point, medians
    joined.
    """
    steps = amount_labels(results, [model])
    for kind, (label, color, marker) in KINDS.items():
        diets = amounts(results, kind, model)
        if not diets:
            continue
        one = results[name].sel(model=model, diet=diets).transpose("diet", "seed")
        x = np.array([steps.index(d.split("+")[1]) for d in diets])
        shift = (
            np.linspace(-0.08, 0.08, one.sizes["seed"]) if one.sizes["seed"] > 1 else np.zeros(1)
        )
        ax.scatter(x[:, None] + shift, one, color=color, marker=marker, s=18, alpha=0.6, lw=0)
        ax.plot(
            x,
            one.median("seed"),
            color=color,
            marker=marker,
            ms=5,
            **({"lw": 1.8, "label": label} | line),
        )
    ax.set(xticks=range(len(steps)), xticklabels=steps, xlabel="bumps in training")


@of_cnn
def accuracy(results: xr.Dataset, model: str = "cnn") -> plt.Figure:
    """Accuracy out of distribution against the number of bumps: marginal, joint, and joint with a
    bump drawn.
    """
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), sharey=True)
    one = results.assign(marginal=(results["hit_x_ood"] + results["hit_y_ood"]) / 2)
    names = {
        "marginal": "marginal: x or y alone",
        "hit_ood": "joint: x and y",
        "bump_hit_ood": "joint, and a bump rather than a cross",
    }
    for ax, (name, title) in zip(axes, names.items(), strict=True):
        by_bumps(ax, one, name, model)
        ax.set(ylim=(-0.04, 1.04), title=title)
    axes[0].set_ylabel("share of held-out positions")
    axes[1].legend(fontsize=8, loc="center right")
    return fig


def errors(
    results: xr.Dataset, models: Sequence[str] = ("cnn", "cnn_square", "cnn_ramp", "cnn_bright")
) -> plt.Figure:
    """OOD error against the number of bumps, one panel per model, with the error of a blank
    image.
    """
    here = [m for m in models if m in results["model"].values]
    if not here:
        return absent("No CNN was asked for.")
    fig, axes = plt.subplots(
        1, len(here), figsize=(0.6 + 2.7 * len(here), 3.2), sharey=True, squeeze=False
    )
    for ax, model in zip(axes[0], here, strict=True):
        by_bumps(ax, results, "mse_ood", model)
        blank = float(results["blank_ood"].sel(model=model).median())
        ax.axhline(blank, color="0.3", ls=":", lw=1.2, label="blank image")
        ax.set(yscale="log", title=str(results["label"].sel(model=model).item()))
    axes[0, 0].set_ylabel("OOD error (mean squared error)")
    axes[0, -1].legend(fontsize=8)
    return fig


@of_cnn
def crossness(results: xr.Dataset, model: str = "cnn") -> plt.Figure:
    """Out of distribution: weight of the stripes and of their product in what is drawn, and the
    share of crosses.
    """
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.2))
    names = {
        "line_ood": ("weight of the two stripes", 1),
        "product_ood": ("weight of their product", 0),
        "cross_share_ood": ("share more like the cross", None),
    }
    for ax, (name, (title, cross)) in zip(axes, names.items(), strict=True):
        by_bumps(ax, results, name, model)
        if cross is not None:
            ax.axhline(cross, color="0.3", ls=":", lw=1.2, label="ideal cross")
            ax.axhline(1 - cross, color="0.3", ls="--", lw=1.2, label="ideal bump")
        ax.set_title(title)
    axes[0].legend(fontsize=8)
    return fig


def ideal(results: xr.Dataset, sample: str, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """The additive cross and the bump at a sample position, as ink."""
    x, y = (int(v) for v in sample.split(","))
    s = [np.exp(-0.5 * ((np.arange(results.sizes["u"]) - at) / sigma) ** 2) for at in (x, y)]
    return s[1][:, None] + s[0][None], s[1][:, None] * s[0][None]


def samples(
    results: xr.Dataset,
    *,
    models: Sequence[str] = ("cnn",),
    sample: str = "20, 18",
    sigma: float = 1.0,
) -> plt.Figure:
    """What models draw at one held-out position, one row per model and kind of diet, one column per
    number of bumps.

    The first column shows the ideal cross (rows with stripes) or the ideal bump. Ink: dark images
    are shown inverted.
    """
    here = [m for m in models if m in results["model"].values]
    if not here:
        return absent("None of these models was asked for.")
    steps = amount_labels(results, here)
    rows = [(m, kind) for m in here for kind in KINDS if amounts(results, kind, m)]
    fig, axes = plt.subplots(
        len(rows),
        1 + len(steps),
        figsize=(1.25 * (1 + len(steps)) + 1.6, 1.25 * len(rows) + 0.2),
        squeeze=False,
    )
    cross, bump = ideal(results, sample, sigma)
    for number, (line, (model, kind)) in enumerate(zip(axes, rows, strict=True)):
        top = number == 0
        bare(line[0], "ideal" if top else "").imshow(
            cross if kind == "stripes" else bump, origin="lower", vmin=0, vmax=1
        )
        label = str(results["label"].sel(model=model).item())
        line[0].set_ylabel(
            f"{label}\n{KINDS[kind][0]}", rotation=0, ha="right", va="center", fontsize=8
        )
        for ax, step in zip(line[1:], steps, strict=True):
            bare(ax, f"{step} bumps" if top else "")
            if f"{kind}+{step}" not in amounts(results, kind, model):
                continue
            image = (
                results["picture"]
                .sel(model=model, diet=f"{kind}+{step}", sample=sample)
                .isel(seed=0)
                .values
            )
            dark = str(results["polarity"].sel(model=model).item()) == "dark"
            ax.imshow(1 - image if dark else image, origin="lower", vmin=0, vmax=1)
    return fig


def decoders(results: xr.Dataset, models: Sequence[str]) -> plt.Figure:
    """Joint accuracy (top), place and form (middle), and OOD error (below) of several decoders."""
    here = [m for m in models if m in results["model"].values]
    if not here:
        return absent("None of these models was asked for.")
    fig, axes = plt.subplots(
        3, len(here), figsize=(0.6 + 1.3 * len(here), 6.4), sharey="row", squeeze=False
    )
    rows = {
        "hit_ood": "joint accuracy",
        "bump_hit_ood": "joint accuracy\nof bumps",
        "mse_ood": "OOD error (MSE)",
    }
    for column, model in enumerate(here):
        for ax, name in zip(axes[:, column], rows, strict=True):
            by_bumps(ax, results, name, model)
            ax.tick_params(axis="x", labelsize=7)
            ax.set_xlabel("")
        axes[0, column].set_title(
            str(results["label"].sel(model=model).item()).replace(", ", ",\n"), fontsize=8
        )
        blank = float(results["blank_ood"].sel(model=model).median())
        axes[2, column].axhline(blank, color="0.3", ls=":", lw=1.2, label="blank image")
        axes[2, column].set_yscale("log")
    for ax, name in zip(axes[:, 0], rows.values(), strict=True):
        ax.set_ylabel(name)
    fig.legend(
        *axes[2, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=9
    )
    fig.supxlabel("bumps in training", fontsize=10)
    return fig


def scaling(results: xr.Dataset, laws: xr.Dataset | None, target: float = 0.8) -> plt.Figure:
    """Fewest training items that reach a target accuracy, against the image side; arrows where it
    is not reached.
    """
    if laws is None:
        return absent("No model of another image side was asked for.")
    fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.9), sharey=True)
    sized = [str(m) for m in results["model"].values if str(m).startswith("side_")]
    sides = results["grid"].sel(model=sized).values.astype(float)
    for ax, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        for shift, (kind, (label, color, marker)) in zip(
            (0.985, 1.015), KINDS.items(), strict=True
        ):
            one = results["need"].sel(model=sized, kind=kind, measure=measure, target=target)
            need, most = (
                one.transpose("model", "seed").values,
                results["most"].sel(model=sized, kind=kind).max("seed"),
            )
            x = np.repeat(sides[:, None] * shift, need.shape[1], 1)
            ax.scatter(
                x,
                np.where(np.isfinite(need), need, np.nan),
                color=color,
                marker=marker,
                s=26,
                alpha=0.7,
                lw=0,
            )
            said = exponent_said(laws.sel(kind=kind, measure=measure, target=target))
            ax.plot([], [], color=color, marker=marker, ls="", label=f"{label}: {said}")
            for side, row, tried in zip(sides * shift, need, most.values, strict=True):
                if np.isinf(row).any():
                    ax.annotate(
                        "",
                        (side, tried * 1.35),
                        (side, tried),
                        arrowprops={"arrowstyle": "->", "color": color},
                    )
                    ax.plot(side, tried, marker="_", color=color, ms=9)
        for power, style in ((1, ":"), (3, "--")):
            ax.plot(
                sides,
                2 * sides[0] * (sides / sides[0]) ** power,
                color="0.5",
                lw=1,
                ls=style,
                label=f"slope {power}, from 2N",
            )
        ax.set(xscale="log", yscale="log", xlabel="image side N [px]", title=title)
        ax.set_xticks(sides, [f"{s:g}" for s in sides])
        ticks = [
            n
            for n in (25, 50, 100, 200, 400, 800)
            if n < 2 * results["most"].sel(model=sized).max()
        ]
        ax.set_yticks(ticks, [str(n) for n in ticks])
        ax.minorticks_off()
        ax.legend(fontsize=7.5, loc="upper left", bbox_to_anchor=(0, -0.17))
    axes[0].set_ylabel(f"training items for an accuracy of {target:g}")
    return fig


def exponent_said(one: xr.Dataset) -> str:
    """A fitted exponent in words."""
    value = float(one["exponent"])
    if math.isnan(value):
        return f"no exponent: {100 * float(one['reached']):.0f} % of the runs reach it"
    return (
        f"exponent {value:.2f} [{float(one['low']):.2f}, {float(one['high']):.2f}], "
        f"{int(one['sides'])} sides"
    )
