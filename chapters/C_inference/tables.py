"""Tables of App. C, and the numbers that its prose is given; medians over seeds, if not said
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import pandas as pd
import xarray as xr

from chapters.C_inference.figures import SOLVERS, cells, stack_name
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, spread

LEVEL = 1e-3
SAVED = ("ista", "line_search")  # methods whose saving by a warm start is shown


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
    rows, most = {}, int(r["look"][-1])
    for depth, beta, schedule in cells(r):
        at = {"depth": depth, "beta": beta, "schedule": schedule, "level": LEVEL}
        sweeps = median(r["needed"].sel(at))
        same = depth == 1
        name = stack_name(depth) if same else f"{stack_name(depth)}, beta {beta:g}, {schedule}"
        values = {SOLVERS[s][0]: float(sweeps.sel(solver=s)) for s in r["solver"].values}
        rows[name] = {(s, "sweeps"): n for s, n in values.items()} | {
            (s, "steps"): n * per_sweep(depth, schedule) for s, n in values.items()
        }
    frame = pd.DataFrame.from_dict(rows, orient="index").sort_index(axis=1, sort_remaining=False)
    largest = most * max(per_sweep(d, s) for d, _, s in cells(r))
    formats = {c: at_most(most if c[1] == "sweeps" else largest) for c in frame.columns}
    return Table(frame, formats, name="sweeps and steps to 1e-3")


def variants(r: xr.Dataset) -> Table:
    """Steps on single layers until F is within 1e-3 of its minimum, for the small choices."""
    found = median(r["variant_needed"].sel(level=LEVEL))
    most = int(r["look"][-1]) // 2 * per_sweep(int(r["depth"].max()), "sweep")
    names = {SOLVERS[str(s)][0]: str(s) for s in r["variant_solver"].values}
    frame = pd.DataFrame(
        {name: found.sel(variant_solver=s).to_series() for name, s in names.items()}
    ).loc[r["variant"].values]
    return Table(frame, dict.fromkeys(names, at_most(most)), name="steps to 1e-3 by variant")


def penalties(r: xr.Dataset) -> Table:
    """Penalties at the same number of active atoms, the least error first."""
    columns = {
        "active atoms": r["kept"],
        "error, %": 100 * r["error"],
        "refitted, %": 100 * r["error_polished"],
        "ms per sample": r["time"],
    }
    frames = [spread(values, "penalty", title=title) for title, values in columns.items()]
    frame = pd.concat(frames, axis=1).sort_values(("error, %", "median"))
    return Table(frame, best=["refitted, %"], name="penalties at the same number of atoms")


def saved(r: xr.Dataset) -> Table:
    """Sweeps from every start, as a share of those from zero codes."""
    sweeps = median(r["start_needed"].sel(start_solver=list(SAVED)))
    share = sweeps / sweeps.sel(start="cold").where(lambda cold: cold < float("inf"))
    columns = {
        (SOLVERS[s][0], f"to {level:g}"): share.sel(start_solver=s, level=level).to_series()
        for s in SAVED
        for level in share["level"].values
    }
    frame = pd.DataFrame(columns).loc[[s for s in r["start"].values if s != "cold"]]
    return Table(frame, name="sweeps relative to a cold start")


def early(r: xr.Dataset) -> Table:
    """Active atoms of layer 1 of the deepest stack when a settle is cut short, and at its end."""
    at = {k: v for k, v in deepest(r).items() if k != "schedule"} | {"layer": 1}
    active = median(r["active"].sel(at))
    looks = sorted({int(abs(r["look"] - n).values.argmin()) for n in (10, 30, 100)})
    frame = pd.DataFrame(
        {
            SOLVERS[s][0]: active.sel(solver=s).isel(look=[*looks, -1]).values
            for s in ("ista", "restart", "line_search")
        },
        index=[f"{int(r['look'][n])} sweeps" for n in [*looks, -1]],
    )
    return Table(frame, dict.fromkeys(frame.columns, "{:.0f}"), name="active atoms by sweeps")


def _percent(value: float) -> str:
    return f"{100 * value:.2g}"


def numbers(r: xr.Dataset) -> dict[str, str]:
    """What the page's prose says: the ends of the settle, its speed, its limits."""
    deep, most = deepest(r), int(r["look"][-1])
    sweeps = {s: float(median(r["needed"].sel(**deep, solver=s, level=LEVEL))) for s in SOLVERS}
    least = min(sweeps["ista"], most)
    steps = median(r["step_needed"].sel(step_depth=deep["depth"], level=LEVEL))
    found, allowed = (
        r[name].sel(step_depth=deep["depth"]).median(("seed", "sample"))
        for name in ("found_end", "allowed")
    )
    warm = median(r["start_needed"].sel(level=LEVEL, start_solver="line_search"))
    fista, ista = r.sel(guard_solver="fista"), r.sel(guard_solver="ista")
    guarded = median(fista["guard_needed"].sel(level=1e-6))
    trial = [n for n in r["cap_height"].dims if n in ("schedule", "trial_solver", "trial_start")]
    capped = r["cap_height"].max(trial).median(("seed", "sample"))
    late = r["late_height"].isel(cap_depth=0).median(("seed", "sample"))
    switched, rises = median(r["switched"]), median(r["cap_rises"])
    relu = median(r["relu_rises"].sel(activation="relu"))
    alone = r["alone"].max("seed")
    return {
        "appc-distance": short(float(r["end_distance"].max())),
        "appc-start-distance": short(float(r["start_distance"].max())),
        "appc-admm": short(float(alone.sel(alone_solver="admm"))),
        "appc-cd": short(float(alone.sel(alone_solver="cd"))),
        "appc-ista": at_most(most)(sweeps["ista"]),
        **{
            f"appc-fewer-{s.replace('_', '-')}": f"{least / sweeps[s]:.1f}"
            for s in ("fista", "restart", "line_search")
        },
        **{
            f"appc-from-{s.replace(' ', '-')}": f"{float(warm.sel(start=s)):.0f}"
            for s in ("cold", "noisy input", "earlier codes", "nearest sample")
        },
        "appc-step-one": at_most(most)(float(steps.sel(factor=1.0))),
        "appc-step-best": f"{float(steps['factor'][int(steps.values.argmin())]):g}",
        "appc-step-best-sweeps": at_most(most)(float(steps.min())),
        "appc-step-line": at_most(most)(sweeps["line_search"]),
        **{f"appc-found-{n}": f"{float(found.sel(layer=n)):.1f}" for n in found["layer"].values},
        **{
            f"appc-allowed-{n}": f"{float(allowed.sel(layer=n)):.1f}"
            for n in allowed["layer"].values
        },
        "appc-resumed": "all" if bool(r["resumed"].all()) else "not all",
        "appc-fista-rises": f"{100 * float(median(fista['guard_rises'].sel(safeguard='none'))):.0f}",
        "appc-fista-rejected": _percent(float(median(fista["rejected"].sel(safeguard="reject")))),
        "appc-rejected-rises": _percent(float(r["guard_rises"].sel(safeguard="reject").max())),
        "appc-fista-plain": at_most(int(r["guard_sweep"][-1]))(
            float(guarded.sel(safeguard="none"))
        ),
        "appc-fista-guarded": at_most(int(r["guard_sweep"][-1]))(
            float(guarded.sel(safeguard="reject"))
        ),
        "appc-guard-distance": short(float(r["guard_distance"].max())),
        "appc-summed-rises": f"{100 * float(median(ista['summed_rises'])):.0f}",
        "appc-summed-stop": f"{float(median(ista['summed_stop'])):.0f}",
        "appc-summed-height": _percent(float(median(ista["summed_height"]))),
        **{
            f"appc-capped-{d}": _percent(float(capped.sel(cap_depth=d)))
            for d in r["cap_depth"].values
        },
        **{
            f"appc-overlap-{d}": f"{100 * float(median(r['cap_overlap'].sel(cap_depth=d))):.0f}"
            for d in r["cap_depth"].values
        },
        "appc-cap-from": f"{int(r['cap_from'][-1])}",
        "appc-cap-late": _percent(float(late.isel(cap_from=-1))),
        "appc-cap-at-once": _percent(float(late.isel(cap_from=0))),
        **{
            f"appc-switched-{m}": short(float(switched.sel(momentum=m)))
            for m in ("plain", "fista", "restart")
        },
        **{
            f"appc-cap-rises-{m}": f"{100 * float(rises.sel(momentum=m)):.0f}"
            for m in ("plain", "fista")
        },
        "appc-relu-distance": short(float(r["relu_spread"].max())),
        **{
            f"appc-relu-rises-{n}": f"{100 * float(relu.isel(beta=n)):.0f}"
            for n in range(relu.sizes["beta"])
        },
    }
