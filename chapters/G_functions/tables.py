"""Tables and numbers of App. G beside those of the kit (see `benchmarks.functions.tables`).

`shared` are the results of chapter fig3_functions, `r` those of this chapter; medians over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.functions.tables import (
    ELEVEN,
    MASKS,
    OTHERS,
    RULES,
    SETS,
    TRAINED_WITH_MASKS,
    UNLEARNED,
    VN,
    counts,
    least,
    named,
    present,
    winner,
    won,
)
from chapters.G_functions.figures_gallery import gaps
from chapters.G_functions.figures_readings import FOLLOWED, READINGS, SOLVERS, deep, followed
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table

# What the text of the paper still has of Table 6: its columns and the units are lost.
SURVIVORS = {
    ("vn_3", "forecast_25"): 0.391,
    ("vn_5", "forecast_25"): 0.392,
    ("vn_3", "forecast_50"): 0.622,
    ("vn_5", "forecast_50"): 0.622,
    ("vn_5", "random_30"): 0.0120,
    ("vn_3", "block_128"): 0.297,
}
LOW, DETAIL = ["0", "0-2", "2-5"], "10-20"  # bands, in cycles per signal


def survivors(shared: xr.Dataset) -> Table:
    """The six numbers that the text of Table 6 still has, beside ours on each set, the set that is
    nearest, and the columns in which the model is the best of the eleven.
    """
    rows = {}
    best = winner(shared, ELEVEN, "zero_filled")
    for (model, mask), number in SURVIVORS.items():
        if present(shared, [model]):
            ours = least(shared, [model], "zero_filled").sel(mask=mask)
            nearest = abs(np.log(ours / number)).idxmin("set").item()
            first = [SETS[s] for s in SETS if best.sel(mask=mask, set=s) == model]
            rows[label(shared, model), MASKS[mask]] = {
                "paper": number,
                **{f"ours, {title}": float(ours.sel(set=s)) for s, title in SETS.items()},
                "nearest": SETS[nearest],
                "column minimum here": ", ".join(first) or "none",
            }
    return Table(_frame(rows, ["model", "mask"]), name="the numbers left of Table 6")


def _frame(rows: Mapping, names: list[str]) -> pd.DataFrame:
    """Rows by their keys, which may be tuples."""
    index = pd.MultiIndex.from_tuples(rows, names=names) if len(names) > 1 and rows else None
    frame = pd.DataFrame(list(rows.values()), index=index if len(names) > 1 else list(rows))
    return frame if index is not None else frame.rename_axis(names[0])


def low_missed(one: xr.Dataset) -> xr.DataArray:
    """Share of the power up to 5 cycles per signal that a drawing misses."""
    missed, power = one["band_missed"].sel(band=LOW), one["band_power"].sel(band=LOW)
    return (missed * power).sum("band", skipna=False) / power.sum("band")


def tail_error(one: xr.Dataset) -> xr.DataArray:
    """Error on the hidden quarter over the signal's power there."""
    error, power = (one[name].sum("place", skipna=False) for name in ("tail_error", "tail_truth"))
    return error / power


def signatures(shared: xr.Dataset, name: str = "hard") -> xr.Dataset:
    """All signatures of the paper's eleven, medians over seeds; tails as printed."""
    one = shared.sel(model=present(shared, ELEVEN), set=name)
    tail = one.sel(protocol="zero_filled")
    along = tail["tail_error"] / tail["tail_truth"]
    values = {
        "bend": one["bend"],
        "variety": one["variety"],
        "correlation": one["correlation"],
        "missed to 5 cycles": low_missed(one),
        "missed 10-20": one["band_missed"].sel(band=DETAIL, drop=True),
        "gain 10-20": one["band_gain"].sel(band=DETAIL, drop=True),
        "tail: power": tail["tail_power"],
        "tail: error / power": tail_error(tail),
        "tail: first eighth": along.isel(place=0, drop=True),
        "tail: last eighth": along.isel(place=-1, drop=True),
        "tail: growth": tail["tail_growth"],
        "error where seen": tail["seen_error"],
    }
    return xr.Dataset({title: median(value) for title, value in values.items()})


def signature_table(shared: xr.Dataset) -> Table:
    """The same as a table, a row for each model."""
    found = signatures(shared)
    index = pd.Index(found["label"].values.astype(str), name="model")
    columns = {str(title): value.values for title, value in found.data_vars.items()}
    return Table(pd.DataFrame(columns, index=index), name="signatures of failure")


def reading_table(r: xr.Dataset) -> Table:
    """Errors of every network by both readings, and what its layers do on ID signals."""
    rows = {}
    middle = r[["mse", "active", "explained", "unused", "coherence"]].map(median)
    for model in r["model"].values.tolist():
        one = middle.sel(model=model)
        row = {
            (title, reading): float(one["mse"].sel(set=s, reading=reading))
            for s, title in SETS.items()
            for reading in READINGS
        }
        for layer in range(1, int(r["depth"].sel(model=model)) + 1):
            at = one.sel(layer=layer)
            row |= {
                (f"layer {layer}", "in use"): float(at["active"].sel(set="id")),
                (f"layer {layer}", "explained"): float(at["explained"].sel(set="id")),
                (f"layer {layer}", "unused"): float(at["unused"]),
                (f"layer {layer}", "coherence"): float(at["coherence"]),
            }
        rows[label(r, model)] = row
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("network")
    whole = {column: "{:.0f}" for column in frame if column[1] in ("in use", "unused")}
    return Table(frame, formats=whole, name="networks of this page")


def strict_table(r: xr.Dataset) -> Table:
    """Masked errors at the limit from the top code over those from the first, over the cells."""
    rows = {}
    for model in deep(r):
        cells = median(r["hidden"].sel(model=model, set=list(SETS), solver="limit"))
        ratio = cells.sel(reading="top") / cells.sel(reading="first")
        rows[label(r, model)] = {
            "median over cells": float(ratio.median()),
            "most": float(ratio.max()),
        }
    return Table(_frame(rows, ["network"]), name="masked error, top code over first code")


def rounds_table(r: xr.Dataset) -> Table:
    """Rounds in numbers on ID signals; last, warm and cold codes and falling lambdas on validation
    signals.
    """
    rows = {}
    models, masks = followed(r)
    for model in models:
        for mask in masks:
            one = r.sel(model=model, mask=mask)
            last, final = int(r["early"].max()), int(r["round"].max())
            at = one.sel(round=last, set="id")
            rows[label(r, model), MASKS[mask]] = {
                f"gap at {last}": at["curve_gap"],
                f"gap at {final}": one["curve_gap"].sel(round=final, set="id"),
                "residual where seen": at["curve_rms"],
                "the same, limit": one["limit_rms"].sel(set="id"),
                f"sweeps to {last}": at["curve_sweeps"],
                "sweeps to the limit": one["limit_sweeps"].sel(set="id"),
                "hidden: warm": one["curve_hidden"].sel(round=last, set="val"),
                "hidden: cold": one["cold_hidden"].sel(early=last),
                "hidden: falling λ": one["falling_hidden"],
            }
    rows = {key: {k: float(median(v)) for k, v in row.items()} for key, row in rows.items()}
    return Table(_frame(rows, ["network", "mask"]), name="rounds of imputation")


def ablation_table(shared: xr.Dataset) -> Table:
    """In how many cells our error is the lower one, against every control, and the median ratio."""
    vn = {"rounds": "zero_filled", "solved": "mask_aware"}
    best = {how: least(shared, VN, protocol) for how, protocol in vn.items()}
    own = {how: least(shared, ["vn_1"], protocol) for how, protocol in vn.items()}
    others = least(shared, OTHERS, "zero_filled")
    pairs = [("best VN, rounds", best["rounds"], "the paper's others, as printed", others)]
    for rule in present(shared, list(RULES)):
        theirs = least(shared, [rule], "mask_aware")
        pairs.append(("best VN, rounds", best["rounds"], label(shared, rule), theirs))
    masked = least(shared, TRAINED_WITH_MASKS, "mask_aware")
    pairs += [(f"best VN, {how}", best[how], "networks trained with masks", masked) for how in vn]
    for model in present(shared, ["exemplars", "nearest", "gaussian"]):
        theirs = least(shared, [model], "mask_aware")
        pairs.append(("best VN, solved", best["solved"], label(shared, model), theirs))
    pairs.append(("VN-1L, solved: inference", own["solved"], "VN-1L, rounds", own["rounds"]))
    for model in present(shared, UNLEARNED):
        for how, protocol in vn.items():
            theirs = least(shared, [model], protocol)
            said = f"{label(shared, model)}, {how}"
            pairs.append((f"VN-1L, {how}: learning", own[how], said, theirs))
    rows = {}
    for ours, mine, against, theirs in pairs:
        ratio = mine / theirs
        if bool(ratio.notnull().any()):
            rows[ours, against] = {
                "cells won": won(mine, theirs),
                "of": int(ratio.notnull().sum()),
                "our error over theirs": float(ratio.median()),
            }
    whole = {"cells won": "{:.0f}", "of": "{:.0f}", "our error over theirs": "{:.2f}"}
    return Table(_frame(rows, ["ours", "against"]), formats=whole, name="inference and learning")


def numbers(shared: xr.Dataset, r: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose on the shipped results, by their keys."""
    if not (found := counts(shared)) or set(FOLLOWED) - set(r["model"].values.tolist()):
        return {}
    found |= _signature_numbers(shared) | _gap_numbers(shared)
    return named(found | _reading_numbers(r) | _round_numbers(r), "appG")


def _signature_numbers(shared: xr.Dataset) -> dict[str, str]:
    found = signatures(shared)
    zero = shared["zero_baseline"].isel(model=0, seed=0).sel(set="hard")
    whole = median(shared["mse"].sel(model=list(VN), set="hard")) / zero
    gains = median(shared["band_gain"].sel(model="rnn", set="hard"))
    vn = found.sel(model=list(VN))
    texts = {
        "bend": f"{100 * float(found['bend'].sel(model='deep_ae')):.0f}",
        "correlation": f"{float(found['correlation'].sel(model='deep_ae')):.2f}",
        "vn-whole-least": f"{100 * float(whole.min()):.1f}",
        "vn-whole-most": f"{100 * float(whole.max()):.1f}",
        "vn-low-most": f"{100 * float(vn['missed to 5 cycles'].max()):.0f}",
        "vn-detail-least": f"{100 * float(vn['missed 10-20'].min()):.0f}",
        "vn-tail-power": f"{100 * float(vn['tail: power'].max()):.0f}",
        "vn-tail-error": f"{float(vn['tail: error / power'].max()):.2f}",
    }
    texts |= {f"rnn-gain-{band}": f"{float(gains.sel(band=band)):.2f}" for band in ("0-2", DETAIL)}
    for model, short_name in (("rnn", "rnn"), ("mamba_bottleneck", "bottleneck")):
        one = found.sel(model=model)
        texts[f"{short_name}-low"] = f"{100 * float(one['missed to 5 cycles']):.0f}"
        texts[f"{short_name}-detail"] = f"{100 * float(one['missed 10-20']):.0f}"
    return texts


def _gap_numbers(shared: xr.Dataset) -> dict[str, str]:
    texts = {}
    for name, protocol in (("whole", None), ("tail", "zero_filled")):
        gap = gaps(shared, protocol)
        texts |= {
            f"gap-{name}-cases": f"{gap.sizes['example']}",
            f"gap-{name}-share": f"{100 * float((gap > 0).mean()):.0f}",
            f"gap-{name}-median": short(float(gap.median())),
            f"gap-{name}-most": short(float(gap.max())),
        }
    return texts


def _reading_numbers(r: xr.Dataset) -> dict[str, str]:
    zero = r["zero_baseline"].isel(model=0, seed=0).sel(set="id")
    share = 100 * median(r["mse"].sel(set="id")) / zero
    texts = {}
    for model in deep(r):
        for reading in READINGS:
            value = float(share.sel(model=model, reading=reading))
            texts[f"{model.replace('_', '-')}-{reading}"] = f"{value:.0f}"
    one = r.sel(model="vn_1", layer=1)
    mu, active = float(median(one["coherence"])), float(median(one["active"].sel(set="id")))
    texts |= {
        "coherence": f"{mu:.4f}",
        "bound": f"{(1 + 1 / mu) / 2:.2f}",
        "active": f"{active:.1f}",
    }
    return texts


def _round_numbers(r: xr.Dataset) -> dict[str, str]:
    trained = list(VN)
    first = median(r["hidden"].sel(reading="first", set=list(SETS)))
    ratio = first.sel(solver="rounds") / first.sel(solver="limit")
    ratio = ratio.sel(model=trained)
    gain = first.sel(model="vn_1") / first.sel(model="vn_untrained")
    last = int(r["early"].max())
    one = r.sel(model=trained, set=list(SETS))
    at, limit = one.sel(round=last), median(one["limit_rms"])
    rms = median(at["curve_rms"])
    factor = float(r["factor"].min())
    hard = r.sel(model="vn_1", set="hard")
    whole, hidden = median(hard["sweep_mse"]), median(hard["sweep_hidden"])
    texts = {
        "limit-ratio": f"{float(ratio.median()):.2f}",
        "limit-ratio-least": f"{float(ratio.min()):.2f}",
        "limit-ratio-most": f"{float(ratio.max()):.2f}",
        "learned-rounds": f"{float(gain.sel(solver='rounds').median()):.2f}",
        "learned-limit": f"{float(gain.sel(solver='limit').median()):.2f}",
        "rounds": f"{last}",
        "objective-above": f"{100 * float(median(at['curve_gap']).max()):.2g}",
        "last-won": f"{100 * float(median(at['curve_gain']).max()):.2g}",
        "rms-least": f"{float(rms.min()):.2f}",
        "rms-most": f"{float(rms.max()):.2f}",
        "limit-rms-least": f"{float(limit.min()):.2f}",
        "limit-rms-most": f"{float(limit.max()):.2f}",
        "factor": f"{factor:g}",
        "sparse-whole": short(float(whole.sel(factor=factor))),
        "own-whole": short(float(whole.sel(factor=1.0))),
    }
    for mask, name in (("forecast_25", "tail"), ("block_128", "block"), ("random_30", "random")):
        for solver in SOLVERS:
            for which, times in (("own", 1.0), ("sparse", factor)):
                value = float(hidden.sel(mask=mask, solver=solver, factor=times))
                texts[f"{which}-{name}-{solver}"] = short(value)
    return texts
