"""Figures of force composition (VN Fig. 4), from the dataset of `studies.nbody.study` over models
and seeds.

Dims: model, seed, way (joint, passes), forces (15 sets), bodies (5, 4, 3), law, share; coordinates
label and group of the model: "vn", "paper" (the other models of the paper), "control".
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.lines import Line2D

from vnlib.plots.rows import absent, group, label, looks, points, rows_of
from vnlib.plots.style import PALETTE, SEQUENTIAL

GROUPS = {
    "vn": ("Vector Network", PALETTE[0], "o"),
    "printed": ("other models of the paper", PALETTE[3], "s"),
    "control": ("controls", "#4d4d4d", "^"),
}
LETTERS = {"gravity": "G", "spring": "S", "drag": "D", "lorentz": "L"}
NAMES = {"gravity": "gravity", "spring": "spring", "drag": "drag", "lorentz": "Lorentz"}
NUMBERS = {1: "one force (ID)", 2: "two forces", 3: "three forces", 4: "four forces"}
BLANK = "random"
FLOOR = 1e-6  # smaller errors are drawn here
MSE = "mean squared error [(box/s²)²]"
RELATIVE = "relative mean squared error"


def in_order(
    results: xr.Dataset, groups: Sequence[str] = tuple(GROUPS), *, blank: bool = False
) -> list[str]:
    """The models of some groups, in the order of the groups; the mean prediction, the blank line,
    only if asked for.
    """
    names = [str(m) for m in results["model"].values if blank or m != BLANK]
    return [m for g in groups for m in names if group(results, m) == g]


def short(forces: str) -> str:
    """A set of forces by its letters: "GS" for gravity and spring."""
    return "".join(LETTERS[law] for law in forces.split("+"))


def number_of(results: xr.Dataset) -> xr.DataArray:
    """How many forces each set has."""
    return (results["forces"].str.count(r"\+") + 1).rename("number")


def error(results: xr.Dataset, *, relative: bool = False, way: str = "joint") -> xr.DataArray:
    """Mean squared errors (model, seed, forces, bodies), or these over the mean square of true
    accelerations.
    """
    found = results["mse"].sel(way=way, drop=True)
    return found / results["power"] if relative else found


def by_number(results: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """Mean over the sets of each number of forces."""
    return values.groupby(number_of(results)).mean()


def inside_and_out(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Mean over single forces with five bodies, and over mixtures with any number of bodies."""
    mixed = values["forces"].str.contains(r"\+")
    return values.where(~mixed).sel(bodies=5).mean("forces"), values.where(mixed).mean(
        ("forces", "bodies")
    )


def light(color: str, bodies: int) -> tuple:
    """The paler, the fewer bodies."""
    share = {5: 1.0, 4: 0.62, 3: 0.36}.get(int(bodies), 0.25)
    return tuple(1 - share * (1 - c) for c in to_rgb(color))


# --- 4a: the task ---------------------------------------------------------------------------------


def task(data: xr.Dataset, bodies: Sequence[int] = (5, 3)) -> plt.Figure:
    """A trajectory under each law, and one under all four for each number of bodies, with arrows of
    acceleration.

    Parameters
    ----------
    data
        States of `data_gen.nbody.make`: position, acceleration (state, body, axis), forces, bodies,
        split, trajectory.
    """
    every = max(data["forces"].values.tolist(), key=len)
    tests = data.isel(state=np.flatnonzero(data["split"] == "test"))
    wanted = [(law, 5, f"{NAMES[law]} (training)") for law in LETTERS] + [
        (every, n, f"all four, {n} bodies") for n in bodies
    ]
    fig, axes = plt.subplots(2, 3, figsize=(9.6, 6.4), sharex=True, sharey=True)
    for ax, (forces, n, title) in zip(axes.flat, wanted, strict=True):
        one = tests.isel(state=np.flatnonzero((tests["forces"] == forces) & (tests["bodies"] == n)))
        one = one.isel(state=np.flatnonzero(one["trajectory"] == one["trajectory"][0]))
        x, a = one["position"].values, one["acceleration"].values
        for body in range(n):
            color = PALETTE[body]
            ax.plot(*x[:, body].T, color=color, lw=1.6, alpha=0.75)
            ax.scatter(*x[-1, body], color=color, s=36, zorder=4, edgecolors="w", lw=0.6)
            ax.scatter(*x[0, body], facecolors="w", edgecolors=color, s=18, zorder=3)
        arrows = ax.quiver(
            *x[-1, :n].T,
            *a[-1, :n].T,
            color="0.15",
            angles="xy",
            scale_units="xy",
            scale=2.0,
            width=0.007,
            zorder=5,
        )
        ax.set(title=title, aspect="equal", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
        ax.add_patch(
            plt.Rectangle((-2.5, -2.5), 5, 5, fill=False, ec="0.7", ls="--", lw=0.9, zorder=0)
        )
    axes[-1, -1].quiverkey(
        arrows, 0.8, 0.96, 2.0, "2 box/s²", labelpos="W", fontproperties={"size": 9}
    )
    for ax in axes[-1]:
        ax.set_xlabel("x [box]")
    for ax in axes[:, 0]:
        ax.set_ylabel("y [box]")
    return fig


# --- 4b: errors -----------------------------------------------------------------------------------


def errors(results: xr.Dataset, *, relative: bool = False) -> plt.Figure:
    """Errors by number of forces (panels) and of bodies (paler for fewer); dotted: the mean
    prediction.
    """
    models = in_order(results)
    if not models:
        return absent("No model was asked for.")
    cells = by_number(results, error(results, relative=relative))
    fig, axes = plt.subplots(1, 4, figsize=(9, 1.5 + 0.36 * len(models)), sharex=True, sharey=True)
    numbers = [int(n) for n in cells["bodies"].values]
    for ax, (number, title) in zip(axes, NUMBERS.items(), strict=True):
        for y, model in enumerate(models):
            _, color, marker = GROUPS[group(results, model)]
            for bodies, shift in zip(numbers, np.linspace(-0.27, 0.27, len(numbers)), strict=True):
                one = cells.sel(model=model, number=number, bodies=bodies)
                points(ax, one.clip(FLOOR), y + shift, light(color, bodies), marker, height=0.13)
        if BLANK in results["model"].values:
            for bodies in numbers:
                at = float(cells.sel(model=BLANK, number=number, bodies=bodies).median("seed"))
                ax.axvline(at, color=light("#000000", bodies), ls=":", lw=1.2, zorder=1)
        rows_of(ax, results, models, size=9)
        ax.set(xscale="log", title=title)
    fig.supxlabel(RELATIVE if relative else MSE, fontsize=10)
    shades = [
        Line2D([], [], color=light("#000000", n), marker="o", ls="", ms=5, label=f"{n} bodies")
        for n in numbers
    ]
    blank = [Line2D([], [], color="k", ls=":", label="mean prediction (Random)")]
    fig.legend(
        handles=[*looks(results, models, GROUPS), *shades, *blank],
        loc="outside upper center",
        ncols=4,
        fontsize=9,
    )
    return fig


def table(results: xr.Dataset, way: str = "joint") -> plt.Figure:
    """All force sets and numbers of bodies as colours: relative errors, medians over seeds."""
    models = in_order(results, blank=True)
    values = error(results, relative=True, way=way).median("seed").sel(model=models)
    numbers = [int(n) for n in values["bodies"].values]
    fig, axes = plt.subplots(1, len(numbers), figsize=(9.6, 1.6 + 0.24 * len(models)), sharey=True)
    for ax, bodies in zip(np.atleast_1d(axes), numbers, strict=True):
        one = values.sel(bodies=bodies).transpose("model", "forces")
        image = ax.imshow(one.clip(1e-3), norm=LogNorm(1e-3, 3), cmap=SEQUENTIAL, aspect="auto")
        names = [short(str(f)) for f in one["forces"].values]
        ax.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
        for column in np.flatnonzero(np.diff([len(n) for n in names])):
            ax.axvline(column + 0.5, color="w", lw=2)
        for row in range(1, len(models)):
            if group(results, models[row]) != group(results, models[row - 1]):
                ax.axhline(row - 0.5, color="w", lw=2)
        ax.set_title(f"{bodies} bodies", fontsize=10)
        ax.tick_params(length=0)
    np.atleast_1d(axes)[0].set_yticks(
        range(len(models)), [label(results, m) for m in models], fontsize=9
    )
    fig.supxlabel("forces: G gravity, S spring, D drag, L Lorentz", fontsize=9)
    fig.colorbar(image, ax=axes, extend="both", fraction=0.03, pad=0.01).set_label(
        RELATIVE, fontsize=9
    )
    return fig


# --- 4c: in against out of distribution -----------------------------------------------------------


def diagonal(results: xr.Dataset) -> plt.Figure:
    """Mean ID error against mean OOD error, every seed a point: as it is, and relative to the
    power.
    """
    models = in_order(results, blank=True)
    fig, axes = plt.subplots(1, 2, figsize=(9.2, 5.4))
    styles = _styles(results, models)
    for ax, relative, unit in zip(axes, (False, True), (MSE, RELATIVE), strict=True):
        inside, outside = inside_and_out(error(results, relative=relative))
        for model in models:
            x, y = (np.clip(v.sel(model=model).values, FLOOR, None) for v in (inside, outside))
            ax.scatter(x, y, **styles[model], s=40, lw=1.1, zorder=3)
        both = np.concatenate([v.values.ravel() for v in (inside, outside)])
        low, high = max(np.nanmin(both), FLOOR) / 1.6, np.nanmax(both) * 1.6
        ax.plot([low, high], [low, high], color="0.4", lw=1, zorder=1)
        ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
        ax.set(xlabel=f"one force, five bodies: {unit}", ylabel=f"mixtures: {unit}")
        ax.xaxis.label.set_size(8.5)
        ax.yaxis.label.set_size(8.5)
    handles = [
        Line2D(
            [],
            [],
            ls="",
            marker=s["marker"],
            markerfacecolor=s["facecolors"],
            ms=7,
            markeredgecolor=s["edgecolors"],
            label=label(results, m),
        )
        for m, s in styles.items()
    ]
    handles.append(Line2D([], [], color="0.4", lw=1, label="diagonal"))
    fig.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=9)
    return fig


def _styles(results: xr.Dataset, models: Sequence[str]) -> dict[str, dict]:
    """Markers of Vector Networks are blue, of other models of the paper coloured squares, of
    controls grey and hollow; those of every second Vector Network are hollow too: the one with one
    layer.
    """
    found, count = {}, dict.fromkeys(GROUPS, 0)
    for model in models:
        kind = group(results, model)
        number = count[kind]
        count[kind] += 1
        _, color, marker = GROUPS[kind]
        if kind == "vn":
            marker = "oD*"[number // 2 % 3]
        elif kind == "control":
            marker = "^v<>ph"[number % 6]
        elif model == BLANK:
            color, marker = "#000000", "X"
        else:
            color = PALETTE[1 + number % (len(PALETTE) - 1)]
        hollow = kind == "control" or (kind == "vn" and number % 2 == 0)
        found[model] = {
            "marker": marker,
            "facecolors": "none" if hollow else color,
            "edgecolors": color,
        }
    return found
