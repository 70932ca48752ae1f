"""The example of appendix E: where the right atoms are found, and where that is guaranteed."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from chapters.E_theory.figures_recovery import band
from vnlib.plots.style import PALETTE, SEQUENTIAL


def example(r: xr.Dataset) -> plt.Figure:
    """Supports found by the lasso: over coherence and planted atoms, mean over seeds, with the
    cells that the theorem covers; and on the dictionary learned on digits, every seed a point.
    """
    fig, (planted, learned) = plt.subplots(1, 2, figsize=(9.4, 3.6), width_ratios=[1.25, 1])
    share = r["recovered"].sel(family="pairs", rule="exact")
    mus, counts = share["coherence"].values, share["active"].values
    edges = np.arange(len(mus) + 1) - 0.5
    rows = np.append(counts - 0.5, counts[-1] + 0.5)
    cells = 100 * share.mean("seed").transpose("active", "coherence")
    shown = planted.pcolormesh(edges, rows, cells, vmin=0, vmax=100, cmap=SEQUENTIAL)
    covered = np.ceil(r["bound"].sel(family="pairs").isel(seed=0).values) - 0.5
    planted.stairs(covered, edges, color=PALETTE[3], lw=3, baseline=rows[0])
    planted.set_xticks(np.arange(len(mus)), [f"{mu:.2g}" for mu in mus])
    planted.set(xlabel="largest cosine of two atoms", ylabel="planted atoms")
    planted.set_title("atoms of two bases", fontsize=11)
    fig.colorbar(shown, ax=planted, label="right atoms found (% of inputs)")
    band(learned, 100 * r["learned_recovered"].sel(learned_rule="exact"), "learned_active", "0.2")
    bound = float(r["learned_bound"].median())
    learned.axvspan(0, bound, fc="none", ec=PALETTE[3], lw=3)
    learned.text(bound, 20, " guaranteed", color=PALETTE[3], va="center", fontsize=11)
    learned.set(xlabel="planted atoms", ylabel="right atoms found (%)", ylim=(-3, 103))
    learned.set_xlim(0, float(r["learned_active"].max()))
    learned.set_title("atoms learned on digits", fontsize=11)
    return fig
