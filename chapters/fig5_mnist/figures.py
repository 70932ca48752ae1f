"""Figures of image composition (VN Fig. 5), from the dataset of `studies.images.study` over models
and seeds.

Dims: model, seed, set (of both benchmarks), reading (own, top, searched), layer, stage, check;
coordinates label, group and benchmark ("digits" or "motions") of the model. A model has values on
the sets of its benchmark alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogFormatterMathtext, LogLocator, NullFormatter

from vnlib.plots.rows import absent, group, label, points, rows_of
from vnlib.plots.style import PALETTE, SEQUENTIAL

GROUPS = {
    "vn": ("Vector Network", PALETTE[0], "o"),
    "printed": ("autoencoders as in the paper", PALETTE[3], "s"),
    "control": ("controls", "#4d4d4d", "^"),
}
# The sets by family, the one in distribution first.
FAMILIES = {
    "digits": {
        "ID": ("id",),
        "add/subtract": ("add2", "sub2", "add3", "addsub4"),
        "max": ("max2", "max3", "max5"),
        "corruption": ("occlude0", "occlude1", "stripes0", "stripes1", "invert", "salt_pepper"),
    },
    "motions": {
        "ID": ("single",),
        "kinds": ("RT", "RS", "TS", "RTS"),
        "steps": ("single_x1.5", "single_x2", "single_x3", "RTS_x1.5", "RTS_x2", "RTS_x3"),
        "digits": ("single_2d", "RTS_2d", "RTS_x2_2d", "single_3d", "RTS_3d", "RTS_x2_3d"),
    },
}
# What the line figures compare, where it is there: more would hide each other.
MAIN = {
    "digits": ("vn_1", "vn_3", "ae", "ksparse", "ae_signed", "pca_matched", "dct"),
    "motions": ("m_vn_1", "m_vn_3", "m_ae", "m_ksparse", "m_pca_matched", "m_dct"),
}
BLANK = {"digits": "zero_baseline", "motions": "m_zero_baseline"}
NOBODY = "No model of this benchmark was asked for."
MSE = "mean squared error [ink²]"
GROWTH = "error over own ID error"


def in_order(
    results: xr.Dataset,
    benchmark: str,
    groups: Sequence[str] = tuple(GROUPS),
    *,
    blank: bool = False,
) -> list[str]:
    """The models of a benchmark in the order of their groups; the one that draws nothing only if
    asked for.
    """
    here = results["model"].values[results["benchmark"].values == benchmark]
    names = [str(m) for m in here if blank or m != BLANK[benchmark]]
    return [m for g in groups for m in names if group(results, m) == g]


def main(results: xr.Dataset, benchmark: str) -> list[str]:
    """The models of `MAIN` that are there, or, if none is, the first six."""
    names = in_order(results, benchmark)
    return [m for m in MAIN[benchmark] if m in names] or names[:6]


def sets_of(results: xr.Dataset, benchmark: str) -> list[str]:
    """The sets of a benchmark that are there, family by family."""
    names = [name for family in FAMILIES[benchmark].values() for name in family]
    return [name for name in names if name in results["set"].values]


def inside(benchmark: str) -> str:
    """The set in distribution."""
    return FAMILIES[benchmark]["ID"][0]


def error(
    results: xr.Dataset, benchmark: str, *, reading: str = "own", relative: bool = False
) -> xr.DataArray:
    """Errors (model, seed, set) of a benchmark, or these over what the model has in
    distribution.
    """
    models = in_order(results, benchmark, blank=True)
    found = (
        results["mse"]
        .sel(reading=reading, drop=True)
        .sel(model=models, set=sets_of(results, benchmark))
    )
    return found / found.sel(set=inside(benchmark), drop=True) if relative else found


def power(results: xr.Dataset, benchmark: str) -> xr.DataArray:
    """The mean square of the images of each set, which is the error of drawing nothing; over
    set.
    """
    blank = results["zero_baseline"].sel(set=sets_of(results, benchmark))
    return blank.median([dim for dim in blank.dims if dim != "set"])


def colors(results: xr.Dataset, models: Sequence[str]) -> dict[str, dict]:
    """Line styles: Vector Networks solid, autoencoders of the paper dashed, controls dotted; no two
    are the same.
    """
    looks = {
        "vn": ("-", (PALETTE[0], PALETTE[2], PALETTE[9], "#003f5c"), "oD*"),
        "printed": ("--", (PALETTE[3], PALETTE[1], PALETTE[4], PALETTE[5]), "sPX"),
        "control": (":", ("#000000", "#6b6b6b", "#a0a0a0", PALETTE[6], PALETTE[7]), "^v<>"),
    }
    styles, count = {}, dict.fromkeys(GROUPS, 0)
    for model in models:
        line, palette, markers = looks[group(results, model)]
        number = count[group(results, model)]
        count[group(results, model)] += 1
        styles[model] = {
            "color": palette[number % len(palette)],
            "marker": markers[number % len(markers)],
            "ls": line,
        }
    return styles


def logarithmic(ax: plt.Axes, axis: str, subs: Sequence[float] = (1, 2, 5)) -> None:
    """A logarithmic axis ("x" or "y") with plain numbers at these multiples of powers of ten."""
    ax.set(**{f"{axis}scale": "log"})
    one = getattr(ax, f"{axis}axis")
    one.set_major_locator(LogLocator(subs=subs))
    one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    one.set_minor_locator(LogLocator(subs=range(1, 10)))
    one.set_minor_formatter(NullFormatter())
    ax.tick_params(axis=axis, labelsize=8)


def legend(results: xr.Dataset, styles: dict[str, dict], *more: Line2D) -> list[Line2D]:
    """Entries for models and whatever else there is."""
    return [
        *(Line2D([], [], label=label(results, m), ms=5, lw=1.4, **s) for m, s in styles.items()),
        *more,
    ]


def number(value: float) -> str:
    """Three digits: 0.12, 5.31, 21.7, 417; nothing where there is no number."""
    if not np.isfinite(value):
        return ""
    return (
        f"{value:.2f}"
        if abs(value) < 10
        else f"{value:.1f}"
        if abs(value) < 100
        else f"{value:.0f}"
    )


# --- 5a: errors -----------------------------------------------------------------------------------


def errors(results: xr.Dataset, benchmark: str = "digits") -> plt.Figure:
    """Errors of all models, a panel for each set; dotted: drawing nothing."""
    models, sets = in_order(results, benchmark), sets_of(results, benchmark)
    if not models:
        return absent(NOBODY)
    values, blank = error(results, benchmark), power(results, benchmark)
    columns = 5
    rows = -(-len(sets) // columns)
    fig, axes = plt.subplots(
        rows,
        columns,
        figsize=(9.6, rows * (0.5 + 0.145 * len(models)) + 0.7),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for ax, name in zip(axes.flat, sets, strict=False):
        for y, model in enumerate(models):
            _, color, marker = GROUPS[group(results, model)]
            points(ax, values.sel(model=model, set=name), y, color, marker)
        ax.axvline(float(blank.sel(set=name)), color="k", ls=":", lw=1.2)
        rows_of(ax, results, models)
        logarithmic(ax, "x", (1,))
        ax.xaxis.set_major_formatter(LogFormatterMathtext())  # plain decades would touch each other
        ax.set_title(f"{name} (ID)" if name == inside(benchmark) else name, fontsize=9)
    for ax in axes.flat[len(sets) :]:
        ax.set_axis_off()
    fig.supxlabel(MSE, fontsize=10)
    shown = dict.fromkeys(group(results, m) for m in models)
    handles = [
        Line2D([], [], color=GROUPS[g][1], marker=GROUPS[g][2], ls="", label=GROUPS[g][0], ms=5)
        for g in shown
    ]
    handles.append(Line2D([], [], color="k", ls=":", label="zero baseline"))
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9)
    return fig


def table(results: xr.Dataset, benchmark: str = "digits") -> plt.Figure:
    """All models and sets: errors in 10⁻³ ink² as numbers, their growth from ID as colours; medians
    over seeds.
    """
    models = in_order(results, benchmark, blank=True)
    if not models:
        return absent(NOBODY)
    values = error(results, benchmark).median("seed").sel(model=models).transpose("model", "set")
    growth = (values / values.sel(set=inside(benchmark))).values
    sets = [str(name) for name in values["set"].values]
    fig, ax = plt.subplots(figsize=(2.4 + 0.5 * len(sets), 1.5 + 0.26 * len(models)))
    image = ax.imshow(growth, norm=LogNorm(1, 30), cmap=SEQUENTIAL, aspect="auto")
    for (row, column), value in np.ndenumerate(1e3 * values.values):
        dark = growth[row, column] < 5
        ax.text(
            column,
            row,
            number(value),
            ha="center",
            va="center",
            fontsize=7.5,
            color="w" if dark else "k",
        )
    ax.set_xticks(range(len(sets)), sets, rotation=60, ha="right", fontsize=9)
    ax.set_yticks(range(len(models)), [label(results, m) for m in models], fontsize=9)
    ax.tick_params(length=0)
    starts = np.cumsum(
        [len([s for s in family if s in sets]) for family in FAMILIES[benchmark].values()]
    )
    for column in starts[:-1]:
        ax.axvline(column - 0.5, color="w", lw=2)
    for row in range(1, len(models)):
        if group(results, models[row]) != group(results, models[row - 1]):
            ax.axhline(row - 0.5, color="w", lw=2)
    fig.colorbar(image, ax=ax, extend="both", fraction=0.03, pad=0.01).set_label(GROWTH, fontsize=9)
    return fig


def growth(results: xr.Dataset, benchmark: str = "digits") -> plt.Figure:
    """Errors over what each model has in distribution, medians over seeds and all seeds as a
    bar.
    """
    models = main(results, benchmark)
    if not models:
        return absent(NOBODY)
    values, sets = error(results, benchmark, relative=True), sets_of(results, benchmark)
    styles = colors(results, models)
    fig, ax = plt.subplots(figsize=(9.4, 4.4))
    shifts = np.linspace(-0.25, 0.25, len(models)) if len(models) > 1 else [0.0]
    at = np.arange(len(sets))
    for (model, style), shift in zip(styles.items(), shifts, strict=True):
        one = values.sel(model=model, set=sets)
        ax.vlines(at + shift, one.min("seed"), one.max("seed"), color=style["color"], lw=1)
        ax.plot(at + shift, one.median("seed"), **style | {"ls": ""}, ms=5)
    blank = power(results, benchmark)
    ax.plot(
        at, blank / blank.sel(set=inside(benchmark)), color="k", ls="", marker="_", ms=16, mew=1
    )
    ax.axhline(1, color="0.4", lw=0.8)
    for column in np.cumsum(
        [len([s for s in f if s in sets]) for f in FAMILIES[benchmark].values()]
    )[:-1]:
        ax.axvline(column - 0.5, color="0.85", lw=0.8)
    ax.set(ylabel=GROWTH, xlim=(-0.6, len(sets) - 0.4))
    logarithmic(ax, "y")
    ax.set_xticks(at, sets, rotation=45, ha="right", fontsize=9)
    blank_line = Line2D([], [], color="k", marker="_", ls="", ms=12, label="power of the images")
    ax.legend(
        handles=legend(results, {m: s | {"ls": ""} for m, s in styles.items()}, blank_line),
        fontsize=9,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
    )
    return fig
