"""Digits with exactly k coefficients in tables, and the numbers of the prose."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from benchmarks.confirm.predictions import HOLDS, sides
from chapters.best_digits.figures import (
    MILLI,
    SETS,
    STEPS,
    changed,
    has_both,
    name_of,
    pairs,
)
from chapters.best_digits.predictions import decided, error, least
from vnlib.plots.frames import some
from vnlib.plots.statistics import ahead, texts
from vnlib.plots.tables import Table, frame, if_computed, spreads


def predicted(results: xr.Dataset, sidecar: Mapping[str, Any]) -> Table:
    """What was predicted before the test images were drawn, and what came of it."""
    found = frame(decided(results, sidecar), "id")
    return Table(found, {"seeds": "{:.0f}"}, name="predictions")


@if_computed
def errors(results: xr.Dataset, k: int = 24) -> Table:
    """Errors of all that was drawn with k coefficients, set by set."""
    rows = some(pairs(results, k))
    values = xr.concat([MILLI * error(results, *pair, k) for pair in rows], "row")
    values = values.assign_coords(row=[name_of(results, *pair) for pair in rows])
    frame = spreads({"": values.sel(set=list(SETS))}, "row", set=SETS).rename_axis(None)
    return Table(frame, name=f"errors with {k} coefficients")


@if_computed
def ingredients(results: xr.Dataset) -> Table:
    """What each ingredient changes with 24 coefficients, on single digits and in how many sets."""
    rows = some([name for name, (one, other) in STEPS.items() if has_both(results, one, other)])
    ratios = {name: changed(results, name) for name in rows}
    inside = xr.concat([ratios[name].sel(set="id", drop=True) for name in rows], "row")
    columns = {"ratio of errors, ID": inside.assign_coords(row=rows)}
    found = spreads(columns, "row").rename_axis(None)
    found["sets with less error", ""] = [ahead(sides(ratios[name])) for name in rows]
    return Table(found, name="ingredients")


@if_computed
def costs(results: xr.Dataset) -> Table:
    """Learning time, and time of an image and code length with 24 and with 65 coefficients."""
    rows = some([pair for pair in pairs(results, 24) if pair[1] not in ("omp", "ols")])
    columns, names = {}, [name_of(results, *pair) for pair in rows]

    def column(values: list[xr.DataArray]) -> xr.DataArray:
        return xr.concat([one.reset_coords(drop=True) for one in values], "row").assign_coords(
            row=names
        )

    columns["learning [s]"] = column([results["learning_time"].sel(model=m) for m, _ in rows])
    for k in [k for k in (24, 65) if k in results["k"].values]:
        took = [results["image_time"].sel(model=m, way=w, k=k) for m, w in rows]
        columns[f"image, k = {k} [ms]"] = column([MILLI * one for one in took])
    atoms = column([results["atoms"].sel(model=m, way=w, k=24) for m, w in rows])
    columns["bits of 24 indices"] = 24 * np.log2(atoms.max("seed"))
    return Table(
        spreads(columns, "row").rename_axis(None), {"bits of 24 indices": "{:.0f}"}, name="costs"
    )


@if_computed
def thresholds(results: xr.Dataset) -> Table:
    """Thresholds of the layer below, chosen on validation images in each run."""
    ways = [way for way in ("two_layer", "two_layer_complete") if way in results["way"].values]
    theta = results["theta"].sel(way=some(ways))
    rows = [(m, w) for m, w in product(theta["model"].values.tolist(), ways)]
    rows = some([(m, w) for m, w in rows if theta.sel(model=m, way=w).notnull().any()])
    values = xr.concat([theta.sel(model=m, way=w).reset_coords(drop=True) for m, w in rows], "row")
    values = values.assign_coords(row=[name_of(results, m, w) for m, w in rows])
    values = values.sel(k=values.notnull().any(["row", "seed"]))
    frame = spreads({"threshold": values}, "row", k=lambda k: f"k = {k}").rename_axis(None)
    return Table(frame, name="thresholds")


def against_rivals(
    results: xr.Dataset, sidecar: Mapping[str, Any], pair: tuple[str, str], k: int
) -> xr.DataArray:
    """The errors of a network over the least of all rivals as they ship (seed, set)."""
    over = least(results, sidecar["rivals"]["shipped"], k)
    return (error(results, *pair, k) / over).dropna("seed", how="all")


def numbers(results: xr.Dataset, sidecar: Mapping[str, Any]) -> dict[str, str]:
    """The numbers of the prose; errors in 10⁻³ ink²."""
    came = decided(results, sidecar)
    held = sum(one["verdict"] == HOLDS for one in came.values())
    seeds = results["mse_few"].notnull().any(["way", "k", "set"]).sum("seed")
    told: dict[str, Any] = {
        "held": f"{held} of {len(came)}",
        "found": {name: one["found"] for name, one in came.items()},
        "verdict": {name: one["verdict"] for name, one in came.items()},
        "seeds": {m: str(int(seeds.sel(model=m))) for m in results["model"].values},
    }
    for k in (24, 65):
        drawn = pairs(results, k)
        told[f"error-{k}"] = {f"{m}-{w}": MILLI * error(results, m, w, k) for m, w in drawn}
        told[f"rivals-{k}"] = {
            f"{m}-{w}": surely(against_rivals(results, sidecar, (m, w), k))
            for m, w in drawn
            if m.startswith("vn")
        }
    for name, (one, other) in STEPS.items():
        if has_both(results, one, other):
            key, ratio = name.replace(" / ", " over ").replace(",", ""), changed(results, name)
            told[f"changed-{key}"] = ratio.sel(set="id")
            told[f"less-{key}"] = surely(ratio)
    return texts("bestdigits", told)


def surely(ratio: xr.DataArray) -> str:
    """In how many sets a ratio is surely below 1: "13 of 14"."""
    found = sides(ratio)
    return f"{int((found < 0).sum())} of {found.size}"
