"""Which atoms are used, and when: tables of numbers, and the numbers of the prose.

Results as in `chapters.I_mnist.figures`; medians over seeds with their range.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import xarray as xr
from IPython.display import HTML

from chapters.I_mnist.figures import (
    CAPPED,
    FAST,
    LOCKED,
    SETS,
    SOLVERS,
    layers_of,
    measure_of,
    networks,
    typical,
)
from chapters.I_mnist.figures_atlas import entries
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, caption, spread

NOTHING = "Not computed in this profile."
MILLI, PERCENT = 1e3, 100.0
READINGS = ("own", "top")


def throughout(values: xr.DataArray, model: str, direction: int) -> int:
    """In how many seeds a measure rises (1) or falls (-1) from every layer of a network to the
    next.
    """
    change = values.sel(model=model).dropna("layer", how="all").diff("layer")
    return int((direction * change > 0).all("layer").sum()) if change.sizes["layer"] else 0


def locked_all(
    results: xr.Dataset, model: str, *, kind: str = "id", threshold: float = LOCKED
) -> xr.DataArray:
    """Sweeps until the mean overlaps of all layers have locked (seed, solver)."""
    return results["locked_mean"].sel(model=model, set=kind, threshold=threshold).max("layer")


def soonest(results: xr.Dataset, model: str, *, kind: str = "id") -> tuple[str, float]:
    """The solver that locks all layers first, and its sweeps; medians over seeds."""
    middle = median(locked_all(results, model, kind=kind))
    return str(middle["solver"].values[int(middle.argmin("solver"))]), float(middle.min())


def above_chance(results: xr.Dataset, model: str) -> xr.DataArray:
    """Whether labels tell more than any shuffled ones (seed, layer); NaN for layers that lack."""
    one = results.sel(model=model, state="active")
    return (one["told"] > one["told_shuffled_most"]).where(one["told"].notnull())


def sweeps_or_never(last: int) -> Callable[[float], str]:
    """How a number of sweeps is shown: one more than the last watched is never."""
    return lambda value: f"{value:.0f}" if value <= last else f"> {last}"


def budget_table(results: xr.Dataset, kind: str = "id") -> Table:
    """Every network and layer: atoms, and how a code uses them."""
    one = results.sel(set=kind)
    values = {
        "used [%]": PERCENT * one["used"],
        "effective [%]": PERCENT * one["effective"] / one["atoms"],
        "active": one["active"],
        "active [%]": PERCENT * one["active_share"],
        "carry 90 %": one["carrying"],
        "Hoyer": one["hoyer"],
    }
    parts = []
    for model in networks(results):
        layers = layers_of(results, model)
        frame = pd.concat(
            [
                spread(value.sel(model=model, layer=layers), "layer", title=title)
                for title, value in values.items()
            ],
            axis=1,
        )
        frame.insert(0, ("atoms", ""), median(one["atoms"].sel(model=model, layer=layers)).values)
        frame.index = pd.Index([f"{label(results, model)}, layer {n}" for n in layers])
        parts.append(frame)
    return Table(pd.concat(parts), name="use of the budget, by network and layer")


def locking_table(results: xr.Dataset) -> Table:
    """Every network and solver: sweeps until all layers have locked, in the mean and for nine of
    ten images, and for sums of two; and the error of the drawing then and at rest.
    """
    rows = {}
    for model in networks(results):
        for solver, (shown, *_) in SOLVERS.items():
            one = results.sel(model=model, solver=solver)
            single, row = one.sel(set="id"), {}
            for threshold in results["threshold"].values.tolist():
                mean = single["locked_mean"].sel(threshold=threshold).max("layer")
                tail = single["locked"].sel(threshold=threshold, quantile=0.9).max("layer")
                row[f"≥ {threshold:g}, mean"] = float(median(mean))
                row[f"≥ {threshold:g}, 9 of 10"] = float(median(tail))
            sums = one["locked_mean"].sel(set="add2", threshold=LOCKED).max("layer")
            row[f"sums, ≥ {LOCKED:g}, mean"] = float(median(sums))
            sweeps = list(row)
            row["MSE then"] = MILLI * float(median(single["error_locked"].sel(threshold=LOCKED)))
            row["MSE at rest"] = MILLI * float(median(single["error_end"]))
            rows[f"{label(results, model)}, {shown}"] = row
    form = sweeps_or_never(int(results["sweep"].max()))
    frame = pd.DataFrame.from_dict(rows, orient="index")
    return Table(frame, dict.fromkeys(sweeps, form), name="sweeps until supports lock")


def errors_table(results: xr.Dataset) -> Table:
    """What the networks draw: errors in both readings, in 10⁻³ ink², and the zero baseline's."""
    models = networks(results)
    one = results.sel(model=models)
    parts = [spread(MILLI * one["criterion"], "model", title="validation")]
    zero = {}
    for kind, (title, *_) in SETS.items():
        for reading in READINGS:
            values = MILLI * one["mse"].sel(set=kind, reading=reading)
            name = f"{title}, {reading}"
            parts.append(spread(values, "model", title=name))
            power = MILLI * float(median(one["zero_baseline"].sel(set=kind)).median())
            zero |= {(name, statistic): power for statistic in ("median", "low", "high")}
    frame = pd.concat(parts, axis=1)
    frame.loc["Zero baseline"] = pd.Series(zero)
    return Table(frame, name="errors of the drawings")


def depth_table(results: xr.Dataset) -> Table | HTML:
    """Active shares by layer, and in how many seeds measures fall or rise throughout."""
    rows = {}
    for model in [m for m in networks(results) if len(layers_of(results, m)) > 1]:
        row = {}
        for kind, (title, *_) in SETS.items():
            share = results["active_share"].sel(set=kind)
            for layer in layers_of(results, model):
                value = median(share.sel(model=model, layer=layer))
                row[f"{title}, layer {layer} [%]"] = PERCENT * float(value)
            row[f"{title}, falls [seeds]"] = throughout(share, model, -1)
        row["Hoyer rises [seeds]"] = throughout(results["hoyer"].sel(set="id"), model, 1)
        rows[label(results, model)] = row
    if not rows:
        return caption(NOTHING)
    return _of_networks(rows, "active atoms by depth")


def selectivity_table(results: xr.Dataset) -> Table:
    """What labels tell of atoms' activity above chance, by layer."""
    told, rows = measure_of(results, "told"), {}
    for model in networks(results):
        middle, above = median(told.sel(model=model)), above_chance(results, model)
        rows[label(results, model)] = {
            **{f"layer {n}": float(middle.sel(layer=n)) for n in layers_of(results, model)},
            "rises [seeds]": throughout(told, model, 1),
            "above all shuffles [%]": PERCENT * float(above.mean()),
        }
    return _of_networks(rows, "selectivity by layer")


def rest_table(results: xr.Dataset) -> Table:
    """How sure the supports at rest are, the worst layer, set and seed of each network."""
    rows = {}
    for model in networks(results):
        one = results.sel(model=model)
        rows[label(results, model)] = {
            "overlap half way, least": float(one["end_certain"].min()),
            "relative duality gap, most": float(one["gap_end"].max()),
            "overlap with line search's, least": float(one["end_agreement"].min()),
        }
    return _of_networks(rows, "supports at rest")


def energies_table(results: xr.Dataset) -> Table:
    """In how many sweeps each energy rises, and how low the sum comes; default network."""
    one = results.sel(model=typical(results), set="id", solver=list(SOLVERS))
    one = one.assign_coords(solver=[shown for shown, *_ in SOLVERS.values()])
    lowest = one["summed_energy"].min("sweep") / one["summed_energy_end"]
    parts = [
        spread(one["energy_rises"], "solver", title="F rises [sweeps]"),
        spread(one["summed_energy_rises"], "solver", title="sum rises [sweeps]"),
        spread(lowest, "solver", title="lowest sum over that at rest"),
    ]
    return Table(pd.concat(parts, axis=1), name="rises of both energies")


def atlas_table(results: xr.Dataset) -> Table | HTML:
    """How many times as often as the mean over digits the digit uses an atom that uses it most;
    medians over the atoms drawn.
    """
    rows = {}
    for layer in results["layer"].values.tolist():
        found = entries(results, layer)
        if found is not None:
            profile = found["atlas_profile"]
            ratio = (profile.max("digit") / profile.mean("digit")).median("place")
            rows[f"layer {layer}"] = dict(
                zip(ratio["band"].values.tolist(), ratio.values.tolist(), strict=True)
            )
    if not rows:
        return caption(NOTHING)
    return _of_networks(rows, "one digit among those of atoms")


def _of_networks(rows: dict[str, dict[str, float]], name: str) -> Table:
    """A table with a row each; seeds are counted in whole numbers."""
    frame = pd.DataFrame.from_dict(rows, orient="index")
    return Table(frame, {c: "{:.0f}" for c in frame.columns if "[seeds]" in c}, name=name)


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose; as many as the networks that were asked for allow."""
    one, told, found = results.sel(set="id"), measure_of(results, "told"), {}
    share = one["effective"] / one["atoms"]
    for model in networks(results):
        key, layers = f"appI-{model.replace('_', '-')}", layers_of(results, model)
        found[f"{key}-locked"] = f"{soonest(results, model)[1]:.0f}"
        found[f"{key}-locked-sums"] = f"{soonest(results, model, kind='add2')[1]:.0f}"
        in_time = locked_all(results, model).min("solver") <= FAST
        found[f"{key}-in-time"] = str(int(in_time.sum()))
        found[f"{key}-falls"] = str(throughout(one["active_share"], model, -1))
        found[f"{key}-rises"] = str(throughout(told, model, 1))
        for name, values in (("effective", share), ("active", one["active_share"])):
            shown = [PERCENT * float(median(values.sel(model=model, layer=n))) for n in layers]
            found[f"{key}-{name}"] = ", ".join(f"{value:.0f} %" for value in shown)
    never = median(results["locked_mean"].sel(set="id", solver="ista", threshold=LOCKED))
    last = int(results["sweep"].max())
    lowest = results["summed_energy"].min("sweep") / results["summed_energy_end"]
    lowest = median(lowest.sel(model=typical(results), set="id"))
    found |= {
        "appI-seeds": str(results.sizes["seed"]),
        "appI-last": str(last),
        "appI-used-least": f"{PERCENT * float(one['used'].min()):.0f} %",
        "appI-effective-least": f"{PERCENT * float(share.min()):.0f} %",
        "appI-plain-locked": str(int((never.max("layer") <= last).sum())),
        "appI-certain": f"{float(results['end_certain'].min()):.3f}",
        "appI-sum-lowest": f"{PERCENT * float(lowest.min()):.0f} %",
    }
    if free := [m for m in networks(results) if m != CAPPED]:
        found["appI-gap"] = short(float(results["gap_end"].sel(model=free).max()))
    return found
