"""Decoders on many tasks in tables, and the numbers of the prose."""

from __future__ import annotations

from typing import Any

import xarray as xr
from IPython.display import HTML

from benchmarks.spatial.errors import seeds_below
from chapters.beyond_tasks.figures import (
    LONGER,
    TASKS,
    failed,
    names,
    on_tasks,
    over_zero,
    seeds,
    tasks,
)
from vnlib.book.evidence import SETTLED
from vnlib.plots.frames import in_groups, some
from vnlib.plots.statistics import STATISTICS, extremes, median, over_seeds, percent, texts
from vnlib.plots.tables import Table, caption, if_computed, spreads

EXACT = 1e-6  # of the zero baseline's error: below this a late gain says nothing
COMPOSES = 0.01  # of the zero baseline's error out of distribution
DRAWS = 0.1  # of it: a seed below this draws most of a bump held out


def errors(results: xr.Dataset, part: str) -> Table:
    """Errors over the zero baseline's of every decoder (row) on every task (column)."""
    chosen = over_zero(on_tasks(results), part)
    name = f"{part.upper()} errors of all decoders on all tasks"
    return Table(spreads({"": chosen}, "model", task=names(results)), name=name)


@if_computed
def training(results: xr.Dataset) -> Table:
    """Size and training of every decoder that is trained, over all runs: how many learned nothing,
    and how many had settled.
    """
    chosen = on_tasks(results)
    trained = chosen.sel(model=some(in_trained(chosen)))
    runs = trained.stack(run=("task", "seed"))
    gain = over_seeds(runs["late_gain"], "run")
    columns = {
        "parameters": runs["n_parameters"].median("run"),
        "samples seen": runs["samples_seen"].median("run"),
        **{("late gain", end): gain[end] for end in STATISTICS[:3]},
        "settled": settled(trained).mean(["task", "seed"]),
        "learned nothing": failed(trained).mean(["task", "seed"]),
    }
    formats = {"settled": percent, "learned nothing": percent}
    formats |= dict.fromkeys(("parameters", "samples seen"), "{:,.0f}".format)
    return Table(spreads(columns, "model"), formats, name="training of all decoders")


def longer(results: xr.Dataset) -> Table | HTML:
    """OOD errors over the zero baseline's of trained decoders after all updates and after four times as
    many, on the same seeds, and which share of those had settled.
    """
    kept = results.sel(model=in_trained(results))
    error, done, columns = over_zero(kept, "ood"), settled(kept), {}
    for long, task in LONGER.items():
        if long not in results["task"].values:
            continue
        after = error.sel(task=long, drop=True)
        columns[TASKS[task], "error"] = error.sel(task=task, drop=True).where(after.notnull())
        columns[TASKS[task], "error, 4 × as long"] = after
        columns[TASKS[task], "settled, 4 × as long"] = done.sel(task=long, drop=True).mean("seed")
    if not columns:
        return caption("No task was trained longer in this profile.")
    formats = {title: percent for title in columns if title[1].startswith("settled")}
    return Table(spreads(columns, "model"), formats, name="longer trainings")


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
    """Which decoders (task, model) have an OOD error below a hundredth of the zero baseline's."""
    return median(over_zero(results, "ood")) < COMPOSES


def drawing(results: xr.Dataset, task: str, model: str) -> str:
    """In how many seeds of a task a decoder's OOD error is below `DRAWS`: "2 of 3"."""
    return seeds_below(over_zero(results, "ood").sel(task=task, model=model), DRAWS)


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds of OOD errors over the zero baseline's."""
    told = _longer(results)
    results = on_tasks(results)
    ood = over_zero(results, "ood")
    several = sorted({*seeds(results).values.astype(int).tolist()})
    told |= {
        "least": {t: extremes(ood.sel(task=t))["least"] for t in {ENTANGLED} & {*tasks(results)}},
        "condition": results["condition"].max(["model", "seed"]).sel(task=list(WIDE)),
        "count": composing(results).sum("task"),
        "tasks": str(results.sizes["task"]),
        "seeds": " to ".join(str(count) for count in dict.fromkeys((several[0], several[-1]))),
        "draws": {
            task: {model: drawing(results, task, model) for model in models if model in ood.model}
            for task, models in COUNTED.items()
            if task in ood.task
        },
        "settled": percent(float(settled(results).mean())),
        "failed": percent(float(failed(results).sel(model=in_trained(results)).mean())),
        "samples": f"{int(results['samples_seen'].sel(task='base').max()):,}",
    }
    asked = ood.notnull().any("seed").sum("task")
    told["count"] = {
        m: f"{int(told['count'].sel(model=m))} of {int(asked.sel(model=m))}"
        for m in ood.model.values
    }
    return texts("beyondtasks", told | {"ood": ood})


def _longer(results: xr.Dataset) -> dict[str, Any]:
    """What four times the updates change, over all trained decoders and tasks that have both."""
    there = [long for long in LONGER if long in results["task"].values]
    kept = results.sel(model=in_trained(results))
    error, done = over_zero(kept, "ood"), settled(kept)
    after = error.sel(task=there).assign_coords(task=[LONGER[long] for long in there])
    before = error.sel(task=after["task"]).where(after.notnull())
    crossed = (median(before) < COMPOSES) != (median(after) < COMPOSES)
    both = median(before).notnull()
    return {
        "longer": {
            "settled": percent(float(done.sel(task=there).mean())) if there else "",
            "crossed": str(int(crossed.where(both, False).sum())),
            "pairs": str(int(both.sum())),
            "ood": {model: after.sel(model=model) for model in kept["model"].values},
        }
    }


# Whose seeds the prose counts, by task.
COUNTED = {
    "base": ("broadcast",),
    "code_rotated": ("broadcast", "vn_full"),
    "shape_ring": ("broadcast", "vn_axes_8", "factorised_8"),
}
ENTANGLED = "code_entangled"
WIDE = ("sigma_code_half", "base", "sigma_code_double")
