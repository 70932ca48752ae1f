"""Figures of appendix E on the gradient and on descent (VN Thms. 2 and 3)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from chapters.E_theory.figures_recovery import band, note
from vnlib.plots.style import PALETTE, look

DATA = {"planted": ("planted", PALETTE[0], "o"), "digits": ("digits", PALETTE[1], "s")}
CASES = {
    "one layer": "one layer",
    "three layers": "three layers,\nF",
    "top-k": "three layers,\nF, top-k",
    "ReLU": "three layers,\nReLU",
    "summed": "three layers,\nsummed E",
}


def danskin(r: xr.Dataset) -> plt.Figure:
    """Residual times code against differences of the settled energy, also of stopped settles."""
    fig, axes = plt.subplots(1, 2, figsize=(9.2, 3.5), width_ratios=[1.25, 1])
    cases = r["case"].values
    for offset, (kind, color, marker) in zip(
        (-0.12, 0.12), (("V", PALETTE[0], "o"), ("U", PALETTE[1], "s")), strict=True
    ):
        values = r["gradient_error"].sel(kind=kind).transpose("seed", "case").values
        for row in values:
            axes[0].plot(
                np.arange(len(cases)) + offset, row, marker, color=color, ms=4, alpha=0.6, lw=0
            )
        axes[0].plot([], [], marker, color=color, lw=0, label=kind)
    axes[0].set(yscale="log", ylabel="relative error of the gradient", xticks=np.arange(len(cases)))
    axes[0].set_xticklabels([CASES[c] for c in cases], fontsize=8)
    axes[0].axhline(1, color="0.6", lw=0.8, ls=":")
    axes[0].legend(title="dictionary", fontsize=8)
    for case, color, marker in (("one layer", PALETTE[0], "o"), ("three layers", PALETTE[2], "^")):
        gap, error = r["early_gap"].sel(case=case), r["early_error"].sel(case=case, kind="V")
        axes[1].scatter(
            gap.values.ravel(),
            error.transpose(*gap.dims).values.ravel(),
            s=16,
            color=color,
            marker=marker,
            alpha=0.7,
            label=case,
        )
    gaps = np.geomspace(1e-10, 1, 2)
    axes[1].plot(gaps, gaps**0.5, color="0.4", ls="--", lw=1, label="√gap")
    axes[1].plot(gaps, gaps, color="0.4", ls=":", lw=1, label="gap")
    axes[1].set(
        xscale="log", yscale="log", xlabel="duality gap / energy", ylabel="relative error, V"
    )
    axes[1].set(xlim=(1e-9, 3), ylim=(1e-8, 3))
    axes[1].legend(fontsize=8)
    return fig


def steps(r: xr.Dataset) -> plt.Figure:
    """The smallest gain of a step by its size, against the constants of the theory."""
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    factor = r["factor"].values
    line = np.linspace(0, factor.max(), 200)
    for ax, penalty, title in zip(
        axes, ("soft", "hard"), (r"$\ell_1$", r"$\ell_1$ and hard top-k"), strict=True
    ):
        for data, (label, color, marker) in DATA.items():
            for row in (
                r["smallest_gain"]
                .sel(penalty=penalty, data=data)
                .transpose("seed", "factor")
                .values
            ):
                ax.plot(factor, row, marker, color=color, ms=4, alpha=0.6)
            ax.plot([], [], marker, color=color, label=label)
        ax.plot([0, 1], [0.5, 0.5], color="0.2", lw=1.6, label="theorem, 1/2")
        if penalty == "soft":
            ax.plot(
                line, 1 - line / 2, color="0.2", ls="--", lw=1, label=r"sharper, $1 - \eta L/2$"
            )
        else:
            ax.plot(
                line,
                (1 - line) / 2,
                color="0.2",
                ls=":",
                lw=1.4,
                label=r"not convex, $(1 - \eta L)/2$",
            )
        ax.axhline(0, color="0.7", lw=0.8)
        ax.set(xlabel=r"step size $\eta L$", ylim=(-0.6, 1.05))
        ax.set_title(title, fontsize=10)
        ax.legend(fontsize=8)
    axes[0].set_ylabel(r"smallest $\eta\,\Delta E\,/\,\|\Delta a\|^2$")
    return fig


def rates(r: xr.Dataset) -> plt.Figure:
    """Energy above the minimum against the bounds, and the linear rate in the end."""
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 3.3))
    n = r["step"].values
    for ax, data in zip(axes, ("planted", "digits"), strict=False):
        for name, bound, text in (
            ("ISTA", 1 / n, r"bound $1/n$"),
            ("FISTA", 4 / (n + 1.0) ** 2, r"bound $4/(n+1)^2$"),
        ):
            height = r["height"].sel(data=data, algorithm=name.lower()).clip(min=1e-14)
            band(ax, height, "step", look(name)[0], name, "")
            ax.plot(n, bound, color=look(name)[0], ls="--", lw=1, label=text)
        ax.set(xscale="log", yscale="log", xlabel="step n", ylim=(1e-13, 5))
        ax.set_title(
            {"planted": "random dictionary", "digits": "learned on digits"}[data], fontsize=9
        )
    axes[0].set_ylabel(r"$(E_n - E^*)\ /\ \frac{1}{2} L \|a^*\|^2$")
    axes[0].legend(fontsize=7.5, loc="lower left")
    for data, (label, color, marker) in DATA.items():
        measured, predicted = (
            1 - r[name].sel(data=data).values.ravel() for name in ("tail_rate", "tail_predicted")
        )
        known = np.isfinite(measured)
        axes[2].scatter(
            predicted[known],
            measured[known],
            s=14,
            color=color,
            marker=marker,
            alpha=0.7,
            label=label if known.any() else None,
        )
    axes[2].axline((1e-2, 1e-2), slope=1, color="0.4", ls="--", lw=1)
    axes[2].set(
        xscale="log",
        yscale="log",
        xlabel=r"predicted, $1 - (1 - m/L)^2$",
        ylabel="measured loss per step",
    )
    axes[2].set_title("ISTA in the end", fontsize=9)
    axes[2].legend(fontsize=8)
    return fig


def sweeps(r: xr.Dataset) -> plt.Figure:
    """Joint and summed energy over the sweeps of three layers, and how often each rises."""
    fig, axes = plt.subplots(1, 2, figsize=(8.8, 3.2))
    for counted, label, color in (
        ("joint", "F", PALETTE[0]),
        ("summed", "summed layer energies", PALETTE[1]),
    ):
        curve = r["sweep_energy"].sel(penalty="soft", counted=counted).isel(seed=0)
        axes[0].plot(curve["sweep_number"], curve / float(curve[-1]) - 1, color=color, label=label)
        rises = r["sweep_rises"].sel(counted=counted)
        for offset, penalty in ((0, "soft"), (1, "hard")):
            values = 100 * rises.sel(penalty=penalty).values
            place = offset + (-0.15 if counted == "joint" else 0.15)
            axes[1].bar(
                place,
                np.median(values),
                0.28,
                color=color,
                alpha=0.5,
                label=label if not offset else None,
            )
            axes[1].plot(np.full(len(values), place), values, "o", color=color, ms=4)
    axes[0].axhline(0, color="0.7", lw=0.8)
    axes[0].set(xscale="log", xlabel="sweep", ylabel="energy / last energy − 1")
    axes[0].set_yscale("symlog", linthresh=1e-4)
    axes[0].legend(fontsize=8)
    axes[1].legend(fontsize=8, loc="upper left", bbox_to_anchor=(0, 1.14), ncols=2)
    axes[1].set(
        xticks=[0, 1],
        xticklabels=[r"$\ell_1$", "top-k at the top"],
        ylabel="sweeps that raise it (%)",
    )
    return fig


def reject(r: xr.Dataset) -> plt.Figure:
    """Where the energy ends by step size, and how often it rises, with and without reject."""
    fig, axes = plt.subplots(1, 2, figsize=(8.8, 3.3))
    for safeguard, label, color, ls in (
        ("none", "ISTA", look("ISTA")[0], "-"),
        ("reject", "with accept/reject", PALETTE[2], "--"),
    ):
        for data, (name, _, marker) in DATA.items():
            height = r["end_gap"].sel(safeguard=safeguard, data=data).clip(min=1e-12, max=1e4)
            band(axes[0], height, "factor", color, f"{label}, {name}", marker, ls)
    axes[0].set(
        yscale="log",
        xlabel=r"step size $\eta L$",
        ylabel="height of the energy in the end",
        ylim=(1e-12, 1e4),
    )
    note(axes[0], "2/L", 2.0, y=0.42)
    axes[0].legend(fontsize=7.5, handlelength=3)
    methods = {"ista": "ISTA", "fista": "FISTA", "fista, reject": "FISTA with\naccept/reject"}
    for data, (name, color, marker) in DATA.items():
        offset = -0.1 if data == "planted" else 0.1
        for column, method in enumerate(methods):
            values = 100 * r["rising_steps"].sel(data=data, algorithm=method).values
            axes[1].plot(
                np.full(len(values), column + offset), values, marker, color=color, ms=5, alpha=0.7
            )
        axes[1].plot([], [], marker, color=color, label=name)
    axes[1].set(
        xticks=range(3),
        xticklabels=methods.values(),
        ylabel="steps that raise the energy (%)",
        ylim=(-1, None),
    )
    axes[1].legend(fontsize=8)
    return fig
