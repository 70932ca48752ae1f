"""What decoders learn from stripes in numbers, from the dataset of `study.results`."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller

import xarray as xr

from benchmarks.spatial.settling import late_gain
from chapters.FR4_stripes.claims import ALONE, FEW, MOST, OPEN, STRIPES, TARGET
from vnlib.plots.statistics import STATISTICS, percent, texts
from vnlib.plots.tables import Table, if_computed, spreads

LENGTHS = ("cnn", "cnn_longer", "cnn_square", "cnn_square_longer")
KINDS = {"stripes": "stripes and bumps", "bumps": "bumps only"}
TAGS = {STRIPES: "stripes", FEW: "few", ALONE: "alone", MOST: "all"}
MEASURES = {"joint": "x and y", "marginal": "x or y", "drawn": "x, y and a bump"}
REGIONS = {"corner": "in a corner held out", "none": "never seen, nothing held out"}
PLACES = {"pixels": "on pixels", "anywhere": "anywhere"}
COLUMNS = {
    "hit_ood": "joint accuracy",
    "bump_hit_ood": "joint accuracy of bumps",
    "cross_share_ood": "more like a cross",
    "mse_ood": "OOD error",
}
_spaced = methodcaller("replace", "+", " + ")  # a diet, as readers see it


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
    """What a model draws at held-out positions, one row per diet."""
    one = results.sel(model=model, diet=diets_of(results, model))
    columns = {"items": one["items"].max("seed"), **one[[*COLUMNS]].rename(COLUMNS)}
    found = spreads(columns, "diet", diet=_spaced)
    return Table(found, {"items": "{:.0f}"}, name=f"the model {model} by diet")


@if_computed
def fits(results: xr.Dataset, model: str) -> Table:
    """How well a model fits what it was trained on, one row per diet. The late gain is the share of
    the validation error that the last fifth of the updates took away.
    """
    one = results.sel(model=model, diet=diets_of(results, model))
    columns = {
        "ID error": one["mse_id"],
        "error on stripes": one["stripe_mse"],
        "late gain": late_gain(one),
    }
    return Table(spreads(columns, "diet", diet=_spaced), name=f"fits of the model {model} by diet")


@if_computed
def side_by_side(results: xr.Dataset, models: Sequence[str]) -> Table:
    """Joint accuracy of bumps and OOD error of models by diet (rows)."""
    some = results.sel(model=list(models))
    diets = dict.fromkeys(diet for model in models for diet in diets_of(results, model))
    some = some.sel(diet=list(diets))
    columns = {
        "joint accuracy of bumps": some["bump_hit_ood"],
        "OOD error": some["mse_ood"],
        "zero baseline": some["zero_baseline_ood"].where(some["mse_ood"].notnull()),
    }
    found = spreads(columns, "model", "diet", diet=_spaced)
    return Table(found, name="accuracies and errors by model and diet")


def lengths(results: xr.Dataset) -> Table:
    """The same of the CNNs that were trained once, and with twice the updates."""
    diets = [diet for diet in TAGS if diet in results["diet"].values]
    return side_by_side(results.sel(diet=diets), LENGTHS)


@if_computed
def exponents(laws: xr.Dataset, target: float = TARGET) -> Table:
    """Every reading: fitted exponents with 95 % intervals, and how often the target is reached, in
    all and with the least dose.
    """
    some = laws.sel(target=target)
    fits = zip(STATISTICS[:3], ("exponent", "low", "high"), strict=True)
    columns = {("exponent [95 %]", end): some[name] for end, name in fits}
    columns |= {"sides": some["sides"], "reached": some["reached"], "at once": some["at_once"]}
    names = {"region": REGIONS, "places": PLACES, "kind": KINDS, "measure": MEASURES}
    found = spreads(columns, "region", "places", "kind", "measure", **names)
    found.index.names = ["positions", "bumps", "training", "accuracy"]
    formats = {"sides": "{:.0f}", "reached": percent, "at once": percent}
    return Table(found, formats, name="fitted exponents")


def numbers(results: xr.Dataset, laws: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds, by model and diet."""
    r = results.sel(diet=list(TAGS)).assign_coords(diet=list(TAGS.values()))
    shares = {"hit_ood": "hits", "bump_hit_ood": "bumps", "cross_share_ood": "crosses"}
    crosses = r["cross_share_ood"].sel(diet=TAGS[STRIPES]).dropna("model", how="all")
    fit = laws.sel(target=TARGET, **OPEN, kind="bumps", measure="joint")
    largest = (
        results["accuracy"].sel(**OPEN, kind="bumps", measure="joint").dropna("model", how="all")
    )
    largest = largest.isel(model=-1, dose=slice(-2, None)).transpose("dose", ...)
    seeds = results["hit_ood"].sel(model="cnn", diet=[STRIPES, FEW]).count("seed")
    return {
        **texts("fr4-seeds", dict(zip(("stripes", "few"), seeds, strict=True)), "{:.0f}".format),
        **texts("fr4", r[[*shares]].rename(shares), percent),
        **texts("fr4-crossing", (crosses > 0.5).where(crosses.notnull()).mean("seed"), percent),
        **texts("fr4-gain-cnn", late_gain(r).sel(model="cnn"), percent),
        **texts("fr4-fit", r["mse_id"] / r["zero_baseline_id"]),
        **texts("fr4-error", r["mse_ood"] / r["zero_baseline_ood"]),
        **texts("fr4-law-open", fit[["exponent", "low", "high"]]),
        **texts("fr4-law-doses", dict(zip(("second", "largest"), largest, strict=True)), percent),
    }
