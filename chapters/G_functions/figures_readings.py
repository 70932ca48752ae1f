"""Figures of Vector Networks of signals: readings, rounds, the limit, sparsity (VN App. G.4), of
`studies.readings`.

Dims: model, seed, set, mask, reading (first, top), solver (rounds, limit), layer, round, factor,
rule; coordinates label(model), depth(model). Errors are mean squares in units of the mean power of
training signals.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from chapters.G_functions.figures import MASKS, SETS, log_axis
from vnlib.plots.rows import absent, label
from vnlib.plots.style import PALETTE

DEPTHS = {1: PALETTE[9], 3: PALETTE[0], 5: PALETTE[4]}
UNTRAINED = PALETTE[7]
FOLLOWED = ("vn_untrained", "vn_1", "vn_3", "vn_5")
TOLERANCE = 1e-3  # what the rule of VN-G4 takes for a fit
ROUNDS = (1, 2, 5, 10, 20, 40, 80)


def color(r: xr.Dataset, model: str) -> str:
    return UNTRAINED if model == "vn_untrained" else DEPTHS[int(r["depth"].sel(model=model))]


def names(r: xr.Dataset, wanted: Sequence[str] | None = None) -> list[str]:
    """The models of the results, in the chapter's order or in that of `wanted`."""
    there = list(r["model"].values.astype(str))
    return there if wanted is None else [m for m in wanted if m in there]


def _points(
    ax: plt.Axes, values: xr.DataArray, y: float, shade: str, *, filled: bool = True
) -> None:
    values = values.values[np.isfinite(values.values)]
    if len(values):
        ax.scatter(values, np.full(len(values), y), s=9, color=shade, alpha=0.4, lw=0)
        ax.scatter(values.mean(), y, s=34, color=shade if filled else "white", edgecolor=shade)


def _label_rows(ax: plt.Axes, r: xr.Dataset, models: Sequence[str]) -> None:
    ax.set(yticks=range(len(models)), ylim=(len(models) - 0.5, -0.5))
    ax.set_yticklabels([label(r, m) for m in models], fontsize=8.5)


def both_readings(r: xr.Dataset) -> plt.Figure:
    """Reconstruction error of every network, read from the first code (filled) and strictly from
    the top (hollow).
    """
    models = names(r)
    fig, axes = plt.subplots(1, 3, figsize=(10, 1.2 + 0.3 * len(models)), sharey=True)
    for ax, (s, title) in zip(axes, SETS.items(), strict=True):
        for y, m in enumerate(models):
            for reading, filled in (("first", True), ("top", False)):
                values = r["mse"].sel(model=m, set=s, reading=reading)
                _points(ax, values, y, color(r, m), filled=filled)
        ax.axvline(
            float(r["blank"].isel(model=0, seed=0).sel(set=s)),
            color="k",
            ls=":",
            lw=1.2,
            label="zero prediction",
        )
        ax.set(xscale="log", title=title)
        log_axis(ax.xaxis)
        ax.grid(axis="y", lw=0.4, alpha=0.5)
    _label_rows(axes[0], r, models)
    fig.supxlabel("mean squared error [ID power]", fontsize=10)
    _reading_legend(fig, axes[0])
    return fig


def _reading_legend(fig: plt.Figure, ax: plt.Axes) -> None:
    marks = [
        plt.Line2D([], [], ls="", marker="o", mec="0.3", mfc=fill, label=said)
        for said, fill in (("first code, V₁a₁", "0.3"), ("strictly from the top code", "white"))
    ]
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    fig.legend(handles=[*marks, *lines], loc="outside upper center", ncols=4, fontsize=8.5)


# the line of an interface rule; the subspace rule is solid
RULES = {"frozen": "--", "literal": ":", "isometry": "-."}


def layers(r: xr.Dataset, s: str = "id") -> plt.Figure:
    """What each layer does: atoms in use, share of its input explained, r.m.s. norm of what it
    reads.
    """
    models = [m for m in names(r) if int(r["depth"].sel(model=m)) > 1]
    if not models:
        return absent("No deep network was asked for.")
    titles = {
        "active": "atoms in use per signal",
        "explained": "share of the input explained",
        "message": "norm of the input",
    }
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.1))
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        for m in models:
            values = r[name].sel(model=m, set=s).transpose("layer", "seed")
            ax.plot(
                r["layer"],
                values.mean("seed"),
                color=color(r, m),
                ls=RULES.get(m.rpartition("_")[2], "-"),
                marker="o",
                ms=4,
                label=label(r, m),
            )
            ax.scatter(
                np.repeat(r["layer"].values, values.sizes["seed"]),
                values.values.ravel(),
                s=8,
                alpha=0.4,
                color=color(r, m),
                lw=0,
            )
        ax.set(title=title, xlabel="layer", xticks=r["layer"].values)
    axes[0].set(yscale="log")
    log_axis(axes[0].yaxis)
    axes[1].set_ylim(top=1.02)
    fig.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8.5
    )
    return fig


def masked_readings(r: xr.Dataset, s: str = "hard", solver: str = "limit") -> plt.Figure:
    """Error on hidden samples by mask, read from the first code and strictly from the top; lines:
    no model at all.
    """
    models = names(r)
    fig, axes = plt.subplots(1, 4, figsize=(11.5, 1.3 + 0.3 * len(models)), sharey=True)
    for ax, (mask, title) in zip(axes, MASKS.items(), strict=True):
        for y, m in enumerate(models):
            for reading, filled in (("first", True), ("top", False)):
                values = r["hidden"].sel(model=m, set=s, mask=mask, solver=solver, reading=reading)
                _points(ax, values, y, color(r, m), filled=filled)
        _rule_lines(ax, r, mask, s, vertical=True)
        ax.set(xscale="log")
        log_axis(ax.xaxis)
        ax.set_title(title, fontsize=9.5)
        ax.grid(axis="y", lw=0.4, alpha=0.5)
    _label_rows(axes[0], r, models)
    fig.supxlabel("mean squared error on hidden samples [ID power]", fontsize=10)
    _reading_legend(fig, axes[-1])
    return fig


def _rule_lines(ax: plt.Axes, r: xr.Dataset, mask: str, s: str, *, vertical: bool = False) -> None:
    """The zero prediction dotted, last value held dashed, linear interpolation (where it differs)
    dash-dotted.
    """
    rules = {"zeros": ("zero prediction", ":", 1.2), "hold_last": ("last value held", "--", 0.9)}
    if not mask.startswith("forecast"):
        rules["interpolate"] = ("linear interpolation", "-.", 0.9)
    for rule, (said, style, width) in rules.items():
        at = float(r["hidden_rule"].isel(model=0, seed=0).sel(rule=rule, mask=mask, set=s))
        (ax.axvline if vertical else ax.axhline)(at, color="k", ls=style, lw=width, label=said)


def rounds(r: xr.Dataset) -> plt.Figure:
    """Error on hidden samples against the number of rounds J, and at the limit; rows masks, columns
    sets.
    """
    models = names(r, FOLLOWED)
    masks = (
        [m for m in MASKS if bool(np.isfinite(r["curve_hidden"].sel(mask=m)).any())]
        if "curve_hidden" in r
        else []
    )
    if not models or not masks:
        return absent("No network whose rounds are followed was asked for.")
    fig, axes = plt.subplots(
        len(masks), 3, figsize=(10.5, 0.6 + 2.6 * len(masks)), sharex=True, squeeze=False
    )
    for row, mask in zip(axes, masks, strict=True):
        for ax, (s, title) in zip(row, SETS.items(), strict=True):
            for m in models:
                one = r.sel(model=m, mask=mask, set=s)
                values = one["curve_hidden"].transpose("seed", "round")
                end = 2.0 * float(r["round"].max())
                for seed in values.values:
                    ax.plot(r["round"], seed, color=color(r, m), lw=0.5, alpha=0.4)
                ax.plot(
                    r["round"], values.mean("seed"), color=color(r, m), lw=1.8, label=label(r, m)
                )
                ax.scatter(
                    np.full(one.sizes["seed"], end),
                    one["limit_hidden"],
                    s=9,
                    color=color(r, m),
                    alpha=0.4,
                    lw=0,
                )
                ax.scatter(end, one["limit_hidden"].mean(), s=40, marker="D", color=color(r, m))
            _rule_lines(ax, r, mask, s)
            steps = [j for j in ROUNDS if j <= int(r["round"].max())]
            ax.set(xscale="log", title=f"{title}, {MASKS[mask]}")
            ax.set_xticks([*steps, end], [*map(str, steps), "limit"], fontsize=8)
            ax.minorticks_off()
        row[0].set_ylabel("error on hidden samples\n[ID power]", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("rounds J")
    fig.legend(
        *axes[-1, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8.5
    )
    return fig


def convergence(r: xr.Dataset, s: str = "id") -> plt.Figure:
    """Round by round: the objective's distance to its minimum, change of the signal, residual where
    observed.
    """
    models = names(r, FOLLOWED)
    masks = (
        [m for m in MASKS if bool(np.isfinite(r["curve_gap"].sel(mask=m)).any())]
        if "curve_gap" in r
        else []
    )
    if not models or not masks:
        return absent("No network whose rounds are followed was asked for.")
    titles = {
        "gap": "objective: (F − F*) / F*",
        "step": "change of the signal in a round, r.m.s.",
        "rms": "residual on observed samples, r.m.s.",
        "largest": "residual on observed samples, largest",
    }
    fig, axes = plt.subplots(1, 4, figsize=(12.5, 3.4))
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        for m in models:
            for mask, style in zip(masks, ("-", "--"), strict=False):
                values = (
                    r[f"curve_{name}"].sel(model=m, mask=mask, set=s).transpose("seed", "round")
                )
                ax.plot(
                    r["round"],
                    values.mean("seed").clip(1e-8),
                    color=color(r, m),
                    ls=style,
                    lw=1.6,
                    label=f"{label(r, m)}, {MASKS[mask]}",
                )
                for seed in values.values:
                    ax.plot(
                        r["round"],
                        np.maximum(seed, 1e-8),
                        color=color(r, m),
                        ls=style,
                        lw=0.4,
                        alpha=0.4,
                    )
        ax.set(xscale="log", yscale="log", xlabel="rounds J")
        ax.set_title(title, fontsize=9)
        steps = [j for j in ROUNDS if j <= int(r["round"].max())]
        ax.set_xticks(steps, [str(j) for j in steps], fontsize=8)
        ax.minorticks_off()
    for ax in axes[2:]:
        ax.set_ylim(1e-4, 10)
        ax.axhline(1, color="k", ls=":", lw=1)
        ax.axhline(TOLERANCE, color="k", ls="--", lw=0.9)
    fig.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=7.5
    )
    return fig


def trade_off(r: xr.Dataset, s: str = "hard") -> plt.Figure:
    """Reconstruction error against error on hidden samples as lambda changes in inference; one
    panel per mask.
    """
    models = names(r, ("vn_1", "vn_untrained"))
    if not models or "sweep_mse" not in r:
        return absent("No network whose sparsity is varied was asked for.")
    fig, axes = plt.subplots(1, 4, figsize=(12, 3.5), sharey=False)
    for ax, (mask, title) in zip(axes, MASKS.items(), strict=True):
        for m in models:
            for solver, style, fill in (("rounds", "-", True), ("limit", "--", False)):
                one = r.sel(model=m, set=s)
                x, y = one["sweep_mse"], one["sweep_hidden"].sel(mask=mask, solver=solver)
                said = f"{label(r, m)}, {'J rounds' if fill else 'limit'}"
                ax.plot(
                    x.mean("seed"),
                    y.mean("seed"),
                    color=color(r, m),
                    ls=style,
                    marker="o",
                    ms=5,
                    mfc=color(r, m) if fill else "white",
                    label=said,
                )
                ax.scatter(
                    x.values.ravel(),
                    y.transpose(*x.dims).values.ravel(),
                    s=7,
                    color=color(r, m),
                    alpha=0.35,
                    lw=0,
                )
        for factor in r["factor"].values:
            one = r.sel(model=models[0], set=s, factor=factor)
            at = (
                float(one["sweep_mse"].mean()),
                float(one["sweep_hidden"].sel(mask=mask, solver="rounds").mean()),
            )
            ax.annotate(f"×{factor:g}", at, xytext=(3, 4), textcoords="offset points", fontsize=7)
        _rule_lines(ax, r, mask, s)
        ax.set(xscale="log")
        log_axis(ax.xaxis)
        if mask == "random_30":
            ax.set(yscale="log")
        ax.set_title(title, fontsize=9.5)
    axes[0].set_ylabel("error on hidden samples [ID power]", fontsize=9)
    fig.supxlabel("reconstruction error of whole signals [ID power]", fontsize=10)
    fig.legend(
        *axes[-1].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8
    )
    return fig


def learned(r: xr.Dataset, s: str = "hard") -> plt.Figure:
    """Inference or learning: error of trained and untrained atoms, J rounds (filled) and limit
    (hollow).
    """
    models = names(r, FOLLOWED)
    if not models:
        return absent("None of these networks was asked for.")
    fig, axes = plt.subplots(1, 4, figsize=(11.5, 2.6), sharey=True)
    for ax, (mask, title) in zip(axes, MASKS.items(), strict=True):
        for y, m in enumerate(models):
            for solver, filled in (("rounds", True), ("limit", False)):
                values = r["hidden"].sel(model=m, set=s, mask=mask, reading="first", solver=solver)
                _points(ax, values, y, color(r, m), filled=filled)
        _rule_lines(ax, r, mask, s, vertical=True)
        ax.set(xscale="log")
        log_axis(ax.xaxis)
        ax.set_title(title, fontsize=9.5)
        ax.grid(axis="y", lw=0.4, alpha=0.5)
    _label_rows(axes[0], r, models)
    fig.supxlabel("mean squared error on hidden samples [ID power]", fontsize=10)
    marks = [
        plt.Line2D([], [], ls="", marker="o", mec="0.3", mfc=fill, label=said)
        for said, fill in (("J rounds", "0.3"), ("limit (Eq. 39)", "white"))
    ]
    lines = [line for line in axes[-1].get_lines() if not line.get_label().startswith("_")]
    fig.legend(handles=[*marks, *lines], loc="outside upper center", ncols=5, fontsize=8.5)
    return fig
