"""Tables of App. C, and the numbers that its prose is given; medians over seeds, if not said
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import numpy as np
import pandas as pd
import xarray as xr

from chapters.C_inference.figures import SOLVERS, cells, stack_name
from vnlib.plots.statistics import median, texts
from vnlib.plots.tables import Table, spreads

LEVEL = 1e-3
LABELS = {solver: label for solver, (label, *_) in SOLVERS.items()}


def at_most(most: float) -> Callable[[float], str]:
    """How a number of sweeps or steps is shown that may not have been enough."""
    return lambda value: f"{value:.0f}" if isfinite(value) else f"> {most:.0f}"


def per_sweep(depth: int, schedule: str) -> int:
    """Steps on single layers in one sweep."""
    return depth if schedule == "recurrent" else 2 * depth - 1


def deepest(r: xr.Dataset) -> dict[str, float | str]:
    """The deepest stack with the feedback weight that it learned with, settled in sweeps."""
    return {"depth": int(r["depth"].max()), "beta": float(r["beta"][0]), "schedule": "sweep"}


def needed(r: xr.Dataset) -> Table:
    """Sweeps, and steps on single layers, until F is within 1e-3 of its minimum."""
    stacks = cells(r)
    names = [stack_name(d) + (f", beta {b:g}, {s}" if d > 1 else "") for d, b, s in stacks]
    axes = zip(("depth", "beta", "schedule"), zip(*stacks, strict=True), strict=True)
    places = {dim: xr.DataArray([*values], {"stack": names}) for dim, values in axes}
    sweeps = median(r["needed"].sel(**places, level=LEVEL))
    per = [per_sweep(depth, schedule) for depth, _, schedule in stacks]
    steps = sweeps * xr.DataArray(per, dims="stack")
    units = xr.concat([steps, sweeps], pd.Index(["steps", "sweeps"], name="unit"))
    solvers = dict(sorted(LABELS.items(), key=lambda item: item[1]))
    found = spreads({"": units.transpose(..., "unit")}, "stack", solver=solvers).rename_axis(None)
    last = int(r["sweep"][-1])
    most = {"sweeps": last, "steps": last * per_sweep(int(r["depth"].max()), "sweep")}
    formats = {column: at_most(most[column[1]]) for column in found}
    return Table(found, formats, name="sweeps and steps to 1e-3")


def variants(r: xr.Dataset) -> Table:
    """Steps on single layers until F is within 1e-3 of its minimum, for the small choices."""
    found = median(r["variant_needed"].sel(level=LEVEL)).transpose("variant", "variant_solver")
    most = int(r["sweep"][-1]) // 2 * per_sweep(int(r["depth"].max()), "sweep")
    columns = found.to_pandas().rename(columns=LABELS)
    return Table(columns, dict.fromkeys(columns, at_most(most)), name="steps to 1e-3 by variant")


def penalties(r: xr.Dataset) -> Table:
    """Penalties at the same number of active atoms, the least error first."""
    columns = {
        "active atoms": r["kept"],
        "error, %": 100 * r["error"],
        "refitted, %": 100 * r["error_polished"],
        "ms per sample": r["time"],
    }
    found = spreads(columns, "penalty").sort_values(("error, %", "median"))
    return Table(found, best=["refitted, %"], name="penalties at the same number of atoms")


def saved(r: xr.Dataset) -> Table:
    """Sweeps from every start, as a share of those from zero codes."""
    sweeps = median(r["start_needed"].sel(start_solver=["ista", "line_search"]))
    share = sweeps / sweeps.sel(start="cold").where(np.isfinite)
    columns = share.drop_sel(start="cold").stack(column=["start_solver", "level"])
    found = columns.transpose("start", "column").to_pandas()
    found.columns = [(LABELS[solver], f"to {level:g}") for solver, level in found.columns]
    return Table(found, name="sweeps relative to a cold start")


def early(r: xr.Dataset) -> Table:
    """Active atoms of layer 1 of the deepest stack when a settle is cut short, and at its end."""
    deep = deepest(r)
    active = median(r["active"].sel(depth=deep["depth"], beta=deep["beta"], layer=1))
    evaluated = np.unique(r["sweep"].sel(sweep=[9, 30, 100], method="nearest"))
    active = active.sel(
        solver=["ista", "restart", "line_search"], sweep=[*evaluated, r["sweep"][-1]]
    )
    found = active.transpose("sweep", "solver").to_pandas().rename(columns=LABELS)
    found = found.set_axis([f"{sweep} sweeps" for sweep in found.index])
    return Table(found, dict.fromkeys(found, "{:.0f}"), name="active atoms by sweeps")


def numbers(r: xr.Dataset) -> dict[str, str]:
    """What the page's prose says: the ends of the settle, its speed, its limits."""
    last, digits = int(r["sweep"][-1]), ("seed", "sample")
    most, guards = at_most(last), at_most(int(r["guard_sweep"][-1]))
    sweeps = median(r["needed"].sel(**deepest(r), level=LEVEL))
    top = r.sel(step_depth=int(r["depth"].max()))
    steps = median(top["step_needed"].sel(level=LEVEL))
    fista, ista = r.sel(guard_solver="fista"), r.sel(guard_solver="ista")
    late = r["late_height"].isel(cap_depth=0, cap_from=[0, -1]).median(digits)
    worst = {
        "distance": r["end_distance"].max(),
        "start-distance": r["start_distance"].max(),
        "guard-distance": r["guard_distance"].max(),
        "relu-distance": r["relu_spread"].max(),
        "alone": r["alone"].max("seed"),
        "switched": r["switched"],
    }
    counts = {
        "from": r["start_needed"].sel(level=LEVEL, start_solver="line_search"),
        "summed-stop": ista["summed_stop"],
        "cap-from": r["cap_from"][-1],
    }
    shares = {
        "fista-rises": fista["guard_rises"].sel(safeguard="none"),
        "summed-rises": ista["summed_rises"],
        "overlap": r["cap_overlap"],
        "cap-rises": r["cap_rises"],
        "relu-rises": r["relu_rises"].sel(activation="relu").drop_vars("beta"),
    }
    small = {
        "fista-rejected": fista["rejected"].sel(safeguard="reject"),
        "rejected-rises": r["guard_rises"].sel(safeguard="reject").max(),
        "summed-height": ista["summed_height"],
        "capped": r["cap_height"]
        .max(["schedule", "multistart_solver", "multistart"])
        .median(digits),
        "cap": late.assign_coords(cap_from=["at-once", "late"]),
    }
    return {
        "appc-resumed": "all" if r["resumed"].all() else "not all",
        **texts("appc", worst),
        **texts("appc-needed", sweeps, most),
        **texts("appc-fewer", sweeps.sel(solver="ista").clip(max=last) / sweeps, "{:.1f}".format),
        **texts("appc-step", {"one": steps.sel(factor=1.0), "best-sweeps": steps.min()}, most),
        **texts("appc-step-best", steps.idxmin("factor"), "{:g}".format),
        **texts("appc-found", top["found_end"].median(digits), "{:.1f}".format),
        **texts("appc-allowed", top["allowed"].median(digits), "{:.1f}".format),
        **texts("appc-guarded", fista["guard_needed"].sel(level=1e-6), guards),
        **texts("appc", counts, "{:.0f}".format),
        **texts("appc", shares, lambda share: f"{100 * share:.0f}"),
        **texts("appc", small, lambda share: f"{100 * share:.2g}"),
    }
