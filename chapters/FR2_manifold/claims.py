"""The claims of FR Fig. 2 and App. A: layers that warp the plane of positions, and the rank that
measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from benchmarks.spatial.claims import settled
from benchmarks.spatial.settling import late_gain
from vnlib.book.evidence import (
    SETTLED,
    bounded,
    compared,
    detail,
    given,
    one,
    part,
    refuted,
    scaled,
    select,
    spearman,
    tagged,
    untested,
    within,
)
from vnlib.book.ledger import Contrast, Decision, Part, claim

KINDS = {
    "cnn_bump": "CNNs, bump code",
    "cnn_ramp": "CNNs, ramp code",
    "mlp_bump": "MLPs, bump code",
    "mlp_ramp": "MLPs, ramp code",
}
LONGER, LONGER_MLP = "longer_", ("longer_bump", "longer_ramp")
ONE_TERM = (
    "a kernel of equal positions is a product of one of x and one of y, less its mean: one term"
)
APPLIED = "App. A defines both measures and applies neither to a network"
IN_SAMPLE = (
    "the public code scores its probe on the positions it was fitted to, fewer than a layer has units, "
    "so that it always succeeds"
)
VISIBLE = 0.05  # a fall of F, of R^2 or of a share of variance that counts
MOST = 0.5  # share of the runs of a model that must have learned to draw
MEDIANS = (
    "All are medians over the runs that learned to draw (ID error at most half of the zero baseline's), "
    "then over depths, without networks of which most runs learned nothing. As printed networks "
    "have the published length of training; with controls networks trained longer count, too, once "
    "they have settled."
)
RANDOM = ("F", "spread_in")  # measures before training that all seeds have


def start(model: str) -> str:
    """The network that has the same weights before training."""
    return model.removeprefix("longer_") if model.startswith("longer_cnn") else model


def before_training(results: xr.Dataset) -> xr.Dataset:
    """The results with the measures before training of every seed (see `untrained`) in the place of
    those of the first one, where there are any.
    """
    trained, models, found = results["weights"] == "trained", results["model"], {}
    starts = [start(m) if start(m) in models else m for m in models.values.tolist()]
    for name in RANDOM:
        if f"random_{name}" in results:
            own = results[f"random_{name}"].sel(model=starts).assign_coords(model=models.values)
            kept = results[name].where(trained | own.isnull(), own)
            found[name] = kept.transpose(*results[name].dims)
    return results.assign(found)


def drawing(results: xr.Dataset) -> xr.Dataset:
    """The results without the measures of runs that learned nothing; those of weights before
    training stay.
    """
    drawn = (results["failed"] == 0) | (results["weights"] != "trained")
    axes, kept = {"model", "seed", "weights"}, ("units",)
    found = {n: v for n, v in results.items() if axes <= set(v.dims) and n not in kept}
    return results.assign({name: values.where(drawn) for name, values in found.items()})


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


def share_that_learned(results: xr.Dataset, models: Sequence[str]) -> xr.DataArray:
    """The share of the runs of each model that draw in distribution."""
    failed = results["failed"].sel(model=list(models))
    return (failed == 0).where(failed.notnull()).mean("seed").reset_coords(drop=True)


def have_learned(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    """Those of which most runs draw in distribution. KeyError says of which nothing is known."""
    share = {m: float(share_that_learned(results, [m]).max()) for m in models}
    if unknown := [m for m, value in share.items() if np.isnan(value)]:
        raise KeyError(f"the errors of {', '.join(unknown)}")
    return [m for m, value in share.items() if value >= MOST]


def draws(results: xr.Dataset, models: Sequence[str]) -> Part:
    """The condition of a statement on networks: that they learned the task."""
    share = share_that_learned(results, models).mean()
    return bounded("share of their runs that draw in distribution", ">=", MOST, share=share)


def settles(results: xr.Dataset, models: Sequence[str]) -> Part:
    """The condition of a statement on networks that were trained longer."""
    return settled(select(results[["curve_step", "curve_val"]], model=models), "trained longer")


def _models(r: xr.Dataset, *kinds: str) -> dict[str, list[str]]:
    """The models whose names begin so, shallowest first. KeyError if there are fewer than two."""
    found = {}
    for kind in kinds:
        found[kind] = [m for m in r["model"].values.tolist() if m.startswith(f"{kind}_")]
        if len(found[kind]) < 2:
            raise KeyError(f"two of the models {kind}_*")
        found[kind].sort(key=lambda m: (len(m), m))  # a name ends in its depth
    return found


def _longer(r: xr.Dataset, *prefixes: str) -> list[str]:
    """The networks that were trained longer. KeyError if there are none."""
    found = [m for m in r["model"].values.tolist() if m.startswith(prefixes)]
    if not found:
        raise KeyError("networks that were trained longer")
    return found


def counted(r: xr.Dataset) -> list[str]:
    """The networks of the paper's kinds that have learned to draw, at the published length, or at
    another one once they have settled. KeyError below three.
    """
    cnn, mlp = _models(r, "cnn", "mlp").values()
    longer = _longer(r, LONGER)
    gain = late_gain(r.sel(model=longer)).median("seed")
    settled = [m for m in longer if float(gain.sel(model=m)) < SETTLED]
    found = have_learned(r, [*cnn, *mlp, *settled])
    if len(found) < 3:
        raise KeyError("three networks that have learned to draw in distribution")
    return found


def _by(values: xr.DataArray, groups: Mapping[str, Sequence[str]], name: str) -> dict[str, float]:
    """Medians over the models of each group that have one, as "name.group"."""
    return {f"{name}.{key}": float(values.sel(model=m).median()) for key, m in groups.items()}


def _steepest(r: xr.Dataset, model: str) -> float:
    """The largest fall of F from one layer to the next, up to the last hidden one; NaN where the
    model was not run.
    """
    path = r["F"].sel(model=model, weights="trained", layer=["input", *hidden(r, model)])
    falls = path.median("seed").diff("layer")
    return -float(falls.min()) if falls.size else np.nan


@claim(
    id="FR-2",
    parts=("untrained",),
    source="FR Sec. 3.4, Figs. 2, 5, 10-14, App. F.3",
    figure="FR2-metrics",
    statement="Layer by layer a decoder warps the plane of positions: factorisation and linear "
    "probes decay, factorisation most sharply in shallow networks with a ramp code; volume is "
    "distorted most in the hold-out; MLPs distort the other way and lose more factorisation.",
    terms=f"{MEDIANS} Falls are from the input to the last hidden layer, other measures are of the "
    "latter. Probes are cross-validated; spread is that of log volume; at random means with the "
    "weights before training. A decoder composes where its OOD error is at most 5 % of a zero "
    "image's.",
)
def warping(r: xr.Dataset) -> Decision:
    kinds, types, drawn = _models(r, *KINDS), _models(r, "cnn", "mlp"), drawing(r)
    cnns = {kind: kinds[kind] for kind in ("cnn_bump", "cnn_ramp")}
    first, last = (middle(drawn, place) for place in ("first", "last"))
    entry, growth = middle(drawn, "input"), last["spread_in"] / first["spread_in"]
    kept, lost = last["F"] / entry["F"], entry["probe"] - last["probe"]
    above = growth * first["spread_out"] / last["spread_out"]
    shallow, *_, deep = have_learned(r, cnns["cnn_ramp"]) or cnns["cnn_ramp"]
    bump = shallow.replace("ramp", "bump")
    names = {"ramp_shallow": shallow, "ramp_deep": deep, "bump_as_shallow": bump}
    drops = {f"steepest.{name}": _steepest(drawn, model) for name, model in names.items()}
    sharp = (
        "largest fall of F between two layers in the shallowest CNN with ramps that draws, less that "
        "in the deepest, and in that of its depth with bumps"
    )
    sharpest, *others = drops.values()
    more = [sharpest - other for other in others]
    parts, probes = [], []
    for says, tag, values, bound, of in (
        ("F of the last hidden layer over that of the input", "F_kept", kept, 1.0, kinds),
        ("fall of the probes' R²", "probe_fall", lost, VISIBLE, kinds),
        ("growth of spread in the hold-out by layer", "spread_growth", growth, 1.0, cnns),
    ):
        for kind, models in of.items():
            number = _by(values, {kind: models}, tag)
            sign = {"F_kept": "<", "probe_fall": ">="}.get(tag, ">")
            one = bounded(f"{KINDS[kind]}: {says}", sign, bound, **number)
            if tag == "spread_growth":
                one &= bounded("over that around it", ">", 1, **_by(above, {kind: models}, "above"))
            one = given(one, draws(r, models))
            (probes if tag == "probe_fall" else parts).append(one)
    sharper = part(f"{sharp} > 0", Contrast(np.array(more), ">", band=VISIBLE), **drops)
    parts.append(given(sharper, *(draws(r, m) for m in cnns.values())))
    parts += [given(one, draws(r, types["mlp"])) for one in _opposite(drawn, types)]
    parts += [detail(one) for one in _opposite(r, types, ", whether they draw or not")]
    parts.append(untested("the probes fall over the layers of CNNs", IN_SAMPLE))
    return Decision(parts, [*_warping_with_controls(r), *probes])


def _opposite(r: xr.Dataset, types: Mapping[str, Sequence[str]], which: str = "") -> list[Part]:
    """How MLPs differ from CNNs."""
    last = middle(r, "last")
    shift = _by(last["volume_in"] - last["volume_out"], types, "volume_shift")
    left = _by(last["F"], types, "F_last")
    cnn, mlp = left.values()
    signs = "shift of log volume in the hold-out against around it, of CNNs times that of MLPs"
    lower = "F of MLPs over that of CNNs"
    return [
        part(f"{signs} < 0{which}", Contrast(np.prod([[*shift.values()]], 1), "<"), **shift),
        compared(f"{lower} < 1{which}", mlp, "<", cnn, **left),
    ]


def _opposite_longer(r: xr.Dataset, runs: xr.Dataset) -> list[Part]:
    """The same of MLPs trained longer, each beside the CNN of its code and depth, which has the
    published length of training.
    """
    last, found = middle(runs, "last"), []
    for mlp in _longer(r, *LONGER_MLP):
        pair = [mlp, mlp.replace("longer", "cnn")]  # a network's name ends in its code and depth
        one = select(last, model=pair)
        shift, F = one["volume_in"] - one["volume_out"], one["F"]
        which = f"an MLP trained longer and a CNN as deep, {mlp.split('_')[1]} code"
        numbers = [
            tagged(values, name) for values, name in ((shift, "volume_shift"), (F, "F_last"))
        ]
        signs = part(
            f"shifts of log volume, multiplied, < 0: {which}",
            Contrast(np.ravel(shift.prod("model", skipna=False)), "<"),
            **numbers[0],
        )
        lower = f"F of the MLP over that of the CNN < 1: {which}"
        lower = compared(lower, F[0], "<", F[1], **numbers[1])
        needs = draws(r, pair), settles(r, [mlp])
        found += [given(one, *needs) for one in (signs, lower)]
    return found


def _warping_with_controls(r: xr.Dataset) -> list[Part]:
    runs, learned, weights = drawing(before_training(r)), counted(r), ["trained", "untrained"]
    last, output = middle(runs, "last", weights), middle(runs, "output")["F"]
    fall, own = (
        values.sel(model=learned).median("model").assign_coords(weights=["drawn", "random"])
        for values in (middle(runs, "input", weights) - last, last)
    )
    falls, random_falls = fall["F"].values
    (inside, random), around = own["spread_in"].values, own["spread_out"].values[0]
    drawings = float(output.sel(model=learned).median())
    perfect = float(one(output, model="perfect"))
    decoders = learned + _models(r, "vn")["vn"]
    F, ood = last["F"].sel(model=decoders, weights="trained"), error(runs, "ood", decoders)
    order = spearman(F.sel(model=learned).values, ood.sel(model=learned).values)
    of_zero = (runs["mse_ood"] / r["zero_baseline_ood"]).sel(weights="trained", model=decoders)
    composes = of_zero.median("seed") <= 0.05
    lowest, highest = float(F.where(composes).min()), float(F.where(~composes).max())
    spread = {"spread_inside": inside, "spread_around": around, "spread_random": random}
    ends = {"F_last_composing_lowest": lowest, "F_last_failing_highest": highest}
    wider = "spread in the hold-out over that around it, and over that at random"
    below = "F of the perfect images less that of the output"
    separates = "lowest F of a decoder that composes over the highest of one that does not"
    return [
        bounded("fall of F", ">=", VISIBLE, F_fall=falls)
        & bounded("less twice that at random", ">=", 0, F_fall_more=falls - 2 * random_falls),
        part(f"{wider} ≥ 1.5", Contrast(inside / np.array([around, random]), ">=", 1.5), **spread),
        bounded(below, ">=", VISIBLE, F_below_perfect=perfect - drawings),
        bounded("rank correlation of F and OOD error", "<=", -0.5, rank_correlation_F_ood=order),
        compared(f"{separates} > 1", lowest, ">", highest, **ends),
        *_opposite_longer(r, runs),
    ]


@claim(
    id="FR-A",
    source="FR App. A.4, A.5, Eqs. 31-35",
    figure="FR2-rank",
    definition=True,
    statement="The CP rank of the learned kernel measures how mixed two factors are, and the "
    "share of weight in terms of one factor measures how factorised a layer is.",
    terms="With two factors the CP rank is the number of Schmidt terms of the centred kernel, "
    "counted by its participation number; F_A is the share of a layer's variance in terms of x "
    f"alone and of y alone. {MEDIANS} Changes are from the input to the last hidden layer, other "
    "measures of the output. The table has one unit per position and composes nothing.",
)
def rank(r: xr.Dataset) -> Decision:
    kinds, learned, runs = _models(r, *KINDS), counted(r), drawing(r)
    code, output = middle(r, "input").sel(model=kinds["cnn_bump"][0]), middle(runs, "output")
    entry, last = middle(runs, "input"), middle(runs, "last")
    gain, fall = last["terms"] / entry["terms"], entry["one_factor"] - last["one_factor"]
    own, perfect = output.sel(model=learned).median(), one(output, model="perfect")
    order = spearman(output["terms"].sel(model=learned).values, error(runs, "ood", learned).values)
    more = "terms of {} over those of the perfect images"
    below = "F_A of the perfect images less that of outputs"
    code_is = scaled(
        bounded("F_A of the bump code", ">=", 0.99, **{"code.one_factor": code["one_factor"]}),
        limit=1,
    ) & within("number of terms of the bump code", 1.98, 2.02, **{"code.terms": code["terms"]})
    layers = []
    for kind, models in kinds.items():
        gained, lost = (
            _by(values, {kind: models}, name)
            for name, values in (("terms_over_input", gain), ("F_A_lost", fall))
        )
        asked = (
            bounded(f"{KINDS[kind]}: terms over those of the input", ">", 1, **gained),
            bounded(f"{KINDS[kind]}: fall of F_A", ">=", VISIBLE, **lost),
        )
        layers += [given(one, draws(r, models)) for one in asked]
    controls = [
        code_is,
        *layers,
        bounded(more.format("outputs"), ">=", 1.5, drawn=own["terms"] / perfect["terms"]),
        bounded(below, ">=", VISIBLE, below=perfect["one_factor"] - own["one_factor"]),
        refuted(f"{more.format('a table')} ≥ 1.5", ONE_TERM),
        bounded("rank correlation of terms and error", ">=", 0.5, rank_correlation_terms_ood=order),
    ]
    return Decision(
        [untested("rank and F_A of layers tell how mixed two factors are", APPLIED)], controls
    )
