"""Force composition in tables, and the numbers of the prose; all are medians over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import xarray as xr

from benchmarks.nbody.figures import (
    MEAN,
    by_number,
    error,
    in_order,
    inside_and_out,
    mixed,
)
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table

FITS = 0.1  # relative error on single forces of a model that fits them
EXACT = 1e-6  # gap between joint and passes of a model that adds up forces, but for rounding
MEASURES = {"MSE": False, "relative MSE": True}
TOKENS = "vn_token_3"


def _table(results: xr.Dataset, columns: dict[tuple[str, str], xr.DataArray], name: str) -> Table:
    """A row per model."""
    models = in_order(results, mean=True)
    names = pd.Index([label(results, m) for m in models], name="model")
    frame = pd.DataFrame({k: v.sel(model=models).values for k, v in columns.items()}, index=names)
    return Table(frame, name=name)


def errors_table(results: xr.Dataset) -> Table:
    """Errors with five bodies by number of forces, and mean OOD over mean ID error."""
    columns = {}
    for name, relative in MEASURES.items():
        five = median(by_number(error(results, relative=relative)).sel(bodies=5))
        for number in five["number"].values.tolist():
            columns[name, f"{number} force{'s' * (number > 1)}"] = five.sel(number=number)
    inside, outside = inside_and_out(error(results))
    columns["OOD / ID", ""] = median(outside / inside)
    return _table(results, columns, "errors by number of forces")


def dropout(results: xr.Dataset, *, relative: bool) -> dict[str, xr.DataArray]:
    """Errors with three bodies over errors with five, of single forces and of mixtures."""
    found = median(by_number(error(results, relative=relative)))
    parts = {"single forces": found.sel(number=1), "mixtures": over_mixtures(found)}
    return {name: one.sel(bodies=3) / one.sel(bodies=5) for name, one in parts.items()}


def over_mixtures(values: xr.DataArray) -> xr.DataArray:
    """Mean over two, three and four forces."""
    return values.sel(number=[2, 3, 4]).mean("number")


def dropout_table(results: xr.Dataset) -> Table:
    """Errors with three bodies over errors with five, plain and relative."""
    columns = {
        (what, name): ratio
        for name, relative in MEASURES.items()
        for what, ratio in dropout(results, relative=relative).items()
    }
    return _table(results, columns, "errors with three bodies over errors with five")


def simulator_table(results: xr.Dataset) -> Table:
    """What was measured of the simulator."""
    one = results.isel(model=0, seed=0)
    rows = {
        f"{law}: distance from the closed form, 5 s [box]": one["sim_exact"].sel(law=law)
        for law in one["law"].values
    }
    for kind, name in (("median", "sim_energy"), ("worst", "sim_energy_worst")):
        rows |= {
            f"{laws}: relative change of energy, {kind} of 16": one[name].sel(conserved=laws)
            for laws in one["conserved"].values
        }
    rows |= {
        "change of total momentum under gravity and springs [box/s]": one["sim_momentum"],
        "accelerations of mixtures minus sums [box/s²]": one["sim_superposition"],
        "order of convergence": one["sim_order"],
        "first step outside the box, deviation from 0.98 and 0.9 [box]": one["sim_boundary"],
    }
    frame = pd.DataFrame({"measured": {name: float(value) for name, value in rows.items()}})
    return Table(frame, name="the simulator")


def unconverged(results: xr.Dataset, most: float = 0.3) -> Table:
    """By what share the validation error of each trained model fell after 0.7 of the steps; at
    least by `most`: with more steps these would fit better.
    """
    curve = median(results["curve"])
    gain = 1 - curve.sel(share=1.0, method="nearest") / curve.sel(share=0.7, method="nearest")
    models = [m for m in in_order(results) if float(gain.sel(model=m)) > most]
    names = pd.Index([label(results, m) for m in models], name="model")
    frame = pd.DataFrame({"fell by": gain.sel(model=models).values}, index=names)
    return Table(frame, formats={"fell by": "{:.0%}"}, name="models that had not converged")


# --- Numbers of the prose -------------------------------------------------------------------------


def cells(results: xr.Dataset, way: str = "joint") -> xr.DataArray:
    """Median errors (model, number, bodies) of mixtures."""
    return median(by_number(error(results, way=way))).sel(number=[2, 3, 4])


def won(values: xr.DataArray, model: str, others: Sequence[str]) -> int:
    """In how many cells a model has less error than each of the others."""
    return int((values.sel(model=model) < values.sel(model=list(others)).min("model")).sum())


def fits(results: xr.Dataset) -> dict[str, float]:
    """Relative error of each model of the paper that is trained, on single forces of five bodies;
    models with a low one fit these forces.
    """
    single = median(by_number(error(results, relative=True)).sel(number=1, bodies=5))
    return {m: float(single.sel(model=m)) for m in in_order(results, ("vn", "printed"))}


def kept_in_passes(results: xr.Dataset) -> dict[str, float]:
    """What one pass per force leaves of the error on mixtures, of models that are told all forces
    by a code.
    """
    out = {w: median(inside_and_out(error(results, way=w))[1]) for w in ("joint", "passes")}
    free = [m for m in in_order(results, ("printed",)) if m != "factorized"]
    return {m: float(out["passes"].sel(model=m) / out["joint"].sel(model=m)) for m in free}


def gaps(results: xr.Dataset) -> dict[str, float]:
    """How far each model is from superposition on mixtures of five bodies, as a share of power."""
    found = median(results["gap"].where(mixed(results)).mean("forces"))
    return {m: float(found.sel(model=m)) for m in in_order(results)}


def rising(results: xr.Dataset, *, relative: bool) -> list[str]:
    """The models whose error with five bodies rises from each number of forces to the next."""
    five = median(by_number(error(results, relative=relative)).sel(bodies=5)).sortby("number")
    return [m for m in in_order(results) if bool((five.sel(model=m).diff("number") > 0).all())]


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the shipped results; nothing where models lack."""
    others = in_order(results, ("printed",))
    wanted = {"vn_literal_3", "vn_gated_3", TOKENS, "factorized", "token_mlp", "rbf_tokens", MEAN}
    if not wanted <= set(results["model"].values.tolist()):
        return {}
    single, joint = fits(results), cells(results)
    without = [m for m in others if m != "factorized"]
    kept, gap = kept_in_passes(results), gaps(results)
    inside, outside = (median(one) for one in inside_and_out(error(results)))
    power = over_mixtures(by_number(results["power"].isel(model=0, seed=0)))
    less = joint < joint.sel(model=TOKENS)
    found: dict[str, int | float] = {
        "trained": len(single),
        "fit": sum(value <= FITS for value in single.values()),
        "worst-fit": max(single.values()),
        "cells": joint.isel(model=0).size,
        "models": len(in_order(results)),
        "rise": len(rising(results, relative=False)),
        "rise-relative": len(rising(results, relative=True)),
        "power-three": float(power.sel(bodies=3) / power.sel(bodies=5)),
        "power-ratio": float(outside.sel(model=MEAN) / inside.sel(model=MEAN)),
        "passes-least": min(kept.values()),
        "passes-most": max(kept.values()),
        "superpose": sum(value < EXACT for value in gap.values()),
        "gap-most": max(gap.values()),
        "gap-least": min(value for value in gap.values() if value >= EXACT),
    }
    for key, model in (("literal", "vn_literal_3"), ("gated", "vn_gated_3"), ("tokens", TOKENS)):
        found[f"won-{key}"] = won(joint, model, others)
        found[f"won-{key}-without"] = won(joint, model, without)
    for key, model in (("mlp", "token_mlp"), ("rbf", "rbf_tokens"), ("ridge", "linear_tokens")):
        found[f"less-{key}"] = int(less.sel(model=model).sum())
    for key, relative in (("harder", False), ("harder-relative", True)):
        ratio = dropout(results, relative=relative)["mixtures"].sel(model=in_order(results))
        found[key] = int((ratio > 1).sum())
    return {
        f"fig4-{key}": str(value) if isinstance(value, int) else short(value)
        for key, value in found.items()
    }
