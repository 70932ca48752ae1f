"""What decoders learn from stripes in numbers, from the dataset of `study.results`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from IPython.display import HTML

from chapters.FR4_stripes.claims import ALONE, FEW, MOST, STRIPES, TARGET, middle, zero_baseline
from vnlib.plots.candidates import candidates
from vnlib.plots.frames import label
from vnlib.plots.statistics import short
from vnlib.plots.tables import Table, caption, spread

KINDS = {"stripes": "stripes and bumps", "bumps": "bumps only"}
MEASURES = {"hit": "place: joint accuracy", "bump_hit": "place and form: a bump there"}
COLUMNS = {
    "hit_ood": "joint accuracy",
    "bump_hit_ood": "of bumps",
    "cross_share_ood": "crosses",
    "mse_ood": "OOD error",
    "mse_id": "ID error",
    "stripe_mse": "error on stripes",
}


def amounts(results: xr.Dataset, kind: str, model: str) -> list[str]:
    """The diets of a kind that a model was trained on, fewest bumps first."""
    bumps = results["bumps"].sel(model=model).max("seed").dropna("diet")
    names = [name for name in bumps["diet"].values.tolist() if name.startswith(f"{kind}+")]
    return sorted(names, key=lambda name: float(bumps.sel(diet=name)))


def diets_of(results: xr.Dataset, model: str) -> list[str]:
    """All diets of a model, those with stripes first."""
    return [diet for kind in KINDS for diet in amounts(results, kind, model)]


def by_diet(results: xr.Dataset, model: str) -> Table | HTML:
    """One row per diet of a model: median and range over seeds."""
    if model not in results["model"].values:
        return caption(f"The model {model} was not asked for.")
    one = results.sel(model=model, diet=diets_of(results, model)).drop_vars("label")
    parts = [spread(one[name], "diet", title=title) for name, title in COLUMNS.items()]
    frame = pd.concat(parts, axis=1)
    frame.insert(0, ("items", ""), one["items"].max("seed").values)
    return Table(_spaced(frame), formats={"items": "{:.0f}"}, name=f"the model {model} by diet")


def side_by_side(results: xr.Dataset, models: Sequence[str]) -> Table | HTML:
    """Joint accuracy of bumps and OOD error of models (rows) by diet, medians over seeds."""
    present = [m for m in models if m in results["model"].values]
    if not present:
        return caption("None of these models was asked for.")
    rows = {}
    for model in present:
        for name, title in (("bump_hit_ood", "accuracy of bumps"), ("mse_ood", "OOD error")):
            diets = diets_of(results, model)
            rows[label(results, model), title] = {d: middle(results, name, model, d) for d in diets}
        rows[label(results, model), "OOD error"]["zero image"] = zero_baseline(results, model)
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["model", ""])
    last = [c for c in frame.columns if c == "zero image"]
    frame = frame[[c for c in frame.columns if c not in last] + last]
    return Table(_spaced(frame.T).T, name="accuracies and errors by model and diet")


def _spaced(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(index=lambda name: str(name).replace("+", " + "))


def exponents(laws: xr.Dataset | None) -> Table | HTML:
    """Fitted exponents with 95 % intervals, and how often the target is reached."""
    if laws is None:
        return caption("No model of another image side was asked for.")
    rows = {}
    for measure, title in MEASURES.items():
        for kind, diet in KINDS.items():
            for target in laws["target"].values:
                one = laws.sel(kind=kind, measure=measure, target=target)
                rows[f"{title}, {target:g}", diet] = {
                    ("exponent [95 %]", "median"): float(one["exponent"]),
                    ("exponent [95 %]", "low"): float(one["low"]),
                    ("exponent [95 %]", "high"): float(one["high"]),
                    ("sides", ""): float(one["sides"]),
                    ("runs that reach it", ""): float(one["reached"]),
                }
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["accuracy", "diet"])
    formats = {"sides": "{:.0f}", "runs that reach it": lambda share: f"{100 * share:.0f} %"}
    return Table(frame, formats=formats, name="fitted exponents")


def tried(selection: xr.Dataset | None) -> Table | HTML:
    """The candidates of all models, by what they were compared by: the error on ID validation bumps
    of the one diet that selects.
    """
    return candidates(
        selection, lambda runs: runs["mse_val"].isel(diet=0), title="ID validation error"
    )


def numbers(results: xr.Dataset, laws: xr.Dataset | None) -> dict[str, str]:
    """What the prose says: medians over seeds, of what this profile has."""
    found = {}
    tags = {STRIPES: "stripes", FEW: "few", ALONE: "alone", MOST: "all"}
    shares = {"hit_ood": "hits", "bump_hit_ood": "bumps", "cross_share_ood": "crosses"}
    for model in results["model"].values.tolist():
        for diet in set(tags) & set(diets_of(results, model)):
            key = f"fr4-{model.replace('_', '-')}-{tags[diet]}"
            for name, tag in shares.items():
                found[f"{key}-{tag}"] = f"{100 * middle(results, name, model, diet):.0f} %"
            error = middle(results, "mse_ood", model, diet) / zero_baseline(results, model)
            found[f"{key}-error"] = short(error)
    if laws is not None:
        for measure in MEASURES:
            one = laws.sel(kind="stripes", measure=measure, target=TARGET)
            key = f"fr4-law-{measure.replace('_', '-')}"
            for name in ("exponent", "low", "high"):
                found[f"{key}-{name}"] = short(float(one[name]))
        bumps = laws["reached"].sel(kind="bumps", target=TARGET)
        found["fr4-law-bumps-reached"] = f"{100 * float(np.max(bumps)):.0f} %"
    return found
