"""Tables and numbers of learned starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.starts.tables import reached
from chapters.beyond_initialiser.figures import LEVEL, SETS, SOLVERS, STARTS, TIMED, free
from vnlib.plots.statistics import median, texts
from vnlib.plots.tables import Table, if_computed, spreads

LEARNED = ("steps", "lista", "lista_energy", "linear", "mlp")
WHOLE = "{:z.0f}"  # none is -0


def trained(results: xr.Dataset) -> xr.DataArray:
    """Which starts are learned."""
    return results["start"].isin(LEARNED)


def sweeps(results: xr.Dataset) -> xr.DataArray:
    """Sweeps to a height of 1e-3 (model, seed, start, solver, set)."""
    return results["sweeps"].sel(level=LEVEL)


def times(results: xr.Dataset) -> xr.DataArray:
    """Processor time of start and settle [ms per input] (model, seed, start, timed_solver)."""
    return results["time_ratio"] * results["time_cold"]


def cheapest(results: xr.Dataset, *, learned: bool) -> xr.DataArray:
    """Sweeps with the cost of the start (model, seed, set), at the `start` and `solver` where their
    median is least.
    """
    total = sweeps(results) + results["cost"]
    total = total.sel(start=trained(results) == learned)
    return total.isel(median(total).argmin(("start", "solver")))


def gains(results: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """What is gained at most, with nothing learned (`free`) and with something (`learned`): sweeps
    with the cost of the start (model, seed, set), and time of coordinate descent [ms per input]
    from zero and from the learned start with the least median (model, seed); no times under a cap.
    """
    kinds, uncapped = ("start", "solver"), free(results)
    found = [{k: cheapest(results, learned=k == "learned") for k in ("free", "learned")}, {}]
    if uncapped:
        exact = times(results.sel(model=uncapped)).sel(timed_solver="coordinates", drop=True)
        best = median(exact).sel(start=trained(results)).fillna(np.inf).idxmin("start")
        found[1] = {"free": exact.sel(start="cold"), "learned": exact.sel(start=best)}
    return tuple(
        xr.Dataset({k: one.drop_vars(kinds, errors="ignore") for k, one in values.items()})
        for values in found
    )


def worth(results: xr.Dataset, model: str, name: str, solver: str) -> xr.DataArray:
    """After how many sweeps the cold settle is as low as a start is before any, in distribution
    (seed).
    """
    one = results.sel(model=model, set="id")
    found = []
    for seed in one["seed"].values:
        curve = one["height"].sel(start="cold", solver=solver, seed=seed).dropna("sweep")
        height = one["start_height"].sel(start=name, seed=seed)
        # Between two evaluations the height falls exponentially.
        found.append(np.interp(-np.log(height), -np.log(curve.clip(1e-16)), curve["sweep"]))
    return xr.DataArray(found, {"seed": one["seed"].values}, ("seed",))


def _title(names: Mapping[str, Sequence[str]], values: xr.DataArray) -> xr.DataArray:
    return xr.apply_ufunc(np.vectorize(lambda name: names[name][0]), values)


def _by_start(values: Mapping[Any, xr.DataArray], **names: Any) -> pd.DataFrame:
    """Quantities with a row for every start of every network."""
    names = {"start": STARTS, "set": SETS, "solver": SOLVERS} | names
    return spreads(values, "model", "start", **names).rename_axis(["network", "start"])


def sweeps_table(results: xr.Dataset) -> Table:
    """Sweeps by set and solver, without what the start costs, which stands apart."""
    needed = sweeps(results).transpose(..., "set", "solver")
    rows = _by_start({("cost", ""): results["cost"], "": needed})
    forms = {SOLVERS[solver][0]: form for solver, form in reached(results).items()}
    formats = {column[:2]: forms[column[1]] for column in rows if column[1] in forms}
    return Table(rows, formats, name="sweeps after every start")


def training_table(results: xr.Dataset) -> Table:
    """What starts cost, and how low F is before any sweep."""
    learned = trained(results)
    values = {
        "cost [sweeps]": results["cost"],
        "training [s]": results["train_time"].where(learned),
        "rate": results["rate"],
        "F above minimum, validation": results["excess"],
        "untrained": results["excess_untrained"].where(learned),
    }
    return Table(_by_start(values), name="cost and training of starts")


@if_computed
def times_table(results: xr.Dataset) -> Table:
    """Time of start and settle by solver, in ms per input; none under a cap, which has no gap."""
    rows = _by_start({"": times(results.sel(model=free(results)))}, timed_solver=TIMED)
    return Table(rows, name="time of start and settle [ms]")


def guesses_table(results: xr.Dataset) -> Table:
    """What starts know before any sweep: height of F, distance of codes, overlap of supports."""
    values = {}
    for kind, title in SETS.items():
        one = results.sel(set=kind)
        values[title, "F above minimum"] = one["start_height"]
        values[title, "distance"] = one["start_distance"]
        values[title,] = one["overlap"].transpose(..., "layer", "seed")
    rows = _by_start(values, layer="overlap, layer {}".format)
    return Table(rows, name="starts before any sweep")


def ends_table(results: xr.Dataset) -> Table:
    """Where starts end, against the end of the cold one; the largest over sets and inputs."""
    warm = results.drop_sel(start="cold")
    values = {
        "distance of codes": warm["end_distance"].max("set"),
        "of energies": warm["end_height"].max("set"),
        "other support [%]": 100 * warm["end_differs"].mean("set"),
        "lower energy [%]": 100 * warm["end_lower"].mean("set"),
    }
    return Table(_by_start(values), name="ends of the settle")


def tail_table(results: xr.Dataset) -> Table:
    """Why low guesses save little: how many sweeps the lowest one is worth, of how many."""
    lowest = results["start_height"].sel(set="id")
    best = median(lowest).sel(start=trained(results)).idxmin("start")
    cold, formats = sweeps(results).sel(set="id", start="cold"), {}
    columns = {
        ("lowest guess", "start"): _title(STARTS, best),
        ("lowest guess", "F above minimum"): lowest.sel(start=best),
        ("zero codes", "F above minimum"): lowest.sel(start="cold"),
    }
    forms = reached(results)
    for solver, (said, *_) in SOLVERS.items():
        gains = [worth(results, model, name, solver) for model, name in best.to_series().items()]
        worths = xr.concat(gains, "model").assign_coords(best["model"].coords)
        columns[said, "sweeps it is worth"] = worths
        columns[said, "of"] = cold.sel(solver=solver)
        formats[said, "of"] = forms[solver]
    rows = spreads(columns, "model").rename_axis("network")
    return Table(rows, formats, name="what the lowest guess is worth")


def against_table(results: xr.Dataset) -> Table:
    """Whether momentum, which is free, gives as much as learning does: the cheapest pairs."""
    learned, untrained = (cheapest(results, learned=k) for k in (True, False))
    columns, formats = {}, {"change [%]": WHOLE}
    for said, fewest in (("something learned", learned), ("nothing learned", untrained)):
        columns[said, "sweeps"] = fewest
        columns[said, "start"] = _title(STARTS, fewest["start"])
        columns[said, "solver"] = _title(SOLVERS, fewest["solver"])
    columns["change [%]", ""] = 100 * (learned / untrained - 1)
    rows = spreads(columns, "model", "set", set=SETS).rename_axis(["network", "inputs"])
    return Table(rows, formats, name="against momentum")


def outside_table(results: xr.Dataset) -> Table:
    """Shares of sweeps saved [%], cost included, by the start that saves most in distribution."""
    paid = 100 * results["saved_paid"].sel(level=LEVEL, start=trained(results))
    inside = median(paid).sel(set="id", drop=True)
    paid = paid.isel(start=inside.fillna(-np.inf).argmax("start"))
    known = inside.notnull().any("start")  # the cold settle ends within the sweeps that are tried
    columns = {"start": _title(STARTS, paid["start"]).where(known), "": paid.where(known)}
    rows = spreads(columns, "model", "solver", set=SETS, solver=SOLVERS)
    formats = dict.fromkeys(SETS.values(), WHOLE)
    rows = rows.rename_axis(["network", "solver"])
    return Table(rows, formats, name="sweeps saved out of distribution, in %")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose on the shipped results, by their keys."""
    fewest, exact = gains(results)
    fewest = fewest.sel(set="id")
    three = sweeps(results).sel(model="digits_3", set="id")
    plain, quick = three.sel(solver="ista"), three.sel(solver="line_search", start="cold")
    guess = plain + results["cost"].sel(model="digits_3", start=trained(results))
    best = median(guess).idxmin("start").item()
    cold = plain.sel(start="cold")
    ends = results[["end_distance", "end_height", "end_gap"]].sel(model=free(results)).max()
    capped = results.sel(model="digits_3_capped").drop_sel(start="cold")
    other = 100 * capped["end_differs"]
    saved = 100 * (1 - fewest["learned"] / fewest["free"])
    spent = times(results.sel(model=free(results), start="cold"))
    whole = {
        "longer": 100 * (exact["learned"] / exact["free"] - 1),
        "change": saved * np.sign(median(saved)),
        "plain": {
            "cold": cold,
            "guess": guess.sel(start=best),
            "saved": 100 * (1 - guess.sel(start=best) / cold),
            "free": 100 * (1 - quick / cold),
        },
        "other": {
            "support": other.median(["start", "set"]),
            "least": other.min(),
            "most": other.max(),
        },
    }
    found = texts("beyondinit", {"learned": fewest["learned"], "free": fewest["free"]})
    found |= texts("beyondinit", whole, "{:.0f}".format)
    found |= texts("beyondinit-ms", {"guess": exact["learned"], "cold": spent})
    found |= texts("beyondinit", ends, "{:.0g}".format)
    found |= texts("beyondinit-other-height", capped["end_height"].max(["start", "set"]))
    return found | {"beyondinit-plain-start": STARTS[best][0]}
