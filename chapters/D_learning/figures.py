"""Figures of slow learning (VN App. D), from the datasets of `vnlib.studies` learning, interference
and interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.style import PALETTE

WAY_STYLE = {
    "masked Adam": (PALETTE[0], "o", "-"),
    "SGD": (PALETTE[2], "D", "-."),
    "Adam": (PALETTE[3], "s", "--"),
}
RULE_STYLE = {
    "subspace": ("subspace rule (ours)", PALETTE[0], "o", "-"),
    "untied": ("subspace, B untied", PALETTE[9], "v", ":"),
    "frozen": ("frozen, tight frame", PALETTE[7], "^", "-."),
    "literal": ("literal rule (VN Eq. 9)", PALETTE[3], "s", "--"),
    "silent": ("set by hand: silent", "black", "X", ""),
}
FLOOR = 1e-6  # of a cosine, on logarithmic axes


def _main(results: xr.Dataset) -> str:
    return next(str(name) for name in results["stepped"].values if str(name).startswith("VN"))


def _colors(models: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker per model: blues for the networks, others for the dense ones."""
    dense = {"linear": (PALETTE[3], "s"), "whitened": (PALETTE[1], "D"), "ReLU": (PALETTE[4], "^")}
    return {m: dense.get(m, (PALETTE[0], "o")) for m in models}


def _dots(ax: plt.Axes, x: np.ndarray, values: xr.DataArray, **style: object) -> None:
    """Every seed as a point, the mean over seeds as a line."""
    for seed in values["seed"].values:
        ax.plot(
            x,
            values.sel(seed=seed),
            ls="",
            marker=style["marker"],
            ms=3,
            color=style["color"],
            alpha=0.45,
        )
    ax.plot(x, values.mean("seed"), **style)


def local(results: xr.Dataset) -> plt.Figure:
    """Idle atoms against the batch, and how far idle and active atoms move."""
    fig, axes = plt.subplots(1, 2, figsize=(9.2, 3.3))
    mean = results.mean("update")
    size = results["batch_size"].values
    idle = 100 * mean["local_idle"].sel(way="masked Adam")
    _dots(axes[0], size, idle.transpose("seed", "batch_size"), color=PALETTE[0], marker="o", ms=5)
    axes[0].set(xscale="log", xlabel="samples per update", ylabel="idle atoms (%)", ylim=(-2, 100))
    axes[0].set_xticks(size, [str(n) for n in size])
    axes[0].minorticks_off()
    for way, (color, marker, line) in WAY_STYLE.items():
        share = 100 * (mean["local_idle_change"] / mean["local_active_change"]).sel(way=way)
        share = share.transpose("seed", "batch_size")
        # two ways lie on each other at zero
        ms, fill = (9, "none") if way == "masked Adam" else (5, "full")
        _dots(
            axes[1],
            size,
            share,
            color=color,
            marker=marker,
            ms=ms,
            fillstyle=fill,
            ls=line,
            label=way,
        )
    axes[1].set(
        xscale="log",
        xlabel="samples per update",
        ylabel="change of idle atoms\n(% of that of active ones)",
    )
    axes[1].set_xticks(size, [str(n) for n in size])
    axes[1].minorticks_off()
    axes[1].set_xlim(axes[0].get_xlim())
    axes[1].legend(fontsize=8.5)
    return fig


def overlap(results: xr.Dataset) -> plt.Figure:
    """Pairs of test samples: cosine of updates against overlap of supports; and all models side by
    side.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9.6, 3.7), width_ratios=[1.25, 1])
    one, vn = results.isel(seed=0), _main(results)
    x = one["meet_pair_overlap"].sel(model=vn).values
    y = np.maximum(np.abs(one["meet_pair_cosine"].sel(model=vn).values), FLOOR)
    same = one["meet_same_label"].values.astype(bool)
    for kind, mask, color, marker in (
        ("other digit", ~same, PALETTE[0], "o"),
        ("same digit", same, PALETTE[1], "^"),
    ):
        axes[0].plot(
            x[mask], y[mask], ls="", marker=marker, ms=3, alpha=0.5, color=color, label=kind
        )
    edges = np.quantile(x, np.linspace(0, 1, 9))
    middle = [np.median(y[(x >= low) & (x <= high)]) for low, high in pairwise(edges)]
    axes[0].plot((edges[:-1] + edges[1:]) / 2, middle, color="black", lw=2, label="median")
    axes[0].set(
        yscale="log",
        xlabel="overlap of supports (Jaccard)",
        ylabel="|cosine| of two updates",
        title=vn,
    )
    axes[0].legend(fontsize=8.5, loc="lower right")
    models = [str(m) for m in results["model"].values]
    median = np.abs(results["meet_pair_cosine"]).median("pair").transpose("seed", "model")
    for position, (model, (color, marker)) in enumerate(_colors(models).items()):
        values = median.sel(model=model).values
        axes[1].plot(
            values, [position] * len(values), ls="", marker=marker, ms=5, alpha=0.6, color=color
        )
    labels = [
        f"{m} ({100 * s:.0f} %)"
        for m, s in zip(models, results["meet_active_share"].mean("seed").values, strict=True)
    ]
    axes[1].set_yticks(range(len(models)), labels)
    axes[1].invert_yaxis()
    axes[1].set(xscale="log", xlabel="median |cosine| of two updates", title="model (active atoms)")
    return fig


def factors(results: xr.Dataset) -> plt.Figure:
    """The two factors of the cosine of two updates: residuals and codes, one point per model and
    seed.
    """
    fig, ax = plt.subplots(figsize=(5.6, 3.6))
    for number, (model, (color, marker)) in enumerate(
        _colors([str(m) for m in results["model"].values]).items()
    ):
        one = results.sel(model=model)
        label = model if not model.startswith("VN") else None
        ax.plot(
            one["meet_code_cosine"],
            one["meet_residual_cosine"],
            ls="",
            marker=marker,
            ms=6,
            alpha=0.65,
            color=color,
            label=label,
        )
        if model.startswith("VN"):
            end, shift = ("max", 8) if number % 2 else ("min", -13)
            where = (
                float(one["meet_code_cosine"].mean()),
                float(getattr(one["meet_residual_cosine"], end)()),
            )
            ax.annotate(
                model, where, xytext=(0, shift), textcoords="offset points", fontsize=8, ha="center"
            )
    ax.set(
        xscale="log",
        xlabel="|cosine| of two codes (median over pairs)",
        ylabel="|cosine| of two residuals",
        ylim=(0, None),
    )
    ax.legend(fontsize=8.5, loc="lower right", title="dense", title_fontsize=8.5)
    return fig


def passed(results: xr.Dataset) -> plt.Figure:
    """What a step on one sample does to the loss of another: against overlap, and all models."""
    fig, axes = plt.subplots(1, 2, figsize=(9.6, 3.5), width_ratios=[1.15, 1])
    vn, one = _main(results), results.isel(seed=0)
    x, y = (
        one["passed_overlap"].sel(stepped=vn).values,
        100 * one["passed_on"].sel(stepped=vn).values,
    )
    axes[0].plot(x, y, ls="", marker="o", ms=3, alpha=0.5, color=PALETTE[0])
    axes[0].axhline(0, color="0.4", lw=1)
    axes[0].set_yscale("symlog", linthresh=0.1)
    axes[0].set(
        xlabel="overlap of supports (Jaccard)",
        title=vn,
        ylabel="change of the other's loss\n(% of the own; above 0: helps)",
    )
    models = [str(m) for m in results["stepped"].values]
    for position, (model, (color, marker)) in enumerate(_colors(models).items()):
        values = 100 * results["passed_on"].sel(stepped=model)
        axes[1].boxplot(
            values.values.ravel(),
            positions=[position],
            whis=(5, 95),
            showfliers=False,
            widths=0.55,
            orientation="horizontal",
            medianprops={"color": color, "lw": 2.5},
        )
        medians = values.median("arrow").values
        axes[1].plot(
            medians,
            [position + 0.38] * len(medians),
            ls="",
            marker=marker,
            ms=4,
            color=color,
            alpha=0.7,
        )
    axes[1].axvline(0, color="0.4", lw=1)
    axes[1].set_yticks(range(len(models)), models)
    axes[1].invert_yaxis()
    axes[1].set_xscale("symlog", linthresh=0.1)
    axes[1].set(
        xlabel="change of the other's loss (% of the own)", title="5, 25, 50, 75, 95 % of all pairs"
    )
    return fig


def upkeep(results: xr.Dataset) -> plt.Figure:
    """Error, active atoms, dead atoms and coherence per variant, for two sparsities and two
    starts.
    """
    panels = {
        "mse": ("error of V a", 1.0),
        "active": ("active atoms", 1.0),
        "dead": ("dead atoms (%)", 100.0),
        "coherence": ("coherence", 1.0),
    }
    lambdas, variants = (
        results["upkeep_sparsity"].values,
        [str(v) for v in results["variant"].values],
    )
    fig, axes = plt.subplots(
        len(lambdas), len(panels), figsize=(10.4, 2.6 * len(lambdas)), sharey=True, squeeze=False
    )
    styles = {"samples": (PALETTE[0], "o", -0.15), "chance": (PALETTE[1], "D", 0.15)}
    for row, sparsity in zip(axes, lambdas, strict=True):
        for ax, (name, (label, scale)) in zip(row, panels.items(), strict=True):
            for begin, (color, marker, shift) in styles.items():
                values = scale * results[f"upkeep_{name}"].sel(
                    upkeep_sparsity=sparsity, start=begin
                )
                for seed in results["seed"].values:
                    ax.plot(
                        values.sel(seed=seed),
                        np.arange(len(variants)) + shift,
                        ls="",
                        marker=marker,
                        ms=4.5,
                        alpha=0.55,
                        color=color,
                    )
            ax.set(xlim=(0, None if name != "dead" else 100), xlabel=label)
            ax.grid(axis="y", color="0.92")
        row[0].set_yticks(range(len(variants)), variants)
        row[0].set_title(rf"$\lambda$ = {sparsity:g}", loc="left", fontsize=10)
    axes[0, 0].invert_yaxis()
    handles = [
        plt.Line2D([], [], ls="", marker=m, color=c, label=f"start: {name}")
        for name, (c, m, _) in styles.items()
    ]
    fig.legend(handles=handles, loc="outside upper right", ncols=2, fontsize=8.5)
    return fig


def interface(results: xr.Dataset) -> plt.Figure:
    """Both readings, the energy F, and what the message holds, over training, for every rule of
    U.
    """
    panels = {
        "mse": "error of V a",
        "mse_from_top": "error from the top code down",
        "energy": "energy F above that of\nthe frozen interface (%)",
        "captured": "code power that the\nmessage can hold",
        "rank": "effective rank of U",
        "message": "length of the message",
    }
    fig, axes = plt.subplots(2, 3, figsize=(10.2, 5.6))
    stage = results["stage"].values
    for ax, (name, label) in zip(axes.flat, panels.items(), strict=True):
        for rule, (text, color, marker, line) in RULE_STYLE.items():
            values = results[f"interface_{name}"]
            if name == "energy":
                values = 100 * (values / values.sel(rule="frozen") - 1)
            values = values.sel(rule=rule).transpose("seed", "stage")
            _dots(ax, stage, values, color=color, marker=marker, ms=5, ls=line, label=text)
        ax.set(xlabel="updates", title=label)
    blank = float(results["mse_zero"].mean())
    axes[0, 1].axhline(blank, color="0.4", lw=1, ls=":")
    axes[0, 1].text(stage[0], 0.98 * blank, "blank image", fontsize=8, va="top", color="0.3")
    axes[0, 0].set_ylim(0, None)
    axes[0, 1].set_ylim(0, None)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8.5)
    return fig


def objectives(results: xr.Dataset) -> plt.Figure:
    """Relative change of F and of C when one dictionary learns and the others rest."""
    fig, axes = plt.subplots(1, 2, figsize=(8.6, 2.5), sharey=True)
    moved = [str(m) for m in results["moved"].values]
    names = {
        "F": "change of the energy F (%)",
        "C": "change of C, the code that\ncannot be read back (%)",
    }
    for ax, (objective, label) in zip(axes, names.items(), strict=True):
        values = 100 * results["objective_change"].sel(objective=objective)
        mean = values.mean("seed").values
        ax.barh(
            range(len(moved)),
            mean,
            color=[PALETTE[0] if v < 0 else PALETTE[3] for v in mean],
            alpha=0.45,
        )
        for seed in results["seed"].values:
            ax.plot(
                values.sel(seed=seed),
                range(len(moved)),
                ls="",
                marker="o",
                ms=4,
                color="black",
                alpha=0.6,
            )
        ax.axvline(0, color="0.3", lw=1)
        ax.set(xlabel=label)
    axes[0].set_yticks(
        range(len(moved)), [f"only {m} learns" if "," not in m else f"only {m} rule" for m in moved]
    )
    axes[0].invert_yaxis()
    return fig


def units(results: xr.Dataset) -> plt.Figure:
    """Active atoms per layer against the contrast of the data, with sparsity in the two units."""
    fig, axes = plt.subplots(1, 2, figsize=(8.8, 3.2), sharey=True)
    contrast = results["contrast"].values
    for ax, kind in zip(axes, results["sparsity_in"].values, strict=True):
        for layer in results["layer"].values:
            values = (
                results["units_active"]
                .sel(sparsity_in=kind, layer=layer)
                .transpose("seed", "contrast")
            )
            _dots(
                ax,
                contrast,
                values,
                color=PALETTE[int(layer) - 1],
                marker=("o", "D", "^")[int(layer) - 1],
                ms=5,
                ls=("-", "--", ":")[int(layer) - 1],
                label=f"layer {layer}",
            )
        ax.set(
            xscale="log", xlabel="contrast of the data", ylim=(0, None), title=f"{kind} sparsity"
        )
        ax.set_xticks(contrast, [f"{c:g}" for c in contrast])
        ax.minorticks_off()
    axes[0].set_ylabel("active atoms per digit")
    axes[0].legend(fontsize=8.5)
    return fig


def upkeep_table(results: xr.Dataset) -> pd.DataFrame:
    """The numbers of `upkeep`: means over seeds."""
    columns = {
        "mse": ("error of V a", "{:.4f}"),
        "active": ("active atoms", "{:.0f}"),
        "dead": ("dead", "{:.1%}"),
        "idle": ("idle per update", "{:.1%}"),
        "revived": ("re-drawn", "{:.0f}"),
        "coherence": ("coherence", "{:.2f}"),
        "overlap": ("r.m.s. overlap", "{:.2f}"),
    }
    mean, rows = results.mean("seed"), {}
    for sparsity in results["upkeep_sparsity"].values:
        for begin in results["start"].values:
            for variant in results["variant"].values:
                one = mean.sel(upkeep_sparsity=sparsity, start=begin, variant=variant)
                rows[(f"λ = {sparsity:g}", f"start: {begin}", str(variant))] = {
                    label: form.format(float(one[f"upkeep_{name}"]))
                    for name, (label, form) in columns.items()
                }
    return pd.DataFrame.from_dict(rows, orient="index")


def meeting_table(results: xr.Dataset) -> pd.DataFrame:
    """Error, activity and overlap per model: mean over seeds of the median over pairs."""
    size = np.abs(results["meet_pair_cosine"]).median("pair").mean("seed")
    rows = {}
    for model in results["model"].values:
        one = results.sel(model=model).mean("seed")
        row = {
            "error": f"{float(one['meet_mse']):.4f}",
            "active atoms": f"{100 * float(one['meet_active_share']):.0f} %",
            "|cos| of codes": f"{float(one['meet_code_cosine']):.3f}",
            "|cos| of residuals": f"{float(one['meet_residual_cosine']):.3f}",
            "|cos| of updates": f"{float(size.sel(model=model)):.5f}",
        }
        if model in results["stepped"].values:
            passed_on = results["passed_on"].sel(stepped=model)
            passed_size = float(np.abs(passed_on).median("arrow").mean("seed"))
            row |= {
                "passed on (%, size)": f"{100 * passed_size:.2f}",
                "pairs hurt": f"{100 * float((passed_on < 0).mean()):.0f} %",
            }
        rows[str(model)] = row
    return pd.DataFrame.from_dict(rows, orient="index").fillna("")


def summary(results: xr.Dataset) -> str:
    """The results in a few sentences, as Markdown; every number is a mean over seeds."""
    vn, mean = _main(results), results.mean("seed")
    idle = 100 * mean["local_idle"].sel(way="masked Adam").mean("update")
    sizes = results["batch_size"].values
    size = np.abs(results["meet_pair_cosine"]).median("pair").mean("seed")
    update = {m: float(size.sel(model=m)) for m in (vn, "linear", "whitened", "ReLU")}
    last = {n: mean[f"interface_{n}"].isel(stage=-1) for n in ("mse", "mse_from_top", "energy")}
    strict = {rule: float(last["mse_from_top"].sel(rule=rule)) for rule in RULE_STYLE}
    energy = {rule: float(last["energy"].sel(rule=rule)) for rule in RULE_STYLE}
    dead = 100 * mean["upkeep_dead"].sel(start="chance").isel(upkeep_sparsity=-1)
    errors = mean["upkeep_mse"]
    mask = (
        100 * abs(errors.sel(variant="without the mask") / errors.sel(variant="as it is") - 1).max()
    )
    lam = float(results["upkeep_sparsity"][-1])
    return "\n".join(
        [
            "- **Local.** An idle atom is told nothing, exactly. Of all atoms "
            f"{float(idle[0]):.0f} % are idle in an update from one sample, "
            f"{float(idle[-1]):.0f} % in one from {sizes[-1]}. Adam without a mask moves them "
            "all the same; in the upkeep table that changes the test error by at most "
            f"{float(mask):.1f} %.",
            "- **Interference.** Two samples' updates have a median |cosine| of "
            f"{update[vn]:.5f}, against {update['linear']:.5f} in a linear autoencoder and "
            f"{update['ReLU']:.5f} in one with ReLU. With its code whitened, the linear one, "
            f"where all samples use all atoms, has {update['whitened']:.5f}.",
            f"- **Upkeep.** From a start by chance at λ = {lam:g}, "
            f"{float(dead.sel(variant='as it is')):.0f} % of the atoms end dead; with re-drawing "
            f"{float(dead.sel(variant='dead atoms re-drawn')):.0f} %.",
            "- **The interface.** Read from the top code down, the error is "
            f"{strict['literal']:.4f} with the paper's rule for U, {strict['frozen']:.4f} with a "
            f"U that never learns and {strict['subspace']:.4f} with the subspace rule (blank "
            f"image: {float(mean['mse_zero']):.4f}). The energy F is {energy['literal']:.2f}, "
            f"{energy['frozen']:.2f} and {energy['subspace']:.2f}.",
        ]
    )


def residual_sentence(results: xr.Dataset) -> str:
    """How far an atom's update is from the one that it would make alone."""
    low, middle, high = (float(v) for v in results["shared_residual"].mean("seed"))
    return (
        "Over active atoms of test digits, the cosine between the two directions has median "
        f"{middle:.2f}; nine in ten lie between {low:.2f} and {high:.2f}."
    )
