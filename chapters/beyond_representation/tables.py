"""Linear and orthogonal factors in words and tables; everything said is computed from the results.

`results` as in `figures.representation`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import spearmanr

from chapters.beyond_representation.figures import (
    BENCHMARKS,
    GROUPS,
    benchmarks,
    code,
    layers,
    there,
)
from vnlib.plots.rows import label
from vnlib.plots.texts import listed, ranged

LEARNED = ("vn", "backprop")
# measure -> (what readers call it, its sign where more of it should mean a smaller error)
MEASURES = {
    "linearity": ("linearity", 1),
    "overlap": ("1 − overlap", -1),
    "condition": ("linearity × (1 − overlap)", 1),
    "transfer": ("transfer", 1),
    "read": ("read right", 1),
}


def medians(results: xr.Dataset, model: str) -> dict[str, float]:
    """Medians over seeds of what is known of a model's code, by name, and of its errors."""
    one = code(results, model)
    names = (
        "linearity",
        "shared",
        "overlap",
        "overlap_random",
        "transfer",
        "read",
        "condition",
        "error_linear",
    )
    return {name: float(one[name].median()) for name in (*names, "error_seen", "error_unseen")}


def summary(results: xr.Dataset) -> str:
    """What came out, in a few lines of Markdown."""
    lines = []
    for name in benchmarks(results):
        frames = {kind: known(results, name, (kind,)) for kind in LEARNED}
        parts = [
            f"{GROUPS[kind][0]} {_span(frame['linearity'])} and {_span(frame['overlap'])}"
            for kind, frame in frames.items()
            if len(frame)
        ]
        if not parts:
            continue
        learned = there(results, name, LEARNED)
        best = min(learned, key=lambda m: medians(results, m)["error_unseen"])
        top = max(learned, key=lambda m: (round(medians(results, m)["condition"], 3), m == best))
        nearest = "and the code nearest to the condition"
        if best != top:
            nearest = (
                f"; the code nearest to the condition is that of {label(results, top)} "
                f"({medians(results, top)['error_unseen']:.2g})"
            )
        lines.append(
            f"- **{BENCHMARKS[name].capitalize()}.** Linearity and overlap of the codes: "
            f"{'; '.join(parts)}. Of these models {label(results, best)} has the least error at "
            "new combinations "
            f"({medians(results, best)['error_unseen']:.2g})"
            f"{'' if nearest[0] == ';' else ' '}{nearest}."
        )
    return "\n".join([*lines, agreement(results)])


def _span(values: pd.Series) -> str:
    """The lowest and the highest value."""
    low, high = f"{values.min():.2f}", f"{values.max():.2f}"
    return low if low == high else f"{low} to {high}"


def agreement(results: xr.Dataset) -> str:
    """In how many benchmarks the condition and the error go together, as Markdown."""
    found = {name: rank(known(results, name), "condition") for name in benchmarks(results)}
    found = {name: value for name, value in found.items() if np.isfinite(value)}
    if not found:
        return "- **Condition and error.** Too few trained models for a rank correlation."
    told = listed([f"{value:+.2f} ({BENCHMARKS[name]})" for name, value in found.items()])
    strong = sum(value <= -0.5 for value in found.values())
    return (
        "- **Condition and error.** Rank correlation of linearity × (1 − overlap) with the error "
        f"at new combinations, over trained models: {told}. If the condition decided the error, "
        f"all would be near -1; at or below -0.5 are {strong} of {len(found)}."
    )


def free(results: xr.Dataset) -> str:
    """What nothing that was learned has: linear codes, and small errors without them, as a Markdown
    table.
    """
    lines = ["| | nothing learned | linearity | overlap | error |", "|---|---|---:|---:|---:|"]
    for name in benchmarks(results):
        for model in there(results, name, ("untrained", "control")):
            text = "| {linearity:.2f} | {overlap:.2f} | {error_unseen:.2g} |".format(
                **medians(results, model)
            )
            lines.append(f"| {BENCHMARKS[name]} | {label(results, model)} {text}")
    return "\n".join(lines)


def supports(results: xr.Dataset) -> str:
    """How additive the sets of active atoms are, beside the coefficients, as Markdown."""
    lines = []
    for name in benchmarks(results):
        parts = []
        for model in there(results, name):
            share, own = results["linearity"].sel(model=model), layers(results, model)
            pairs = [
                (layer, layer.replace("support", "code"))
                for layer in own
                if layer.startswith("support")
            ]
            told = [
                f"{float(share.sel(layer=s).median()):.2f} "
                f"({float(share.sel(layer=c).median()):.2f})"
                for s, c in pairs
            ]
            if told:
                parts.append(f"{label(results, model)} {listed(told)}")
        if parts:
            lines.append(f"- {BENCHMARKS[name].capitalize()}: {'; '.join(parts)}.")
    return "\n".join(lines)


def known(results: xr.Dataset, benchmark: str, groups: Sequence[str] = LEARNED) -> pd.DataFrame:
    """`medians` of the models of a benchmark, a row each."""
    return pd.DataFrame([medians(results, m) for m in there(results, benchmark, tuple(groups))])


def rank(models: pd.DataFrame, measure: str, *, gap: bool = False) -> float:
    """Spearman's coefficient of a measure with the error at new combinations, over the rows of
    `known`.

    Measures are turned so that more should mean less error. NaN for fewer than three models, and
    where one of the two is the same for all.

    Parameters
    ----------
    gap
        With that error over the one where nothing is new.
    """
    if len(models) < 3:
        return float("nan")
    error = (
        models["error_unseen"] / models["error_seen"].where(models["error_seen"] > 0)
        if gap
        else models["error_unseen"]
    )
    # Six digits: rounding must not order what is equal.
    pair = pd.DataFrame({"x": MEASURES[measure][1] * models[measure], "y": error}).dropna()
    pair = pair.map(lambda value: float(f"{value:.6g}"))
    if len(pair) < 3 or (pair.nunique() < 2).any():
        return float("nan")
    return float(spearmanr(pair["x"], pair["y"]).statistic)


# --- tables ---------------------------------------------------------------------------------------


def correlations_table(results: xr.Dataset) -> pd.DataFrame:
    """Rank correlations of all measures with errors, by benchmark, over trained models and over
    all.
    """
    rows = {}
    for kind, groups in (("trained", LEARNED), ("all", tuple(GROUPS))):
        models = {name: known(results, name, groups) for name in benchmarks(results)}
        counts = ", ".join(str(len(frame)) for frame in models.values())
        for measure, (title, _) in MEASURES.items():
            rows[f"{kind} ({counts} models)", title] = {
                (BENCHMARKS[name], said): _signed(rank(frame, measure, gap=gap))
                for name, frame in models.items()
                for said, gap in (("error", False), ("over ID error", True))
            }
    table = pd.DataFrame(rows).T
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    return table


def _signed(value: float) -> str:
    return f"{value:+.2f}" if np.isfinite(value) else "–"


def codes_table(results: xr.Dataset) -> pd.DataFrame:
    """The code of every model: all measures, medians [lowest, highest] over seeds."""
    rows = {}
    for name in benchmarks(results):
        for model in there(results, name):
            one = code(results, model)
            rows[BENCHMARKS[name], label(results, model)] = {
                "linearity": ranged(one["linearity"], "{:.2f}"),
                "transfer": ranged(one["transfer"], "{:.2f}"),
                "overlap": ranged(one["overlap"], "{:.2f}"),
                "(random)": ranged(one["overlap_random"], "{:.2f}"),
                "cosine²": ranged(one["cosine"], "{:.3f}"),
                "(random) ": ranged(one["cosine_random"], "{:.3f}"),
                "read, first": ranged(one["read_first"], "{:.2f}"),
                "read, second": ranged(one["read_second"], "{:.2f}"),
                "error": ranged(one["error_unseen"], "{:.2g}"),
                "linear drawing": ranged(one["error_linear"], "{:.2g}"),
            }
    return pd.DataFrame(rows).T


def layers_table(results: xr.Dataset) -> pd.DataFrame:
    """Linearity, overlap and the error of a linear drawing of every layer; medians over seeds."""
    rows = {}
    for name in benchmarks(results):
        for model in there(results, name):
            own = layers(results, model)
            if len(own) < 2:
                continue
            one = results.sel(model=model)
            for layer in own:
                at = one.sel(layer=layer)
                rows[BENCHMARKS[name], label(results, model), layer] = {
                    "units": f"{float(at['units'].median()):.0f}",
                    "linearity": f"{float(at['linearity'].median()):.2f}",
                    "shared": f"{float(at['shared'].median()):.2f}" if name == "forces" else "",
                    "transfer": f"{float(at['transfer'].median()):.2f}",
                    "overlap": f"{float(at['overlap'].median()):.2f}",
                    "read": f"{float((at['read_first'] + at['read_second']).median()) / 2:.2f}",
                    "linear drawing": f"{float(at['error_linear'].median()):.2g}",
                }
    return pd.DataFrame(rows).T
