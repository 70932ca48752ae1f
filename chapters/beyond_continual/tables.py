"""Tasks one after the other: tables of numbers, and the numbers of the prose."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from benchmarks.starts.tables import reached
from chapters.beyond_continual.claims import LEARNED, STREAMS, final, forgotten, transfer
from chapters.beyond_continual.figures import KINDS, SETS
from vnlib.plots.frames import label
from vnlib.plots.statistics import extremes, median, texts
from vnlib.plots.tables import Table, if_computed, spreads

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


def correlation(results: xr.Dataset) -> xr.DataArray:
    """Between what codes and what updates share (model, seed), over pairs of tasks; NaN where
    either is always the same.
    """
    code, units = results["shared_code"], results["shared_units"]
    pairs = ("task", "other")
    differ = (code.std(pairs) > 1e-6) & (units.std(pairs) > 1e-6)
    return xr.corr(code, units, pairs).where(differ)


def _by_kind(results: xr.Dataset, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of digits, then rows of forces."""
    tasks = results["tasks"].values
    return pd.concat({title: rows[tasks == kind] for kind, title in KINDS.items()})


def tasks_table(results: xr.Dataset) -> Table:
    """Forgetting and transfer in turn, errors at the end by stream."""
    ratio, errors = forgotten(results), final(results)
    found = {
        "forgotten (×)": ratio.sel(stream="sequence"),
        "forgotten with replay (×)": ratio.sel(stream="replay"),
        "before its turn / start": transfer(results).sel(stream="sequence"),
    }
    found |= {f"error, {title}": errors.sel(stream=one) for one, title in STREAMS.items()}
    rows = _by_kind(results, spreads(found, "model"))
    return Table(rows, name="what is forgotten, and errors at the end")


def overlaps_table(results: xr.Dataset) -> Table:
    """What updates and codes of two tasks share, mean over pairs; units of the code."""
    one = results.sel(stream="sequence")
    units, drawn = one["fact_units"], one["fact_revived"]
    columns = {title: one[name].mean(("task", "other")) for name, title in SHARED.items()}
    columns |= {
        "correlation of codes and updates": correlation(one),
        "units at the start": units.sel(after=1),
        "units at the end": units.max("after"),
        "drawn anew": drawn.max("after"),
    }
    rows = _by_kind(results, spreads(columns, "model"))
    return Table(rows, name="what updates and codes of two tasks share")


@if_computed
def data_table(results: xr.Dataset) -> Table:
    """Errors by number of training images, in 10⁻³ ink²; the least of each column stands out."""
    errors = MILLI * results["data_error"].dropna("model", how="all")
    rows = spreads(
        {"": errors.transpose("model", "seed", "set", "images")},
        "model",
        set=SETS,
        images="{:,}".format,
    )
    titles = [(f"{kind}, {images}", of) for kind, images, of in rows.columns]
    rows.columns = pd.MultiIndex.from_tuples(titles)
    best = list(dict.fromkeys(title for title, _ in titles))
    return Table(rows, best=best, name="errors by number of training images")


@if_computed
def inference_table(results: xr.Dataset) -> Table:
    """Sweeps to within a thousandth of the lowest energy; the cost of the start stands apart."""
    sweeps = results["inference_sweeps"].sel(level=LEVEL).transpose(..., "set", "solver")
    columns = {("cost", ""): results["inference_cost"], "": sweeps}
    names = {"start": STARTS, "set": SETS, "solver": SOLVERS}
    rows = spreads(columns, "model", "start", **names).rename_axis([None, None])
    forms = {SOLVERS[solver]: form for solver, form in reached(results).items()}
    formats = {column[:2]: forms[column[1]] for column in rows if column[1] in forms}
    return Table(rows, formats, name="sweeps of a settle by start and solver")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose."""
    shared = results["shared_units"].sel(stream="sequence").mean(("task", "other"))
    fewest = median(results["data_error"]).isel(images=0).idxmin("model")
    spent = results["inference_time_ratio"] * results["inference_time_cold"]
    spent = spent.sel(timed_solver="coordinates").median("model")
    left = final(results)
    saved = results["inference_saved"].sel(model="vn_1", set="id", solver="ista", level=1e-3)
    guesses, ratio = extremes(spent.sel(start=list(LEARNED))), results["inference_ratio"]
    values = {
        "ms": {"cold": spent.sel(start="cold"), "guess": guesses["least"]},
        "forgotten": forgotten(results).sel(stream="sequence"),
        "error": left,
        "lost": left.sel(stream="sequence") / left.sel(stream="joint"),
        "transfer": transfer(results).sel(stream="sequence"),
        "saved": extremes(saved.sel(start=list(LEARNED)))["most"],
        "shared": shared,
        "ratio": ratio.median([dim for dim in ratio.dims if dim != "seed"]),
        "fewest": results["images"].min(),
        "seeds": str(results.sizes["seed"]),
        "lowest": {kind: label(results, fewest.sel(set=kind).item()) for kind in SETS},
    }
    return texts("beyond-cont", values)
