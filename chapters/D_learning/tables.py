"""Tables of appendix D, and the numbers of its prose."""

from __future__ import annotations

import xarray as xr

from chapters.D_learning.claims import DENSE, main_network
from vnlib.plots.statistics import extremes, median, texts
from vnlib.plots.tables import Table, spreads


def upkeep(results: xr.Dataset) -> Table:
    """What became of the dictionary under every option, start and sparsity."""
    values = {
        "error of V a × 1000": 1000 * results["upkeep_mse"],
        "active atoms": results["upkeep_active"],
        "dead, %": 100 * results["upkeep_dead"],
        "idle per update, %": 100 * results["upkeep_idle"],
        "re-drawn": results["upkeep_revived"],
        "coherence": results["upkeep_coherence"],
        "r.m.s. overlap": results["upkeep_overlap"],
    }
    frame = spreads(values, "upkeep_sparsity", "start", "variant")
    return Table(frame.rename_axis(["λ", "start", "variant"]), name="upkeep of the dictionary")


def meeting(results: xr.Dataset) -> Table:
    """Error, activity and overlap of every model; medians over pairs, then over seeds."""
    passed = results["passed_on"].rename(stepped="model").reindex(model=results["model"])
    passed = passed.assign_coords(label=results["label"])
    values = {
        "error × 1000": 1000 * results["meet_mse"],
        "active atoms, %": 100 * results["meet_active_share"],
        "|cos| of codes": results["meet_code_cosine"],
        "|cos| of residuals": results["meet_residual_cosine"],
        "|cos| of updates × 1000": 1000 * abs(results["meet_pair_cosine"]).median("pair"),
        "passed on, size, %": 100 * abs(passed).median("arrow"),
        "pairs hurt, %": 100 * (passed < 0).where(passed.notnull()).mean("arrow"),
    }
    return Table(spreads(values, "model"), name="how updates meet")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds."""
    models = {main_network(results): "vn"} | {name: name for name in DENSE}
    idle = results["local_idle"].sel(optimiser="masked Adam").mean("update")
    cosine = abs(results["meet_pair_cosine"]).median("pair").sel(model=list(models))
    error = results["upkeep_mse"]
    mask = error.sel(variant="without the mask") / error.sel(variant="as it is") - 1
    where = abs(median(mask)).argmax(...)  # the place at which the mask changes most
    centred = error.sel(variant="DC removed, centred data") / error.sel(variant="as it is") - 1
    variants = {"as it is": "plain", "dead atoms re-drawn": "redrawn"}
    dead = results["upkeep_dead"].isel(upkeep_sparsity=-1).sel(start="chance", variant=[*variants])
    shared = results["shared_residual"].assign_coords(quantile=["low", "middle", "high"])
    last = results.isel(stage=-1)
    strict, energy = last["interface_mse_from_top"], last["interface_energy"]
    whole = "{:.0f}".format
    return {
        "appD-largest-batch": str(results["batch_size"].values[-1]),
        **texts("appD-idle", 100 * idle, whole),
        **texts("appD-mask", 100 * mask.isel(where)),
        **texts("appD-centred", 100 * extremes(centred)["most"], whole),
        **texts("appD-cosine", cosine.assign_coords(model=[*models.values()])),
        **texts("appD-meets", cosine / cosine.sel(model=main_network(results))),
        **texts("appD-dead", 100 * dead.assign_coords(variant=[*variants.values()]), whole),
        **texts("appD-zero", results["mse_zero"]),
        **texts("appD-strict", strict),
        **texts("appD-from-top", strict / strict.sel(rule="frozen")),
        **texts("appD-higher", 100 * (energy / energy.sel(rule="literal") - 1)),
        **texts("appD-shared", shared),
        "appD-seeds": str(results.sizes["seed"]),
    }
