"""Signatures of failure, measured (VN App. G.3), from the results of chapter fig3_functions.

Dims as in `function_tables`, and band (cycles per signal), place (eighths of the hidden quarter).
Of whole signals: band_gain, band_missed, spread, bend, variety, correlation; of the hidden quarter:
tail_error, tail_truth, tail_drawn, tail_power, tail_growth, tail_jump, and seen_error on the
observed part.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

from chapters.G_functions.figures import FAMILY, OTHERS, VN, WAYS, blank, has
from vnlib.plots.rows import absent, group, label

COLLAPSE = {
    "spread": "spread: power\naround its own mean",
    "bend": "bend: power\naround its own best line",
    "variety": "variety: power\naround the mean drawing",
    "correlation": "correlation\nwith the signal",
}


def _named(r: xr.Dataset, names: Sequence[str] = (*VN, *OTHERS)) -> list[str]:
    return [m for m in names if has(r, m)]


def _panels(
    names: Sequence[str], r: xr.Dataset, height: float = 1.75
) -> tuple[plt.Figure, list[plt.Axes]]:
    """One small panel per model."""
    columns = min(6, len(names))
    rows = -(-len(names) // columns)
    fig, axes = plt.subplots(
        rows,
        columns,
        figsize=(0.6 + 1.75 * columns, 0.6 + height * rows),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax, m in zip(axes.flat, names, strict=False):
        ax.set_title(
            label(r, m).replace(", trained", ""), fontsize=8.5, color=FAMILY[group(r, m)][1]
        )
    return fig, list(axes.flat[: len(names)])


def bands(r: xr.Dataset, s: str = "hard") -> plt.Figure:
    """Per model, the share of power missed (filled) and the gain (hollow) in each band of
    frequency; seeds as lines.
    """
    names = _named(r)
    if not names:
        return absent("None of the paper's models was asked for.")
    fig, axes = _panels(names, r)
    x = np.arange(r.sizes["band"])
    for ax, m in zip(axes, names, strict=True):
        color = FAMILY[group(r, m)][1]
        one = r.sel(model=m, set=s)
        for name, style in (("band_missed", "-"), ("band_gain", "--")):
            values = one[name].transpose("seed", "band")
            for seed in values.values:
                ax.plot(x, seed, color=color, lw=0.6, alpha=0.5, ls=style)
            mean = values.mean("seed")
            ax.plot(
                x,
                mean,
                color=color,
                marker="o",
                ms=4.5,
                ls=style,
                lw=1.5,
                mfc=color if style == "-" else "white",
                label=name.removeprefix("band_"),
            )
        ax.axhline(1, color="k", ls=":", lw=1)
        ax.set(xticks=x, ylim=(-0.1, 1.6))
        ax.set_xticklabels(r["band"].values, fontsize=6.5, rotation=60)
    fig.supxlabel("band [cycles per signal]", fontsize=10)
    fig.supylabel("share of the band's power", fontsize=10)
    _legend(
        fig, [("missed (1: the zero prediction)", "-", "0.3"), ("gain (1: perfect)", "--", "white")]
    )
    return fig


def _legend(fig: plt.Figure, entries: Sequence[tuple[str, str, str]]) -> None:
    handles = [
        plt.Line2D([], [], color="0.3", ls=style, marker="o", ms=4.5, mfc=fill, label=said)
        for said, style, fill in entries
    ]
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8.5)


def collapse(r: xr.Dataset, s: str = "hard") -> plt.Figure:
    """What is left of a signal's shape, one panel per measure, one row per model; 1 is the
    truth's.
    """
    names = _named(r)
    if not names:
        return absent("None of the paper's models was asked for.")
    fig, axes = plt.subplots(1, 4, figsize=(11, 1.0 + 0.24 * len(names)), sharey=True)
    for ax, (name, title) in zip(axes, COLLAPSE.items(), strict=True):
        for y, m in enumerate(names):
            values = r[name].sel(model=m, set=s).values
            color = FAMILY[group(r, m)][1]
            ax.scatter(values, np.full(len(values), y), s=10, color=color, alpha=0.4, lw=0)
            ax.scatter(np.nanmean(values), y, s=34, color=color)
        ax.axvline(1, color="k", lw=0.8)
        ax.axvline(0, color="k", ls=":", lw=1)
        ax.set_title(title, fontsize=9)
        ax.grid(axis="y", lw=0.4, alpha=0.5)
    axes[0].set(yticks=range(len(names)), ylim=(len(names) - 0.5, -0.5))
    axes[0].set_yticklabels([label(r, m) for m in names], fontsize=8)
    fig.supxlabel(
        "relative to the signal (0: a blank, a line, or one drawing for all)", fontsize=9.5
    )
    return fig


def tails(r: xr.Dataset, s: str = "hard") -> plt.Figure:
    """Per model, the error along the hidden quarter over the signal's own power there; filled
    paper, hollow mask-aware.

    Dotted: the zero prediction. Dashed: the last value held.
    """
    names = _named(r, (*VN, *OTHERS, "deep_ae_masked"))
    if not names:
        return absent("None of the paper's models was asked for.")
    fig, axes = _panels(names, r)
    for ax, m in zip(axes, names, strict=True):
        color = FAMILY[group(r, m)][1]
        for way, style in (("zero_filled", "-"), ("mask_aware", "--")):
            one = r.sel(model=m, set=s, protocol=way)
            values = (one["tail_error"] / one["tail_truth"]).transpose("seed", "place")
            if not np.isfinite(values).any():
                continue
            for seed in values.values:
                ax.plot(r["place"], seed, color=color, lw=0.5, alpha=0.5, ls=style)
            ax.plot(
                r["place"],
                values.mean("seed"),
                color=color,
                marker="o",
                ms=4,
                lw=1.4,
                ls=style,
                mfc=color if style == "-" else "white",
            )
        ax.axhline(1, color="k", ls=":", lw=1)
        if has(r, "hold_last"):
            held = r.sel(model="hold_last", set=s, protocol="mask_aware")
            ax.plot(
                r["place"],
                (held["tail_error"] / held["tail_truth"]).mean("seed"),
                color="0.4",
                ls="--",
                lw=0.9,
            )
        ax.set(ylim=(0, 3), xticks=[1, 4, 8])
    fig.supxlabel("eighth of the hidden quarter", fontsize=10)
    fig.supylabel("error / power of the signal", fontsize=10)
    _legend(fig, [(WAYS["zero_filled"], "-", "0.3"), (WAYS["mask_aware"], "--", "white")])
    return fig


def table(r: xr.Dataset, s: str = "hard") -> pd.DataFrame | str:
    """All signatures of every model in numbers, means over seeds; tails under the paper's
    protocol.
    """
    names = _named(r)
    if not names:
        return "None of the paper's models was asked for in this profile."
    rows = {}
    for m in names:
        one = r.sel(model=m, set=s).mean("seed")
        tail = one.sel(protocol="zero_filled")
        relative = float(tail["tail_error"].sum() / tail["tail_truth"].sum())
        values = {
            "bend": one["bend"],
            "variety": one["variety"],
            "correlation": one["correlation"],
            "missed to 5 cycles": low_missed(one),
            "missed 10-20": one["band_missed"].sel(band="10-20"),
            "gain 10-20": one["band_gain"].sel(band="10-20"),
            "tail: power": tail["tail_power"],
            "tail: error / power": relative,
            "tail: growth": tail["tail_growth"],
            "error where seen": tail["seen_error"],
        }
        rows[label(r, m)] = {
            k: "" if not np.isfinite(float(v)) else f"{float(v):.2g}" for k, v in values.items()
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(columns="model")


def low_missed(one: xr.Dataset) -> xr.DataArray:
    """Share of the power up to 5 cycles per signal that a drawing misses."""
    low = one[["band_missed", "band_power"]].sel(band=["0", "0-2", "2-5"])
    return (low["band_missed"] * low["band_power"]).sum("band", skipna=False) / low[
        "band_power"
    ].sum("band")


def said(r: xr.Dataset) -> str:
    """What the measures say of each signature that the paper names, as Markdown; means over seeds,
    Hard signals.
    """
    hard, lines = r.sel(set="hard").mean("seed"), []

    def of(name: str, m: str, **where: str) -> float:
        return float(hard[name].sel(model=m, **where))

    if has(r, "deep_ae"):
        lines.append(
            f"- **DeepAE3, mean or line:** its drawings have {100 * of('bend', 'deep_ae'):.0f} % "
            "of the signal's power around their own best line, and a correlation of "
            f"{of('correlation', 'deep_ae'):.2f} with the signal: "
            f"{'a collapse' if of('bend', 'deep_ae') <= 0.25 else 'no collapse'} by our rule (25 "
            "%)."
        )
    if has(r, "rnn"):
        gains = [of("band_gain", "rnn", band=b) for b in ("0-2", "2-5", "5-10", "10-20")]
        lines.append(
            "- **RNN, low-frequency envelope:** gain of "
            + ", ".join(
                f"{g:.2f} at {b} cycles"
                for g, b in zip(gains, ("0-2", "2-5", "5-10", "10-20"), strict=True)
            )
            + "; up to 5 cycles it misses "
            f"{100 * float(low_missed(hard.sel(model='rnn'))):.0f} % of the power."
        )
    if has(r, "mamba_bottleneck"):
        one = hard.sel(model="mamba_bottleneck")
        lines.append(
            "- **Mamba-bottleneck, shape without detail:** it misses "
            f"{100 * float(low_missed(one)):.0f} % of the power up to 5 cycles and "
            f"{100 * float(one['band_missed'].sel(band='10-20')):.0f} % at 10 to 20."
        )
    for m in (m for m in VN if has(r, m)):
        one = hard.sel(model=m)
        lines.append(
            f"- **{label(r, m)}, by the same measures:** it misses "
            f"{100 * float(low_missed(one)):.1f} % up to 5 cycles, "
            f"{100 * float(one['band_missed'].sel(band='10-20')):.0f} % at 10 to 20; its error "
            f"is {100 * float(one['mse']) / float(blank(r).sel(set='hard')):.1f} % of the "
            "signal's power."
        )
    for m in (m for m in (*VN, *OTHERS) if has(r, m)):
        tail = hard.sel(model=m, protocol="zero_filled")
        relative = float(tail["tail_error"].sum() / tail["tail_truth"].sum())
        if np.isfinite(relative):
            lines.append(
                f"- **{label(r, m)}, hidden quarter:** {100 * float(tail['tail_power']):.0f} % "
                f"of the signal's power there, error {relative:.2f} of it, from "
                f"{_eighth(tail, 1):.2f} in the first to {_eighth(tail, 8):.2f} in the last "
                "eighth."
            )
    return "\n".join(lines) or "None of the models that the paper names was asked for."


def _eighth(tail: xr.Dataset, place: int) -> float:
    one = tail.sel(place=place)
    return float(one["tail_error"] / one["tail_truth"])
