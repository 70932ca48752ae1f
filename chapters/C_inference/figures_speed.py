"""How fast the settle is beside other solvers: figure and tables from the datasets of
`benchmarks`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.style import PALETTE

# Label, colour.
SOLVERS = {
    "vn_cd": ("ours: coordinate descent", PALETTE[0]),
    "vn_line_search": ("ours: line search", PALETTE[0]),
    "vn_restart": ("ours: FISTA, restarted", PALETTE[0]),
    "fista": ("plain FISTA", PALETTE[1]),
    "sklearn_cd": ("scikit-learn lasso_cd", PALETTE[2]),
    "sklearn_lars": ("scikit-learn lasso_lars", PALETTE[2]),
    "spams_lars": ("SPAMS lasso", PALETTE[3]),
    "spams_lars_cholesky": ("SPAMS lasso, Cholesky", PALETTE[3]),
}
OURS = "vn_cd"
# Peers, how many times faster we want to be than the best of them, and for which (d, K).
TARGETS = {
    "plain FISTA": (("fista",), 10.0, lambda d, K: d >= 512 and K <= 1024),
    "scikit-learn's best": (("sklearn_cd", "sklearn_lars"), 2.0, lambda d, K: True),
    "SPAMS' best": (
        ("spams_lars", "spams_lars_cholesky"),
        1.0,
        lambda d, K: d >= 512 and K <= 1024,
    ),
}
LAYERS_TARGET = 3.0
GAP = 1e-3


def seconds(speed: xr.Dataset, threads: int) -> xr.DataArray:
    """Seconds of those that reached the gap: of the processor for one thread, which other programs
    do not lengthen.
    """
    one = speed.sel(threads=threads)
    return one["cpu" if threads == 1 else "wall"].where(one["reached"] == 1)


def times(speed: xr.Dataset) -> plt.Figure:
    """Time per sample of every solver, one panel per size; one thread."""
    sizes, solvers = (
        list(map(str, speed["size"].values)),
        [s for s in SOLVERS if s in speed["solver"].values],
    )
    fig, axes = plt.subplots(1, len(sizes), figsize=(9.8, 3.2), sharey=True, squeeze=False)
    found = seconds(speed, 1)
    for ax, size in zip(axes[0], sizes, strict=True):
        d, K, n = map(int, size.split("x"))
        for gap, filled in zip(speed["gap"].values, (True, False), strict=False):
            for row, solver in enumerate(solvers):
                color = SOLVERS[solver][1]
                value = 1e3 * float(found.sel(size=size, solver=solver, gap=gap)) / n
                ax.plot(value, row, "o", mec=color, mfc=color if filled else "none", ms=6)
        ax.set(xscale="log", ylim=(len(solvers) - 0.5, -0.5), xlabel="ms per sample")
        ax.set_title(f"d = {d}, K = {K}\nB = {n}", fontsize=9)
        ax.grid(axis="both", color="0.93")
    axes[0, 0].set_yticks(range(len(solvers)), [SOLVERS[s][0] for s in solvers])
    return fig


def table(speed: xr.Dataset) -> pd.DataFrame:
    """Milliseconds per sample, all sizes, gaps and numbers of threads; empty where the gap was not
    reached.
    """
    columns = {}
    for threads in map(int, speed["threads"].values):
        for gap in speed["gap"].values:
            for size in map(str, speed["size"].values):
                n = int(size.split("x")[2])
                values = 1e3 * seconds(speed, threads).sel(size=size, gap=gap) / n
                columns[f"{threads} thread{'s' * (threads > 1)}", f"{gap:g}", size] = {
                    SOLVERS[s][0]: "" if (v := float(values.sel(solver=s))) != v else f"{v:.3g}"
                    for s in SOLVERS
                    if s in speed["solver"].values
                }
    frame = pd.DataFrame(columns)
    frame.columns.names = ["", "gap", "size"]
    return frame.T


def targets(speed: xr.Dataset) -> pd.DataFrame:
    """How many times faster coordinate descent is than the best peer of a kind, at gap 1e-3, with
    what was wanted.
    """
    rows = {}
    for threads in map(int, speed["threads"].values):
        found = seconds(speed, threads).sel(gap=GAP)
        for size in map(str, speed["size"].values):
            d, K, _ = map(int, size.split("x"))
            row = {}
            for name, (peers, wanted, asked) in TARGETS.items():
                there = [p for p in peers if p in speed["solver"].values]
                ratio = float(
                    found.sel(size=size, solver=there).min("solver")
                    / found.sel(size=size, solver=OURS)
                )
                mark = (
                    f" {'✓' if ratio >= wanted else '✗'}"
                    if asked(d, K) and np.isfinite(ratio)
                    else ""
                )
                row[f"{name}, wanted {wanted:g}"] = (
                    f"{ratio:.1f}{mark}" if np.isfinite(ratio) else "-"
                )
            rows[f"{size}, {threads} thread{'s' * (threads > 1)}"] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(columns="times faster than")


def layers(stacks: xr.Dataset) -> pd.DataFrame:
    """Several layers: sweeps and time to a relative duality gap of F, against plain interleaved
    steps.
    """
    plain = {"solver": "ista", "schedule": "sweep"}
    rows = {}
    for stack in map(str, stacks["stack"].values):
        for schedule in map(str, stacks["schedule"].values):
            for solver in map(str, stacks["solver"].values):
                one = stacks.sel(stack=stack, schedule=schedule, solver=solver)
                base = stacks.sel(stack=stack).sel(plain)
                saved = [float(base[name] / one[name]) for name in ("sweeps", "cpu")]
                itself = plain == {"solver": solver, "schedule": schedule}
                mark = (
                    ""
                    if itself or solver == "ista"
                    else f" {'✓' if min(saved) >= LAYERS_TARGET else '✗'}"
                )
                rows[stack, schedule, solver] = {
                    "sweeps": f"{float(one['sweeps']):.0f}",
                    "ms per sample": f"{1e3 * float(one['cpu'] / stacks['n_samples'].max()):.2f}",
                    "fewer sweeps": f"{saved[0]:.1f}",
                    f"times faster, wanted {LAYERS_TARGET:g}": f"{saved[1]:.1f}{mark}",
                }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["stack", "schedule", "method"]
    return frame


def memory(found: xr.Dataset) -> pd.DataFrame:
    """What a settle takes: at its peak with the program and its libraries, by itself, and per
    sample.
    """
    rows = {}
    for size in map(str, found["size"].values):
        for solver in map(str, found["solver"].values):
            one = found.sel(size=size, solver=solver)
            rows[size, solver] = {
                "peak, MB": f"{float(one['peak']) / 1e6:.0f}",
                "settle alone, MB": f"{float(one['rise']) / 1e6:.0f}",
                "per sample, kB": f"{float(one['per_sample']) / 1e3:.1f}",
            }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["size", "method"]
    return frame


def sentence(speed: xr.Dataset) -> str:
    """How many of the targets are met, in words."""
    marks = "".join(targets(speed).to_numpy().ravel())
    met, missed = marks.count("✓"), marks.count("✗")
    return f"Of {met + missed} targets that apply at these sizes, {met} are met."


def cuda(speed: xr.Dataset) -> pd.DataFrame:
    """The solvers that run on a GPU: time by the clock, and the share of its rate in matrix
    products.
    """
    rows = {}
    for gap in speed["gap"].values:
        for size in map(str, speed["size"].values):
            for solver in (s for s in SOLVERS if s in speed["solver"].values):
                one = speed.isel(threads=0).sel(size=size, gap=gap, solver=solver)
                if np.isfinite(float(one["wall"])):
                    samples = int(size.split("x")[2])
                    rows[f"{gap:g}", size, SOLVERS[solver][0]] = {
                        "us per sample": f"{1e6 * float(one['wall']) / samples:.3g}",
                        "share of the GEMM rate": f"{float(one['gemm_share']):.2f}",
                    }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["gap", "size", "solver"]
    return frame
