"""What is forgotten of tasks that are learned one after the other, from results over model, seed,
stream, after and task, as `chapters.beyond_continual.study` returns them.
"""

from __future__ import annotations

import xarray as xr

STREAMS = {
    "sequence": "in turn",
    "replay": "with replay",
    "joint": "all mixed",
    "last": "the last alone",
}


def relative(results: xr.Dataset) -> xr.DataArray:
    """Errors in units of the mean square of a task (model, seed, stream, after, task); those of
    forces are so.

    Streams are those of `STREAMS`, with NaN where no model went through one.
    """
    unit = results["power"].where(results["tasks"] == "digits", 1.0)
    return results["error"].reindex(stream=list(STREAMS)) / unit


def end(results: xr.Dataset) -> xr.DataArray:
    """Relative errors after the last turn (model, seed, stream, task)."""
    errors, turns = relative(results), results["power"].notnull().sum("task")
    return errors.where(errors["after"] == turns).max("after")


def final(results: xr.Dataset) -> xr.DataArray:
    """Mean relative error over tasks after the last turn (model, seed, stream)."""
    return end(results).mean("task")


def forgotten(results: xr.Dataset) -> xr.DataArray:
    """Error at the end over that right after the task, mean over all tasks but the last (model,
    seed, stream).
    """
    errors = relative(results)
    own = errors.where(errors["after"] == errors["task"] + 1).max("after")
    turns = results["power"].notnull().sum("task")
    return (end(results) / own).where(own["task"] < turns - 1).mean("task")


def transfer(results: xr.Dataset) -> xr.DataArray:
    """Error on a task just before it is learned over that at the start, mean over all tasks but the
    first.
    """
    errors = relative(results)
    before = errors.where(errors["after"] == errors["task"]).max("after")
    return (before / errors.sel(after=0)).where(before["task"] > 0).mean("task")
