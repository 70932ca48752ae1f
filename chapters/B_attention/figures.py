"""Figures of appendix B, from the dataset of `study.results`."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr

from benchmarks.baselines.figures import Groups, each, seeds_and_medians
from vnlib.plots.frames import long_frame
from vnlib.plots.statistics import median
from vnlib.plots.style import PALETTE, SEQUENTIAL, image_axes

# The widths of softmax attention are drawn by `ranks` alone.
MODELS = ("vn_image", "vn_patches", "feed_forward", "softmax", "topk", "sparsemax", "linear")
WIDTHS = ("softmax_2", "softmax_4", "softmax", "softmax_16")
COMPETING = tuple(model for model in MODELS if model != "vn_patches")


def styles(models: Groups) -> dict[str, object]:
    """How seaborn tells models apart: by colour and marker."""
    return {
        "hue": "model",
        "hue_order": list(models),
        "palette": {model: one[1] for model, one in models.items()},
        "style": "model",
        "markers": {model: one[2] for model, one in models.items()},
        "dashes": False,
    }


def adaptive(results: xr.Dataset) -> plt.Figure:
    """One digit in both models: by which weights it is restored, from which code it is drawn."""
    one = results.isel(seed=0)
    fig = plt.figure(figsize=(9.8, 5.9))
    above, below = fig.subfigures(2, 1, height_ratios=[1.05, 1.7])
    axes = above.subplots(1, 4 + one.sizes["head"])
    titles = {
        "input": "input",
        "visible": "seen by attention",
        "restored": "restored",
        "reconstructed": "VN: $V a$",
    }
    for ax, (name, title) in zip(axes, titles.items(), strict=False):
        image = np.ma.masked_invalid(one["shown"].sel(image=name))
        image_axes(ax, title).imshow(image, vmin=0, vmax=1, cmap="gray")
        ax.set_facecolor(PALETTE[1])
    for head, ax in enumerate(axes[4:]):
        weights = one["shown_weights"].sel(head=head)
        image_axes(ax, f"$A$, head {head + 1}").imshow(weights, vmin=0, cmap=SEQUENTIAL)
    axes[4].set(xlabel="key", ylabel="query")
    stems, curves = below.subplots(1, 2, width_ratios=[1.35, 1])
    code = one["shown_code"].values
    stems.vlines(np.flatnonzero(code), 0, code[code != 0], color=PALETTE[0], lw=1)
    stems.axhline(0, color="0.6", lw=0.6)
    stems.set(xlabel="atom", ylabel="coefficient", title="the code of the same digit")
    for model, (text, color, marker) in each(results, MODELS).items():
        profile = one["profile"].sel(model=model).values
        profile = profile[profile > 0]
        place = np.arange(1, len(profile) + 1)
        curves.loglog(place, profile, color=color, marker=marker, ms=3, lw=1.2, label=text)
    curves.set(xlabel="entries, the largest first", ylim=(1e-4, 1))
    curves.set_ylabel("share of the row's sum")
    below.legend(*curves.get_legend_handles_labels(), ncols=4, loc="outside lower center")
    return fig


def density(results: xr.Dataset) -> plt.Figure:
    """Exact zeros, effective number and fixed part of the adaptive variables."""
    panels = {
        "zero_share": "entries that are exactly zero",
        "effective_share": "effective number / entries",
        "fixed_share": "power of the mean over inputs",
    }
    models = each(results, MODELS)
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 2.9), sharey=True)
    for ax, (name, text) in zip(axes, panels.items(), strict=True):
        seeds_and_medians(
            ax,
            long_frame(results[name].sel(model=list(models))),
            value="value",
            by="label",
            hue="model",
            groups=models,
            order=[one[0] for one in models.values()],
        )
        ax.set(xlabel=text, xlim=(-0.03, 1.03))
        ax.grid(axis="x", color="0.9")
    return fig


def energies(results: xr.Dataset) -> plt.Figure:
    """How much of its fall each energy still has to come, iteration by iteration."""
    fig, ax = plt.subplots(figsize=(6.2, 3.2))
    kinds = {
        "settle_left": ("VN: energy of the code, per sweep", PALETTE[0], "-"),
        "hopfield_left": ("softmax: Hopfield energy, per attention step", PALETTE[3], "--"),
    }
    for name, (text, color, ls) in kinds.items():
        frame = long_frame(results[name].where(results[name] > 1e-5))
        common = {"x": "iteration", "y": "value", "units": "seed", "estimator": None}
        sns.lineplot(frame, **common, color=color, ls=ls, lw=1.2, ax=ax)
        ax.plot([], [], color=color, ls=ls, lw=1.2, label=text)
    ax.axvline(1, color="0.6", lw=0.8, ls=":")
    ax.set(xlabel="iteration", ylabel="share of the fall still to come", ylim=(1e-5, 1.5))
    ax.set_yscale("log")
    ax.legend(fontsize=8)
    return fig


def ranks(results: xr.Dataset) -> plt.Figure:
    """Ranks of a head by its width, and spectra of one head and one operator."""
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(9.8, 3.1))
    rank_by_width(left, results)
    one = results.isel(seed=0)
    spectra = {
        "scores": (middle, "scores", PALETTE[1], "o"),
        "weights": (middle, "weights", PALETTE[3], "s"),
        "operator": (right, None, PALETTE[0], "."),
    }
    for matrix, (ax, text, color, marker) in spectra.items():
        values = one["shown_spectrum"].sel(matrix=matrix).dropna("index").values
        place = np.arange(1, len(values) + 1)
        ax.semilogy(place, np.maximum(values, 1e-9), marker, color=color, ms=4, label=text)
    width, active = int(one["bound"].sel(model="softmax")), int((one["shown_code"] != 0).sum())
    middle.axvline(width + 0.5, color="0.4", ls="--", lw=1, label=f"$d_\\mathrm{{head}}$ = {width}")
    middle.set(ylabel="singular value / largest", title="one head, one digit")
    right.axvline(active + 0.5, color="0.4", ls="--", lw=1, label=f"{active} active atoms")
    right.set(title="the VN's $W(x)$, same digit")
    for ax in (middle, right):
        ax.set(xlabel="index", ylim=(3e-10, 3))
        ax.legend(fontsize=7.5)
    return fig


def rank_by_width(ax: plt.Axes, results: xr.Dataset) -> None:
    """Rank of scores and weights against the width of a head; medians, and every seed."""
    widths = results["bound"].sel(model=list(WIDTHS)).isel(seed=0).values
    kinds = {
        "score_rank": ("scores $QK^T$", PALETTE[1], "o", "-"),
        "rank": ("weights $A$", PALETTE[3], "s", "--"),
        "rank_effective": ("weights, effective", PALETTE[5], "^", ":"),
    }
    for name, (text, color, marker, ls) in kinds.items():
        values = results[name].sel(model=list(WIDTHS)).transpose("model", "seed")
        ax.plot(widths, median(values), ls=ls, color=color, label=text)
        ax.plot(widths, values, ls="", marker=marker, color=color, ms=4, alpha=0.7)
    linear = results.sel(model="linear")
    ax.plot(linear["bound"], linear["rank"], "P", color=PALETTE[4], ms=7)
    ax.plot([], [], "P", color=PALETTE[4], label="weights, linear attention")
    ax.set_xscale("log", base=2)
    ax.set_xticks(widths, [f"{width:.0f}" for width in widths])
    limit = float(results["rank_limit"].sel(model="softmax").max())
    ax.set(xlabel="width of a head, $d_\\mathrm{head}$", ylabel="rank", ylim=(0, 1.6 * limit))
    ax.set_yticks(np.arange(0, limit + 1, 4))
    ax.legend(fontsize=7.5, ncols=2, loc="upper left", columnspacing=0.8)


def gates(results: xr.Dataset) -> plt.Figure:
    """What one digit tells each atom or token to change, by its weight; what batches spare."""
    one = results.isel(seed=0)
    fig, (atoms, tokens, batches) = plt.subplots(1, 3, figsize=(9.8, 3.3))
    atoms.plot(abs(one["shown_code"]), one["shown_update"], "o", color=PALETTE[0], ms=3)
    atoms.set(xlabel="$|a_k|$", ylabel="length of atom $k$'s update", title="VN, one digit")
    tokens.plot(one["shown_received"], one["shown_part"], "s", color=PALETTE[3], ms=3)
    tokens.set_xlabel("weight that token $j$ gets")
    tokens.set_ylabel("length of $j$'s part in $\\nabla W_V$")
    tokens.set_title("softmax, the same digit")
    models = each(results, ("vn_image", "vn_patches", "feed_forward", "softmax"))
    frame = long_frame(results["untouched"].sel(model=list(models)))
    common = {"x": "batch", "y": "value", "units": "seed", "estimator": None}
    sns.lineplot(
        frame, **common, **styles(models), lw=0.9, ms=4, alpha=0.8, legend=False, ax=batches
    )
    for text, color, marker in models.values():
        batches.plot([], [], color=color, marker=marker, ms=4, lw=0.9, label=text)
    batches.set_xscale("log", base=4)
    batches.set_xticks(results["batch"].values, results["batch"].values.astype(str))
    batches.set(xlabel="digits in the batch", ylabel="share left untouched", ylim=(-0.03, 1))
    batches.legend(fontsize=7.5)
    return fig


def competition(results: xr.Dataset) -> plt.Figure:
    """A similar item is added: what the pair weighs; a random half's sum is added: who pays."""
    models = each(results, COMPETING)
    fig, (share, total, kept) = plt.subplots(1, 3, figsize=(9.8, 3.6))
    panels = {
        "added_share": (share, "share of the added item in the pair"),
        "pair_total": (total, "pair's total / item before"),
    }
    positions = np.arange(results.sizes["similarity"])
    for name, (ax, text) in panels.items():
        values = median(results[name].sel(model=list(models)))
        frame = long_frame(values.assign_coords(similarity=positions))
        sns.lineplot(
            frame, x="similarity", y="value", **styles(models), lw=1.2, ms=5, legend=False, ax=ax
        )
        ax.set_xticks(positions, [f"{one:g}" for one in results["similarity"].values])
        ax.set(xlabel="cosine of added item and item", ylabel=text)
    kept.plot([0, 1.1], [0, 1.1], color="0.6", lw=0.8, ls="--")
    pairs = results[["kept_explained", "kept_rest"]].sel(model=list(models))
    marks = {key: value for key, value in styles(models).items() if key != "dashes"}
    sns.scatterplot(
        pairs.to_dataframe().reset_index(),
        x="kept_explained",
        y="kept_rest",
        **marks,
        s=40,
        alpha=0.7,
        legend=False,
        ax=kept,
    )
    kept.set(xlabel="kept by the half that is explained", ylabel="kept by the rest")
    kept.set(xlim=(-0.05, 1.1), ylim=(0, 1.1))
    handles = [
        plt.Line2D([], [], color=color, marker=marker, lw=1.2, label=text)
        for text, color, marker in models.values()
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)
    return fig
