"""Motion signals: errors by kind and size of the move and by number of digits (VN Fig. 5b, c).

Results as in `chapters.fig5_mnist.figures`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from chapters.fig5_mnist.figures import (
    GROWTH,
    MSE,
    NOBODY,
    errors_of,
    line_styles,
    logarithmic,
    main_models,
    model_entries,
    power,
)
from vnlib.plots.frames import empty, long_frame

DOTTED = (0, (1, 3))
_STEPS = {"1": "", "1.5": "_x1.5", "2": "_x2", "3": "_x3"}
_COUNT = {"1": "", "2": "_2d", "3": "_3d"}
# Title of a panel of `motion_steps` -> name of its axis, value on it -> set.
PANELS: dict[str, tuple[str, dict[str, str]]] = {
    "one move, larger": ("size of the step", {x: f"single{end}" for x, end in _STEPS.items()}),
    "all three, larger": ("size of the step", {x: f"RTS{end}" for x, end in _STEPS.items()}),
    "other moves": ("kind of move", {name: name for name in ("single", "RT", "RS", "TS", "RTS")}),
    "one move, more digits": ("digits that move", {n: f"single{end}" for n, end in _COUNT.items()}),
    "all three, more digits": ("digits that move", {n: f"RTS{end}" for n, end in _COUNT.items()}),
    "all three of step 2, more digits": (
        "digits that move",
        {n: f"RTS_x2{end}" for n, end in _COUNT.items()},
    ),
}


def motion_steps(results: xr.Dataset, *, relative: bool = False) -> Figure:
    """Errors against size, kind and number of moves, or these over own ID error; dotted: the power
    of the signals.

    Every seed a point, lines through medians.
    """
    models = main_models(results, "motions")
    if not models:
        return empty(NOBODY)
    values = errors_of(results, "motions", relative=relative)
    zero, styles = power(results, "motions", relative=relative), line_styles(results, models)
    fig, axes = plt.subplots(2, 3, figsize=(9.2, 6.4), sharey=True)
    for ax, (title, (axis, sets)) in zip(axes.flat, PANELS.items(), strict=True):
        ticks = {x: name for x, name in sets.items() if name in values["set"].values}
        at = np.arange(len(ticks)) if axis == "kind of move" else np.array([*map(float, ticks)])
        for model, style in styles.items():
            one = values.sel(model=model, set=list(ticks.values()))
            frame = long_frame(one.assign_coords(x=("set", at)))
            sns.lineplot(
                frame.groupby("x", as_index=False)["value"].median(),
                x="x",
                y="value",
                estimator=None,
                color=style["color"],
                ls=style["ls"],
                lw=1.4,
                ax=ax,
            )
            sns.scatterplot(
                frame,
                x="x",
                y="value",
                color=style["color"],
                marker=style["marker"],
                s=16,
                zorder=3,
                ax=ax,
            )
        ax.plot(at, zero.sel(set=list(ticks.values())), color="k", ls=DOTTED, lw=1.2)
        ax.set(xlabel=axis, ylabel="")
        ax.set_xticks(at, list(ticks))
        logarithmic(ax, "y")
        ax.set_title(title, fontsize=10)
    fig.supylabel(GROWTH if relative else MSE, fontsize=10)
    dotted = Line2D([], [], color="k", ls=DOTTED, lw=1.2, label="power of the signals")
    fig.legend(
        handles=model_entries(results, styles, dotted),
        loc="outside upper center",
        ncols=4,
        fontsize=9,
    )
    return fig
