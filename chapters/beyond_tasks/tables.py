"""Decoders on many tasks in tables, and the numbers of the prose."""

from __future__ import annotations

from typing import Any

import xarray as xr

from benchmarks.spatial.errors import SETTLED
from chapters.beyond_tasks.figures import TASKS, failed, names, over_zero, seeds, tasks
from vnlib.plots.frames import in_groups, some
from vnlib.plots.statistics import median, over_seeds, percent, short, texts
from vnlib.plots.tables import SHOWN, Table, if_computed, spreads

EXACT = 1e-6  # of a zero image's error: below this a late gain says nothing
COMPOSES = 0.01  # of a zero image's error out of distribution


def errors(results: xr.Dataset, part: str) -> Table:
    """Errors over a zero image's of every decoder (row) on every task (column)."""
    chosen = over_zero(results.sel(task=tasks(results)), part)
    name = f"{part.upper()} errors of all decoders on all tasks"
    return Table(spreads({"": chosen}, "model", task=names(results)), name=name)


@if_computed
def training(results: xr.Dataset) -> Table:
    """Size and training of every decoder that is trained, over all runs: how many learned nothing,
    and how many had settled.
    """
    trained = results.sel(model=some(in_trained(results)))
    runs = trained.stack(run=("task", "seed"))
    gain = over_seeds(runs["late_gain"], "run")
    columns = {
        "parameters": runs["n_parameters"].median("run"),
        "samples seen": runs["samples_seen"].median("run"),
        **{("late gain", end): gain[end] for end in SHOWN},
        "settled": settled(trained).mean(["task", "seed"]),
        "learned nothing": failed(trained).mean(["task", "seed"]),
    }
    formats = {"settled": percent, "learned nothing": percent}
    formats |= dict.fromkeys(("parameters", "samples seen"), "{:,.0f}".format)
    return Table(spreads(columns, "model"), formats, name="training of all decoders")


def of_tasks(results: xr.Dataset) -> Table:
    """What is known of every task beforehand."""
    chosen = results.sel(task=tasks(results))
    known = {"held out": "held_out", "condition number": "condition", "terms": "target_terms"}
    columns = {title: chosen[name].max(["model", "seed"]) for title, name in known.items()}
    columns["seeds"] = seeds(chosen)
    formats = {"held out": percent, "terms": "{:.0f}", "seeds": "{:.0f}"}
    return Table(spreads(columns, "task", task=TASKS), formats, name="tasks")


def in_trained(results: xr.Dataset) -> list[str]:
    """The decoders that are trained."""
    closed = set(in_groups(results, "closed"))
    return [model for model in results["model"].values.tolist() if model not in closed]


def settled(results: xr.Dataset) -> xr.DataArray:
    """Which runs gained less than 2 % over the last fifth of their updates, or are exact; NaN for
    those that there are not.
    """
    gain = results["late_gain"]
    exact = over_zero(results, "id") < EXACT
    return ((gain < SETTLED) | exact).where(gain.notnull())


def composing(results: xr.Dataset) -> xr.DataArray:
    """Which decoders (task, model) have an OOD error below a hundredth of a zero image's."""
    return median(over_zero(results, "ood")) < COMPOSES


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds of OOD errors over a zero image's."""
    ood = median(over_zero(results, "ood"))
    found = {
        task: {model: short(float(ood.sel(task=task, model=model))) for model in ood.model.values}
        for task in tasks(results)
    }
    told: dict[str, Any] = {
        "least": {task: ood.sel(task=task).min() for task in found},
        "condition": results["condition"].max(["model", "seed"]).sel(task=list(WIDE)),
        "count": composing(results).sum("task"),
        "tasks": str(results.sizes["task"]),
        "seeds": str(int(seeds(results).max())),
        "once": str(int((seeds(results) == 1).sum())),
        "settled": percent(float(settled(results).mean())),
        "failed": percent(float(failed(results).sel(model=in_trained(results)).mean())),
        "samples": f"{int(results['samples_seen'].sel(task='base').max()):,}",
    }
    told["count"] = {m: f"{int(told['count'].sel(model=m))}" for m in ood.model.values}
    return texts("beyondtasks", told | {"ood": found})


WIDE = ("sigma_code_half", "base", "sigma_code_double")
