"""Figures of decoders and their linearisations, from the results over (code, model, seed)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.baselines.figures import between_groups, of_groups, seeds_and_medians
from benchmarks.spatial.figures import ZERO, wrapped
from vnlib.plots.frames import empty, group, label, long_frame
from vnlib.plots.statistics import median, over_seeds, raised, short
from vnlib.plots.style import image_axes, look

CODES = {"bump": "bump code", "ramp": "ramp code"}
GROUPS = {
    "entangled": "CNN and MLP",
    "coordinates": "told the pixel's coordinates",
    "product": "factorised decoder",
}
PARTS = {"id": "in distribution", "ood": "out of distribution"}
DRAWN = {  # what stands before a row, its name -> what decoders draw, their error, its name
    ("truth", "true image"): ("drawn", "mse", "trained"),
    ("two_factor", "two-factor\nkernel"): ("linear", "linear", "linearised"),
}
KERNELS = {"before": "at the start", "after": "after training"}


def codes(results: xr.Dataset) -> list[str]:
    """The codes that there are, in the order of `CODES`."""
    return [code for code in CODES if code in results["code"].values]


def over_zero(results: xr.Dataset, name: str, part: str) -> xr.DataArray:
    """An error on "id" or "ood" positions over that of the zero baseline."""
    return results[f"{name}_{part}"] / results[f"zero_baseline_{part}"]


def errors(results: xr.Dataset) -> Figure:
    """ID and OOD errors of decoders (filled) and of their linearisations (hollow)."""
    rows = codes(results)
    models = results["model"].values.tolist()
    fig, axes = plt.subplots(
        len(rows), 2, figsize=(9.5, 0.5 * len(rows) * len(models) + 1.3), sharex=True, squeeze=False
    )
    for line, code in zip(axes, rows, strict=True):
        one = results.sel(code=code)
        there = [m for m in models if bool(one["mse_ood"].sel(model=m).notnull().any())]
        order = [label(results, model) for model in there]
        for ax, part in zip(line, PARTS, strict=True):
            for name, hollow, shift in (("mse", False, -0.16), ("linear", True, 0.2)):
                frame = long_frame(over_zero(one, name, part).sel(model=there))
                seeds_and_medians(
                    ax,
                    frame,
                    value="value",
                    by="label",
                    order=order,
                    hollow=hollow,
                    shift=shift,
                )
            kernel = float(median(over_zero(one, "two_factor", part).isel(model=0)))
            ax.axvline(kernel, color="0.5", ls="--", lw=1)
            ax.axvline(1, **(ZERO | {"label": None}))
            between_groups(ax, [group(results, model) for model in there])
            ax.set(xscale="log", xlabel="", title=f"{PARTS[part]}, {CODES[code]}")
            ax.tick_params(labelleft=part == "id")
    for ax in axes[-1]:
        ax.set_xlabel("error, 1: zero baseline")
    handles = of_groups(results, models, GROUPS)
    handles += [
        Line2D([], [], ls="", marker="o", mfc="none", mec="0.3", label="hollow: linearised"),
        Line2D([], [], color="0.5", ls="--", lw=1, label="two-factor kernel"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8)
    return fig


def path(results: xr.Dataset) -> Figure:
    """Errors of the linearisations along conjugate gradients, beside those of trained decoders:
    medians, their intervals as bands, every seed a thin line.
    """
    one = results.sel(code=codes(results)[0])
    models = [m for m in one["model"].values if bool(one["mse_ood"].sel(model=m).notnull().any())]
    fig, axes = plt.subplots(1, 2, figsize=(10, 3.7), sharey=True)
    for ax, part in zip(axes, PARTS, strict=True):
        for model in models:
            own = one.sel(model=model)
            curve = over_zero(own, "path", part).transpose("iteration", "seed")
            found = over_seeds(curve)
            color, marker = look(label(results, model))
            mark = {"color": color, "marker": marker, "ms": 4}
            ax.plot(curve["iteration"], found["median"], label=label(results, model), **mark)
            ax.plot(curve["iteration"], curve, color=color, lw=0.4, alpha=0.5)
            ends = found["low"], found["high"]
            ax.fill_between(curve["iteration"], *ends, color=color, alpha=0.15, lw=0)
            trained = float(median(over_zero(own, "mse", part)))
            ax.axhline(trained, ls=":", lw=1.2, color=color)
            ax.plot(curve["iteration"][-1], trained, clip_on=False, **mark)
        ax.axhline(1, **ZERO)
        ax.set(xscale="log", yscale="log", xlabel="steps of conjugate gradients", title=PARTS[part])
    axes[0].set_ylabel("error, 1: zero baseline")
    axes[1].plot([], [], color="0.4", ls=":", label="trained")
    axes[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return fig


def pictures(results: xr.Dataset) -> Figure:
    """One position held out: the true image and what trained decoders draw, above; what the
    two-factor kernel and the linearised decoders draw, below. Images of one seed, median errors.
    """
    one = results.sel(code=codes(results)[0])
    found = one["picture_drawn"].notnull().any(["y", "x"])
    models = [model for model in one["model"].values if bool(found.sel(model=model).any())]
    if not models:
        return empty("No image of these decoders was kept.")
    seed = int(found.any("model").argmax("seed"))
    size = (1.75 * (1 + len(models)), 4.6)
    fig, axes = plt.subplots(len(DRAWN), 1 + len(models), figsize=size)
    for row, ((first, text), (name, error, said)) in zip(axes, DRAWN.items(), strict=True):
        shown = [(first, models[0]), *((name, model) for model in models)]
        for ax, (kind, model) in zip(row, shown, strict=True):
            image = one[f"picture_{kind}"].isel(seed=seed).sel(model=model)
            image_axes(ax).imshow(image, origin="lower", vmin=0, vmax=1)
        row[0].set_title(text, fontsize=10)
        errors = over_zero(one, error, "ood")
        for ax, model in zip(row[1:], models, strict=True):
            told = short(float(median(errors.sel(model=model))))
            ax.set_title(wrapped(label(results, model), 17), fontsize=10)
            ax.set_xlabel(f"{said}: {raised(told)}", fontsize=10)
    return fig


def matrices(results: xr.Dataset) -> Figure:
    """Tangent kernels over all positions, before and after training, and the two-factor kernel."""
    one = results.sel(code=codes(results)[0])
    found = one["matrix_before"].notnull().any(["position", "other"])
    models = [model for model in one["model"].values if bool(found.sel(model=model).any())]
    if not models:
        return empty("No kernel of these decoders was kept.")
    one = one.isel(seed=int(found.any("model").argmax("seed")))
    fig, axes = plt.subplots(2, 1 + len(models), figsize=(1.75 * (1 + len(models)) + 0.6, 4.1))
    for row, (name, said) in zip(axes, KERNELS.items(), strict=True):
        for ax, model in zip(row[1:], models, strict=True):
            title = wrapped(label(results, model), 16) if name == "before" else ""
            picture = image_axes(ax, title, size=8.5).imshow(
                one[f"matrix_{name}"].sel(model=model), vmin=0, vmax=1, interpolation="nearest"
            )
        row[1].set_ylabel(said, fontsize=8.5)
    binary = one["matrix_two_factor"].sel(model=models[0])
    image_axes(axes[0, 0], "two-factor\nkernel", size=8.5).imshow(binary, interpolation="nearest")
    axes[1, 0].set_axis_off()
    fig.colorbar(picture, ax=axes, label="kernel, 1: largest entry", shrink=0.7)
    return fig
