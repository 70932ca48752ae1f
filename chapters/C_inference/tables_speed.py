"""How fast the settle is beside other solvers: tables from the datasets of `speed`."""

from __future__ import annotations

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
# Peers, how many times faster than the best of them coordinate descent should be, and whether only
# for d >= 512 and K <= 1024.
TARGETS = {
    "plain FISTA": (["fista"], 10, True),
    "scikit-learn's best": (["sklearn_cd", "sklearn_lars"], 2, False),
    "SPAMS' best": (["spams_lars", "spams_lars_cholesky"], 1, True),
}
LAYERS_TARGET = 3


def seconds(speed: xr.Dataset, threads: int) -> xr.DataArray:
    """Seconds of those that reached the gap: of the processor for one thread, which other programs
    do not lengthen.
    """
    one = speed.sel(threads=threads, drop=True)
    return one["cpu" if threads == 1 else "wall"].where(one["reached"] == 1)


def samples(speed: xr.Dataset) -> xr.DataArray:
    """How many samples there are of every size."""
    return speed["size"].str.split("part", "x").isel(part=-1).astype(int)


def by_threads(speed: xr.Dataset) -> dict[str, xr.DataArray]:
    """`seconds` with every number of threads."""
    counts = speed["threads"].values.tolist()
    return {f"{n} thread{'s' * (n > 1)}": seconds(speed, n) for n in counts}


def table(speed: xr.Dataset) -> Table:
    """Milliseconds per sample, all sizes, gaps and numbers of threads; empty where the gap was not
    reached.
    """
    found = xr.Dataset(by_threads(speed)).to_array("threads").sel(solver=list(SOLVERS))
    found = (1e3 * found / samples(speed)).stack(row=["threads", "gap", "size"])
    frame = found.transpose("row", "solver").to_pandas().rename(columns=SOLVERS)
    frame = frame.rename(index="{:g}".format, level="gap").rename_axis(["", "gap", "size"])
    return Table(frame, dict.fromkeys(frame, "{:.3g}"), name="time per sample")


def targets(speed: xr.Dataset) -> Table:
    """How many times faster coordinate descent is than the best peer of a kind, at gap 1e-3, with a
    tick where what is wanted is reached.
    """
    columns, formats = {}, {}
    for name, (peers, wanted, large) in TARGETS.items():
        column, marks = {}, {}
        for threads, found in by_threads(speed).items():
            found = found.sel(gap=1e-3)
            times = found.sel(solver=peers).min("solver") / found.sel(solver="vn_cd")
            for size, value in zip(times["size"].values, times.values.tolist(), strict=True):
                d, K, _ = map(int, size.split("x"))
                column[f"{size}, {threads}"] = value
                if not large or (d >= 512 and K <= 1024):
                    marks[value] = " ✓" if value >= wanted else " ✗"
        title = f"{name}, wanted {wanted}"
        columns[title] = column
        formats[title] = lambda value, marks=marks: f"{value:.1f}{marks.get(value, '')}"
    return Table(pd.DataFrame(columns), formats, name="times faster than other solvers")


def layers(stacks: xr.Dataset) -> Table:
    """Several layers: sweeps and time to a relative duality gap of F, against plain interleaved
    steps.
    """
    plain = stacks.sel(solver="ista", schedule="sweep", drop=True)
    columns = {
        "sweeps": (stacks["sweeps"], "{:.0f}"),
        "ms per sample": (1e3 * stacks["cpu"] / stacks["n_samples"].max(), "{:.2f}"),
        "fewer sweeps": (plain["sweeps"] / stacks["sweeps"], "{:.1f}"),
        f"times faster, wanted {LAYERS_TARGET}": (plain["cpu"] / stacks["cpu"], "{:.1f}"),
    }
    found = xr.Dataset({title: values for title, (values, _) in columns.items()})
    frame = found.to_dataframe(["stack", "schedule", "solver"])[list(columns)]
    frame.index.names = ["stack", "schedule", "method"]
    return Table(
        frame, {title: form for title, (_, form) in columns.items()}, name="stacks of layers"
    )


def memory(found: xr.Dataset) -> Table:
    """What a settle takes: at its peak with the program and its libraries, by itself, and per
    sample.
    """
    columns = {
        "peak, MB": found["peak"] / 1e6,
        "settle alone, MB": found["rise"] / 1e6,
        "per sample, kB": found["per_sample"] / 1e3,
    }
    frame = xr.Dataset(columns).to_dataframe()[list(columns)].rename_axis(["size", "method"])
    return Table(frame, dict.fromkeys(columns, "{:.0f}"), name="memory of the settle")


def cuda(speed: xr.Dataset) -> Table:
    """The solvers that run on a GPU: time by the clock, and the share of its rate in matrix
    products.
    """
    one = speed.isel(threads=0)
    columns = {
        "us per sample": 1e6 * one["wall"] / samples(speed),
        "share of the GEMM rate": one["gemm_share"],
    }
    frame = xr.Dataset(columns).to_dataframe(["gap", "size", "solver"])[list(columns)]
    frame = frame.dropna(subset="us per sample").rename(index=SOLVERS, level="solver")
    return Table(frame.rename(index="{:g}".format, level="gap"), name="time per sample on a GPU")
