"""What was predicted before the positions were drawn, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from benchmarks.confirm import predictions

NETWORK = "network"  # one of its readings for each task and seed, by the validation error
READINGS = ("operator", "operator_linked", "operator_settled")


def chosen(results: xr.Dataset) -> xr.Dataset:
    """The network: for each task and seed the reading with the least validation error. KeyError
    where there is none.
    """
    there = [name for name in READINGS if name in results["model"].values]
    if not there:
        raise KeyError(NETWORK)
    of = results[[n for n in results.data_vars if str(n).startswith(("mse_", "power_"))]]
    of = of.sel(model=there).reset_coords(drop=True)
    all_ran = of["mse_val"].notnull().all("model")
    best = of["mse_val"].fillna(np.inf).argmin("model")
    names = of["model"].isel(model=best).drop_vars("model").where(all_ran, "")
    return of.isel(model=best).drop_vars("model").where(all_ran).assign(reading=names)


def errors(results: xr.Dataset, name: str, part: str = "ood") -> xr.DataArray:
    """The r.m.s. error (task, seed) of a model, or of the network, over the r.m.s. of images.

    KeyError where there is no such model.
    """
    own = name == NETWORK
    of = chosen(results) if own else results.sel(model=name).reset_coords(drop=True)
    return np.sqrt(of[f"mse_{part}"] / of[f"power_{part}"])


def widened(results: xr.Dataset, more: xr.Dataset) -> xr.Dataset:
    """The errors of all runs, those of `more` in the place of the same task and model."""
    kept = [n for n in results.data_vars if str(n).startswith(("mse_", "power_"))]
    both = more[kept].reset_coords(drop=True).combine_first(results[kept].reset_coords(drop=True))
    return both.sel(seed=results["seed"])


def named(results: xr.Dataset, name: str, tasks: list[str]) -> xr.DataArray:
    """The errors of "model", or of "model@task" in the place of every one of some tasks."""
    model, _, task = name.partition("@")
    found = errors(results, model).sel(task=[task] * len(tasks) if task else tasks)
    return found.assign_coords(task=tasks)


def least(results: xr.Dataset, rivals: Iterable[str], tasks: list[str]) -> xr.DataArray:
    """The least error (task, seed) of several rivals, of those that a task was given to. KeyError
    where none was run.
    """
    there = [one for one in rivals if one.partition("@")[0] in results["model"].values]
    if not there:
        raise KeyError(", ".join(rivals))
    return xr.concat([named(results, one, tasks) for one in there], "rival").min("rival")


def ratio(
    results: xr.Dataset, own: str, over: str | Iterable[str], tasks: list[str]
) -> xr.DataArray:
    """The errors (seed, task) of a model over the least of its rivals, over its own in distribution
    ("id"), or over the power ("power"), in the seeds that have both in all tasks.
    """
    mine = named(results, own, tasks)
    if over == "power":
        other = xr.ones_like(mine)
    elif over == "id":
        other = errors(results, own, "id").sel(task=tasks)
    else:
        other = least(results, over, tasks)
    return (mine / other).dropna("seed", how="any").transpose("seed", "task")


def main_tasks(sidecar: Mapping[str, Any], results: xr.Dataset) -> list[str]:
    """The tasks that all models take part in, in the order of the settings."""
    tasks = sidecar["settings"]["tasks"]
    there = results["task"].values
    return [name for name, task in tasks.items() if "models" not in task and name in there]


def compared(
    results: xr.Dataset, one: Mapping[str, Any], sidecar: Mapping[str, Any]
) -> xr.DataArray:
    """The ratios that a prediction is of, of each task where they are counted. KeyError where no
    seed has all of them.
    """
    over, tasks = one["over"], one["tasks"]
    if isinstance(over, str) and over not in ("power", "id"):
        over = sidecar["rivals"][over]
    tasks = main_tasks(sidecar, results) if tasks == "all" else tasks
    found = ratio(results, one["own"], over, tasks)
    if not found.sizes["seed"]:
        raise KeyError(one["id"])
    return found if "count" in one else found.isel(task=0)


def decided(results: xr.Dataset, sidecar: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every prediction by its id: what it says, what was found, over how many seeds, the verdict."""

    def asked(one: Mapping[str, Any]) -> xr.DataArray:
        return compared(results, one, sidecar)

    return predictions.decided(sidecar["predictions"], asked)
