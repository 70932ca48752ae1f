"""Figures of forces told by operators and by rivals, from results over (model, seed, inference,
forces, bodies), and the fields of the first seed.
"""

from __future__ import annotations

from collections.abc import Iterable

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from benchmarks.confirm.figures import changes
from benchmarks.nbody.figures import LAWS
from chapters.best_bodies.predictions import error, mean_ratio, power, ratio, within
from vnlib.plots.frames import if_computed, label, some
from vnlib.plots.statistics import over_seeds
from vnlib.plots.style import image_axes, look

# Models of a picture of fields -> the heads of their columns
PICTURED = {
    "vn_256": "VN, operators",
    "vn_512_vector": "VN, vectors",
    "rbf_256": "RBF ridge",
    "factorized": "Factorized",
    "token_mlp": "Token MLP",
}
BY_CELL = (
    "vn_256",
    "vn_512_vector",
    "rbf_512",
    "process_matern",
    "factorized",
    "token_mlp_longer",
    "factorized_dense",
    "gnn",
    "mlp",
)
# What is changed -> model, the other, cells: ratios of the errors of the first to the second
STEPS = {
    "operators / vectors, 256 atoms": ("vn_256", "vn_256_vector"),
    "operators, 256 / vectors, 512 (as many numbers)": ("vn_256", "vn_512_vector"),
    "recruits by error / at random": ("vn_256", "vn_256_random"),
    "recruits by error / by coverage": ("vn_256", "vn_256_coverage"),
    "512 / 256 atoms": ("vn_512", "vn_256"),
    "closed form / delta rule": ("vn_256", "vn_256_delta"),
    "vectors: 512 recruits / split of Fig. 4": ("vn_512_vector", "vn_608"),
    "1,600 / 400 trajectories": ("vn_256_n1600", "vn_256"),
    "400 / 100 trajectories": ("vn_256", "vn_256_n100"),
}
DATA = {  # number of trajectories -> models that learned from as many
    "VN-1L, tokens, operators, 256": {100: "vn_256_n100", 400: "vn_256", 1600: "vn_256_n1600"},
    "RBF ridge, tokens, width per law, 256": {
        100: "rbf_256_n100",
        400: "rbf_256",
        1600: "rbf_256_n1600",
    },
    "Token MLP, twice the updates": {400: "token_mlp_longer"},
    "Factorized": {400: "factorized"},
}


def run(results: xr.Dataset, models: Iterable[str]) -> list[str]:
    """Those of some models that were run."""
    there = [m for m in models if m in results["model"].values]
    return [m for m in there if bool(results["mse"].sel(model=m).notnull().any())]


@if_computed
def fields(results: xr.Dataset) -> Figure:
    """True fields between two bodies, that of the network, and what models leave, first seed."""
    one = results.isel(seed=0)
    there = [m for m in PICTURED if m in run(one, PICTURED)]
    models = some([m for m in there if one["told"].sel(model=m).notnull().any()])
    size = (1.6 * (2 + len(models)), 4.5)
    fig, axes = plt.subplots(2, 2 + len(models), figsize=size, squeeze=False)
    for line, law in zip(axes, one["between"].values, strict=True):
        law_of = one.sel(between=law)
        true = law_of["true"].sel(model=models[0])
        top = float(_size(true).max())
        shown = {"truth": true, f"{PICTURED[models[0]]}": law_of["told"].sel(model=models[0])}
        for ax, (title, field) in zip(line, shown.items(), strict=False):
            heading = title if law == one["between"].values[0] else ""
            whole = _map(ax, heading, _size(field) / top)
            whole.set(cmap="viridis", clim=(0, 1))
            _arrows(ax, field)
        for ax, model in zip(line[2:], models, strict=True):
            left = _size(law_of["told"].sel(model=model) - true).clip(1e-5)
            title = f"error of\n{PICTURED[model]}" if law == one["between"].values[0] else ""
            image = _map(ax, title, left)
            image.set(cmap="magma", norm=LogNorm(1e-4, 0.3))
        line[0].set_ylabel(f"{LAWS[law]},\nup to {top:.2g} box/s²", fontsize=9)
    # Above and below all columns, where they stay on a phone.
    bar = fig.colorbar(whole, ax=axes[:, :2], location="top", pad=0.03)
    bar.set_ticks([0, 0.5, 1], labels=["0", "half", "largest"])
    bar = fig.colorbar(image, ax=axes[:, 2:], location="bottom", pad=0.03, aspect=40)
    bar.set_label("error [box/s²]", fontsize=8)
    return fig


def _size(field: xr.DataArray) -> xr.DataArray:
    return np.sqrt(np.square(field).sum("axis", skipna=False))


def _map(ax: Axes, title: str, values: xr.DataArray) -> plt.AxesImage:
    x, y = (values[name].values for name in ("x", "y"))
    step = 0.5 * (x[1] - x[0])
    extent = (x[0] - step, x[-1] + step, y[0] - step, y[-1] + step)
    image_axes(ax, title, size=8.5)
    return ax.imshow(values.transpose("y", "x"), origin="lower", extent=extent)


def _arrows(ax: Axes, field: xr.DataArray) -> None:
    every = max(1, field.sizes["x"] // 9)
    some = field.isel(x=slice(None, None, every), y=slice(None, None, every))
    u, v = (some.sel(axis=axis).transpose("y", "x") for axis in ("x", "y"))
    ax.quiver(some["x"], some["y"], u, v, color="white", width=0.009, pivot="mid")


@if_computed
def by_cell(results: xr.Dataset) -> Figure:
    """Relative error of each force set, a panel for each number of bodies."""
    models = some(run(results, BY_CELL))
    counts = results["bodies"].values.tolist()
    size = (3.4 * len(counts) + 1.6, 5.6)
    fig, axes = plt.subplots(1, len(counts), figsize=size, sharey=True, squeeze=False)
    names, handles = [str(name) for name in results["forces"].values], {}
    for ax, bodies in zip(axes[0], counts, strict=True):
        for model in models:
            own = relative(results, model)
            told = over_seeds(own.isel(cell=np.flatnonzero(own["bodies"] == bodies)))
            text = label(results, model)
            color, marker = look(text)
            vn = model.startswith("vn")
            rows = np.arange(len(names)) + (0.0 if vn else 0.2)
            ends = np.abs(np.stack([told["low"], told["high"]]) - told["median"].values)
            mark = {"color": color, "marker": marker, "ms": 6 if vn else 4.5, "ls": "none"}
            bars = ax.errorbar(told["median"], rows, xerr=np.nan_to_num(ends), lw=0.8, **mark)
            handles.setdefault(text, bars)
        ax.set(xscale="log", xlabel="relative squared error", title=f"{bodies} bodies")
        ax.grid(axis="x", color="0.92", lw=0.6)
    axes[0, 0].set_yticks(range(len(names)), [named(name) for name in names])
    axes[0, 0].invert_yaxis()
    fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return fig


def relative(results: xr.Dataset, model: str) -> xr.DataArray:
    """The error (seed, cell) of a model over the mean square of true accelerations."""
    return error(results, model) / power(results, model)


def named(forces: str) -> str:
    """The name of a force set on an axis."""
    return " + ".join(LAWS[law] for law in forces.split("+"))


@if_computed
def ablation(results: xr.Dataset) -> Figure:
    """What each ingredient changes: ratios of errors where gravity or springs act."""
    rows = some([name for name, pair in STEPS.items() if len(run(results, pair)) == 2])
    each = {name: changed(results, name) for name in rows}
    found = {name: (mean_ratio(one), over_seeds(one)["median"]) for name, one in each.items()}
    names = {"told": "geometric mean over cells, with interval", "single": "each cell, median"}
    return changes(found, of="errors", **names)


def changed(results: xr.Dataset, step: str) -> xr.DataArray:
    """The ratio of errors (seed, cell) that an ingredient changes, where gravity or springs act."""
    own, other = STEPS[step]
    return ratio(results, own, [other], "curved")


@if_computed
def data(results: xr.Dataset) -> Figure:
    """Relative error against the number of trajectories, where gravity or springs act."""
    curves = {t: {n: m for n, m in c.items() if run(results, [m])} for t, c in DATA.items()}
    curves = some({text: found for text, found in curves.items() if found})
    fig, ax = plt.subplots(figsize=(5.6, 3.6))
    for text, found in curves.items():
        color, marker = look(text)
        values = [curved(results, model) for model in found.values()]
        told = xr.concat([over_seeds(one) for one in values], "n_train")
        line = {"color": color, "marker": marker, "ms": 6, "lw": 1.2, "label": text}
        ax.plot(list(found), told["median"], **line)
        ax.vlines(list(found), told["low"], told["high"], color=color, lw=1.2)
    ax.set(xscale="log", yscale="log", xlabel="trajectories for each law")
    ax.set(ylabel="relative squared error")
    ax.set_xticks([100, 400, 1600], ["100", "400", "1,600"])
    ax.xaxis.minorticks_off()
    fig.legend(fontsize=8, loc="outside lower center", ncols=1)
    return fig


def curved(results: xr.Dataset, model: str) -> xr.DataArray:
    """The geometric mean (seed) of a model's relative errors where gravity or springs act."""
    return mean_ratio(within(relative(results, model), "curved"))
