"""The table of appendix E, and the numbers of its prose."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from vnlib.plots.statistics import median, over_seeds, short
from vnlib.plots.tables import SHOWN, Table

CELLS = ("family", "coherence", "active")


def diagram(r: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Supports recovered exactly, below the bound in the worst cell and above it on average."""
    exact, below = r["recovered"].sel(rule="exact"), r["active"] < r["bound"]
    return exact.where(below).min(CELLS), exact.where(~below).mean(CELLS)


def measured(r: xr.Dataset) -> Table:
    """The numbers that the text rests on, over seeds."""
    below, above = diagram(r)
    stopped = r[["stopped_active", "stopped_update"]].sel(data="digits", solver="ista", sweep=20)
    settled = r["settled_active"].sel(data="digits")
    gap = r["largest_gap"].max(("family", "coherence"))
    rows = {
        "V(a+b) - Va - Vb, float32 (eps)": r["rounding"].sel(dtype="float32"),
        "V(a+b) - Va - Vb, float64 (eps)": r["rounding"].sel(dtype="float64"),
        "the same for relu(V a), relative": r["relu_error"],
        "recovered below the bound, worst cell": below,
        "recovered at or above it, mean of the diagram": above,
        "largest duality gap of the diagram / energy": gap,
        "mu of the dictionary learned on digits": r["learned_mu"],
        "overlap of sum and union, digits": r["digits_sum_overlap"].median("digits_pair"),
        "active / settled atoms after 20 ISTA sweeps, digits": stopped["stopped_active"] / settled,
        "error of the update after 20 ISTA sweeps, digits": stopped["stopped_update"],
    }
    for layer in r["layer"].values:
        one = r.sel(layer=layer)
        equal = (one["rank"] == one["active_atoms"]).mean("sample")
        used = one["active_atoms"].mean("sample") * one["per_atom"] / one["dense"]
        rows |= {
            f"layer {layer}: samples with rank = active atoms": equal,
            f"layer {layer}: parameters in use / d m": used,
            f"layer {layer}: library / d m": one["library"] / one["dense"],
        }
    spreads = {name: over_seeds(values) for name, values in rows.items()}
    frame = pd.DataFrame(
        {("over seeds", s): {name: float(one[s]) for name, one in spreads.items()} for s in SHOWN}
    )
    return Table(frame, name="numbers of appendix E")


def numbers(r: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds, or the worst seed."""
    below, above = diagram(r)
    rises = median(r["sweep_rises"].mean("penalty"))
    grown = median(r[["grown_named", "grown_found"]].to_array("name")).to_dataset("name")
    surplus, fitting = grown.isel(atoms=-1, drop=True), grown.isel(atoms=0, drop=True)
    best = float(surplus["grown_named"].where(surplus["strength"] > 0).idxmax("strength"))
    percents = {
        "appE-below": below.min(),
        "appE-above": median(above),
        "appE-overlap": median(r["digits_sum_overlap"].median("digits_pair")),
        "appE-rises-joint": rises.sel(counted="joint"),
        "appE-rises-summed": rises.sel(counted="summed"),
        "appE-named-without": surplus["grown_named"].sel(strength=0),
        "appE-named-with": surplus["grown_named"].sel(strength=best),
        "appE-found-without": fitting["grown_found"].sel(strength=0),
        "appE-found-with": fitting["grown_found"].sel(strength=best),
    }
    found = {key: f"{100 * float(value):.0f}" for key, value in percents.items()}
    errors = {"one": "one layer", "three": "three layers", "summed": "summed", "relu": "ReLU"}
    for key, case in errors.items():
        found[f"appE-error-{key}"] = short(float(r["gradient_error"].sel(case=case).max()))
    return found | {
        "appE-mu": f"{float(median(r['learned_mu'])):.2f}",
        "appE-bound": f"{float(median(r['learned_bound'])):.2f}",
        "appE-strength": f"{best:g}",
    }
