"""How far bodies go astray under a model that they follow, from results over (model, seed, panel,
start, step). What is lost is inf there, and drawn at `FAR`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from benchmarks.nbody.figures import DT, FAR, title
from vnlib.plots.frames import if_computed, label, some
from vnlib.plots.statistics import median, over_seeds
from vnlib.plots.style import look

FLOOR = 1e-5  # box; paths that are nearer are drawn here
FOLLOWED = (
    "vn_256",
    "vn_512_vector",
    "rbf_512",
    "process_rational",
    "factorized",
    "token_mlp_longer",
    "factorized_dense",
    "gnn",
    "mlp",
)


def followed(results: xr.Dataset) -> list[str]:
    """The models of `FOLLOWED` that bodies have followed."""
    if "drift" not in results:
        return []
    there = [m for m in FOLLOWED if m in results["model"].values]
    return [m for m in there if bool(results["drift"].sel(model=m).notnull().any())]


def distance(results: xr.Dataset, model: str) -> xr.DataArray:
    """Distance from the truth (seed, panel, step) [box], root mean square over bodies, the median
    over starts.
    """
    found = results["drift"].sel(model=model).reset_coords(drop=True).dropna("seed", how="all")
    return np.sqrt(median(found, "start"))


def energy_error(results: xr.Dataset, model: str) -> xr.DataArray:
    """How far the change of the energy is from the true one (seed, panel, step) [box²/s²], the median
    over starts, in panels without drag.
    """
    one = results.sel(model=model).reset_coords(drop=True)
    off = np.abs(one["energy"] - one["energy_true"])
    kept = ["drag" not in str(panel).split("+") for panel in off["panel"].values]
    return median(off.isel(panel=np.flatnonzero(kept)).dropna("seed", how="all"), "start")


@if_computed
def paths(results: xr.Dataset) -> Figure:
    """Distance from the true paths in time, single forces above, several below."""
    models, panels = some(followed(results)), [str(p) for p in results["panel"].values]
    rows = [[p for p in panels if ("+" in p) == several] for several in (False, True)]
    rows = [row for row in rows if row]
    width = max(map(len, rows))
    size = (3.4 * width, 2.7 * len(rows) + 1.1)
    fig, axes = plt.subplots(
        len(rows), width, figsize=size, sharex=True, sharey=True, squeeze=False
    )
    handles = {}
    for across, row in zip(axes, rows, strict=True):
        for ax in across[len(row) :]:
            ax.set_axis_off()
        for ax, panel in zip(across, row, strict=False):
            for model in models:
                told = over_seeds(distance(results, model).sel(panel=panel))
                told = told.isel(step=slice(1, None)).clip(FLOOR, FAR)
                color, marker = look(text := label(results, model))
                time = told["step"] * DT
                mark = {"color": color, "marker": marker, "ms": 5, "markevery": 0.25}
                (line,) = ax.plot(time, told["median"], lw=1.3, label=text, **mark)
                ax.fill_between(time, told["low"], told["high"], color=color, alpha=0.15, lw=0)
                handles.setdefault(text, line)
            ax.set_title(title(panel), fontsize=10)
            ax.grid(axis="y", color="0.93", lw=0.6)
        across[0].set_ylabel("distance [box]", fontsize=9)
        for ax in across[: len(row)]:
            ax.set_yscale("log")
    for ax in axes[-1, : len(rows[-1])]:
        ax.set_xlabel("time [s]", fontsize=9)
    fig.legend(handles=list(handles.values()), loc="outside lower center", ncols=3, fontsize=8)
    return fig
