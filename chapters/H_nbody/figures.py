"""Figures of force composition in full: bodies that drop out (VN Fig. 9) and top-down feedback (VN
App. H.3).

`shared` are the results of VN Fig. 4, `results` those of the ablation (see `tables`).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import seaborn as sns
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.baselines.figures import of_models
from benchmarks.nbody.figures import MEAN, in_order
from chapters.H_nbody.claims import plane
from vnlib.plots.frames import label, long_frame
from vnlib.plots.style import PALETTE, look

KINDS = {"absolute": "MSE [(box/s²)²]", "relative": "MSE over the mean square of accelerations"}
MEASURES = {"id_error": "ID test", "ood_error": "OOD: mixtures"}
DEEP = ("vn_literal_3", "vn_gated_3", "vn_token_3")
SIZES = (140, 75, 34)  # of the markers, most bodies first


def body_dropout(shared: xr.Dataset) -> Figure:
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
        points = plane(shared, relative=kind == "relative")
        for ax, (title, models) in zip(row, columns.items(), strict=True):
            for model in models:
                _path(ax, points.sel(model=model))
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
        handles = of_models(shared, models, ls="-", lw=1)
        fig.legend(
            handles=handles,
            fontsize=8.5,
            loc=f"outside lower {'left' if number == 0 else 'right'}",
            ncols=3,
        )
    return fig


def _path(ax: Axes, points: xr.Dataset) -> None:
    """One model: its seeds, and the medians joined from the most bodies to the fewest."""
    color, marker = look(str(points["label"].item()))
    points = points.sortby("bodies", ascending=False)
    middle = points.median("seed")
    ax.plot(middle["id"], middle["ood"], color=color, lw=1.1, zorder=3)
    for index, size in zip(range(points.sizes["bodies"]), SIZES, strict=False):
        one, at = points.isel(bodies=index), middle.isel(bodies=index)
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
            at["id"],
            at["ood"],
            color=color,
            marker=marker,
            s=size,
            edgecolors="0.25",
            lw=0.4,
            zorder=4,
        )


def feedback(results: xr.Dataset) -> Figure:
    """ID and OOD errors against beta, one column per reading; split readouts and inverted coupling
    to the right.
    """
    models = results["model"].values.tolist()
    betas = [f"{beta:g}" for beta in sorted(set(results["beta"].values.tolist()))]
    order = [*betas, "split", "inverted"]
    looks = {"as started": PALETTE[0], "dead atoms drawn anew": PALETTE[1]}
    size = (1.5 + 4.4 * len(models), 6.2)
    fig, axes = plt.subplots(2, len(models), figsize=size, sharex=True, squeeze=False)
    for row, (name, title) in zip(axes, MEASURES.items(), strict=True):
        for ax, model in zip(row, models, strict=True):
            frame = long_frame(results[name].sel(model=model))
            plain = frame["kind"] == "plain"
            frame["variant"] = frame["kind"].where(~plain, frame["beta"].map("{:g}".format))
            frame["atoms"] = frame["revive"].map(dict(zip((False, True), looks, strict=True)))
            shared = {"x": "variant", "y": "value", "hue": "atoms", "order": order, "ax": ax}
            shared |= {"palette": looks, "hue_order": list(looks), "legend": False}
            sns.stripplot(frame, **shared, dodge=True, jitter=False, size=4.5, alpha=0.8)
            bars = {"marker": "_", "markersize": 16, "linestyle": "none", "errorbar": None}
            sns.pointplot(frame, **shared, dodge=0.4, estimator="median", **bars)
            ax.axhline(1, color="0.2", ls=":", lw=1.2)
            ax.axvline(len(betas) - 0.5, color="0.8", lw=0.7)
            ax.set(yscale="log", xlabel="", ylabel="")
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5), numticks=12))
            ax.yaxis.set_major_formatter("{x:g}")
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.grid(axis="y", color="0.93", lw=0.6)
        row[0].set_ylabel(f"{title}\nMSE over mean square", fontsize=9)
    for ax, model in zip(axes[0], models, strict=True):
        ax.set_title(label(results, model))
    for ax in axes[-1]:
        ax.set_xticks(
            range(len(order)), [*order[:-1], f"\n{order[-1]}"]
        )  # beside "split" there is no room
        ax.set_xlabel("feedback β; variants at the default β")
    marks = {"marker": "o", "ls": ""}
    handles = [Line2D([], [], color=color, label=name, **marks) for name, color in looks.items()]
    handles.append(Line2D([], [], color="0.2", ls=":", label="zero baseline"))
    fig.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=9)
    return fig
