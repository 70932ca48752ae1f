"""Tables and sentences of App. C, all numbers computed from the results: medians over seeds unless
said otherwise.
"""

from __future__ import annotations

from math import isfinite

import pandas as pd
import xarray as xr

from chapters.C_inference.figures import SOLVERS, cells, stack_name

LEVEL = 1e-3


def _median(values: xr.DataArray) -> float:
    return float(values.median())


def _count(value: float, most: float) -> str:
    """A number of sweeps or steps, or that the `most` that were made did not do."""
    return f"{value:.0f}" if isfinite(value) else f"> {most:.0f}"


def _times(factor: float) -> str:
    return f"{factor:.2f}" if isfinite(factor) else "unknown"


def _deepest(r: xr.Dataset) -> dict[str, float]:
    return {"depth": int(r["depth"].max()), "beta": float(r["beta"][0]), "schedule": "sweep"}


def _per_sweep(depth: int, schedule: str) -> int:
    return depth if schedule == "recurrent" else 2 * depth - 1


def needed(r: xr.Dataset) -> pd.DataFrame:
    """Sweeps, and in brackets steps on single layers, until F is within 1e-3 of its minimum."""
    rows, most = {}, int(r["look"][-1])
    for depth, beta, schedule in cells(r):
        sweeps = (
            r["needed"].sel(depth=depth, beta=beta, schedule=schedule, level=LEVEL).median("seed")
        )
        each = _per_sweep(depth, schedule)
        name = (
            stack_name(depth) if depth == 1 else f"{stack_name(depth)}, beta {beta:g}, {schedule}"
        )
        rows[name] = {
            SOLVERS[s][
                0
            ]: f"{_count(n := float(sweeps.sel(solver=s)), most)} ({_count(n * each, most * each)})"
            for s in r["solver"].values
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(
        columns="sweeps (steps) to 1e-3"
    )


def variants(r: xr.Dataset) -> pd.DataFrame:
    """Layer steps until F is within 1e-3 of its minimum, for the small choices."""
    found = r["variant_needed"].sel(level=LEVEL).median("seed")
    most = int(r["look"][-1]) // 2 * _per_sweep(int(r["depth"].max()), "sweep")
    rows = {
        str(name): {
            SOLVERS[s][0]: ""
            if (n := float(found.sel(variant=name, variant_solver=s))) != n
            else _count(n, most)
            for s in map(str, r["variant_solver"].values)
        }
        for name in r["variant"].values
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(columns="steps to 1e-3")


def penalties(r: xr.Dataset) -> pd.DataFrame:
    """Penalties at the same number of active atoms."""
    columns = {
        "active atoms": r["kept"],
        "error, %": 100 * r["error"],
        "error, refitted, %": 100 * r["error_polished"],
        "ms per sample": r["time"],
    }
    frame = pd.DataFrame(
        {n: v.median("seed").to_series().map("{:.3g}".format) for n, v in columns.items()}
    )
    order = r["error"].median("seed").to_series().sort_values().index
    return frame.loc[order].rename_axis(None).rename_axis(columns="median over seeds")


def starts_sentence(r: xr.Dataset) -> str:
    """What each start saves, as factors of the cold one's sweeps."""

    def factor(start: str, solver: str, level: float) -> float:
        sweeps = r["start_needed"].sel(start_solver=solver, level=level).median("seed")
        return float(
            (sweeps.sel(start=start) / sweeps.sel(start="cold")).where(
                isfinite(sweeps.sel(start="cold"))
            )
        )

    def both(start: str) -> str:
        plain, fast = (factor(start, solver, LEVEL) for solver in ("ista", "line_search"))
        return f"{start} {_times(plain)} (line search {_times(fast)})"

    names = [str(name) for name in r["start"].values if name != "cold"]
    late = ", ".join(
        f"{name} {_times(factor(name, 'ista', 1e-6))}" for name in ("noisy input", "earlier codes")
    )
    return (
        "Sweeps of plain ISTA to 0.001, as a factor of the cold start's: "
        f"{'; '.join(map(both, names))}. To 0.000001 it is {late}."
    )


def guard_sentence(r: xr.Dataset) -> str:
    """What accept/reject does for momentum, and what it would do on the summed energy."""
    guard = r.sel(guard_solver="fista")
    rises = 100 * _median(guard["guard_rises"].sel(safeguard="none"))
    rejected = 100 * _median(guard["rejected"].sel(safeguard="reject"))
    left = 100 * float(r["guard_rises"].sel(safeguard="reject").max())
    needed = guard["guard_needed"].sel(level=1e-6).median("seed")
    late = {
        g: _count(float(needed.sel(safeguard=g)), int(r["guard_sweep"][-1]))
        for g in ("none", "reject")
    }
    said = [
        f"FISTA raises F in {rises:.0f} % of its sweeps. With accept/reject it takes back "
        f"{rejected:.1f} %, which also ends its momentum, and F rises in {left:.0f} %. Sweeps to "
        f"0.000001: {late['none']} without, {late['reject']} with it. All methods end within "
        f"{float(r['guard_distance'].max()):.0e} of the reference's codes, with and without "
        "(worst)."
    ]
    ista = r.sel(guard_solver="ista")
    stop, height = _median(ista["summed_stop"]), _median(ista["summed_height"])
    if isfinite(stop):
        said.append(
            f"The summed layer energies rise in {100 * _median(ista['summed_rises']):.0f} % of "
            f"plain ISTA's sweeps; an accept/reject on them would stop it at sweep {stop:.0f}, "
            f"while F is still {100 * height:.1g} % above its minimum."
        )
    return " ".join(said)


def steps_sentence(r: xr.Dataset) -> str:
    """The fastest fixed step, and what the line search takes."""
    deep, most = _deepest(r), int(r["look"][-1])
    sweeps = r["step_needed"].sel(step_depth=deep["depth"], level=LEVEL).median("seed")
    best = float(sweeps["factor"][int(sweeps.values.argmin())])
    line = _median(r["needed"].sel(**deep, solver="line_search", level=LEVEL))
    found, allowed = (
        r[name].sel(step_depth=deep["depth"]).median(("seed", "sample"))
        for name in ("found_end", "allowed")
    )
    layers = [
        f"layer {n}: {float(found.sel(layer=n)):.1f} ({float(allowed.sel(layer=n)):.1f})"
        for n in found["layer"].values
    ]
    return (
        f"In {stack_name(deep['depth'])}, ηL = 1 takes "
        f"{_count(float(sweeps.sel(factor=1.0)), most)} sweeps and the best fixed step, ηL = "
        f"{best:g}, {_count(float(sweeps.min()), most)}; the line search takes "
        f"{_count(line, most)}. It ends with ηL (in brackets: L / L_S) of {'; '.join(layers)}."
    )


def limits_sentence(r: xr.Dataset) -> str:
    """The hard cap and ReLU messages in numbers."""
    trial = [n for n in r["cap_height"].dims if n in ("schedule", "trial_solver", "trial_start")]
    spread = r["cap_height"].max(trial).median(("seed", "sample"))
    said = [
        f"{stack_name(int(d))}: F differs by {100 * float(spread.sel(cap_depth=d)):.2g} % "
        "(median digit), top supports overlap by "
        f"{100 * _median(r['cap_overlap'].sel(cap_depth=d)):.0f} %"
        for d in r["cap_depth"].values
    ]
    late = r["late_height"].isel(cap_depth=0).median(("seed", "sample"))
    from_, to = (float(late.isel(cap_from=n)) for n in (0, -1))
    plain, momentum = (100 * _median(r["cap_rises"].sel(momentum=m)) for m in ("plain", "fista"))
    switched = {m: _median(r["switched"].sel(momentum=m)) for m in ("plain", "fista", "restart")}
    relu = r["relu_rises"].sel(activation="relu").median("seed")
    rises = ", ".join(
        f"{100 * float(relu.sel(beta=b)):.0f} % at β = {b:g}" for b in r["beta"].values
    )
    return (
        f"- **Hard cap.** {'; '.join(said)}. When the cap sets in after {int(r['cap_from'][-1])} "
        f"sweeps instead of at once, one layer ends {100 * to:.2g} % above the lowest trial "
        f"instead of {100 * from_:.2g} %.\n"
        f"- **Momentum under a cap**, one layer: in the last sweeps {switched['fista']:.2g} "
        f"atoms switch per sweep with it, {switched['restart']:.2g} with restarts and "
        f"{switched['plain']:.2g} without; F rises in {momentum:.0f} % of the sweeps with it, in "
        f"{plain:.0f} % without.\n"
        f"- **ReLU messages.** All trials end within {float(r['relu_spread'].max()):.0e} of the "
        f"same codes (worst), though F rises in a share of ISTA's sweeps: {rises}."
    )


def support_sentence(r: xr.Dataset) -> str:
    """How much too large the support is where the energy is nearly right."""
    deep = {k: v for k, v in _deepest(r).items() if k != "schedule"}
    active = r["active"].sel(**deep, layer=1).median("seed")
    final = float(active.sel(solver="line_search").isel(look=-1))
    said = []
    for sweeps in (10, 30, 100):
        look = int(abs(r["look"] - sweeps).values.argmin())
        counts = [
            f"{SOLVERS[s][0]} {float(active.sel(solver=s).isel(look=look)):.0f}"
            for s in ("ista", "restart")
        ]
        said.append(f"after {int(r['look'][look])} sweeps {' and '.join(counts)}")
    return (
        f"Layer 1 of {stack_name(deep['depth'])} settles with {final:.0f} active atoms. It "
        f"has, {'; '.join(said)}."
    )


def summary(r: xr.Dataset) -> str:
    """The results in four points, as Markdown."""
    deep = _deepest(r)
    sweeps = {s: _median(r["needed"].sel(**deep, solver=s, level=LEVEL)) for s in SOLVERS}
    most = float(r["look"][-1])
    saved = {s: min(sweeps["ista"], most) / sweeps[s] for s in ("fista", "restart", "line_search")}
    at_least = "" if isfinite(sweeps["ista"]) else "at least "
    warm = r["start_needed"].sel(level=LEVEL, start_solver="line_search").median("seed")
    by = "; ".join(f"{SOLVERS[s][0]} {at_least}{n:.1f} times fewer" for s, n in saved.items())
    trial = [n for n in r["cap_height"].dims if n in ("schedule", "trial_solver", "trial_start")]
    spread = 100 * _median(r["cap_height"].isel(cap_depth=0).max(trial))
    return "\n".join(
        [
            "- **One point.** All schedules and methods end within "
            f"{float(r['end_distance'].max()):.0e} of the same codes (worst of all digits, seeds "
            f"and stacks), all starts within {float(r['start_distance'].max()):.0e}.",
            "- **Not one speed.** To come within 0.001 of F, plain ISTA takes "
            f"{_count(sweeps['ista'], most)} sweeps in {stack_name(deep['depth'])}; {by}.",
            "- **Warm starts** help as far as they are near: line search takes "
            f"{float(warm.sel(start='cold')):.0f} sweeps from zero, "
            f"{float(warm.sel(start='noisy input')):.0f} from the codes of the same digit with "
            f"noise, {float(warm.sel(start='earlier codes')):.0f} from those of one pass through "
            f"the data before, and {float(warm.sel(start='nearest sample')):.0f} from those of "
            "the nearest other digit.",
            "- **Limits.** With a hard cap in one layer, trials end in different minima, F "
            f"differing by {spread:.2g} % (median digit). With ReLU messages there is no energy, "
            f"and all trials still end within {float(r['relu_spread'].max()):.0e} of the same "
            "codes.",
        ]
    )
