"""The example of appendix D: what the energy makes of four interfaces, and what they draw."""

from __future__ import annotations

import matplotlib.pyplot as plt
import seaborn as sns
import xarray as xr

from chapters.D_learning.figures_layers import RULES
from vnlib.plots.frames import long_frame

SHOWN = {
    "silent": "silent, by hand",
    "literal": "rule as printed",
    "frozen": "never learns",
    "subspace": "subspace rule",
}
PANELS = {
    "interface_energy": "energy F",
    "interface_mse": "error of V a,\nfrom the first code",
    "interface_mse_from_top": "error from\nthe top code down",
}


def example(results: xr.Dataset) -> plt.Figure:
    """How far energy and the errors of both readings are, at the end of training, above those with
    an interface that never learns; medians as bars, every seed a point.
    """
    last = results[[*PANELS]].isel(stage=-1)
    values = 100 * (last.sel(rule=[*SHOWN]) / last.sel(rule="frozen") - 1)
    fig, axes = plt.subplots(1, len(PANELS), figsize=(9.4, 2.8), sharey=True)
    colors = {SHOWN[rule]: RULES[rule][1] for rule in SHOWN}
    for ax, (name, title) in zip(axes, PANELS.items(), strict=True):
        frame = long_frame(values[name]).assign(row=lambda one: one["rule"].map(SHOWN))
        common = {"x": "value", "y": "row", "order": [*colors], "ax": ax}
        look = {"hue": "row", "palette": colors, "alpha": 0.55, "saturation": 1, "width": 0.65}
        sns.barplot(frame, **common, **look, estimator="median", errorbar=None)
        sns.stripplot(frame, **common, color="black", size=3.5, alpha=0.6, jitter=False)
        ax.axvline(0, color="0.3", lw=1)
        ax.set(xlabel="above one that never learns (%)", ylabel="")
        low, high = ax.get_xlim()
        ax.set_xlim(min(low, -5), max(high, 5))
        ax.set_title(title, fontsize=11)
        ax.tick_params(axis="y", labelsize=11)
    return fig
