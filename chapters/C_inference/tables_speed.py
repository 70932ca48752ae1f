"""How fast the settle is beside other solvers: tables from the datasets of `speed`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.tables import Table

SOLVERS = {
    "vn_cd": "ours: coordinate descent",
    "vn_line_search": "ours: line search",
    "vn_restart": "ours: FISTA, restarted",
    "fista": "plain FISTA",
    "sklearn_cd": "scikit-learn lasso_cd",
    "sklearn_lars": "scikit-learn lasso_lars",
    "spams_lars": "SPAMS lasso",
    "spams_lars_cholesky": "SPAMS lasso, Cholesky",
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


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def _sizes(speed: xr.Dataset) -> list[str]:
    return [str(size) for size in speed["size"].values]


def table(speed: xr.Dataset) -> Table:
    """Milliseconds per sample, all sizes, gaps and numbers of threads; empty where the gap was not
    reached.
    """
    rows = {}
    for threads in map(int, speed["threads"].values):
        for gap in speed["gap"].values:
            for size in _sizes(speed):
                values = seconds(speed, threads).sel(size=size, gap=gap)
                rows[_threads(threads), f"{gap:g}", size] = {
                    name: 1e3 * float(values.sel(solver=s)) / int(size.split("x")[2])
                    for s, name in SOLVERS.items()
                    if s in speed["solver"].values
                }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["", "gap", "size"]
    return Table(frame, dict.fromkeys(frame.columns, "{:.3g}"), name="time per sample")


def ratios(speed: xr.Dataset) -> pd.DataFrame:
    """How many times faster coordinate descent is than the best peer of a kind, at gap 1e-3, and
    whether that is asked for: columns (peers, "times") and (peers, "asked").
    """
    rows = {}
    for threads in map(int, speed["threads"].values):
        found = seconds(speed, threads).sel(gap=GAP)
        for size in _sizes(speed):
            d, K, _ = map(int, size.split("x"))
            ours, row = float(found.sel(size=size, solver=OURS)), {}
            for name, (peers, _, asked) in TARGETS.items():
                there = [p for p in peers if p in speed["solver"].values]
                row[name, "times"] = float(found.sel(size=size, solver=there).min("solver")) / ours
                row[name, "asked"] = asked(d, K)
            rows[f"{size}, {_threads(threads)}"] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def met(speed: xr.Dataset) -> tuple[int, int]:
    """How many targets are met, and how many apply."""
    found, met, asked = ratios(speed), 0, 0
    for name, (_, wanted, _) in TARGETS.items():
        times = found[name, "times"][found[name, "asked"].astype(bool)].dropna()
        met, asked = met + int((times >= wanted).sum()), asked + len(times)
    return met, asked


def targets(speed: xr.Dataset) -> Table:
    """The ratios, with a tick where what is wanted is reached."""
    found = ratios(speed)
    frame = pd.DataFrame(
        {f"{name}, wanted {one[1]:g}": found[name, "times"] for name, one in TARGETS.items()}
    )
    formats = {}
    for name, (_, wanted, _) in TARGETS.items():
        asked = set(found[name, "times"][found[name, "asked"].astype(bool)])

        def form(value: float, wanted: float = wanted, asked: set[float] = asked) -> str:
            mark = (" ✓" if value >= wanted else " ✗") if value in asked else ""
            return f"{value:.1f}{mark}"

        formats[f"{name}, wanted {wanted:g}"] = form
    return Table(frame, formats, name="times faster than other solvers")


def layers(stacks: xr.Dataset) -> Table:
    """Several layers: sweeps and time to a relative duality gap of F, against plain interleaved
    steps.
    """
    rows, column = {}, f"times faster, wanted {LAYERS_TARGET:g}"
    for stack in map(str, stacks["stack"].values):
        base = stacks.sel(stack=stack, solver="ista", schedule="sweep")
        for schedule in map(str, stacks["schedule"].values):
            for solver in map(str, stacks["solver"].values):
                one = stacks.sel(stack=stack, schedule=schedule, solver=solver)
                rows[stack, schedule, solver] = {
                    "sweeps": float(one["sweeps"]),
                    "ms per sample": 1e3 * float(one["cpu"] / stacks["n_samples"].max()),
                    "fewer sweeps": float(base["sweeps"] / one["sweeps"]),
                    column: float(base["cpu"] / one["cpu"]),
                }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["stack", "schedule", "method"]
    formats = {"sweeps": "{:.0f}", "ms per sample": "{:.2f}", "fewer sweeps": "{:.1f}"}
    return Table(frame, {**formats, column: "{:.1f}"}, name="stacks of layers")


def memory(found: xr.Dataset) -> Table:
    """What a settle takes: at its peak with the program and its libraries, by itself, and per
    sample.
    """
    columns = {
        "peak, MB": found["peak"] / 1e6,
        "settle alone, MB": found["rise"] / 1e6,
        "per sample, kB": found["per_sample"] / 1e3,
    }
    frame = pd.DataFrame({name: values.to_series() for name, values in columns.items()})
    frame.index.names = ["size", "method"]
    return Table(frame, dict.fromkeys(columns, "{:.0f}"), name="memory of the settle")


def cuda(speed: xr.Dataset) -> Table:
    """The solvers that run on a GPU: time by the clock, and the share of its rate in matrix
    products.
    """
    rows = {}
    for gap in speed["gap"].values:
        for size in _sizes(speed):
            for solver in (s for s in SOLVERS if s in speed["solver"].values):
                one = speed.isel(threads=0).sel(size=size, gap=gap, solver=solver)
                if np.isfinite(float(one["wall"])):
                    rows[f"{gap:g}", size, SOLVERS[solver]] = {
                        "us per sample": 1e6 * float(one["wall"]) / int(size.split("x")[2]),
                        "share of the GEMM rate": float(one["gemm_share"]),
                    }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["gap", "size", "solver"]
    return Table(frame, name="time per sample on a GPU")
