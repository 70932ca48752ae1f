"""Figures of App. A: predictive coding and the Vector Network, from the dataset of
`studies.predictive_coding`.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.ticker import LogLocator, NullFormatter

from vnlib.plots.style import DIVERGING, PALETTE, SEQUENTIAL, bare

# Label, colour, marker.
MODELS = {
    "pc": ("PC", PALETTE[3], "s"),
    "bpc": ("bPC", PALETTE[1], "D"),
    "vn": ("VN", PALETTE[0], "o"),
    "pc_sparse": ("PC, sparse prior", PALETTE[6], "P"),
    "vn_dense": ("VN, λ = 0", PALETTE[9], "v"),
    "vn_revived": ("VN, atoms revived", PALETTE[2], "p"),
    "autoencoder": ("autoencoder", PALETTE[7], "^"),
    "linear": ("linear autoencoder", PALETTE[5], "X"),
    "vn_untrained": ("VN, samples, unlearned", "0.25", "<"),
    "vn_random": ("VN, random, unlearned", "0.55", ">"),
}
LEARNED = [name for name in MODELS if name not in ("vn_untrained", "vn_random")]
# which hardly differs from the VN until task 2
FIRST_TASK = [name for name in LEARNED if name != "vn_revived"]
# Label, place in the row of a model, how the marker is filled.
PAIRS = {
    "digits": ("digits 0-4, then 5-9", -0.25, "full"),
    "permuted": ("images, then permuted images", 0.0, "left"),
    "halves": ("left halves, then right halves", 0.25, "none"),
}


def _models(results: xr.Dataset, wanted: Sequence[str] = tuple(MODELS)) -> list[str]:
    return [m for m in wanted if m in results["model"].values]


def _pairs(results: xr.Dataset | xr.DataArray) -> list[str]:
    return [p for p in PAIRS if p in np.atleast_1d(results["pair"].values)]


def _dots(ax: plt.Axes, values: xr.DataArray, models: Sequence[str], **axis: object) -> None:
    """One row per model: every seed a point, the median a bar; several pairs of tasks lie one below
    another.
    """
    values = values.expand_dims("pair") if "pair" not in values.dims else values
    pairs = _pairs(values)
    for row, model in enumerate(models):
        _, color, marker = MODELS[model]
        for pair in pairs:
            _, offset, fill = PAIRS[pair] if len(pairs) > 1 else ("", 0.0, "full")
            seeds, y = values.sel(model=model, pair=pair).values, row + offset
            ax.plot(
                seeds,
                np.full(len(seeds), y),
                marker,
                color=color,
                fillstyle=fill,
                ms=4.5,
                alpha=0.75,
                clip_on=False,
            )
            ax.plot([np.median(seeds)] * 2, [y - 0.13, y + 0.13], color=color, lw=2)
    ax.set(yticks=range(len(models)), ylim=(len(models) - 0.5, -0.5), **axis)
    ax.set_yticklabels([MODELS[m][0] for m in models])
    ax.set_yticks(np.arange(len(models) - 1) + 0.5, minor=True)
    ax.grid(axis="y", which="minor", color="0.9")
    ax.tick_params(axis="y", which="both", length=0)


def inferred(results: xr.Dataset) -> plt.Figure:
    """What is inferred: activity of samples by units, how quickly it decays when sorted, energy
    during inference.
    """
    one = results.sel(pair="digits").isel(seed=0)
    models = _models(results, ("pc", "bpc", "pc_sparse", "vn"))
    fig = plt.figure(figsize=(9.8, 6.0))
    above, below = fig.subfigures(2, 1, height_ratios=[1, 1.05])
    for ax, model in zip(above.subplots(1, len(models), squeeze=False)[0], models, strict=True):
        code = one["code"].sel(model=model).values
        scaled = np.where(code == 0, np.nan, code / np.abs(code).max(1, keepdims=True))
        image = ax.imshow(
            scaled, cmap=DIVERGING, vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
        )
        active = 100 * float((code != 0).mean())
        ax.set(
            title=f"{MODELS[model][0]}:\n{active:.0f} % nonzero",
            xlabel="unit of the first level",
            yticks=[],
        )
        ax.set_facecolor("white")
    above.axes[0].set_ylabel("test sample")
    above.colorbar(image, ax=above.axes, label="state / largest", shrink=0.8)
    left, right = below.subplots(1, 2)
    for model in models:
        label, color, _ = MODELS[model]
        code = np.abs(results["code"].sel(model=model, pair="digits").values)
        mean = np.sort(code / code.max(-1, keepdims=True), axis=-1)[..., ::-1].mean((0, 1))
        left.plot(100 * np.arange(1, len(mean) + 1) / len(mean), mean, color=color, label=label)
        for seed in results["seed"].values:
            curve = results["energy"].sel(model=model, pair="digits", seed=seed)
            right.plot(
                curve["step"],
                curve,
                color=color,
                lw=1,
                label=label if seed == results["seed"][0] else None,
            )
    left.set(xlabel="units, largest first (%)", ylabel="|state| / largest", ylim=(0, 1))
    right.set(
        xlabel="step of inference (VN: sweep)", ylabel="energy / energy of silence", yscale="log"
    )
    left.legend(fontsize=8)
    return fig


def maps(results: xr.Dataset) -> plt.Figure:
    """How much the map varies from input to input, described in three ways, and its rank."""
    models = _models(results, FIRST_TASK)
    fig, axes = plt.subplots(1, 4, figsize=(9.8, 4.2), sharey=True)
    titles = {
        "map_variability": "the map, as the\npaper names it",
        "gated_variability": "columns weighted by\nwhat is inferred",
        "slope_variability": "slope of the\nreconstruction",
    }
    for ax, (name, title) in zip(axes, titles.items(), strict=False):
        _dots(ax, results[name], models, xlim=(-0.03, 1.03), xlabel="share of power\nthat varies")
        ax.set_title(title, fontsize=9)
    _dots(axes[3], results["rank"], models, xlabel="rank", xlim=(0, None))
    axes[3].set_title("rank of the map", fontsize=9)
    return fig


def updates(results: xr.Dataset) -> plt.Figure:
    """The update that one sample asks for, weight by weight; its reach by batch; where its power
    lies.
    """
    one = results.sel(pair="digits").isel(seed=0)
    shown = [
        ("pc", "down", r"PC, $\Delta G_0$"),
        ("bpc", "down", r"bPC, $\Delta G_0$"),
        ("bpc", "up", r"bPC, $\Delta D_0^\top$"),
        ("vn", "down", r"VN, $\Delta V_1$"),
    ]
    shown = [entry for entry in shown if entry[0] in results["model"].values]
    fig = plt.figure(figsize=(9.8, 6.2))
    above, below = fig.subfigures(2, 1, height_ratios=[1, 1.1])
    for ax, (model, kind, title) in zip(
        above.subplots(1, len(shown), squeeze=False)[0], shown, strict=True
    ):
        error, activity = (
            one[f"{kind}_{part}"].sel(model=model).values for part in ("error", "activity")
        )
        update = np.abs(np.outer(error, activity))
        update = update.T if kind == "up" else update  # pixels downward in every panel
        zero = float((update == 0).mean())
        relative = np.where(update == 0, np.nan, update / update.max())
        image = ax.imshow(
            np.log10(relative),
            cmap=SEQUENTIAL,
            vmin=-5,
            vmax=0,
            aspect="auto",
            interpolation="nearest",
        )
        bare(ax, f"{title}: {100 * zero:.0f} % exactly 0", 9).set(xlabel="unit")
    above.axes[0].set_ylabel("pixel")
    above.colorbar(image, ax=above.axes, label=r"$\log_{10}$ |update| / largest", shrink=0.8)
    left, middle, right = below.subplots(1, 3, width_ratios=[1.1, 1, 1])
    models = _models(results, FIRST_TASK)
    for model in models:
        label, color, marker = MODELS[model]
        curve = 100 * results["touched"].sel(model=model, pair="digits").median("seed")
        left.plot(curve["batch"], curve, marker + "-", color=color, ms=4, label=label)
    left.set(
        xscale="log",
        xlabel="samples in the batch",
        ylabel="weights that the rule changes (%)",
        ylim=(0, 103),
    )
    left.set_xticks(results["batch"].values, [str(b) for b in results["batch"].values], minor=False)
    left.minorticks_off()
    _dots(
        middle,
        100 * results["moved"],
        models,
        xlabel="weights that one real step\non one sample moves (%)",
    )
    _dots(
        right,
        100 * results["power_share"],
        models,
        xlabel="weights that hold 90 % of\nits update's power (%)",
    )
    right.set_yticklabels([])
    return fig


def forgetting(results: xr.Dataset) -> plt.Figure:
    """What learning the second task costs the first, against where it was, and against staying with
    it.
    """
    models, pairs = _models(results), _pairs(results)
    fig, axes = plt.subplots(2, len(pairs), figsize=(9.8, 6.8), sharey=True, squeeze=False)
    for (upper, lower), pair in zip(axes.T, pairs, strict=True):
        chosen = results.sel(pair=pair)
        _dots(
            upper,
            1 + chosen["forgetting"],
            models,
            xscale="log",
            xlabel="error on task 1:\nafter task 2 / before it",
        )
        _dots(
            lower,
            1 + chosen["interference"],
            models,
            xscale="log",
            xlabel="error on task 1:\nafter task 2 / after task 1 again",
        )
        for ax in (upper, lower):
            ax.axvline(1, color="0.6", lw=1, zorder=0)
            low, high = ax.get_xlim()
            ax.xaxis.set_major_locator(
                LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,), numticks=8)
            )
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter(NullFormatter())
        upper.set_title(PAIRS[pair][0], fontsize=10)
    return fig


def both_tasks(results: xr.Dataset) -> plt.Figure:
    """Error on the first against error on the second task, after learning one and then both."""
    pairs = _pairs(results)
    fig, axes = plt.subplots(
        1, len(pairs), figsize=(9.8, 4.3), squeeze=False, sharex=True, sharey=True
    )
    for ax, pair in zip(axes[0], pairs, strict=True):
        for model in _models(results):
            label, color, marker = MODELS[model]
            mse = 100 * results["mse"].sel(model=model, pair=pair)
            first, second = mse.sel(stage="first"), mse.sel(stage="second")
            style = {
                "marker": marker,
                "ls": "",
                "color": color,
                "ms": 5,
                "alpha": 0.8,
                "zorder": 3 if model == "vn" else 2,
            }
            ax.plot(first.sel(task=2), first.sel(task=1), **style, fillstyle="none")
            ax.plot(second.sel(task=2), second.sel(task=1), **style, label=label)
            tail, head = (stage.median("seed").sel(task=[2, 1]).values for stage in (first, second))
            if not np.allclose(tail, head, rtol=0.02):
                ax.annotate(
                    "", head, tail, arrowprops={"arrowstyle": "->", "color": color, "lw": 1}
                )
        low, high = float(100 * results["mse"].min()), 150.0
        ax.plot([low, high], [low, high], color="0.8", lw=1, zorder=0)
        ax.set(xscale="log", yscale="log", xlabel="error on task 2 (%)")
        ax.set_title(PAIRS[pair][0], fontsize=10)
    axes[0, 0].set_ylabel("error on task 1 (% of a blank image's)")
    fig.legend(
        *axes[0, 0].get_legend_handles_labels(), ncols=5, fontsize=8, loc="outside lower center"
    )
    return fig


def overlap(results: xr.Dataset) -> plt.Figure:
    """How alike the updates of the two tasks' samples are, and how that goes with interference."""
    models = _models(results, LEARNED)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.8, 4.2))
    _dots(
        left,
        results["overlap"],
        models,
        xlabel="|cosine| of the updates of a sample of each task",
        xlim=(0, None),
    )
    for model in models:
        _, color, marker = MODELS[model]
        for pair in _pairs(results):
            one = results.sel(model=model, pair=pair)
            right.plot(
                one["overlap"],
                1 + one["interference"],
                marker,
                color=color,
                fillstyle=PAIRS[pair][2],
                ms=5,
                alpha=0.8,
            )
    right.set(
        xlabel="|cosine| of the updates",
        ylabel="error on task 1:\nafter task 2 / after task 1 again",
        yscale="log",
    )
    for ax in (left, right):
        ax.locator_params(axis="x", nbins=5)
    return fig


def table(results: xr.Dataset, pair: str) -> pd.DataFrame:
    """Medians over seeds for one pair of tasks; errors in per cent of a blank image's."""
    r = results.sel(pair=pair)
    mse, top = 100 * r["mse"], 100 * r["mse_from_top"]
    columns = {
        "weights": r["n_weights"],
        "learning rate": r["lr"],
        "nonzero states, %": 100 * r["active_share"],
        "error 1, learned": mse.sel(stage="first", task=1),
        "error 1, after 2": mse.sel(stage="second", task=1),
        "error 1, had it stayed": mse.sel(stage="stayed", task=1),
        "error 2, learned": mse.sel(stage="second", task=2),
        "from the top: error 1, learned": top.sel(stage="first", task=1),
        "from the top: error 1, after 2": top.sel(stage="second", task=1),
    }
    rows = {
        MODELS[m][0]: {
            name: f"{float(v.sel(model=m).median('seed')):.3g}" for name, v in columns.items()
        }
        for m in _models(results)
    }
    frame = pd.DataFrame.from_dict(rows, orient="index").replace("nan", "")
    frame["weights"] = [
        f"{int(float(columns['weights'].sel(model=m).median())):,}" for m in _models(results)
    ]
    return frame.rename_axis(columns="median over seeds")


def summary(results: xr.Dataset) -> str:
    """The results in a few sentences, as Markdown; every number is a median over seeds."""

    def at(name: str, model: str, pair: str = "digits") -> float:
        return float(results[name].sel(model=model, pair=pair).median("seed"))

    def factors(pair: str) -> str:
        order = sorted(_models(results, LEARNED), key=lambda m: at("interference", m, pair))
        return ", ".join(f"{MODELS[m][0]} {1 + at('interference', m, pair):.3g}" for m in order)

    def second(model: str, pair: str) -> float:
        return float(
            results["mse"].sel(model=model, pair=pair, stage="second", task=2).median("seed")
        )

    def three(name: str, *, digits: int = 0) -> str:
        pc, bpc, vn = (f"{100 * at(name, model):.{digits}f} %" for model in ("pc", "bpc", "vn"))
        return f"{pc} in PC, {bpc} in bPC and {vn} in the VN"

    lines = [
        f"- **Inferred.** Nonzero states of the first level: {three('active_share')}. Share of "
        "the map's power that differs from input to input: none of a weight matrix's, "
        f"{100 * at('map_variability', 'vn'):.0f} % of the VN operator's. The same with the "
        f"columns of the dictionary weighted by what was inferred: {three('gated_variability')}.",
        f"- **Updated.** Weights that one step on one sample moves: {three('moved')}. Weights "
        f"that hold 90 % of an update's power: {three('power_share', digits=1)}.",
        "- **Interference.** Error on task 1 after task 2, as a multiple of what it would "
        "be after task 1 again:",
        *(
            f"  - {PAIRS[pair][0]}: {factors(pair)}. Of task 2, PC leaves "
            f"{100 * second('pc', pair):.1f} % and the VN {100 * second('vn', pair):.1f} % "
            "unexplained."
            for pair in _pairs(results)
        ),
    ]
    return "\n".join(lines)
