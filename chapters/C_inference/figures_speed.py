"""How fast the settle is beside other solvers: the figure."""

from __future__ import annotations

import matplotlib.pyplot as plt
import xarray as xr

from chapters.C_inference.tables_speed import SOLVERS, seconds
from vnlib.plots.style import PALETTE

COLORS = {"vn": PALETTE[0], "fista": PALETTE[1], "sklearn": PALETTE[2], "spams": PALETTE[3]}


def times(speed: xr.Dataset) -> plt.Figure:
    """Time per sample of every solver, one panel per size; one thread."""
    sizes = list(map(str, speed["size"].values))
    solvers = [s for s in SOLVERS if s in speed["solver"].values]
    fig, axes = plt.subplots(1, len(sizes), figsize=(9.8, 3.2), sharey=True, squeeze=False)
    found = seconds(speed).sel(threads=1)
    for ax, size in zip(axes[0], sizes, strict=True):
        d, K, n = map(int, size.split("x"))
        for gap, filled in zip(speed["gap"].values, (True, False), strict=False):
            for row, solver in enumerate(solvers):
                color = COLORS[solver.split("_")[0]]
                value = 1e3 * float(found.sel(size=size, solver=solver, gap=gap)) / n
                ax.plot(value, row, "o", mec=color, mfc=color if filled else "none", ms=6)
        ax.set(xscale="log", ylim=(len(solvers) - 0.5, -0.5), xlabel="ms per sample")
        ax.set_title(f"d = {d}, K = {K}\nB = {n}", fontsize=9)
        ax.grid(axis="both", color="0.93")
    axes[0, 0].set_yticks(range(len(solvers)), [SOLVERS[s] for s in solvers])
    return fig
