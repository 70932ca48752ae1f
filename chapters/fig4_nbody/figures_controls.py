"""What lies behind the errors of force composition: superposition, single laws, training (VN
Fig. 4, controls).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.figure import Figure

from benchmarks.nbody.figures import (
    GROUPS,
    LAWS,
    MEAN,
    MSE,
    RELATIVE,
    by_number,
    error,
    in_order,
    mixed,
)
from chapters.fig4_nbody.figures import FLOOR, NUMBERS, legend, pale, rows, shades
from vnlib.plots.frames import empty, label, long_frame
from vnlib.plots.statistics import median
from vnlib.plots.style import look


def passes(results: xr.Dataset) -> Figure:
    """Mixtures of five bodies: all forces at once (filled) against one pass per force (hollow); and
    how far apart.
    """
    models = in_order(results)
    if not models:
        return empty("No model was asked for.")
    fig, axes = plt.subplots(1, 2, figsize=(9, 1.5 + 0.28 * len(models)), sharey=True)
    both = {}
    for inference in ("joint", "passes"):
        values = error(results, inference=inference).sel(bodies=5)
        both[inference] = values.where(mixed(values)).mean("forces").clip(FLOOR)
        frame = long_frame(both[inference].sel(model=models))
        rows(axes[0], results, frame, models, hollow=inference == "passes")
    for y, model in enumerate(models):
        ends = [float(median(one.sel(model=model))) for one in both.values()]
        axes[0].plot(ends, [y, y], color=look(label(results, model))[0], lw=1, zorder=1)
    if MEAN in results["model"].values:
        axes[0].axvline(float(median(both["joint"].sel(model=MEAN))), color="k", ls=":", lw=1.2)
    gap = by_number(results["gap"]).clip(FLOOR)
    numbers = shades([2, 3, 4])
    for (number, share), shift in zip(numbers.items(), (-0.25, 0, 0.25), strict=True):
        frame = long_frame(gap.sel(model=models, number=number))
        rows(axes[1], results, frame, models, share=share, shift=shift)
    for ax, text in zip(
        axes,
        (f"mixtures, five bodies: {MSE}", "joint minus passes, mean square over power"),
        strict=True,
    ):
        ax.set_xscale("log")
        ax.set_xlabel(text, fontsize=8.5)
    named = {
        "all forces at once": {"color": "0.3"},
        "one pass per force": {"color": "0.3", "mfc": "w"},
        **{NUMBERS[n]: {"color": pale("black", share)} for n, share in numbers.items()},
    }
    legend(fig, results, models, named)
    return fig


def laws(results: xr.Dataset) -> Figure:
    """Relative error of each single force, five bodies."""
    models = in_order(results)
    if not models:
        return empty("No model was asked for.")
    single = error(results, relative=True).sel(bodies=5, model=models).clip(FLOOR)
    fig, axes = plt.subplots(1, 4, figsize=(9, 1.3 + 0.27 * len(models)), sharex=True, sharey=True)
    for ax, (law, name) in zip(axes, LAWS.items(), strict=True):
        rows(ax, results, long_frame(single.sel(forces=law)), models)
        ax.axvline(1, color="k", ls=":", lw=1.2)
        ax.set(xscale="log", title=name)
    fig.supxlabel(f"{RELATIVE}, five bodies", fontsize=10)
    legend(fig, results, models, {})
    return fig


def curves(results: xr.Dataset) -> Figure:
    """Validation error in training at tenths of the steps, medians over seeds, a panel per group of
    models.
    """
    models = in_order(results)
    frame = long_frame(results["curve"].sel(model=models).clip(FLOOR)) if models else []
    if not len(frame):
        return empty("No model that is trained was asked for.")
    kinds = [g for g in GROUPS if g in set(frame["group"])]
    fig, axes = plt.subplots(
        1, len(kinds), figsize=(3.4 * len(kinds) + 0.6, 4.4), sharey=True, squeeze=False
    )
    for ax, kind in zip(axes[0], kinds, strict=True):
        own = frame[frame["group"] == kind]
        order = [label(results, m) for m in models if label(results, m) in set(own["label"])]
        sns.lineplot(
            own,
            x="share",
            y="value",
            hue="label",
            style="label",
            hue_order=order,
            style_order=order,
            palette={name: look(name)[0] for name in order},
            estimator=np.median,
            errorbar=None,
            ax=ax,
        )
        ax.set(yscale="log", xlabel="share of the steps")
        ax.set_ylabel(f"{RELATIVE}, validation", fontsize=8.5)
        ax.set_title(GROUPS[kind], fontsize=10)
        ax.legend(title="", fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return fig
