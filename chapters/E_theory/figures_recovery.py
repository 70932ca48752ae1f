"""Figures of appendix E on superposition and recovery (VN Prop. 1, Thm. 1)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from vnlib.plots.statistics import over_seeds
from vnlib.plots.style import PALETTE, SEQUENTIAL, look

SOLVERS = {"ista": "ISTA", "restart": "FISTA, restarted"}


def band(
    ax: plt.Axes,
    values: xr.DataArray,
    along: str,
    color: str,
    label: str | None = None,
    marker: str = "o",
    ls: str = "-",
) -> None:
    """The median over seeds as a line, its 95 % interval as a band, every seed a small point."""
    values = values.dropna(along, how="all").transpose("seed", along)
    found, x = over_seeds(values), values[along].values
    ax.plot(x, found["median"], color=color, marker=marker, ms=3.5, ls=ls, label=label)
    ax.fill_between(x, found["low"], found["high"], color=color, alpha=0.2, lw=0)
    ax.plot(np.tile(x, len(values)), values.values.ravel(), ".", color=color, ms=2, alpha=0.5)


def note(ax: plt.Axes, text: str, x: float, *, y: float = 0.5, color: str = "0.35") -> None:
    """A vertical dashed line with a name."""
    ax.axvline(x, color=color, ls="--", lw=1)
    place = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points", "va": "center"}
    ax.annotate(text, (x, y), xytext=(4, 0), **place, color=color, fontsize=8)


def superposition(r: xr.Dataset) -> plt.Figure:
    """Supports of sums: planted inputs by number of atoms, and pairs of digits."""
    fig, axes = plt.subplots(1, 2, figsize=(8.8, 3.3))
    band(axes[0], r["sum_overlap"].mean("planted_pair"), "each", PALETTE[0])
    note(axes[0], "bound, for both together", float(r["sum_bound"].isel(seed=0)) / 2, y=0.25)
    axes[0].set(
        xlabel="atoms in each of two planted inputs",
        ylabel="overlap of supports (Jaccard)",
        ylim=(0, 1.05),
    )
    axes[0].set_title("support of the sum against the union", fontsize=9)
    union, both = r["digits_union_active"].values.ravel(), r["digits_sum_active"].values.ravel()
    axes[1].scatter(union, both, s=9, alpha=0.5, color=PALETTE[1], lw=0)
    limit = 1.05 * max(union.max(), both.max())
    axes[1].plot([0, limit], [0, limit], color="0.4", ls="--", lw=1)
    axes[1].text(0.95 * limit, 0.97 * limit, "as many ", fontsize=8, color="0.35", ha="right")
    axes[1].set(
        xlabel="atoms that either digit uses", ylabel="atoms that their sum uses", xlim=(0, limit)
    )
    axes[1].set(ylim=(0, limit))
    axes[1].set_title("pairs of digits, learned dictionary", fontsize=9)
    return fig


def diagram(r: xr.Dataset) -> plt.Figure:
    """Phase diagrams of the share of supports recovered, with the bound."""
    families = {"pairs": "close in pairs", "common": "a common part"}
    rules = {
        "exact": "lasso: nonzero",
        "threshold": "lasso: above a tenth",
        "pursuit": "greedy pursuit",
    }
    mus, counts = r["coherence"].values, r["active"].values
    fig, axes = plt.subplots(2, 3, figsize=(9.4, 5.8), sharex=True, sharey=True)
    for row, family in zip(axes, families, strict=True):
        for ax, rule in zip(row, rules, strict=True):
            share = (
                r["recovered"]
                .sel(family=family, rule=rule)
                .mean("seed")
                .transpose("active", "coherence")
            )
            edges = np.arange(len(mus) + 1) - 0.5
            shown = ax.pcolormesh(
                edges,
                np.append(counts - 0.5, counts[-1] + 0.5),
                share,
                vmin=0,
                vmax=1,
                cmap=SEQUENTIAL,
            )
            # The largest number of atoms that is below the bound, as a step per column.
            bound = r["bound"].sel(family=family).isel(seed=0).values
            ax.stairs(np.ceil(bound) - 0.5, edges, color=PALETTE[3], lw=2, baseline=None)
            ax.set_title(f"{families[family]}, {rules[rule]}", fontsize=9)
        row[0].set_ylabel("planted atoms s")
    for ax in axes[1]:
        ax.set(
            xlabel=r"coherence $\mu$",
            xticks=np.arange(len(mus)),
            xticklabels=[f"{mu:.2g}" for mu in mus],
        )
        ax.tick_params(axis="x", labelsize=7.5)
    fig.colorbar(shown, ax=axes, label="share of supports recovered", shrink=0.6)
    axes[0, 0].plot([], [], color=PALETTE[3], lw=2, label="bound of Thm. 1")
    axes[0, 0].legend(fontsize=8, loc="upper right", labelcolor="white")
    return fig


def beyond(r: xr.Dataset) -> plt.Figure:
    """Where the bound is tight, recovery on a learned dictionary, and recovery with noise."""
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.9))
    for prefix, label, color, marker in (
        ("mixed_signs", "random signs", PALETTE[0], "o"),
        ("equal_signs", "equal coefficients", PALETTE[1], "s"),
    ):
        share = r[f"{prefix}_recovered"].sel({f"{prefix}_rule": "exact"})
        band(axes[0], share, f"{prefix}_active", color, label, marker)
    note(axes[0], "bound", float(r["equal_signs_bound"].isel(seed=0)), y=0.9)
    axes[0].set(xlabel="planted atoms s", ylabel="share of supports recovered")
    axes[0].set_title("simplex", fontsize=9)
    for rule, label, color, marker in (
        ("exact", "lasso: nonzero", PALETTE[0], "o"),
        ("threshold", "lasso: above a tenth", PALETTE[2], "^"),
        ("pursuit", "greedy pursuit", PALETTE[1], "s"),
    ):
        band(
            axes[1],
            r["learned_recovered"].sel(learned_rule=rule),
            "learned_active",
            color,
            label,
            marker,
        )
    note(axes[1], "bound", float(r["learned_bound"].median()), y=0.5)
    axes[1].set(xlabel="planted atoms s")
    axes[1].set_title("dictionary learned on digits", fontsize=9)
    band(axes[2], r["noisy_recovered"], "multiple", PALETTE[0], "recovered")
    for name, label, color, ls in (
        ("false", "atoms too many", PALETTE[1], "--"),
        ("missed", "too few", PALETTE[2], ":"),
    ):
        share = r[f"noisy_{name}"] / r["noisy_active"]
        band(axes[2], share.clip(max=1.0), "multiple", color, f"{label}, per planted atom", "", ls)
    axes[2].axvspan(2, r["multiple"].max(), color="0.9", zorder=0)
    axes[2].set(
        xscale="log",
        xlabel=r"$\lambda\ /\ \|V^\top e\|_\infty$",
        xlim=(r["multiple"].min(), r["multiple"].max()),
    )
    axes[2].set_title("noise, below the bound", fontsize=9)
    for ax in axes:
        ax.set_ylim(-0.04, 1.08)
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.22))
    return fig


def early(r: xr.Dataset) -> plt.Figure:
    """Active atoms, and the error of the update, by sweep."""
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.2))
    for ax, data in zip(axes, ("planted", "digits"), strict=False):
        for solver, name in SOLVERS.items():
            active = r["stopped_active"].sel(data=data, solver=solver)
            band(ax, active, "sweep", look(name)[0], name, look(name)[1])
        ax.axhline(
            float(r["settled_active"].sel(data=data).median("seed")), color="0.4", ls="--", lw=1
        )
        ax.set(xscale="log", xlabel="sweeps", ylabel="active atoms", ylim=(0, None))
        ax.set_title(f"{data}; dashed: settled", fontsize=9)
    for data, ls in (("planted", "-"), ("digits", "--")):
        for solver, name in SOLVERS.items():
            error = r["stopped_update"].sel(data=data, solver=solver).clip(min=1e-9)
            band(axes[2], error, "sweep", look(name)[0], f"{name}, {data}", look(name)[1], ls)
    axes[2].set(
        xscale="log", yscale="log", xlabel="sweeps", ylabel="relative error", ylim=(1e-6, 300)
    )
    axes[2].set_title("update of V at the stopped codes", fontsize=9)
    axes[0].legend(fontsize=8)
    axes[2].set_ylim(top=1e4)  # room for the legend
    axes[2].legend(fontsize=7.5, loc="upper right", handlelength=3)
    return fig
