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

# What the prose compares -> task, and the models whose errors are divided
OVER = {
    "one-wide": ("wide", "operator_one", "operator"),
    "one-noise": ("noise", "operator_one", "operator"),
    "one-entangled": ("entangled", "operator_one", "operator"),
    "one-rotated-noise": ("rotated_noise", "operator_one", "operator"),
    "one-broadcast": ("rotated_noise", "operator_one", "broadcast"),
    "settled-one": ("noise", "operator_settled", "operator_one"),
    "fine-noise": ("noise", "operator_settled", "settled_coarse"),
}


def predicted(results: xr.Dataset, sidecar: Mapping[str, Any]) -> Table:
    """What was predicted before the positions were drawn, and what came of it."""
    found = frame(decided(results, sidecar), "id")
    return Table(found, {"seeds": "{:.0f}"}, name="predictions")


@if_computed
def errors_of_all(results: xr.Dataset) -> Table:
    """Errors in the hold-out of all models on all tasks."""
    models = some([NETWORK, *results["model"].values.tolist()])
    models = some(run(results, tuple(models)))
    columns = {
        TASKS[task]: _named(results, [errors(results, m).sel(task=task) for m in models], models)
        for task in tasks(results)
    }
    return Table(_plain(columns), name="errors")


@if_computed
def composed(results: xr.Dataset) -> Table:
    """The network task by task: how it reads codes, and its errors on the three sets."""
    there = some(run(results, (NETWORK,)))
    found = {part: errors(results, there[0], part) for part in ("val", "id", "ood")}
    rows = tasks(results)
    columns = {
        text: found[part].sel(task=rows).rename(task="row").assign_coords(row=_tasks(rows))
        for part, text in (
            ("val", "validation"),
            ("id", "in distribution"),
            ("ood", "in the hold-out"),
        )
    }
    told = _plain(columns)
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


def _tasks(rows: list[str]) -> list[str]:
    return [TASKS[task] for task in rows]


def _plain(columns: Mapping[Any, xr.DataArray], **names: Any) -> pd.DataFrame:
    """Quantities with a row for each name along "row", which readers are not told."""
    return spreads(columns, "row", **names).rename_axis(None)


def _named(results: xr.Dataset, values: list[xr.DataArray], models: list[str]) -> xr.DataArray:
    found = xr.concat([one.reset_coords(drop=True) for one in values], "row", join="outer")
    return found.assign_coords(row=[called(results, model) for model in models])


@if_computed
def wins(results: xr.Dataset) -> Table:
    """In how many tasks the network has surely less error than each rival."""
    some(run(results, (NETWORK,)))
    rows = {
        label(results, rival): {"tasks": ahead(sides(against(results, rival)))}
        for rival in some(run(results, RIVALS))
    }
    return Table(frame(rows, "rival"), name="tasks won")


def against(results: xr.Dataset, rival: str) -> xr.DataArray:
    """The errors (seed, task) of the network over those of a rival, on the tasks of both."""
    both = (errors(results, NETWORK) / errors(results, rival)).notnull().any("seed")
    there = [task for task in tasks(results) if bool(both.sel(task=task))]
    return ratio(results, NETWORK, [rival], there).rename(task="cell")


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
    rows = some([task for task in tasks(results) if task in more.get("task", ())])
    columns = {
        f"{called(results, model)}, {text}": errors(of, model)
        .sel(task=rows)
        .rename(task="row")
        .assign_coords(row=_tasks(rows))
        .reset_coords(drop=True)
        for model in run(more, ("operator", "operator_settled"))
        for text, of in (("up to 10⁻⁴", results), ("up to 1", more))
    }
    return Table(_plain(columns), name="penalties")


@if_computed
def data(results: xr.Dataset) -> Table:
    """Errors on rings in the hold-out by the number of positions that a model learned from."""
    there = some([task for task in DATA if task in results["task"].values])
    models = some(run(results.sel(task=there), ON_DATA))
    counts = results["n_train"].mean(["seed", "model"])
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
    models = some(run(results, tuple(results["model"].values.tolist())))
    of = results.sel(task=tasks(results))
    names = {"fact_parameters": "numbers", "learning_time": "learning [s]"}
    names |= {"drawing_time": "a drawing [s]", "late_gain": "gain of the last fifth"}
    columns = {
        text: _named(results, [of[name].sel(model=m).median("task") for m in models], models)
        for name, text in names.items()
    }
    return Table(_plain(columns), {"numbers": "{:,.0f}"}, name="costs")


def numbers(results: xr.Dataset, more: xr.Dataset, sidecar: Mapping[str, Any]) -> dict[str, str]:
    """The numbers of the prose; `more`: with wider penalties."""
    came = decided(results, sidecar)
    told: dict[str, Any] = {
        "held": f"{sum(one['verdict'] == HOLDS for one in came.values())} of {len(came)}",
        "found": {name: one["found"] for name, one in came.items()},
        "verdict": {name: one["verdict"] for name, one in came.items()},
    }
    if not run(results, (NETWORK,)):
        return texts("bestpositions", told)
    told["seeds"] = str(int(errors(results, NETWORK).notnull().any("task").sum()))
    told["error"] = {task: errors(results, NETWORK).sel(task=task) for task in tasks(results)}
    trained = [m for m, one in sidecar["models"].items() if "lr" in one]
    if set(run(results, tuple(trained))) >= set(trained):
        against_all = ratio(results, NETWORK, trained, tasks(results)).rename(task="cell")
        told["wins-all-trained"] = ahead(sides(against_all))
    told["over"] = {
        name: ratio(results, own, [other], [task]).isel(task=0)
        for name, (task, own, other) in OVER.items()
        if len(run(results, (own, other))) == 2 and task in results["task"].values
    }
    told["composed"] = {
        task: ratio(results, NETWORK, "id", [task]).isel(task=0) for task in tasks(results)
    }
    told["wins"] = {rival: ahead(sides(against(results, rival))) for rival in run(results, RIVALS)}
    if len(run(more, ("operator", "operator_settled"))) == 2:
        there, both = more["task"].values.tolist(), widened(results, more)
        given, own = errors(more, "operator"), errors(both, NETWORK)
        best = least(results, sidecar["rivals"]["networks"], there)
        told["wider-given"] = {task: given.sel(task=task) for task in there}
        told["wider-left"] = {
            task: (errors(more, "operator_settled") / given).sel(task=task) for task in there
        }
        told["wider-error"] = {task: own.sel(task=task) for task in there}
        told["wider-best"] = {task: (own / best).sel(task=task) for task in there}
        if set(run(results, tuple(trained))) >= set(trained):
            every = least(results, trained, there)
            told["wider-all"] = {task: (own / every).sel(task=task) for task in there}
    for name, rivals in sidecar["rivals"].items():
        if set(run(results, tuple(rivals))) >= set(rivals):
            told[f"best-{name}"] = {
                task: least(results, rivals, [task]).sel(task=task)
                for task in tasks(results)
                if bool(least(results, rivals, [task]).notnull().any())
            }
    return texts("bestpositions", told)
