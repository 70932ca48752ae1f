"""How fast the settle is beside other solvers: tables from the datasets of `speed`."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from vnlib.plots.tables import Table, spreads

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
# Peers, how many times faster than the best of them coordinate descent should be, and whether only
# for d >= 512 and K <= 1024.
TARGETS = {
    "plain FISTA": (["fista"], 10, True),
    "scikit-learn's best": (["sklearn_cd", "sklearn_lars"], 2, False),
    "SPAMS' best": (["spams_lars", "spams_lars_cholesky"], 1, True),
}


def seconds(speed: xr.Dataset) -> xr.DataArray:
    """Seconds of those that reached the gap: of the processor for one thread, which other programs
    do not lengthen.
    """
    found = speed["cpu"].where(speed["threads"] == 1, speed["wall"])
    return found.where(speed["reached"] == 1)


def sizes(values: xr.Dataset | xr.DataArray) -> xr.DataArray:
    """Dimension, atoms and samples of every size."""
    return values["size"].str.split("part", "x").astype(int).transpose("part", ...)


def _threads(number: int) -> str:
    return f"{number} thread{'s' * (number > 1)}"


def table(speed: xr.Dataset) -> Table:
    """Milliseconds per sample of all sizes and gaps; empty where the gap was not reached."""
    found = (1e3 * seconds(speed) / sizes(speed)[-1]).transpose(..., "solver")
    frame = spreads({"": found}, "threads", "gap", "size", solver=SOLVERS, threads=_threads)
    frame = frame.rename_axis(["", "gap", "size"])
    return Table(frame, dict.fromkeys(frame, "{:.3g}"), name="time per sample")


def targets(speed: xr.Dataset) -> Table:
    """How many times faster coordinate descent is than the best peer of a kind, at gap 1e-3, with a
    tick where what is wanted is reached.
    """
    found = seconds(speed).sel(gap=1e-3).stack(row=["threads", "size"])
    rows = [f"{size}, {_threads(number)}" for number, size in found["row"].values]
    d, atoms, _ = sizes(found)
    columns, formats = {}, {}
    for name, (peers, wanted, large) in TARGETS.items():
        times = found.sel(solver=peers).min("solver") / found.sel(solver="vn_cd")
        counts = (d >= 512) & (atoms <= 1024) | (not large)
        marks = xr.where(times >= wanted, " ✓", " ✗").where(counts, "").to_numpy()
        columns[f"{name}, wanted {wanted}"] = times = times.to_numpy()
        shown = {value: f"{value:.1f}{mark}" for value, mark in zip(times, marks, strict=True)}
        formats[f"{name}, wanted {wanted}"] = shown.get
    return Table(pd.DataFrame(columns, rows), formats, name="times faster than other solvers")


def layers(stacks: xr.Dataset) -> Table:
    """Several layers: sweeps and time to a relative gap of F, against plain interleaved steps."""
    plain = stacks.sel(solver="ista", schedule="sweep", drop=True)
    columns = {
        "sweeps": stacks["sweeps"],
        "ms per sample": 1e3 * stacks["cpu"] / stacks["n_samples"].max(),
        "fewer sweeps": plain["sweeps"] / stacks["sweeps"],
        "times faster, wanted 3": plain["cpu"] / stacks["cpu"],
    }
    forms = ("{:.0f}", "{:.2f}", "{:.1f}", "{:.1f}")
    frame = spreads(columns, "stack", "schedule", "solver")
    frame = frame.rename_axis(["stack", "schedule", "method"])
    return Table(frame, dict(zip(columns, forms, strict=True)), name="stacks of layers")


def memory(found: xr.Dataset) -> Table:
    """What a settle takes: at its peak with the program, by itself, and per sample."""
    columns = {
        "peak, MB": found["peak"] / 1e6,
        "settle alone, MB": found["rise"] / 1e6,
        "per sample, kB": found["per_sample"] / 1e3,
    }
    frame = spreads(columns, "size", "solver").rename_axis(["size", "method"])
    return Table(frame, dict.fromkeys(columns, "{:.0f}"), name="memory of the settle")


def cuda(speed: xr.Dataset) -> Table:
    """The solvers on a GPU: time by the clock, and the share of its rate in matrix products."""
    one = speed.isel(threads=0).where(speed["wall"].isel(threads=0).notnull())
    columns = {
        "us per sample": 1e6 * one["wall"] / sizes(speed)[-1],
        "share of the GEMM rate": one["gemm_share"],
    }
    frame = spreads(columns, "gap", "size", "solver", solver=SOLVERS)
    return Table(frame, name="time per sample on a GPU")
