"""The claims of FR Fig. 2 and App. A: layers that warp the plane of positions, and the rank that
measures it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.book.ledger import Decision, Part, claim

CHAPTER = "FR2_manifold"
KINDS = ("cnn_bump", "cnn_ramp", "mlp_bump", "mlp_ramp")
VISIBLE = 0.05  # a fall of F, of R^2 or of a share of variance that counts


def _models(r: xr.Dataset, kind: str) -> list[str]:
    """The models whose names begin so, shallowest first. KeyError if there are fewer than two."""
    found = [str(m) for m in r["model"].values if str(m).startswith(f"{kind}_")]
    if len(found) < 2:
        raise KeyError(f"two of the models {kind}_*")
    return sorted(found, key=lambda m: (len(m), m))  # a name ends in its depth


def _networks(r: xr.Dataset) -> list[str]:
    """Every network of the paper's kinds."""
    return _models(r, "cnn") + _models(r, "mlp")


def _learned(r: xr.Dataset) -> list[str]:
    """Those that draw: at most half the blank image's error in training, median over seeds.

    KeyError below three.
    """
    half = 0.5 * float(r["blank_id"].median())
    found = [
        m
        for m in _networks(r)
        if float(r["mse_train"].sel(model=m, weights="trained").median()) <= half
    ]
    if len(found) < 3:
        raise KeyError("three networks that have learned to draw in distribution")
    return found


def _hidden(r: xr.Dataset, model: str) -> list[str]:
    """The layers between input and output, in order."""
    units = r["units"].sel(model=model, weights="trained")
    present = units.notnull().any([d for d in units.dims if d != "layer"]).values
    return [str(n) for n in r["layer"].values[present] if str(n).startswith("layer")]


def _at(r: xr.Dataset, name: str, model: str, layer: str | int, weights: str = "trained") -> float:
    """Median over seeds at a layer, or at the hidden layer of that index.

    KeyError names a model that lacks.
    """
    if model not in r["model"].values:
        raise KeyError(f"the model {model}")
    layer = _hidden(r, model)[layer] if isinstance(layer, int) else layer
    return float(r[name].sel(model=model, layer=layer, weights=weights).median("seed"))


def _over(models: Sequence[str], value: Callable[[str], float]) -> float:
    return float(np.median([value(m) for m in models]))


def _fall(r: xr.Dataset, name: str, model: str, weights: str = "trained") -> float:
    """How far a measure falls from the input to the last hidden layer."""
    return _at(r, name, model, "input", weights) - _at(r, name, model, -1, weights)


def _steepest(r: xr.Dataset, model: str) -> float:
    """The largest fall of F from one layer to the next."""
    path = [_at(r, "F", model, layer) for layer in ("input", *_hidden(r, model))]
    return float(np.max(-np.diff(path)))


def _shift(r: xr.Dataset, model: str) -> float:
    return _at(r, "volume_in", model, -1) - _at(r, "volume_out", model, -1)


def _spearman(x: Sequence[float], y: Sequence[float]) -> float:
    found = float(pd.Series(x).rank().corr(pd.Series(y).rank()))
    return found if np.isfinite(found) else 0.0  # values that are all equal have no order


def _ood(r: xr.Dataset, model: str) -> float:
    return float(r["mse_ood"].sel(model=model, weights="trained").median("seed"))


@claim(
    id="FR-2",
    source="FR Sec. 3.4, Figs. 2, 5, 10-14, App. F.3",
    chapter=CHAPTER,
    figure="FR2-metrics",
    statement="Layer by layer a decoder warps the plane of positions: factorisation and linear "
    "probes decay, volume is distorted most in the hold-out, sharpest in shallow networks with a "
    "ramp code; MLPs distort the other way and lose more factorisation.",
    rule="Medians over seeds, then over depths; probes are cross-validated. (a) From the input "
    "to the last hidden layer F falls by at least 0.05 in CNNs and MLPs, with either code; (b) "
    "so does the R^2 of the probes; (c) in CNNs the spread of log volume in the hold-out grows "
    "at least 1.5-fold from the first to the last hidden layer, with either code; (d) the "
    "largest fall of F between two layers is larger in the shallowest CNN with the ramp code "
    "than in the deepest, and than in the shallowest with the bump code; (e) log volume inside "
    "less that around the hold-out has opposite signs in CNNs and MLPs; (f) F of the last hidden "
    "layer is lower in MLPs. Fair, over the networks that learned to draw (training error at "
    "most half of a blank image's): (a) F falls by 0.05 and twice as far as with random weights; "
    "(b) probes fitted outside the hold-out lose 0.05 more R^2 inside it than with random "
    "weights; (c) the spread inside is at least 1.5 times that around the hold-out and that of "
    "random weights; (d) the output's F is 0.05 below the perfect images'; (e) F of the last "
    "hidden layer and OOD error have a rank correlation of at most -0.5; (f) every decoder that "
    "composes (OOD error at most 5 % of a blank image's) has a higher F there than every one "
    "that does not.",
)
def _warping(r: xr.Dataset) -> Decision:
    groups = {kind: _models(r, kind) for kind in KINDS}
    falls = {
        m: {n: _over(v, lambda i, m=m: _fall(r, m, i)) for n, v in groups.items()}
        for m in ("F", "probe")
    }
    cnn = [name for name in groups if name.startswith("cnn")]
    growth = {
        n: _over(groups[n], lambda m: _at(r, "spread_in", m, -1) / _at(r, "spread_in", m, 0))
        for n in cnn
    }
    ramp, bump = groups["cnn_ramp"], groups["cnn_bump"]
    steepest = [_steepest(r, m) for m in (ramp[0], ramp[-1], bump[0])]
    both = {kind: _models(r, kind) for kind in ("cnn", "mlp")}
    shift = {kind: _over(models, lambda m: _shift(r, m)) for kind, models in both.items()}
    last = {kind: _over(models, lambda m: _at(r, "F", m, -1)) for kind, models in both.items()}
    parts = [
        Part(
            "factorisation decays",
            min(falls["F"].values()) >= VISIBLE,
            {f"F_fall.{n}": v for n, v in falls["F"].items()},
        ),
        Part(
            "probes decay",
            min(falls["probe"].values()) >= VISIBLE,
            {f"probe_fall.{n}": v for n, v in falls["probe"].items()},
        ),
        Part(
            "distortion in the hold-out grows along a CNN",
            min(growth.values()) >= 1.5,
            {f"spread_growth.{n}": v for n, v in growth.items()},
        ),
        Part(
            "the shallow ramp network drops sharpest",
            steepest[0] > max(steepest[1:]),
            {
                "steepest.ramp_shallow": steepest[0],
                "steepest.ramp_deep": steepest[1],
                "steepest.bump_shallow": steepest[2],
            },
        ),
        Part(
            "MLPs distort the other way",
            shift["cnn"] * shift["mlp"] < 0,
            {f"volume_shift.{kind}": v for kind, v in shift.items()},
        ),
        Part(
            "MLPs lose more factorisation",
            last["mlp"] < last["cnn"],
            {f"F_last.{k}": v for k, v in last.items()},
        ),
    ]
    return Decision(parts, _warping_fair(r))


def _warping_fair(r: xr.Dataset) -> list[Part]:
    drawn = _learned(r)
    fall = [_over(drawn, lambda m, w=w: _fall(r, "F", m, w)) for w in ("trained", "untrained")]
    lost = [
        _over(drawn, lambda m, w=w: _fall(r, "probe_ood", m, w)) for w in ("trained", "untrained")
    ]
    inside, around = (
        _over(drawn, lambda m, n=n: _at(r, n, m, -1)) for n in ("spread_in", "spread_out")
    )
    random = _over(drawn, lambda m: _at(r, "spread_in", m, -1, "untrained"))
    output, perfect = (
        _over(drawn, lambda m: _at(r, "F", m, "output")),
        _at(r, "F", "perfect", "output"),
    )
    order = _spearman([_at(r, "F", m, -1) for m in drawn], [_ood(r, m) for m in drawn])
    decoders = drawn + _models(r, "vn")
    composes = {m: _ood(r, m) <= 0.05 * float(r["blank_ood"].median()) for m in decoders}
    F = {m: _at(r, "F", m, -1) for m in decoders}
    able, unable = ([F[m] for m in decoders if composes[m] is wanted] for wanted in (True, False))
    if not able or not unable:
        raise KeyError("decoders that compose and decoders that do not")
    return [
        Part(
            "factorisation falls further than with random weights",
            fall[0] >= max(VISIBLE, 2 * fall[1]),
            {"drawn.F_fall": fall[0], "random.F_fall": fall[1]},
        ),
        Part(
            "probes lose the hold-out more than with random weights",
            lost[0] >= lost[1] + VISIBLE,
            {"drawn.probe_ood_fall": lost[0], "random.probe_ood_fall": lost[1]},
        ),
        Part(
            "the hold-out is distorted more than around it and at random",
            inside >= 1.5 * max(around, random),
            {"spread_inside": inside, "spread_around": around, "spread_random": random},
        ),
        Part(
            "the output is less factorised than perfect images",
            output <= perfect - VISIBLE,
            {"F_output": output, "F_output_perfect": perfect},
        ),
        Part("the less factorised, the worse", order <= -0.5, {"rank_correlation_F_ood": order}),
        Part(
            "F separates decoders that compose",
            min(able) > max(unable),
            {"F_last_composing_lowest": min(able), "F_last_failing_highest": max(unable)},
        ),
    ]


@claim(
    id="FR-A",
    source="FR App. A.4, A.5, Eqs. 31-35",
    chapter=CHAPTER,
    figure="FR2-rank",
    statement="The CP rank of the learned kernel measures how mixed two factors are, and the "
    "share of weight in terms of one factor measures how factorised a layer is.",
    rule="Two factors, so that the CP rank is the number of Schmidt terms of the centred kernel, "
    "counted by its participation number; F_A is the share of a layer's variance in terms of x "
    "alone and of y alone. Medians over seeds, then over depths: (a) the bump code has F_A = 1 "
    "and 2 terms, to 1 %; (b) the last hidden layer of CNNs and of MLPs, with either code, has "
    "more terms than the input; (c) its F_A is at least 0.05 lower. Fair, over the networks that "
    "learned to draw: (d) their output has at least 1.5 times as many terms as the perfect "
    "images; (e) its F_A is at least 0.05 below that of the perfect images; (f) a table with one "
    "unit per position, which composes nothing, has at least 1.5 times as many terms as the "
    "perfect images; (g) terms of the output and OOD error have a rank correlation of at least "
    "0.5.",
)
def _rank(r: xr.Dataset) -> Decision:
    groups = {kind: _models(r, kind) for kind in KINDS}
    code = {name: _at(r, name, groups["cnn_bump"][0], "input") for name in ("one_factor", "terms")}
    rise = {n: _over(v, lambda m: -_fall(r, "terms", m)) for n, v in groups.items()}
    fall = {n: _over(v, lambda m: _fall(r, "one_factor", m)) for n, v in groups.items()}
    parts = [
        Part(
            "the code is exactly factorised",
            code["one_factor"] >= 0.99 and abs(code["terms"] - 2) <= 0.02,
            {f"code.{name}": v for name, v in code.items()},
        ),
        Part(
            "the number of terms grows",
            min(rise.values()) > 0,
            {f"terms_gained.{n}": v for n, v in rise.items()},
        ),
        Part(
            "the share of single factors falls",
            min(fall.values()) >= VISIBLE,
            {f"one_factor_lost.{n}": v for n, v in fall.items()},
        ),
    ]
    drawn = _learned(r)
    perfect = {name: _at(r, name, "perfect", "output") for name in ("one_factor", "terms")}
    table = _at(r, "terms", "table", "output")
    output = {
        name: _over(drawn, lambda m, n=name: _at(r, n, m, "output"))
        for name in ("one_factor", "terms")
    }
    order = _spearman([_at(r, "terms", m, "output") for m in drawn], [_ood(r, m) for m in drawn])
    return Decision(
        parts,
        [
            Part(
                "a failing output has more terms than perfect images",
                output["terms"] >= 1.5 * perfect["terms"],
                {"drawn.terms": output["terms"], "perfect.terms": perfect["terms"]},
            ),
            Part(
                "and less weight in single factors",
                output["one_factor"] <= perfect["one_factor"] - VISIBLE,
                {
                    "drawn.one_factor": output["one_factor"],
                    "perfect.one_factor": perfect["one_factor"],
                },
            ),
            Part(
                "a table has more terms than perfect images",
                table >= 1.5 * perfect["terms"],
                {"table.terms": table},
            ),
            Part("the more terms, the worse", order >= 0.5, {"rank_correlation_terms_ood": order}),
        ],
    )
