"""Which atoms are used, and when, in words and tables; everything said is computed from the
results.

`results` as in `figures.selection`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from chapters.I_mnist.figures import (
    CAPPED,
    FAST,
    LOCKED,
    SOLVERS,
    layers_of,
    measure,
    names,
    typical,
)
from chapters.I_mnist.figures_atlas import entries
from vnlib.plots.rows import label
from vnlib.plots.texts import listed, ranged

NOTHING = "Not computed in this profile."
FREE = ("vn_3_half", "vn_3", "vn_3_double")
EQUAL = "vn_3_equal"


def by_layer(results: xr.Dataset, values: xr.DataArray, model: str, text: str = "{:.3g}") -> str:
    """Medians over seeds of the layers of a network, bottom first."""
    return listed(
        [
            text.format(float(values.sel(model=model, layer=n).median()))
            for n in layers_of(results, model)
        ]
    )


def steps(values: xr.DataArray, model: str) -> str:
    """Which way a measure goes from layer to layer, in how many seeds: "falls in 3 of 5 seeds"."""
    change = values.sel(model=model).dropna("layer", how="all").diff("layer")
    if not change.sizes["layer"]:
        return "has one layer only"
    seeds = change.sizes["seed"]
    counts = {
        "falls": int((change < 0).all("layer").sum()),
        "rises": int((change > 0).all("layer").sum()),
    }
    said = [f"{way} from layer to layer in {n} of {seeds} seeds" for way, n in counts.items() if n]
    return (
        " and ".join(said)
        if said
        else f"neither falls nor rises throughout in any of {seeds} seeds"
    )


def sweeps_of(value: float, last: int) -> str:
    return f"{value:.0f}" if value <= last else f"> {last}"


def locked_all(
    results: xr.Dataset, model: str, *, kind: str = "id", threshold: float = LOCKED
) -> xr.DataArray:
    """Sweeps until the mean overlaps of all layers have locked (seed, solver)."""
    return results["locked_mean"].sel(model=model, set=kind, threshold=threshold).max("layer")


def soonest(results: xr.Dataset, model: str, **where: str) -> tuple[str, float]:
    """The solver that locks all layers first, and its sweeps; medians over seeds."""
    middle = locked_all(results, model, **where).median("seed")
    solver = str(middle["solver"].values[int(np.argmin(middle.values))])
    return solver, float(middle.min())


# --- paragraphs -----------------------------------------------------------------------------------


def summary(results: xr.Dataset) -> str:
    """What came out, in a few lines of Markdown."""
    model, last = typical(results), int(results["sweep"].max())
    one = results.sel(set="id")
    share = one["effective"] / one["atoms"]
    solver, sweeps = soonest(results, model)
    shown = SOLVERS[solver][0]
    lines = [
        f"- **Budget.** *{label(results, model)}*: atoms that any of the test digits uses: "
        f"{by_layer(results, 100 * one['used'], model, '{:.0f} %')} of those there are (by "
        f"layer); effective number: {by_layer(results, 100 * share, model, '{:.0f} %')} of them.",
        f"- **Locking in.** With {shown}, the quickest here, the mean overlap with the support "
        f"at rest stays at {LOCKED:g} or above in all layers after {sweeps_of(sweeps, last)} "
        f"sweeps, against the {FAST} of the rule.",
        "- **Sparsity.** Active share by layer: "
        f"{by_layer(results, 100 * one['active_share'], model, '{:.0f} %')}; it "
        f"{steps(one['active_share'], model)}.",
        "- **Selectivity.** What labels tell of activity above chance "
        f"{steps(measure(results, 'told'), model)}.",
    ]
    return "\n".join(lines)


def budget(results: xr.Dataset) -> str:
    """How evenly the atoms are used, as Markdown."""
    lines = []
    for model in names(results):
        one = results.sel(model=model, set="id")
        used, even = 100 * one["used"], 100 * one["effective"] / one["atoms"]
        lines.append(
            f"- *{label(results, model)}*: used {ranged(used, '{:.0f}')} % of atoms, effective "
            f"number {ranged(even, '{:.0f}')} % of them (all layers and seeds)."
        )
    return "\n".join(lines)


def locking(results: xr.Dataset) -> str:
    """When supports lock in, and what the error is then, as Markdown."""
    last, lines = int(results["sweep"].max()), []
    for model in names(results):
        solver, sweeps = soonest(results, model)
        in_time = int((locked_all(results, model).min("solver") <= FAST).sum())
        sums = soonest(results, model, kind="add2")[1]
        at = results.sel(model=model, set="id", solver=solver)
        ratio = at["error_locked"].sel(threshold=LOCKED) / at["error_end"]
        errs = f"; $V_1 a_1$ then errs by {ranged(100 * ratio, '{:.1f}')} % of its error at rest"
        then = errs if sweeps <= last else ""
        lines.append(
            f"- *{label(results, model)}*: {sweeps_of(sweeps, last)} sweeps "
            f"({SOLVERS[solver][0]}), within {FAST} in {in_time} of {results.sizes['seed']} "
            f"seeds; {sweeps_of(sums, last)} for sums of two{then}."
        )
    return "\n".join(lines)


def rest(results: xr.Dataset) -> str:
    """How sure the support at rest is, as Markdown."""
    certain = results["end_certain"]
    free = [m for m in names(results) if m != CAPPED]
    lines = [
        "Halfway to the end supports overlap with those at the end by at least "
        f"{float(certain.min()):.3f} (mean over images; all networks, layers, sets and seeds)."
    ]
    if free:
        gap = float(results["gap_end"].sel(model=free).max())
        lines.append(f"Without a cap the relative duality gap at the end is at most {gap:.1g}.")
    if CAPPED in names(results):
        apart = results["end_agreement"].sel(model=CAPPED, solver=["ista", "restart"], set="id")
        top = apart.isel(layer=-1)
        lines.append(
            "With a cap the solvers come to rest in different supports: those of the top layer "
            f"overlap with line search's by {ranged(top, '{:.2f}')}."
        )
    return " ".join(lines)


def energies(results: xr.Dataset) -> str:
    """What rose and what did not, as Markdown."""
    model, watched = typical(results), int(results["sweep"].max()) - 1
    one, lines = results.sel(model=model, set="id"), []
    for solver, (shown, *_) in SOLVERS.items():
        at = one.sel(solver=solver)
        lowest = (at["summed_energy"].min("sweep") / at["summed_energy_end"]).median("seed")
        lines.append(
            f"- **{shown.capitalize()}**: $F$ rose in {ranged(at['energy_rises'], '{:.1f}')} of "
            f"{watched} sweeps per image, the sum in "
            f"{ranged(at['summed_energy_rises'], '{:.1f}')}; the sum's lowest look is "
            f"{float(lowest):.3f} of its value at rest."
        )
    return "\n".join(lines)


def depth(results: xr.Dataset) -> str:
    """How sparsity goes with depth, and whether the sizes force it, as Markdown."""
    lines = []
    for model in [m for m in names(results) if len(layers_of(results, m)) > 1]:
        said = []
        for kind, where in (("id", "digits"), ("add2", "sums of two")):
            one = results.sel(set=kind)
            share = by_layer(results, 100 * one["active_share"], model, "{:.0f} %")
            said.append(f"{where}: {share}, {steps(one['active_share'], model)}")
        hoyer = steps(results["hoyer"].sel(set="id"), model)
        lines.append(
            f"- *{label(results, model)}*. Active share by layer, {'; '.join(said)}. "
            f"Hoyer's measure {hoyer}."
        )
    return "\n".join(lines) or NOTHING


def selectivity(results: xr.Dataset) -> str:
    """What labels tell of atoms, against shuffled ones, as Markdown."""
    told, lines = measure(results, "told"), []
    for model in names(results):
        one = results.sel(model=model, state="active")
        above = int((one["told"] > one["told_shuffled_most"]).sum())
        cells = int(one["told"].notnull().sum())
        grows = f"; it {steps(told, model)}" if len(layers_of(results, model)) > 1 else ""
        lines.append(
            f"- *{label(results, model)}*: above chance by "
            f"{by_layer(results, told, model, '{:.3f}')} (layers); more than any shuffled labels "
            f"in {above} of {cells} layers and seeds{grows}."
        )
    return "\n".join(lines)


def atlas(results: xr.Dataset) -> str:
    """How much one digit stands out among those that use an atom, by band and layer, as
    Markdown.
    """
    lines = []
    for layer in results["layer"].values:
        found = entries(results, int(layer))
        if found is None:
            continue
        profile = found["atlas_profile"]
        ratio = (profile.max("digit") / profile.mean("digit")).median("place")
        said = listed(
            [f"{float(ratio.sel(band=band)):.1f} ({band})" for band in found["band"].values]
        )
        lines.append(
            f"- **Layer {layer}**: the digit that uses an atom most does so, against the mean "
            f"over digits, {said} times as often (medians over the atoms drawn)."
        )
    return "\n".join(lines) or NOTHING


# --- tables ---------------------------------------------------------------------------------------


def budget_table(results: xr.Dataset, kind: str = "id") -> pd.DataFrame:
    """Every network and layer: atoms, and how a code uses them; medians over seeds with their
    range.
    """
    rows = {}
    for model in names(results):
        for layer in layers_of(results, model):
            one = results.sel(model=model, set=kind, layer=layer)
            rows[f"{label(results, model)}, layer {layer}"] = {
                "atoms": f"{float(one['atoms'].median()):.0f}",
                "used [%]": ranged(100 * one["used"], "{:.1f}"),
                "effective": ranged(one["effective"], "{:.0f}"),
                "active": ranged(one["active"], "{:.1f}"),
                "active [%]": ranged(100 * one["active_share"], "{:.1f}"),
                "carry 90 %": ranged(one["carrying"], "{:.1f}"),
                "Hoyer": ranged(one["hoyer"], "{:.3f}"),
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(None)


def locking_table(results: xr.Dataset, kind: str = "id") -> pd.DataFrame:
    """Every network and solver: sweeps until all layers have locked, in the mean and for nine of
    ten images.
    """
    last, rows = int(results["sweep"].max()), {}
    for model in names(results):
        for solver, (shown, *_) in SOLVERS.items():
            one = results.sel(model=model, set=kind, solver=solver)
            row = {}
            for threshold in results["threshold"].values:
                mean, tail = (
                    one["locked_mean"].max("layer"),
                    one["locked"].sel(quantile=0.9).max("layer"),
                )
                for name, values in (("mean", mean), ("9 of 10", tail)):
                    middle = float(values.sel(threshold=threshold).median("seed"))
                    row[f"≥ {threshold:g}, {name}"] = sweeps_of(middle, last)
            row["MSE then"] = ranged(one["error_locked"].sel(threshold=LOCKED), "{:.5f}") or "-"
            row["MSE at rest"] = ranged(one["error_end"], "{:.5f}")
            rows[f"{label(results, model)}, {shown}"] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(None)


def errors_table(results: xr.Dataset) -> pd.DataFrame:
    """What the networks draw: errors per pixel in both readings, in units of 1e-3, and the zero
    drawing's.
    """
    rows = {}
    for model in names(results):
        one = results.sel(model=model)
        row = {"validation": ranged(1e3 * one["criterion"], "{:.2f}")}
        for kind, shown in (("id", "digits"), ("add2", "sums")):
            for reading in ("own", "top"):
                row[f"{shown}, {reading}"] = ranged(
                    1e3 * one["mse"].sel(set=kind, reading=reading), "{:.2f}"
                )
        rows[label(results, model)] = row
    blank = {
        kind: ranged(1e3 * results["zero_baseline"].sel(set=kind), "{:.1f}")
        for kind in ("id", "add2")
    }
    zero = {
        name: blank["id" if name.startswith("digits") else "add2"]
        for name in row
        if name != "validation"
    }
    return pd.DataFrame.from_dict(
        rows | {"zero drawing": {"validation": ""} | zero}, orient="index"
    ).rename_axis(None)
