"""Figures of spatial decoding (VN Fig. 2), from the dataset of `evaluate.decoder_report` over
models and seeds.

The dataset has dims model, seed, position, sample, y, x and the coordinates label(model),
group(model), depth(model), position_x, position_y and split(position).
"""

from __future__ import annotations

import math
import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.colors import LogNorm
from matplotlib.patches import Patch

from vnlib.plots import texts
from vnlib.plots.style import GROUPS, PALETTE, bare

FLOOR = 1e-15  # below this an error is rounding


def _plane(values: xr.DataArray) -> np.ndarray:
    """Values per position as a square (y, x); position runs with x fastest."""
    side = math.isqrt(values.sizes["position"])
    return values.values.reshape(side, side)


def _wrapped(label: str) -> str:
    return "\n".join(textwrap.wrap(label, 20, break_on_hyphens=False))


def _mark_hold_out(ax: plt.Axes, results: xr.Dataset, color: str = "white") -> None:
    outside = _plane((results["split"] == "ood").astype(float))
    ax.contour(outside, levels=[0.5], colors=color, linewidths=1.2, linestyles="--")


def task(results: xr.Dataset) -> plt.Figure:
    """Which positions are trained on, and the bumps at the sample positions."""
    splits = {"train": PALETTE[0], "val": PALETTE[2], "id_test": PALETTE[1], "ood": "#d9d9d9"}
    labels = {
        "train": "training",
        "val": "ID validation",
        "id_test": "ID test",
        "ood": "held out (OOD)",
    }
    samples = results["target_image"]
    fig, axes = plt.subplots(
        1, 1 + samples.sizes["sample"], figsize=(10.5, 2.9), width_ratios=[1.5] + [1] * 4
    )
    colors = np.array([plt.matplotlib.colors.to_rgb(splits[s]) for s in results["split"].values])
    side = math.isqrt(results.sizes["position"])
    axes[0].imshow(colors.reshape(side, side, 3), origin="lower")
    axes[0].set(xlabel="bump x [px]", ylabel="bump y [px]", title="Positions")
    handles = [Patch(color=splits[k], label=labels[k]) for k in splits]
    axes[0].legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0, -0.25), ncols=2, fontsize=8
    )
    for ax, index in zip(axes[1:], range(samples.sizes["sample"]), strict=True):
        one = samples.isel(sample=index)
        ax.imshow(one, origin="lower", vmin=0, vmax=1)
        position = results.sel(position=int(one["sample"]))
        held = "OOD" if str(position["split"].item()) == "ood" else "ID"
        bare(ax, f"({int(position['position_x'])}, {int(position['position_y'])}): {held}")
    return fig


def error_maps(results: xr.Dataset) -> plt.Figure:
    """Mean squared error at every position (median over seeds), one map per model, one colour
    scale.
    """
    n = results.sizes["model"]
    columns = min(6, n)
    rows = math.ceil(n / columns)
    fig, axes = plt.subplots(rows, columns, figsize=(1.65 * columns, 2.05 * rows), squeeze=False)
    norm = LogNorm(vmin=1e-8, vmax=1e-1)
    for ax in axes.flat[n:]:
        ax.set_visible(False)
    for ax, model in zip(axes.flat, results["model"].values, strict=False):
        one = results.sel(model=model)
        picture = ax.imshow(_plane(one["mse"].median("seed")).clip(1e-8), origin="lower", norm=norm)
        _mark_hold_out(ax, results)
        bare(ax, _wrapped(str(one["label"].item())))
    fig.colorbar(picture, ax=axes, label="mean squared error", shrink=0.8, extend="both")
    return fig


def id_against_ood(results: xr.Dataset) -> plt.Figure:
    """Every seed of every model: in-distribution against out-of-distribution error."""
    fig, ax = plt.subplots(figsize=(8.6, 6.2))
    ends = np.array([FLOOR, 1e3])
    ax.plot(ends, ends, color="0.6", lw=1, label="OOD = ID")
    ax.axhline(
        float(results["blank_ood"].median()), color="0.3", ls=":", lw=1.2, label="blank image, OOD"
    )
    marks = "osD^vP*X<>hdp8H"
    for group, (_, color, _) in GROUPS.items():
        inside = [
            m for m in results["model"].values if results["group"].sel(model=m).item() == group
        ]
        for number, model in enumerate(inside):
            one = results.sel(model=model)
            ax.scatter(
                one["mse_id"].clip(FLOOR),
                one["mse_ood"].clip(FLOOR),
                s=34,
                marker=marks[number],
                color=color,
                alpha=0.75,
                edgecolor="white",
                lw=0.4,
                label=f"{one['label'].item()}",
            )
    errors = results[["mse_id", "mse_ood"]].to_array()
    low, high = max(FLOOR, float(errors.min()) / 3), 3 * max(0.1, float(errors.max()))
    ax.set(
        xscale="log", yscale="log", xlim=(low, 3 * float(results["mse_id"].max())), ylim=(low, high)
    )
    ax.set(xlabel="ID test error (mean squared error)", ylabel="OOD error (mean squared error)")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def ratio_against_depth(results: xr.Dataset) -> plt.Figure:
    """OOD/ID ratio (left) and OOD error (right) against depth, every seed a point, medians
    joined.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    deep = results.sel(
        model=[m for m in results["model"].values if results["depth"].sel(model=m) > 0]
    )
    values = (deep["mse_ood"] / deep["mse_id"], deep["mse_ood"])
    for ax, value, name in zip(
        axes, values, ("OOD / ID ratio", "OOD error (mean squared error)"), strict=True
    ):
        for group, family in (("entangled", "CNN (blocks)"), ("vn", "VN per axis (layers)")):
            models = [m for m in deep["model"].values if deep["group"].sel(model=m).item() == group]
            if not models:
                continue
            _, color, marker = GROUPS[group]
            one = value.sel(model=models)
            depth = deep["depth"].sel(model=models).values
            x = np.repeat(depth[:, None], one.sizes["seed"], 1).astype(float)
            x += np.linspace(-0.12, 0.12, one.sizes["seed"])[None]
            ax.scatter(
                x, one.transpose("model", "seed"), color=color, marker=marker, s=22, alpha=0.6, lw=0
            )
            ax.plot(depth, one.median("seed"), color=color, marker=marker, lw=1.8, label=family)
        ax.set(
            yscale="log",
            xlabel="depth",
            ylabel=name,
            xticks=sorted(set(deep["depth"].values.tolist())),
        )
    axes[0].axhline(1, color="0.6", lw=1)
    axes[1].axhline(
        float(results["blank_ood"].median()), color="0.3", ls=":", lw=1.2, label="blank image"
    )
    axes[0].legend(fontsize=8)
    axes[1].legend(fontsize=8)
    return fig


def samples(results: xr.Dataset, seed: int | None = None) -> plt.Figure:
    """Images that the models draw at the four sample positions (first seed unless given), after the
    targets.
    """
    shown = results.sel(seed=results["seed"].values[0] if seed is None else seed)
    tiles = [("target", results["target_image"])]
    tiles += [
        (str(shown["label"].sel(model=m).item()), shown["sample_image"].sel(model=m))
        for m in shown["model"]
    ]
    columns = min(6, len(tiles))
    rows = math.ceil(len(tiles) / columns)
    fig, axes = plt.subplots(rows, columns, figsize=(1.6 * columns, 1.9 * rows), squeeze=False)
    for ax in axes.flat[len(tiles) :]:
        ax.set_visible(False)
    for ax, (name, images) in zip(axes.flat, tiles, strict=False):
        # Two rows of two: in distribution below, held out above, as the rows of the images run
        # upward too.
        one = [
            np.pad(image, 1, constant_values=np.nan)
            for image in images.transpose("sample", "y", "x").values
        ]
        bare(ax, _wrapped(name)).imshow(
            np.block([[one[0], one[1]], [one[2], one[3]]]), origin="lower", vmin=0, vmax=1
        )
    return fig


def table(results: xr.Dataset) -> pd.DataFrame:
    """Errors, ratio and peak accuracy per model: median over seeds and [lowest, highest]."""
    ratio = results["mse_ood"] / results["mse_id"]
    columns = {
        "ID test error": results["mse_id"],
        "OOD error": results["mse_ood"],
        "OOD / ID": ratio,
    }
    rows = {}
    for model in results["model"].values:
        one = {name: _spread(values.sel(model=model)) for name, values in columns.items()}
        hits = [f"{float(results[f'hit_{s}'].sel(model=model).mean()):.2f}" for s in ("id", "ood")]
        one["peak within 1 px, ID / OOD"] = " / ".join(hits)
        one["parameters"] = f"{int(results['n_parameters'].sel(model=model).max()):,}"
        share = float(results["active_share"].sel(model=model).mean())
        one["atoms in use"] = "" if math.isnan(share) else f"{100 * share:.0f} %"
        rows[str(results["label"].sel(model=model).item())] = one
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="model")
    )


MERIT = {
    "vn_full": "full 2D VN: product readout, learned atoms",
    "vn_flat": "a VN with a flat linear readout (256 atoms)",
    "random_full": "full 2D VN, atoms random and frozen",
    "bilinear_linear": "product readout by back-propagation, linear code",
    "bilinear_relu": "product readout by back-propagation, ReLU code",
    "factorised": "hand-factorised decoder, tuned",
}


def merit(results: xr.Dataset) -> pd.DataFrame:
    """What is taken away from the full 2D VN, and what is left: medians over seeds."""
    here = [m for m in MERIT if m in results["model"].values]
    ratio = results["mse_ood"] / results["mse_id"]
    rows = {
        MERIT[m]: {
            "ID test error": f"{float(results['mse_id'].sel(model=m).median()):.1e}",
            "OOD error": f"{float(results['mse_ood'].sel(model=m).median()):.1e}",
            "OOD / ID": f"{float(ratio.sel(model=m).median()):.1f}",
        }
        for m in here
    }
    rows["a blank image"] = {
        "ID test error": f"{float(results['blank_id'].median()):.1e}",
        "OOD error": f"{float(results['blank_ood'].median()):.1e}",
        "OOD / ID": f"{float((results['blank_ood'] / results['blank_id']).median()):.1f}",
    }
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="model")
    )


def _spread(values: xr.DataArray) -> str:
    low, middle, high = (float(v) for v in (values.min(), values.median(), values.max()))
    form = "{:.1f}" if 0.1 <= middle < 1000 else "{:.1e}"
    return f"{form.format(middle)} [{form.format(low)}, {form.format(high)}]"


def summary(results: xr.Dataset) -> str:
    """The results by group of models, as Markdown; every number is a median over seeds."""
    ood, ratio = (
        v.median("seed") for v in (results["mse_ood"], results["mse_ood"] / results["mse_id"])
    )
    blank = float(results["blank_ood"].median())

    def said(models: list[str]) -> str:
        here = [m for m in models if m in results["model"].values]
        if not here:
            return "not computed in this profile"
        low, high = (float(f(ratio.sel(model=here))) for f in (np.min, np.max))
        few, most = (float(f(ood.sel(model=here))) for f in (np.min, np.max))
        ends = f"{low:.1f}" if len(here) == 1 else f"{low:.1f} to {high:.1f}"
        errors = f"{few:.1e}" if len(here) == 1 else f"{few:.1e} to {most:.1e}"
        return f"OOD error {ends} times the ID error; {errors} in absolute terms"

    group = {
        g: [m for m in results["model"].values if results["group"].sel(model=m).item() == g]
        for g in GROUPS
    }
    lines = {
        "Entangled decoders (CNN, VAE, sparse autoencoder, MLP)": group["entangled"],
        "Vector Networks, with the product readout": group["vn"],
        "A VN with a flat linear readout (256 atoms)": ["vn_flat"],
        "The product readout on atoms that never learned": ["random_axes_1", "random_full"],
        "The product readout on a linear code by back-propagation, no VN": ["bilinear_linear"],
        "The hand-factorised decoder, tuned": ["factorised"],
    }
    bullets = [f"- **{name}:** {said(models)}." for name, models in lines.items()]
    return "\n".join([*bullets, f"- **A blank image** costs {blank:.1e} inside the hold-out."])


def trials(tuning: xr.Dataset | None, results: xr.Dataset) -> pd.DataFrame | str:
    """ID validation error of every setting that was tried, per model of `results`; the chosen one
    has a `*`.
    """
    return texts.trials(tuning, "mse_val", "{:.1e}".format, results=results)
