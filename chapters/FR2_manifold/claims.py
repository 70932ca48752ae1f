"""The claims of FR Fig. 2 and App. A: layers that warp the plane of positions, and the rank that
measures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from vnlib.book.evidence import part, spearman
from vnlib.book.ledger import Decision, Part, claim

KINDS = ("cnn_bump", "cnn_ramp", "mlp_bump", "mlp_ramp")
VISIBLE = 0.05  # a fall of F, of R^2 or of a share of variance that counts


def layers_of(results: xr.Dataset, model: str) -> list[str]:
    """The layers that a model has, from input to output."""
    units = results["units"].sel(model=model, weights="trained")
    present = units.notnull().any([d for d in units.dims if d != "layer"]).values
    return results["layer"].values[present].tolist()


def hidden(results: xr.Dataset, model: str) -> list[str]:
    """Its layers between input and output, without the factors of a product readout."""
    return [name for name in layers_of(results, model) if name.startswith("layer")]


def at(
    results: xr.Dataset, name: str, models: Sequence[str], place: str, weights: str = "trained"
) -> np.ndarray:
    """Median over seeds at the input, the first or last hidden layer, or the output of some models.
    KeyError names a model that lacks.
    """
    found = []
    for model in models:
        if model not in results["model"].values:
            raise KeyError(f"the model {model}")
        number = {"first": 0, "last": -1}.get(place)
        layer = place if number is None else hidden(results, model)[number]
        values = results[name].sel(model=model, layer=layer, weights=weights)
        found.append(float(values.median("seed")))
    return np.array(found)


def error(results: xr.Dataset, split: str, models: Sequence[str]) -> np.ndarray:
    """Error of trained models on a split, medians over seeds."""
    values = results[f"mse_{split}"].sel(model=list(models), weights="trained")
    return values.median("seed").values


def have_learned(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    """Those that draw: at most half of a zero image's error in training."""
    half = 0.5 * float(results["zero_baseline_id"].median())
    return [m for m, e in zip(models, error(results, "train", models), strict=True) if e <= half]


def _models(r: xr.Dataset, kind: str) -> list[str]:
    """The models whose names begin so, shallowest first. KeyError if there are fewer than two."""
    found = [m for m in r["model"].values.tolist() if m.startswith(f"{kind}_")]
    if len(found) < 2:
        raise KeyError(f"two of the models {kind}_*")
    return sorted(found, key=lambda m: (len(m), m))  # a name ends in its depth


def _drawing(r: xr.Dataset) -> list[str]:
    """The networks of the paper's kinds that have learned to draw. KeyError below three."""
    found = have_learned(r, _models(r, "cnn") + _models(r, "mlp"))
    if len(found) < 3:
        raise KeyError("three networks that have learned to draw in distribution")
    return found


def _over(r: xr.Dataset, name: str, models: Sequence[str], *where: str) -> float:
    return float(np.median(at(r, name, models, *where)))


def _fall(r: xr.Dataset, name: str, models: Sequence[str], weights: str = "trained") -> float:
    """How far a measure falls from the input to the last hidden layer, median over models."""
    first, last = (at(r, name, models, place, weights) for place in ("input", "last"))
    return float(np.median(first - last))


def _steepest(r: xr.Dataset, model: str) -> float:
    """The largest fall of F from one layer to the next."""
    path = [at(r, "F", [model], layer)[0] for layer in ("input", *hidden(r, model))]
    return float(np.max(-np.diff(path)))


def _group(says: str, holds: bool, name: str, values: Mapping[str, float]) -> Part:
    """A statement with numbers that share a name: "name.key"."""
    return Part(says, holds, {f"{name}.{key}": value for key, value in values.items()})


@claim(
    id="FR-2",
    source="FR Sec. 3.4, Figs. 2, 5, 10-14, App. F.3",
    figure="FR2-metrics",
    statement="Layer by layer a decoder warps the plane of positions: factorisation and linear "
    "probes decay, volume is distorted most in the hold-out, sharpest in shallow networks with a "
    "ramp code; MLPs distort the other way and lose more factorisation.",
)
def warping(r: xr.Dataset) -> Decision:
    groups = {kind: _models(r, kind) for kind in KINDS}
    both = {kind: _models(r, kind) for kind in ("cnn", "mlp")}
    F, probe = ({n: _fall(r, m, v) for n, v in groups.items()} for m in ("F", "probe"))
    spread = {n: [at(r, "spread_in", groups[n], p) for p in ("first", "last")] for n in KINDS[:2]}
    growth = {n: float(np.median(last / first)) for n, (first, last) in spread.items()}
    ramp, bump = groups["cnn_ramp"], groups["cnn_bump"]
    drops = {"ramp_shallow": ramp[0], "ramp_deep": ramp[-1], "bump_shallow": bump[0]}
    drops = {name: _steepest(r, model) for name, model in drops.items()}
    sharpest = drops["ramp_shallow"] > max(drops["ramp_deep"], drops["bump_shallow"])
    inside, around = (
        {n: at(r, f"volume_{w}", v, "last") for n, v in both.items()} for w in ("in", "out")
    )
    shift = {n: float(np.median(inside[n] - around[n])) for n in both}
    last = {n: _over(r, "F", models, "last") for n, models in both.items()}
    opposite, grows = shift["cnn"] * shift["mlp"] < 0, min(growth.values()) >= 1.5
    parts = [
        _group("factorisation decays", min(F.values()) >= VISIBLE, "F_fall", F),
        _group("probes decay", min(probe.values()) >= VISIBLE, "probe_fall", probe),
        _group("distortion in the hold-out grows along a CNN", grows, "spread_growth", growth),
        _group("the shallow ramp network drops sharpest", sharpest, "steepest", drops),
        _group("MLPs distort the other way", opposite, "volume_shift", shift),
        _group("MLPs lose more factorisation", last["mlp"] < last["cnn"], "F_last", last),
    ]
    return Decision(parts, _warping_with_controls(r))


def _warping_with_controls(r: xr.Dataset) -> list[Part]:
    drawn = _drawing(r)
    weights = {"drawn": "trained", "random": "untrained"}
    falls, losses = (
        {f"{says}.{name}_fall": _fall(r, name, drawn, w) for says, w in weights.items()}
        for name in ("F", "probe_ood")
    )
    (fall, random_fall), (lost, random_lost) = falls.values(), losses.values()
    spread = {
        "spread_inside": _over(r, "spread_in", drawn, "last"),
        "spread_around": _over(r, "spread_out", drawn, "last"),
        "spread_random": _over(r, "spread_in", drawn, "last", "untrained"),
    }
    inside, *elsewhere = spread.values()
    output, perfect = _over(r, "F", drawn, "output"), at(r, "F", ["perfect"], "output")[0]
    decoders = drawn + _models(r, "vn")
    F, ood = at(r, "F", decoders, "last"), error(r, "ood", decoders)
    order = spearman(F[: len(drawn)], ood[: len(drawn)])
    composes = ood <= 0.05 * float(r["zero_baseline_ood"].median())
    if composes.all() or not composes.any():
        raise KeyError("decoders that compose and decoders that do not")
    further, lose = fall >= max(VISIBLE, 2 * random_fall), lost >= random_lost + VISIBLE
    distorted = "the hold-out is distorted more than around it and at random"
    lowest, highest = F[composes].min(), F[~composes].max()
    ends = {"F_last_composing_lowest": lowest, "F_last_failing_highest": highest}
    outputs = {"F_output": output, "F_output_perfect": perfect}
    below = output <= perfect - VISIBLE
    return [
        part("factorisation falls further than with random weights", further, **falls),
        part("probes lose the hold-out more than with random weights", lose, **losses),
        part(distorted, inside >= 1.5 * max(elsewhere), **spread),
        part("the output is less factorised than perfect images", below, **outputs),
        part("the less factorised, the worse", order <= -0.5, rank_correlation_F_ood=order),
        part("F separates decoders that compose", lowest > highest, **ends),
    ]


@claim(
    id="FR-A",
    source="FR App. A.4, A.5, Eqs. 31-35",
    figure="FR2-rank",
    statement="The CP rank of the learned kernel measures how mixed two factors are, and the "
    "share of weight in terms of one factor measures how factorised a layer is.",
)
def rank(r: xr.Dataset) -> Decision:
    groups = {kind: _models(r, kind) for kind in KINDS}
    both, drawn = ("one_factor", "terms"), _drawing(r)
    code = {name: at(r, name, groups["cnn_bump"][:1], "input")[0] for name in both}
    exact = code["one_factor"] >= 0.99 and abs(code["terms"] - 2) <= 0.02
    gained = {n: -_fall(r, "terms", v) for n, v in groups.items()}
    lost = {n: _fall(r, "one_factor", v) for n, v in groups.items()}
    falls = min(lost.values()) >= VISIBLE
    perfect_share, perfect = (at(r, name, ["perfect"], "output")[0] for name in both)
    share, terms = (_over(r, name, drawn, "output") for name in both)
    table = at(r, "terms", ["table"], "output")[0]
    order = spearman(at(r, "terms", drawn, "output"), error(r, "ood", drawn))
    below = share <= perfect_share - VISIBLE
    more, counts = (
        "more terms than perfect images",
        {"drawn.terms": terms, "perfect.terms": perfect},
    )
    shares = {"drawn.one_factor": share, "perfect.one_factor": perfect_share}
    printed = [
        _group("the code is exactly factorised", exact, "code", code),
        _group("the number of terms grows", min(gained.values()) > 0, "terms_gained", gained),
        _group("the share of single factors falls", falls, "one_factor_lost", lost),
    ]
    controls = [
        part(f"a failing output has {more}", terms >= 1.5 * perfect, **counts),
        part("and less weight in single factors", below, **shares),
        _group(f"a table has {more}", table >= 1.5 * perfect, "table", {"terms": table}),
        part("the more terms, the worse", order >= 0.5, rank_correlation_terms_ood=order),
    ]
    return Decision(printed, controls)
