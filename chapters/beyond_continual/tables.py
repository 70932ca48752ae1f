"""Tasks one after the other: tables of numbers, and the numbers of the prose.

Results as in `chapters.beyond_continual.figures`; medians over seeds with their range.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr
from IPython.display import HTML

from chapters.beyond_continual.figures import (
    KINDS,
    SETS,
    STREAMS,
    final,
    forgotten,
    models_of,
    transfer,
)
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, caption, spread

NOTHING = "Not computed in this profile."
STARTS = {
    "cold": "cold",
    "untrained": "three steps of ISTA, untrained",
    "lista": "LISTA",
    "linear": "a linear guess",
}
SOLVERS = {"ista": "plain steps", "restart": "momentum", "line_search": "momentum and line search"}
LEVEL = 1e-3
MILLI = 1e3
SHARED = {
    "shared_code": "codes",
    "shared_units": "updates, by units",
    "shared_weights": "by weights",
    "cosine": "cosine",
}


def over_pairs(results: xr.Dataset, name: str) -> xr.DataArray:
    """What the updates or codes of two tasks share in turn, mean over pairs (model, seed)."""
    return results[name].sel(stream="sequence").mean(("task", "other"))


def code_units(results: xr.Dataset) -> xr.DataArray:
    """Units of the code after every turn (model, after), in turn."""
    return median(results["fact_units"].sel(stream="sequence"))


def correlation(results: xr.Dataset, model: str) -> float:
    """Over pairs of tasks and seeds, between what codes and what updates share; NaN where either is
    always the same.
    """
    one = results.sel(stream="sequence", model=model)
    code, units = (one[name].values.ravel() for name in ("shared_code", "shared_units"))
    there = np.isfinite(code) & np.isfinite(units)
    if there.sum() < 3 or min(code[there].std(), units[there].std()) < 1e-6:
        return float("nan")
    return float(np.corrcoef(code[there], units[there])[0, 1])


def fewest(results: xr.Dataset, kind: str) -> xr.DataArray:
    """Median errors after training on the fewest images (model)."""
    return median(results["data_error"].sel(set=kind).isel(images=0)).dropna("model")


def measured(results: xr.Dataset) -> list[str]:
    """The models whose inference was measured."""
    if "inference_ratio" not in results:
        return []
    there = results["inference_ratio"].notnull().any("seed")
    return results["model"].values[there.values].tolist()


def _by_kind(results: xr.Dataset, frame: Callable[[xr.Dataset], pd.DataFrame]) -> pd.DataFrame:
    """Rows of digits, then rows of forces."""
    kinds = [kind for kind in KINDS if models_of(results, kind)]
    parts = {KINDS[kind]: frame(results.sel(model=models_of(results, kind))) for kind in kinds}
    return pd.concat(parts)


def tasks_table(results: xr.Dataset) -> Table:
    """Forgetting and transfer in turn, errors at the end by stream."""

    def frame(one: xr.Dataset) -> pd.DataFrame:
        ratio, errors = forgotten(one), final(one)
        parts = [
            spread(ratio.sel(stream="sequence"), "model", title="forgotten (×)"),
            spread(ratio.sel(stream="replay"), "model", title="forgotten with replay (×)"),
            spread(transfer(one).sel(stream="sequence"), "model", title="before its turn / start"),
        ]
        for stream, (title, _) in STREAMS.items():
            parts.append(spread(errors.sel(stream=stream), "model", title=f"error, {title}"))
        return pd.concat(parts, axis=1)

    return Table(_by_kind(results, frame), name="what is forgotten, and errors at the end")


def overlaps_table(results: xr.Dataset) -> Table:
    """What updates and codes of two tasks share, mean over pairs, and how they go together; units
    of the code.
    """

    def frame(one: xr.Dataset) -> pd.DataFrame:
        parts = [
            spread(over_pairs(one, name), "model", title=title) for name, title in SHARED.items()
        ]
        found = pd.concat(parts, axis=1)
        names = one["model"].values.tolist()
        found["correlation of codes and updates", ""] = [correlation(one, m) for m in names]
        units = code_units(one)
        found["units at the start", ""] = units.sel(after=1).values
        found["units at the end", ""] = units.max("after").values
        drawn = median(one["fact_revived"].sel(stream="sequence")).max("after")
        found["drawn anew", ""] = drawn.values
        return found

    return Table(_by_kind(results, frame), name="what updates and codes of two tasks share")


def data_table(results: xr.Dataset) -> Table | HTML:
    """Errors by number of training images, in 10⁻³ ink²; the least of each column stands out."""
    if "data_error" not in results:
        return caption(NOTHING)
    middle = MILLI * median(results["data_error"]).dropna("model", how="all")
    columns = {
        f"{title}, {n}": middle.sel(set=kind, images=n).values
        for kind, title in SETS.items()
        for n in results["images"].values.tolist()
    }
    index = pd.Index(middle["label"].values.astype(str), name="model")
    frame = pd.DataFrame(columns, index=index)
    return Table(frame, best=list(columns), name="errors by number of training images")


def inference_table(results: xr.Dataset) -> Table | HTML:
    """Sweeps to within a thousandth of the lowest energy, by start, set and solver, cost of the
    start apart.
    """
    rows = {}
    for model in measured(results):
        one = results.sel(model=model)
        sweeps = one["inference_sweeps"].sel(level=LEVEL, method="nearest")
        for start in one["start"].values.tolist():
            row = {"cost": float(median(one["inference_cost"].sel(start=start)))}
            for kind, title in SETS.items():
                for solver, how in SOLVERS.items():
                    value = sweeps.sel(start=start, set=kind, solver=solver)
                    row[f"{title}, {how}"] = float(value.median("seed"))
            rows[label(results, model), STARTS[start]] = row
    if not rows:
        return caption(NOTHING)
    frame = pd.DataFrame.from_dict(rows, orient="index")
    return Table(
        frame,
        dict.fromkeys(frame.columns[1:], _sweeps) | {"cost": "{:.1f}"},
        name="sweeps of a settle by start and solver",
    )


def _sweeps(value: float) -> str:
    return f"{value:.0f}" if np.isfinite(value) else "not reached"


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose; as many as the models that were asked for allow."""
    ratio, errors = (median(values) for values in (forgotten(results), final(results)))
    shared, found = median(over_pairs(results, "shared_units")), {}
    for model in results["model"].values.tolist():
        values = {
            "forgotten": ratio.sel(stream="sequence"),
            "end": errors.sel(stream="sequence"),
            "joint": errors.sel(stream="joint"),
            "replay": errors.sel(stream="replay"),
            "shared": shared,
        }
        key = f"beyond-cont-{model.replace('_', '-')}"
        found |= {f"{key}-{name}": short(float(v.sel(model=model))) for name, v in values.items()}
    for model in measured(results):
        one = results.sel(model=model)
        found["beyond-cont-ratio"] = short(float(median(one["inference_ratio"])))
        sweeps = one["inference_sweeps"].sel(level=LEVEL, method="nearest")
        sweeps = sweeps.sel(set="id", solver="ista")
        for start in one["start"].values.tolist():
            found[f"beyond-cont-sweeps-{start}"] = _sweeps(
                float(sweeps.sel(start=start).median("seed"))
            )
    if "data_error" in results:
        found["beyond-cont-fewest"] = str(int(results["images"].min()))
        for kind in SETS:
            best = str(fewest(results, kind).idxmin("model").item())
            found[f"beyond-cont-fewest-{kind}"] = label(results, best)
    return found
