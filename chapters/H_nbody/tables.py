"""Force composition in full, in words and tables; everything said is computed from the results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from chapters.H_nbody.figures import KINDS, growth, interaction, plane
from vnlib.plots.rows import label
from vnlib.plots.texts import ranged

VN = ("vn_literal_3", "vn_gated_3", "vn_token_3", "vn_literal_1", "vn_gated_1", "vn_token_1")
OTHERS = ("mlp", "gnn", "transformer", "mamba", "film", "factorized")
NOTHING = "Not computed in this profile."
STILL = 1.5  # a factor below which an error hardly changes


def here(shared: xr.Dataset, models: Sequence[str]) -> list[str]:
    return [m for m in models if m in shared["model"].values]


def factor(log10: float) -> str:
    """A factor as text."""
    return f"{10**log10:.2g}" if abs(log10) < 2 else f"{10**log10:.0f}"


def listed(names: Sequence[str]) -> str:
    """Names in italics, since some hold commas."""
    return ", ".join(f"*{name}*" for name in names) if names else "none"


# --- bodies that drop out ---


def direction(ids: float, oods: float) -> str:
    """The way a model moves in the plane, from the log10 of its growth along both axes."""
    if np.hypot(ids, oods) <= np.log10(STILL):
        return "hardly"
    turn = int(np.rint(np.arctan2(oods, ids) / (np.pi / 4))) % 8
    ways = [
        "ID up",
        "both up",
        "OOD up",
        "ID down, OOD up",
        "ID down",
        "both down",
        "OOD down",
        "ID up, OOD down",
    ]
    return ways[turn]


def growth_table(shared: xr.Dataset, kind: str = "absolute") -> pd.DataFrame:
    """Medians over force sets with five bodies, and their growth to three; medians over seeds with
    their range.
    """
    points, moved = plane(shared, kind), growth(shared, kind)
    most = int(shared["bodies"].max())
    rows = {}
    for model in shared["model"].values:
        at, steps = points.sel(model=model, bodies=most), moved.sel(model=model)
        way = direction(*(float(steps[name].median()) for name in ("id", "ood")))
        rows[label(shared, model)] = {
            f"ID, N = {most}": f"{float(at['id'].median()):.2g}",
            f"OOD, N = {most}": f"{float(at['ood'].median()):.2g}",
            "all 15 sets": f"{float(at['pool'].median()):.2g}",
            "ID grows by": ranged(10 ** steps["id"], "{:.2g}"),
            "OOD grows by": ranged(10 ** steps["ood"], "{:.2g}"),
            "all grow by": f"{float((10 ** steps['pool']).median()):.2g}",
            "moves": way,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(None)


def dropout(shared: xr.Dataset) -> str:
    """Which way models move as bodies drop out, absolute and relative, as Markdown."""
    lines = []
    for kind in KINDS:
        moved, ways = growth(shared, kind).median("seed"), {}
        for model in here(shared, [*VN, *OTHERS, "random"]):
            at = moved.sel(model=model)
            ways.setdefault(direction(float(at["id"]), float(at["ood"])), []).append(
                label(shared, model)
            )
        said = "; ".join(f"{way}: {listed(names)}" for way, names in ways.items())
        lines.append(f"- **{kind.capitalize()} errors** from five bodies to three: {said}.")
    pool = plane(shared).median("seed")
    below = (pool["pool"] < pool["id"]).any("bodies")
    names = [label(shared, m) for m in shared["model"].values if bool(below.sel(model=m))]
    lines.append(
        f"- **Below the diagonal** for some N, with all 15 sets as the pool: {listed(names)}."
    )
    under = (pool["ood"] < pool["id"]).any("bodies")
    names = [label(shared, m) for m in shared["model"].values if bool(under.sel(model=m))]
    lines.append(f"- **The same with mixtures alone:** {listed(names)}.")
    return "\n".join(lines)


# --- feedback ---


def feedback_table(results: xr.Dataset, reading: str) -> pd.DataFrame | str:
    """All variants of one reading in numbers: medians over seeds, errors with their range."""
    if reading not in results["model"].values:
        return NOTHING
    rows = {}
    for variant in results["variant"].values:
        one = results.sel(model=reading, variant=variant)
        rows[str(variant)] = {
            "ID validation": ranged(one["criterion"]),
            "ID test": ranged(one["id_error"]),
            "OOD": ranged(one["ood_error"]),
            "OOD [(box/s²)²]": ranged(one["ood_mse"]),
            "dead": f"{float(one['fact_dead'].median()):.0f}",
            "revived": f"{float(one['fact_revived'].median()):.0f}",
            "used": f"{float(one['fact_used'].median()):.0f}",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(None)


def feedback(results: xr.Dataset) -> str:
    """What feedback, revival, the split and the inversion change in each reading, as Markdown."""
    lines = []
    for reading in results["model"].values:
        name = str(results["label"].sel(model=reading).item())
        lines.append(f"- **{name}.** {_feedback(results.sel(model=reading))}")
    return "\n".join(lines)


def _feedback(one: xr.Dataset) -> str:
    """The same of one reading; factors of errors, medians over seeds of ratios within a seed."""
    default = float(one["beta"].values[one["kind"].values == "inverted"][0])

    def against(name: str, log: xr.DataArray) -> str:
        worse = int((log > 0).sum())
        return f"{name} × {factor(float(log.median()))} (higher in {worse} of {log.size} seeds)"

    found = {name: interaction(one, name) for name in ("id_error", "ood_error")}
    plain = np.flatnonzero((one["kind"] == "plain") & ~one["revive"])
    middle = one["ood_error"].isel(variant=plain).median("seed")
    best = float(one["beta"].values[plain][int(np.argmin(middle.values))])
    said = [
        f"β = {default:g} against 0: {against('ID error', found['id_error']['off'])}, "
        f"{against('OOD error', found['ood_error']['off'])}; of all β the least OOD error has "
        f"{best:g}."
    ]
    dead = float(one["fact_dead"].isel(variant=plain).max())
    names = [f"beta {b:g}, revived" for b in (0, default)]
    revived = float(one["fact_revived"].sel(variant=names).max())
    both = found["ood_error"]["both"]
    if revived:
        said.append(
            f"With dead atoms drawn anew (up to {revived:.0f} of them) the OOD error is × "
            f"{factor(float(found['ood_error']['revive'].median()))} without feedback, and the "
            f"interaction is {ranged(both, '{:.3f}')}, positive in {int((both > 0).sum())} of "
            f"{both.size} seeds."
        )
    else:
        said.append("No atom was ever drawn anew, so whether the two compete cannot be seen here.")
    said.append(f"At most {dead:.0f} atoms are used by no training state.")
    logs = np.log10(one["ood_error"])
    base = logs.sel(variant=f"beta {default:g}", drop=True)
    for kind, text in {"split": "A readout per force", "inverted": "The inverted coupling"}.items():
        at = np.flatnonzero(one["kind"].values == kind)
        if at.size:
            log = logs.isel(variant=at[0]) - base
            same = bool(
                (
                    one.isel(variant=at[0])["ood_error"]
                    == one.sel(variant=f"beta {default:g}")["ood_error"]
                ).all()
            )
            said.append(
                f"{text} changes nothing." if same else f"{text}: {against('OOD error', log)}."
            )
    return " ".join(said)


# --- rollouts ---


def final_drift(shared: xr.Dataset) -> xr.DataArray:
    """Squared distance from the truth at the last step, median over starts (model, seed, panel)."""
    return shared["drift"].isel(step=-1).median("start")


def rollouts(shared: xr.Dataset) -> str:
    """Who drifts least, and what one-step errors tell of it, as Markdown."""
    if "drift" not in shared:
        return NOTHING
    last = final_drift(shared).median("seed")
    rivals, vn, lines = here(shared, OTHERS), here(shared, VN), []
    panels = [str(p) for p in last["panel"].values]
    for model in vn:
        if rivals:
            won = int((last.sel(model=model) < last.sel(model=rivals).min("model")).sum())
            lines.append(
                f"- **{label(shared, model)}** drifts least on {won} of {len(panels)} panels, "
                f"against {len(rivals)} models."
            )
    best = {
        p: label(shared, str(last["model"].values[int(np.nanargmin(last.sel(panel=p).values))]))
        for p in panels
    }
    lines.append(
        "- **Least drift of all, controls included:** "
        + "; ".join(f"{p}: {m}" for p, m in best.items())
        + "."
    )
    lines.append(f"- **One-step error and drift:** {_rank(shared, last)}")
    if vn and "factorized" in rivals:
        lines.append(f"- **Factorized:** {_later(shared, vn[0])}")
    return "\n".join(lines)


def _rank(shared: xr.Dataset, last: xr.DataArray) -> str:
    most = shared["bodies"].max()
    error = shared["mse"].sel(way="joint", bodies=most).median("seed")
    ranks = []
    for panel in last["panel"].values:
        if panel in error["forces"].values:
            pair = pd.DataFrame(
                {"error": error.sel(forces=panel).values, "drift": last.sel(panel=panel).values}
            )
            ranks.append(pair.dropna().corr("spearman").iloc[0, 1])
    ranks = [rank for rank in ranks if np.isfinite(rank)]
    if not ranks:
        return "there are too few models to compare them."
    low, high = min(ranks), max(ranks)
    return (
        f"their rank correlation over {last.sizes['model']} models is between {low:.2f} and "
        f"{high:.2f}, by panel."
    )


def _later(shared: xr.Dataset, model: str) -> str:
    """How far off Factorized is beside the VN, early and late."""
    middle = shared["drift"].median("start").median("seed")
    steps = shared["step"].values
    ratio = middle.sel(model="factorized") / middle.sel(model=model)
    early = ratio.sel(step=steps[-1] / 10, method="nearest")
    late = ratio.isel(step=-1)
    error = (shared["mse"].sel(way="joint") / shared["power"]).sel(bodies=shared["bodies"].max())
    one = {
        m: float(error.sel(model=m, forces=[str(p) for p in ratio["panel"].values]).median())
        for m in ("factorized", model)
    }
    own = label(shared, model)
    return (
        f"its one-step error over the power of accelerations is {one['factorized']:.2g} (median "
        f"over panels, seeds), that of {own} {one[model]:.2g}. Its drift over that of {own} is "
        f"{float(early.median()):.2g} after a tenth of the steps and {float(late.median()):.2g} "
        f"at the end (medians over panels); it ends farther off on {int((late > 1).sum())} of "
        f"{late.size} panels."
    )


def summary(shared: xr.Dataset, results: xr.Dataset) -> str:
    """A table of models, bodies that drop out and rollouts, and a line on feedback."""
    lines, models = [], here(shared, [*VN, *OTHERS])
    if models:
        moved = growth(shared).median("seed")
        last = final_drift(shared).median("seed") if "drift" in shared else None
        head = (
            "median errors, three bodies over five",
            "in distribution (×)",
            "mixtures (×)",
            "drift at the end [box²]",
        )
        lines += [f"| {' | '.join(head)} |", "|---" + "|---:" * 3 + "|"]
        for m in models:
            cells = [
                label(shared, m),
                *(factor(float(moved[axis].sel(model=m))) for axis in ("id", "ood")),
            ]
            cells.append("" if last is None else f"{float(last.sel(model=m).median()):.2g}")
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    effects = []
    for reading in results["model"].values:
        off = interaction(results.sel(model=reading))["off"]
        name = str(results["label"].sel(model=reading).item())
        effects.append(
            f"{name} × {factor(float(off.median()))} (in {int((off < 0).sum())} of "
            f"{off.size} seeds below 1)"
        )
    lines.append(
        f"**A little feedback** multiplies the error on mixtures by: {'; '.join(effects)}."
    )
    return "\n".join(lines)
