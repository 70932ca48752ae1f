"""Signals that are filled in, in tables, and the numbers of the prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from benchmarks.confirm.predictions import FAILS, HOLDS, UNDECIDED, sides
from benchmarks.functions.names import MASKS, SETS
from chapters.best_signals import figures
from chapters.best_signals.figures import OWN, changed, changes, run, step_of
from chapters.best_signals.predictions import decided, error, ratio, share, singles, within
from vnlib.plots.frames import label, some
from vnlib.plots.statistics import ahead, texts
from vnlib.plots.tables import Table, frame, if_computed, spreads

RIVALS = (
    "process_rq",
    "process_matern",
    "process_se",
    "exemplars",
    "vn_1",
    "vn_3",
    "fourier",
    "deep_ae_masked",
    "transformer_masked",
    "rnn_masked",
    "rslds",
    "pca",
    "gaussian",
    "nearest",
    "linear",
    "hold_last",
)
UNTOUCHED = ("stored", "trained", "processes")  # rivals as they draw
FACTS = {
    "fact_atoms": "atoms of a signal",
    "fact_log_variance": "log₁₀ variance of the fine layer",
    "fact_scale": "its scale [s]",
}


def predicted(results: xr.Dataset, sidecar: Mapping[str, Any]) -> Table:
    """What was predicted before the test signals were drawn, and what came of it."""
    found = frame(decided(results, sidecar), "id")
    return Table(found, {"seeds": "{:.0f}"}, name="predictions")


@if_computed
def errors(results: xr.Dataset, mask: str) -> Table:
    """Errors of all models under one mask, set by set, as they count."""
    models = some(
        [m for m in run(results, results["model"].values.tolist()) if _whole(results, m, mask)]
    )
    each = [_of(error(results, m, step_of(m)), mask) for m in models]
    values = xr.concat(each, "row", join="outer")
    values = values.assign_coords(row=[label(results, m) for m in models])
    found = spreads({"": values}, "row", set=SETS).rename_axis(None)
    return Table(found, name=f"errors, {MASKS[mask]}")


def _whole(results: xr.Dataset, model: str, mask: str) -> bool:
    """Whether a model was given all signals, under this mask, too."""
    each = results["hidden"].sel(model=model, mask=mask, step="drawn").dropna("seed", how="all")
    return bool(each.sizes["seed"] and each.notnull().all())


def _of(values: xr.DataArray, mask: str) -> xr.DataArray:
    """Values of the cells of a mask, by set."""
    found = values.isel(cell=values["mask"].values == mask)
    return found.swap_dims(cell="set").drop_vars(["cell", "mask"]).sel(set=list(SETS))


@if_computed
def shares(results: xr.Dataset, name: str = "hard") -> Table:
    """On which share of the signals of a set the network errs less than each rival, by mask."""
    some(run(results, OWN[:1]))
    rivals = some([m for m in run(results, RIVALS) if m in results["model"].values])
    each = [share(results, OWN, (m, step_of(m))) for m in rivals]
    return Table(_by_mask(results, rivals, each, name), name=f"shares of signals, {SETS[name]}")


@if_computed
def middles(results: xr.Dataset, name: str = "hard") -> Table:
    """Medians over signals of the errors of a set, by mask."""
    models = some([m for m in run(results, [OWN[0], *RIVALS]) if _whole(results, m, "random_30")])
    each = [singles(results, m, step_of(m)).median("case") for m in models]
    return Table(_by_mask(results, models, each, name), name=f"median errors, {SETS[name]}")


def _by_mask(
    results: xr.Dataset, models: Sequence[str], each: Sequence[xr.DataArray], name: str
) -> pd.DataFrame:
    """Values of the cells of a set, a row for each model."""
    values = xr.concat(each, "row", join="outer")
    values = values.isel(cell=values["set"].values == name).swap_dims(cell="mask")
    rows = [label(results, m) for m in models]
    values = values.drop_vars(["cell", "set"]).assign_coords(row=rows)
    masks = [one for one in MASKS if one in values["mask"].values]
    return spreads({"": values.sel(mask=masks)}, "row", mask=MASKS).rename_axis(None)


@if_computed
def carried(results: xr.Dataset) -> Table:
    """What carrying residuals does for each model: errors with it over those without."""
    models = some([m for m in run(results, results["model"].values.tolist()) if m not in ZEROS])
    each = [
        within(error(results, m, "carried") / error(results, m, "drawn"), "run") for m in models
    ]
    rows = [label(results, m) for m in models]
    values = xr.concat(each, "row", join="outer").assign_coords(row=rows)
    cells = [cell for cell in values["cell"].values if cell.startswith("forecast_25")]
    values = values.sel(cell=cells).reset_coords(drop=True)
    names = {cell: SETS[cell.split()[1]] for cell in cells}
    found = spreads({"": values}, "row", cell=names).rename_axis(None)
    return Table(found, name="residuals carried")


# Models that leave nothing where signals are observed, so that there is nothing to carry.
ZEROS = ("hold_last", "linear")


@if_computed
def ingredients(results: xr.Dataset) -> Table:
    """In how many of nine cells an ingredient has surely less error, and the ratios on Easy."""
    rows = some(changes(results))
    ratios = {name: changed(results, name) for name in rows}
    columns = {}
    for mask in figures.RUN:
        each = [ratios[name].sel(cell=f"{mask} easy", drop=True) for name in rows]
        each = [one.reset_coords(drop=True) for one in each]
        columns[f"Easy, {MASKS[mask]}"] = xr.concat(each, "row", join="outer").assign_coords(
            row=rows
        )
    found = spreads(columns, "row").rename_axis(None)
    found["cells with less error", ""] = [ahead(sides(ratios[name])) for name in rows]
    return Table(found, name="ingredients")


@if_computed
def settled(results: xr.Dataset, model: str = "vn_2048") -> Table:
    """What the network settles to, by mask and set."""
    one = results.sel(model=some(run(results, [model]))[0]).reset_coords(drop=True)
    columns = {title: one[name].sel(set=list(SETS)) for name, title in FACTS.items()}
    columns = {title: values.rename(mask="hidden") for title, values in columns.items()}
    columns = {
        title: values.assign_coords(hidden=_masks(values)) for title, values in columns.items()
    }
    return Table(spreads(columns, "hidden", set=SETS), name="settled")


def _masks(values: xr.DataArray) -> list[str]:
    return [MASKS[one] for one in values["hidden"].values]


@if_computed
def costs(results: xr.Dataset) -> Table:
    """Time to learn and time of a signal on one core."""
    models = some(run(results, results["model"].values.tolist()))
    rows = [label(results, m) for m in models]

    def column(values: xr.DataArray) -> xr.DataArray:
        each = [values.sel(model=m).reset_coords(drop=True) for m in models]
        return xr.concat(each, "row").assign_coords(row=rows)

    columns = {
        "learning [s]": column(results["learning_time"]),
        "signal [ms]": column(1e3 * results["signal_time"].mean("mask")),
    }
    return Table(spreads(columns, "row").rename_axis(None), name="costs")


def numbers(results: xr.Dataset, sidecar: Mapping[str, Any]) -> dict[str, str]:
    """The numbers of the prose; errors in ID power."""
    came = decided(results, sidecar)
    held = sum(one["verdict"] == HOLDS for one in came.values())
    told: dict[str, Any] = {
        "held": f"{held} of {len(came)}",
        "undecided": str(sum(one["verdict"] == UNDECIDED for one in came.values())),
        "failed": str(sum(one["verdict"] == FAILS for one in came.values())),
        "found": {name: one["found"] for name, one in came.items()},
    }
    there = run(results, results["model"].values.tolist())
    for model in there:
        each = error(results, model, step_of(model))
        told[f"error-{model}"] = _by_cell(each)
        told[f"seeds-{model}"] = str(each.sizes["seed"])
        told[f"median-{model}"] = _by_cell(singles(results, model, step_of(model)).median("case"))
        told[f"time-{model}"] = 1e3 * _of_run(results["signal_time"], model).mean("mask")
        told[f"learning-{model}"] = _of_run(results["learning_time"], model)
        told[f"atoms-{model}"] = _of_run(results["fact_atoms"], model)
    if OWN[0] in there:
        groups = {"all": [one for name in UNTOUCHED for one in sidecar["rivals"][name]]}
        for name, rivals in (groups | sidecar["rivals"]).items():
            known = [one for one in rivals if one[0] in there]
            if known:
                each = ratio(results, OWN, known)
                runs = within(each, "run")
                told[f"wins-sums-{name}"] = ahead(sides(runs.isel(cell=runs["set"] != "hard")))
                told[f"over-{name}"] = _by_cell(each)
    for name in changes(results):
        each = changed(results, name)
        told[f"changed-{_slug(name)}"] = _by_cell(each)
    return texts("bestsignals", told)


def _of_run(values: xr.DataArray, model: str) -> xr.DataArray:
    return values.sel(model=model).reset_coords(drop=True)


def _by_cell(values: xr.DataArray) -> dict[str, xr.DataArray]:
    return {_key(cell): values.sel(cell=cell, drop=True) for cell in values["cell"].values}


def _key(cell: str) -> str:
    return cell.replace("_", "-").replace(" ", "-")


def _slug(name: str) -> str:
    return name.replace(" / ", " over ").replace(",", "").replace(" ", "-")
