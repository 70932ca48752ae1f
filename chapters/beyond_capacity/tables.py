"""Errors by size in tables, and the numbers of the prose."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr

from chapters.beyond_capacity.figures import PARTS, TASKS, error, known
from vnlib.plots.statistics import percent, texts
from vnlib.plots.tables import Table, if_computed, spreads


def ends(values: xr.DataArray) -> dict[str, xr.DataArray]:
    """Errors (model, seed) at the smallest, the usual and the largest size of each model, and the
    ratio of the last two.
    """
    size, there = values["size"], values["size"].where(values.notnull().any("seed"))
    sizes = {"smallest": there.min("size"), "usual": values["usual"], "largest": there.max("size")}
    found = {name: values.where(size == at).max("size") for name, at in sizes.items()}
    return found | {"ratio": found["largest"] / found["usual"]}


@if_computed
def growth(results: xr.Dataset) -> Table:
    """Per task and model: errors at the usual and at the largest size, and their ratio by seed."""
    parts = {}
    for task, one in TASKS.items():
        columns = {
            (PARTS[part], name): values
            for part in reversed(PARTS)
            for name, values in ends(error(results, task, part)).items()
            if name != "smallest"
        }
        parts[one.title] = spreads(columns, "model")
    return Table(pd.concat(parts, names=["task", "model"]), name="errors at the largest size")


@if_computed
def every(results: xr.Dataset) -> Table:
    """All sizes: errors, nonzero coefficients, what the last fifth of the updates gained, and the
    learning rate that was chosen.
    """
    parts = {}
    for task, one in TASKS.items():
        columns = {text: error(results, task, part) for part, text in PARTS.items()}
        values = columns[PARTS["id"]]
        more = {"coefficients": "active", "late gain": "late_gain", "learning rate": "rate"}
        columns |= {text: known(results, name, values) for text, name in more.items()}
        parts[one.title] = spreads(columns, "model", "size")
    found = pd.concat(parts, names=["task", "model", "size"])
    return Table(found, formats={"late gain": percent}, name="errors at all sizes")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds, by part, task and model."""
    told: dict[str, Any] = {
        part: {task: ends(error(results, task, part)) for task in TASKS} for part in PARTS
    }
    at_usual = results["size"] == results["usual"]
    told["late"] = results["late_gain"].where(at_usual).max("size")
    return texts("beyondcapacity", told)
