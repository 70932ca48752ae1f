"""Decoders and their linearisations in tables, and the numbers of the prose."""

from __future__ import annotations

from typing import Any

import xarray as xr

from benchmarks.spatial.errors import seeds_below
from chapters.beyond_kernel.figures import CODES, over_zero
from vnlib.plots.statistics import texts
from vnlib.plots.tables import Table, spreads

SHARES = {"linear": "its linearisation", "two_factor": "two-factor kernel", "truth": "true images"}
DRAWS = 0.1  # of the zero baseline's error: a seed below this draws most of a bump held out
MEASURES = {
    "binary": "two-factor kernel",
    "sum": "any sum",
    "product": "any product",
    "terms": "separable terms",
}


def errors(results: xr.Dataset) -> Table:
    """Errors over the zero baseline's of decoders and of their linearisations."""
    columns = {
        (part.upper(), said): over_zero(results, name, part)
        for part in ("id", "ood")
        for name, said in (("mse", "trained"), ("linear", "linearised"))
    }
    columns["linearised", "steps"] = results["steps"]
    return Table(spreads(columns, "code", "model", code=CODES), name="errors of linearisations")


def shares(results: xr.Dataset) -> Table:
    """What shares of the variance of trained decoders' drawings others have."""
    columns = {
        (part.upper(), said): results[f"explained_{name}_{part}"]
        for part in ("id", "ood")
        for name, said in SHARES.items()
    }
    return Table(spreads(columns, "code", "model", code=CODES), name="shares of variance")


def kernels(results: xr.Dataset) -> Table:
    """How tangent kernels are made of two factors, and what training made of them."""
    columns = {("start", said): results[f"kernel_{name}"] for name, said in MEASURES.items()}
    columns |= {("trained", said): results[f"after_{name}"] for name, said in MEASURES.items()}
    columns |= {("training", "correlation"): results["kept"]}
    columns |= {("training", "weights moved"): results["moved"]}
    return Table(spreads(columns, "code", "model", code=CODES), name="tangent kernels")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds."""
    told: dict[str, Any] = {
        kind: {part: over_zero(results, name, part) for part in ("id", "ood")}
        for kind, name in (("trained", "mse"), ("linear", "linear"))
    }
    told["explained"] = {
        name: {part: results[f"explained_{name}_{part}"] for part in ("id", "ood")}
        for name in SHARES
    }
    told["start"] = {name: results[f"kernel_{name}"] for name in ("binary", "sum")}
    told |= {"kept": results["kept"], "moved": results["moved"]}
    told["parameters"] = {
        model: f"{int(results['n_parameters'].sel(model=model).max()):,}"
        for model in results["model"].values
    }
    told["outputs"] = f"{int(results['n_outputs'].max()):,}"
    ood = over_zero(results, "mse", "ood")
    told["draws"] = {
        code: {m: seeds_below(ood.sel(code=code, model=m), DRAWS) for m in ood["model"].values}
        for code in ood["code"].values
    }
    told["falling"] = {
        code: {m: falling(results["path_id"].sel(code=code, model=m)) for m in ood["model"].values}
        for code in ood["code"].values
    }
    return texts("beyondkernel", told)


def falling(path: xr.DataArray) -> xr.DataArray:
    """An error at the last point of its path over that at the last but one, seed by seed."""
    there = path.dropna("iteration", how="all")
    if there.sizes["iteration"] < 2:
        return path.isel(iteration=0) * float("nan")
    return there.isel(iteration=-1) / there.isel(iteration=-2)
