"""Which atoms are used, and when: tables of numbers, and the numbers of the prose.

Results as in `chapters.I_mnist.figures`; medians over seeds with their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from chapters.I_mnist.figures import FAST, LOCKED, SETS, SOLVERS, layers_of, measure_of, networks
from chapters.I_mnist.figures_atlas import entries
from vnlib.plots.statistics import extremes, median, percent, short, texts
from vnlib.plots.tables import Table, if_computed, spreads

MILLI, PERCENT = 1e3, 100.0


def throughout(values: xr.DataArray, direction: int) -> xr.DataArray:
    """In how many seeds a measure rises (1) or falls (-1) from every layer to the next."""
    return (direction * values.diff("layer") > 0).all("layer").sum("seed")


def locked_all(results: xr.Dataset) -> xr.DataArray:
    """Sweeps until the mean overlaps of all layers have locked (model, seed, solver)."""
    return results["locked_mean"].sel(set="id", threshold=LOCKED).max("layer")


def lowest_sum(results: xr.Dataset) -> xr.DataArray:
    """The least sum of energies on the way, over that at rest."""
    return results["summed_energy"].min("sweep") / results["summed_energy_end"]


def budget_table(results: xr.Dataset, kind: str = "id") -> Table:
    """Every network and layer: atoms, and how a code uses them."""
    one = results.sel(set=kind, model=networks(results))
    columns = {
        "atoms": one["atoms"],
        "used [%]": PERCENT * one["used"],
        "effective [%]": PERCENT * one["effective"] / one["atoms"],
        "active": one["active"],
        "active [%]": PERCENT * one["active_share"],
        "carry 90 %": one["carrying"],
        "Hoyer": one["hoyer"],
    }
    return _of_networks(columns, "use of the budget, by network and layer", layer="layer {}".format)


def locking_table(results: xr.Dataset) -> Table:
    """Sweeps until all layers have locked, and the error of the drawing then and at rest."""
    some = results[["locked_mean", "locked", "error_locked", "error_end"]]
    one = some.sel(model=networks(results), quantile=0.9).max("layer")
    single, columns = one.sel(set="id"), {}
    for threshold in results["threshold"].values.tolist():
        at = single.sel(threshold=threshold)
        columns[f"≥ {threshold:g}, mean"] = at["locked_mean"]
        columns[f"≥ {threshold:g}, 9 of 10"] = at["locked"]
    columns[f"sums, ≥ {LOCKED:g}, mean"] = one["locked_mean"].sel(set="add2", threshold=LOCKED)
    last = int(results["sweep"].max())
    formats = dict.fromkeys(columns, lambda v: f"{v:.0f}" if v <= last else f"> {last}")
    columns["MSE then"] = MILLI * single["error_locked"].sel(threshold=LOCKED)
    columns["MSE at rest"] = MILLI * single["error_end"]
    return _of_networks(columns, "sweeps until supports lock", formats, solver=SOLVERS)


def errors_table(results: xr.Dataset) -> Table:
    """What the networks draw: errors in both readings, in 10⁻³ ink², and the zero baseline's."""
    one = MILLI * results[["criterion", "mse", "zero_baseline"]].sel(model=networks(results))
    columns, zero = {"validation": one["criterion"]}, {}
    for (kind, (title, *_)), reading in product(SETS.items(), ("own", "top")):
        columns[f"{title}, {reading}"] = one["mse"].sel(set=kind, reading=reading)
        zero[f"{title}, {reading}"] = float(one["zero_baseline"].sel(set=kind).median())
    rows = spreads(columns, "model")
    rows.loc["Zero baseline"] = [zero.get(title) if of != "n" else None for title, of in rows]
    return Table(rows, name="errors of the drawings")


@if_computed
def depth_table(results: xr.Dataset) -> Table:
    """Active shares by layer, and in how many seeds measures fall or rise throughout."""
    deep = results.sel(model=[m for m in networks(results) if len(layers_of(results, m)) > 1])
    columns = {}
    for kind, (title, *_) in SETS.items():
        share = deep["active_share"].sel(set=kind)
        for layer in share["layer"].values:
            columns[f"{title}, layer {layer} [%]"] = PERCENT * share.sel(layer=layer)
        columns[f"{title}, falls [seeds]"] = throughout(share, -1)
    columns["Hoyer rises [seeds]"] = throughout(deep["hoyer"].sel(set="id"), 1)
    return _of_networks(columns, "active atoms by depth")


def selectivity_table(results: xr.Dataset) -> Table:
    """What labels tell of atoms' activity above chance, by layer."""
    one = results.sel(model=networks(results))
    told = measure_of(one, "told")
    above = (one["told"] > one["told_shuffled_most"]).where(one["told"].notnull())
    columns = {f"layer {n}": told.sel(layer=n) for n in told["layer"].values}
    columns["rises [seeds]"] = throughout(told, 1)
    columns["above all shuffles [%]"] = PERCENT * above.sel(state="active").mean(("seed", "layer"))
    return _of_networks(columns, "selectivity by layer")


def rest_table(results: xr.Dataset) -> Table:
    """How sure the supports at rest are, the worst layer, set and seed of each network."""
    one = results.sel(model=networks(results))
    least = one[["end_certain", "end_agreement"]].min(("seed", "set", "solver", "layer"))
    columns = {
        "overlap half way, least": least["end_certain"],
        "relative duality gap, most": one["gap_end"].max(("seed", "set", "solver")),
        "overlap with line search's, least": least["end_agreement"],
    }
    return _of_networks(columns, "supports at rest")


def energies_table(results: xr.Dataset) -> Table:
    """In how many sweeps each energy rises, and how low the sum comes; default network."""
    one = results.sel(model=networks(results)[0], set="id")
    columns = {
        "F rises [sweeps]": one["energy_rises"],
        "sum rises [sweeps]": one["summed_energy_rises"],
        "lowest sum over that at rest": lowest_sum(one),
    }
    return Table(spreads(columns, "solver", solver=SOLVERS), name="rises of both energies")


@if_computed
def atlas_table(results: xr.Dataset) -> Table:
    """Use of an atom by the digit that uses it most over the mean of digits; median over atoms."""
    profile = entries(results)["atlas_profile"]
    ratio = (profile.max("digit") / profile.mean("digit")).median("place").astype(float)
    rows = spreads({"": ratio}, "layer", layer="layer {}".format).rename_axis(None)
    return Table(rows, name="one digit among those of atoms")


def _of_networks(columns: Mapping, name: str, formats: Mapping | None = None, **axis: Any) -> Table:
    """A row for each network, or for each of its values of an axis; seeds are whole numbers."""
    formats = formats or {title: "{:.0f}" for title in columns if "[seeds]" in title}
    found = spreads(columns, "model", *axis, **axis)
    index = found.index.map(", ".join) if axis else found.index.rename(None)
    return Table(found.set_axis(index), formats, name=name)


def _of_hundred(share: float) -> str:
    """A share in percent with two digits, "6.1 %"."""
    return f"{short(PERCENT * share)} %"


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose."""
    one, locked = results.sel(set="id"), locked_all(results)
    active = {
        m: one["active_share"].sel(model=m, layer=layers_of(results, m)) for m in networks(results)
    }
    quickest = median(locked).fillna(np.inf).argmin("solver")
    counted = {
        "locked": locked.isel(solver=quickest),
        "in-time": (locked.min("solver") <= FAST).sum("seed"),
        "falls": throughout(one["active_share"], -1),
        "rises": throughout(measure_of(results, "told"), 1),
        "seeds": results.sizes["seed"],
        "last": results["sweep"].max(),
    }
    shares = {
        "used-least": one["used"].min(),
        "effective-least": (one["effective"] / one["atoms"]).min(),
        "sum-lowest": extremes(lowest_sum(one.sel(model=networks(results)[0])))["least"],
    }
    told = measure_of(results, "told").sel(model=[m for m in networks(results) if m != "vn_1"])
    said = {
        "told-grows": told.sel(layer=3) / told.sel(layer=1),
        "active": {m: ", ".join(texts("", by, _of_hundred).values()) for m, by in active.items()},
        "certain": float(results["end_certain"].min()),
        "gap": results["gap_end"].max(),
    }
    form = "{:.0f}".format
    return texts("appI", counted, form) | texts("appI", shares, percent) | texts("appI", said)
