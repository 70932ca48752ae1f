"""Tables 5 and 6 of the VN paper from the results of chapter fig3_functions: all models, all sets,
all masks.

Dims: model, seed, set (id, easy, hard), way ("zero_filled": hidden samples are zero, a VN imputes in
rounds; "mask_aware": inference or training knows the mask), mask; coordinates label(model),
group(model). Errors are mean squares in units of the mean power of training signals.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.ticker import FormatStrFormatter, LogLocator, MaxNLocator, NullFormatter

from vnlib.plots.rows import group, label
from vnlib.plots.style import PALETTE

VN = ("vn_1", "vn_3", "vn_5")
OTHERS = (
    "neural_ode",
    "rslds",
    "deep_ae",
    "sparse_ae",
    "rnn",
    "transformer",
    "mamba_bottleneck",
    "mamba",
)
ROSTER = (*OTHERS, *VN)  # the paper's eleven
SETS = {"id": "ID", "easy": "Easy", "hard": "Hard"}
MASKS = {
    "forecast_25": "last quarter hidden",
    "forecast_50": "last half hidden",
    "random_30": "30 % of samples hidden",
    "block_128": "a block of a quarter hidden",
}
WAYS = {"zero_filled": "paper's protocol", "mask_aware": "mask-aware"}
FAMILY = {
    "vn": ("Vector Networks", PALETTE[0]),
    "printed": ("the paper's other models", PALETTE[3]),
    "masked": ("trained with masks", PALETTE[2]),
    "control": ("controls", PALETTE[7]),
}
# What the text of the paper still has of Table 6: model, mask, number. Their columns and the units
# are lost.
SURVIVORS = (
    ("vn_3", "forecast_25", 0.391),
    ("vn_5", "forecast_25", 0.392),
    ("vn_3", "forecast_50", 0.622),
    ("vn_5", "forecast_50", 0.622),
    ("vn_5", "random_30", 0.0120),
    ("vn_3", "block_128", 0.297),
)


def has(r: xr.Dataset, *models: str) -> bool:
    """Whether results hold all these models."""
    return set(models) <= set(r["model"].values.astype(str))


def order(r: xr.Dataset) -> list[str]:
    """The models of the results: the paper's eleven, then those trained with masks, then the
    controls.
    """
    names = list(r["model"].values.astype(str))
    others = sorted((m for m in names if m not in ROSTER), key=lambda m: group(r, m) != "masked")
    return [m for m in ROSTER if m in names] + others


def log_axis(axis: plt.matplotlib.axis.Axis) -> None:
    """A logarithmic axis with labels that do not touch: few over a factor, 1, 2, 5 over a decade,
    decades over more.
    """
    low, high = axis.get_view_interval()
    if high / low < 30:
        axis.set_major_locator(MaxNLocator(4) if high / low < 4 else LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def spread(values: xr.DataArray) -> str:
    """Mean and standard deviation over seeds, or "" for what does not exist."""
    values = values.values[np.isfinite(values.values)]
    if not len(values):
        return ""
    mean, spread = values.mean(), values.std(ddof=1) if len(values) > 1 else 0.0
    # Equal numbers have a spread of rounding.
    said = f"{spread:.1g}" if spread > 1e-12 * abs(mean) else "0"
    return f"{mean:.3g} ± {said}" if len(values) > 1 else f"{mean:.3g}"


def blank(r: xr.Dataset, mask: str | None = None) -> xr.DataArray:
    """The error of the zero prediction over set, on all samples or on those that a mask hides."""
    first = r.isel(model=0, seed=0)
    return first["zero_baseline"] if mask is None else first["zero_baseline_hidden"].sel(mask=mask)


def reconstruction(r: xr.Dataset) -> pd.DataFrame:
    """Table 5: one row per model that reconstructs, and the zero prediction."""
    rows = {
        label(r, m): {title: spread(r["mse"].sel(model=m, set=s)) for s, title in SETS.items()}
        for m in order(r)
        if bool(np.isfinite(r["mse"].sel(model=m)).any())
    }
    if not has(r, "zero_baseline"):
        rows["zero"] = {title: f"{float(blank(r).sel(set=s)):.3g}" for s, title in SETS.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(columns="model")


def masked(r: xr.Dataset, way: str, masks: Sequence[str] = tuple(MASKS)) -> pd.DataFrame:
    """Table 6, of one way to deal with the mask: one row per model that has it; * is the least mean
    of a column.
    """
    names = [m for m in order(r) if bool(np.isfinite(r["hidden"].sel(model=m, protocol=way)).any())]
    table = {}
    for mask in masks:
        for s, title in SETS.items():
            cells = r["hidden"].sel(protocol=way, mask=mask, set=s)
            means = {m: float(cells.sel(model=m).mean("seed")) for m in names}
            least = min((v for v in means.values() if np.isfinite(v)), default=np.nan)
            table[mask, title] = {
                label(r, m): spread(cells.sel(model=m)) + ("*" if means[m] == least else "")
                for m in names
            }
    frame = pd.DataFrame(table)
    return frame.rename_axis(columns=["mask", "model"])


def best(r: xr.Dataset, way: str, models: Sequence[str], mask: str, name: str) -> tuple[str, float]:
    """The model with the least mean error on hidden samples of one cell, and that error."""
    cells = r["hidden"].sel(protocol=way, mask=mask, set=name, model=list(models)).mean("seed")
    means = {m: float(cells.sel(model=m)) for m in models}
    means = {m: v for m, v in means.items() if np.isfinite(v)}
    return min(means.items(), key=lambda item: item[1]) if means else ("", float("nan"))


def winners(r: xr.Dataset) -> pd.DataFrame:
    """Who has the least mean error in every cell: of the paper's models under its protocol, and of
    all, mask-aware.
    """
    eleven, rows = [m for m in ROSTER if has(r, m)], []
    for mask, title in MASKS.items():
        for s, name in SETS.items():
            first, second = (
                best(r, "zero_filled", eleven, mask, s),
                best(r, "mask_aware", order(r), mask, s),
            )
            said = [f"{label(r, m)}, {v:.3g}" if m else "" for m, v in (first, second)]
            rows.append([title, name, *said, f"{float(blank(r, mask).sel(set=s)):.3g}"])
    columns = [
        "mask",
        "set",
        "best of the paper's, its protocol",
        "best of all, mask-aware",
        "zero",
    ]
    return pd.DataFrame(rows, columns=columns).set_index(["mask", "set"])


def survivors(r: xr.Dataset) -> pd.DataFrame | str:
    """The six numbers that the text of Table 6 still has, beside ours on each set and the set that
    is nearest.
    """
    rows = []
    for model, mask, number in SURVIVORS:
        if has(r, model):
            ours = {
                s: float(
                    r["hidden"]
                    .sel(model=model, protocol="zero_filled", mask=mask, set=s)
                    .mean("seed")
                )
                for s in SETS
            }
            nearest = min(ours, key=lambda s: abs(np.log(ours[s] / number)))
            least = [
                SETS[s]
                for s in SETS
                if best(r, "zero_filled", [m for m in ROSTER if has(r, m)], mask, s)[0] == model
            ]
            rows.append(
                [
                    label(r, model),
                    MASKS[mask],
                    f"{number:.3g}",
                    *(f"{v:.3g}" for v in ours.values()),
                    SETS[nearest],
                    ", ".join(least) or "none",
                ]
            )
    if not rows:
        return "The deep Vector Networks were not asked for in this profile."
    columns = [
        "model",
        "mask",
        "zero_filled",
        *(f"ours, {t}" for t in SETS.values()),
        "nearest",
        "column minimum here",
    ]
    return pd.DataFrame(rows, columns=columns).set_index(["model", "mask"])


def _dots(
    ax: plt.Axes,
    values: xr.DataArray,
    heights: Sequence[float],
    colors: Sequence[str],
    marker: str,
    *,
    filled: bool = True,
) -> None:
    """Values (model, seed) at a height per model: seeds as faint points, their mean as a strong
    one.
    """
    all_seeds = values.transpose("model", "seed").values
    high, shade = np.asarray(heights, float), np.asarray(colors)
    row, seed = np.nonzero(np.isfinite(all_seeds))
    ax.scatter(all_seeds[row, seed], high[row], s=9, c=shade[row], alpha=0.35, lw=0)
    there = np.unique(row)
    means = np.array([np.nanmean(all_seeds[m]) for m in there])
    ax.scatter(
        means,
        high[there],
        s=34,
        marker=marker,
        c=shade[there] if filled else "white",
        edgecolors=shade[there],
    )


MARKERS = {"id": ("o", "ID"), "easy": ("s", "Easy"), "hard": ("D", "Hard")}


def _rows(ax: plt.Axes, r: xr.Dataset, names: Sequence[str]) -> None:
    ax.set(yticks=range(len(names)), ylim=(len(names) - 0.4, -0.6))
    ax.set_yticklabels([label(r, m) for m in names], fontsize=8)
    for tick, model in zip(ax.get_yticklabels(), names, strict=True):
        family = group(r, model)
        # its grey is too faint for letters
        tick.set_color("0.35" if family == "control" else FAMILY[family][1])


def reconstruction_dots(r: xr.Dataset) -> plt.Figure:
    """Table 5 as points: error over that of the zero prediction, one panel per set, one row per
    model.
    """
    names = [m for m in order(r) if bool(np.isfinite(r["mse"].sel(model=m)).any())]
    colors = [FAMILY[group(r, m)][1] for m in names]
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 0.9 + 0.24 * len(names)), sharey=True)
    for ax, (s, title) in zip(axes, SETS.items(), strict=True):
        _dots(ax, r["mse"].sel(model=names, set=s), range(len(names)), colors, MARKERS[s][0])
        ax.axvline(float(blank(r).sel(set=s)), color="k", ls=":", lw=1.2)
        ax.set(xscale="log", title=title, xlabel="mean squared error [ID power]")
        log_axis(ax.xaxis)
        ax.grid(axis="y", lw=0.4, alpha=0.5)
    _rows(axes[0], r, names)
    axes[0].annotate(
        "zero",
        (float(blank(r).sel(set="id")), 0),
        xytext=(-3, 0),
        textcoords="offset points",
        ha="right",
        fontsize=8,
    )
    return fig


# times the zero prediction: larger errors are drawn here, or a few explosions would hide all else
FAR = 10


def masked_dots(r: xr.Dataset, s: str = "hard") -> plt.Figure:
    """Table 6 on one set: error on hidden samples by mask, filled for the paper's protocol and
    hollow for mask-aware.

    Dotted: the zero prediction; dashed and dash-dotted: last value held and linear interpolation,
    where there are any. Errors above `FAR` times that of zero are drawn there.
    """
    rules = {"hold_last": ("last value held", "--"), "linear": ("linear interpolation", "-.")}
    names = [
        m
        for m in order(r)
        if m not in ("zero_baseline", *rules) and bool(np.isfinite(r["hidden"].sel(model=m)).any())
    ]
    colors = [FAMILY[group(r, m)][1] for m in names]
    fig, axes = plt.subplots(1, 4, figsize=(12, 1.5 + 0.24 * len(names)), sharey=True)
    for ax, (mask, title) in zip(axes, MASKS.items(), strict=True):
        nothing = float(blank(r, mask).sel(set=s))
        cells = r["hidden"].sel(mask=mask, set=s).clip(max=FAR * nothing)
        for way, shift in (("zero_filled", -0.13), ("mask_aware", 0.13)):
            heights = np.arange(len(names)) + shift
            _dots(
                ax,
                cells.sel(model=names, protocol=way),
                heights,
                colors,
                "o",
                filled=way == "zero_filled",
            )
        lines = [ax.axvline(nothing, color="k", ls=":", lw=1.2, label="zero prediction")]
        for rule, (said, style) in rules.items():
            if has(r, rule):
                at = float(cells.sel(model=rule, protocol="mask_aware").mean("seed"))
                lines.append(ax.axvline(at, color="k", ls=style, lw=0.9, alpha=0.7, label=said))
        ax.set_xscale("log")
        log_axis(ax.xaxis)
        ax.set_title(title, fontsize=9.5)
        ax.grid(axis="y", lw=0.4, alpha=0.5)
    _rows(axes[0], r, names)
    fig.supxlabel("mean squared error on hidden samples [ID power]", fontsize=10)
    marks = [
        plt.Line2D([], [], ls="", marker="o", mec="0.3", mfc=fill, label=said)
        for fill, said in (("0.3", WAYS["zero_filled"]), ("white", WAYS["mask_aware"]))
    ]
    fig.legend(handles=[*marks, *lines], loc="outside upper center", ncols=5, fontsize=8.5)
    return fig
