"""Vector Networks of signals: readings, rounds, the limit, sparsity (VN App. G.4).

Results are those of this chapter, with the coordinates `label` and `depth` of the model. Points are
seeds, bars and thick lines medians; lines without points are errors without any model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import seaborn as sns
import xarray as xr

from benchmarks.baselines.figures import between_groups, seeds_and_medians
from benchmarks.functions.figures import log_axis
from benchmarks.functions.names import MASKS, SETS
from benchmarks.functions.tables import UNIT, present
from vnlib.plots import frames
from vnlib.plots.statistics import median
from vnlib.plots.style import look

FOLLOWED = ("vn_untrained", "vn_1", "vn_3", "vn_5")
TOLERANCE = 1e-3  # what the rule of VN-G4 takes for a fit
ROUNDS = (1, 2, 5, 10, 20, 40, 80)
LINES = {
    "zero_baseline": ("Zero baseline", ":"),
    "hold_last": ("Last value held", "--"),
    "interpolate": ("Linear interpolation", "-."),
}
READINGS = {"first": "first code, V₁a₁", "top": "strictly from the top code"}
# The line of an interface rule.
INTERFACES = {"subspace": "", "frozen": (4, 1.5), "literal": (1, 1), "isometry": (3, 1, 1, 1)}
SOLVERS = {"rounds": "J rounds", "limit": "limit"}


class Panel(NamedTuple):
    """One panel of rows: its title, the numbers drawn filled and hollow, and the lines across."""

    title: str
    filled: xr.DataArray
    hollow: xr.DataArray
    lines: Mapping[str, float]


def base(r: xr.Dataset, model: str) -> str:
    """What tells networks of one depth from others: VN-1L, VN-3L, VN-5L."""
    return frames.label(r, model).split(",")[0]


def color(r: xr.Dataset, model: str) -> str:
    """The colour of a network."""
    return look(frames.label(r, model))[0]


def deep(r: xr.Dataset) -> list[str]:
    """The networks of more than one layer."""
    return r["model"].values[r["depth"].values > 1].tolist()


def rules(r: xr.Dataset, mask: str, name: str) -> dict[str, float]:
    """Errors without a model; linear interpolation only where it is not the last value held."""
    lines = [one for one in LINES if one != "interpolate" or not mask.startswith("forecast")]
    first = r["hidden_rule"].isel(model=0, seed=0).sel(mask=mask, set=name)
    return {rule: float(first.sel(rule=rule)) for rule in lines}


def both_readings(r: xr.Dataset) -> plt.Figure:
    """Reconstruction error of every network, from the first code and strictly from the top."""
    zero = r["zero_baseline"].isel(model=0, seed=0)
    panels = [
        Panel(
            title,
            *(r["mse"].sel(set=name, reading=one) for one in READINGS),
            {"zero_baseline": float(zero.sel(set=name))},
        )
        for name, title in SETS.items()
    ]
    said = f"mean squared error of whole signals [{UNIT}]"
    return _rows(r, r["model"].values.tolist(), panels, list(READINGS.values()), said)


def masked_readings(r: xr.Dataset, name: str = "hard") -> plt.Figure:
    """The same on hidden samples, at the minimum of the masked problem."""
    cells = r["hidden"].sel(set=name, solver="limit")
    panels = [
        Panel(
            title,
            *(cells.sel(mask=mask, reading=one) for one in READINGS),
            rules(r, mask, name),
        )
        for mask, title in MASKS.items()
    ]
    said = f"mean squared error on hidden samples ({SETS[name]}) [{UNIT}]"
    return _rows(r, r["model"].values.tolist(), panels, list(READINGS.values()), said)


def learned(r: xr.Dataset, name: str = "hard") -> plt.Figure:
    """Inference or learning: errors of learned and other atoms, after the rounds and at the
    limit.
    """
    cells = r["hidden"].sel(set=name, reading="first")
    panels = [
        Panel(
            title,
            *(cells.sel(mask=mask, solver=one) for one in SOLVERS),
            rules(r, mask, name),
        )
        for mask, title in MASKS.items()
    ]
    said = f"mean squared error on hidden samples ({SETS[name]}) [{UNIT}]"
    return _rows(r, present(r, FOLLOWED), panels, list(SOLVERS.values()), said)


def _rows(
    r: xr.Dataset,
    models: Sequence[str],
    panels: Sequence[Panel],
    marks: Sequence[str],
    said: str,
) -> plt.Figure:
    """Networks as rows, two conditions in each; marks: what filled and hollow points are."""
    if not models:
        return frames.empty("None of these networks was asked for.")
    order = [frames.label(r, m) for m in models]
    kinds = [base(r, m) for m in models]
    size = (11, 1.5 + 0.3 * len(models))
    fig, axes = plt.subplots(1, len(panels), figsize=size, sharey=True)
    for ax, panel in zip(axes, panels, strict=True):
        for values, hollow, shift in ((panel.filled, False, -0.16), (panel.hollow, True, 0.16)):
            frame = frames.long_frame(values.sel(model=models), "error")
            seeds_and_medians(
                ax,
                frame,
                value="error",
                by="label",
                order=order,
                hollow=hollow,
                shift=shift,
            )
        for rule, at in panel.lines.items():
            ax.axvline(at, color="k", ls=LINES[rule][1], lw=1.1, zorder=1)
        between_groups(ax, kinds, margin=0.5)
        ax.set(xscale="log", xlabel="")
        ax.set_title(panel.title, fontsize=9.5)
        ax.tick_params(axis="y", labelsize=8.5)
        log_axis(ax.xaxis)
    fig.supxlabel(said, fontsize=10)
    _legend(fig, marks, dict.fromkeys(rule for panel in panels for rule in panel.lines))
    return fig


def _legend(fig: plt.Figure, marks: Sequence[str], lines: Sequence[str]) -> None:
    handles = [
        plt.Line2D([], [], ls="", marker="o", mec="0.3", mfc=face, label=said)
        for said, face in zip(marks, ("0.3", "white"), strict=False)
    ]
    handles += [plt.Line2D([], [], color="k", ls=LINES[x][1], label=LINES[x][0]) for x in lines]
    fig.legend(handles=handles, loc="outside upper center", ncols=5, fontsize=8.5)


def layers(r: xr.Dataset, name: str = "id") -> plt.Figure:
    """What each layer does: atoms in use, share of its input explained, norm of what it reads."""
    models = deep(r)
    if not models:
        return frames.empty("No deep network was asked for.")
    titles = {
        "active": "atoms in use per signal",
        "explained": "share of the input explained",
        "message": "norm of the input",
    }
    palette = {frames.label(r, m): color(r, m) for m in models}
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.4))
    for ax, (variable, title) in zip(axes, titles.items(), strict=True):
        frame = frames.long_frame(r[variable].sel(model=models, set=name), "value")
        frame["rule"] = frame["label"].str.rpartition(", ")[2]
        given = {"x": "layer", "y": "value", "hue": "label", "palette": palette, "ax": ax}
        given |= {"legend": False}
        median_only = {"estimator": "median", "errorbar": None}
        sns.lineplot(frame, **given, style="rule", dashes=INTERFACES, **median_only)
        sns.scatterplot(frame, **given, s=12, alpha=0.5)
        ax.set(title=title, xlabel="layer", ylabel="", xticks=r["layer"].values)
    axes[0].set(yscale="log")
    log_axis(axes[0].yaxis)
    axes[1].set_ylim(top=1.02)
    handles = [
        plt.Line2D([], [], color=look(name)[0], label=name)
        for name in dict.fromkeys(base(r, m) for m in models)
    ]
    for rule, dash in INTERFACES.items():
        style = (0, dash) if dash else "-"
        handles.append(plt.Line2D([], [], color="0.3", ls=style, label=rule))
    fig.legend(handles=handles, loc="outside upper center", ncols=6, fontsize=8.5)
    return fig


def followed(r: xr.Dataset) -> tuple[list[str], list[str]]:
    """The networks and the masks that were followed round by round."""
    if "curve_hidden" not in r:
        return [], []
    known = r["curve_hidden"].notnull()
    return present(r, FOLLOWED), [m for m in MASKS if bool(known.sel(mask=m).any())]


def rounds(r: xr.Dataset) -> plt.Figure:
    """Error on hidden samples against the rounds J, and at the limit; rows masks, columns sets."""
    models, masks = followed(r)
    if not models or not masks:
        return frames.empty("No network whose rounds are followed was asked for.")
    palette = {frames.label(r, m): color(r, m) for m in models}
    last = int(r["round"].max())
    steps = [j for j in ROUNDS if j <= last]
    size = (10.5, 0.6 + 2.6 * len(masks))
    fig, axes = plt.subplots(len(masks), 3, figsize=size, sharex=True, squeeze=False)
    for row, mask in zip(axes, masks, strict=True):
        for ax, (name, title) in zip(row, SETS.items(), strict=True):
            one = r.sel(model=models, mask=mask, set=name)
            given = {"hue": "label", "palette": palette, "ax": ax, "legend": False}
            curve = frames.long_frame(one["curve_hidden"], "error")
            _seeds_and_median(curve, "round", "error", given)
            limit = frames.long_frame(one["limit_hidden"], "error").assign(at=2.0 * last)
            sns.scatterplot(limit, x="at", y="error", s=12, alpha=0.5, **given)
            middle = limit.groupby(["label", "at"], as_index=False)["error"].median()
            sns.scatterplot(middle, x="at", y="error", s=45, marker="D", **given)
            for rule, at in rules(r, mask, name).items():
                ax.axhline(at, color="k", ls=LINES[rule][1], lw=1.1)
            ax.set(xscale="log", title=f"{title}, {MASKS[mask]}", xlabel="", ylabel="")
            ax.set_xticks([*steps, 2.0 * last], [*map(str, steps), "limit"], fontsize=8)
            ax.minorticks_off()
        row[0].set_ylabel(f"error on hidden samples\n[{UNIT}]", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("rounds J")
    entries = [plt.Line2D([], [], color=c, label=text) for text, c in palette.items()]
    entries += [plt.Line2D([], [], color="k", ls=s, label=text) for text, s in LINES.values()]
    fig.legend(handles=entries, loc="outside upper center", ncols=4, fontsize=8.5)
    return fig


def _seeds_and_median(frame: object, x: str, y: str, look: Mapping[str, object]) -> None:
    """Thin lines for seeds, a thick one for their median."""
    sns.lineplot(frame, x=x, y=y, units="seed", estimator=None, lw=0.5, alpha=0.4, **look)
    sns.lineplot(frame, x=x, y=y, estimator="median", errorbar=None, lw=1.8, **look)


def convergence(r: xr.Dataset, name: str = "id") -> plt.Figure:
    """Round by round: the objective's distance to its minimum, change of the signal, residual where
    observed.
    """
    models, masks = followed(r)
    if not models or not masks:
        return frames.empty("No network whose rounds are followed was asked for.")
    titles = {
        "gap": "objective: (F − F*) / F*",
        "step": "change of the signal in a round, r.m.s.",
        "rms": "residual on observed samples, r.m.s.",
        "largest": "residual on observed samples, largest",
    }
    palette = {frames.label(r, m): color(r, m) for m in models}
    dashes = dict(zip(masks, ("", (4, 1.5), (1, 1)), strict=False))
    fig, axes = plt.subplots(2, 2, figsize=(9, 5.4), sharex=True)
    for ax, (variable, title) in zip(axes.flat, titles.items(), strict=True):
        values = r[f"curve_{variable}"].sel(model=models, mask=masks, set=name).clip(1e-8)
        frame = frames.long_frame(values, "value")
        look = {"hue": "label", "palette": palette, "style": "mask", "dashes": dashes}
        _seeds_and_median(frame, "round", "value", look | {"ax": ax, "legend": False})
        ax.set(xscale="log", yscale="log", xlabel="", ylabel="")
        ax.set_title(title, fontsize=9.5)
        steps = [j for j in ROUNDS if j <= int(r["round"].max())]
        ax.set_xticks(steps, [str(j) for j in steps], fontsize=8)
        ax.minorticks_off()
    for ax in axes[1]:
        ax.set(ylim=(1e-4, 10), xlabel="rounds J")
        ax.axhline(1, color="k", ls=":", lw=1)
        ax.axhline(TOLERANCE, color="k", ls="--", lw=0.9)
    entries = [plt.Line2D([], [], color=c, label=text) for text, c in palette.items()]
    styles = zip(masks, ("-", "--", ":"), strict=False)
    entries += [plt.Line2D([], [], color="0.3", ls=s, label=MASKS[m]) for m, s in styles]
    fig.legend(handles=entries, loc="outside upper center", ncols=3, fontsize=8.5)
    return fig


def trade_off(r: xr.Dataset, name: str = "hard") -> plt.Figure:
    """Reconstruction error against error on hidden samples as lambda changes in inference; one
    panel per mask.
    """
    models = present(r, ("vn_1", "vn_untrained"))
    if not models or "sweep_mse" not in r:
        return frames.empty("No network whose sparsity is varied was asked for.")
    fig, axes = plt.subplots(2, 2, figsize=(9, 6.8))
    for ax, (mask, title) in zip(axes.flat, MASKS.items(), strict=True):
        for model in models:
            one = r.sel(model=model, set=name)
            shade, text = color(r, model), frames.label(r, model)
            for solver, style in (("rounds", "-"), ("limit", "--")):
                pair = one["sweep_mse"], one["sweep_hidden"].sel(mask=mask, solver=solver)
                x, y = (median(values) for values in pair)
                face = shade if solver == "rounds" else "white"
                said = f"{text}, {SOLVERS[solver]}"
                ax.plot(x, y, color=shade, ls=style, marker="o", ms=5, mfc=face, label=said)
                seeds = [values.transpose("seed", "factor").values.ravel() for values in pair]
                ax.scatter(*seeds, s=7, color=shade, alpha=0.35, lw=0)
        if mask == "random_30":  # in the other panels factors would lie on lines
            first = r.sel(model=models[0], set=name)
            x, y = first["sweep_mse"], first["sweep_hidden"].sel(mask=mask, solver="rounds")
            for factor, *at in zip(r["factor"].values, median(x), median(y), strict=True):
                place = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center"}
                ax.annotate(f"×{factor:g}", [float(one) for one in at], **place, fontsize=8.5)
        for rule, at in rules(r, mask, name).items():
            ax.axhline(at, color="k", ls=LINES[rule][1], lw=1.1, label=LINES[rule][0])
        ax.set(xscale="log", yscale="log" if mask == "random_30" else "linear")
        log_axis(ax.xaxis)
        ax.set_title(title, fontsize=9.5)
    fig.supylabel(f"error on hidden samples [{UNIT}]", fontsize=10)
    fig.supxlabel(f"reconstruction error of whole signals [{UNIT}]", fontsize=10)
    entries = axes[-1, -1].get_legend_handles_labels()
    fig.legend(*entries, loc="outside upper center", ncols=3, fontsize=8)
    return fig
