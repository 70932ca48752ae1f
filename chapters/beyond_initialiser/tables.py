"""Tables and numbers of learned starts; medians over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
import xarray as xr

from chapters.beyond_initialiser.figures import LEVEL, SETS, SOLVERS, STARTS, free, starts
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, texts
from vnlib.plots.tables import Table, frame, spreads

LEARNED = ("steps", "lista", "lista_energy", "linear", "mlp")


def reached(sweeps: float) -> str:
    """A number of sweeps, or that the level was not reached."""
    return f"{sweeps:.0f}" if np.isfinite(sweeps) else "not reached"


def percent(share: float) -> str:
    """A whole number; none is -0."""
    return f"{round(share)}"


def trained(results: xr.Dataset) -> xr.DataArray:
    """Which starts are learned."""
    return results["start"].isin(LEARNED)


def sweeps(results: xr.Dataset) -> xr.DataArray:
    """Sweeps to a height of 1e-3 (model, start, solver, set)."""
    return median(results["sweeps"].sel(level=LEVEL))


def cheapest(results: xr.Dataset, *, learned: bool) -> xr.DataArray:
    """The fewest sweeps, cost of the start included, in distribution and elsewhere (model, set), at
    their `start` and `solver`; of learned starts, or of those that nothing is trained for.
    """
    total = sweeps(results) + median(results["cost"])
    total = total.sel(start=trained(results) == learned)
    return total.isel(total.argmin(("start", "solver")))


def worth(results: xr.Dataset, model: str, name: str, solver: str) -> float:
    """After how many sweeps the cold settle is as low as a start is before any, in distribution."""
    one = results.sel(model=model, set="id")
    curve = median(one["height"].sel(start="cold", solver=solver)).dropna("sweep")
    height = float(one["start_height"].sel(start=name).median())
    # Between two evaluations the height falls exponentially.
    return float(np.interp(-np.log(height), -np.log(curve.clip(1e-16)), curve["sweep"]))


def _rows(results: xr.Dataset, *, cold: bool = True) -> tuple[dict[str, xr.DataArray], pd.Index]:
    """Every network with its starts: where they are, and their names."""
    models = results["model"].values.tolist()
    rows = [(m, s) for m in models for s in starts(results, m) if cold or s != "cold"]
    at = zip(("model", "start"), zip(*rows, strict=True), strict=True)
    named = [(label(results, model), STARTS[name][0]) for model, name in rows]
    index = pd.MultiIndex.from_tuples(named, names=["network", "start"])
    return {axis: xr.DataArray(list(names), dims="row") for axis, names in at}, index


def _spreads(
    results: xr.Dataset, values: Mapping[str, xr.DataArray], *, cold: bool = True
) -> pd.DataFrame:
    """Quantities (model, start, seed) as columns of median, lowest and highest."""
    at, index = _rows(results, cold=cold)
    return spreads({title: one.sel(at) for title, one in values.items()}, "row").set_index(index)


def sweeps_table(results: xr.Dataset) -> Table:
    """Sweeps by set and solver, without what the start costs, which stands apart."""
    at, index = _rows(results)
    columns, needed = {("cost", ""): median(results["cost"]).sel(at)}, sweeps(results).sel(at)
    for kind, solver in product(SETS, SOLVERS):
        columns[SETS[kind], SOLVERS[solver][0]] = needed.sel(set=kind, solver=solver)
    rows = pd.DataFrame({title: one.values for title, one in columns.items()}, index)
    formats = dict.fromkeys(columns, reached) | {"cost": "{:.1f}"}
    return Table(rows, formats=formats, name="sweeps after every start")


def training_table(results: xr.Dataset) -> Table:
    """What starts cost and know: multiply-adds in sweeps, training, F before any sweep, time with
    the settle.
    """
    learned = trained(results)
    values = {
        "cost [sweeps]": results["cost"],
        "training [s]": results["train_time"].where(learned),
        "rate": results["rate"],
        "F above minimum, validation": results["excess"],
        "untrained": results["excess_untrained"].where(learned),
    }
    for solver in results["timed_solver"].values.tolist():
        values[f"time, {SOLVERS[solver][0]}"] = results["time_ratio"].sel(timed_solver=solver)
    return Table(_spreads(results, values), name="cost and training of starts")


def guesses_table(results: xr.Dataset) -> Table:
    """What starts know before any sweep, by set: height of F, distance of codes, overlap of
    supports by layer.
    """
    parts = {}
    for kind, title in SETS.items():
        one = results.sel(set=kind)
        values = {"F above minimum": one["start_height"], "distance": one["start_distance"]}
        layers = results["layer"].values.tolist()
        values |= {f"overlap, layer {n}": one["overlap"].sel(layer=n) for n in layers}
        parts[title] = _spreads(results, values)
    return Table(pd.concat(parts, axis=1), name="starts before any sweep")


def ends_table(results: xr.Dataset) -> Table:
    """Where starts end, against the end of the cold one; the largest over sets and inputs."""
    values = {
        "distance of codes": results["end_distance"].max("set"),
        "of energies": results["end_height"].max("set"),
        "other support [%]": 100 * results["end_differs"].mean("set"),
        "lower energy [%]": 100 * results["end_lower"].mean("set"),
    }
    return Table(_spreads(results, values, cold=False), name="ends of the settle")


def tail_table(results: xr.Dataset) -> Table:
    """Why low guesses save little: how many sweeps the lowest one is worth, of how many."""
    lowest, rows, formats = median(results["start_height"].sel(set="id")), {}, {}
    best = lowest.sel(start=trained(results)).idxmin("start")
    cold = sweeps(results).sel(set="id", start="cold")
    for model in results["model"].values.tolist():
        name, heights = best.sel(model=model).item(), lowest.sel(model=model)
        row = {
            ("lowest guess", "start"): STARTS[name][0],
            ("lowest guess", "F above minimum"): float(heights.sel(start=name)),
            ("zero codes", "F above minimum"): float(heights.sel(start="cold")),
        }
        for solver, (said, *_) in SOLVERS.items():
            row[said, "sweeps it is worth"] = worth(results, model, name, solver)
            row[said, "of"] = float(cold.sel(model=model, solver=solver))
            formats |= {(said, "sweeps it is worth"): "{:.1f}", (said, "of"): reached}
        rows[label(results, model)] = row
    return Table(frame(rows, "network"), formats=formats, name="what the lowest guess is worth")


def against_table(results: xr.Dataset) -> Table:
    """Whether momentum, which is free, gives as much as learning does: the cheapest pairs."""
    ways, rows = {"something learned": True, "nothing learned": False}, {}
    pairs = {said: cheapest(results, learned=learned) for said, learned in ways.items()}
    for model, kind in product(results["model"].values.tolist(), SETS):
        row = {}
        for said, fewest in pairs.items():
            one = fewest.sel(model=model, set=kind)
            row[said, "sweeps"] = float(one)
            row[said, "start"] = STARTS[one["start"].item()][0]
            row[said, "solver"] = SOLVERS[one["solver"].item()][0]
        ratio = row["something learned", "sweeps"] / row["nothing learned", "sweeps"]
        rows[label(results, model), SETS[kind]] = row | {("change [%]", ""): 100 * (ratio - 1)}
    formats = {(said, "sweeps"): "{:.1f}" for said in ways} | {"change [%]": percent}
    return Table(frame(rows, "network", "inputs"), formats=formats, name="against momentum")


def outside_table(results: xr.Dataset) -> Table:
    """Shares of sweeps saved by set [%], cost included, for the start that saves most in
    distribution.
    """
    paid, rows = 100 * median(results["saved_paid"].sel(level=LEVEL)), {}
    paid = paid.sel(start=trained(results))
    for model, solver in product(results["model"].values.tolist(), SOLVERS):
        share = paid.sel(model=model, solver=solver)
        known = share.sel(set="id").dropna("start")
        if known.size:  # the cold settle ends within the sweeps that are tried
            best = known.idxmax("start").item()
            row = {title: float(share.sel(start=best, set=k)) for k, title in SETS.items()}
            rows[label(results, model), SOLVERS[solver][0]] = {"start": STARTS[best][0]} | row
    formats = dict.fromkeys(SETS.values(), percent)
    found = frame(rows, "network", "solver")
    return Table(found, formats=formats, name="sweeps saved out of distribution, in %")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose on the shipped results, by their keys."""
    learned, untrained = (cheapest(results, learned=k).sel(set="id") for k in (True, False))
    plain = sweeps(results).sel(model="digits_3", set="id", solver="ista")
    guess = plain + median(results["cost"].sel(model="digits_3", start=trained(results)))
    ends = results[["end_distance", "end_height", "end_gap"]].sel(model=free(results)).max()
    other = 100 * results["end_differs"].sel(model="digits_3_capped").drop_sel(start="cold")
    whole = {
        "change": 100 * abs(1 - learned / untrained),
        "plain-cold": plain.sel(start="cold"),
        "plain-guess": guess.min(),
        "other": {"support": other.median(), "least": other.min(), "most": other.max()},
    }
    found = texts("beyondinit", {"learned": learned, "free": untrained}, "{:.1f}".format)
    found |= texts("beyondinit", whole, "{:.0f}".format)
    found |= texts("beyondinit", ends, "{:.0g}".format)
    return found | {"beyondinit-plain-start": STARTS[guess.idxmin("start").item()][0]}
