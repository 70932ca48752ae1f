"""Force composition in words and tables; everything said is computed from the results, as medians
over seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import xarray as xr

from benchmarks.nbody.figures import BLANK, by_number, error, in_order, inside_and_out
from vnlib.plots.rows import label
from vnlib.plots.texts import short

NOTHING = "Not computed in this profile."
SAME_TOKENS = ("token_mlp", "rbf_tokens")
# Of the other models of the paper, those that do not add up forces by construction.
JOINT = ("mlp", "gnn", "transformer", "mamba", "film")


def here(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    return [m for m in models if m in results["model"].values]


def cells(results: xr.Dataset, *, relative: bool = False, way: str = "joint") -> xr.DataArray:
    """Median errors (model, number, bodies) of mixtures."""
    found = by_number(results, error(results, relative=relative, way=way)).median("seed")
    return found.sel(number=[2, 3, 4])


def wins(values: xr.DataArray, model: str, others: Sequence[str]) -> int:
    """In how many cells a model has less error than each of the others."""
    return int((values.sel(model=model) < values.sel(model=list(others)).min("model")).sum())


def vns(results: xr.Dataset, depth: int | None = None) -> list[str]:
    return [m for m in in_order(results, ("vn",)) if depth is None or m.endswith(f"_{depth}")]


def rivals(results: xr.Dataset) -> list[str]:
    return in_order(results, ("printed",))


def summary(results: xr.Dataset) -> str:
    """What came out, as Markdown."""
    others = rivals(results)
    if not others or not vns(results):
        return NOTHING
    joint, count = cells(results), cells(results).isel(model=0).size
    single = (
        by_number(results, error(results, relative=True)).sel(number=1, bodies=5).median("seed")
    )
    worst = {m: float(single.sel(model=m)) for m in [*vns(results), *others]}
    fits = [m for m in worst if worst[m] <= 0.1]
    lines = [
        f"- **Single forces:** {len(fits)} of {len(worst)} trained models have a relative error "
        f"of at most 0.1; the highest is {short(max(worst.values()))} "
        f"({label(results, max(worst, key=worst.__getitem__))})."
    ]
    said = "; ".join(f"{label(results, m)} in {wins(joint, m, others)}" for m in vns(results))
    lines.append(
        f"- **Mixtures, all forces at once:** of the {count} cells (2 to 4 forces by numbers of "
        f"bodies) these Vector Networks have less error than all {len(others)} other trained "
        f"models of the paper: {said}."
    )
    additive = here(results, ["factorized"])
    if additive:
        rest = [m for m in others if m not in additive]
        said = "; ".join(f"{label(results, m)} in {wins(joint, m, rest)}" for m in vns(results))
        lines.append(
            f"- **The same without Factorized,** which adds up forces by construction: {said}."
        )
    lines += _controls(results, joint)
    return "\n".join(lines)


def _controls(results: xr.Dataset, joint: xr.DataArray) -> list[str]:
    lines, tokens = [], [m for m in vns(results) if m.startswith("vn_token")]
    for model in tokens:
        said = [
            f"{label(results, c)} has less error in "
            f"{int((joint.sel(model=c) < joint.sel(model=model)).sum())}"
            for c in here(results, [*SAME_TOKENS, "linear_tokens"])
        ]
        if said:
            lines.append(
                f"- **Same tokens, other learners,** against {label(results, model)}: "
                f"{'; '.join(said)} cells."
            )
    if asked := here(results, JOINT):
        out = {
            way: inside_and_out(error(results, way=way))[1].median("seed")
            for way in ("joint", "passes")
        }
        ratio = {m: float(out["passes"].sel(model=m) / out["joint"].sel(model=m)) for m in asked}
        said = "; ".join(f"{label(results, m)} {short(v)}" for m, v in ratio.items())
        lines.append(
            "- **One pass per force, the same weights,** leaves of the error on mixtures "
            f"these shares: {said}."
        )
    return lines


def numbers(results: xr.Dataset) -> pd.DataFrame:
    """Errors per model with five bodies, plain and relative: medians over seeds."""
    both = {
        flag: by_number(results, error(results, relative=flag)).median("seed")
        for flag in (False, True)
    }
    inside, outside = inside_and_out(error(results))
    rows = {}
    for m in in_order(results, blank=True):
        plain, relative = (both[flag].sel(model=m, bodies=5) for flag in (False, True))
        rows[label(results, m)] = (
            {"1 force": short(float(plain.sel(number=1)))}
            | {f"{n} forces": short(float(plain.sel(number=n))) for n in (2, 3, 4)}
            | {f"relative, {n}": short(float(relative.sel(number=n))) for n in (1, 2, 3, 4)}
            | {"OOD / ID": short(float((outside / inside).sel(model=m).median("seed")))}
        )
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="model")
    )


def dropped(results: xr.Dataset) -> pd.DataFrame:
    """Errors with three bodies over errors with five, of single forces and of mixtures, plain and
    relative.
    """
    rows: dict[str, dict[str, str]] = {}
    for relative, name in ((False, "MSE"), (True, "relative MSE")):
        found = by_number(results, error(results, relative=relative)).median("seed")
        parts = {
            "single forces": found.sel(number=1),
            "mixtures": found.sel(number=[2, 3, 4]).mean("number"),
        }
        for what, values in parts.items():
            ratio = values.sel(bodies=3) / values.sel(bodies=5)
            for m in in_order(results, blank=True):
                rows.setdefault(label(results, m), {})[f"{what}, {name}"] = short(
                    float(ratio.sel(model=m))
                )
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="model")
    )


def dropout_said(results: xr.Dataset) -> str:
    """For how many models fewer bodies make mixtures harder, in either measure."""
    models, said = in_order(results), []
    if not models:
        return NOTHING
    for relative, name in ((False, "MSE"), (True, "relative MSE")):
        found = cells(results, relative=relative).mean("number")
        worse = [m for m in models if found.sel(model=m, bodies=3) > found.sel(model=m, bodies=5)]
        which = (
            f" ({'; '.join(label(results, m) for m in worse)})"
            if worse and len(worse) < len(models)
            else ""
        )
        said.append(f"in {name} for {len(worse)} of {len(models)} models{which}")
    power = (
        by_number(results, results["power"].isel(seed=0, model=0))
        .sel(number=[2, 3, 4])
        .mean("number")
    )
    ratio = float(power.sel(bodies=3) / power.sel(bodies=5))
    return (
        f"On mixtures, three bodies are harder than five {'; '.join(said)}. The accelerations "
        f"themselves have {ratio:.2f} times the power, since every body has fewer others to act "
        "on it."
    )


def rises_said(results: xr.Dataset) -> str:
    """Which models' errors rise from each number of forces to the next."""
    models, said = in_order(results), []
    if not models:
        return NOTHING
    for relative, name in ((False, "the MSE"), (True, "the relative MSE")):
        five = (
            by_number(results, error(results, relative=relative))
            .sel(bodies=5)
            .median("seed")
            .sortby("number")
        )
        rising = [m for m in models if bool((five.sel(model=m).diff("number") > 0).all())]
        said.append(
            f"{name} rises from one force to four without exception for {len(rising)} of "
            f"{len(models)} models"
        )
    return f"With five bodies {', '.join(said)}."


def diagonal_said(results: xr.Dataset) -> str:
    """Who is nearest the diagonal, and who has the lowest error out of distribution."""
    models = in_order(results)
    if not models:
        return NOTHING
    inside, outside = (v.median("seed") for v in inside_and_out(error(results)))
    ratio = (outside / inside).sel(model=models)
    order = [str(m) for m in ratio.sortby(ratio)["model"].values[:3]]
    lowest = [
        str(m)
        for m in outside.sel(model=models).sortby(outside.sel(model=models))["model"].values[:3]
    ]

    def named(names: Sequence[str], values: xr.DataArray) -> str:
        return "; ".join(f"{label(results, m)} {short(float(values.sel(model=m)))}" for m in names)

    said = [
        f"Nearest to the diagonal (OOD / ID): {named(order, ratio)}.",
        f"Lowest OOD error: {named(lowest, outside)}.",
    ]
    if BLANK in results["model"].values:
        blank = short(float(outside.sel(model=BLANK) / inside.sel(model=BLANK)))
        said.append(
            f"The mean prediction has a ratio of {blank}: so much the power of accelerations grows."
        )
    return " ".join(said)


def passes_said(results: xr.Dataset) -> str:
    """How far from superposition the models are that are free to leave it."""
    models = in_order(results)
    if not models:
        return NOTHING
    gap = results["gap"].where(results["forces"].str.contains(r"\+")).mean("forces").median("seed")
    exact = [m for m in models if gap.sel(model=m) < 1e-6]
    far = sorted((m for m in models if m not in exact), key=lambda m: -float(gap.sel(model=m)))
    said = f"Of {len(models)} models {len(exact)} superpose forces exactly, as they are built"
    if far:
        named = "; ".join(f"{label(results, m)} {short(float(gap.sel(model=m)))}" for m in far)
        said += f"; the others deviate by, in shares of the power: {named}"
    return f"{said}."


def simulator(results: xr.Dataset) -> pd.DataFrame | str:
    """What was measured of the simulator."""
    if "sim_order" not in results:
        return NOTHING
    one = results.isel(model=0, seed=0)
    rows = {
        f"{law}: distance from the closed form, 5 s [box]": one["sim_exact"].sel(law=law)
        for law in one["law"].values
    }
    rows |= {
        f"{name}: relative change of energy, median (worst) of 16 trajectories": (
            f"{short(float(one['sim_energy'].sel(conserved=name)))} "
            f"({short(float(one['sim_energy_worst'].sel(conserved=name)))})"
        )
        for name in one["conserved"].values
    }
    rows |= {
        "change of total momentum under gravity and springs [box/s]": one["sim_momentum"],
        "accelerations of mixtures minus sums [box/s²]": one["sim_superposition"],
        "order of convergence": one["sim_order"],
        "first step outside the box, deviation from 0.98 and 0.9 [box]": one["sim_boundary"],
    }
    shown = {name: v if isinstance(v, str) else short(float(v)) for name, v in rows.items()}
    return pd.DataFrame({"measured": shown}).rename_axis(None).rename_axis(columns="what")


def levelled(results: xr.Dataset, most: float = 0.3) -> str:
    """Which models still improved: whose validation error fell by more than `most` after 0.7 of the
    updates.
    """
    models = [m for m in in_order(results) if bool(results["curve"].sel(model=m).notnull().any())]
    if not models:
        return NOTHING
    curve = results["curve"].median("seed")
    late, end = (curve.sel(share=at, method="nearest") for at in (0.7, 1.0))
    gain = {m: 1 - float(end.sel(model=m) / late.sel(model=m)) for m in models}
    moving = [f"{label(results, m)} ({100 * gain[m]:.0f} %)" for m in models if gain[m] > most]
    said = f"by more than {100 * most:.0f} % in the last three tenths of the updates"
    if not moving:
        return f"No model's validation error fell {said}."
    return (
        f"The validation error still fell {said} of {', '.join(moving)}: with more updates "
        "these would fit better."
    )
