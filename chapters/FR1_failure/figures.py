"""Figures of FR Fig. 1: where decoders err, what they draw, and what that resembles.

Results are over (model, hold_out, seed); `position` runs with x fastest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.colors import LogNorm, PowerNorm

from benchmarks.baselines.figures import looks
from benchmarks.spatial import figures as spatial
from vnlib.plots.frames import empty, if_computed, label, long_frame
from vnlib.plots.style import PALETTE, image_axes

TESTS = {"averaged": "averaged inputs", "memorised": "outputs at training positions"}
SETS = {
    "training": ("train", PALETTE[7], "o"),
    "ID test": ("id", PALETTE[0], "D"),
    "OOD": ("ood", PALETTE[3], "s"),
}


FLOOR = 1e-6  # smaller errors are drawn there
# Models whose images are shown; scores are shown of all.
FEW = (
    *("cnn_bump", "cnn_bump_longer", "cnn_ramp", "mlp_bump_longer", "additive"),
    *("coordconv", "coordinate_mlp", "factorised", "vn_full"),
)


ROW = 0.26  # inches of a model


def few(results: xr.Dataset, models: Sequence[str] = FEW) -> xr.Dataset:
    """Those of these models that there are, or all where there are none."""
    names = [name for name in models if name in results["model"].values]
    return results.sel(model=names) if names else results


def within(results: xr.Dataset, hold_out: str) -> xr.Dataset:
    """One hold-out, and the models that were run with it."""
    own = results.sel(hold_out=hold_out)
    return own.isel(model=own["error"].notnull().any(["where", "seed"]).values)


def with_images(results: xr.Dataset) -> xr.Dataset:
    """The seed whose images were kept: the first that has any."""
    images = results["shown_image"]
    return results.isel(seed=int(images.notnull().any(set(images.dims) - {"seed"}).argmax("seed")))


def dots(
    ax: plt.Axes, values: Mapping[str, xr.DataArray], marks: Mapping[str, tuple[str, str]]
) -> None:
    """Seeds and medians of each model, a row each, for each of the named values (model, seed)."""
    frames = []
    for name, one in values.items():
        frame = long_frame(one.reset_coords(drop=True).assign_coords(model=one["label"].values))
        frames.append(frame.assign(what=name))
    frame = pd.concat(frames)
    spatial.seeds_and_medians(ax, frame, x="model", hue="what", looks=marks, lying=True)
    ax.set_ylabel("")
    ax.tick_params(axis="y", labelsize=9)
    ax.grid(axis="y", color="0.93")


def panels(results: xr.Dataset) -> tuple[plt.Figure, dict]:
    """A panel for each hold-out, the one with most models first, which share their horizontal axis."""
    models = {name: within(results, name).sizes["model"] for name in results["hold_out"].values}
    models = {str(n): models[n] for n in sorted(models, key=lambda n: -models[n]) if models[n]}
    size = (8.6, 1.8 + ROW * sum(models.values()))
    grid = {"height_ratios": [*models.values()]}
    fig, axes = plt.subplots(
        len(models), 1, figsize=size, sharex=True, squeeze=False, gridspec_kw=grid
    )
    names = list(models)
    for ax, name in zip(axes[:, 0], names, strict=True):
        ax.set_title(f"{name} held out")
    return fig, dict(zip(names, axes[:, 0], strict=True))


def legend_below(fig: plt.Figure, axes: list[plt.Axes]) -> None:
    """One legend for panels that show the same."""
    handles = axes[-1].get_legend_handles_labels()
    for ax in axes:
        if legend := ax.get_legend():
            legend.remove()
    fig.legend(*handles, fontsize=9, loc="outside lower center", ncols=4)


# --- errors ---


@if_computed
def error_maps(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """Error at every position over that of the zero baseline, median over seeds."""
    own = within(results, hold_out)
    models = own["model"].values
    fig, axes = spatial.mosaic(len(models), 7, (1.3, 1.75))
    relative = (own["mse"] / own["zero_baseline"].sel(where="ood")).median("seed")
    held_out = own["held_out"].max(["model", "seed"])
    for ax, model in zip(axes, models, strict=True):
        title = spatial.wrapped(label(own, model), 14)
        one = relative.sel(model=model)
        picture = spatial.error_map(ax, one, held_out, LogNorm(1e-3, 3), title)
        ax.title.set_fontsize(8)
    bar = fig.colorbar(picture, ax=axes, label="error / zero baseline", extend="both", shrink=0.9)
    bar.ax.axhline(1, color="white", lw=2)
    return fig


def errors(results: xr.Dataset) -> plt.Figure:
    """Error on training, ID test and OOD positions, every seed a point, over the zero baseline's."""
    fig, axes = panels(results)
    looks = {name: (color, marker) for name, (_, color, marker) in SETS.items()}
    for hold_out, ax in axes.items():
        own = within(results, hold_out)
        relative = own["error"] / own["zero_baseline"]
        relative = relative.clip(FLOOR)
        dots(ax, {name: relative.sel(where=where) for name, (where, *_) in SETS.items()}, looks)
        ax.axvline(1, label="zero baseline", **spatial.ZERO)
        ax.set(xscale="log", xlabel="error / zero baseline")
        ax.label_outer()
    legend_below(fig, list(axes.values()))
    return fig


def curves(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """ID validation and OOD error along training over the zero baseline's, every seed a line."""
    own = within(results, hold_out)
    watched = own["curve_step"].notnull().any(["seed", "checkpoint"]).values
    if not watched.any():
        return empty("These results hold no training that was watched.")
    own = own.isel(model=watched)
    fig, axes = spatial.mosaic(own.sizes["model"], 6, (1.75, 1.75))
    zero = own["zero_baseline"]
    shown = [
        own[f"curve_{n}"] / zero.sel(where=where) for n, where in (("val", "id"), ("ood", "ood"))
    ]
    ends = (
        min(0.7 * float(one.min()) for one in shown),
        max(1.4 * float(one.max()) for one in shown),
    )
    for ax, model in zip(axes, own["model"].values, strict=True):
        one = own.sel(model=model)
        for name, where, said in (("val", "id", "ID test"), ("ood", "ood", "OOD")):
            relative = one[f"curve_{name}"] / one["zero_baseline"].sel(where=where)
            color = SETS[said][1]
            lines = (
                one["curve_step"].transpose("checkpoint", "seed"),
                relative.transpose("checkpoint", "seed"),
            )
            ax.plot(*lines, color=color, lw=0.8, alpha=0.7)
            ax.plot([], [], color=color, label="OOD" if name == "ood" else "ID validation")
        ax.axhline(1, **spatial.ZERO)
        ax.set(yscale="log", ylim=ends)
        ax.locator_params(axis="x", nbins=3)
        ax.xaxis.set_major_formatter(lambda updates, _: f"{updates / 1000:g}")
        ax.set_title(spatial.wrapped(label(own, model), 18), fontsize=8)
        ax.tick_params(labelsize=7)
    fig.supxlabel("updates, thousands", fontsize=9)
    fig.supylabel("error / zero baseline", fontsize=9)
    fig.legend(
        *axes[0].get_legend_handles_labels(), fontsize=9, loc="outside upper center", ncols=2
    )
    return fig


def edge(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """Error over the zero baseline's against how deep in the hold-out a position lies: medians over the
    seeds of the mean at every depth.
    """
    own = within(few(results), hold_out)
    distance = own["edge_distance"].max(["model", "seed"]).rename("distance")
    relative = (
        (own["mse"] / own["zero_baseline"].sel(where="ood")).groupby(distance).mean("position")
    )
    middle = relative.median("seed")
    fig, ax = plt.subplots(figsize=(8.2, 3.9))
    for model, (color, marker) in looks(own, own["model"].values).items():
        one = middle.sel(model=model)
        ax.plot(
            one["distance"], one, color=color, marker=marker, ms=4, lw=1.1, label=label(own, model)
        )
    ax.axhline(1, **spatial.ZERO)
    ax.axvline(0, color="0.6", lw=1)
    ax.set(yscale="log", xlabel="distance to the edge of the hold-out [px], outside negative")
    ax.set(ylabel="error / zero baseline")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


# --- what is drawn ---


def samples(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """The ink that each model draws at the sample positions, after the targets."""
    kept = with_images(within(few(results), hold_out))
    models, places = kept["model"].values, kept["sample"].values
    size = (1.15 * (1 + len(models)), 1.15 * len(places) + 0.4)
    fig, axes = plt.subplots(len(places), 1 + len(models), figsize=size, squeeze=False)
    draw(axes, kept, fontsize=8)
    for ax, place in zip(axes[:, 0], places, strict=True):
        at = kept.isel(position=int(place), model=0)
        held = "OOD" if bool(at["held_out"]) else "ID"
        ax.set_ylabel(f"({int(at['position_x'])}, {int(at['position_y'])})\n{held}", fontsize=8)
    return fig


def draw(axes: np.ndarray, kept: xr.Dataset, fontsize: float) -> None:
    """A row of axes for each sample: the ink of its target, then what each model draws."""
    models = kept["model"].values
    for row, place in zip(axes, kept["sample"].values, strict=True):
        ink = kept["shown_image"].sel(sample=place)
        tiles = [ink.sel(panel="target").isel(model=0)]
        tiles += [ink.sel(panel="output", model=m) for m in models]
        for ax, tile in zip(row, tiles, strict=True):
            image_axes(ax).imshow(tile.clip(0), origin="lower", norm=PowerNorm(0.5, 0, 1))
    titles = ["target", *(spatial.wrapped(label(kept, m), 12) for m in models)]
    for ax, title in zip(axes[0], titles, strict=True):
        ax.set_title(title, fontsize=fontsize)


def drawn(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """OOD images: how many hold several bumps, and where the ink is."""
    ood = within(results, hold_out).sel(where="ood")
    size = (8.6, 1.2 + ROW * ood.sizes["model"])
    fig, axes = plt.subplots(1, 2, figsize=size, sharey=True)
    dots(axes[0], {"several": ood["several"]}, {"several": ("0.3", "o")})
    kinds = {
        "right row or column": (ood["share_cross"], PALETTE[0], "D"),
        "right row and column": (ood["share_place"], PALETTE[2], "o"),
        "another position's row or column": (ood["chance_cross"], "0.55", "^"),
    }
    _side_by_side(axes[1], kinds)
    for ax, name in zip(axes, ("share with several bumps", "share of the ink"), strict=True):
        ax.set(xlabel=name, xlim=(-0.05, 1.05))
    legend_below(fig, [axes[1]])
    return fig


def _side_by_side(ax: plt.Axes, kinds: Mapping[str, tuple[xr.DataArray, str, str]]) -> None:
    marks = {name: (color, marker) for name, (_, color, marker) in kinds.items()}
    dots(ax, {name: values for name, (values, *_) in kinds.items()}, marks)


# --- superposition ---


def superposition(
    results: xr.Dataset,
    models: Sequence[str] = FEW,
    hold_out: str = "square",
    sample: int = 3,
) -> plt.Figure:
    """One OOD position: the ink for x alone, for y alone, their sum, the sum of seen outputs, the
    output, the target.

    Every picture has its own scale, as in FR. Rows: models.
    """
    kept = with_images(within(few(results, models), hold_out)).isel(sample=sample)
    panel = {
        "$f(x, \\bar{y})$": "x alone",
        "$f(\\bar{x}, y)$": "y alone",
        "their sum": "",
        "sum of seen\noutputs": "memorised",
        "output $f(x, y)$": "output",
        "target": "target",
    }
    models = kept["model"].values
    size = (7.6, 1.2 * len(models) + 0.3)
    fig, axes = plt.subplots(len(models), 6, figsize=size, squeeze=False)
    for row, model in zip(axes, models, strict=True):
        one = kept["shown_image"].sel(model=model)
        ink = {name: one.sel(panel=name).values for name in one["panel"].values.tolist()}
        ink[""] = ink["x alone"] + ink["y alone"]
        for ax, (title, name) in zip(row, panel.items(), strict=True):
            top = max(0.05, ink[name].max())
            image_axes(ax, title if ax in axes[0] else "", 8).imshow(
                ink[name], origin="lower", vmin=0, vmax=top
            )
        row[0].set_ylabel(spatial.wrapped(label(kept, model), 12), fontsize=7.5)
    return fig


def resemblance(results: xr.Dataset, hold_out: str = "square") -> plt.Figure:
    """How the OOD output correlates with the sum of seen parts, that for another position, and the
    true bump.
    """
    own = within(results, hold_out)
    size = (8.6, 1.5 + ROW * own.sizes["model"])
    fig, axes = plt.subplots(1, 2, figsize=size, sharex=True, sharey=True)
    for ax, (test, said) in zip(axes, TESTS.items(), strict=True):
        one = own.sel(test=test)
        kinds = {
            "sum of seen parts": (one["resembles"], PALETTE[0], "D"),
            "that for another position": (one["resembles_shuffled"], "0.55", "^"),
            "true bump": (one["resembles_bump"], PALETTE[1], "o"),
        }
        _side_by_side(ax, kinds)
        ax.set(
            title=f"sum over {said}", xlim=(-0.4, 1.05), xlabel="correlation with the OOD output"
        )
        ax.axvline(0, color="0.8", lw=0.8, zorder=0)
    legend_below(fig, list(axes))
    return fig
