"""Figures of spatial decoding (VN Fig. 2), from the results over (model, seed)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
import xarray as xr
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.patches import Patch

from benchmarks.spatial import figures as spatial
from benchmarks.spatial.errors import ratio
from vnlib.plots.frames import empty, in_groups, label, long_frame
from vnlib.plots.style import PALETTE, image_axes, look

WATCHED = ("cnn4", "mlp", "factorised", "bilinear_linear", "vn_full")
SPLITS = {
    "train": ("training", PALETTE[0]),
    "val": ("ID validation", PALETTE[2]),
    "id_test": ("ID test", PALETTE[1]),
    "ood": ("held out (OOD)", "0.85"),
}


def task(results: xr.Dataset) -> plt.Figure:
    """Which positions are trained on, and the bumps at the sample positions."""
    images = results["target_image"]
    fig, axes = plt.subplots(
        1, 1 + images.sizes["sample"], figsize=(10.5, 2.9), width_ratios=[1.5] + [1] * 4
    )
    first = results["set"].isel(model=0, seed=0).values
    colors = [to_rgb([*SPLITS.values()][int(number)][1]) for number in first]
    picture = np.array(colors).reshape(*spatial.plane(results["position_x"]).shape, 3)
    axes[0].imshow(picture, origin="lower")
    axes[0].set(xlabel="bump x [px]", ylabel="bump y [px]", title="Positions")
    handles = [Patch(color=color, label=said) for said, color in SPLITS.values()]
    axes[0].legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0, -0.25), ncols=2, fontsize=8
    )
    for ax, image in zip(axes[1:], images, strict=True):
        at = results.isel(position=int(image["sample"]))
        held = "OOD" if str(at["split"].item()) == "ood" else "ID"
        title = f"({int(at['position_x'])}, {int(at['position_y'])}): {held}"
        image_axes(ax, title).imshow(image, origin="lower", vmin=0, vmax=1)
    return fig


def error_maps(results: xr.Dataset) -> plt.Figure:
    """Mean squared error at every position, median over seeds: a map per model, one colour scale."""
    models = results["model"].values
    fig, axes = spatial.mosaic(len(models), 6, (1.65, 2.05))
    held_out, norm = results["split"] == "ood", LogNorm(vmin=1e-8, vmax=1e-1)
    for ax, model in zip(axes, models, strict=True):
        errors = results["mse"].sel(model=model).median("seed")
        title = spatial.wrapped(label(results, model))
        picture = spatial.error_map(ax, errors, held_out, norm, title)
    fig.colorbar(picture, ax=axes, label=spatial.ERROR, shrink=0.8, extend="both")
    return fig


def id_against_ood(results: xr.Dataset) -> plt.Figure:
    """ID and OOD error of every model and seed."""
    groups = ("entangled", "factorised", "vn", "control")
    ordered = [m for name in groups for m in in_groups(results, name)]
    return spatial.id_against_ood(results.sel(model=ordered))


def against_depth(results: xr.Dataset) -> plt.Figure:
    """OOD/ID ratio (left) and OOD error (right) against depth: seeds as points, medians joined."""
    names = {"entangled": ("CNN (blocks)", "CNN"), "vn": ("VN per axis (layers)", "VN per axis")}
    deep = results.isel(model=np.flatnonzero(results["depth"] > 0))
    if not deep.sizes["model"]:
        return empty("No model of several depths was computed.")
    looks = {text: look(one) for g, (text, one) in names.items() if g in deep["group"].values}
    style = {
        "x": "depth",
        "y": "value",
        "hue": "family",
        "style": "family",
        "palette": {name: color for name, (color, _) in looks.items()},
        "markers": {name: marker for name, (_, marker) in looks.items()},
    }
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    quantities = {
        "OOD / ID ratio": ratio(deep),
        "OOD error (mean squared error)": deep["mse_ood"],
    }
    for ax, (name, values) in zip(axes, quantities.items(), strict=True):
        frame = long_frame(values)
        frame["family"] = frame["group"].map({g: text for g, (text, _) in names.items()})
        sns.lineplot(frame, estimator="median", errorbar=None, dashes=False, ax=ax, **style)
        spread = frame.assign(depth=frame["depth"] + 0.03 * (frame["seed"] - frame["seed"].mean()))
        sns.scatterplot(spread, s=22, alpha=0.6, legend=False, ax=ax, **style)
        ax.set(yscale="log", ylabel=name, xticks=sorted(set(deep["depth"].values.tolist())))
    axes[0].axhline(1, **spatial.EQUAL)
    zero = float(results["zero_baseline_ood"].median())
    axes[1].axhline(zero, label="zero baseline", **spatial.ZERO)
    for ax in axes:
        ax.legend(fontsize=8)
    return fig


def learning(results: xr.Dataset) -> plt.Figure:
    """Errors of some decoders along training, a panel each."""
    return spatial.learning(results, WATCHED)


def samples(results: xr.Dataset) -> plt.Figure:
    """What the first seed of each model draws at the four sample positions, after the targets."""
    first = results.isel(seed=0)
    images = {"target": results["target_image"]}
    images |= {label(first, m): first["sample_image"].sel(model=m) for m in first["model"].values}
    # Rows run upward in the picture: in distribution below, held out above.
    shown = []
    for name, four in images.items():
        one, two, three, four_ = np.pad(
            four.transpose("sample", "y", "x").values,
            ((0, 0), (1, 1), (1, 1)),
            constant_values=np.nan,
        )
        shown.append((name, np.block([[one, two], [three, four_]])))
    return spatial.tiles(shown, 7)
