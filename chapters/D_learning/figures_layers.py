"""Figures of appendix D on several layers: the interface, two objectives, units of sparsity."""

from __future__ import annotations

import matplotlib.pyplot as plt
import seaborn as sns
import xarray as xr

from chapters.D_learning.figures import curves, sizes_as_ticks
from vnlib.plots.frames import long_frame
from vnlib.plots.statistics import median
from vnlib.plots.style import PALETTE

RULES = {
    "subspace": ("subspace rule (ours)", PALETTE[0], "o", "-"),
    "untied": ("subspace, B untied", PALETTE[9], "v", ":"),
    "frozen": ("frozen, tight frame", PALETTE[7], "^", "-."),
    "literal": ("literal rule (VN Eq. 9)", PALETTE[3], "s", "--"),
    "silent": ("set by hand: silent", "black", "X", ""),
}
PANELS = {
    "mse": "error of V a",
    "mse_from_top": "error from the top code down",
    "energy": "energy F above that of\nthe frozen interface (%)",
    "captured": "code power that the\nmessage can hold",
    "rank": "effective rank of U",
    "message": "length of the message",
}
OBJECTIVES = {
    "F": "change of the energy F (%)",
    "C": "change of C, the code that\ncannot be read back (%)",
}
LAYERS = ((PALETTE[0], "o", "-"), (PALETTE[1], "D", "--"), (PALETTE[2], "^", ":"))


def interface(results: xr.Dataset) -> plt.Figure:
    """Both readings, the energy F, and what the message holds, over training, for every rule."""
    fig, axes = plt.subplots(2, 3, figsize=(10.2, 5.6))
    for ax, (name, title) in zip(axes.flat, PANELS.items(), strict=True):
        values = results[f"interface_{name}"]
        if name == "energy":
            values = 100 * (values / values.sel(rule="frozen") - 1)
        for rule, (text, color, marker, line) in RULES.items():
            style = {"ms": 5, "ls": line, "label": text}
            curves(ax, values.sel(rule=rule), "stage", color, marker, **style)
        ax.set(xlabel="updates", ylabel="", title=title)
    zero = float(results["mse_zero"].mean())
    strict = axes[0, 1]
    strict.axhline(zero, color="0.4", lw=1, ls=":")
    strict.text(0, 0.98 * zero, "zero baseline", fontsize=8, va="top", color="0.3")
    for ax in axes[0, :2]:
        ax.set_ylim(0, None)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8.5)
    return fig


def objectives(results: xr.Dataset) -> plt.Figure:
    """Relative change of F and of C when one dictionary learns and the others rest."""
    fig, axes = plt.subplots(1, 2, figsize=(8.6, 2.5), sharey=True)
    learns = results["moved"].values.tolist()
    for ax, (objective, text) in zip(axes, OBJECTIVES.items(), strict=True):
        values = 100 * results["objective_change"].sel(objective=objective)
        frame, middle = long_frame(values), median(values)
        common = {"x": "value", "y": "moved", "order": learns, "ax": ax}
        colors = {m: PALETTE[0 if float(middle.sel(moved=m)) < 0 else 3] for m in learns}
        sns.barplot(
            frame,
            **common,
            hue="moved",
            palette=colors,
            estimator="median",
            errorbar=None,
            alpha=0.45,
            saturation=1,
        )
        sns.stripplot(frame, **common, color="black", size=4, alpha=0.6, jitter=False)
        ax.axvline(0, color="0.3", lw=1)
        ax.set(xlabel=text, ylabel="")
    axes[0].set_yticks(
        range(len(learns)), [f"only {m} rule" if "," in m else f"only {m} learns" for m in learns]
    )
    return fig


def units(results: xr.Dataset) -> plt.Figure:
    """Active atoms per layer against the contrast of the data, with sparsity in the two units."""
    fig, axes = plt.subplots(1, 2, figsize=(8.8, 3.2), sharey=True)
    for ax, kind in zip(axes, results["sparsity_in"].values, strict=True):
        for layer, (color, marker, line) in zip(results["layer"].values, LAYERS, strict=True):
            values = results["units_active"].sel(sparsity_in=kind, layer=layer)
            style = {"ms": 5, "ls": line, "label": f"layer {layer}"}
            curves(ax, values, "contrast", color, marker, **style)
        sizes_as_ticks(ax, results["contrast"].values)
        ax.set(xlabel="contrast of the data", ylim=(0, None), title=f"{kind} sparsity")
    axes[0].set_ylabel("active atoms per digit")
    axes[0].legend(fontsize=8.5)
    return fig
