"""Figures of the geometry of a decoder's layers (FR Figs. 2 and 5), from the dataset of
`study.results`. `figures_maps` draws what has a place for every position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import xarray as xr
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from benchmarks.baselines.figures import looks, of_groups
from benchmarks.spatial.figures import along_training
from chapters.FR2_manifold.claims import (
    at,
    before_training,
    have_learned,
    hidden,
    layers_of,
    middle,
)
from vnlib.plots.frames import empty, in_groups, label, long_frame
from vnlib.plots.style import PALETTE, look

KINDS = {
    ("cnn", "bump"): "CNN, bump code",
    ("cnn", "ramp"): "CNN, ramp code",
    ("mlp", "bump"): "MLP, bump code",
    ("mlp", "ramp"): "MLP, ramp code",
}
REFERENCES = {
    "perfect": ("perfect images", "-"),
    "crosses": ("column plus row", "--"),
    "table": ("table", ":"),
}
RANDOM = {"color": "0.6", "lw": 1.2, "ls": (0, (1, 1))}
SPREADS = {"spread_in": "hold-out", "spread_out": "around it"}
SPLITS = {"train": "training", "id": "ID test", "ood": "OOD"}
GROUPS = {"cnn": "CNN", "mlp": "MLP", "longer": "trained longer", "vn": "Vector Network"}
NONE = "These results hold no CNN and no MLP."


def of_kind(results: xr.Dataset, group: str, encoding: str) -> list[str]:
    """The models of a group with one code, shallowest first."""
    found = [m for m in in_groups(results, group) if results["encoding"].sel(model=m) == encoding]
    return sorted(found, key=lambda m: int(results["depth"].sel(model=m)))


def kinds(results: xr.Dataset) -> dict[str, list[str]]:
    """Name of a kind of network -> its models."""
    found = {name: of_kind(results, *kind) for kind, name in KINDS.items()}
    return {name: models for name, models in found.items() if models}


def by_layer(
    results: xr.Dataset, name: str, models: Sequence[str], weights: str = "trained"
) -> pd.DataFrame:
    """A measure of the models' layers: `value`, and `step`, the number of the layer."""
    parts = []
    for model in models:
        layers = layers_of(results, model)
        values = results[name].sel(model=model, weights=weights, layer=layers)
        parts.append(long_frame(values).assign(step=lambda f, n=layers: f["layer"].map(n.index)))
    return pd.concat(parts)


def _seeds_and_medians(ax: plt.Axes, frame: pd.DataFrame, x: str, **looks: object) -> None:
    """Every seed a point, medians joined."""
    sns.scatterplot(frame, x=x, y="value", s=14, lw=0, alpha=0.5, ax=ax, legend=False, **looks)
    keys = [x, *([looks["hue"]] if "hue" in looks else [])]
    sns.lineplot(
        frame.groupby(keys, sort=False)["value"].median().reset_index(),
        x=x,
        y="value",
        estimator=None,  # which calls pandas for every point
        lw=1.4,
        dashes=False,
        ax=ax,
        legend=True,
        **looks,
    )


def _references(
    results: xr.Dataset, ax: plt.Axes, name: str, wanted: Sequence[str] = ("perfect",)
) -> None:
    for key in (key for key in wanted if key in results["model"].values):
        value = float(middle(results[[name, "units"]], "output")[name].sel(model=key))
        ax.axhline(value, color="0.2", lw=1, ls=REFERENCES[key][1], zorder=1)


def _columns(results: xr.Dataset, rows: int, height: float) -> tuple[plt.Figure, np.ndarray]:
    """A column of panels for each kind of network, its name on top."""
    found = kinds(results)
    size = (2.2 * len(found) + 0.6, height)
    fig, axes = plt.subplots(rows, len(found), figsize=size, sharey="row", squeeze=False)
    for ax, name in zip(axes[0], found, strict=True):
        ax.set_title(name, fontsize=10)
    return fig, axes


def _by_depth(
    results: xr.Dataset, measures: Mapping[str, str], wanted: Sequence[str] = ("perfect",)
) -> plt.Figure:
    """One row per measure, one column per kind of network, one line per depth."""
    if not kinds(results):
        return empty(NONE)
    ends = middle(results[[*measures, "units"]], "output")
    fig, axes = _columns(results, len(measures), 2.15 * len(measures) + 0.7)
    for column, models in zip(axes.T, kinds(results).values(), strict=True):
        depths = [int(results["depth"].sel(model=m)) for m in models]
        colors = sns.color_palette("viridis", as_cmap=True)(np.linspace(0, 0.85, len(models)))
        palette = dict(zip(depths, map(tuple, colors), strict=True))
        for ax, (name, text) in zip(column, measures.items(), strict=True):
            frame = by_layer(results, name, models).astype({"depth": int})
            _seeds_and_medians(ax, frame, "step", hue="depth", palette=palette)
            for model, color in zip(models, colors, strict=True):
                step, end = len(layers_of(results, model)) - 1, float(ends[name].sel(model=model))
                ax.plot(step, end, "s", ms=5, mfc="white", mec=color, zorder=3)
            random = by_layer(results, name, models[-1:], "untrained").groupby("step")["value"]
            ax.plot(random.median(), **RANDOM)
            _references(results, ax, name, wanted)
            ax.set(xlabel="", ylabel=text)
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.get_legend().remove()
        column[-1].set_xlabel("layer (0: input)")
        column[1].legend(title="depth", fontsize=8, title_fontsize=8, ncols=2, handlelength=1)
    names = (REFERENCES[key] for key in wanted)
    handles = [Line2D([], [], color="0.2", lw=1, ls=s, label=f"{n}, output") for n, s in names]
    handles += [Line2D([], [], **RANDOM, label="random weights, deepest")]
    handles += [Line2D([], [], color="0.3", marker="s", mfc="white", ls="", label="output")]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def metrics(results: xr.Dataset) -> plt.Figure:
    """Factorisation and probes by layer and depth (FR Fig. 2a-d)."""
    measures = {
        "F": "factorisation F",
        "probe": "probe, whole grid [$R^2$]",
        "probe_ood": "probe, hold-out [$R^2$]",
    }
    fig = _by_depth(results, measures)
    for ax in fig.axes[-len(fig.axes) // 3 :]:
        ax.set_ylim(max(-1.05, ax.get_ylim()[0]), 1.05)
    return fig


def rank(results: xr.Dataset) -> plt.Figure:
    """The share of single factors and the number of separable terms by layer and depth (FR App.
    A.4, A.5).
    """
    measures = {"one_factor": "share of single factors, $F_A$", "terms": "terms of the kernel"}
    return _by_depth(results, measures, tuple(REFERENCES))


def distortion(results: xr.Dataset) -> plt.Figure:
    """How the last hidden layer stretches the hold-out, against depth, every seed a point."""
    if not kinds(results):
        return empty(NONE)
    fig, axes = _columns(results, 2, 4.6)
    palette = dict(zip(SPREADS.values(), (PALETTE[3], PALETTE[0]), strict=True))
    untrained = before_training(results)[["spread_in", "units"]]
    start = middle(untrained, "last", "untrained")["spread_in"]
    for (top, bottom), models in zip(axes.T, kinds(results).values(), strict=True):
        last = at(results, "last").sel(model=models)
        spreads = [long_frame(last[n]).assign(of=t) for n, t in SPREADS.items()]
        _seeds_and_medians(top, pd.concat(spreads), "depth", hue="of", palette=palette)
        depths = results["depth"].sel(model=models).values
        top.plot(depths, start.sel(model=models), **RANDOM, label="hold-out, random weights")
        shift = long_frame(last["volume_in"] - last["volume_out"])
        _seeds_and_medians(bottom, shift, "depth", color="0.15")
        bottom.axhline(0, color="0.6", lw=1)
        top.set(xlabel="", ylabel="spread of log volume\n[decades, sd]", xticks=depths)
        bottom.set(ylabel="log volume, hold-out\nless around it [decades]", xticks=depths)
        handles, labels = top.get_legend_handles_labels()
        top.get_legend().remove()
    axes[0, -1].legend(handles, labels, fontsize=8)
    return fig


def errors(results: xr.Dataset) -> plt.Figure:
    """Training, ID test and OOD error against depth, every seed a point; the dotted line is a zero
    image.
    """
    if not kinds(results):
        return empty(NONE)
    fig, axes = _columns(results, 1, 3)
    palette = dict(zip(SPLITS.values(), (PALETTE[0], PALETTE[2], PALETTE[3]), strict=True))
    zero = float(results["zero_baseline_ood"].median())
    for ax, models in zip(axes[0], kinds(results).values(), strict=True):
        values = [results[f"mse_{s}"].sel(model=models, weights="trained") for s in SPLITS]
        parts = zip(values, SPLITS.values(), strict=True)
        frame = pd.concat([long_frame(v).assign(split=text) for v, text in parts])
        _seeds_and_medians(ax, frame, "depth", hue="split", palette=palette)
        ax.axhline(zero, color="0.3", ls=":", lw=1.2, label="zero baseline, OOD")
        ax.set(ylabel="mean squared error", xticks=results["depth"].sel(model=models).values)
        handles, labels = ax.get_legend_handles_labels()
        ax.get_legend().remove()
    axes[0, 0].set_yscale("log")  # last, since seaborn would take medians of logarithms
    axes[0, -1].legend(handles, labels, fontsize=8)
    return fig


def along(results: xr.Dataset) -> plt.Figure:
    """ID validation and OOD error along training, a panel for each kind of network and one for
    those trained longer, a colour for each depth.
    """
    found = kinds(results)
    longer = in_groups(results, "longer")
    found |= {"trained longer": longer} if longer else {}
    if not found:
        return empty(NONE)
    columns = min(len(found), 3)
    rows = -(-len(found) // columns)
    size = (3 * columns + 0.6, 3.1 * rows + 0.4)
    fig, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, sharey=True)
    for ax in axes.flat[len(found) :]:
        ax.set_axis_off()
    for ax, (kind, models) in zip(axes.flat, found.items(), strict=False):
        colors = sns.color_palette("viridis", as_cmap=True)(np.linspace(0, 0.85, len(models)))
        for model, color in zip(models, colors, strict=True):
            name = f"depth {int(results['depth'].sel(model=model))}"
            if models is longer:
                name = label(results, model)
                color, _ = look(name)
            runs = results[["curve_step", "curve_val", "curve_ood"]].sel(model=model)
            along_training(ax, runs.dropna("seed", how="all"), color=color, name=name)
        ax.axhline(float(results["zero_baseline_ood"].median()), color="0.3", ls=":", lw=1.2)
        ax.set_title(kind, fontsize=10)
        ax.set_ylabel("mean squared error" if ax in axes[:, 0] else "")
    if longer:  # its lines have names of their own, for which there may be room beside it
        room = next(iter(axes.flat[len(found) :]), ax)
        room.legend(*ax.get_legend_handles_labels(), fontsize=8, loc="center left")
    if len(found) > bool(longer):
        handles = axes[0, 0].get_legend_handles_labels()
        fig.legend(*handles, fontsize=9, loc="outside lower center", ncols=6)
    return fig


def against_failure(results: xr.Dataset) -> plt.Figure:
    """F of the last hidden layer, and terms of the output, against OOD error; every seed a
    point.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9.4, 4.4), sharey=True)
    models = [m for m in in_groups(results) if m != "table"]  # which draws no bumps
    named = in_groups(results, "reference", "vn")
    drawn = [*have_learned(results, models), *in_groups(results, "reference")]
    for model, (color, marker) in looks(results, models).items():
        group = str(results["group"].sel(model=model).item())
        one = results.sel(model=model, weights="trained")
        ood = one["mse_ood"].clip(1e-15)
        last = hidden(results, model)[-1] if hidden(results, model) else "output"
        measures = (one["F"].sel(layer=last), one["terms"].sel(layer="output"))
        for ax, x in zip(axes, measures, strict=True):
            ax.scatter(
                x,
                ood,
                s=60 if group == "reference" else 26,
                marker=marker,
                lw=0.9,
                edgecolor=color,
                color=color if model in drawn else "none",
                alpha=0.85,
            )
            if model in named:
                side = -1 if ax is axes[0] else 1  # where there is room for a name
                up = {"perfect": -7, "vn_flat": 9, "crosses": 5}.get(model, 0)
                ax.annotate(
                    label(results, model),
                    (float(x.median()), float(ood.median())),
                    xytext=(7 * side, up),
                    textcoords="offset points",
                    fontsize=8,
                    va="center",
                    ha="right" if side < 0 else "left",
                )
    for ax in axes:
        zero = float(results["zero_baseline_ood"].median())
        line = ax.axhline(zero, color="0.3", ls=":", lw=1.2, label="zero baseline")
        ax.set_yscale("log")
    axes[0].set(xlabel="factorisation F of the last hidden layer")
    axes[0].set(ylabel="OOD error (mean squared error)")
    axes[1].set(xlabel="terms of the output's kernel", xscale="log")
    axes[1].set(xticks=(ticks := [1, 2, 5, 10, 20, 40]), xticklabels=ticks)
    axes[1].minorticks_off()
    handles = [*of_groups(results, models, GROUPS), line]
    axes[0].legend(handles=handles, fontsize=8, loc="lower left")
    return fig


def vector_network(results: xr.Dataset) -> plt.Figure:
    """All measures along the layers of the Vector Networks, medians over seeds and every seed a
    point.
    """
    measures = {
        "F": "factorisation F",
        "probe_ood": "probe, hold-out [$R^2$]",
        "spread_in": "spread in the hold-out",
        "one_factor": "share of single factors",
        "terms": "terms of the kernel",
    }
    models = sorted(in_groups(results, "vn"))
    if not models:
        return empty("These results hold no Vector Network.")
    fig, axes = plt.subplots(2, 3, figsize=(9.2, 5.8))
    stages = ["input", "layer1", "layer2", "layer3", "factors", "output"]
    names = [label(results, m) for m in models]
    given = {"hue": "label", "style": "label", "palette": {name: look(name)[0] for name in names}}
    given["markers"] = {name: look(name)[1] for name in names}
    for ax, (name, text) in zip(axes.flat, measures.items(), strict=False):
        frame = by_layer(results, name, models)
        shift = frame["model"].map(models.index) - len(models) / 2
        frame["place"] = frame["layer"].map(stages.index) + 0.08 * shift
        _seeds_and_medians(ax, frame, "place", **given)
        _references(results, ax, name)
        ticks = ["input", "1", "2", "3", "factors", "image"]
        ax.set_xticks(range(len(stages)), ticks, rotation=45)
        ax.set(xlabel="", ylabel="")
        ax.set_title(text, fontsize=9.5)
        handles, labels = ax.get_legend_handles_labels()
        ax.get_legend().remove()
    axes[0, 1].set_ylim(max(-1.05, axes[0, 1].get_ylim()[0]), 1.05)
    axes[1, 2].set_axis_off()
    axes[1, 2].legend(handles, labels, loc="center", fontsize=9)
    return fig
