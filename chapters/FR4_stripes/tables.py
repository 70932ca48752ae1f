"""What decoders learn from stripes in numbers, from the dataset of `study.results`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import xarray as xr
from IPython.display import HTML

from chapters.FR4_stripes.claims import ALONE, FEW, MOST, STRIPES, TARGET, middle, zero_baseline
from vnlib.plots.candidates import candidates
from vnlib.plots.frames import label
from vnlib.plots.statistics import percent, texts
from vnlib.plots.tables import Table, frame, if_computed, spreads

KINDS = {"stripes": "stripes and bumps", "bumps": "bumps only"}
TAGS = {STRIPES: "stripes", FEW: "few", ALONE: "alone", MOST: "all"}
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


@if_computed
def by_diet(results: xr.Dataset, model: str) -> Table:
    """One row per diet of a model: median and range over seeds."""
    diets = diets_of(results, model)
    one = results.sel(model=model, diet=diets).drop_vars("label")
    found = spreads({title: one[name] for name, title in COLUMNS.items()}, "diet")
    found.insert(0, ("items", ""), one["items"].max("seed").values)
    found.index = pd.Index(map(_spaced, diets), name="diet")
    return Table(found, formats={"items": "{:.0f}"}, name=f"the model {model} by diet")


@if_computed
def side_by_side(results: xr.Dataset, models: Sequence[str]) -> Table:
    """Joint accuracy of bumps and OOD error of models (rows) by diet, medians over seeds."""
    rows = {
        (label(results, model), title): {
            _spaced(diet): middle(results, name, model, diet) for diet in diets_of(results, model)
        }
        for model in models
        for name, title in (("bump_hit_ood", "accuracy of bumps"), ("mse_ood", "OOD error"))
    }
    zero = {(label(results, m), "OOD error"): zero_baseline(results, m) for m in models}
    found = frame(rows, "model", "").assign(**{"zero image": pd.Series(zero)})
    return Table(found, name="accuracies and errors by model and diet")


def _spaced(diet: str) -> str:
    return diet.replace("+", " + ")


@if_computed
def exponents(laws: xr.Dataset) -> Table:
    """Fitted exponents with 95 % intervals, and how often the target is reached."""
    rows = {}
    for measure, title in MEASURES.items():
        for kind, diet in KINDS.items():
            for target in laws["target"].values:
                one = laws.sel(kind=kind, measure=measure, target=target)
                rows[f"{title}, {target:g}", diet] = {
                    ("exponent [95 %]", "median"): float(one["exponent"]),
                    ("exponent [95 %]", "low"): float(one["low"]),
                    ("exponent [95 %]", "high"): float(one["high"]),
                    "sides": float(one["sides"]),
                    "runs that reach it": float(one["reached"]),
                }
    formats = {"sides": "{:.0f}", "runs that reach it": percent}
    return Table(frame(rows, "accuracy", "diet"), formats=formats, name="fitted exponents")


def tried(selection: xr.Dataset | None) -> Table | HTML:
    """The candidates of all models, by what they were compared by: the error on ID validation bumps
    of the one diet that selects.
    """
    return candidates(
        selection, lambda runs: runs["mse_val"].isel(diet=0), title="ID validation error"
    )


def numbers(results: xr.Dataset, laws: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds, by model and diet."""
    middle = results[["hit_ood", "bump_hit_ood", "cross_share_ood", "mse_ood", "zero_baseline_ood"]]
    middle = middle.sel(diet=list(TAGS)).assign_coords(diet=list(TAGS.values())).median("seed")
    shares = {"hits": "hit_ood", "bumps": "bump_hit_ood", "crosses": "cross_share_ood"}
    fits, reached = laws.sel(target=TARGET), laws["reached"].sel(kind="bumps", target=TARGET)
    return {
        **texts("fr4", {tag: middle[name] for tag, name in shares.items()}, percent),
        **texts("fr4-error", middle["mse_ood"] / middle["zero_baseline_ood"]),
        **texts("fr4-law", fits[["exponent", "low", "high"]].sel(kind="stripes")),
        **texts("fr4-law-bumps-reached", reached.max(), percent),
    }
