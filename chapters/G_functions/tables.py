"""Tables and numbers of App. G beside those of the kit (see `benchmarks.functions.tables`).

`shared` are the results of chapter fig3_functions, `r` those of this chapter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.functions.names import (
    AUTOENCODERS,
    DYNAMICS,
    ELEVEN,
    MASKED,
    MASKS,
    OTHERS,
    SETS,
    UNLEARNED,
    VN,
)
from benchmarks.functions.protocols import PRINTED
from benchmarks.functions.tables import (
    RULES,
    counts,
    least,
    paired,
    present,
    standing,
    winner,
)
from chapters.G_functions.claims import signatures
from chapters.G_functions.figures_gallery import gaps
from chapters.G_functions.figures_readings import READINGS, deep, followed
from vnlib.plots.frames import label
from vnlib.plots.statistics import ahead, extremes, short, texts
from vnlib.plots.tables import Table, frame, if_computed, spreads

# What the text of the paper still has of Table 6: its columns and the units are lost.
SURVIVORS = {
    ("vn_3", "forecast_25"): 0.391,
    ("vn_5", "forecast_25"): 0.392,
    ("vn_3", "forecast_50"): 0.622,
    ("vn_5", "forecast_50"): 0.622,
    ("vn_5", "random_30"): 0.0120,
    ("vn_3", "block_128"): 0.297,
}
ALIKE = ("exemplars", "nearest", "gaussian")
SIGNATURES = {
    "bend": "bend",
    "variety": "variety",
    "correlation": "correlation",
    "missed_low": "missed, to 5 cycles",
    "missed_high": "missed, 10 to 20 cycles",
    "gain_10-20": "gain, 10 to 20 cycles",
    "tail_power": "tail: power",
    "tail_vs_power": "tail: error / power",
    "first_eighth": "tail: first eighth",
    "last_eighth": "tail: last eighth",
    "growth": "tail: growth",
    "seen": "error where seen",
}


def survivors(shared: xr.Dataset) -> Table:
    """The numbers left of Table 6 beside ours, and where the model is the best of the eleven."""
    rows, best = {}, winner(shared, ELEVEN, PRINTED)
    for (model, mask), number in SURVIVORS.items():
        if present(shared, [model]):
            ours = least(shared, [model], PRINTED).sel(mask=mask)
            first = [title for s, title in SETS.items() if best.sel(mask=mask, set=s) == model]
            rows[label(shared, model), MASKS[mask]] = {
                "paper": number,
                **{f"ours, {title}": float(ours.sel(set=s)) for s, title in SETS.items()},
                "nearest": SETS[abs(np.log(ours / number)).idxmin("set").item()],
                "column minimum here": ", ".join(first) or "none",
            }
    return Table(frame(rows, "model", "mask"), name="the numbers left of Table 6")


def signature_table(shared: xr.Dataset) -> Table:
    """All signatures of the paper's eleven on Hard signals; tails as printed."""
    found = signatures(shared)[list(SIGNATURES)].sel(model=present(shared, ELEVEN))
    return Table(spreads(found.rename(SIGNATURES), "model"), name="signatures of failure")


def reading_table(r: xr.Dataset) -> Table:
    """Errors of every network by both readings, and what its layers do on ID signals."""
    errors = r["mse"].sel(reading=list(READINGS)).transpose("model", "seed", "set", "reading")
    known = r[["active", "explained", "unused", "coherence"]].rename(active="in use")
    layers = known.sel(set="id").to_array("of").transpose("model", "seed", "layer", "of")
    rows = spreads({"": errors}, "model", set=SETS)
    rows = rows.join(spreads({"": layers}, "model", layer="layer {}".format))
    return Table(rows.rename_axis("network"), name="networks of this page")


def strict_table(r: xr.Dataset) -> Table:
    """Masked errors at the limit from the top code over those from the first, over the cells, seed
    by seed.
    """
    cells = r["hidden"].sel(model=deep(r), set=list(SETS), solver="limit")
    ratio = cells.sel(reading="top") / cells.sel(reading="first")
    over = {"median over cells": ratio.median(["mask", "set"]), "most": ratio.max(["mask", "set"])}
    rows = spreads(over, "model").rename_axis("network")
    return Table(rows, name="masked error, top code over first code")


@if_computed
def rounds_table(r: xr.Dataset) -> Table:
    """Rounds on ID signals; warm and cold codes and falling lambdas on validation signals."""
    models, masks = followed(r)
    last, final = int(r["early"].max()), int(r["round"].max())
    one = r.sel(model=models, mask=masks)
    at, limit = one.sel(round=last, set="id"), one.sel(set="id")
    columns = {
        f"gap at {last}": at["curve_gap"],
        f"gap at {final}": limit["curve_gap"].sel(round=final),
        "residual where seen": at["curve_rms"],
        "the same, at the limit": limit["limit_rms"],
        f"sweeps to {last}": at["curve_sweeps"],
        "sweeps to the limit": limit["limit_sweeps"],
        "hidden: warm": one["curve_hidden"].sel(round=last, set="val"),
        "hidden: cold": one["cold_hidden"].sel(early=last),
        "hidden: falling λ": one["falling_hidden"],
    }
    rows = spreads(columns, "model", "mask", mask=MASKS).rename_axis(["network", "mask"])
    return Table(rows, name="rounds of imputation")


def ablation_table(shared: xr.Dataset) -> Table:
    """In how many cells our error is surely lower or tied, against every control, and the median
    ratio over cells, seed by seed.
    """
    hows = {"rounds": "zero_filled", "solved": "mask_aware"}
    rounds, solved = hows.values()
    one = VN[:1]

    def told(*models: str) -> dict[str, tuple[Sequence[str], str]]:
        return {label(shared, m): ([m], solved) for m in present(shared, models)}

    others = {"the paper's others, shown zeros": (OTHERS, rounds)}
    masked = {"networks trained with masks": (MASKED, solved)}
    pairs = [
        ("best VN, solved", VN, solved, others | masked | told(*RULES, *ALIKE)),
        ("best VN, rounds", VN, rounds, others),
        ("VN-1L, solved: inference", one, solved, {"VN-1L, rounds": (one, rounds)}),
    ]
    for model in present(shared, UNLEARNED):
        for how, protocol in hows.items():
            atoms = {f"{label(shared, model)}, {how}": ([model], protocol)}
            pairs.append((f"VN-1L, {how}: learning", one, protocol, atoms))
    rows, leads, ratios = [], [], []
    for ours, models, protocol, theirs in pairs:
        for against, (rivals, how) in theirs.items():
            ratio = paired(shared, models, rivals, protocol, how)
            if ratio.notnull().any():
                rows.append((ours, against))
                leads.append(ahead(standing(shared, models, rivals, protocol, how)))
                ratios.append(ratio)
    if not rows:
        return Table(frame({}))
    columns = {
        "cells surely ahead": xr.DataArray(leads, dims="pair"),
        "our error over theirs": xr.concat(ratios, "pair"),
    }
    found = spreads(columns, "pair")
    found.index = pd.MultiIndex.from_tuples(rows, names=["ours", "against"])
    return Table(found, name="inference and learning")


def numbers(shared: xr.Dataset, r: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose on the shipped results, by their keys."""

    def span(values: xr.DataArray) -> dict[str, xr.DataArray]:
        dims = [dim for dim in values.dims if dim != "seed"]
        return {"median": values.median(dims), **extremes(values)}

    found = signatures(shared)
    few, vn = found.sel(model=["deep_ae", "rnn", "mamba_bottleneck"]), found.sel(model=list(VN))
    gap = {"whole": gaps(shared), "tail": gaps(shared, PRINTED)}
    zero = r["zero_baseline"].isel(model=0, seed=0).sel(set="id")
    reading = r["mse"].sel(model=deep(r), set="id") / zero
    layer = r[["coherence", "active"]].sel(model="vn_1", layer=1, set="id")
    hidden = r["hidden"].sel(reading="first", set=list(SETS))
    limit = hidden.sel(model=list(VN), solver="rounds") / hidden.sel(solver="limit")
    learned = hidden.sel(model="vn_1") / hidden.sel(model="vn_untrained")
    cells = learned.sel(solver="limit").transpose("set", "mask", "seed")
    last, factor = int(r["early"].max()), float(r["factor"].min())
    at = r[["curve_gap", "curve_gain", "curve_rms", "limit_rms"]].sel(round=last)
    at = at.sel(model=list(VN), set=list(SETS))
    sweep = r[["sweep_mse", "sweep_hidden"]].sel(model="vn_1", set="hard", factor=[1, factor])
    sweep = sweep.assign_coords(factor=["own", "sparse"])
    percents = {
        **few[["bend", "missed_low", "missed_high"]],
        "vn": {name: span(vn[name]) for name in ("missed_low", "missed_high", "tail_power")},
        "coders": {"tail_power": span(found["tail_power"].sel(model=list(AUTOENCODERS)))},
        "gap": {name: {"share": (one > 0).mean()} for name, one in gap.items()},
        "reading": reading,
    }
    ratios = {
        **few[["correlation", "gain_0-2", "gain_10-20"]],
        "vn-tail-error": extremes(vn["tail_vs_power"]),
        "bound": (1 + 1 / layer["coherence"]) / 2,
        "coherence": layer["coherence"],
        "last_eighth": found["last_eighth"].sel(model=list(DYNAMICS)),
        "learning": learned.median(["mask", "set"]),
        "learned-fig3": paired(shared, VN[:1], ["vn_untrained"], "mask_aware"),
        "learned-cell": cells,
        "limit": {"ratio": span(limit), "rms": span(at["limit_rms"])},
        "rms": span(at["curve_rms"]),
    }
    tenths = {"active": layer["active"], "vn-whole": span(100 * vn["vs_zero"])}
    gained = {
        "objective-above": span(100 * at["curve_gap"]),
        "last-won": span(100 * at["curve_gain"]),
    }
    cases = {f"gap-{name}-cases": one.size for name, one in gap.items()}
    largest = {
        name: {"median": one.median(), "most": one.max()} for name, one in gap.items()
    }  # over examples of one seed
    sizes = {"gap": largest, "whole": sweep["sweep_mse"]}
    return (
        counts(shared, "appG")
        | texts("appG", percents, lambda share: short(100 * share))
        | texts("appG", ratios | tenths | gained)
        | texts(
            "appG",
            cases | {"rounds": last, "factor": factor, "seeds": r.sizes["seed"]},
            "{:g}".format,
        )
        | texts("appG", sizes)
        | texts("appG", sweep["sweep_hidden"].transpose("factor", "mask", "solver", ...))
    )
