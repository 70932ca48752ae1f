"""The claims of FR Fig. 2 and App. A: layers that warp the plane of positions, and the rank that
measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from vnlib.book.evidence import bounded, one, part, spearman, tagged, within
from vnlib.book.ledger import Decision, Part, claim

KINDS = ("cnn_bump", "cnn_ramp", "mlp_bump", "mlp_ramp")
VISIBLE = 0.05  # a fall of F, of R^2 or of a share of variance that counts
MEDIANS = (
    "All are medians over seeds, then over depths: as printed of CNNs and MLPs with "
    "either code, with controls of those that learned to draw (training error at most half of a "
    "zero image's)."
)


def layers_of(results: xr.Dataset, model: str) -> list[str]:
    """The layers that a model has, from input to output."""
    units = results["units"].sel(model=model, weights="trained")
    present = units.notnull().any([d for d in units.dims if d != "layer"]).values
    return results["layer"].values[present].tolist()


def hidden(results: xr.Dataset, model: str) -> list[str]:
    """Its layers between input and output, without the factors of a product readout."""
    return [name for name in layers_of(results, model) if name.startswith("layer")]


def at(results: xr.Dataset, place: str, weights: str | Sequence[str] = "trained") -> xr.Dataset:
    """All measures of layers at the input, the first or last hidden layer, or the output of every
    model; of layers that a reference lacks they are NaN.
    """
    axes = {"model", "seed", "layer", "weights"}
    names = [name for name, values in results.items() if set(values.dims) == axes]
    models, number = results["model"].values.tolist(), {"first": 0, "last": -1}.get(place)
    layers = [
        place if number is None else (hidden(results, model) or ["layer1"])[number]
        for model in models
    ]
    at_place = xr.DataArray(layers, {"model": models})
    return results[names].sel(weights=weights).sel(layer=at_place).drop_vars("layer")


def middle(results: xr.Dataset, place: str, *weights: str | Sequence[str]) -> xr.Dataset:
    """The same, medians over seeds."""
    return at(results, place, *weights).median("seed")


def error(results: xr.Dataset, split: str, models: Sequence[str]) -> xr.DataArray:
    """Error of trained models on a split, medians over seeds."""
    return results[f"mse_{split}"].sel(weights="trained", model=models).median("seed")


def have_learned(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    """Those that draw: at most half of a zero image's error in training."""
    found = error(results, "train", models)
    return found["model"].values[found <= 0.5 * results["zero_baseline_id"].median()].tolist()


def _models(r: xr.Dataset, *kinds: str) -> dict[str, list[str]]:
    """The models whose names begin so, shallowest first. KeyError if there are fewer than two."""
    found = {}
    for kind in kinds:
        found[kind] = [m for m in r["model"].values.tolist() if m.startswith(f"{kind}_")]
        if len(found[kind]) < 2:
            raise KeyError(f"two of the models {kind}_*")
        found[kind].sort(key=lambda m: (len(m), m))  # a name ends in its depth
    return found


def _drawing(r: xr.Dataset) -> list[str]:
    """The networks of the paper's kinds that have learned to draw. KeyError below three."""
    cnn, mlp = _models(r, "cnn", "mlp").values()
    found = have_learned(r, cnn + mlp)
    if len(found) < 3:
        raise KeyError("three networks that have learned to draw in distribution")
    return found


def _by(values: xr.DataArray, groups: Mapping[str, Sequence[str]], name: str) -> dict[str, float]:
    """Medians over the models of each group, as "name.group"."""
    return {f"{name}.{key}": float(values.sel(model=m).median()) for key, m in groups.items()}


def _steepest(r: xr.Dataset, model: str) -> float:
    """The largest fall of F from one layer to the next, up to the last hidden one."""
    path = r["F"].sel(model=model, weights="trained", layer=["input", *hidden(r, model)])
    return -float(path.median("seed").diff("layer").min())


@claim(
    id="FR-2",
    source="FR Sec. 3.4, Figs. 2, 5, 10-14, App. F.3",
    figure="FR2-metrics",
    statement="Layer by layer a decoder warps the plane of positions: factorisation and linear "
    "probes decay, volume is distorted most in the hold-out, sharpest in shallow networks with a "
    "ramp code; MLPs distort the other way and lose more factorisation.",
    terms=f"{MEDIANS} Falls are from the input to the last hidden layer, other measures are of the "
    "latter. Probes are cross-validated; spread is that of log volume; at random means with the "
    "weights before training. A decoder composes where its OOD error is at most 5 % of a zero "
    "image's.",
)
def warping(r: xr.Dataset) -> Decision:
    kinds, types = _models(r, *KINDS), _models(r, "cnn", "mlp")
    cnns = {kind: kinds[kind] for kind in KINDS[:2]}
    first, last = (middle(r, place) for place in ("first", "last"))
    fall = middle(r, "input") - last
    growth = _by(last["spread_in"] / first["spread_in"], cnns, "spread_growth")
    (shallow, *_, deep), (bump, *_) = cnns["cnn_ramp"], cnns["cnn_bump"]
    names = {"ramp_shallow": shallow, "ramp_deep": deep, "bump_shallow": bump}
    drops = {f"steepest.{name}": _steepest(r, model) for name, model in names.items()}
    sharpest, *others = drops.values()
    shift = _by(last["volume_in"] - last["volume_out"], types, "volume_shift")
    left = _by(last["F"], types, "F_last")
    sharp = (
        "largest fall of F between two layers: larger in the shallowest CNN with ramps than in the "
        "deepest, and than in the shallowest with bumps"
    )
    opposite = "log volume in the hold-out less that around it has opposite signs in CNNs and MLPs"
    parts = [
        bounded("fall of F", ">=", VISIBLE, **_by(fall["F"], kinds, "F_fall")),
        bounded("fall of the probes' R²", ">=", VISIBLE, **_by(fall["probe"], kinds, "probe_fall")),
        bounded(
            "growth of spread in the hold-out along hidden layers of CNNs", ">=", 1.5, **growth
        ),
        part(sharp, sharpest > max(others), **drops),
        part(opposite, np.prod([*shift.values()]) < 0, **shift),
        part("F is lower in MLPs than in CNNs", left["F_last.mlp"] < left["F_last.cnn"], **left),
    ]
    return Decision(parts, _warping_with_controls(r))


def _warping_with_controls(r: xr.Dataset) -> list[Part]:
    drawn, weights = _drawing(r), ["trained", "untrained"]
    last, output = middle(r, "last", weights), middle(r, "output")["F"]
    fall, own = (
        values.sel(model=drawn).median("model").assign_coords(weights=["drawn", "random"])
        for values in (middle(r, "input", weights) - last, last)
    )
    (falls, random_falls), (lose, random_lose) = fall["F"].values, fall["probe_ood"].values
    (inside, random), around = own["spread_in"].values, own["spread_out"].values[0]
    drawings, perfect = float(output.sel(model=drawn).median()), float(one(output, model="perfect"))
    decoders = drawn + _models(r, "vn")["vn"]
    F, ood = last["F"].sel(model=decoders, weights="trained"), error(r, "ood", decoders)
    order = spearman(F.sel(model=drawn).values, ood.sel(model=drawn).values)
    composes = ood <= 0.05 * r["zero_baseline_ood"].median()
    lowest, highest = float(F.where(composes).min()), float(F.where(~composes).max())
    spread = {"spread_inside": inside, "spread_around": around, "spread_random": random}
    ends = {"F_last_composing_lowest": lowest, "F_last_failing_highest": highest}
    further = f"F falls by at least {VISIBLE} and twice as far as at random"
    loses = (
        f"probes fitted outside the hold-out lose at least {VISIBLE} more R² in it than at random"
    )
    wider = "spread in the hold-out is at least 1.5 times that around it, and that at random"
    below = f"F of the output is at least {VISIBLE} below that of the perfect images"
    separates = "F is higher in every decoder that composes than in every one that does not"
    return [
        part(further, falls >= max(VISIBLE, 2 * random_falls), F_fall=fall["F"]),
        part(loses, lose >= random_lose + VISIBLE, probe_ood_fall=fall["probe_ood"]),
        part(wider, inside >= 1.5 * max(around, random), **spread),
        part(below, drawings <= perfect - VISIBLE, F_output=drawings, F_output_perfect=perfect),
        bounded("rank correlation of F and OOD error", "<=", -0.5, rank_correlation_F_ood=order),
        part(separates, lowest > highest, **ends),
    ]


@claim(
    id="FR-A",
    source="FR App. A.4, A.5, Eqs. 31-35",
    figure="FR2-rank",
    statement="The CP rank of the learned kernel measures how mixed two factors are, and the "
    "share of weight in terms of one factor measures how factorised a layer is.",
    terms="With two factors the CP rank is the number of Schmidt terms of the centred kernel, "
    "counted by its participation number; F_A is the share of a layer's variance in terms of x "
    f"alone and of y alone. {MEDIANS} As printed changes are from the input to the last hidden "
    "layer, with controls measures are of the output. The table has one unit per position and "
    "composes nothing.",
)
def rank(r: xr.Dataset) -> Decision:
    kinds, drawn = _models(r, *KINDS), _drawing(r)
    code, output = middle(r, "input").sel(model=kinds["cnn_bump"][0]), middle(r, "output")
    fall = middle(r, "input") - middle(r, "last")
    gained = _by(-fall["terms"], kinds, "terms_gained")
    lost = _by(fall["one_factor"], kinds, "one_factor_lost")
    own, perfect = output.sel(model=drawn).median(), one(output, model="perfect")
    terms, shares = ({"drawn": own[n], "perfect": perfect[n]} for n in ("terms", "one_factor"))
    many, less = 1.5 * perfect["terms"], perfect["one_factor"] - VISIBLE
    table = one(output["terms"], model="table")
    order = spearman(output["terms"].sel(model=drawn).values, error(r, "ood", drawn).values)
    more = "at least 1.5 times as many terms as the perfect images"
    below = f"their F_A is at least {VISIBLE} below that of the perfect images"
    printed = [
        bounded("F_A of the bump code", ">=", 0.99, **{"code.one_factor": code["one_factor"]})
        & within("its number of terms", 1.98, 2.02, **{"code.terms": code["terms"]}),
        bounded("terms gained", ">", 0, **gained),
        bounded("fall of F_A", ">=", VISIBLE, **lost),
    ]
    controls = [
        part(f"outputs have {more}", own["terms"] >= many, **tagged(terms, "terms")),
        part(below, own["one_factor"] <= less, **tagged(shares, "one_factor")),
        part(f"a table has {more}", table >= many, **{"table.terms": table}),
        bounded("rank correlation of terms and error", ">=", 0.5, rank_correlation_terms_ood=order),
    ]
    return Decision(printed, controls)
