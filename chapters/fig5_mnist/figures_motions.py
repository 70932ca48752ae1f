"""Motion signals: errors by kind and size of the move and by number of digits (VN Fig. 5b, c).

Datasets as in `figures.images`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.lines import Line2D

from chapters.fig5_mnist.figures import (
    GROWTH,
    MSE,
    NOBODY,
    colors,
    error,
    inside,
    legend,
    logarithmic,
    main,
    power,
)
from vnlib.plots.rows import absent

STEPS = {1.0: "", 1.5: "_x1.5", 2.0: "_x2", 3.0: "_x3"}
DIGITS = {1: "", 2: "_2d", 3: "_3d"}
# Title -> (name of the axis, value on it -> set).
PANELS: dict[str, tuple[str, dict]] = {
    "one move, larger": ("size of the step", {step: f"single{end}" for step, end in STEPS.items()}),
    "all three, larger": ("size of the step", {step: f"RTS{end}" for step, end in STEPS.items()}),
    "other moves": ("kind of move", {name: name for name in ("single", "RT", "RS", "TS", "RTS")}),
    "one move, more digits": ("digits that move", {n: f"single{end}" for n, end in DIGITS.items()}),
    "all three, more digits": ("digits that move", {n: f"RTS{end}" for n, end in DIGITS.items()}),
    "all three of step 2, more digits": (
        "digits that move",
        {n: f"RTS_x2{end}" for n, end in DIGITS.items()},
    ),
}


def steps(results: xr.Dataset, *, relative: bool = False) -> plt.Figure:
    """Errors against size, kind and number of moves, or these over own ID error; dotted: the power
    of the signals.

    Every seed a point, lines through medians.
    """
    models = main(results, "motions")
    if not models:
        return absent(NOBODY)
    values, styles = error(results, "motions", relative=relative), colors(results, models)
    blank = power(results, "motions")
    blank = blank / blank.sel(set=inside("motions"), drop=True) if relative else blank
    fig, axes = plt.subplots(2, 3, figsize=(9.2, 6.4), sharey=True)
    for ax, (title, (axis, sets)) in zip(axes.flat, PANELS.items(), strict=True):
        at = {name: x for x, name in sets.items() if name in values["set"].values}
        if axis == "kind of move":
            at = {name: number for number, name in enumerate(at)}
            ax.set_xticks(list(at.values()), list(at))
        else:
            ax.set_xticks(list(at.values()))
        for model, style in styles.items():
            one = values.sel(model=model, set=list(at))
            ax.plot(
                list(at.values()), one.median("seed"), color=style["color"], ls=style["ls"], lw=1.4
            )
            for name, x in at.items():
                seeds = one.sel(set=name).dropna("seed").values
                ax.scatter(
                    [x] * len(seeds),
                    seeds,
                    color=style["color"],
                    marker=style["marker"],
                    s=13,
                    zorder=3,
                )
        ax.plot(list(at.values()), blank.sel(set=list(at)), color="k", ls=(0, (1, 3)), lw=1.2)
        ax.set(xlabel=axis)
        logarithmic(ax, "y")
        ax.set_title(title, fontsize=10)
    fig.supylabel(GROWTH if relative else MSE, fontsize=10)
    dotted = Line2D([], [], color="k", ls=(0, (1, 3)), lw=1.2, label="power of the signals")
    fig.legend(
        handles=legend(results, styles, dotted), loc="outside upper center", ncols=4, fontsize=9
    )
    return fig
