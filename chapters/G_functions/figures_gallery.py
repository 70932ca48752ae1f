"""Galleries of Hard signals as models draw them (VN Figs. 6-8), from the results of chapter
fig3_functions.

`truth` (example, time), `drawn` (whole signals) and `filled` (protocol; the last quarter hidden), are
of the first seed. Cases are chosen by a rule, never by eye:
"largest" takes those with the largest gap between the Vector Networks and the paper's three
baselines, as the paper does; "neutral" takes the middle of every n-th part of all gaps, the median
case for n = 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from benchmarks.functions.names import ELEVEN, VN
from benchmarks.functions.protocols import PRINTED, by_protocol
from benchmarks.functions.tables import present
from vnlib.plots.frames import empty, label
from vnlib.plots.statistics import raised, short
from vnlib.plots.style import look

BASELINES = ("mamba_bottleneck", "deep_ae", "rnn")
KINDS = ("vn_3", "deep_ae", "rnn", "mamba", "neural_ode")  # a model of every kind
EXTRA = ("deep_ae_masked", "hold_last")
RULES = {"largest": "largest gap", "neutral": "median case"}
HIDDEN = 0.75  # the last quarter of the second is hidden
# a case with more than so many times the mean power of ID signals is left out of the masked gallery
OUTLIER = 4.0


def drawn_seed(r: xr.Dataset) -> xr.Dataset:
    """The seed whose drawings are kept, and the cases that it has."""
    kept = np.isfinite(r["truth"]).any([d for d in r["truth"].dims if d != "seed"])
    return r.isel(seed=int(np.argmax(kept.values)))


def truth_of(one: xr.Dataset) -> xr.DataArray:
    """The signals themselves (example, time), which are the same for all models."""
    return one["truth"].max("model")


def errors(r: xr.Dataset, protocol: str | None = None) -> xr.DataArray:
    """Mean squared error (model, example) of the kept drawings: of whole signals, or on the hidden
    quarter.
    """
    one = drawn_seed(r)
    truth = truth_of(one)
    if protocol is None:
        return ((one["drawn"] - truth) ** 2).mean("time")
    return (
        ((by_protocol(one["filled"], protocol) - truth) ** 2)
        .where(one["time"] > HIDDEN)
        .mean("time")
    )


def gaps(r: xr.Dataset, protocol: str | None = None) -> xr.DataArray | None:
    """Per example: mean error of the three baselines minus that of the Vector Networks; None
    without both.
    """
    others, vn = (present(r, names) for names in (BASELINES, VN))
    if not others or not vn:
        return None
    error = errors(r, protocol)
    gap = (error.sel(model=others).mean("model") - error.sel(model=vn).mean("model")).dropna(
        "example"
    )
    if protocol is not None:
        power = (truth_of(drawn_seed(r)) ** 2).mean("time")
        typical = float(r["zero_baseline"].isel(model=0, seed=0).sel(set="id"))
        gap = gap.where(power <= OUTLIER * typical, drop=True)
    return gap if gap.sizes["example"] else None


def pick(gap: xr.DataArray, rule: str, n: int) -> list[str]:
    """n examples by a rule of `RULES`, fewer where there are fewer."""
    n = min(n, gap.sizes["example"])
    names = gap["example"].values[np.argsort(-gap.values)]
    if rule == "largest":
        return list(names[:n])
    return [names[int((i + 0.5) * len(names) / n)] for i in range(n)]


def one_case(r: xr.Dataset) -> plt.Figure:
    """Fig. 6: one Hard signal by each rule, as a Vector Network and the three baselines draw it,
    and what they miss.
    """
    gap = gaps(r)
    if gap is None:
        return empty("The models of this figure were not asked for.")
    one = drawn_seed(r)
    deepest = "vn_3" if present(r, ["vn_3"]) else "vn_1"
    names = present(r, [deepest, *BASELINES])
    fig, axes = plt.subplots(
        2, 2, figsize=(10, 4.6), sharex=True, sharey="col", height_ratios=(3, 2)
    )
    for column, (rule, said) in zip(axes.T, RULES.items(), strict=True):
        case = pick(gap, rule, 1)[0]
        truth = truth_of(one).sel(example=case)
        column[0].plot(one["time"], truth, color="0.6", lw=4, label="signal")
        for m in names:
            drawn = one["drawn"].sel(model=m, example=case)
            color, _ = look(label(r, m))
            column[0].plot(one["time"], drawn, color=color, lw=1.3, label=label(r, m))
            column[1].plot(one["time"], drawn - truth, color=color, lw=1.2)
        column[1].axhline(0, color="0.6", lw=0.8)
        column[0].set_title(f"{said}: {case.rsplit(' ', 1)[0]}", fontsize=10)
        column[1].set_xlabel("time [s]")
    axes[0, 0].set_ylabel("signal [r.m.s. of training]")
    axes[1, 0].set_ylabel("drawing − signal")
    fig.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5, fontsize=8.5
    )
    return fig


def example(r: xr.Dataset) -> plt.Figure:
    """One Hard signal by each rule (rows), the last quarter hidden, as one model of every kind fills
    it in.
    """
    gap = gaps(r, PRINTED)
    if gap is None:
        return empty("The models of this figure were not asked for.")
    one, error = drawn_seed(r), errors(r, PRINTED)
    names = present(r, KINDS)
    time = one["time"].values
    size = (0.5 + 1.95 * len(names), 3.3)
    fig, axes = plt.subplots(2, len(names), figsize=size, sharex=True, sharey="row", squeeze=False)
    for row, (rule, said) in zip(axes, RULES.items(), strict=True):
        case = pick(gap, rule, 1)[0]
        for ax, m in zip(row, names, strict=True):
            color, _ = look(label(r, m))
            ax.axvspan(HIDDEN, time[-1], color="0.92", lw=0)
            ax.plot(time, truth_of(one).sel(example=case), color="0.55", lw=3)
            drawn = by_protocol(one["filled"], PRINTED).sel(model=m, example=case)
            ax.plot(time, drawn, color=color, lw=1.4)
            said_error = f"error {short(float(error.sel(model=m, example=case)))}"
            ax.text(0.03, 0.02, said_error, transform=ax.transAxes, fontsize=8.5, va="bottom")
            ax.set(xticks=[], yticks=[])
        row[0].set_ylabel(said, fontsize=10)
        low, high = row[0].get_ylim()
        row[0].set_ylim(low - 0.2 * (high - low), high)
    for ax, m in zip(axes[0], names, strict=True):
        ax.set_title(label(r, m), fontsize=10)
    return fig


def reconstructions(r: xr.Dataset, rule: str, n: int = 4) -> plt.Figure:
    """Fig. 7: Hard signals by a rule (columns) as every model draws them (rows), with their
    errors.
    """
    gap = gaps(r)
    names = present(r, ELEVEN)
    if gap is None:
        return empty("The models of this figure were not asked for.")
    one, error = drawn_seed(r), errors(r)
    cases = pick(gap, rule, n)
    drawn = {m: one["drawn"].sel(model=m) for m in names}
    return _grid(r, one, cases, drawn, {m: error.sel(model=m) for m in names}, None)


def forecasts(r: xr.Dataset, rule: str, n: int = 3, protocol: str = PRINTED) -> plt.Figure:
    """Fig. 8: Hard signals by a rule (columns), the last quarter hidden, as every model fills them
    in (rows).
    """
    gap = gaps(r, PRINTED)
    if gap is None:
        return empty("The models of this figure were not asked for.")
    one = drawn_seed(r)
    protocols = dict.fromkeys(present(r, ELEVEN), protocol)
    protocols |= dict.fromkeys(present(r, EXTRA), "mask_aware")
    drawn = {m: by_protocol(one["filled"], p).sel(model=m) for m, p in protocols.items()}
    error = {m: errors(r, p).sel(model=m) for m, p in protocols.items()}
    kept = {m: v for m, v in drawn.items() if bool(np.isfinite(v).any())}
    return _grid(r, one, pick(gap, rule, n), kept, error, HIDDEN)


def _grid(
    r: xr.Dataset,
    one: xr.Dataset,
    cases: Sequence[str],
    drawn: dict,
    error: dict,
    hidden: float | None,
) -> plt.Figure:
    """Models (rows) by cases (columns): the signal in grey, the drawing in the colour of its model,
    its error above.

    All in one axis, shifted: dozens of small axes take seconds to draw. A drawing that leaves its
    cell is cut.
    """
    wide, high = 1.08, 1.3
    fig, ax = plt.subplots(figsize=(1.6 + 1.9 * len(cases), 0.4 + 0.72 * len(drawn)))
    time = one["time"].values
    for j, case in enumerate(cases):
        truth = truth_of(one).sel(example=case).values
        half = 0.42 / (1.25 * np.abs(truth).max())
        ax.text(0.5 + j * wide, 0.85, case.rsplit(" ", 1)[0], ha="center", va="bottom", fontsize=9)
        for i, (m, values) in enumerate(drawn.items()):
            color, _ = look(label(r, m))
            x, y = time + j * wide, -i * high
            if hidden is not None:
                ax.fill_between([hidden + j * wide, x[-1]], y - 0.48, y + 0.48, color="0.92", lw=0)
            ax.plot(x, y + half * truth, color="0.55", lw=2.2)
            ax.plot(
                x,
                y + np.clip(half * values.sel(example=case).values, -0.48, 0.48),
                color=color,
                lw=1.2,
            )
            ax.text(
                x.mean(),
                y + 0.5,
                raised(short(float(error[m].sel(example=case)))),
                ha="center",
                va="bottom",
                fontsize=8,
            )
    for i, m in enumerate(drawn):
        name = label(r, m).replace(", trained with masks", "\nwith masks")
        ax.text(-0.06, -i * high, name, ha="right", va="center", fontsize=9)
    ax.set(xlim=(-0.1, len(cases) * wide), ylim=(-(len(drawn) - 1) * high - 0.55, 1.2))
    ax.set_axis_off()
    return fig
