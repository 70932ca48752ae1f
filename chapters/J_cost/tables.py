"""Tables of what it costs, and the numbers that the page's prose is given.

`results`, `scaling` as in `figures`; `measured` (chapter, run) as `account.measure` returns it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from chapters.J_cost.figures import AXES, PAIRS, TASKS, axes_of, line, ratio
from vnlib.plots.tables import Table

# What the page says of a pair of tasks.
SHORT = {"settle": "settle / pass", "update": "update / backprop"}


def duration(seconds: float) -> str:
    """Hours from 100 minutes on, minutes from 100 seconds on."""
    if seconds >= 6000:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds:.0f} s"


def size(number: float) -> str:
    """Bytes in units of 1000."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number:.0f} B"


def yes(value: float) -> str:
    """A share of runs as a word."""
    return "yes" if value else "no"


def _spread(values: np.ndarray, title: str) -> dict[tuple[str, str], float]:
    """Median and range of the values that exist, as columns of a table."""
    found = np.asarray(values, float).ravel()
    found = found[np.isfinite(found)]
    every = (np.median(found), found.min(), found.max()) if found.size else [np.nan] * 3
    return {(title, one): float(v) for one, v in zip(("median", "low", "high"), every, strict=True)}


def exponents(scaling: xr.Dataset) -> Table:
    """Fitted exponents of operations and time by task and axis, over seeds."""
    rows = {}
    for task, (name, *_) in TASKS.items():
        for of in ("operations", "time"):
            found = scaling[f"{of}_exponent"].sel(task=task)
            if bool(found.notnull().any()):
                rows[name, of] = {
                    key: value
                    for vary in axes_of(scaling)
                    for key, value in _spread(found.sel(vary=vary).values, AXES[vary]).items()
                }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["", "exponent of"]
    return Table(frame, name="exponents of costs")


def ratios(scaling: xr.Dataset) -> Table:
    """Both ratios at the smallest and the largest size of every axis, and the range of single
    repeats.
    """
    rows = {}
    for vary in axes_of(scaling):
        for what, over, _ in PAIRS:
            found = ratio(scaling, what, over)
            sizes, times = line(scaling, vary, found["time"].median("repeat"))
            _, low = line(scaling, vary, found["time"].min("repeat"))
            _, high = line(scaling, vary, found["time"].max("repeat"))
            _, counts = line(scaling, vary, found["operations"])
            for at in (0, -1):
                rows[AXES[vary], f"{sizes[at]:g}", SHORT[what]] = {
                    **_spread(counts[at], "operations"),
                    **_spread(times[at], "time"),
                    ("single repeats, least", ""): low[at].min(),
                    ("single repeats, most", ""): high[at].max(),
                }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["varied", "value", "ratio"]
    return Table(frame, name="ratios of costs")


# Label, how to write it, how to put chapters together.
COLUMNS = {
    "runs": ("runs", "{:.0f}", "sum"),
    "seconds": ("core time", duration, "sum"),
    "bytes": ("results", size, "sum"),
    "weights": ("weights", size, "sum"),
    "selection_weights": ("weights of candidates", size, "sum"),
    "peak": ("largest process", size, "max"),
    "own": ("of which data", size, "max"),
    "checkpoints": ("checkpoints seen", size, "max"),
    "finished": ("to its end", yes, "min"),
}


def chapters(results: xr.Dataset) -> Table:
    """The account, chapter by chapter; in the last row the sum, of memory and checkpoints the most;
    a run that did not come to its end may have needed more.
    """
    frame = results[list(COLUMNS)].to_dataframe()[list(COLUMNS)]
    frame.loc["all"] = [getattr(frame[key], over)() for key, (*_, over) in COLUMNS.items()]
    frame.columns = [label for label, *_ in COLUMNS.values()]
    formats = {label: form for label, form, _ in COLUMNS.values()}
    return Table(frame, formats, name="what the chapters took")


def runs(measured: xr.Dataset) -> Table:
    """Every measured run."""
    frame = measured[["label", "peak", "program", "cpu", "done"]].to_dataframe().dropna()
    frame["label"] = [text.split(": ", 1)[-1] for text in frame["label"].astype(str)]
    frame = frame.reset_index().set_index(["chapter", "label"])[["peak", "program", "cpu", "done"]]
    frame.index.names = ["chapter", "run"]
    frame.columns = ["at its peak", "program", "processor", "to its end"]
    formats = {"at its peak": size, "program": size, "processor": "{:.1f} s", "to its end": yes}
    return Table(frame, formats, name="measured runs")


def models(found: xr.Dataset, measured: xr.Dataset) -> Table:
    """Every model of every chapter: runs, time of all and of a typical one, weights, and the largest
    process where the model is among the measured runs.

    Parameters
    ----------
    found
        As `stored.table` gives it; a chapter without models has one row, of its own name.
    """
    names = list(zip(found["chapter"].values.tolist(), found["model"].values.tolist(), strict=True))
    index = pd.MultiIndex.from_tuples(names or [("", "")], names=["chapter", "model"])
    frame = pd.DataFrame(
        {
            "runs": found["runs"].values,
            "all runs": found["seconds"].values,
            "a run": found["median"].values,
            "weights": found["weights"].values,
            "their size": 4 * found["weights"].values,
            "largest process": [_peak(measured, *name) for name in names],
        },
        index=index[: len(names)],
    )
    forms = ("{:.0f}", duration, "{:.3g} s", "{:.0f}", size, size)
    formats = dict(zip(frame.columns, forms, strict=True))
    return Table(frame, formats, name="cost of all models of all chapters")


def _peak(measured: xr.Dataset, chapter: str, model: str) -> float:
    """The most memory of a measured run of a model; NaN where none was measured."""
    if chapter not in measured["chapter"].values:
        return float("nan")
    one = measured.sel(chapter=chapter)
    said = [str(text).split(": ", 1)[-1].split(", ") for text in one["label"].values]
    mine = [model in words or model == chapter for words in said]
    return float(one["peak"].where(xr.DataArray(mine, dims="run")).max())


def numbers(results: xr.Dataset, scaling: xr.Dataset, raw: float) -> dict[str, str]:
    """What the page's prose says; raw: bytes of MNIST."""
    known = results.where(results["bytes"].notnull(), drop=True)
    seen = results.where(results["peak"].notnull(), drop=True)
    off = float(abs(scaling["other_weights"] / scaling["weights"] - 1).max())
    said = {
        "appj-chapters": f"{known.sizes['chapter']}",
        "appj-time": duration(float(known["seconds"].sum())),
        "appj-runs-count": f"{int(known['runs'].sum())}",
        "appj-disk": size(float(known["bytes"].sum())),
        "appj-largest": str(seen["chapter"].values[int(seen["peak"].values.argmax())]),
        "appj-peak": size(float(seen["peak"].max())),
        "appj-program": size(float((seen["peak"] - seen["own"]).max())),
        "appj-own": size(float(seen["own"].max())),
        "appj-mnist": size(raw),
        "appj-off": f"{100 * off:.1f}",
    }
    for what, over, _ in PAIRS:
        found = ratio(scaling, what, over)
        for name in ("time", "operations"):
            values = found[name].median("repeat") if name == "time" else found[name]
            said |= _glued(f"appj-{what}-{name}", _spread(values.values, ""))
    for vary in axes_of(scaling):
        sizes, found = line(scaling, vary, scaling["needed"])
        key = f"appj-needed-{vary.lower() if vary != 'K' else 'atoms'}"
        said[f"{key}-first"], said[f"{key}-last"] = (f"{np.median(found[n]):.0f}" for n in (0, -1))
        said[f"{key}-from"], said[f"{key}-to"] = f"{sizes[0]:g}", f"{sizes[-1]:g}"
    return said


def _glued(key: str, found: Mapping[tuple[str, str], float]) -> dict[str, str]:
    low, middle, high = (f"{found['', one]:.0f}" for one in ("low", "median", "high"))
    return {key: f"{middle} [{low}, {high}]"}
