"""The example of App. C: twelve ways down the energy of three layers, and where they end."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from chapters.C_inference.figures import LINES, SOLVERS

FLOOR = 1e-10  # of what is drawn


def example(r: xr.Dataset) -> plt.Figure:
    """F above its minimum of every schedule and method, deepest stack, median over digits of the
    first seed; beside it how far the codes end from each other's reference, the worst digit.
    """
    chosen = {"depth": int(r["depth"].max()), "beta": float(r["beta"][0])}
    one = r[["height", "end_distance"]].sel(chosen).isel(seed=0)
    fig, (paths, ends) = plt.subplots(1, 2, figsize=(9.4, 3.4), width_ratios=[2.2, 1])
    schedules = list(map(str, one["schedule"].values))
    rows = np.arange(len(schedules))
    for number, solver in enumerate(map(str, one["solver"].values)):
        label, color, marker = SOLVERS[solver]
        for schedule in schedules:
            curve = one["height"].sel(solver=solver, schedule=schedule)
            shown = curve.where(curve > FLOOR)
            paths.plot(r["sweep"], shown, color=color, ls=LINES[schedule], lw=1.6)
        distance = one["end_distance"].sel(solver=solver).values
        ends.plot(
            distance, rows + 0.15 * (number - 1.5), marker, color=color, ms=6, ls="", label=label
        )
    for schedule in schedules:
        paths.plot([], [], color="0.3", ls=LINES[schedule], label=schedule)
    paths.set(xscale="log", yscale="log", ylim=(FLOOR, 3), xlabel="sweeps")
    paths.set_ylabel("energy above its minimum,\nrelative")
    paths.legend(title="schedule", loc="lower left")
    ends.set(xscale="log", xlim=(1e-14, 1), ylim=(len(schedules) - 0.5, -0.5))
    ends.set_yticks(rows, schedules)
    ends.set_xlabel("distance of the codes\nfrom the reference at the end")
    ends.set_xticks(np.logspace(-12, 0, 4))
    ends.grid(axis="x", color="0.92")
    fig.legend(*ends.get_legend_handles_labels(), ncols=4, loc="outside upper center")
    return fig
