"""Tables 5 and 6 of the VN paper, and the counts that the pages take from them: Fig. 3, App. G.

Results are those of chapter fig3_functions; all numbers are medians over seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from benchmarks.baselines.failures import failures
from benchmarks.baselines.paired import lowest
from benchmarks.functions.names import ELEVEN, MASKED, MASKS, OTHERS, SETS, THUMB, UNLEARNED, VN
from benchmarks.functions.protocols import NAMES, PRINTED, by_protocol, five_rounds
from vnlib.plots.frames import in_groups, label
from vnlib.plots.statistics import ahead, confidence, median, percent, sides, texts
from vnlib.plots.tables import Table, spreads

GROUPS = {
    "vn": "Vector Network",
    "printed": "other models of the paper",
    "masked": "trained with masks",
    "control": "controls",
}
# Rules of thumb, which figures draw as lines.
RULES = {
    "zero_baseline": ("Zero baseline", ":"),
    "hold_last": ("Last value held", "--"),
    "linear": ("Linear interpolation", "-."),
}
FAILS = 0.5  # of the zero baseline: a run that leaves more of it on ID signals learned nothing
UNIT = "ID power"  # the mean power of training signals


def present(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    """Those of the models that the results hold, in the order given."""
    return [m for m in models if m in results["model"].values]


def measured(results: xr.Dataset, values: xr.DataArray) -> list[str]:
    """The models that have numbers: the paper's eleven, those trained with masks, controls."""
    names = values.dropna("model", how="all")["model"].values
    order = [*ELEVEN, *in_groups(results, "masked"), *in_groups(results, "control")]
    return [name for name in order if name in names]


def reconstruction(results: xr.Dataset) -> Table:
    """Table 5: errors on whole signals of every model that draws them, its size, and how many of
    its seeds learned nothing.
    """
    one = results.sel(model=measured(results, results["mse"]))
    known = {"atoms in use": one["fact_active"], "parameters": one["fact_parameters"]}
    inside = one["mse"].sel(set="id") / one["zero_baseline"].sel(set="id")
    known["failed"] = failures((inside > FAILS).where(inside.notnull()))
    formats = {"parameters": "{:,.0f}"}
    whole = spreads({"": one["mse"]} | known, "model", set=SETS)
    return Table(whole, formats, best=list(SETS.values()), name="errors on whole signals")


def masked(results: xr.Dataset, protocol: str, masks: Sequence[str] = tuple(MASKS)) -> Table:
    """Table 6: errors on hidden samples by one protocol; the least of a column is bold. As printed,
    what five rounds of Vector Networks leave stands below.
    """
    every = results["hidden"].sel(mask=list(masks))
    hidden = by_protocol(every, protocol)
    hidden = hidden.sel(model=measured(results, hidden)).transpose(..., "mask", "set")
    if protocol == PRINTED:
        hidden = xr.concat([hidden, five_rounds(results, every)], "model", join="outer")
    whole = spreads({"": hidden}, "model", mask=MASKS, set=SETS)
    best = list(dict.fromkeys(column[:2] for column in whole))
    return Table(whole, best=best, name=f"errors on hidden samples, {NAMES[protocol]}")


def hidden(results: xr.Dataset, models: Sequence[str], protocol: str) -> xr.DataArray:
    """Errors on hidden samples (model, seed, mask, set); NaN for models not asked for."""
    found = by_protocol(results["hidden"].sel(set=list(SETS)), protocol)
    return found.reindex(model=list(models))


def cells(results: xr.Dataset, models: Sequence[str], protocol: str) -> xr.DataArray:
    """Their medians (model, mask, set)."""
    return median(hidden(results, models, protocol))


def least(results: xr.Dataset, models: Sequence[str], protocol: str) -> xr.DataArray:
    """The lowest of these among some models; NaN where none has one."""
    return cells(results, models, protocol).min("model")


def best(results: xr.Dataset, models: Sequence[str], protocol: str) -> xr.DataArray:
    """The errors of the model with that median (seed, mask, set), its name beside them."""
    return lowest(hidden(results, models, protocol))


def paired(
    results: xr.Dataset,
    models: Sequence[str],
    others: Sequence[str],
    protocol: str,
    theirs: str = "",
) -> xr.DataArray:
    """The error of the best of some models over that of the best of others, seed by seed, as a
    median over cells (seed); see `standing`.
    """
    own, rest = best(results, models, protocol), best(results, others, theirs or protocol)
    return (own.drop_vars("model") / rest.drop_vars("model")).median(("mask", "set"))


def winner(results: xr.Dataset, models: Sequence[str], protocol: str) -> xr.DataArray:
    """The model with that error; "" where none has one."""
    found = cells(results, models, protocol)
    return found.fillna(np.inf).idxmin("model").where(found.notnull().any("model"), "").astype(str)


def standing(
    results: xr.Dataset,
    models: Sequence[str],
    others: Sequence[str],
    protocol: str,
    theirs: str = "",
) -> xr.DataArray:
    """Whether the best of some models, by its median, has surely less error than each of the others
    (-1), more than one of them (1), or neither (0), paired by seed (mask, set).

    Parameters
    ----------
    theirs
        The protocol of the others, if another.
    """
    own, rest = best(results, models, protocol), hidden(results, others, theirs or protocol)
    ratio = own.drop_vars("model") / rest
    same = (own["model"] == rest["model"]) & (not theirs)  # no rival of itself
    return sides(ratio).where(ratio.notnull().any("seed") & ~same, -1).max("model")


def winners(results: xr.Dataset) -> Table:
    """Who has the least error in every cell, by both protocols, beside the zero baseline; whether it
    is surely less than that of each other model.
    """
    zero = results["zero_baseline_hidden"].isel(seed=0).max("model")
    asked = {
        "as printed": (ELEVEN, PRINTED),
        "told the mask": (measured(results, results["hidden"]), "mask_aware"),
        "told the mask, the paper's eleven": (ELEVEN, "mask_aware"),
    }
    names = results["label"].to_series().to_dict() | {"": ""}
    columns = {("Zero baseline", "error"): zero}
    for said, one in asked.items():
        columns[said, "model"] = xr.apply_ufunc(np.vectorize(names.get), winner(results, *one))
        columns[said, "error"] = least(results, *one)
        lead = standing(results, one[0], *one)
        named = columns[said, "model"] != ""
        columns[said, "lead"] = xr.where(lead < 0, "surely", "tied").where(named, "")
    found = spreads(columns, "mask", "set", mask=MASKS, set=SETS)
    return Table(found, name="the least error of every cell")


def of_masks(true: np.ndarray) -> str:
    """Under how many masks something is so: "all 4 masks", "3 of 4 masks" or "no mask"."""
    count, every = int(true.sum()), true.size
    share = "no mask" if count == 0 else f"{count} of {every} masks"
    return f"all {every} masks" if count == every else share


def counts(results: xr.Dataset, page: str) -> dict[str, str]:
    """What the pages say of Tables 5 and 6, of who is ahead in how many cells as `ahead` does: on
    Hard signals, which the paper's text is about, and of all cells; `page` begins the keys. Vector
    Networks solve the masked problem, but for "rounds".
    """
    every = measured(results, results["hidden"].sel(protocol="mask_aware"))
    whole = median(results["mse"].sel(set=list(SETS)))
    first = whole.sel(model=list(ELEVEN)).idxmin("model")
    mse = results["mse"].sel(set=list(SETS))
    best_vn = lowest(mse.sel(model=list(VN)))
    rest = [m for m in every if m not in VN]
    numbers = {"others": len(OTHERS), "told": len(every), "seeds": results.sizes["seed"]}
    sure = {}
    for key, rivals, theirs, ours in (
        ("won", OTHERS, "zero_filled", "mask_aware"),
        ("rounds-won", OTHERS, "zero_filled", "zero_filled"),
        ("trained", MASKED, "mask_aware", "mask_aware"),
        ("thumb", THUMB, "mask_aware", "mask_aware"),
        ("unlearned", UNLEARNED, "mask_aware", "mask_aware"),
        ("told-won", rest, "mask_aware", "mask_aware"),
    ):
        found = standing(results, VN, rivals, ours, theirs)
        numbers[key] = ahead(found.sel(set="hard"))
        sure[f"sure-{key}"] = of_masks((found.sel(set="hard") < 0).values)
        numbers[f"{key}-all"] = ahead(found)
    before = sides(mse.sel(model=list(OTHERS)) / best_vn.drop_vars("model"))
    numbers["ahead"] = {name: ahead(before.sel(set=name)) for name in SETS}
    zero = results["zero_baseline"].isel(model=0, seed=0).sel(set=list(SETS))
    margin = {
        key: paired(results, VN, OTHERS, ours, "zero_filled")
        for key, ours in (("margin", "mask_aware"), ("rounds-margin", "zero_filled"))
    }
    ratios = margin | {"zero": zero}
    leaders = {name: label(results, first.sel(set=name).item()) for name in SETS}
    said = sure | {"first": leaders, "level": percent(confidence(results.sizes["seed"]))}
    return texts(page, numbers, "{:.0f}".format) | texts(page, ratios) | texts(page, said)
