"""The summary in tables of numbers, from the counts of claims and the tables of `swaps`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import xarray as xr

from chapters.summary import swaps
from vnlib.plots.statistics import median, short, texts
from vnlib.plots.tables import Table, frame, spreads

Swaps = Mapping[str, xr.Dataset | None]
Counts = Mapping[tuple[str, str], Mapping[str, int]]
"""(Benchmark, protocol) -> what is counted -> how many."""


def percent(share: float) -> str:
    """A share in %, with a space that does not break."""
    return f"{short(100 * share)}\N{NO-BREAK SPACE}%"


def times(factor: float) -> str:
    """A factor: ×0.253, ×1.20, ×13; nothing where there is no number."""
    return f"×{short(factor)}" if short(factor) else ""


def factors(table: xr.Dataset, side: str = "outside") -> xr.DataArray:
    """Median error of every row over that of the first row (row)."""
    middle = median(table[side])
    return middle / middle.isel(row=0)


def counts_table(counts: Counts) -> Table:
    """Claims by verdict and statements that hold, of every benchmark by each protocol."""
    rows = frame(counts, "claims on", "protocol")
    formats = dict.fromkeys(rows.columns, "{:.0f}")
    return Table(rows, formats, name="claims by verdict, and statements that hold")


def _joined(frames: Mapping[str, pd.DataFrame], *names: str) -> pd.DataFrame:
    return pd.concat(frames, names=["benchmark", *names]) if frames else pd.DataFrame()


def parts_table(tables: Swaps) -> Table:
    """What was put in the place of parts of each first row, and the factors of its errors."""
    frames, titles = {}, {"OOD error": "outside", "ID error": "inside"}
    for name, table in tables.items():
        if table is not None:
            columns = {title: factors(table, side).values for title, side in titles.items()}
            rows = pd.DataFrame(columns, [table["part"].values, table["change"].values])
            frames[name] = rows[table["part"].values != ""]
    found = _joined(frames, "part", "in its place")
    formats = dict.fromkeys(titles, times)
    return Table(found, formats, name="factors by which errors change with a part")


def errors_table(tables: Swaps) -> Table:
    """The errors of all rows in % of the zero baseline's, medians and ranges over seeds."""
    frames = {}
    for name, table in tables.items():
        if table is not None:
            one = 100 * table.set_index(row="name")[["inside", "outside"]]
            frames[name] = spreads({"ID": one["inside"], "OOD": one["outside"]}, "row")
    return Table(_joined(frames, "model"), name="errors in % of those of the zero baseline")


def numbers(
    found: swaps.Found, tables: Swaps, counts: Counts, weaker: Sequence[str]
) -> dict[str, str]:
    """The numbers of the prose: medians over seeds, what stands beside them, counts of all claims,
    and of those that are `weaker` with controls.
    """
    beside = {
        "weaker": str(len(weaker)),
        "digits-coefficients": swaps.coefficients(found["fig5_mnist"]),
        "signals-scattered": swaps.scattered(found["fig3_functions"]),
    }
    for (name, protocol), counted in counts.items():
        if name == "all":
            words = {word.replace(" ", "-"): str(n) for word, n in counted.items()}
            beside[protocol.split()[-1]] = words
    said = texts("summary", beside)
    for name, table in tables.items():
        one = table.set_index(row="key")
        sides = xr.Dataset({"id": median(one["inside"]), "ood": median(one["outside"])})
        said |= texts(f"summary-{name}", sides.to_array("side").transpose("row", "side"), percent)
        said |= texts(f"summary-{name}-factor", factors(one), times)
    return said
