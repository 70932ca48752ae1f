"""How well each measure predicts, in a table, and the numbers of the prose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from benchmarks.spatial.errors import DRAWS
from chapters.beyond_law.points import ERRORS, MEASURES
from chapters.beyond_law.relation import explained, explained_intervals, interval, rank, within
from vnlib.plots.statistics import texts
from vnlib.plots.tables import Table

SETS = {"tasks": "decoders on all tasks", "manifold": "FR Fig. 2", "maps": "FR Fig. 3"}
Points = Mapping[str, pd.DataFrame]
COLUMNS = ["set", "measure", "error", "points", "rank", "low", "high"]
COLUMNS += ["within", "alike", "families", "conditions"]
RANK = "rank correlation"
LOW, HIGH = 0.5, 0.9  # of rendering
PREDICTORS = ("rendering", "id")  # of the error of a family that was left out
# column of the table -> what it shows
SHOWN = {
    ("points", ""): "points",
    (RANK, "median"): "rank",
    (RANK, "low"): "low",
    (RANK, "high"): "high",
    ("within families", ""): "within",
    ("within conditions", ""): "alike",
    ("explained, new families", ""): "families",
    ("explained, new conditions", ""): "conditions",
}


def signed(value: float) -> str:
    """A number with its sign, two digits after the point, one of which is left of a whole one: "+1.0"."""
    return f"{value:+.2f}".replace("1.00", "1.0")


def share(value: float) -> str:
    """A share of variance, which is negative where the mean does better."""
    return f"{value:.2f}"


def ranks(points: Points) -> pd.DataFrame:
    """A row for each set, each of its measures and each of `ERRORS`: the rank correlation with its
    interval; that within families and within conditions; and the share of variance explained in
    families, and in conditions, that were left out. Without those that have no correlation.
    """
    rows = [
        _row(kind, own, measure, error)
        for kind, own in points.items()
        for measure in MEASURES
        if measure in own
        for error in ERRORS
    ]
    found = pd.DataFrame(rows, columns=COLUMNS)
    return found.dropna(subset=["rank"]).reset_index(drop=True)


def _row(kind: str, points: pd.DataFrame, measure: str, error: str) -> dict[str, Any]:
    given = (points, measure, error)
    low, high = interval(*given)
    return {
        "set": kind,
        "measure": measure,
        "error": error,
        "points": int(points[measure].notna().sum()),
        "rank": rank(*given),
        "low": low,
        "high": high,
        "within": within(*given),
        "alike": within(*given, by="condition"),
        "families": explained(*given),
        "conditions": explained(*given, by="condition"),
    }


def measures(found: pd.DataFrame, error: str = "ood") -> Table:
    """How well every measure predicts one of `ERRORS` at held-out positions (see `ranks`)."""
    own = found[found["error"] == error]
    pairs = zip(own["set"], own["measure"], strict=True)
    names = [(SETS[kind], MEASURES[measure]) for kind, measure in pairs]
    shown = pd.DataFrame({title: own[name].to_numpy() for title, name in SHOWN.items()})
    shown.columns = pd.MultiIndex.from_tuples(shown.columns)
    shown.index = pd.MultiIndex.from_tuples(names, names=["set", "measure"])
    formats = {
        title: share if title.startswith("explained") else signed
        for title, _ in SHOWN
        if title not in ("points", RANK)
    }
    formats |= {"points": "{:.0f}"}
    return Table(shown, formats, name=f"how well each measure predicts {ERRORS[error]}")


def least(points: pd.DataFrame, results: xr.Dataset) -> xr.DataArray:
    """The error of the decoder of little rendering that errs least at positions held out, over the
    zero baseline's, in the seeds that learned (seed).
    """
    own = points.loc[points.loc[points["rendering"] < LOW, "ood"].idxmin()]
    one = results.sel(model=own["decoder"], task=own["condition"])
    error = one["mse_ood"] / one["zero_baseline_ood"]
    return error.where(one["mse_id"] / one["zero_baseline_id"] <= DRAWS)


def numbers(found: pd.DataFrame, points: pd.DataFrame, results: xr.Dataset) -> dict[str, str]:
    """What the prose says of `ranks`, and of the points of all tasks, which `results` hold."""
    high = points["rendering"] > HIGH
    told: dict[str, Any] = {"least": least(points, results)}
    told |= {"all": str(len(points)), "once": str(points["seeds"].eq(1).sum())}
    told |= {"high": str(high.sum()), "failing": str((high & (points["ood"] > -1)).sum())}
    intervals = explained_intervals(points, PREDICTORS, "ood")
    for name, one in zip([*PREDICTORS, "more"], intervals, strict=True):
        told[f"explained-{name}"] = f"{share(one[0])} to {share(one[1])}"
    for row in found.to_dict("records"):
        said = {name: signed(row[name]) for name in ("rank", "within", "alike")}
        said["families"] = share(row["families"])
        said |= {
            "interval": f"{signed(row['low'])} to {signed(row['high'])}",
            "n": str(row["points"]),
        }
        said["told"] = f"{said['rank']} [{signed(row['low'])}, {signed(row['high'])}]"
        told.setdefault(row["set"], {}).setdefault(row["measure"], {})[row["error"]] = said
    return texts("beyondlaw", told)
