"""Figures of appendix E on learning, capacity and failure (VN Prop. 2, Remarks 1, 6 and 7)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from chapters.E_theory.figures_recovery import band, note
from vnlib.plots.style import PALETTE


def learning(r: xr.Dataset) -> plt.Figure:
    """Planted atoms that Atomic-Hebb finds, by atoms per sample."""
    fig, ax = plt.subplots(figsize=(5.4, 3.2))
    band(ax, r["found"], "mixed", PALETTE[0], "after learning")
    band(ax, r["found_at_start"], "mixed", PALETTE[7], "at the start (samples)", "^", "--")
    note(ax, "bound", 0.5 * (1 + 1 / float(r["planted_mu"].median())), y=0.5)
    ax.set(
        xlabel="planted atoms in every sample", ylabel="share of atoms found", ylim=(-0.03, 1.05)
    )
    ax.legend(fontsize=8)
    return fig


def rank(r: xr.Dataset) -> plt.Figure:
    """Rank of W(x) against active atoms; parameters in use, of a dense layer, of the library."""
    fig, axes = plt.subplots(1, 2, figsize=(8.8, 3.4))
    layers, limit = r["layer"].values, 1.08 * float(r["active_atoms"].max())
    axes[0].plot([0, limit], [0, limit], color="0.4", ls="--", lw=1, label="rank = active atoms")
    for layer in layers:
        active, ranks = (
            r[name].sel(layer=layer).values.ravel() for name in ("active_atoms", "rank")
        )
        label = f"layer {layer}" + (
            f" (k = {int(r['cap'].sel(layer=layer).max())})" if layer == layers[-1] else ""
        )
        axes[0].scatter(
            active,
            ranks,
            s=12,
            alpha=0.5,
            color=PALETTE[layer - 1],
            marker="os^"[layer - 1],
            label=label,
        )
    axes[0].set(xlabel="active atoms", ylabel="rank of W(x)", xlim=(0, limit), ylim=(0, limit))
    axes[0].legend(fontsize=8)
    use = r["active_atoms"] * r["per_atom"] / r["dense"]
    for layer in layers:
        values = use.sel(layer=layer).values.ravel()
        axes[1].boxplot(
            values,
            positions=[layer - 1],
            widths=0.35,
            showfliers=False,
            medianprops={"color": "0.2"},
        )
        axes[1].plot(
            layer - 1,
            float((r["library"] / r["dense"]).sel(layer=layer).max()),
            "D",
            color=PALETTE[3],
            ms=7,
            label="whole library" if layer == layers[0] else None,
        )
    axes[1].axhline(1, color="0.4", ls="--", lw=1, label="dense layer, d m")
    axes[1].set(
        xticks=np.arange(len(layers)), xticklabels=[f"layer {n}" for n in layers], ylim=(0, None)
    )
    axes[1].set(ylabel="parameters / d m", xlim=(-0.5, len(layers) - 0.5))
    axes[1].legend(fontsize=8, loc="center right")
    return fig


def capacity(r: xr.Dataset) -> plt.Figure:
    """What is left of superpositions of more and more parts, with a cap and without."""
    fig, axes = plt.subplots(1, 2, figsize=(8.8, 3.2))
    names = {"planted": "planted atoms superposed", "digits": "digits superposed"}
    for ax, (data, label) in zip(axes, names.items(), strict=True):
        for kind, color, marker in (("capped", PALETTE[0], "o"), ("free", PALETTE[1], "s")):
            left = 100 * r[f"{data}_left"].sel({f"{data}_kind": kind})
            band(
                ax,
                left,
                f"{data}_parts",
                color,
                {"capped": "at most k atoms", "free": "no cap"}[kind],
                marker,
            )
        ax.set(xlabel=label, ylabel="power left (%)", ylim=(0, None))
    note(axes[0], f"k = {int(r['cap_k'].isel(seed=0))}", float(r["cap_k"].isel(seed=0)), y=0.9)
    axes[1].set_title(
        f"k = {int(r['digits_cap_k'].isel(seed=0))}, dictionary learned on single digits",
        fontsize=9,
    )
    axes[0].legend(fontsize=8, loc="center right")
    return fig


def collapse(r: xr.Dataset) -> plt.Figure:
    """Recovery with copied atoms; what decorrelation does to learned dictionaries."""
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 3.4))
    place = np.arange(r.sizes["cosine"])
    for level, color, marker in zip(r["noise"].values, PALETTE, "os^D", strict=False):
        share = r["twin_recovered"].sel(noise=level).assign_coords(cosine=place)
        band(
            axes[0],
            share,
            "cosine",
            color,
            "no noise" if level == 0 else f"noise {100 * level:g} %",
            marker,
        )
    folded = r["twin_folded"].min(("noise", "seed")).values
    axes[0].plot(place, folded, color="0.4", ls="--", lw=1, label="worst, copies as one")
    axes[0].set(
        xticks=place,
        xticklabels=[f"{c:g}" for c in r["cosine"].values],
        xlabel="cosine of atom and copy",
    )
    axes[0].set(ylabel="share of supports recovered", ylim=(-0.03, 1.05))
    axes[0].tick_params(axis="x", labelsize=7.5)
    axes[0].legend(fontsize=7.5, loc="lower left")
    place, sizes = np.arange(r.sizes["strength"]), r["atoms"].values
    for ax, size in zip(axes[1:], sizes[[0, -1]], strict=True):
        for name, label, color, marker in (
            ("grown_mu", r"coherence $\mu$", PALETTE[3], "D"),
            ("grown_found", "planted atoms found", PALETTE[0], "o"),
            ("grown_named", "supports named right", PALETTE[2], "^"),
        ):
            band(
                ax,
                r[name].sel(atoms=size).assign_coords(strength=place),
                "strength",
                color,
                label,
                marker,
            )
        ax.set(
            xticks=place, xticklabels=[f"{s:g}" for s in r["strength"].values], ylim=(-0.03, 1.05)
        )
        ax.set(xlabel="strength of decorrelation", ylabel="share, or largest cosine")
        ax.set_title(f"{size} atoms learn {int(r['planted_atoms'].isel(seed=0))}", fontsize=9)
    axes[2].legend(fontsize=7.5, loc="lower left")
    return fig
