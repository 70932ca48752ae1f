"""Figures of force composition in full: bodies that drop out (VN Fig. 9) and top-down feedback (VN
App. H.3).

`shared` is the dataset of Fig. 4: mse (model, seed, way, forces, bodies), power (forces, bodies),
coordinates label and group of the model. `results` is that of `studies.feedback.study` over
reading, variant and seed; coordinates beta, revive and kind of the variant, label of the reading.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.nbody.figures import MEAN, in_order
from chapters.H_nbody.figures_rollouts import LOOK
from vnlib.plots.rows import label
from vnlib.plots.style import PALETTE

KINDS = {"absolute": "MSE [(box/s²)²]", "relative": "MSE over the mean square of accelerations"}
# Colours as in rollouts; readings of the VN are told apart by their markers, deep ones are larger.
MARKERS = {
    "vn_literal_3": "P",
    "vn_gated_3": "h",
    "vn_token_3": "*",
    "vn_literal_1": "P",
    "vn_gated_1": "h",
    "vn_token_1": "*",
    "mlp": "s",
    "gnn": "o",
    "transformer": "D",
    "mamba": "v",
    "film": "^",
    "factorized": "p",
    "factorized_dense": "p",
    "token_mlp": "s",
    "linear_literal": "<",
    "linear_gated": ">",
    "linear_tokens": "D",
    "rbf_tokens": "^",
    "random": "X",
}
DEEP = ("vn_literal_3", "vn_gated_3", "vn_token_3")
SIZES = (140, 75, 34)  # of the markers, most bodies first
SPREAD = 0.12  # half the width over which seeds are drawn beside each other


def plane(shared: xr.Dataset, kind: str = "absolute") -> xr.Dataset:
    """Medians over force sets (model, seed, bodies), all forces given at once: `id` over single
    forces, `ood` over mixtures, `pool` over all of them, which is the paper's pool.

    Parameters
    ----------
    kind
        "absolute" mean squared errors, or "relative" ones, over the mean square of true
        accelerations: fewer bodies feel weaker forces.
    """
    values = shared["mse"].sel(way="joint")
    if kind == "relative":
        values = values / shared["power"]
    mixed = np.array(["+" in str(name) for name in shared["forces"].values])
    # A model without numbers stays without: skipna would make a median of what is left.
    parts = {"id": values.isel(forces=~mixed), "ood": values.isel(forces=mixed), "pool": values}
    return xr.Dataset({name: one.median("forces", skipna=False) for name, one in parts.items()})


def growth(shared: xr.Dataset, kind: str = "absolute") -> xr.Dataset:
    """log10 of the factor by which `plane` grows from the most bodies to the fewest (model,
    seed).
    """
    logs = np.log10(plane(shared, kind))
    return logs.sel(bodies=shared["bodies"].min()) - logs.sel(bodies=shared["bodies"].max())


def body_dropout(shared: xr.Dataset) -> plt.Figure:
    """VN Fig. 9: every model at (ID, OOD) for each number of bodies, large marks for many; seeds
    faint.
    """
    deep = [m for m in DEEP if m in shared["model"].values]
    columns = {
        "models of the paper": [*deep, *in_order(shared, ("printed",), mean=True)],
        "Vector Networks and controls": [*in_order(shared, ("vn", "control")), MEAN],
    }
    columns = {
        title: [m for m in models if m in shared["model"].values]
        for title, models in columns.items()
    }
    fig, axes = plt.subplots(2, 2, figsize=(10.5, 9.4), sharex="row", sharey="row")
    for row, kind in zip(axes, KINDS, strict=True):
        points = plane(shared, kind)
        for ax, (title, models) in zip(row, columns.items(), strict=True):
            for model in models:
                _path(ax, points.sel(model=model), model)
            ax.set(xscale="log", yscale="log", title=f"{title}, {kind} error")
            ax.grid(color="0.93", lw=0.6)
            ax.set_xlabel(f"ID: {KINDS[kind]}", fontsize=8)
        row[0].set_ylabel(f"OOD: {KINDS[kind]}", fontsize=8)
        for ax in row:
            low, high = ax.get_ylim()
            ax.plot(
                [1e-9, 1e9],
                [1e-9, 1e9],
                color="0.5",
                lw=0.9,
                ls="--",
                zorder=0,
                scalex=False,
                scaley=False,
            )
            ax.set_ylim(low, high)
    for number, models in enumerate(columns.values()):
        handles = [
            Line2D(
                [],
                [],
                color=LOOK.get(m, ("0.4",))[0],
                marker=MARKERS.get(m, "o"),
                lw=1,
                label=label(shared, m),
            )
            for m in models
        ]
        fig.legend(
            handles=handles,
            fontsize=7.5,
            loc=f"outside lower {'left' if number == 0 else 'right'}",
            ncols=3,
        )
    return fig


def _path(ax: plt.Axes, points: xr.Dataset, model: str) -> None:
    """One model: its seeds, and the medians joined from the most bodies to the fewest."""
    color, marker, points = (
        LOOK.get(model, ("0.4",))[0],
        MARKERS.get(model, "o"),
        points.sortby("bodies", ascending=False),
    )
    middle = points.median("seed")
    ax.plot(middle["id"], middle["ood"], color=color, lw=1.1, zorder=3)
    for index, size in zip(range(points.sizes["bodies"]), SIZES, strict=False):
        one, here = points.isel(bodies=index), middle.isel(bodies=index)
        ax.scatter(
            one["id"],
            one["ood"],
            color=color,
            marker=marker,
            s=0.3 * size,
            alpha=0.25,
            lw=0,
            zorder=2,
        )
        ax.scatter(
            here["id"],
            here["ood"],
            color=color,
            marker=marker,
            s=size,
            edgecolors="0.25",
            lw=0.4,
            zorder=4,
        )


MEASURES = {"id_error": "ID test", "ood_error": "OOD: mixtures"}


def feedback(results: xr.Dataset) -> plt.Figure:
    """ID and OOD errors against beta, one column per reading; split readouts and inverted coupling
    to the right.
    """
    readings = [str(name) for name in results["model"].values]
    betas = sorted({float(b) for b in results["beta"].values})
    fig, axes = plt.subplots(
        2, len(readings), figsize=(1.5 + 4.4 * len(readings), 6.2), sharex=True, squeeze=False
    )
    places = {"plain": None, "split": len(betas) + 0.3, "inverted": len(betas) + 1.3}
    for row, (name, title) in zip(axes, MEASURES.items(), strict=True):
        for ax, reading in zip(row, readings, strict=True):
            one = results[name].sel(model=reading)
            for revive, shift in ((False, -0.15), (True, 0.15)):
                _line(ax, one, betas, revive=revive, shift=shift)
            for kind, color in (("split", PALETTE[3]), ("inverted", PALETTE[4])):
                cells = one.isel(variant=np.flatnonzero(results["kind"].values == kind))
                for index in range(cells.sizes["variant"]):
                    _seeds(ax, cells.isel(variant=index), places[kind], color, hollow=False)
            ax.axhline(1, color="0.2", ls=":", lw=1.2)
            ax.axvline(len(betas) - 0.35, color="0.8", lw=0.7)
            ax.set_yscale("log")
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5), numticks=12))
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.grid(axis="y", color="0.93", lw=0.6)
            ticks = [f"{b:g}" for b in betas]
            ax.set_xticks(
                [*range(len(betas)), places["split"], places["inverted"]],
                [*ticks, "split", "inverted"],
            )
        row[0].set_ylabel(f"{title}\nMSE over mean square", fontsize=9)
    for ax, reading in zip(axes[0], readings, strict=True):
        ax.set_title(str(results["label"].sel(model=reading).item()))
    for ax in axes[-1]:
        ax.set_xlabel("feedback β; variants at the default β")
    axes[0, 0].legend(
        handles=[
            Line2D([], [], color=PALETTE[0], marker="o", label="plain"),
            Line2D(
                [],
                [],
                color=PALETTE[1],
                marker="o",
                mfc="none",
                ls="--",
                label="dead atoms drawn anew",
            ),
            Line2D([], [], color=PALETTE[3], marker="o", ls="", label="a readout per force"),
            Line2D([], [], color=PALETTE[4], marker="o", ls="", label="coupling inverted"),
            Line2D([], [], color="0.2", ls=":", label="zero prediction"),
        ],
        fontsize=7.5,
    )
    return fig


def _line(
    ax: plt.Axes, values: xr.DataArray, betas: list[float], *, revive: bool, shift: float
) -> None:
    """The plain variants over beta, with or without the revival of dead atoms."""
    color, medians = PALETTE[1 if revive else 0], []
    for place, beta in enumerate(betas):
        inside = (
            (values["kind"] == "plain") & (values["revive"] == revive) & (values["beta"] == beta)
        )
        cell = values.isel(variant=np.flatnonzero(inside.values))
        medians.append(float(cell.median()) if cell.size else np.nan)
        if cell.size:
            _seeds(ax, cell.isel(variant=0), place + shift, color, hollow=revive)
    ax.plot(
        np.arange(len(betas)) + shift,
        medians,
        color=color,
        lw=1.2,
        ls="--" if revive else "-",
        zorder=2,
    )


def _seeds(ax: plt.Axes, values: xr.DataArray, x: float, color: str, *, hollow: bool) -> None:
    """Every seed a point around x, and a bar at their median."""
    one = values.values
    places = x + SPREAD * (np.linspace(-1, 1, len(one)) if len(one) > 1 else np.zeros(1))
    ax.scatter(
        places,
        one,
        s=16,
        facecolors="none" if hollow else color,
        edgecolors=color,
        lw=0.9,
        alpha=0.8,
        zorder=3,
    )
    ax.plot(
        [x - 1.4 * SPREAD, x + 1.4 * SPREAD], [np.median(one)] * 2, color=color, lw=1.8, zorder=2
    )


def interaction(results: xr.Dataset, name: str = "ood_error") -> xr.Dataset:
    """What feedback is worth (reading, seed), in log10 of an error: `off` and `on`, beta at its
    default against 0, without and with the revival of dead atoms, below 0 where feedback helps;
    `revive`, the revival alone, at beta = 0; `both` = on - off, 0 where the two effects add, above
    0 where they compete.
    """
    logs = np.log10(results[name])
    default = float(results["beta"].values[results["kind"].values == "inverted"][0])

    def at(beta: float, revive: bool) -> xr.DataArray:
        inside = (
            (results["kind"] == "plain") & (results["revive"] == revive) & (results["beta"] == beta)
        )
        return logs.isel(variant=np.flatnonzero(inside.values)).squeeze("variant", drop=True)

    off, on = (at(default, revive) - at(0.0, revive) for revive in (False, True))
    return xr.Dataset(
        {"off": off, "on": on, "revive": at(0.0, True) - at(0.0, False), "both": on - off}
    )
