"""Positions drawn by the operator of a code and by rivals in tables, and the numbers of the prose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from benchmarks.confirm.predictions import HOLDS, sides
from chapters.best_positions.figures import (
    DATA,
    ON_DATA,
    STEPS,
    TASKS,
    called,
    changed,
    run,
    tasks,
)
from chapters.best_positions.predictions import (
    NETWORK,
    READINGS,
    chosen,
    decided,
    errors,
    least,
    ratio,
    widened,
)
from vnlib.plots.frames import if_computed, label, some
from vnlib.plots.statistics import ahead, texts
from vnlib.plots.tables import Table, frame, spreads

RIVALS = (
    "ridge_profiles",
    "ridge_pairs",
    "kernel",
    "neighbours",
    "factorised",
    "factorised_longer",
    "broadcast",
    "cnn",
    "mlp",
    "vn_axes",
    "vn_axes_longer",
    "operator_trained",
    "operator_trained_longer",
)

TWICE = ("operator", "operator_settled")  # with wider penalties and terms chosen otherwise, too
# What the prose compares -> task, and the models whose errors are divided
OVER = {
    "one-rotated-noise": ("rotated_noise", "operator_one", "operator"),
}


def predicted(results: xr.Dataset, sidecar: Mapping[str, Any]) -> Table:
    """What was predicted before the positions were drawn, and what came of it."""
    found = frame(decided(results, sidecar), "id")
    return Table(found, {"seeds": "{:.0f}"}, name="predictions")


@if_computed
def errors_of_all(results: xr.Dataset) -> Table:
    """Errors in the hold-out of all models on all tasks."""
    models = some(run(results, [NETWORK, *results["model"].values.tolist()]))
    columns = {
        TASKS[task]: _named(results, [errors(results, m).sel(task=task) for m in models], models)
        for task in tasks(results)
    }
    return Table(_plain(columns), name="errors")


@if_computed
def composed(results: xr.Dataset) -> Table:
    """The network task by task: how it reads codes, and its errors on the three sets."""
    some(run(results, [NETWORK]))
    parts = {"val": "validation", "id": "in distribution", "ood": "in the hold-out"}
    rows = tasks(results)
    told = _plain({text: _by_task(errors(results, NETWORK, p), rows) for p, text in parts.items()})
    told["reading", ""] = [readings(results, task) for task in rows]
    return Table(told, name="network")


def readings(results: xr.Dataset, task: str) -> str:
    """How the network reads codes of a task, and in how many seeds."""
    names = chosen(results)["reading"].sel(task=task).values.tolist()
    short = {
        "operator": "as given",
        "operator_linked": "tanh undone",
        "operator_settled": "settled",
    }
    counts = {short[name]: names.count(name) for name in READINGS if name in names}
    return ", ".join(f"{text} ({n})" for text, n in counts.items())


def _by_task(found: xr.DataArray, rows: list[str]) -> xr.DataArray:
    """Errors with a row for each task."""
    told = found.sel(task=rows).reset_coords(drop=True).rename(task="row")
    return told.assign_coords(row=[TASKS[task] for task in rows])


def _plain(columns: Mapping[Any, xr.DataArray], **names: Any) -> pd.DataFrame:
    """Quantities with a row for each name along "row", which readers are not told."""
    return spreads(columns, "row", **names).rename_axis(None)


def _named(results: xr.Dataset, values: list[xr.DataArray], models: list[str]) -> xr.DataArray:
    found = xr.concat([one.reset_coords(drop=True) for one in values], "row", join="outer")
    return found.assign_coords(row=[called(results, model) for model in models])


@if_computed
def wins(results: xr.Dataset) -> Table:
    """In how many tasks the network has surely less error than each rival."""
    some(run(results, [NETWORK]))
    rows = {
        label(results, rival): {"tasks": ahead(sides(against(results, rival)))}
        for rival in some(run(results, RIVALS))
    }
    return Table(frame(rows, "rival"), name="tasks won")


def against(results: xr.Dataset, rival: str) -> xr.DataArray:
    """The errors (seed, task) of the network over those of a rival, on the tasks of both."""
    both = (errors(results, NETWORK) / errors(results, rival)).notnull().any("seed")
    there = [task for task in tasks(results) if bool(both.sel(task=task))]
    return ratio(results, NETWORK, [rival], there)


@if_computed
def ingredients(results: xr.Dataset) -> Table:
    """What each part of the network changes."""
    each = some({name: one for name in STEPS if (one := changed(results, name)).size})
    values = xr.concat(
        [one.reset_coords(drop=True) for one in each.values()], "row", join="outer"
    ).assign_coords(row=list(each))
    return Table(_plain({"ratio of errors": values}), name="ingredients")


@if_computed
def penalties(results: xr.Dataset, more: xr.Dataset) -> Table:
    """Errors in the hold-out on damaged codes, with the penalties of all runs and with wider ones."""
    return Table(beside(results, more, ("up to 10⁻⁴", "up to 1")), name="penalties")


@if_computed
def terms(results: xr.Dataset, gaps: xr.Dataset) -> Table:
    """Errors in the hold-out, with terms chosen by validation and by corners that are left out."""
    return Table(beside(results, gaps, ("validation", "corners")), name="terms")


def beside(results: xr.Dataset, more: xr.Dataset, names: tuple[str, str]) -> pd.DataFrame:
    """Errors of two readings as all runs have them, and as the runs of another choice."""
    rows = some([task for task in tasks(results) if task in more.get("task", ())])
    columns = {
        f"{called(results, model)}, {text}": _by_task(errors(of, model), rows)
        for model in run(more, TWICE)
        for text, of in zip(names, (results, more), strict=True)
    }
    return _plain(columns)


@if_computed
def data(results: xr.Dataset) -> Table:
    """Errors on rings in the hold-out by the number of positions that a model learned from."""
    there = some([task for task in DATA if task in results["task"].values])
    models = some(run(results.sel(task=there), ON_DATA))
    counts = results["n_train"].median(["seed", "model"])
    columns = {
        f"{counts.sel(task=task).item():.0f} positions": _named(
            results, [errors(results, m).sel(task=task) for m in models], models
        )
        for task in there
    }
    return Table(_plain(columns), name="data")


@if_computed
def costs(results: xr.Dataset) -> Table:
    """Numbers of a model, and times of learning and of a drawing, medians over tasks."""
    models = some(run(results, results["model"].values.tolist()))
    of = results.sel(task=tasks(results))
    names = {"fact_parameters": "numbers", "learning_time": "learning [s]"}
    names |= {"drawing_time": "a drawing [s]", "late_gain": "gain of the last fifth"}
    columns = {
        text: _named(results, [of[name].sel(model=m).median("task") for m in models], models)
        for name, text in names.items()
    }
    return Table(_plain(columns), {"numbers": "{:,.0f}"}, name="costs")


def numbers(
    results: xr.Dataset, more: xr.Dataset, gaps: xr.Dataset, sidecar: Mapping[str, Any]
) -> dict[str, str]:
    """The numbers of the prose; `more`: with wider penalties, `gaps`: chosen by corners."""
    came = decided(results, sidecar)
    told: dict[str, Any] = {
        "held": f"{sum(one['verdict'] == HOLDS for one in came.values())} of {len(came)}",
        "found": {name: one["found"] for name, one in came.items()},
    }
    if not run(results, [NETWORK]):
        return texts("bestpositions", told)
    every = tasks(results)
    told["seeds"] = str(int(errors(results, NETWORK).notnull().any("task").sum()))
    told["error"] = {task: errors(results, NETWORK).sel(task=task) for task in every}
    told["composed"] = _each(ratio(results, NETWORK, "id", every))
    told["wins"] = {rival: ahead(sides(against(results, rival))) for rival in run(results, RIVALS)}
    told["over"] = {
        name: ratio(results, own, [other], [task]).isel(task=0)
        for name, (task, own, other) in OVER.items()
        if len(run(results, (own, other))) == 2 and task in every
    }
    lists = sidecar["rivals"] | {"trained": [m for m, o in sidecar["models"].items() if "lr" in o]}
    lists = {name: some for name, some in lists.items() if len(run(results, some)) == len(some)}
    for name, rivals in lists.items():
        found = least(results, rivals, every)
        told[f"best-{name}"] = _each(found.sel(task=found.notnull().any("seed")))
    if "trained" in lists:
        told["wins-trained"] = ahead(sides(ratio(results, NETWORK, lists["trained"], every)))
    if len(run(more, TWICE)) == 2:
        there, own = more["task"].values.tolist(), errors(widened(results, more), NETWORK)
        given, settled = (errors(more, name) for name in TWICE)
        told["wider-given"], told["wider-left"] = _each(given), _each(settled / given)
        for name in ("networks", "trained"):
            if name in lists:
                over = own.sel(task=there) / least(results, lists[name], there)
                told[f"wider-{name}"] = _each(over)
    for model in run(gaps, TWICE):
        told[f"corners-{model}"] = _each(errors(gaps, model) / errors(results, model))
    if run(gaps, ["operator"]):
        of = errors(gaps, "operator")
        for name, rivals in lists.items():
            over = of / least(results, rivals, of["task"].values.tolist())
            told[f"corners-{name}"] = _each(over.sel(task=over.notnull().any("seed")))
    return texts("bestpositions", told)


def _each(values: xr.DataArray) -> dict[str, xr.DataArray]:
    """Values by their task."""
    return {str(task): values.sel(task=task, drop=True) for task in values["task"].values}
