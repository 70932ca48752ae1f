"""Paths of bodies that follow a model, beside true ones, and which start is drawn (VN Fig. 11)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.nbody.figures import title
from chapters.H_nbody.figures_looks import CAP, EDGE, drawn
from vnlib.plots.frames import empty, group, label
from vnlib.plots.statistics import raised, short
from vnlib.plots.style import PALETTE, image_axes

EXAMPLE = ("vn_token_3", "factorized", "vn_gated_3", "vn_literal_3", "gnn")
BELOW = 6  # models below each other at most; more stand in two blocks, else paper shrinks them


class Pick(NamedTuple):
    """The start that is drawn of a scene, how many passed the filter, of how many, and the model
    that it favours.
    """

    start: int
    passed: int
    starts: int
    favours: str


def seen_seed(ds: xr.Dataset) -> object:
    """The seed whose paths were kept.

    Raises
    ------
    ValueError
        Where there are none.
    """
    if "path" in ds:
        kept = ds["path"].notnull().any([d for d in ds["path"].dims if d != "seed"])
        if bool(kept.any()):
            return ds["seed"].values[int(np.argmax(kept.values))]
    raise ValueError("ds must hold a path, which rollouts with details have")


def choose(
    ds: xr.Dataset,
    truth: xr.Dataset,
    scene: str,
    pick: str = "median",
    *,
    reach: float = 2.45,
    length: float = 1.0,
) -> Pick:
    """Which start of a scene is drawn, of the seed whose paths were kept.

    "printed": of the starts whose true bodies stay below `reach` `(|coordinate|, box)` and travel at
    least `length` on average (box), the one where the Vector Network drifts least at the end: the
    one with the least median of final drifts over scenes and starts. Where none passes, all do.
    "median": the start in the middle when starts are ordered by the median of final drifts over all
    models.

    Raises
    ------
    ValueError
        For another pick.
    """
    if pick not in ("printed", "median"):
        raise ValueError(f"pick must be one of 'printed', 'median', got {pick!r}")
    ends = ds["drift"].sel(seed=seen_seed(ds)).isel(step=-1).clip(max=CAP)
    shown = ends.sel(panel=scene)
    one = truth.sel(panel=scene)
    if pick == "median":
        order = np.argsort(shown.median("model").values, kind="stable")
        return Pick(int(order[(len(order) - 1) // 2]), len(order), len(order), "")
    passes = ((one["reach"] < reach) & (one["length"] >= length)).values
    networks = [
        m for m in drawn(ds, "drift", [str(m) for m in ds["model"].values]) if group(ds, m) == "vn"
    ]
    if not networks:
        raise ValueError("ds must hold a model of the group vn, which the paper's pick favours")
    best = min(networks, key=lambda m: float(ends.sel(model=m, panel=ds["scene"].values).median()))
    score = shown.sel(model=best).values
    start = int(np.argmin(np.where(passes, score, np.inf) if passes.any() else score))
    return Pick(start, int(passes.sum()), len(passes), best)


def paths(
    ds: xr.Dataset,
    truth: xr.Dataset,
    pick: str = "median",
    models: Sequence[str] | None = None,
    *,
    reach: float = 2.45,
    length: float = 1.0,
) -> Figure:
    """True paths on top and those of models below, a scene per column; the numbers are drifts at
    the end. Many models stand in two blocks, each below the truth.

    Parameters
    ----------
    truth
        Position (panel, start, step, body, axis), reach and length (panel, start).
    pick, reach, length
        As for `choose`.
    """
    shown = drawn(ds, "path", models)
    if not shown:
        return empty("No model whose paths were kept was asked for.")
    seed, scenes = seen_seed(ds), [str(s) for s in ds["scene"].values]
    sides = 1 if len(shown) <= BELOW else 2
    rows = -(-len(shown) // sides)
    parts = [shown[side * rows : (side + 1) * rows] for side in range(sides)]
    wide = (2.25, 1.25)[sides - 1]
    fig, axes = plt.subplots(
        rows + 1,
        sides * len(scenes),
        figsize=(wide * sides * len(scenes) + 1.2, wide * (rows + 1) + 0.3),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for (part, scene), column in zip(product(parts, scenes), axes.T, strict=True):
        found = choose(ds, truth, scene, pick, reach=reach, length=length)
        true = (
            truth["position"]
            .sel(panel=scene)
            .isel(start=found.start)
            .transpose("step", "body", "axis")
            .values
        )
        _path(column[0], true)
        why = told(found) if sides == 1 else told(found).replace(": ", ":\n")
        column[0].set_title(f"{title(scene)}\n{why}", fontsize=8.5)
        for ax, model in zip(column[1:], part, strict=False):
            one = ds.sel(model=model, seed=seed).isel(start=found.start)
            for body in range(true.shape[1]):
                ax.plot(*true[:, body].T, color="0.7", lw=1.1, zorder=1)
            _path(ax, one["path"].sel(scene=scene).transpose("step", "body", "axis").values)
            end = float(one["drift"].sel(panel=scene).isel(step=-1))
            said = raised(short(end)) if np.isfinite(end) else "lost"
            ax.set_xlabel(said, fontsize=7.5, labelpad=2)  # inside the box it would cover paths
        for ax in column[1 + len(part) :]:
            ax.remove()
    for part, column in zip(parts, axes.T[:: len(scenes)], strict=True):
        for ax, name in zip(column, ["truth", *(label(ds, m) for m in part)], strict=False):
            ax.set_ylabel(name, fontsize=8.5)
    return fig


def example(ds: xr.Dataset, truth: xr.Dataset, models: Sequence[str] = EXAMPLE) -> Figure:
    """The true paths of one start and those of some models side by side: the last scene, by the
    neutral rule.
    """
    shown = [model for model in models if drawn(ds, "path", [model])]
    if not shown:
        return empty("No model whose paths were kept was asked for.")
    scene = str(ds["scene"].values[-1])
    start = choose(ds, truth, scene).start
    true = truth["position"].sel(panel=scene).isel(start=start)
    true = true.transpose("step", "body", "axis").values
    size = (1.85 * (len(shown) + 1), 2.25)
    fig, axes = plt.subplots(1, len(shown) + 1, figsize=size, sharex=True, sharey=True)
    _path(axes[0], true)
    axes[0].set_title("the truth", fontsize=10)
    for ax, model in zip(axes[1:], shown, strict=True):
        one = ds.sel(model=model, seed=seen_seed(ds)).isel(start=start)
        for body in range(true.shape[1]):
            ax.plot(*true[:, body].T, color="0.7", lw=1.1, zorder=1)
        _path(ax, one["path"].sel(scene=scene).transpose("step", "body", "axis").values)
        end = float(one["drift"].sel(panel=scene).isel(step=-1))
        ax.set_title(label(ds, model), fontsize=10)
        off = f"off by {raised(short(end))} box²" if np.isfinite(end) else "lost"
        ax.set_xlabel(off, fontsize=9)
    return fig


def told(found: Pick) -> str:
    """Which start it is and why, for a title."""
    if not found.favours:
        return f"start {found.start}: the median of {found.starts}"
    return (
        f"start {found.start}: {found.passed or 'none'} of {found.starts} "
        f"pass{'' if found.passed else 'es'}"
    )


def _path(ax: Axes, p: np.ndarray) -> None:
    for body in range(p.shape[1]):
        color = PALETTE[body]
        ax.plot(*p[:, body].T, color=color, lw=1.5, zorder=2)
        ax.plot(*p[0, body], marker="o", mfc="w", mec=color, ms=4, zorder=3)
        kept = np.flatnonzero(np.isfinite(p[:, body]).all(-1))
        ax.plot(*p[kept[-1], body], marker="o", color=color, ms=5, zorder=4)
    ax.add_patch(
        plt.Rectangle(
            (-EDGE, -EDGE), 2 * EDGE, 2 * EDGE, fill=False, ec="0.7", ls="--", lw=0.8, zorder=0
        )
    )
    image_axes(ax)
    ax.set(xlim=(-2.7, 2.7), ylim=(-2.7, 2.7), aspect="equal")
