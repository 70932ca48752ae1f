"""Figures of capacity and failure (VN Prop. 2, Remarks 6 and 7), the table and the summary of VN
App. E.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
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
    """Rank of W(x) against active atoms, and parameters in use against those of a dense layer and
    of the library.
    """
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
        ax.set(xlabel="strength of decorrelation")
        ax.set_title(f"{size} atoms learn {int(r['planted_atoms'].isel(seed=0))}", fontsize=9)
    axes[2].legend(fontsize=7.5, loc="lower left")
    return fig


def table(r: xr.Dataset) -> pd.DataFrame:
    """The numbers that the text rests on: median, lowest and highest seed."""
    exact, cells = r["recovered"].sel(rule="exact"), ("family", "coherence", "active")
    below, above = exact.where(r["active"] < r["bound"]), exact.where(r["active"] >= r["bound"])
    stopped = r[["stopped_active", "stopped_update"]].sel(data="digits", solver="ista", sweep=20)
    rows = {
        "V(a+b) - Va - Vb, float32 (eps)": r["rounding"].sel(dtype="float32"),
        "V(a+b) - Va - Vb, float64 (eps)": r["rounding"].sel(dtype="float64"),
        "the same for relu(V a), relative": r["relu_error"],
        "recovered below the bound, worst cell": below.min(cells),
        "recovered at or above it, mean of the diagram": above.mean(cells),
        "largest duality gap of the diagram / energy": r["largest_gap"].max(
            ("family", "coherence")
        ),
        "mu of the dictionary learned on digits": r["learned_mu"],
        "overlap of sum and union, digits": r["digits_sum_overlap"].median("digits_pair"),
        "active / settled atoms after 20 ISTA sweeps, digits": stopped["stopped_active"]
        / r["settled_active"].sel(data="digits"),
        "error of the update after 20 ISTA sweeps, digits": stopped["stopped_update"],
    }
    for layer in r["layer"].values:
        one = r.sel(layer=layer)
        rows |= {
            f"layer {layer}: samples with rank = active atoms": (
                one["rank"] == one["active_atoms"]
            ).mean("sample"),
            f"layer {layer}: parameters in use / d m": one["active_atoms"].mean("sample")
            * one["per_atom"]
            / one["dense"],
            f"layer {layer}: library / d m": one["library"] / one["dense"],
        }
    columns = {"median": "median", "lowest": "min", "highest": "max"}
    numbers = {
        row: {c: f"{float(getattr(v, f)()):.3g}" for c, f in columns.items()}
        for row, v in rows.items()
    }
    return pd.DataFrame.from_dict(numbers, orient="index").rename_axis(columns="over seeds")


def summary(r: xr.Dataset) -> str:
    """The results in a few sentences, as Markdown; medians over seeds unless they say otherwise."""
    exact = r["recovered"].sel(rule="exact")
    below, above = (
        exact.where(r["active"] < r["bound"]).min(),
        exact.where(r["active"] >= r["bound"]).mean(),
    )
    error = {case: float(r["gradient_error"].sel(case=case).max()) for case in r["case"].values}
    joint, summed = (r["sweep_rises"].sel(counted=c).mean() for c in ("joint", "summed"))
    grown = r[["grown_named", "grown_found"]].median("seed")
    surplus, fitting = grown.isel(atoms=-1, drop=True), grown.isel(atoms=0, drop=True)
    best = surplus["grown_named"].where(surplus["strength"] > 0).idxmax("strength")
    mended, harmed = (
        surplus["grown_named"].sel(strength=[0, best]),
        fitting["grown_found"].sel(strength=[0, best]),
    )

    def percent(value: xr.DataArray) -> str:
        return f"{100 * float(value):.0f} %"

    mu, bound, overlap = (
        r[n].median() for n in ("learned_mu", "learned_bound", "digits_sum_overlap")
    )
    return "\n".join(
        [
            f"- **Recovery.** Below the bound {percent(below)} of the planted supports come back "
            "in the worst cell of the diagram. The bound is cautious: at or above it "
            f"{percent(above)} of all supports still do.",
            f"- **On digits** the learned dictionary has a coherence of {float(mu):.2f}, for "
            f"which the bound is {float(bound):.2f} atoms. The support of the sum of two digits "
            f"has {percent(overlap)} in common with the union of their supports (median of "
            "pairs).",
            "- **Gradient.** The relative error of residual times code is at most "
            f"{error['one layer']:.0e} for one layer and {error['three layers']:.0e} for three "
            f"layers and F, {error['summed']:.2g} for the layer energies added up, "
            f"{error['ReLU']:.2g} with ReLU messages.",
            f"- **Descent.** F rises in {percent(joint)} of the sweeps of three layers, the "
            f"layer energies added up in {percent(summed)}.",
            f"- **Decorrelation** of strength {float(best):g} changes the supports that are "
            f"named right from {percent(mended[0])} to {percent(mended[1])} where atoms are "
            "surplus; where none is, it changes the planted atoms that are found from "
            f"{percent(harmed[0])} to {percent(harmed[1])}.",
        ]
    )
