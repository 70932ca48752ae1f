"""Tables of App. C, and the numbers of its prose: medians over seeds, if not said otherwise."""

from __future__ import annotations

import numpy as np
import xarray as xr

from chapters.C_inference.figures import PENALTIES, SOLVERS, cells, stack_name
from vnlib.plots.statistics import censored, median, raised, short, texts
from vnlib.plots.tables import Table, spreads

LEVEL = 1e-3
_whole = "{:,.0f}".format


def per_sweep(r: xr.Dataset) -> xr.DataArray:
    """Steps on single layers in one sweep of every stack."""
    return xr.where(r["schedule"] == "recurrent", r["depth"], 2 * r["depth"] - 1)


def needed(r: xr.Dataset) -> Table:
    """Sweeps, and steps on single layers, until F is within 1e-3 of its minimum."""
    last, first = int(r["sweep"][-1]), (r["beta"] == r["beta"][0]) & (r["schedule"] == "sweep")
    sweeps = r["needed"].sel(level=LEVEL).where((r["depth"] > 1) | first)  # as in `cells`
    units = xr.Dataset({"steps": sweeps * per_sweep(r), "sweeps": sweeps}).to_array("unit")
    solvers = dict(sorted(SOLVERS.items(), key=lambda item: item[1]))
    stacks = ("depth", "beta", "schedule")
    found = spreads({"": units.transpose(..., "solver", "unit")}, *stacks, solver=solvers)
    found.index = [
        stack_name(d) + (f", β = {beta:g}, {schedule}" if d > 1 else "")
        for d, beta, schedule in cells(r)
    ]
    most = {"sweeps": last, "steps": last * int(per_sweep(r).max())}
    formats = {column[:2]: censored(most[column[1]], _whole) for column in found}
    return Table(found, formats, name="sweeps and steps to 1e-3")


def variants(r: xr.Dataset) -> Table:
    """Steps on single layers until F is within 1e-3 of its minimum, for the small choices."""
    most = censored(int(r["sweep"][-1]) // 2 * int(per_sweep(r).max()), _whole)
    steps = r["variant_needed"].sel(level=LEVEL)
    found = spreads({"": steps}, "variant", variant_solver=SOLVERS)
    formats = {column[0]: most for column in found}
    return Table(found, formats, name="steps to 1e-3 by variant")


def penalties(r: xr.Dataset) -> Table:
    """Penalties at the same number of active atoms, the least error first."""
    columns = {
        "active atoms": r["kept"],
        "error, %": 100 * r["error"],
        "refitted, %": 100 * r["error_polished"],
        "ms per sample": r["time"],
    }
    found = spreads(columns, "penalty").sort_values(("error, %", "median"))
    found = found.rename(index=PENALTIES)
    return Table(found, best=["refitted, %"], name="penalties at the same number of atoms")


def saved(r: xr.Dataset) -> Table:
    """Sweeps from every start, as a share of those from zero codes."""
    sweeps = r["start_needed"].sel(start_solver=["ista", "line_search"])
    share = sweeps / sweeps.sel(start="cold").where(np.isfinite)
    names = {"start_solver": SOLVERS, "level": lambda level: f"to {raised(f'{level:g}')}"}
    found = spreads({"": share.drop_sel(start="cold")}, "start", **names)
    return Table(found, name="sweeps relative to a cold start")


def early(r: xr.Dataset) -> Table:
    """Active atoms of layer 1 of the deepest stack when a settle is cut short, and at its end."""
    evaluated = np.unique(r["sweep"].sel(sweep=[9, 30, 100], method="nearest"))
    active = r["active"].sel(depth=r["depth"].max(), beta=r["beta"][0], layer=1)
    active = active.sel(sweep=[*evaluated, r["sweep"][-1]]).drop_sel(solver="fista")
    found = spreads({"": active}, "sweep", solver=SOLVERS, sweep="{:,} sweeps".format)
    found = found.rename_axis(None)
    return Table(found, dict.fromkeys(found, "{:.0f}"), name="active atoms by sweeps")


def numbers(r: xr.Dataset) -> dict[str, str]:
    """What the page's prose says: the ends of the settle, its speed, its limits."""
    last, top = int(r["sweep"][-1]), int(r["depth"].max())
    sweeps = r["needed"].sel(depth=top, beta=r["beta"][0], schedule="sweep", level=LEVEL)
    steps = r["step_needed"].sel(step_depth=top, level=LEVEL)
    best = median(steps).idxmin("factor").item()
    fista, ista = r.sel(guard_solver="fista"), r.sel(guard_solver="ista")
    heights = r["cap_height"].max(["schedule", "multistart_solver", "multistart"])
    late = r["late_height"].isel(cap_depth=0, cap_from=[0, -1]).median("sample")
    worst = {
        "distance": r["end_distance"].max(),
        **r[["start_distance", "guard_distance"]].max(),
        "relu-distance": r["relu_spread"].max(),
        "alone": r["alone"].max("seed"),
        "switched": r["switched"],
    }
    counts = {
        "needed": sweeps,
        "step": {"one": steps.sel(factor=1.0), "two": steps.sel(factor=2.0), "best": best},
        "step-best-sweeps": steps.sel(factor=best),
        "guarded": fista["guard_needed"].sel(level=1e-6),
        "from": r["start_needed"].sel(level=LEVEL, start_solver="line_search"),
        "summed-stop": ista["summed_stop"],
        "cap-from": r["cap_from"][-1],
    }
    factors = {
        "fewer": sweeps.sel(solver="ista").clip(max=last) / sweeps,
        **r[["found_end", "allowed"]]
        .rename(found_end="found")
        .sel(step_depth=top)
        .median("sample"),
    }
    shares = {
        "fista-rises": fista["guard_rises"].sel(safeguard="none"),
        "fista-rejected": fista["rejected"].sel(safeguard="reject"),
        "rejected-rises": r["guard_rises"].sel(safeguard="reject").max(),
        **ista[["summed_rises", "summed_height"]],
        "overlap": r["cap_overlap"],
        "capped": heights.median("sample"),
        "cap": late.assign_coords(cap_from=["at-once", "late"]),
        "cap-rises": r["cap_rises"],
        "relu-rises": r["relu_rises"].sel(activation="relu").drop_vars("beta"),
    }
    return {
        "appc-seeds": str(r.sizes["seed"]),
        "appc-resumed": "all" if r["resumed"].all() else "not all",
        **texts("appc", worst),
        **texts("appc", counts, lambda number: f"{float(f'{number:.2g}'):,.0f}"),
        **texts("appc", factors),
        **texts("appc", shares, lambda share: short(100 * share)),
    }
