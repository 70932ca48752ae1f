"""Figures of models that follow bodies by themselves (VN Figs. 10 and 11), from the results of
`studies.rollout`.

Dims: model, seed, panel, start, step; `path` over scene, start, step, body, axis, kept of one seed.
Coordinates label and group of the model: "vn", "printed", "control". What is lost is inf there and
drawn at `CAP`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.nbody.figures import MEAN
from vnlib.plots.rows import absent, group, label
from vnlib.plots.style import PALETTE, bare

DT = 0.005  # s
FLOOR, CAP = 1e-8, 100.0  # box^2; two opposite corners of the box are 50 apart
EDGE = 2.5
MAIN = (
    "vn_token_3",
    "vn_gated_3",
    "vn_literal_3",
    "factorized",
    "gnn",
    "transformer",
    "mamba",
    "film",
    "mlp",
    MEAN,
)
# Models on these pages: one colour each, the Vector Networks one colour in three styles.
LOOK = {
    "vn_token_3": (PALETTE[0], "-"),
    "vn_gated_3": (PALETTE[0], "--"),
    "vn_literal_3": (PALETTE[0], ":"),
    "factorized": (PALETTE[1], "-"),
    "gnn": (PALETTE[2], "-"),
    "mlp": (PALETTE[3], "-"),
    "transformer": (PALETTE[4], "-"),
    "mamba": (PALETTE[5], "-"),
    "film": (PALETTE[6], "-"),
    MEAN: ("0.55", "-"),
    "vn_token_1": (PALETTE[9], "-"),
    "vn_gated_1": (PALETTE[9], "--"),
    "vn_literal_1": (PALETTE[9], ":"),
    "factorized_dense": (PALETTE[1], "--"),
    "token_mlp": (PALETTE[8], "-"),
    "rbf_tokens": (PALETTE[8], "--"),
    "linear_tokens": ("0.3", "-"),
    "linear_gated": ("0.3", "--"),
    "linear_literal": ("0.3", ":"),
}
GROUPS = {"vn": (PALETTE[0], "o"), "printed": (PALETTE[3], "s"), "control": (PALETTE[7], "^")}
DRIFT = "squared distance from the truth [box²]"


class Pick(NamedTuple):
    """The start that is drawn of a scene, how many passed the filter, of how many, and the model
    that it favours.
    """

    start: int
    passed: int
    of: int
    favours: str


def drawn(ds: xr.Dataset, name: str, models: Sequence[str] | None) -> list[str]:
    """The models asked for that have this variable; by default those of `MAIN`, or all if none of
    them is there.
    """
    there = [
        str(m)
        for m in ds["model"].values
        if name in ds and bool(ds[name].sel(model=m).notnull().any())
    ]
    wanted = models if models is not None else [m for m in MAIN if m in there] or there
    return [m for m in wanted if m in there]


def look(model: str, number: int) -> dict:
    color, style = LOOK.get(model, (PALETTE[number % len(PALETTE)], "-."))
    return {"color": color, "ls": style, "lw": 2.0 if model.startswith("vn") else 1.4}


def title(panel: str) -> str:
    """A set of forces to read: "spring + drag"; all four are "all four forces"."""
    laws = panel.split("+")
    return (
        "all four forces"
        if len(laws) == 4
        else " + ".join(law.replace("lorentz", "Lorentz") for law in laws)
    )


# --- Fig. 10: errors in time ----------------------------------------------------------------------


def drift(ds: xr.Dataset, models: Sequence[str] | None = None, *, dt: float = DT) -> plt.Figure:
    """Median distance from the truth in time, band from 25 to 75 % of starts and seeds; single
    forces on top.
    """
    shown = drawn(ds, "drift", models)
    if not shown:
        return absent("No model that was followed was asked for.")
    panels = [str(p) for p in ds["panel"].values]
    rows = [[p for p in panels if "+" not in p], [p for p in panels if "+" in p]]
    rows = [row for row in rows if row]
    width = max(map(len, rows))
    fig, axes = plt.subplots(
        len(rows),
        width,
        figsize=(3.5 * width, 2.9 * len(rows) + 0.7),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for line, row in zip(axes, rows, strict=True):
        for ax in line[len(row) :]:
            ax.set_axis_off()
        for ax, panel in zip(line, row, strict=False):
            for number, model in enumerate(shown):
                one = ds["drift"].sel(model=model, panel=panel)
                _band(ax, one, model, number, dt)
            ax.set_title(title(panel) + (" (ID)" if "+" not in panel else " (OOD)"), fontsize=10)
            ax.grid(axis="y", color="0.93", lw=0.6)
        line[0].set_ylabel(DRIFT, fontsize=8.5)
    _logarithmic(axes[0, 0])
    axes[-1, len(rows[-1]) // 2].set_xlabel("time [s]", fontsize=9)
    fig.legend(handles=_lines(ds, shown), loc="outside lower center", ncols=5, fontsize=8)
    return fig


def final(ds: xr.Dataset, models: Sequence[str] | None = None) -> plt.Figure:
    """Distance from the truth at the end: every seed a point (median over starts), a bar at their
    median.

    All models by default. Dotted: the mean prediction.
    """
    everything = [str(m) for m in ds["model"].values if m != MEAN]
    shown = drawn(ds, "drift", models if models is not None else everything)
    shown = [m for g in GROUPS for m in shown if group(ds, m) == g and m != MEAN]
    if not shown:
        return absent("No model that was followed was asked for.")
    panels = [str(p) for p in ds["panel"].values]
    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    fig, axes = plt.subplots(
        lines,
        columns,
        figsize=(10.5, lines * (0.75 + 0.2 * len(shown)) + 0.5),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    end = ds["drift"].isel(step=-1)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, panel in zip(axes.flat, panels, strict=False):
        for y, model in enumerate(shown):
            color, marker = GROUPS[group(ds, model)]
            one = _median(end.sel(model=model, panel=panel).dropna("seed", how="all"), "start")
            shift = 0.22 * np.linspace(-1, 1, len(one)) if len(one) > 1 else np.zeros(1)
            ax.scatter(one, y + shift, marker=marker, s=13, color=color, lw=0, zorder=3)
            ax.plot([np.median(one)] * 2, [y - 0.32, y + 0.32], color=color, lw=1.6)
        if MEAN in drawn(ds, "drift", [MEAN]):
            ax.axvline(
                float(np.median(_clipped(end.sel(model=MEAN, panel=panel)))),
                color="0.2",
                ls=":",
                lw=1.3,
            )
        ax.set_title(title(panel), fontsize=10)
        ax.set_yticks(range(len(shown)), [label(ds, m) for m in shown], fontsize=8)
        ax.set_ylim(len(shown) - 0.4, -0.6)
        ax.grid(axis="x", color="0.92", lw=0.6)
    axes[0, 0].set_xscale("log")
    axes[0, 0].xaxis.set_major_locator(LogLocator(numticks=8))
    axes[0, 0].xaxis.set_minor_formatter(NullFormatter())
    fig.supxlabel(f"{DRIFT} at the end", fontsize=9)
    names = {"vn": "Vector Network", "printed": "other models of the paper", "control": "controls"}
    marks = [
        Line2D([], [], color=c, marker=m, ls="", label=names[g], ms=5)
        for g, (c, m) in GROUPS.items()
        if g in {group(ds, one) for one in shown}
    ]
    marks.append(Line2D([], [], color="0.2", ls=":", label="mean prediction (Random)"))
    fig.legend(handles=marks, loc="outside upper center", ncols=4, fontsize=8)
    return fig


def energy(ds: xr.Dataset, models: Sequence[str] | None = None, *, dt: float = DT) -> plt.Figure:
    """How far the change of energy is from the truth's, where no drag acts: median over starts and
    seeds, band 25-75 %.

    Dotted: what the truth itself loses at the boundary, the median over starts.
    """
    shown = drawn(ds, "drift", models)
    if not shown:
        return absent("No model that was followed was asked for.")
    panels = [
        str(p) for p in ds["panel"].values if bool(ds["energy_true"].sel(panel=p).notnull().any())
    ]
    if not panels:
        return absent("Drag acts in every panel, and takes energy.")
    fig, axes = plt.subplots(
        1, len(panels), figsize=(10.5, 3.6), sharex=True, sharey=True, squeeze=False
    )
    for ax, panel in zip(axes[0], panels, strict=True):
        one = ds.sel(panel=panel)
        off = np.abs(one["energy"] - one["energy_true"])
        for number, model in enumerate(shown):
            _band(ax, off.sel(model=model), model, number, dt)
        lost = np.abs(one["energy_true"]).max(("model", "seed")).isel(step=slice(1, None))
        middle = _median(lost, "start")
        ax.plot(
            lost["step"] * dt,
            np.where(middle > FLOOR, middle, np.nan),
            color="k",
            ls=(0, (1, 1)),
            lw=1.2,
        )
        ax.set_title(title(panel), fontsize=10)
        ax.grid(axis="y", color="0.93", lw=0.6)
    axes[0, 0].set_ylabel("change of energy, distance\nfrom the truth's [box²/s²]", fontsize=8.5)
    _logarithmic(axes[0, 0])
    for ax in axes[0]:
        ax.set_xlabel("time [s]", fontsize=9)
    boundary = Line2D([], [], color="k", ls=(0, (1, 1)), label="the truth's own, at the boundary")
    fig.legend(
        handles=[*_lines(ds, shown), boundary], loc="outside lower center", ncols=4, fontsize=8
    )
    return fig


def _clipped(values: xr.DataArray) -> np.ndarray:
    """Numbers within what is drawn: lost ones at `CAP`, absent ones left out."""
    flat = np.asarray(values, float).ravel()
    return np.clip(flat[~np.isnan(flat)], FLOOR, CAP)


def _median(values: xr.DataArray, dim: str) -> np.ndarray:
    return np.asarray(values.clip(FLOOR, CAP).median(dim))


def _band(ax: plt.Axes, values: xr.DataArray, model: str, number: int, dt: float) -> None:
    one = values.isel(step=slice(1, None)).dropna("seed", how="all").clip(FLOOR, CAP)
    low, middle, high = (np.asarray(one.quantile(q, ("seed", "start"))) for q in (0.25, 0.5, 0.75))
    time, style = one["step"] * dt, look(model, number)
    ax.fill_between(time, low, high, color=style["color"], alpha=0.1, lw=0)
    ax.plot(time, middle, **style)


def _logarithmic(ax: plt.Axes) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(numticks=7))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _lines(ds: xr.Dataset, models: Sequence[str]) -> list[Line2D]:
    return [Line2D([], [], **look(m, i), label=label(ds, m)) for i, m in enumerate(models)]


# --- Fig. 11: paths -------------------------------------------------------------------------------


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

    "paper": of the starts whose true bodies stay below `reach` `(|coordinate|, box)` and travel at
    least `length` on average (box), the one where the Vector Network drifts least at the end: the
    one with the least median of final drifts over scenes and starts. Where none passes, all do.
    "median": the start in the middle when starts are ordered by the median of final drifts over all
    models.

    Raises
    ------
    ValueError
        For another pick.
    """
    if pick not in ("paper", "median"):
        raise ValueError(f"pick must be one of 'paper', 'median', got {pick!r}")
    ends = ds["drift"].sel(seed=seen_seed(ds)).isel(step=-1).clip(max=CAP)
    here = ends.sel(panel=scene)
    one = truth.sel(panel=scene)
    if pick == "median":
        order = np.argsort(here.median("model").values, kind="stable")
        return Pick(int(order[(len(order) - 1) // 2]), len(order), len(order), "")
    passes = ((one["reach"] < reach) & (one["length"] >= length)).values
    networks = [
        m for m in drawn(ds, "drift", [str(m) for m in ds["model"].values]) if group(ds, m) == "vn"
    ]
    if not networks:
        raise ValueError("ds must hold a model of the group vn, which the paper's pick favours")
    best = min(networks, key=lambda m: float(ends.sel(model=m, panel=ds["scene"].values).median()))
    score = here.sel(model=best).values
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
) -> plt.Figure:
    """True paths on top and those of models below, a scene per column; the numbers are drifts at
    the end.

    Parameters
    ----------
    truth
        Position (panel, start, step, body, axis), reach and length (panel, start).
    pick, reach, length
        As for `choose`.
    """
    shown = drawn(ds, "path", models)
    if not shown:
        return absent("No model whose paths were kept was asked for.")
    seed, scenes = seen_seed(ds), [str(s) for s in ds["scene"].values]
    fig, axes = plt.subplots(
        len(shown) + 1,
        len(scenes),
        figsize=(2.25 * len(scenes) + 1.2, 2.1 * (len(shown) + 1)),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for column, scene in zip(axes.T, scenes, strict=True):
        found = choose(ds, truth, scene, pick, reach=reach, length=length)
        true = (
            truth["position"]
            .sel(panel=scene)
            .isel(start=found.start)
            .transpose("step", "body", "axis")
            .values
        )
        _path(column[0], true)
        column[0].set_title(f"{title(scene)}\n{told(found)}", fontsize=8.5)
        for ax, model in zip(column[1:], shown, strict=True):
            one = ds.sel(model=model, seed=seed).isel(start=found.start)
            for body in range(true.shape[1]):
                ax.plot(*true[:, body].T, color="0.7", lw=1.1, zorder=1)
            _path(ax, one["path"].sel(scene=scene).transpose("step", "body", "axis").values)
            end = float(one["drift"].sel(panel=scene).isel(step=-1))
            ax.text(
                0.97,
                0.03,
                f"{end:.2g}" if np.isfinite(end) else "lost",
                transform=ax.transAxes,
                fontsize=7.5,
                ha="right",
                bbox={"fc": "w", "ec": "none", "pad": 1, "alpha": 0.8},
                zorder=5,
            )
    for ax, name in zip(axes[:, 0], ["truth", *(label(ds, m) for m in shown)], strict=True):
        ax.set_ylabel(name, fontsize=8.5)
    return fig


def told(found: Pick) -> str:
    """Which start it is and why, for a title."""
    if not found.favours:
        return f"start {found.start}: the median of {found.of}"
    return (
        f"start {found.start}: {found.passed or 'none'} of {found.of} "
        f"pass{'' if found.passed else 'es'}"
    )


def _path(ax: plt.Axes, p: np.ndarray) -> None:
    for body in range(p.shape[1]):
        color = PALETTE[body]
        ax.plot(*p[:, body].T, color=color, lw=1.5, zorder=2)
        ax.plot(*p[0, body], marker="o", mfc="w", mec=color, ms=4, zorder=3)
        there = np.flatnonzero(np.isfinite(p[:, body]).all(-1))
        ax.plot(*p[there[-1], body], marker="o", color=color, ms=5, zorder=4)
    ax.add_patch(
        plt.Rectangle(
            (-EDGE, -EDGE), 2 * EDGE, 2 * EDGE, fill=False, ec="0.7", ls="--", lw=0.8, zorder=0
        )
    )
    bare(ax)
    ax.set(xlim=(-2.7, 2.7), ylim=(-2.7, 2.7), aspect="equal")
