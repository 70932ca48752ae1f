"""Errors of image composition, by set and by model (VN Fig. 5).

Results have the dims model, seed, set (of both benchmarks), reading (own, top, searched), layer,
stage and evaluation, and the coordinates label, group and benchmark of the model. A model has
values on the sets of its benchmark alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogFormatterMathtext, LogLocator, NullFormatter

from benchmarks.baselines.figures import (
    between_groups,
    legible,
    looks,
    of_groups,
    seeds_and_medians,
)
from chapters.fig5_mnist.names import said
from chapters.fig5_mnist.sets import FAMILIES, SETS
from vnlib.plots.frames import empty, group, label, long_frame
from vnlib.plots.statistics import median, over_seeds
from vnlib.plots.style import SEQUENTIAL

GROUPS = {"vn": "Vector Network", "printed": "autoencoders as printed", "control": "controls"}
LINES = {"vn": "-", "printed": "--", "control": ":"}
# What the line figures compare, where it is there: more would hide each other.
MAIN = {
    "digits": ("vn_1", "vn_3", "ae", "ksparse", "ae_signed", "pca_matched", "dct"),
    "motions": ("m_vn_1", "m_vn_3", "m_ae", "m_ksparse", "m_pca_matched", "m_dct"),
}
ZERO = {"digits": "zero_baseline", "motions": "m_zero_baseline"}
NOBODY = "No model of this benchmark was asked for."
MSE = "mean squared error [ink²]"
GROWTH = "error over own ID error"


def present_models(
    results: xr.Dataset,
    benchmark: str,
    groups: Sequence[str] = tuple(GROUPS),
    *,
    with_zero: bool = False,
) -> list[str]:
    """The models of a benchmark in the order of their groups; the zero baseline only if asked
    for.
    """
    names = results["model"].values[results["benchmark"].values == benchmark].tolist()
    names = [m for m in names if with_zero or m != ZERO[benchmark]]
    return [m for g in groups for m in names if group(results, m) == g]


def main_models(results: xr.Dataset, benchmark: str) -> list[str]:
    """The models of `MAIN` that are there, or, if none is, the first six."""
    names = present_models(results, benchmark)
    return [m for m in MAIN[benchmark] if m in names] or names[:6]


def sets_of(results: xr.Dataset, benchmark: str) -> list[str]:
    """The sets of a benchmark that are there, family by family."""
    return [name for name in SETS[benchmark] if name in results["set"].values]


def inside(benchmark: str) -> str:
    """The set in distribution."""
    return FAMILIES[benchmark]["ID"][0]


def titled(name: str, benchmark: str) -> str:
    """The name of a set in words, and whether it is in distribution."""
    return f"{said(name)} (ID)" if name == inside(benchmark) else said(name)


def errors_of(
    results: xr.Dataset, benchmark: str, *, reading: str = "own", relative: bool = False
) -> xr.DataArray:
    """Errors (model, seed, set) of a benchmark, or these over what the model has in
    distribution.
    """
    models = present_models(results, benchmark, with_zero=True)
    found = results["mse"].sel(reading=reading, drop=True)
    found = found.sel(model=models, set=sets_of(results, benchmark))
    return found / found.sel(set=inside(benchmark), drop=True) if relative else found


def power(results: xr.Dataset, benchmark: str, *, relative: bool = False) -> xr.DataArray:
    """The mean square of the images of each set, which is the error of the zero baseline, or this
    over that of the set in distribution.
    """
    found = results["zero_baseline"].sel(set=sets_of(results, benchmark))
    found = found.median([dim for dim in found.dims if dim != "set"])
    return found / found.sel(set=inside(benchmark), drop=True) if relative else found


def line_styles(results: xr.Dataset, models: Sequence[str]) -> dict[str, dict]:
    """Vector Networks solid, autoencoders as printed dashed, controls dotted."""
    return {
        model: {"color": color, "marker": marker, "ls": LINES[group(results, model)]}
        for model, (color, marker) in looks(results, models).items()
    }


def logarithmic(ax: Axes, axis: str, multiples: Sequence[float] = (1, 2, 5)) -> None:
    """A logarithmic axis ("x" or "y") with plain numbers at these multiples of powers of ten."""
    ax.set(**{f"{axis}scale": "log"})
    one = getattr(ax, f"{axis}axis")
    one.set_major_locator(LogLocator(subs=multiples))
    one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    one.set_minor_locator(LogLocator(subs=range(1, 10)))
    one.set_minor_formatter(NullFormatter())
    ax.tick_params(axis=axis, labelsize=8)


def model_entries(results: xr.Dataset, styles: dict[str, dict], *more: Line2D) -> list[Line2D]:
    """Legend entries of models and whatever else there is."""
    return [
        *(Line2D([], [], label=label(results, m), ms=5, lw=1.4, **s) for m, s in styles.items()),
        *more,
    ]


def number(value: float) -> str:
    """Three digits, so that cells of a map are of one width: 0.12, 5.31, 21.7, 417."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def rows_by_set(ax: Axes, values: xr.DataArray, models: Sequence[str], **options: object) -> None:
    """Models as rows of points, on a logarithmic axis of errors; values: (model, seed)."""
    order = [label(values, m) for m in models]
    frame = long_frame(values.sel(model=list(models)))
    seeds_and_medians(ax, frame, value="value", by="label", order=order, **options)
    between_groups(ax, [group(values, m) for m in models])
    logarithmic(ax, "x", (1,))
    ax.xaxis.set_major_formatter(LogFormatterMathtext())  # plain decades would touch each other
    ax.tick_params(axis="y", labelsize=8)
    ax.set_xlabel("")


def errors(results: xr.Dataset, benchmark: str = "digits") -> Figure:
    """Errors of all models, a panel for each set; dotted: the zero baseline."""
    models, sets = present_models(results, benchmark), sets_of(results, benchmark)
    if not models:
        return empty(NOBODY)
    values, zero = errors_of(results, benchmark), power(results, benchmark)
    columns = 5
    rows = -(-len(sets) // columns)
    height = rows * (0.5 + 0.145 * len(models)) + 0.7
    fig, axes = plt.subplots(
        rows, columns, figsize=(9.6, height), sharex=True, sharey=True, squeeze=False
    )
    for ax, name in zip(axes.flat, sets, strict=False):
        rows_by_set(ax, values.sel(set=name), models)
        ax.axvline(float(zero.sel(set=name)), color="k", ls=":", lw=1.2)
        ax.set_title(titled(name, benchmark), fontsize=9)
    for ax in axes.flat[len(sets) :]:
        ax.set_axis_off()
    fig.supxlabel(MSE, fontsize=10)
    handles = of_groups(results, models, GROUPS)
    handles.append(Line2D([], [], color="k", ls=":", label="zero baseline"))
    fig.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9)
    return fig


def growth(results: xr.Dataset, benchmark: str = "digits") -> Figure:
    """Errors over what each model has in distribution: medians, their intervals as bars, every seed
    a small point.
    """
    models = main_models(results, benchmark)
    if not models:
        return empty(NOBODY)
    values, sets = errors_of(results, benchmark, relative=True), sets_of(results, benchmark)
    styles = line_styles(results, models)
    fig, ax = plt.subplots(figsize=(9.4, 4.4))
    at, grown = np.arange(len(sets)), power(results, benchmark, relative=True)
    moves = np.linspace(-0.25, 0.25, len(models)) if len(models) > 1 else [0]
    for move, (model, style) in zip(moves, styles.items(), strict=True):
        with_intervals(ax, at + move, values.sel(model=model), style | {"ls": ""})
    ax.plot(at, grown, color="k", ls="", marker="_", ms=16, mew=1)
    ax.axhline(1, color="0.4", lw=0.8)
    for column in _family_ends(benchmark, sets):
        ax.axvline(column - 0.5, color="0.85", lw=0.8)
    ax.set(xlabel="", ylabel=GROWTH, xlim=(-0.6, len(sets) - 0.4))
    logarithmic(ax, "y")
    ax.set_xticks(at, list(map(said, sets)), rotation=45, ha="right", fontsize=9)
    bar = Line2D([], [], color="k", marker="_", ls="", ms=12, label="power of the images")
    handles = model_entries(results, {m: s | {"ls": ""} for m, s in styles.items()}, bar)
    ax.legend(handles=handles, fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def with_intervals(ax: Axes, at: np.ndarray, values: xr.DataArray, style: dict) -> None:
    """Medians in a style, their 95 % intervals as bars and every seed a small point; values:
    (seed, set).
    """
    found, seeds = over_seeds(values), values.transpose("seed", "set")
    look = {"color": style["color"], "zorder": 1}
    ax.plot(np.tile(at, len(seeds)), seeds.values.ravel(), ".", ms=2.5, alpha=0.6, **look)
    ax.vlines(at, found["low"], found["high"], lw=1, **look)
    ax.plot(at, found["median"], ms=5, lw=1.2, markeredgewidth=0, **style)


def error_map(results: xr.Dataset, benchmark: str = "digits") -> Figure:
    """All models and sets: errors in 10⁻³ ink² as numbers, their growth from ID as colours; medians
    over seeds.
    """
    models = present_models(results, benchmark, with_zero=True)
    if not models:
        return empty(NOBODY)
    values = median(errors_of(results, benchmark)).sel(model=models).transpose("model", "set")
    grown = values / values.sel(set=inside(benchmark))
    sets = values["set"].values.tolist()
    fig, ax = plt.subplots(figsize=(2.4 + 0.5 * len(sets), 1.5 + 0.26 * len(models)))
    sns.heatmap(
        grown.values,
        annot=np.vectorize(number)(1e3 * values.values),
        fmt="",
        annot_kws={"fontsize": 7.5, "in_layout": False},
        norm=LogNorm(1, 30),
        cmap=SEQUENTIAL,
        xticklabels=list(map(said, sets)),
        yticklabels=values["label"].values.tolist(),
        cbar_kws={"extend": "both", "fraction": 0.03, "pad": 0.01, "label": GROWTH},
        ax=ax,
    )
    legible(ax, len(sets))
    ax.set_xticklabels(ax.get_xticklabels(), rotation=60, ha="right", fontsize=9)
    ax.tick_params(axis="y", labelsize=9, rotation=0)
    ax.tick_params(length=0)
    for column in _family_ends(benchmark, sets):
        ax.axvline(column, color="w", lw=2)
    for row in range(1, len(models)):
        if group(results, models[row]) != group(results, models[row - 1]):
            ax.axhline(row, color="w", lw=2)
    return fig


def _family_ends(benchmark: str, sets: Sequence[str]) -> np.ndarray:
    """After which of the sets a family ends, but the last."""
    counts = [len([s for s in family if s in sets]) for family in FAMILIES[benchmark].values()]
    return np.cumsum(counts)[:-1]
