"""Figures and tables of attention against the Vector Network (VN App. B), from
`studies.attention.compare`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.style import PALETTE, SEQUENTIAL, bare

# Name -> label, colour, marker. The widths of softmax attention are drawn by `ranks` alone.
MODELS = {
    "vn_image": ("VN, image", PALETTE[0], "o"),
    "vn_patches": ("VN, patches", PALETTE[9], "o"),
    "feed_forward": ("one-pass code", PALETTE[7], "^"),
    "softmax": ("softmax", PALETTE[3], "s"),
    "topk": ("top-k", PALETTE[1], "D"),
    "sparsemax": ("sparsemax", PALETTE[2], "v"),
    "linear": ("linear", PALETTE[4], "P"),
}
WIDTHS = ("softmax_2", "softmax_4", "softmax", "softmax_16")


def _style(model: str) -> dict:
    label, color, marker = MODELS[model]
    return {"label": label, "color": color, "marker": marker}


def adaptive(one: xr.Dataset) -> plt.Figure:
    """One digit: what attention restores and by which weights, what the VN reconstructs and from
    which code.
    """
    heads = one.sizes["head"]
    fig = plt.figure(figsize=(9.8, 5.4))
    above, below = fig.subfigures(2, 1, height_ratios=[1.05, 1.4])
    axes = above.subplots(1, 4 + heads)
    names = {
        "input": "input",
        "visible": "seen by attention",
        "restored": "restored",
        "reconstructed": "VN: $V a$",
    }
    for ax, (name, title) in zip(axes, names.items(), strict=False):
        image = one["shown"].sel(image=name)
        bare(ax, title).imshow(np.ma.masked_invalid(image), vmin=0, vmax=1, cmap="gray")
        ax.set_facecolor(PALETTE[1])
    for head, ax in enumerate(axes[4:]):
        bare(ax, f"$A$, head {head + 1}").imshow(
            one["shown_weights"].sel(head=head), vmin=0, cmap=SEQUENTIAL
        )
    axes[4].set(xlabel="key", ylabel="query")
    stems, curves = below.subplots(1, 2, width_ratios=[1.35, 1])
    code = one["shown_code"].values
    stems.vlines(np.flatnonzero(code), 0, code[code != 0], color=PALETTE[0], lw=1)
    stems.axhline(0, color="0.6", lw=0.6)
    stems.set(xlabel="atom", ylabel="coefficient", title="the code of the same digit")
    for model in MODELS:
        profile = one["profile"].sel(model=model).values
        profile = profile[profile > 0]
        curves.loglog(np.arange(1, len(profile) + 1), profile, ms=3, lw=1.2, **_style(model))
    curves.set(xlabel="entries, the largest first", ylabel="share of the row's sum", ylim=(1e-4, 1))
    curves.legend(fontsize=7.5, ncols=1, loc="lower left")
    return fig


def density(results: xr.Dataset) -> plt.Figure:
    """Exact zeros, effective number and fixed part of the adaptive variables; one point per
    seed.
    """
    panels = {
        "zero_share": "entries that are exactly zero",
        "effective_share": "effective number / entries",
        "fixed_share": "power of the mean over inputs",
    }
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 2.9), sharey=True)
    for ax, (name, label) in zip(axes, panels.items(), strict=True):
        for row, model in enumerate(MODELS):
            values = results[name].sel(model=model).values
            style = _style(model)
            ax.plot(values, np.full(len(values), row), ls="", ms=6, alpha=0.7, **style)
        ax.set(xlabel=label, xlim=(-0.03, 1.03))
        ax.grid(axis="x", color="0.9")
    axes[0].set_yticks(range(len(MODELS)), [label for label, _, _ in MODELS.values()])
    axes[0].invert_yaxis()
    return fig


def energies(results: xr.Dataset) -> plt.Figure:
    """How much of its fall each energy still has before it, iteration by iteration; one line per
    seed.
    """
    fig, ax = plt.subplots(figsize=(6.2, 3.2))
    kinds = {
        "settle_left": ("VN: energy of the code, per sweep", PALETTE[0], "-"),
        "hopfield_left": ("softmax: Hopfield energy, per attention step", PALETTE[3], "--"),
    }
    for name, (label, color, ls) in kinds.items():
        for index, line in enumerate(results[name].transpose("seed", "iteration").values):
            line = np.where(line > 1e-5, line, np.nan)
            ax.semilogy(
                results["iteration"],
                line,
                color=color,
                ls=ls,
                lw=1.2,
                label=None if index else label,
            )
    ax.axvline(1, color="0.6", lw=0.8, ls=":")
    ax.set(xlabel="iteration", ylabel="share of the fall still to come", ylim=(1e-5, 1.5))
    ax.legend(fontsize=8)
    return fig


def ranks(results: xr.Dataset) -> plt.Figure:
    """Ranks of a head by its width, and spectra of one head and one operator."""
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 3.1))
    widths = results["bound"].sel(model=list(WIDTHS)).isel(seed=0).values
    kinds = {
        "score_rank": ("scores $QK^T$", "o", "-"),
        "rank": ("weights $A$", "s", "--"),
        "rank_effective": ("weights, effective", "^", ":"),
    }
    for (name, (label, marker, ls)), color in zip(
        kinds.items(), (PALETTE[1], PALETTE[3], PALETTE[5]), strict=True
    ):
        values = results[name].sel(model=list(WIDTHS)).transpose("model", "seed").values
        axes[0].plot(widths, np.median(values, 1), ls=ls, color=color, label=label)
        axes[0].plot(widths, values, ls="", marker=marker, color=color, ms=4, alpha=0.7)
    linear = results["rank"].sel(model="linear")
    axes[0].plot(results["bound"].sel(model="linear"), linear, "P", color=PALETTE[4], ms=7)
    axes[0].plot([], [], "P", color=PALETTE[4], label="weights, linear attention")
    axes[0].set_xscale("log", base=2)
    axes[0].set_xticks(widths, [f"{width:.0f}" for width in widths])
    limit = float(results["rank_limit"].sel(model="softmax").max())
    axes[0].set(
        xlabel="width of a head, $d_{head}$",
        ylabel="rank",
        ylim=(0, 1.6 * limit),
        yticks=np.arange(0, limit + 1, 4),
    )
    axes[0].legend(fontsize=7.5, ncols=2, loc="upper left", columnspacing=0.8)
    one = results.isel(seed=0)
    for matrix, label, color, marker in (
        ("scores", "scores", PALETTE[1], "o"),
        ("weights", "weights", PALETTE[3], "s"),
    ):
        values = one["shown_spectrum"].sel(matrix=matrix).dropna("index").values
        axes[1].semilogy(
            np.arange(1, len(values) + 1),
            np.maximum(values, 1e-9),
            marker,
            color=color,
            ms=4,
            label=label,
        )
    bound = float(one["bound"].sel(model="softmax"))
    axes[1].axvline(bound + 0.5, color="0.4", ls="--", lw=1, label=f"$d_{{head}}$ = {bound:.0f}")
    axes[1].set(
        xlabel="index",
        ylabel="singular value / largest",
        ylim=(3e-10, 3),
        title="one head, one digit",
    )
    values = one["shown_spectrum"].sel(matrix="operator").dropna("index").values
    active = int((one["shown_code"] != 0).sum())
    axes[2].semilogy(
        np.arange(1, len(values) + 1), np.maximum(values, 1e-9), ".", color=PALETTE[0], ms=4
    )
    axes[2].axvline(active + 0.5, color="0.4", ls="--", lw=1, label=f"{active} active atoms")
    axes[2].set(xlabel="index", ylim=(3e-10, 3), title="the VN's $W(x)$, same digit")
    for ax in axes[1:]:
        ax.legend(fontsize=7.5)
    return fig


def gates(results: xr.Dataset) -> plt.Figure:
    """What one digit tells each atom or token to change, against its coefficient or weight; and
    what batches spare.
    """
    one = results.isel(seed=0)
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 3.1))
    axes[0].plot(abs(one["shown_code"]), one["shown_update"], "o", color=PALETTE[0], ms=3)
    axes[0].set(xlabel="$|a_k|$", ylabel="length of atom $k$'s update", title="VN, one digit")
    axes[1].plot(one["shown_received"], one["shown_part"], "s", color=PALETTE[3], ms=3)
    axes[1].set(xlabel="weight that token $j$ gets", ylabel="length of $j$'s part in $\\nabla W_V$")
    axes[1].set_title("softmax, the same digit")
    for model in MODELS:
        values = results["untouched"].sel(model=model).transpose("batch", "seed").values
        style = _style(model)
        if model in ("vn_image", "vn_patches", "feed_forward", "softmax"):
            axes[2].plot(results["batch"], values[:, 0], lw=1.2, ms=4, **style)
            axes[2].plot(
                results["batch"],
                values[:, 1:],
                lw=0.6,
                ms=3,
                alpha=0.6,
                **(style | {"label": None}),
            )
    axes[2].set_xscale("log", base=4)
    axes[2].set_xticks(results["batch"].values, [str(n) for n in results["batch"].values])
    axes[2].set(xlabel="digits in the batch", ylabel="share left untouched", ylim=(-0.03, 1))
    axes[2].legend(fontsize=7.5)
    return fig


def rivals(results: xr.Dataset) -> plt.Figure:
    """A rival by its similarity: its share, the pair's total; and who pays for an understudy.

    One mark per seed.
    """
    fig, axes = plt.subplots(1, 3, figsize=(9.8, 3.5))
    shown = [model for model in MODELS if model != "vn_patches"]
    positions = np.arange(results.sizes["similarity"])
    labels = {
        "rival_share": "rival's share of the pair",
        "pair_total": "pair's total / item before",
    }
    for ax, (name, label) in zip(axes, labels.items(), strict=False):
        for model in shown:
            values = results[name].sel(model=model).transpose("similarity", "seed").values
            ax.plot(positions, np.median(values, 1), ms=4, lw=1.2, **_style(model))
        ax.set_xticks(positions, [f"{s:g}" for s in results["similarity"].values])
        ax.set(xlabel="cosine of rival and item", ylabel=label)
    axes[2].plot([0, 1.1], [0, 1.1], color="0.6", lw=0.8, ls="--")
    for model in shown:
        kept = results[["kept_explained", "kept_rest"]].sel(model=model)
        axes[2].plot(
            kept["kept_explained"], kept["kept_rest"], ls="", ms=6, alpha=0.7, **_style(model)
        )
    axes[2].set(
        xlabel="kept by the half that is explained",
        ylabel="kept by the rest",
        xlim=(-0.05, 1.1),
        ylim=(0, 1.1),
    )
    fig.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(shown),
        fontsize=8,
    )
    return fig


def _mean(results: xr.Dataset, name: str, model: str, **at: float) -> float:
    return float(results[name].sel(model=model, **at).mean())


def comparison(results: xr.Dataset) -> str:
    """The comparison of the two kinds of model as a Markdown table; every number is a mean over
    seeds.
    """

    def m(name: str, model: str, **at: float) -> float:
        return _mean(results, name, model, **at)

    def percent(name: str, model: str, **at: float) -> str:
        return f"{100 * m(name, model, **at):.0f} %"

    narrow = m("bound", "softmax_2")
    rows = [
        (
            "What adapts to the input",
            "sparse coefficients $a$",
            "attention weights $A$",
            f"exact zeros {percent('zero_share', 'vn_image')}, effective number "
            f"{percent('effective_share', 'vn_image')} of all",
            f"exact zeros {percent('zero_share', 'softmax')}, effective number "
            f"{percent('effective_share', 'softmax')} of all",
        ),
        (
            "How much of it does not adapt",
            "",
            "",
            f"{percent('fixed_share', 'vn_image')} of its power is the same for all digits",
            f"{percent('fixed_share', 'softmax')} of its power is the same for all digits",
        ),
        (
            "What it acts on",
            "rank-1 operators $u_k v_k^\\top$ of the weights",
            "states of tokens, under fixed maps",
            f"map of rank {m('map_rank', 'vn_image'):.0f} of {m('map_limit', 'vn_image'):.0f}",
            f"map on all states of rank {m('map_rank', 'softmax'):.0f} of "
            f"{m('map_limit', 'softmax'):.0f}",
        ),
        (
            "How it is obtained",
            "iterations that minimise an energy of all coefficients",
            "one pass, each row by itself",
            f"duality gap {m('gap', 'vn_image'):.1e}; {percent('gap', 'feed_forward')} "
            "after one pass",
            f"entropy-regularised energy of each row: minimum met to {m('gap', 'softmax'):.0e}",
        ),
        (
            "Where rank is low",
            "operator of a sample",
            "scores of a head, before the softmax",
            f"rank {m('rank', 'vn_image'):.0f}, {m('bound', 'vn_image'):.0f} active atoms",
            f"$d_{{head}}$ = {narrow:.0f}: scores {m('score_rank', 'softmax_2'):.0f}, weights "
            f"{m('rank', 'softmax_2'):.1f} of {m('rank_limit', 'softmax_2'):.0f}",
        ),
        (
            "What it gates in learning",
            "which atoms change, and how far",
            "how much each token counts, in all weights",
            f"untouched by one digit {percent('untouched', 'vn_image', batch=1)}, by 64 "
            f"{percent('untouched', 'vn_image', batch=64)}; correlation "
            f"{m('gate_correlation', 'vn_image'):.2f}",
            f"untouched by one digit {percent('untouched', 'softmax', batch=1)}; correlation per "
            f"token {m('gate_correlation', 'softmax'):.2f}",
        ),
        (
            "Who pays for a newcomer",
            "those that it explains",
            "all, by the same factor",
            f"the explained half keeps {percent('kept_explained', 'vn_image')}, the rest "
            f"{percent('kept_rest', 'vn_image')}",
            f"the explained half keeps {percent('kept_explained', 'softmax')}, the rest "
            f"{percent('kept_rest', 'softmax')}",
        ),
    ]
    lines = ["| aspect | Vector Network | attention |", "|---|---|---|"]
    for aspect, vn, attention, vn_says, attention_says in rows:
        cells = [
            ". ".join(filter(None, pair)) for pair in ((vn, vn_says), (attention, attention_says))
        ]
        lines.append(f"| {aspect} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def table(results: xr.Dataset) -> pd.DataFrame:
    """All models: mean over seeds, with the standard deviation in brackets where it shows."""
    rows = {
        "entries of the adaptive variable, per row": "entries",
        "exactly zero": "zero_share",
        "effective number": "effective_number",
        "effective number / entries": "effective_share",
        "power of the mean over inputs": "fixed_share",
        "gap to the minimum of its energy": "gap",
        "active atoms, or width of a head": "bound",
        "rank of W(x), or of A": "rank",
        "effective rank": "rank_effective",
        "rank of the map on all states": "map_rank",
        "untouched by one digit": "untouched",
        "effective share of the weights that one digit moves": "update_share",
        "correlation of weight and update": "gate_correlation",
        "share of an exact copy in its pair": "rival_share",
        "change of the output by an exact copy": "duplicate_shift",
        "kept by the half that a newcomer explains": "kept_explained",
        "kept by the rest": "kept_rest",
        "error of the reconstruction": "error",
        "error of hidden patches": "restored",
    }
    at = {"untouched": {"batch": 1}, "rival_share": {"similarity": 1.0}}
    names = {
        **{m: MODELS[m][0] for m in MODELS},
        "softmax_2": "softmax, width 2",
        "softmax_4": "softmax, width 4",
        "softmax_16": "softmax, width 16",
    }
    cells = {}
    for label, name in rows.items():
        values = results[name].sel(at.get(name, {}))
        cells[label] = [_cell(values.sel(model=model).values) for model in names]
    return pd.DataFrame.from_dict(cells, orient="index", columns=list(names.values())).rename_axis(
        columns="quantity"
    )


def _cell(values: np.ndarray) -> str:
    if np.isnan(values).all():
        return ""
    spread = f" ({values.std():.1g})" if values.std() > 5e-4 * max(abs(values.mean()), 1e-3) else ""
    return f"{values.mean():.3g}{spread}"


def summary(results: xr.Dataset) -> str:
    """The results in a few sentences, as Markdown; every number is a mean over seeds."""

    def m(name: str, model: str, **at: float) -> float:
        return _mean(results, name, model, **at)

    seeds = results.sizes["seed"]
    return "\n".join(
        [
            f"- *Sparse or dense.* Of the image code {100 * m('zero_share', 'vn_image'):.0f} % "
            f"is exactly zero, of the softmax weights {100 * m('zero_share', 'softmax'):.0f} %. "
            f"Counted by effective number, the code uses {m('effective_number', 'vn_image'):.0f} "
            f"of {m('entries', 'vn_image'):.0f} atoms "
            f"({100 * m('effective_share', 'vn_image'):.0f} %), a softmax row "
            f"{m('effective_number', 'softmax'):.1f} of {m('entries', 'softmax'):.0f} tokens "
            f"({100 * m('effective_share', 'softmax'):.0f} %), and a top-k row, "
            f"{m('effective_number', 'topk'):.1f} ({100 * m('effective_share', 'topk'):.0f} %).",
            "- *Inferred or generated.* The settled code's energy is at most "
            f"{100 * m('gap', 'vn_image'):.2g} % above its minimum (95 % of the digits). Softmax "
            "weights are the exact minimum of an energy as well (gap "
            f"{m('gap', 'softmax'):.0e}), one of each row by itself, which is why one pass is "
            "enough.",
            f"- *Rank.* W(x) has rank {m('rank', 'vn_image'):.0f} with "
            f"{m('bound', 'vn_image'):.0f} active atoms. Scores of a head of width "
            f"{m('bound', 'softmax_2'):.0f} have rank {m('score_rank', 'softmax_2'):.0f}; after "
            f"the softmax it is {m('rank', 'softmax_2'):.1f} of "
            f"{m('rank_limit', 'softmax_2'):.0f}.",
            f"- *Gating.* One digit leaves {100 * m('untouched', 'vn_image', batch=1):.0f} % of "
            f"the atoms exactly as they are, and {100 * m('untouched', 'softmax', batch=1):.0f} "
            "% of the attention weights; 64 digits leave "
            f"{100 * m('untouched', 'vn_image', batch=64):.1f} % of the atoms.",
            f"- *Competition.* When a newcomer explains half of what is in use, that half keeps "
            f"{100 * m('kept_explained', 'vn_image'):.0f} % of its weight in the VN and the rest "
            f"{100 * m('kept_rest', 'vn_image'):.0f} %; in softmax attention "
            f"{100 * m('kept_explained', 'softmax'):.0f} % and "
            f"{100 * m('kept_rest', 'softmax'):.0f} %. An exact copy of an item changes the VN's "
            f"output by {100 * m('duplicate_shift', 'vn_image'):.2g} % and that of a softmax "
            f"head by {100 * m('duplicate_shift', 'softmax'):.0f} %.",
            f"\nMeans over {seeds} seed{'s' if seeds > 1 else ''}.",
        ]
    )
