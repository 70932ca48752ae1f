"""Tables 5 and 6 of the VN paper as points, for the pages that show them: Fig. 3, App. G.

Results are those of chapter fig3_functions, with the coordinates `label` and `group` of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
import xarray as xr
from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, LogLocator, MaxNLocator, NullFormatter

from benchmarks.baselines.figures import between_groups, of_groups, seeds_and_medians
from benchmarks.functions.names import MASKS, SETS
from benchmarks.functions.protocols import PROTOCOLS
from benchmarks.functions.tables import GROUPS, RULES, UNIT, measured, present
from vnlib.plots import frames
from vnlib.plots.statistics import median

FLOOR = 1e-5  # smaller reconstruction errors are drawn here
# Times the zero baseline: larger errors are drawn here, or a few explosions would hide all else.
FAR = 5


def log_axis(axis: plt.matplotlib.axis.Axis) -> None:
    """Labels of a logarithmic axis that do not touch: few over a factor, several in a decade, or
    decades only.
    """
    low, high = axis.get_view_interval()
    if high / low < 300:
        several = LogLocator(subs=(1, 2, 5) if high / low < 30 else (1, 3))
        axis.set_major_locator(MaxNLocator(4) if high / low < 4 else several)
        axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def reconstruction(results: xr.Dataset) -> plt.Figure:
    """Table 5: error on whole signals, a panel for each set; dotted: the zero baseline."""
    models = [m for m in measured(results, results["mse"]) if m != "zero_baseline"]
    if not models:
        return frames.empty("No model that reconstructs was asked for.")
    order = [frames.label(results, m) for m in models]
    groups = [frames.group(results, m) for m in models]
    frame = frames.long_frame(results["mse"].sel(model=models).clip(FLOOR), "error")
    fig, axes = plt.subplots(
        1, 3, figsize=(9.8, 1.4 + 0.24 * len(models)), sharex=True, sharey=True
    )
    for ax, (name, title) in zip(axes, SETS.items(), strict=True):
        seeds_and_medians(
            ax,
            frame[frame["set"] == name],
            value="error",
            by="label",
            order=order,
        )
        ax.axvline(float(results["zero_baseline"].sel(set=name).max()), color="0.2", ls=":", lw=1.3)
        between_groups(ax, groups, margin=0.5)
        ax.set(xscale="log", title=title, xlabel="")
        ax.tick_params(axis="y", labelsize=8)
    axes[1].set_xlabel(f"mean squared error of whole signals [{UNIT}]")
    zero = Line2D([], [], color="0.2", ls=":", label=RULES["zero_baseline"][0])
    fig.legend(
        handles=[*of_groups(results, models, GROUPS), zero],
        loc="outside lower center",
        ncols=5,
        fontsize=8,
    )
    return fig


def by_set(results: xr.Dataset, mask: str = "forecast_25") -> plt.Figure:
    """Table 6 under one mask: error on hidden samples, a panel for each set."""
    return _hidden(
        results, {title: {"mask": mask, "set": name} for name, title in SETS.items()}, MASKS[mask]
    )


def by_mask(results: xr.Dataset, name: str = "hard") -> plt.Figure:
    """Table 6 of one set: error on hidden samples, a panel for each mask."""
    return _hidden(
        results, {title: {"mask": mask, "set": name} for mask, title in MASKS.items()}, SETS[name]
    )


def _hidden(results: xr.Dataset, panels: Mapping[str, Mapping[str, str]], said: str) -> plt.Figure:
    """Errors on hidden samples, filled where models read zeros, of a Vector Network after five
    rounds, and hollow where the mask is told, of a Vector Network solved; lines: rules of thumb.
    """
    models = [m for m in measured(results, results["hidden"]) if m not in RULES]
    if not models:
        return frames.empty("No model was asked for.")
    groups = [frames.group(results, m) for m in models]
    fig, axes = plt.subplots(1, len(panels), figsize=(11, 1.6 + 0.27 * len(models)), sharey=True)
    for ax, (title, cell) in zip(axes, panels.items(), strict=True):
        far = FAR * float(results["zero_baseline_hidden"].sel(cell).max())
        values = results["hidden"].sel(cell).clip(max=far)
        _two_protocols(ax, values.sel(model=models), [frames.label(results, m) for m in models])
        for rule in present(results, list(RULES)):
            at = float(median(values.sel(model=rule, protocol="mask_aware")))
            if at > 0:
                ax.axvline(at, color="0.2", ls=RULES[rule][1], lw=1.1, zorder=1)
        between_groups(ax, groups, margin=0.5)
        ax.set(xscale="log", title=title, xlabel="")
        ax.tick_params(axis="y", labelsize=8)
        log_axis(ax.xaxis)
    fig.supxlabel(f"mean squared error on hidden samples ({said}) [{UNIT}]", fontsize=10)
    marks = [
        Line2D([], [], color="0.3", marker="o", mfc=face, ls="", ms=5, label=text)
        for face, text in zip(("0.3", "none"), PROTOCOLS.values(), strict=True)
    ]
    lines = [
        Line2D([], [], color="0.2", ls=RULES[r][1], label=RULES[r][0])
        for r in present(results, list(RULES))
    ]
    handles = [*of_groups(results, models, GROUPS), *marks, *lines]
    fig.legend(handles=handles, loc="outside upper center", ncols=5, fontsize=8)
    return fig


def _two_protocols(ax: plt.Axes, values: xr.DataArray, order: Sequence[str]) -> None:
    frame: pd.DataFrame = frames.long_frame(values, "error")
    for protocol, hollow, shift in (("zero_filled", False, -0.17), ("mask_aware", True, 0.17)):
        one = frame[frame["protocol"] == protocol]
        seeds_and_medians(
            ax,
            one,
            value="error",
            by="label",
            order=order,
            hollow=hollow,
            shift=shift,
        )
