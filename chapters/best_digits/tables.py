"""Digits with exactly k coefficients in tables, and the numbers of the prose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from chapters.best_digits.figures import (
    MILLI,
    SETS,
    STEPS,
    changed,
    has,
    has_both,
    name_of,
    pairs,
)
from chapters.best_digits.predictions import HOLDS, decided, error, least
from vnlib.plots.frames import some
from vnlib.plots.statistics import ahead, sides, texts
from vnlib.plots.tables import Table, frame, if_computed, spreads

BEST = {24: ("vn_2048", "two_layer"), 65: ("vn_2048", "two_layer")}
ONE = ("vn_2048", "swaps")


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
    frame = spreads({"": values.sel(set=list(SETS))}, "row", set=SETS)
    return Table(frame, name=f"errors with {k} coefficients")


@if_computed
def ingredients(results: xr.Dataset) -> Table:
    """What each ingredient changes with 24 coefficients, on single digits and in how many sets."""
    rows = some([name for name, (one, other) in STEPS.items() if has_both(results, one, other)])
    ratios = {name: changed(results, name) for name in rows}
    inside = xr.concat([ratios[name].sel(set="id", drop=True) for name in rows], "row")
    columns = {"ratio of errors, ID": inside.assign_coords(row=rows)}
    found = spreads(columns, "row")
    found["sets with less error"] = [ahead(sides(ratios[name])) for name in rows]
    return Table(found, name="ingredients")


@if_computed
def costs(results: xr.Dataset) -> Table:
    """Learning time, and time of an image and code length with 24 and with 65 coefficients."""
    rows = some([pair for pair in pairs(results, 24) if pair[1] not in ("omp", "ols")])
    columns = {}
    names = [name_of(results, *pair) for pair in rows]

    def column(values: list[xr.DataArray]) -> xr.DataArray:
        kept = [one.drop_vars([c for c in one.coords if c not in one.dims]) for one in values]
        return xr.concat(kept, "row").assign_coords(row=names)

    columns["learning [s]"] = column([results["learning_time"].sel(model=m) for m, _ in rows])
    for k in (24, 65):
        if k in results["k"].values:
            at = [{"model": m, "way": w, "k": k} for m, w in rows]
            columns[f"image, k = {k} [ms]"] = column(
                [MILLI * results["image_time"].sel(one) for one in at]
            )
    atoms = column([results["atoms"].sel(model=m, way=w, k=24) for m, w in rows])
    columns["bits of 24 indices"] = 24 * np.log2(atoms.max("seed"))
    return Table(spreads(columns, "row"), {"bits of 24 indices": "{:.0f}"}, name="costs")


@if_computed
def thresholds(results: xr.Dataset) -> Table:
    """Thresholds of the layer below, chosen on validation images."""
    ways = [way for way in ("two_layer", "two_layer_complete") if way in results["way"].values]
    theta = results["theta"].sel(way=some(ways))
    rows = [(str(m), str(w)) for m in theta["model"].values for w in ways]
    found = {
        f"{name_of(results, m, w)}, k = {k}": {
            "threshold": float(theta.sel(model=m, way=w, k=k).median()),
            "least": float(theta.sel(model=m, way=w, k=k).min()),
            "most": float(theta.sel(model=m, way=w, k=k).max()),
        }
        for m, w in rows
        for k in theta["k"].values
        if bool(theta.sel(model=m, way=w, k=k).notnull().any())
    }
    return Table(frame(found, "network"), name="thresholds")


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
    told: dict[str, Any] = {
        "held": f"{held} of {len(came)}",
        "verdict": {name: one["verdict"] for name, one in came.items()},
        "found": {name: one["found"] for name, one in came.items()},
        "seeds": {
            model: str(
                int(results["mse"].sel(model=model).notnull().any(["way", "k", "set"]).sum())
            )
            for model in results["model"].values
        },
        "frozen": "",
    }
    for k in (24, 65):
        told[f"error-{k}"] = {
            f"{m}-{w}": MILLI * error(results, m, w, k) for m, w in pairs(results, k)
        }
        told[f"rivals-{k}"] = {}
        for m, w in pairs(results, k):
            if m.startswith("vn"):
                ratio = against_rivals(results, sidecar, (m, w), k)
                told[f"rivals-{k}"][f"{m}-{w}"] = ahead(sides(ratio))
                told[f"over-{k}-{m}-{w}"] = ratio
    told["changed"] = {
        name.replace(" / ", "-over-").replace(",", ""): changed(results, name).sel(set="id")
        for name, (one, other) in STEPS.items()
        if has_both(results, one, other)
    }
    told["less"] = {
        name.replace(" / ", "-over-").replace(",", ""): ahead(sides(changed(results, name)))
        for name, (one, other) in STEPS.items()
        if has_both(results, one, other)
    }
    told["learning"] = {
        model: results["learning_time"].sel(model=model) for model in results["model"].values
    }
    told["image"] = {
        f"{m}-{w}-{k}": MILLI * results["image_time"].sel(model=m, way=w, k=k)
        for k in (24, 65)
        for m, w in pairs(results, k)
    }
    told |= {
        f"few-8-{m}": MILLI * error(results, m, w, 8, few=True)
        for m, w in (("all_exemplars", "omp"), ONE)
        if has(results, m, w, 8) or m == "all_exemplars"
    }
    return texts("bestdigits", told)
