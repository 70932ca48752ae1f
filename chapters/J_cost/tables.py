"""Tables of what it costs, and the numbers that the page's prose is given.

`results`, `scaling` as in `figures`; `measured` (chapter, run) as `account.measure` returns it.
"""

from __future__ import annotations

import pandas as pd
import xarray as xr

from chapters.J_cost.figures import AXES, PAIRS, SINGLE, TASKS, along, ratio
from chapters.J_cost.names import labels, measured_run, title
from vnlib.plots.statistics import median, short, texts
from vnlib.plots.tables import Table, spreads

# What the page says of a pair of tasks.
SHORT = {
    "exact": "fastest settle / pass",
    "settle": "default settle / pass",
    "line_search": "line search / pass",
    "exact_update": "update with it / backprop",
    "update": "update, default settle / backprop",
}


def duration(seconds: float) -> str:
    """Hours from 100 minutes on, minutes from 100 seconds on."""
    units = ((6000, 3600, "h"), (100, 60, "min"), (0, 1, "s"))
    unit, name = next(of for least, *of in units if seconds >= least)
    return f"{short(seconds / unit)} {name}"


def size(number: float) -> str:
    """Bytes in units of 1000."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= unit:
            return f"{short(float(f'{number / unit:.2g}'))} {name}"
    return f"{number:.0f} B"


def yes(value: float) -> str:
    """A share of runs as a word."""
    return "yes" if value else "no"


def exponents(scaling: xr.Dataset) -> Table:
    """Fitted exponents of operations and time by task and axis, over seeds."""
    costs = scaling[["operations_exponent", "time_exponent"]].to_array("of")
    names = {"task": TASKS, "vary": AXES, "of": lambda name: name.removesuffix("_exponent")}
    rows = spreads({"": costs.transpose(..., "vary", "seed")}, "task", "of", **names)
    return Table(rows.rename_axis(["", "exponent of"]), name="exponents of costs")


def ratios(scaling: xr.Dataset) -> Table:
    """All ratios at the smallest and the largest size of every axis."""
    parts, every = {}, ("seed", "repeat")
    for vary, axis in AXES.items():
        one = along(scaling, vary).isel(place=[0, -1])
        one = one.assign_coords(place=[f"{size:,g}" for size in one["size"][0].values])
        for what, over, _ in sorted(PAIRS + SINGLE, key=lambda pair: list(SHORT).index(pair[0])):
            found = ratio(one, what, over)
            columns = {"operations": found["operations"], "time": found["time"].median("repeat")}
            columns["single repeats, least"] = found["time"].min(every)
            columns["single repeats, most"] = found["time"].max(every)
            parts[axis, SHORT[what]] = spreads(columns, "place")
    rows = pd.concat(parts, names=["varied", "ratio", "value"]).swaplevel()
    return Table(rows, name="ratios of costs")


# Label, how to write it, how to put chapters together.
COLUMNS = {
    "runs": ("runs", "{:,.0f}", "sum"),
    "seconds": ("core time", duration, "sum"),
    "gpu_seconds": ("time with a GPU", duration, "sum"),
    "bytes": ("results", size, "sum"),
    "weights": ("weights", size, "sum"),
    "selection_weights": ("weights of candidates", size, "sum"),
    "peak": ("largest process", size, "max"),
    "own": ("of which data", size, "max"),
    "checkpoints": ("checkpoints seen", size, "max"),
    "finished": ("to its end", yes, "min"),
}


def chapters(results: xr.Dataset) -> Table:
    """The account, chapter by chapter, and the sum, of memory and checkpoints the most."""
    rows = results[list(COLUMNS)].to_dataframe()[list(COLUMNS)]
    rows.loc["all"] = rows.agg({key: over for key, (*_, over) in COLUMNS.items()})
    rows = rows.rename(index=title)
    rows.columns = [label for label, *_ in COLUMNS.values()]
    formats = {label: form for label, form, _ in COLUMNS.values()}
    return Table(rows, formats, name="what the chapters took")


def runs(measured: xr.Dataset) -> Table:
    """Every measured run."""
    names = {"peak": "at its peak", "program": "program", "cpu": "processor", "done": "to its end"}
    rows = measured[["label", *names]].to_dataframe().dropna().reset_index()
    rows["run"] = [measured_run(*pair) for pair in zip(rows["chapter"], rows["label"], strict=True)]
    rows = rows.set_index(["chapter", "run"])[list(names)].rename(columns=names)
    rows = rows.rename(index=title, level="chapter")
    formats = {"at its peak": size, "program": size, "processor": duration, "to its end": yes}
    return Table(rows, formats, name="measured runs")


def models(found: xr.Dataset, measured: xr.Dataset) -> Table:
    """Every model of every chapter (see `stored.table`), and the largest process if measured."""
    rows = found.to_dataframe().reset_index().set_index(["chapter", "model"])
    rows = rows[["runs", "seconds", "median", "gpu", "weights"]]
    rows = rows.set_axis(["runs", "all runs", "a run", "with a GPU", "weights"], axis=1)
    rows["their size"] = 4 * rows["weights"]
    runs = {str(name): one.to_dataframe() for name, one in measured.groupby("chapter")}
    rows["largest process"] = [_peak(runs.get(name[0]), *name) for name in rows.index]
    rows.index = pd.MultiIndex.from_tuples(labels(rows.index.tolist()), names=rows.index.names)
    share = "{:.0f} %".format
    rows["with a GPU"] *= 100
    forms = ("{:.0f}", duration, lambda one: f"{short(one)} s", share, "{:,.0f}", size, size)
    formats = dict(zip(rows.columns, forms, strict=True))
    return Table(rows, formats, name="cost of all models of all chapters")


def _peak(runs: pd.DataFrame | None, chapter: str, model: str) -> float:
    """The most memory of a chapter's measured runs of a model; NaN where none was measured."""
    if runs is None:
        return float("nan")
    words = runs["label"].astype(str).str.split(": ", n=1).str[-1].str.split(", ")
    return runs["peak"][[model == chapter or model in said for said in words]].max()


def numbers(results: xr.Dataset, scaling: xr.Dataset, raw: float) -> dict[str, str]:
    """What the page's prose says; raw: bytes of MNIST."""
    off = abs(scaling["other_weights"] / scaling["weights"] - 1).max()
    whole = "{:,.0f}".format
    said = {
        "appj-time": duration(float(results["seconds"].sum())),
        "appj-gpu-time": duration(float(results["gpu_seconds"].sum())),
        "appj-largest": title(results["peak"].idxmax().item()),
        **texts("appj-chapters", results["bytes"].count(), whole),
        **texts("appj", results[["runs", "gpu_runs"]].sum(), "{:,.0f}".format),
        **texts("appj", {"disk": results["bytes"].sum(), "mnist": raw}, size),
        **texts("appj", results[["peak", "own"]].max(), size),
        **texts(
            "appj-pair", 2 * results["own"].max(), size
        ),  # as many as two cores compute at once
        **texts("appj-program", (results["peak"] - results["own"]).max(), size),
        **texts("appj-off", 100 * off, "{:.1f}".format),
        "appj-seeds": whole(scaling.sizes["seed"]),
    }
    for what, over, _ in PAIRS + SINGLE:
        for cost, values in ratio(scaling, what, over).median("repeat").items():
            sizes = median(values)
            ends = (sizes.median(), sizes.min(), sizes.max())
            middle, low, high = (f"{float(f'{one:.2g}'):,.0f}" for one in ends)
            said |= texts(f"appj-{what}-{cost}", f"{middle} ({low} to {high})")
    deepest = along(scaling, "depth").isel(place=-1)
    slower = ratio(deepest, "settle", "exact")["time"].median("repeat")
    said |= texts("appj-slower", slower, "{:.2g}".format)
    for vary in AXES:
        one = along(scaling, vary)
        ends = one[["needed", "size"]].to_array("of").isel(place=[0, -1])
        said |= texts(f"appj-{vary}", ends.assign_coords(place=["first", "last"]), whole)
    return said
