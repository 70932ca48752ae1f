"""Tables and numbers of learned starts; medians over seeds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from chapters.beyond_initialiser.figures import LEVEL, SETS, SOLVERS, STARTS, free, starts
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, over_seeds
from vnlib.plots.tables import SHOWN, Table

LEARNED = ("steps", "lista", "lista_energy", "linear", "mlp")


def reached(sweeps: float) -> str:
    """A number of sweeps, or that the level was not reached."""
    return f"{sweeps:.0f}" if np.isfinite(sweeps) else "not reached"


def percent(share: float) -> str:
    """A whole number; none is -0."""
    return f"{round(share)}"


def at_level(results: xr.Dataset, model: str, kind: str = "id", level: float = LEVEL) -> xr.Dataset:
    """What holds of one network, set and height, medians over seeds (start, solver)."""
    one = results[["sweeps", "cost", "saved", "saved_paid"]].sel(model=model, set=kind)
    return one.sel(level=level, method="nearest").median("seed")


def cheapest(
    results: xr.Dataset, model: str, kind: str = "id", *, learned: bool
) -> tuple[str, str, float]:
    """The start and solver with the fewest sweeps to a height of 1e-3, cost of the start included.

    Parameters
    ----------
    learned
        Of learned starts, or of those that nothing is trained for.
    """
    one = at_level(results, model, kind)
    total = one["sweeps"] + one["cost"]
    names = [name for name in starts(results, model) if (name in LEARNED) == learned]
    pairs = {(n, s): float(total.sel(start=n, solver=s)) for n in names for s in SOLVERS}
    best = min(pairs, key=pairs.__getitem__)
    return *best, pairs[best]


def learners(results: xr.Dataset, model: str) -> list[str]:
    """The starts of a network that are learned."""
    return [name for name in starts(results, model) if name in LEARNED]


def worth(results: xr.Dataset, model: str, name: str, solver: str) -> float:
    """After how many sweeps the cold settle is as low as a start is before any, in distribution."""
    one = results.sel(model=model, set="id")
    curve = median(one["height"].sel(start="cold", solver=solver)).dropna("sweep")
    height = float(one["start_height"].sel(start=name).median())
    # Between two evaluations the height falls exponentially.
    return float(np.interp(-np.log(height), -np.log(curve.clip(1e-16)), curve["sweep"]))


def _rows(results: xr.Dataset, *, cold: bool = True) -> list[tuple[str, str]]:
    """Every network with its starts."""
    models = results["model"].values.tolist()
    return [(m, s) for m in models for s in starts(results, m) if cold or s != "cold"]


def _index(results: xr.Dataset, rows: list[tuple[str, str]]) -> pd.MultiIndex:
    named = [(label(results, model), STARTS[name][0]) for model, name in rows]
    return pd.MultiIndex.from_tuples(named, names=["network", "start"])


def _spread(
    results: xr.Dataset, values: Mapping[tuple[str, ...], xr.DataArray], *, cold: bool = True
) -> pd.DataFrame:
    """Quantities (model, start, seed) as columns of median, lowest and highest."""
    rows, columns = _rows(results, cold=cold), {}
    for title, one in values.items():
        found = over_seeds(one)
        for statistic in SHOWN:
            cells = [float(found[statistic].sel(model=m, start=s)) for m, s in rows]
            columns[*title, statistic] = cells
    return pd.DataFrame(columns, index=_index(results, rows))


def sweeps_table(results: xr.Dataset, level: float = LEVEL) -> Table:
    """Sweeps to a height by set and solver, without what the start costs, which stands apart."""
    rows = _rows(results)
    cost = median(results["cost"])
    columns = {("cost", ""): [float(cost.sel(model=m, start=s)) for m, s in rows]}
    for kind, title in SETS.items():
        found = {m: at_level(results, m, kind, level)["sweeps"] for m, _ in rows}
        for solver, (said, *_) in SOLVERS.items():
            cells = [float(found[m].sel(start=s, solver=solver)) for m, s in rows]
            columns[title, said] = cells
    frame = pd.DataFrame(columns, index=_index(results, rows))
    formats = dict.fromkeys(columns, reached) | {"cost": "{:.1f}"}
    return Table(frame, formats=formats, name="sweeps after every start")


def training_table(results: xr.Dataset) -> Table:
    """What starts cost and know: multiply-adds in sweeps, training, F before any sweep, time with
    the settle.
    """
    learned = results["start"].isin(LEARNED)
    values = {
        ("cost [sweeps]",): results["cost"],
        ("training [s]",): results["train_time"].where(learned),
        ("rate",): results["rate"],
        ("F above minimum, validation",): results["excess"],
        ("untrained",): results["excess_untrained"].where(learned),
    }
    if "time_ratio" in results:
        for solver in results["timed_solver"].values.tolist():
            values[f"time, {SOLVERS[solver][0]}",] = results["time_ratio"].sel(timed_solver=solver)
    return Table(_spread(results, values), name="cost and training of starts")


def guesses_table(results: xr.Dataset) -> Table:
    """What starts know before any sweep, by set: height of F, distance of codes, overlap of
    supports by layer.
    """
    values = {}
    for kind, title in SETS.items():
        one = results.sel(set=kind)
        values[title, "F above minimum"] = one["start_height"]
        values[title, "distance"] = one["start_distance"]
        for layer in results["layer"].values.tolist():
            values[title, f"overlap, layer {layer}"] = one["overlap"].sel(layer=layer)
    return Table(_spread(results, values), name="starts before any sweep")


def ends_table(results: xr.Dataset) -> Table:
    """Where starts end, against the end of the cold one; the largest over sets and inputs."""
    values = {
        ("distance of codes",): results["end_distance"].max("set"),
        ("of energies",): results["end_height"].max("set"),
        ("other support [%]",): 100 * results["end_differs"].mean("set"),
        ("lower energy [%]",): 100 * results["end_lower"].mean("set"),
    }
    return Table(_spread(results, values, cold=False), name="ends of the settle")


def tail_table(results: xr.Dataset) -> Table:
    """Why low guesses save little: how many sweeps the lowest one is worth, of how many."""
    rows = {}
    for model in results["model"].values.tolist():
        if not (learned := learners(results, model)):
            continue
        lowest = median(results["start_height"].sel(model=model, set="id"))
        best = lowest.sel(start=learned).idxmin("start").item()
        cold = at_level(results, model)["sweeps"].sel(start="cold")
        row = {
            ("lowest guess", "start"): STARTS[best][0],
            ("lowest guess", "F above minimum"): float(lowest.sel(start=best)),
            ("zero codes", "F above minimum"): float(lowest.sel(start="cold")),
        }
        for solver, (said, *_) in SOLVERS.items():
            row[said, "sweeps it is worth"] = worth(results, model, best, solver)
            row[said, "of"] = float(cold.sel(solver=solver))
        rows[label(results, model)] = row
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("network")
    formats = {(said, "of"): reached for said, *_ in SOLVERS.values()}
    formats |= {(said, "sweeps it is worth"): "{:.1f}" for said, *_ in SOLVERS.values()}
    return Table(frame, formats=formats, name="what the lowest guess is worth")


def against_table(results: xr.Dataset) -> Table:
    """Whether momentum, which is free, gives as much as learning does: the cheapest pairs."""
    rows = {}
    for model in [m for m in results["model"].values.tolist() if learners(results, m)]:
        for kind, title in SETS.items():
            row = {}
            for said, learned in (("something learned", True), ("nothing learned", False)):
                start, solver, sweeps = cheapest(results, model, kind, learned=learned)
                row |= {
                    (said, "sweeps"): sweeps,
                    (said, "start"): STARTS[start][0],
                    (said, "solver"): SOLVERS[solver][0],
                }
            ratio = row["something learned", "sweeps"] / row["nothing learned", "sweeps"]
            rows[label(results, model), title] = row | {("change [%]", ""): 100 * (ratio - 1)}
    frame = pd.DataFrame(list(rows.values()), index=pd.MultiIndex.from_tuples(rows))
    frame.columns = pd.MultiIndex.from_tuples(frame.columns)
    sweeps = [column for column in frame if column[1] == "sweeps"]
    formats = dict.fromkeys(sweeps, "{:.1f}") | {"change [%]": percent}
    return Table(frame.rename_axis(["network", "inputs"]), formats=formats, name="against momentum")


def outside_table(results: xr.Dataset) -> Table:
    """Shares of sweeps saved by set [%], cost included, for the start that saves most in
    distribution.
    """
    rows = {}
    for model in results["model"].values.tolist():
        for solver, (said, *_) in SOLVERS.items():
            share = {
                kind: 100 * at_level(results, model, kind)["saved_paid"].sel(solver=solver)
                for kind in SETS
            }
            known = share["id"].sel(start=learners(results, model)).dropna("start")
            if known.sizes["start"]:
                best = known.idxmax("start").item()
                numbers = {title: float(share[k].sel(start=best)) for k, title in SETS.items()}
                rows[label(results, model), said] = {"start": STARTS[best][0], **numbers}
    index = pd.MultiIndex.from_tuples(rows, names=["network", "solver"]) if rows else None
    frame = pd.DataFrame(list(rows.values()), index=index)
    formats = dict.fromkeys(SETS.values(), percent)
    return Table(frame, formats=formats, name="sweeps saved out of distribution, in %")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose on the shipped results, by their keys."""
    capped = [m for m in results["model"].values.tolist() if m not in free(results)]
    if not capped or len(free(results)) < 3:
        return {}
    texts = {}
    for model in results["model"].values.tolist():
        (_, _, least), (_, _, plain) = (cheapest(results, model, learned=k) for k in (True, False))
        texts |= {
            f"{model}-learned": f"{least:.1f}",
            f"{model}-free": f"{plain:.1f}",
            f"{model}-fewer": f"{100 * (1 - least / plain):.0f}",
            f"{model}-more": f"{100 * (least / plain - 1):.0f}",
        }
    one = at_level(results, "digits_3").sel(solver="ista")
    total = (one["sweeps"] + one["cost"]).sel(start=learners(results, "digits_3"))
    ends = results.sel(model=free(results))
    other = 100 * results["end_differs"].sel(model=capped).drop_sel(start="cold")
    texts |= {
        "plain-cold": f"{float(one['sweeps'].sel(start='cold')):.0f}",
        "plain-guess": f"{float(total.min()):.0f}",
        "plain-start": STARTS[total.idxmin("start").item()][0],
        "distance": f"{float(ends['end_distance'].max()):.0g}",
        "energy": f"{float(ends['end_height'].max()):.0g}",
        "gap": f"{float(ends['end_gap'].max()):.0g}",
        "other-support": f"{float(other.median()):.0f}",
        "other-least": f"{float(other.min()):.0f}",
        "other-most": f"{float(other.max()):.0f}",
    }
    return {f"beyondinit-{name.replace('_', '-')}": text for name, text in texts.items()}
