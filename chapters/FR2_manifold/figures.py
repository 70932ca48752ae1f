"""Figures of the geometry of a decoder's layers (FR Figs. 2 and 5), from the dataset of
`chapters.FR2_manifold.measure`.

The dataset has dims model, seed, weights ("trained", "untrained"), layer and the coordinates label,
group, encoding and depth (model). `manifold_maps` draws what has a place for every position,
`manifold_words` tells it in words.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from vnlib.plots.style import GROUPS, PALETTE

KINDS = {
    ("cnn", "bump"): "CNN, bump code",
    ("cnn", "ramp"): "CNN, ramp code",
    ("mlp", "bump"): "MLP, bump code",
    ("mlp", "ramp"): "MLP, ramp code",
}
MARK = {"cnn": PALETTE[3], "mlp": PALETTE[4], "vn": GROUPS["vn"][1], "reference": "0.2"}
REFERENCES = {
    "perfect": ("perfect images", "-"),
    "crosses": ("column + row", "--"),
    "table": ("table", ":"),
}
RANDOM = "0.6"


def models(results: xr.Dataset, group: str, encoding: str | None = None) -> list[str]:
    """The models of a group (with one code), shallowest first."""
    inside = results["group"].values == group
    if encoding is not None:
        inside &= results["encoding"].values == encoding
    return sorted(
        results["model"].values[inside], key=lambda m: (int(results["depth"].sel(model=m)), m)
    )


def path(
    results: xr.Dataset, name: str, model: str, weights: str = "trained"
) -> tuple[list[str], np.ndarray]:
    """The layers that a model has, and a measure of each: (layers,), values (layer, seed)."""
    values = results[name].sel(model=model, weights=weights).transpose("layer", "seed")
    present = results["units"].sel(model=model, weights="trained").notnull().any("seed").values
    return [str(layer) for layer in results["layer"].values[present]], values.values[present]


def last(results: xr.Dataset, name: str, model: str, weights: str = "trained") -> np.ndarray:
    """A measure of the last layer between input and output, per seed."""
    layers, values = path(results, name, model, weights)
    return values[
        max((i for i, layer in enumerate(layers) if layer.startswith("layer")), default=-1)
    ]


def mse(results: xr.Dataset, split: str, model: str) -> np.ndarray:
    """The error of a trained model on a split, per seed."""
    return results[f"mse_{split}"].sel(model=model, weights="trained").values


def nothing(what: str) -> plt.Figure:
    """A figure that says that these results have nothing to draw."""
    fig, ax = plt.subplots(figsize=(5, 0.6))
    ax.set_axis_off()
    ax.text(0, 0.5, f"These results hold no {what}.", va="center")
    return fig


def median(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    """The median of the seeds that have a value; NaN where none has."""
    if not np.isfinite(values).any():
        return np.nan if axis is None else np.full(np.delete(values.shape, axis), np.nan)
    return np.nanmedian(values, axis=axis)


def _rows(
    results: xr.Dataset, measures: dict[str, str], lines: dict[str, tuple[str, ...]]
) -> plt.Figure:
    """One row per measure, one column per kind of network, one line per depth; `lines`: references
    per measure.
    """
    kinds = [kind for kind in KINDS if models(results, *kind)]
    if not kinds:
        return nothing("CNN and no MLP")
    fig, axes = plt.subplots(
        len(measures),
        len(kinds),
        figsize=(2.2 * len(kinds) + 0.6, 2.15 * len(measures) + 0.7),
        sharey="row",
        squeeze=False,
    )
    for column, kind in enumerate(kinds):
        here = models(results, *kind)
        colors = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(here)))
        for row, (name, label) in enumerate(measures.items()):
            ax = axes[row, column]
            for model, color in zip(here, colors, strict=True):
                layers, values = path(results, name, model)
                x = np.arange(len(layers))
                ax.plot(x, values, ".", ms=3, color=color, alpha=0.5)
                ax.plot(
                    x,
                    median(values, 1),
                    color=color,
                    lw=1.4,
                    label=f"{int(results['depth'].sel(model=model))}",
                )
                ax.plot(x[-1], median(values[-1]), "s", ms=5, mfc="white", mec=color, zorder=3)
            layers, values = path(results, name, here[-1], "untrained")
            ax.plot(np.arange(len(layers)), median(values, 1), color=RANDOM, lw=1.2, ls=(0, (1, 1)))
            _reference_lines(results, ax, name, lines.get(name, ("perfect",)))
            if row == 0:
                ax.set_title(KINDS[kind], fontsize=10)
            if column == 0:
                ax.set_ylabel(label)
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            if row == len(measures) - 1:
                ax.set_xlabel("layer (0: input)")
        axes[1, column].legend(
            title="depth", fontsize=8, title_fontsize=8, loc="best", ncols=2, handlelength=1
        )
    shown = {reference for row in measures for reference in lines.get(row, ("perfect",))}
    handles = [
        Line2D([], [], color="0.2", lw=1, ls=style, label=f"{name}, output")
        for key, (name, style) in REFERENCES.items()
        if key in shown
    ]
    handles += [Line2D([], [], color=RANDOM, ls=(0, (1, 1)), label="random weights, deepest")]
    handles += [Line2D([], [], color="0.3", marker="s", mfc="white", ls="", label="output")]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def _reference_lines(results: xr.Dataset, ax: plt.Axes, name: str, wanted: tuple[str, ...]) -> None:
    for key in wanted:
        if key in results["model"].values:
            layers, values = path(results, name, key)
            ax.axhline(
                median(values[layers.index("output")]),
                color="0.2",
                lw=1,
                ls=REFERENCES[key][1],
                zorder=1,
            )


def metrics(results: xr.Dataset) -> plt.Figure:
    """Factorisation and probes by layer and depth (FR Fig. 2a-d)."""
    measures = {
        "F": "factorisation F",
        "probe": "probe, whole grid [$R^2$]",
        "probe_ood": "probe, hold-out [$R^2$]",
    }
    fig = _rows(results, measures, {})
    for ax in fig.axes[-len(fig.axes) // 3 :]:
        ax.set_ylim(max(-1.05, ax.get_ylim()[0]), 1.05)
    return fig


def rank(results: xr.Dataset) -> plt.Figure:
    """The share of single factors and the number of separable terms by layer and depth (FR
    App. A.4, A.5).
    """
    measures = {"one_factor": "share of single factors, $F_A$", "terms": "terms of the kernel"}
    return _rows(results, measures, {name: tuple(REFERENCES) for name in measures})


def distortion(results: xr.Dataset) -> plt.Figure:
    """How the last hidden layer stretches the hold-out, against depth, every seed a point."""
    kinds = [kind for kind in KINDS if models(results, *kind)]
    if not kinds:
        return nothing("CNN and no MLP")
    fig, axes = plt.subplots(
        2, len(kinds), figsize=(2.2 * len(kinds) + 0.6, 4.6), sharey="row", squeeze=False
    )
    for column, kind in enumerate(kinds):
        here = models(results, *kind)
        depth = [int(results["depth"].sel(model=m)) for m in here]
        for name, color, marker in (
            ("spread_in", PALETTE[3], "o"),
            ("spread_out", PALETTE[0], "s"),
        ):
            label = "hold-out" if name == "spread_in" else "around it"
            _points(
                axes[0, column], depth, [last(results, name, m) for m in here], color, marker, label
            )
        random = [median(last(results, "spread_in", m, "untrained")) for m in here]
        axes[0, column].plot(
            depth, random, color=RANDOM, ls=(0, (1, 1)), label="hold-out, random weights"
        )
        shift = [last(results, "volume_in", m) - last(results, "volume_out", m) for m in here]
        _points(axes[1, column], depth, shift, "0.15", "o", "")
        axes[1, column].axhline(0, color="0.6", lw=1)
        axes[0, column].set_title(KINDS[kind], fontsize=10)
        axes[1, column].set_xlabel("depth")
        for ax in axes[:, column]:
            ax.set_xticks(depth)
    axes[0, 0].set_ylabel("spread of log volume\n[decades, sd]")
    axes[1, 0].set_ylabel("log volume, hold-out\nless around it [decades]")
    axes[0, -1].legend(fontsize=8)
    return fig


def _points(
    ax: plt.Axes, x: list[int], values: list[np.ndarray], color: str, marker: str, label: str
) -> None:
    """Every seed a point, medians joined."""
    for at, one in zip(x, values, strict=True):
        ax.plot(np.full(len(one), at), one, marker, ms=3.5, color=color, alpha=0.5, mec="none")
    ax.plot(x, [median(one) for one in values], color=color, lw=1.5, label=label)


def errors(results: xr.Dataset) -> plt.Figure:
    """Training, ID test and OOD error against depth, every seed a point; the dotted line is a blank
    image.
    """
    kinds = [kind for kind in KINDS if models(results, *kind)]
    if not kinds:
        return nothing("CNN and no MLP")
    fig, axes = plt.subplots(
        1, len(kinds), figsize=(2.2 * len(kinds) + 0.6, 3), sharey=True, squeeze=False
    )
    splits = (
        ("train", "training", PALETTE[0], "s"),
        ("id", "ID test", PALETTE[2], "^"),
        ("ood", "OOD", PALETTE[3], "o"),
    )
    for ax, kind in zip(axes.flat, kinds, strict=True):
        here = models(results, *kind)
        depth = [int(results["depth"].sel(model=m)) for m in here]
        for split, label, color, marker in splits:
            _points(ax, depth, [mse(results, split, m) for m in here], color, marker, label)
        ax.axhline(
            float(results["blank_ood"].median()),
            color="0.3",
            ls=":",
            lw=1.2,
            label="blank image, OOD",
        )
        ax.set(yscale="log", xlabel="depth", xticks=depth)
        ax.set_title(KINDS[kind], fontsize=10)
    axes[0, 0].set_ylabel("mean squared error")
    axes[0, -1].legend(fontsize=8)
    return fig


def against_failure(results: xr.Dataset) -> plt.Figure:
    """F of the last hidden layer, and terms of the output, against OOD error; every seed a
    point.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9.4, 4.4), sharey=True)
    blank = float(results["blank_ood"].median())
    for group, marker in (("cnn", "s"), ("mlp", "D"), ("vn", "o"), ("reference", "*")):
        for index, model in enumerate(models(results, group)):
            ood = mse(results, "ood", model)
            if model == "table":  # which draws no bumps
                continue
            drawn = median(mse(results, "train", model)) <= 0.5 * float(
                results["blank_id"].median()
            )
            layers, terms = path(results, "terms", model)
            xs = (last(results, "F", model), terms[layers.index("output")])
            for ax, x in zip(axes, xs, strict=True):
                ax.scatter(
                    x,
                    np.maximum(ood, 1e-15),
                    s=60 if group == "reference" else 26,
                    marker=marker,
                    lw=0.9,
                    edgecolor=MARK[group],
                    color=MARK[group] if drawn else "none",
                    alpha=0.85,
                    label=group.upper() if index == 0 and group != "reference" else None,
                )
                if group in ("reference", "vn"):
                    side = -1 if ax is axes[0] else 1  # where there is room for a name
                    up = {"perfect": -7, "vn_flat": 9, "crosses": 5}.get(model, 0)
                    at = (float(median(x)), max(1e-15, float(median(ood))))
                    name = str(results["label"].sel(model=model).item())
                    ax.annotate(
                        name,
                        at,
                        xytext=(7 * side, up),
                        fontsize=8,
                        va="center",
                        ha="right" if side < 0 else "left",
                        textcoords="offset points",
                    )
    for ax in axes:
        ax.axhline(blank, color="0.3", ls=":", lw=1.2, label="blank image")
        ax.set_yscale("log")
    axes[0].set(
        xlabel="factorisation F of the last hidden layer", ylabel="OOD error (mean squared error)"
    )
    axes[1].set(
        xlabel="terms of the output's kernel",
        xscale="log",
        xticks=[1, 2, 3, 5, 8],
        xticklabels="12358",
    )
    axes[1].minorticks_off()
    axes[0].legend(fontsize=8, loc="lower left")
    return fig


def vector_network(results: xr.Dataset) -> plt.Figure:
    """All measures along the layers of the Vector Networks, medians over seeds and every seed a
    point.
    """
    measures = {
        "F": "factorisation F",
        "probe_ood": "probe, hold-out [$R^2$]",
        "spread_in": "spread in the hold-out",
        "one_factor": "$F_A$",
        "terms": "terms of the kernel",
    }
    here = models(results, "vn")
    if not here:
        return nothing("Vector Network")
    fig, axes = plt.subplots(2, 3, figsize=(9.2, 5.8))
    names = ("input", "layer1", "layer2", "layer3", "factors", "output")
    for ax, (name, label) in zip(axes.flat, measures.items(), strict=False):
        for index, model in enumerate(here):
            layers, values = path(results, name, model)
            x = np.array([names.index(layer) for layer in layers]) + 0.08 * (index - len(here) / 2)
            color = PALETTE[index]
            ax.plot(x, values, ".", ms=3, color=color, alpha=0.6)
            ax.plot(
                x,
                median(values, 1),
                color=color,
                lw=1.4,
                marker="osD^v"[index % 5],
                ms=4,
                label=str(results["label"].sel(model=model).item()),
            )
        _reference_lines(results, ax, name, ("perfect",))
        ax.set_xticks(range(len(names)), ["input", "1", "2", "3", "factors", "image"], rotation=45)
        ax.set_title(label, fontsize=9.5)
    axes[0, 1].set_ylim(max(-1.05, axes[0, 1].get_ylim()[0]), 1.05)
    axes[1, 2].set_axis_off()
    axes[1, 2].legend(*axes[0, 0].get_legend_handles_labels(), loc="center", fontsize=9)
    return fig
