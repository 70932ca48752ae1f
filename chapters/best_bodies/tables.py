"""Forces told by operators and by rivals in tables, and the numbers of the prose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.confirm.predictions import HOLDS, sides
from benchmarks.nbody.figures import LAWS, title
from chapters.best_bodies import figures_paths
from chapters.best_bodies.figures import STEPS, changed, curved, relative, run
from chapters.best_bodies.predictions import decided, mean_ratio, ratio
from vnlib.plots.frames import label, some
from vnlib.plots.statistics import ahead, texts
from vnlib.plots.tables import Table, frame, if_computed, spreads

OWN = ("vn_256", "vn_512", "vn_1024", "vn_512_vector")
RIVALS = (
    "token_mlp",
    "token_mlp_longer",
    "token_mlp_four",
    "factorized",
    "rbf_tokens",
    "rbf_256",
    "rbf_512",
    "rbf_1024",
    "process_rational",
    "process_matern",
    "mlp",
    "gnn",
    "transformer",
    "film",
    "factorized_dense",
)


def predicted(results: xr.Dataset, sidecar: Mapping[str, Any]) -> Table:
    """What was predicted before the test states were drawn, and what came of it."""
    found = frame(decided(results, sidecar), "id")
    return Table(found, {"seeds": "{:.0f}"}, name="predictions")


@if_computed
def errors(results: xr.Dataset) -> Table:
    """Relative errors by the number of forces, for five and for three bodies."""
    models = some(run(results, results["model"].values.tolist()))
    columns = {
        f"{bodies} bodies": _named(results, [by_number(results, m, bodies) for m in models], models)
        for bodies in (5, 3)
        if bodies in results["bodies"].values
    }
    return Table(_plain(columns, number=lambda n: f"{n} force{'s' * (n > 1)}"), name="errors")


def _plain(columns: Mapping[Any, xr.DataArray], **names: Any) -> pd.DataFrame:
    """Quantities with a row for each name along "row", which readers are not told."""
    return spreads(columns, "row", **names).rename_axis(None)


def by_number(results: xr.Dataset, model: str, bodies: int) -> xr.DataArray:
    """The mean relative error (seed, number) over sets of as many forces."""
    found = relative(results, model)
    found = found.isel(cell=np.flatnonzero(found["bodies"] == bodies))
    number = found["forces"].str.count(r"\+") + 1
    parts = {int(n): found.isel(cell=np.flatnonzero(number == n)) for n in np.unique(number)}
    means = [part.mean("cell", skipna=False) for part in parts.values()]
    return xr.concat(means, xr.IndexVariable("number", list(parts)))


def _of(results: xr.Dataset, name: str, model: str) -> xr.DataArray:
    """A variable of one model, without what else is known of it."""
    return results[name].sel(model=model).reset_coords(drop=True)


def _named(results: xr.Dataset, values: list[xr.DataArray], models: list[str]) -> xr.DataArray:
    found = xr.concat(values, "row", join="outer")
    return found.assign_coords(row=[label(results, model) for model in models])


@if_computed
def wins(results: xr.Dataset) -> Table:
    """In how many of the cells networks have surely less error than each rival."""
    own, rivals = some(run(results, OWN)), some(run(results, RIVALS))
    rows = {
        label(results, rival): {
            label(results, model): ahead(sides(ratio(results, model, [rival]))) for model in own
        }
        for rival in rivals
    }
    return Table(frame(rows, "rival"), name="cells won")


@if_computed
def distances(results: xr.Dataset) -> Table:
    """How far bodies are from their true paths at the end, by the forces that act."""
    found = _at_the_end(results, [figures_paths.distance(results, m) for m in _followed(results)])
    return Table(_plain({"distance [box]": found}), name="distances")


@if_computed
def energies(results: xr.Dataset) -> Table:
    """How far the change of their energy is from the true one at the end, where no drag acts."""
    each = [figures_paths.energy_error(results, m) for m in _followed(results)]
    return Table(_plain({"energy [box²/s²]": _at_the_end(results, each)}), name="energies")


def _followed(results: xr.Dataset) -> list[str]:
    return some(figures_paths.followed(results))


def _at_the_end(results: xr.Dataset, each: list[xr.DataArray]) -> xr.DataArray:
    found = _named(results, [one.isel(step=-1, drop=True) for one in each], _followed(results))
    return found.assign_coords(panel=[title(str(p)) for p in found["panel"].values])


@if_computed
def ingredients(results: xr.Dataset) -> Table:
    """What each ingredient changes where gravity or springs act, and in how many cells."""
    rows = some([name for name, pair in STEPS.items() if len(run(results, pair)) == 2])
    each = {name: changed(results, name) for name in rows}
    values = xr.concat([mean_ratio(one) for one in each.values()], "row", join="outer")
    found = _plain({"ratio of errors": values.assign_coords(row=rows)})
    found["cells with less error", ""] = [ahead(sides(one)) for one in each.values()]
    return Table(found, name="ingredients")


@if_computed
def costs(results: xr.Dataset) -> Table:
    """Numbers of a model, time of learning and of telling all test states, and mean error."""
    models = some(run(results, results["model"].values.tolist()))
    names = {"fact_parameters": "numbers", "learning_time": "learning [s]"}
    names |= {"telling_time": "test states [s]"}
    columns = {
        text: _named(results, [_of(results, name, m) for m in models], models)
        for name, text in names.items()
    }
    columns["error"] = _named(results, [curved(results, m) for m in models], models)
    return Table(_plain(columns), {"numbers": "{:,.0f}"}, name="costs")


@if_computed
def laws(results: xr.Dataset) -> Table:
    """Atoms or centres of each law, and widths of kernels."""
    there = results["law_atoms"].notnull().any(["seed", "law"])
    models = some([m for m in run(results, results["model"].values.tolist()) if there.sel(model=m)])
    columns = {}
    for name, text in (("law_atoms", "atoms"), ("law_width", "width")):
        found = _named(results, [_of(results, name, m) for m in models], models)
        if found.notnull().any():
            columns[text] = found.assign_coords(law=[LAWS[law] for law in found["law"].values])
    return Table(_plain(columns), name="laws")


def numbers(results: xr.Dataset, sidecar: Mapping[str, Any]) -> dict[str, str]:
    """The numbers of the prose."""
    came = decided(results, sidecar)
    seeds = results["mse"].notnull().any(["inference", "forces", "bodies"]).sum("seed")
    told: dict[str, Any] = {
        "held": f"{sum(one['verdict'] == HOLDS for one in came.values())} of {len(came)}",
        "found": {name: one["found"] for name, one in came.items()},
        "verdict": {name: one["verdict"] for name, one in came.items()},
        "seeds": {m: str(int(seeds.sel(model=m))) for m in results["model"].values},
        "error": {m: curved(results, m) for m in run(results, results["model"].values)},
        "numbers": {m: results["fact_parameters"].sel(model=m).median() for m in run(results, OWN)},
        "seconds": {m: results["learning_time"].sel(model=m) for m in run(results, OWN + RIVALS)},
    }
    for model in figures_paths.followed(results):
        end = figures_paths.distance(results, model).isel(step=-1, drop=True)
        told[f"distance-{model}"] = end
    for model in run(results, OWN):
        rivals = run(results, RIVALS)
        told[f"wins-{model}"] = {r: ahead(sides(ratio(results, model, [r]))) for r in rivals}
        told[f"ratio-{model}"] = {
            r: mean_ratio(ratio(results, model, [r], "curved")) for r in rivals
        }
        told[f"smooth-{model}"] = {
            r: mean_ratio(ratio(results, model, [r], "smooth")) for r in rivals
        }
        told[f"springs-{model}"] = {
            r: mean_ratio(ratio(results, model, [r], "springs")) for r in rivals
        }
    return texts("bestbodies", told)
