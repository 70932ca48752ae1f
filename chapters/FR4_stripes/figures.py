"""Figures of what decoders learn from stripes (FR Figs. 4a-c, 7), from the dataset of
`study.results`. A diet is "stripes+n" or "bumps+n". The maps of layers are in `figures_maps`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr

from benchmarks.spatial.figures import along_training, sets_along_training
from chapters.FR4_stripes.claims import ALONE, FEW, MOST, STRIPES, TARGET, sizes, zero_baseline
from chapters.FR4_stripes.tables import KINDS, MEASURES, PLACES, REGIONS, amounts, diets_of
from vnlib.plots.frames import empty, if_computed, label, long_frame
from vnlib.plots.statistics import raised, said
from vnlib.plots.style import PALETTE, image_axes, look

LOOKS = {"stripes": (PALETTE[0], "o"), "bumps": (PALETTE[3], "s")}
ZERO = {"color": "0.3", "ls": ":", "lw": 1.2}
VARIANTS = ("cnn", "cnn_square", "cnn_ramp", "cnn_bright")
DECODERS = (
    *("vn_axes", "vn_axes_const", "vn_joint", "vn_joint_const"),
    *("vn_flat", "factorised", "cnn_bright"),
)


def amount_labels(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    """How many bumps the diets of some models hold ("0", "25", ..., "all"), fewest first."""
    bumps = {
        diet.split("+")[1]: float(results["bumps"].sel(model=model, diet=diet).max())
        for model in models
        for diet in diets_of(results, model)
    }
    return sorted(bumps, key=bumps.__getitem__)


def by_bumps(ax: plt.Axes, results: xr.Dataset, name: str, model: str) -> None:
    """A number against the number of bumps, one line per kind of diet; every seed a point, medians
    joined.
    """
    frame = long_frame(results[name].sel(model=model, diet=diets_of(results, model)))
    frame[["kind", "bumps in training"]] = frame["diet"].str.split("+", expand=True)
    frame["kind"] = frame["kind"].map(KINDS)
    present = [kind for kind, text in KINDS.items() if text in set(frame["kind"])]
    order = amount_labels(results, [model])
    given = {"x": "bumps in training", "y": "value", "hue": "kind", "order": order, "ax": ax}
    given |= {
        "palette": [LOOKS[kind][0] for kind in present],
        "hue_order": [KINDS[k] for k in present],
    }
    sns.stripplot(frame, **given, size=4, jitter=0, alpha=0.6, legend=False)
    sns.pointplot(
        frame,
        **given,
        markers=[LOOKS[kind][1] for kind in present],
        estimator="median",
        errorbar=None,
        markersize=5,
        lw=1.8,
    )
    ax.get_legend().remove()
    ax.set(ylabel="")


def _panels(results: xr.Dataset, names: dict[str, str], *, sharey: bool) -> plt.Figure:
    """Numbers of the CNN against the number of bumps, one panel each."""
    fig, axes = plt.subplots(1, len(names), figsize=(10.5, 3.3), sharey=sharey)
    for ax, (name, title) in zip(axes, names.items(), strict=True):
        by_bumps(ax, results, name, "cnn")
        ax.set_title(title)
    return fig


@if_computed
def accuracy(results: xr.Dataset) -> plt.Figure:
    """Accuracy out of distribution against the number of bumps: marginal, joint, and joint with a
    bump drawn.
    """
    one = results.assign(marginal=(results["hit_x_ood"] + results["hit_y_ood"]) / 2)
    names = {
        "marginal": "marginal: x or y alone",
        "hit_ood": "joint: x and y",
        "bump_hit_ood": "joint, and a bump rather than a cross",
    }
    fig = _panels(one, names, sharey=True)
    fig.axes[0].set(ylim=(-0.04, 1.04), ylabel="share of held-out positions")
    fig.axes[1].legend(fontsize=8, loc="center right")
    return fig


@if_computed
def crossness(results: xr.Dataset) -> plt.Figure:
    """Out of distribution: weight of the stripes and of their product in what is drawn, and the
    share of crosses.
    """
    names = {
        "line_ood": "weight of the two stripes",
        "product_ood": "weight of their product",
        "cross_share_ood": "share more like the cross",
    }
    fig = _panels(results, names, sharey=False)
    for ax, cross in zip(fig.axes, (1, 0), strict=False):
        ax.axhline(cross, **ZERO, label="ideal cross")
        ax.axhline(1 - cross, **(ZERO | {"ls": "--"}), label="ideal bump")
    fig.axes[0].legend(fontsize=8)
    return fig


def errors(results: xr.Dataset) -> plt.Figure:
    """OOD error of the CNNs against the number of bumps, one panel per variant, with the error of the
    zero baseline.
    """
    models = [m for m in VARIANTS if m in results["model"].values]
    if not models:
        return empty("No CNN was asked for.")
    size = (0.6 + 2.7 * len(models), 3.2)
    fig, axes = plt.subplots(1, len(models), figsize=size, sharey=True, squeeze=False)
    for ax, model in zip(axes[0], models, strict=True):
        by_bumps(ax, results, "mse_ood", model)
        ax.axhline(zero_baseline(results, model), **ZERO, label="zero baseline")
        ax.set_title(label(results, model))
    axes[0, 0].set_ylabel("OOD error (mean squared error)")
    axes[0, 0].set_yscale("log")  # last, since seaborn would take medians of logarithms
    axes[0, -1].legend(fontsize=8)
    return fig


@if_computed
def learning(results: xr.Dataset) -> plt.Figure:
    """Errors of the CNNs of both hold-outs along training, one panel per diet."""
    diets = (STRIPES, FEW, ALONE, MOST)
    fig, axes = plt.subplots(1, len(diets), figsize=(11.5, 3.4), sharey=True)
    models = ["cnn", *(m for m in ("cnn_square",) if m in results["model"].values)]
    curves = results[["curve_step", "curve_val", "curve_ood"]].sel(model=models)
    for ax, diet in zip(axes, diets, strict=True):
        sets_along_training(ax)
        for model, color in zip(models, (look(label(results, "cnn"))[0], "0.1"), strict=False):
            one, name = curves.sel(model=model, diet=diet), label(results, model)
            along_training(ax, one, color=color, name=name)
        ax.axhline(zero_baseline(results, models[0]), **ZERO, label="zero baseline")
        ax.set(title=diet.replace("+", " + "), ylabel="")
    axes[0].set_ylabel("mean squared error")
    axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def decoders(results: xr.Dataset) -> plt.Figure:
    """Joint accuracy (top), place and form (middle), and OOD error (below) of several decoders."""
    models = [m for m in DECODERS if m in results["model"].values]
    if not models:
        return empty("None of these models was asked for.")
    size = (0.6 + 1.3 * len(models), 6.4)
    fig, axes = plt.subplots(3, len(models), figsize=size, sharey="row", squeeze=False)
    rows = {
        "hit_ood": "joint accuracy",
        "bump_hit_ood": "joint accuracy\nof bumps",
        "mse_ood": "OOD error (MSE)",
    }
    for column, model in zip(axes.T, models, strict=True):
        for ax, (name, text) in zip(column, rows.items(), strict=True):
            by_bumps(ax, results, name, model)
            ax.tick_params(axis="x", labelsize=7)
            ax.set(xlabel="", ylabel=text)
        column[0].set_title(label(results, model).replace(", ", ",\n"), fontsize=8)
        column[2].axhline(zero_baseline(results, model), **ZERO, label="zero baseline")
    axes[2, 0].set_yscale("log")  # last, since seaborn would take medians of logarithms
    handles = axes[2, 0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside upper center", ncols=3, fontsize=9)
    fig.supxlabel("bumps in training", fontsize=10)
    return fig


def ideal(results: xr.Dataset, sample: str, sigma: float) -> dict[str, np.ndarray]:
    """What a diet teaches at a sample position, as ink: the additive cross, the bump."""
    places = [int(v) for v in sample.split(",")]
    pixels = np.arange(results.sizes["u"])
    x, y = (np.exp(-0.5 * ((pixels - place) / sigma) ** 2) for place in places)
    return {"stripes": y[:, None] + x[None], "bumps": y[:, None] * x[None]}


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
    models = [m for m in models if m in results["model"].values]
    if not models:
        return empty("None of these models was asked for.")
    steps = amount_labels(results, models)
    rows = [(m, kind) for m in models for kind in KINDS if amounts(results, kind, m)]
    size = (1.25 * (1 + len(steps)) + 1.6, 1.25 * len(rows) + 0.2)
    fig, axes = plt.subplots(len(rows), 1 + len(steps), figsize=size, squeeze=False)
    shown = {"origin": "lower", "vmin": 0, "vmax": 1}
    for name, ax in zip(["ideal", *(f"{s} bumps" for s in steps)], axes[0], strict=True):
        ax.set_title(name, fontsize=8.5)
    for line, (model, kind) in zip(axes, rows, strict=True):
        for ax in line:
            image_axes(ax, ax.get_title())
        line[0].imshow(ideal(results, sample, sigma)[kind], **shown)
        text = f"{label(results, model)}\n{KINDS[kind]}"
        line[0].set_ylabel(text, rotation=0, ha="right", va="center", fontsize=8)
        dark = str(results["polarity"].sel(model=model).item()) == "dark"
        images = results["picture"].sel(model=model, sample=sample).isel(seed=0)
        for ax, diet in zip(line[1:], (f"{kind}+{step}" for step in steps), strict=True):
            if diet in amounts(results, kind, model):
                image = images.sel(diet=diet).values
                ax.imshow(1 - image if dark else image, **shown)
    return fig


def _exponent(one: xr.Dataset) -> str:
    """A fitted exponent as a legend says it."""
    value = float(one["exponent"])
    if math.isnan(value):
        return f"no exponent: {100 * float(one['reached']):.0f} % of the runs reach it"
    interval = raised(said(value, float(one["low"]), float(one["high"])))
    return f"exponent {interval}, {int(one['sides'])} sides"


def scaling(results: xr.Dataset, laws: xr.Dataset, measure: str = "joint") -> plt.Figure:
    """Fewest training items that reach the target accuracy, against the image side: one panel per
    reading of what is asked for; arrows where it is not reached.
    """
    if not laws:
        return empty("No model of another image side was asked for.")
    models = sizes(results)
    sides = np.array(list(models.values()), float)
    some = results[["need", "dose_items"]].sel(model=list(models)).dropna("seed", how="all")
    need = some["need"].sel(measure=measure, target=TARGET)
    most = some["dose_items"].isel(dose=-1).max("seed")
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 8), sharex=True, sharey=True)
    for row, (region, held) in zip(axes, REGIONS.items(), strict=True):
        for ax, (places, where) in zip(row, PLACES.items(), strict=True):
            reading = {"region": region, "places": places}
            fits = laws.sel(**reading, measure=measure, target=TARGET)
            _needs(ax, need.sel(reading), most.sel(places=places), models, fits)
            ax.set(title=f"positions {held}\nbumps {where}", xlabel="", ylabel="")
    for power, style in ((1, ":"), (2, "-."), (3, "--")):
        line = 2 * sides[0] * (sides / sides[0]) ** power
        for ax in axes.flat:
            ax.plot(sides, line, color="0.5", lw=1, ls=style, label=f"slope {power}, from 2N")
    for ax in axes.flat:
        ax.set(xscale="log", yscale="log", ylim=(4, 2.5 * float(most.max())))
        ax.set_xticks(sides, [f"{s:g}" for s in sides])
        ax.minorticks_off()
        ax.legend(fontsize=7, loc="upper left")
    fig.supxlabel("image side N [px]", fontsize=10)
    fig.supylabel(
        f"training items for an accuracy of {TARGET:g} ({MEASURES[measure]})", fontsize=10
    )
    return fig


def _needs(
    ax: plt.Axes, need: xr.DataArray, most: xr.DataArray, models: dict[str, int], fits: xr.Dataset
) -> None:
    """The need of every seed, a little aside for each kind, and arrows from the largest dose."""
    for factor, (kind, (color, marker)) in zip((0.985, 1.015), LOOKS.items(), strict=True):
        found = need.sel(kind=kind).transpose("model", "seed").values
        text = f"{KINDS[kind]}: {_exponent(fits.sel(kind=kind))}"
        side = factor * np.array(list(models.values()), float)
        spread = np.repeat(side[:, None], found.shape[1], 1)
        look = {"color": color, "marker": marker, "s": 22, "alpha": 0.7, "lw": 0}
        ax.scatter(spread[np.isfinite(found)], found[np.isfinite(found)], **look, label=text)
        missed, tried = np.isinf(found).any(1), most.sel(kind=kind).values
        for x, y in zip(side[missed], tried[missed], strict=True):
            arrow = {"arrowstyle": "->", "color": color}
            ax.annotate("", (x, y * 1.35), (x, y), arrowprops=arrow)
            ax.plot(x, y, marker="_", color=color, ms=9)
