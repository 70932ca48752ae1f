"""Learned starts in words and tables; everything said is computed from the results.

`results` as in `figures.initialiser`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from chapters.beyond_initialiser.figures import LEVEL, SETS, SOLVERS, STARTS, free, starts
from vnlib.plots.rows import label
from vnlib.plots.texts import listed, ranged

LEARNED = ("steps", "lista", "lista_energy", "linear", "mlp")


def shown(value: float, text: str = "{:.0f}", never: str = "more than were tried") -> str:
    """A number of sweeps, or what is said where it is infinite."""
    return text.format(value) if np.isfinite(value) else never


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
    pairs = [(name, solver) for name in names for solver in SOLVERS]
    name, solver = min(pairs, key=lambda pair: float(total.sel(start=pair[0], solver=pair[1])))
    return name, solver, float(total.sel(start=name, solver=solver))


def learners(results: xr.Dataset, model: str) -> list[str]:
    """The starts of a network that are learned."""
    return [name for name in starts(results, model) if name in LEARNED]


def worth(results: xr.Dataset, model: str, name: str, solver: str) -> float:
    """After how many sweeps the cold settle is as low as a start is before any, in distribution;
    medians.
    """
    one = results.sel(model=model, set="id")
    curve = one["height"].sel(start="cold", solver=solver).median("seed").dropna("look")
    height = float(one["start_height"].sel(start=name).median())
    # Between two looks the height falls exponentially.
    return float(np.interp(-np.log(height), -np.log(curve.clip(1e-16)), curve["look"]))


def summary(results: xr.Dataset) -> str:
    """What came out, in a few lines of Markdown."""
    lines = []
    for model in results["model"].values.tolist():
        if not (learned := learners(results, model)):
            continue
        one = at_level(results, model)
        total = one["sweeps"] + one["cost"]
        cold = float(one["sweeps"].sel(start="cold", solver="ista"))
        plain = min(learned, key=lambda n, total=total: float(total.sel(start=n, solver="ista")))
        after = float(total.sel(start=plain, solver="ista"))
        if np.isinf([cold, after]).all():
            steps = f"{shown(np.inf)}, from any start"
        else:
            steps = (
                f"{shown(cold)} from a cold start, {shown(after)} after the best guess "
                f"({STARTS[plain][0]})"
            )
        (name, solver, least), (other, how, plainly) = (
            cheapest(results, model, learned=k) for k in (True, False)
        )
        gain = f": {abs(1 - least / plainly):.0%} {'fewer' if least < plainly else 'more'}".replace(
            "%", " %"
        )
        lines.append(
            f"- *{label(results, model)}*, in distribution. Sweeps of plain steps: {steps}. By "
            f"the best solver: {shown(least, '{:.1f}')} with something learned "
            f"({STARTS[name][0]}, then {SOLVERS[solver][0]}), {shown(plainly, '{:.1f}')} with "
            f"nothing learned ({STARTS[other][0]}, then {SOLVERS[how][0]})"
            f"{gain if np.isfinite([least, plainly]).all() else ''}."
        )
    return "\n".join([*lines, _same_end(results)])


def _same_end(results: xr.Dataset) -> str:
    parts = []
    if models := free(results):
        one = results.sel(model=models)
        parts.append(
            f"Without a cap all starts end in one point: relative distances of codes are at most "
            f"{float(one['end_distance'].max()):.1g}, of energies "
            f"{float(one['end_height'].max()):.1g}, at relative duality gaps of at most "
            f"{float(one['end_gap'].max()):.1g}."
        )
    for model in [m for m in results["model"].values.tolist() if m not in models]:
        one = results.sel(model=model)
        others = [name for name in starts(results, model) if name != "cold"]
        differs = 100 * one["end_differs"].sel(start=others)
        parts.append(
            f"With a cap ({label(results, model)}) another start ends in another support for "
            f"{ranged(differs, '{:.0f}')} % of inputs (starts, sets and seeds)."
        )
    return f"- **The end.** {' '.join(parts)}"


def outside(results: xr.Dataset) -> str:
    """Sweeps saved by set, cost included, for the start that saves most in distribution, as a
    Markdown table.
    """
    lines = [
        f"| | solver | start | {' | '.join(SETS.values())} |",
        "|---" * 3 + "|---:" * len(SETS) + "|",
    ]
    for model in results["model"].values.tolist():
        for solver, (title, _, _) in SOLVERS.items():
            share = {
                kind: at_level(results, model, kind)["saved_paid"].sel(solver=solver)
                for kind in SETS
            }
            known = [
                n for n in learners(results, model) if np.isfinite(float(share["id"].sel(start=n)))
            ]
            if known:
                best = max(known, key=lambda n, share=share: float(share["id"].sel(start=n)))
                there = " | ".join(_percent(float(share[kind].sel(start=best))) for kind in SETS)
                lines.append(f"| {label(results, model)} | {title} | {STARTS[best][0]} | {there} |")
    return "\n".join(lines)


def tail(results: xr.Dataset) -> str:
    """Why low guesses save little: how many sweeps they are worth, against those that follow, as
    Markdown.
    """
    lines = []
    for model in results["model"].values.tolist():
        if not (learned := learners(results, model)):
            continue
        lowest = results["start_height"].sel(model=model, set="id").median("seed")
        best = min(learned, key=lambda n, lowest=lowest: float(lowest.sel(start=n)))
        cold = at_level(results, model)["sweeps"].sel(start="cold")
        counts = [
            f"{worth(results, model, best, s):.1f} of {shown(float(cold.sel(solver=s)))} "
            f"({SOLVERS[s][0]})"
            for s in SOLVERS
        ]
        lines.append(
            f"- *{label(results, model)}*. The lowest guess ({STARTS[best][0]}) is "
            f"{float(lowest.sel(start=best)):.2g} above the minimum, relatively, zero codes are "
            f"{float(lowest.sel(start='cold')):.2g}. Sweeps until a cold settle is as low: "
            f"{listed(counts)}."
        )
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %".replace("-0 %", "0 %") if np.isfinite(share) else "–"


def against(results: xr.Dataset) -> str:
    """Whether momentum, which is free, gives as much as learning does, as a Markdown table."""
    lines = [
        "| | inputs | something learned | nothing learned | change |",
        "|---|---|---|---|---:|",
    ]
    for model in [m for m in results["model"].values.tolist() if learners(results, m)]:
        for kind, title in SETS.items():
            pairs = [cheapest(results, model, kind, learned=learned) for learned in (True, False)]
            said = [
                f"{shown(n, '{:.1f}')} ({STARTS[start][0]}, {SOLVERS[solver][0]})"
                for start, solver, n in pairs
            ]
            change = (
                pairs[0][2] / pairs[1][2] - 1
                if np.isfinite([pairs[0][2], pairs[1][2]]).all()
                else np.nan
            )
            lines.append(
                f"| {label(results, model)} | {title} | {' | '.join(said)} | {_percent(change)} |"
            )
    return "\n".join(lines)


# --- tables ---------------------------------------------------------------------------------------


def sweeps_table(results: xr.Dataset, level: float = LEVEL) -> pd.DataFrame:
    """Sweeps to a height by set and solver, without what the start costs; medians over inputs and
    seeds.
    """
    rows = {}
    for model in results["model"].values.tolist():
        for name in starts(results, model):
            row = {
                ("", "cost"): shown(
                    float(results["cost"].sel(model=model, start=name).median()), "{:.1f}"
                )
            }
            for kind, title in SETS.items():
                one = at_level(results, model, kind, level)["sweeps"].sel(start=name)
                row |= {
                    (title, SOLVERS[s][0]): shown(float(one.sel(solver=s)), never="not reached")
                    for s in SOLVERS
                }
            rows[label(results, model), STARTS[name][0]] = row
    table = pd.DataFrame(rows).T
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    return table


def training_table(results: xr.Dataset) -> pd.DataFrame:
    """What starts cost and know: multiply-adds in sweeps, training, F before any sweep, time with
    the settle.
    """
    rows = {}
    for model in results["model"].values.tolist():
        for name in starts(results, model):
            one = results.sel(model=model, start=name)
            learned = name in LEARNED
            row = {
                "cost [sweeps]": ranged(one["cost"], "{:.1f}"),
                "training [s]": ranged(one["train_time"], "{:.0f}") if learned else "",
                "rate": ranged(one["rate"], "{:g}"),
                "F above minimum, validation": ranged(one["excess"]),
                "untrained": ranged(one["excess_untrained"]) if learned else "",
            }
            if "time_ratio" in one:
                row |= {
                    f"time, {SOLVERS[s][0]}": ranged(
                        one["time_ratio"].sel(timed_solver=s), "{:.2f}"
                    )
                    for s in one["timed_solver"].values.tolist()
                }
            rows[label(results, model), STARTS[name][0]] = row
    return pd.DataFrame(rows).T


def ends_table(results: xr.Dataset) -> pd.DataFrame:
    """Where starts end, against the end of the cold one; the largest over sets and inputs, medians
    over seeds.
    """
    rows = {}
    for model in results["model"].values.tolist():
        for name in [n for n in starts(results, model) if n != "cold"]:
            one = results.sel(model=model, start=name)
            rows[label(results, model), STARTS[name][0]] = {
                "distance of codes": ranged(one["end_distance"].max("set"), "{:.1g}"),
                "of energies": ranged(one["end_height"].max("set"), "{:.1g}"),
                "other support [%]": ranged(100 * one["end_differs"].mean("set"), "{:.0f}"),
                "lower energy [%]": ranged(100 * one["end_lower"].mean("set"), "{:.0f}"),
            }
    return pd.DataFrame(rows).T


def starts_table(results: xr.Dataset) -> pd.DataFrame:
    """What starts know before any sweep, by set: height of F, distance of codes, overlap of
    supports (by layer).
    """
    rows = {}
    for model in results["model"].values.tolist():
        for name in starts(results, model):
            row = {}
            for kind, title in SETS.items():
                one = results.sel(model=model, start=name, set=kind)
                overlaps = one["overlap"].median("seed").dropna("layer").values
                row |= {
                    (title, "F above minimum"): ranged(one["start_height"], "{:.2g}"),
                    (title, "distance"): ranged(one["start_distance"], "{:.2f}"),
                    (title, "overlap by layer"): " / ".join(f"{v:.2f}" for v in overlaps),
                }
            rows[label(results, model), STARTS[name][0]] = row
    table = pd.DataFrame(rows).T
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    return table
