"""How fast the settle is beside other solvers: the figure."""

from __future__ import annotations

import matplotlib.pyplot as plt
import xarray as xr

from chapters.C_inference.tables_speed import SOLVERS, micro
from vnlib.plots.style import PALETTE

LIBRARIES = ("vn", "fista", "sklearn", "spams", "celer", "skglm")


def times(speed: xr.Dataset) -> plt.Figure:
    """Time per sample of every solver, one panel per problem."""
    sizes, found = list(map(str, speed["size"].values)), micro(speed)
    solvers = [s for s in SOLVERS if s in speed["solver"].values]
    across = min(5, len(sizes))
    down = -(-len(sizes) // across)
    shape = {"figsize": (9.8, 3.4 * down), "sharey": True, "squeeze": False}
    fig, axes = plt.subplots(down, across, **shape)
    for ax, size in zip(axes.flat, sizes, strict=False):
        for gap, filled in zip(sorted(speed["gap"].values)[::-1], (True, False), strict=False):
            for row, solver in enumerate(solvers):
                color = PALETTE[LIBRARIES.index(solver.split("_")[0])]
                value = float(found.sel(size=size, solver=solver, gap=gap))
                ax.plot(value, row, "o", mec=color, mfc=color if filled else "none", ms=6)
        ax.set(xscale="log", ylim=(len(solvers) - 0.5, -0.5), xlabel="µs per sample")
        ax.set_title(size.replace(" ", "\n"), fontsize=9)
        ax.grid(axis="both", color="0.93")
    for ax in axes.flat[len(sizes) :]:
        ax.set_axis_off()
    for row in axes:
        row[0].set_yticks(range(len(solvers)), [SOLVERS[s] for s in solvers])
    return fig
