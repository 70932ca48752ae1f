"""What it costs, in words and tables; everything said is computed from the results.

`results`, `scaling` as in `figures.cost`; `measured` (chapter, run) as
`studies.cost_chapters.measure` returns it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr

from chapters.J_cost.figures import AXES, TASKS, axes_of, line, ratio
from vnlib.plots.texts import listed, ranged


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


def summary(results: xr.Dataset, scaling: xr.Dataset) -> str:
    """The page in four sentences."""
    lines = []
    known = results.where(results["bytes"].notnull(), drop=True)
    if known.sizes["chapter"]:
        lines.append(
            f"**Everything.** The stored results of {known.sizes['chapter']} chapters took "
            f"{duration(float(known['seconds'].sum()))} of one core, {int(known['runs'].sum())} "
            f"runs in all, and {size(float(known['bytes'].sum()))} on disk."
        )
    seen = results.where(results["peak"].notnull(), drop=True)
    if seen.sizes["chapter"]:
        worst = seen["chapter"].values[int(seen["peak"].values.argmax())]
        lines.append(
            f"**Memory.** The largest process measured was one of `{worst}`: "
            f"{size(float(seen['peak'].max()))}, of which "
            f"{size(float((seen['peak'] - seen['own']).max()))} are Python and its libraries. "
            f"{gpu(results)}"
        )
    for what, over, said in (
        (
            "settle",
            "forward",
            "A settle takes {time} times as long as a feed-forward pass with as many weights",
        ),
        (
            "update",
            "backward",
            "A local update takes {time} times as long as one by backpropagation",
        ),
    ):
        found = ratio(scaling, what, over)
        times = ranged(found["time"].median("repeat").values.ravel(), "{:.0f}")
        counts = ranged(found["operations"].values.ravel(), "{:.0f}")
        head = "Inference" if what == "settle" else "Learning"
        lines.append(
            f"**{head}.** {said.format(time=times)}, and {counts} times as many operations "
            "(median [lowest, highest] over all sizes and seeds)."
        )
    return "\n\n".join(lines)


def gpu(results: xr.Dataset) -> str:
    """What is known of a GPU's memory."""
    most = float(results["device_peak"].max())
    if np.isfinite(most):
        return f"Tensors held at most {size(most)} on a GPU."
    own = float(results["own"].max())
    bound = (
        f": at most {size(own)} of data would have had to lie on one" if np.isfinite(own) else ""
    )
    return (
        f"No GPU was used, so that its memory is only bounded{bound}; time on a GPU is not "
        "testable here."
    )


def exponents(scaling: xr.Dataset) -> pd.DataFrame:
    """Fitted exponents of operations and time by task and axis: median [lowest, highest] over
    seeds.
    """
    rows = {}
    for task, (name, *_) in TASKS.items():
        for of, label in (("operations", "operations"), ("time", "time")):
            found = scaling[f"{of}_exponent"].sel(task=task)
            if bool(found.notnull().any()):
                rows[name, label] = {
                    AXES[v]: ranged(found.sel(vary=v).values, "{:.2f}") for v in axes_of(scaling)
                }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["", "exponent of"]
    return frame


def needed(scaling: xr.Dataset) -> str:
    """How the number of sweeps to the gap changes along each axis."""
    said = []
    for vary in axes_of(scaling):
        sizes, found = line(scaling, vary, scaling["needed"])
        first, last = (f"{np.median(found[at]):.0f}" for at in (0, -1))
        said.append(
            f"from {first} to {last} as {AXES[vary].split(',')[0]} goes from {sizes[0]:g} "
            f"to {sizes[-1]:g}"
        )
    return f"Sweeps to the gap, mean over samples and median over seeds, go {listed(said)}."


def ratios(scaling: xr.Dataset) -> pd.DataFrame:
    """Both ratios at the smallest and the largest size of every axis, and the spread of single
    repeats.
    """
    rows = {}
    for vary in axes_of(scaling):
        for what, over, name in (
            ("settle", "forward", "settle / pass"),
            ("update", "backward", "update / backprop"),
        ):
            found = ratio(scaling, what, over)
            sizes, times = line(scaling, vary, found["time"].median("repeat"))
            _, low = line(scaling, vary, found["time"].min("repeat"))
            _, high = line(scaling, vary, found["time"].max("repeat"))
            _, counts = line(scaling, vary, found["operations"])
            for at in (0, -1):
                rows[AXES[vary], f"{sizes[at]:g}", name] = {
                    "operations": ranged(counts[at], "{:.1f}"),
                    "time": ranged(times[at], "{:.1f}"),
                    "single repeats": f"{low[at].min():.1f} to {high[at].max():.1f}",
                }
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index.names = ["varied", "value", "ratio"]
    return frame


def weights(scaling: xr.Dataset) -> str:
    """How well the numbers of weights of both networks agree."""
    off = float(abs(scaling["other_weights"] / scaling["weights"] - 1).max())
    return f"The two networks differ by at most {off:.1%} in their number of weights."


# Label, how to write it, how to put chapters together.
COLUMNS = {
    "runs": ("runs", "{:.0f}".format, "sum"),
    "seconds": ("core time", duration, "sum"),
    "bytes": ("results", size, "sum"),
    "weights": ("weights", size, "sum"),
    "tuning_weights": ("of tuning", size, "sum"),
    "peak": ("largest process", size, "max"),
    "own": ("of which data", size, "max"),
    "checkpoints": ("checkpoints seen", size, "max"),
}


def chapters(results: xr.Dataset) -> pd.DataFrame:
    """The account, chapter by chapter; in the last row the sum, of the last three columns the
    most.
    """
    rows = {}
    for name in results["chapter"].values:
        one = results.sel(chapter=name)
        # a run that was stopped may have needed more
        early = "≥ " if float(one["finished"]) == 0 else ""
        rows[str(name)] = {
            label: (early if key == "peak" else "") + _known(float(one[key]), write)
            for key, (label, write, _) in COLUMNS.items()
        }
    rows["all"] = {
        label: _known(float(getattr(results[key], over)()), write)
        for key, (label, write, over) in COLUMNS.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("chapter")


def _known(value: float, write: Callable[[float], str]) -> str:
    return write(value) if np.isfinite(value) else ""


def lacking(results: xr.Dataset, measured: xr.Dataset) -> str:
    """Chapters without results, without measured runs, and measured runs that ended early, with the
    reasons.
    """
    said = []
    absent = [
        str(name)
        for name, why in zip(results["chapter"].values, results["missing"].values, strict=True)
        if why
    ]
    if absent:
        said.append(
            f"No stored results of {listed([f'`{name}`' for name in absent])}: their cost "
            "is not in the sums."
        )
    there = results["bytes"].notnull() & results["peak"].isnull()
    if bool(there.any()):
        names = [f"`{name}`" for name in results["chapter"].values[there.values]]
        said.append(f"Not measured: runs of {listed(names)}.")
    early = []
    for name in measured["chapter"].values:
        one = measured.sel(chapter=name)
        if why := str(one["why"].item()):
            early.append(f"`{name}` ({why.split(': ', 1)[-1]})")
    if early:
        said.append(
            "Ended before all was done, so that more memory might have been needed: "
            f"{listed(early)}."
        )
    return (
        " ".join(said)
        or "All chapters have results, and of each the largest runs were measured to their end."
    )


def runs(measured: xr.Dataset) -> pd.DataFrame:
    """Every measured run."""
    rows = {}
    for name in measured["chapter"].values:
        one = measured.sel(chapter=name)
        for at in range(one.sizes["run"]):
            run = one.isel(run=at)
            if np.isfinite(float(run["peak"])):
                rows[str(name), str(run["label"].item()).split(": ", 1)[-1]] = {
                    "at its peak": size(float(run["peak"])),
                    "program": size(float(run["program"])),
                    "processor": f"{float(run['cpu']):.1f} s",
                    "to its end": "yes" if float(run["done"]) else "no",
                }
    frame = pd.DataFrame.from_dict(
        rows, orient="index", columns=["at its peak", "program", "processor", "to its end"]
    )
    if rows:
        frame.index = pd.MultiIndex.from_tuples(rows, names=["chapter", "run"])
    return frame


def models(found: xr.Dataset, measured: xr.Dataset) -> pd.DataFrame:
    """Every model of every chapter: runs, time of all and of a typical one, weights, and memory
    where it was measured.

    Parameters
    ----------
    found
        As `costs.table` gives it; a chapter without models has one row, of its own name.
    """
    rows = {
        (str(one["chapter"].item()), str(one["model"].item())): {
            "runs": f"{float(one['runs']):.0f}",
            "all runs": duration(float(one["seconds"])),
            "a run": f"{float(one['median']):.3g} s",
            "weights": _known(float(one["weights"]), "{:.0f}".format),
            "their size": _known(4 * float(one["weights"]), size),
            "largest process": "",
        }
        for one in (found.isel(model=at) for at in range(found.sizes["model"]))
    }
    for chapter, model in rows:
        peaks = _peaks(measured, chapter, model)
        rows[chapter, model]["largest process"] = max(peaks)[1] if peaks else ""
    columns = ["runs", "all runs", "a run", "weights", "their size", "largest process"]
    frame = pd.DataFrame(list(rows.values()), columns=columns)
    frame.index = pd.MultiIndex.from_tuples(rows, names=["chapter", "model"])
    return frame


def _peaks(measured: xr.Dataset, chapter: str, model: str) -> list[tuple[float, str]]:
    """The measured processes of a model, in bytes and as readers are told; "≥" where a run was
    stopped.
    """
    if chapter not in measured["chapter"].values:
        return []
    found, one = [], measured.sel(chapter=chapter)
    for at in range(one.sizes["run"]):
        run = one.isel(run=at)
        said, peak = str(run["label"].item()).split(": ", 1)[-1].split(", "), float(run["peak"])
        if np.isfinite(peak) and (model in said or model == chapter):
            found.append((peak, ("" if float(run["done"]) else "≥ ") + size(peak)))
    return found
