"""Tables 5 and 6 of the VN paper, and the counts that the pages take from them: Fig. 3, App. G.

Results are those of chapter fig3_functions: `mse` (model, seed, set), `hidden` (model, seed,
protocol, mask, set) and the errors of the zero baseline. All numbers are medians over seeds, and
ranges where a table has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.frames import in_groups, label
from vnlib.plots.statistics import median
from vnlib.plots.style import PALETTE
from vnlib.plots.tables import Table, spread

VN = ("vn_1", "vn_3", "vn_5")
OTHERS = (
    *("neural_ode", "rslds", "deep_ae", "sparse_ae"),
    *("rnn", "transformer", "mamba_bottleneck", "mamba"),
)
ELEVEN = (*VN, *OTHERS)  # the models of the paper's Tables 5 and 6
SETS = {"id": "ID", "easy": "Easy", "hard": "Hard"}
MASKS = {
    "forecast_25": "last quarter",
    "forecast_50": "last half",
    "random_30": "random 30 %",
    "block_128": "a block",
}
PROTOCOLS = {"zero_filled": "as printed", "mask_aware": "told the mask"}
# Group -> its name in legends, colour and marker.
GROUPS = {
    "vn": ("Vector Network", PALETTE[0], "o"),
    "printed": ("other models of the paper", PALETTE[3], "s"),
    "masked": ("trained with masks", PALETTE[2], "D"),
    "control": ("controls", PALETTE[7], "^"),
}
# Rules of thumb, which figures draw as lines.
RULES = {
    "zero_baseline": ("Zero baseline", ":"),
    "hold_last": ("Last value held", "--"),
    "linear": ("Linear interpolation", "-."),
}
UNIT = "ID power"  # the mean power of training signals
TRAINED_WITH_MASKS = ("deep_ae_masked", "rnn_masked", "transformer_masked")
UNLEARNED = ("vn_untrained", "fourier")
RULES_OF_THUMB = ("hold_last", "linear")


def present(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    """Those of the models that the results hold, in the order given."""
    return [m for m in models if m in results["model"].values]


def measured(results: xr.Dataset, values: xr.DataArray) -> list[str]:
    """The models that have numbers: Vector Networks, the paper's others, those trained with masks,
    controls.
    """
    names = values["model"].values[values.notnull().any([d for d in values.dims if d != "model"])]
    first = [m for m in ELEVEN if m in names]
    last = [m for m in in_groups(results, "masked") + in_groups(results, "control") if m in names]
    return first + last


def reconstruction(results: xr.Dataset) -> Table:
    """Table 5: errors on whole signals of every model that draws them, its parameters, and its
    atoms in use.
    """
    models = measured(results, results["mse"])
    values = results["mse"].sel(model=models, set=list(SETS)).assign_coords(set=list(SETS.values()))
    frame = spread(values, "model", "set")
    for fact, title in (("fact_parameters", "parameters"), ("fact_active", "atoms in use")):
        known = median(results[fact].sel(model=models)).values if fact in results else np.nan
        frame[title, ""] = known
    return Table(
        frame,
        formats={"parameters": "{:,.0f}", "atoms in use": "{:.1f}"},
        best=list(SETS.values()),
        name="errors on whole signals",
    )


def masked(results: xr.Dataset, protocol: str, masks: Sequence[str] = tuple(MASKS)) -> Table:
    """Table 6: errors on hidden samples by one protocol, for every model that has it; the least of
    a column is bold.
    """
    hidden = results["hidden"].sel(protocol=protocol)
    hidden = hidden.sel(model=measured(results, hidden), set=list(SETS))
    parts = {}
    for mask in masks:
        for name, title in SETS.items():
            one = spread(hidden.sel(mask=mask, set=name), "model", title=title)
            parts |= {(MASKS[mask], *column): one[column] for column in one}
    best = list(dict.fromkeys(column[:2] for column in parts))
    return Table(
        pd.DataFrame(parts), best=best, name=f"errors on hidden samples, {PROTOCOLS[protocol]}"
    )


def least(results: xr.Dataset, models: Sequence[str], protocol: str) -> xr.DataArray:
    """The lowest median error on hidden samples among some models, over (mask, set); NaN where none
    has one.
    """
    cells = _cells(results, models, protocol)
    return cells.min("model") if cells.sizes["model"] else cells.sum("model") * np.nan


def winner(results: xr.Dataset, models: Sequence[str], protocol: str) -> xr.DataArray:
    """The model with that error, over (mask, set); "" where none has one."""
    cells = _cells(results, models, protocol)
    known = cells.notnull().any("model")
    if not cells.sizes["model"]:
        return known.where(known, "").astype(str)
    return cells.fillna(np.inf).idxmin("model").where(known, "").astype(str)


def _cells(results: xr.Dataset, models: Sequence[str], protocol: str) -> xr.DataArray:
    """Median errors on hidden samples of those models that there are, (model, mask, set)."""
    asked = {"model": present(results, models), "protocol": protocol, "set": list(SETS)}
    return median(results["hidden"].sel(asked)).transpose("model", "mask", "set")


def winners(results: xr.Dataset) -> Table:
    """Who has the least error in every cell, as printed and where all are told the mask, and that
    of the zero baseline.
    """
    zero = results["zero_baseline_hidden"].isel(seed=0).max("model")
    asked = {
        "as printed": (ELEVEN, "zero_filled"),
        "told the mask": (results["model"].values.tolist(), "mask_aware"),
        "told the mask, the paper's eleven": (ELEVEN, "mask_aware"),
    }
    rows = {}
    for mask in results["mask"].values.tolist():
        for name, title in SETS.items():
            row = {("Zero baseline", "error"): float(zero.sel(mask=mask, set=name))}
            for said, (models, protocol) in asked.items():
                model = winner(results, models, protocol).sel(mask=mask, set=name).item()
                error = float(least(results, models, protocol).sel(mask=mask, set=name))
                row |= {
                    (said, "model"): label(results, model) if model else "",
                    (said, "error"): error,
                }
            rows[MASKS[mask], title] = row
    frame = pd.DataFrame.from_dict(rows, orient="index")
    frame.index = pd.MultiIndex.from_tuples(rows, names=["mask", "set"])
    return Table(frame, name="the least error of every cell")


def won(ours: xr.DataArray, theirs: xr.DataArray) -> int:
    """In how many cells our error is the lower one."""
    return int((ours < theirs).sum())


def counts(results: xr.Dataset) -> dict[str, str]:
    """What the pages say of Tables 5 and 6, by name; nothing where one of the models that are
    counted is missing.
    """
    told = results["hidden"].sel(protocol="mask_aware")
    wanted = {*ELEVEN, *TRAINED_WITH_MASKS, *UNLEARNED, *RULES_OF_THUMB}
    if wanted - set(results["model"].values.tolist()):
        return {}
    every = measured(results, told)
    whole = median(results["mse"])
    ours, others = (least(results, models, "zero_filled") for models in (VN, OTHERS))
    solved = least(results, VN, "mask_aware")
    ahead = whole.sel(model=list(OTHERS)) < whole.sel(model=list(VN)).min("model")
    first = whole.sel(model=list(ELEVEN)).idxmin("model")
    numbers = {
        "others": len(OTHERS),
        "cells": ours.size,
        "won": won(ours, others),
        "margin": f"{float((ours / others).median()):.2f}",
        "trained": won(ours, least(results, TRAINED_WITH_MASKS, "mask_aware")),
        "solved-trained": won(solved, least(results, TRAINED_WITH_MASKS, "mask_aware")),
        "thumb": won(ours, least(results, RULES_OF_THUMB, "mask_aware")),
        "unlearned": won(ours, least(results, UNLEARNED, "zero_filled")),
        "told": len(every),
        "told-won": int(np.isin(winner(results, every, "mask_aware"), VN).sum()),
    }
    for name in SETS:
        numbers[f"ahead-{name}"] = int(ahead.sel(set=name).sum())
        numbers[f"first-{name}"] = label(results, first.sel(set=name).item())
        numbers[f"zero-{name}"] = (
            f"{float(results['zero_baseline'].isel(model=0, seed=0).sel(set=name)):.2f}"
        )
    return {name: str(value) for name, value in numbers.items()}


def named(numbers: dict[str, str], page: str) -> dict[str, str]:
    """The same under the keys of a page, which begin with its short name."""
    return {f"{page}-{name}": text for name, text in numbers.items()}
