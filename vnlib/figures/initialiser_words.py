"""Learned starts in words and tables; everything said is computed from the results.

`results` as in `figures.initialiser`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.figures.initialiser import LEVEL, SETS, SOLVERS, STARTS, free, starts
from vnlib.figures.rows import label
from vnlib.figures.selection_words import listed, ranged

LEARNED = ("steps", "lista", "lista_energy", "linear", "mlp")


def shown(value: float, text: str = "{:.0f}") -> str:
    """A number of sweeps; more than were tried where it is infinite."""
    return text.format(value) if np.isfinite(value) else "not reached"


def at_level(results: xr.Dataset, model: str, kind: str = "id", level: float = LEVEL) -> xr.Dataset:
    """What holds of one network, set and height, medians over seeds (start, solver)."""
    one = results[["sweeps", "cost", "saved", "saved_paid"]].sel(model=model, set=kind)
    return one.sel(level=level, method="nearest").median("seed")


def cheapest(results: xr.Dataset, model: str, kind: str = "id", *, learned: bool) -> tuple[str, str, float]:
    """The start and solver with the fewest sweeps to a height of 1e-3, cost of the start included.

    learned: of learned starts, or of those that nothing is trained for.
    """
    one = at_level(results, model, kind)
    total = one["sweeps"] + one["cost"]
    names = [name for name in starts(results, model) if (name in LEARNED) == learned]
    pairs = [(name, solver) for name in names for solver in SOLVERS]
    name, solver = min(pairs, key=lambda pair: float(total.sel(start=pair[0], solver=pair[1])))
    return name, solver, float(total.sel(start=name, solver=solver))


def summary(results: xr.Dataset) -> str:
    """What came out, in a few lines of Markdown."""
    lines = []
    for model in results["model"].values.tolist():
        if not any(name in LEARNED for name in starts(results, model)):
            continue
        one = at_level(results, model)
        cold = {solver: float(one["sweeps"].sel(start="cold", solver=solver)) for solver in SOLVERS}
        name, solver, total = cheapest(results, model, learned=True)
        plain = min(
            (n for n in starts(results, model) if n in LEARNED),
            key=lambda n: float(one["sweeps"].sel(start=n, solver="ista") + one["cost"].sel(start=n)),
        )
        after = float(one["sweeps"].sel(start=plain, solver="ista") + one["cost"].sel(start=plain))
        lines.append(
            f"- *{label(results, model)}*, in distribution. Plain steps need {shown(cold['ista'])} sweeps from a cold "
            f"start, {shown(after)} with the best learned start ({STARTS[plain][0]}), its cost included. Without any "
            f"learning, with momentum: {shown(cold['restart'])}, and with a line search: {shown(cold['line_search'])}. "
            f"The cheapest that is learned: {STARTS[name][0]}, then {SOLVERS[solver][0]}, {shown(total, '{:.1f}')}."
        )
    return "\n".join([*lines, _same_end(results)])


def _same_end(results: xr.Dataset) -> str:
    parts = []
    if models := free(results):
        one = results.sel(model=models)
        parts.append(
            f"Without a cap all starts end in one point: relative distances of codes are at most "
            f"{float(one['end_distance'].max()):.1g}, of energies {float(one['end_height'].max()):.1g}, at relative "
            f"duality gaps of at most {float(one['end_gap'].max()):.1g}."
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
    """What is left of the savings out of distribution, as Markdown."""
    lines = []
    for model in results["model"].values.tolist():
        said = []
        for name in [n for n in starts(results, model) if n in LEARNED]:
            parts = []
            for kind in SETS:
                share = at_level(results, model, kind)["saved_paid"].sel(start=name)
                parts.append(listed([_percent(float(share.sel(solver=solver))) for solver in SOLVERS]))
            said.append(f"{STARTS[name][0]}: {'; '.join(parts)}")
        if said:
            lines.append(f"- *{label(results, model)}*. {'. '.join(said)}.")
    order = listed([title for title, _, _ in SOLVERS.values()])
    return "\n".join([f"Per set ({'; '.join(SETS.values())}), with {order}, cost included:", "", *lines])


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if np.isfinite(share) else "–"


def against(results: xr.Dataset) -> str:
    """Whether momentum, which is free, gives as much as learning does, as Markdown."""
    lines = []
    for model in results["model"].values.tolist():
        if not any(name in LEARNED for name in starts(results, model)):
            continue
        parts = []
        for kind, title in SETS.items():
            _, _, learned = cheapest(results, model, kind, learned=True)
            name, solver, plain = cheapest(results, model, kind, learned=False)
            kept = "fewer" if learned < plain else "not fewer"
            parts.append(
                f"{title}: {shown(learned, '{:.1f}')} learned, {shown(plain, '{:.1f}')} without ({STARTS[name][0]}, "
                f"{SOLVERS[solver][0]}), {kept}"
            )
        lines.append(f"- *{label(results, model)}*. {'; '.join(parts)}.")
    return "\n".join(lines)


# --- tables -----------------------------------------------------------------------------------------------------------


def sweeps_table(results: xr.Dataset, level: float = LEVEL) -> pd.DataFrame:
    """Sweeps to a height by set and solver, without what the start costs; medians over inputs and seeds."""
    rows = {}
    for model in results["model"].values.tolist():
        for name in starts(results, model):
            row = {("", "cost"): shown(float(results["cost"].sel(model=model, start=name).median()), "{:.1f}")}
            for kind, title in SETS.items():
                one = at_level(results, model, kind, level)["sweeps"].sel(start=name)
                row |= {(title, SOLVERS[s][0]): shown(float(one.sel(solver=s))) for s in SOLVERS}
            rows[label(results, model), STARTS[name][0]] = row
    table = pd.DataFrame(rows).T
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    return table


def training_table(results: xr.Dataset) -> pd.DataFrame:
    """What starts cost and know: multiply-adds in sweeps, training, F before any sweep, time with the settle."""
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
                    f"time, {SOLVERS[s][0]}": ranged(one["time_ratio"].sel(timed_solver=s), "{:.2f}")
                    for s in one["timed_solver"].values.tolist()
                }
            rows[label(results, model), STARTS[name][0]] = row
    return pd.DataFrame(rows).T


def ends_table(results: xr.Dataset) -> pd.DataFrame:
    """Where starts end, against the end of the cold one; the largest over sets and inputs, medians over seeds."""
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
    """What starts know before any sweep, by set: height of F, distance of codes, overlap of supports (by layer)."""
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
