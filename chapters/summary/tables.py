"""The summary in tables of numbers, from the counts of claims and the tables of `swaps`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import xarray as xr

from chapters.summary.counts import weaker
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, spread

Swaps = Mapping[str, xr.Dataset | None]


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


def counts_table(counts: Mapping[tuple[str, str], Mapping[str, int]]) -> Table:
    """Claims by verdict and statements that hold, of every benchmark by each protocol."""
    frame = pd.DataFrame.from_dict(counts, orient="index")
    if counts:
        frame.index = pd.MultiIndex.from_tuples(counts, names=["claims on", "protocol"])
    formats = dict.fromkeys(frame.columns, "{:.0f}")
    return Table(frame, formats, name="claims by verdict, and statements that hold")


def parts_table(tables: Swaps) -> Table:
    """What was put in the place of parts of each first row, and the factors of its errors."""
    lines = {}
    for name, table in tables.items():
        if table is None:
            continue
        outside, inside = factors(table), factors(table, "inside")
        for row, part in enumerate(table["part"].values.tolist()):
            if part:
                at = (name, part, str(table["change"].values[row]))
                lines[at] = {"OOD error": float(outside[row]), "ID error": float(inside[row])}
    frame = pd.DataFrame.from_dict(lines, orient="index")
    if lines:
        names = ["benchmark", "part", "in its place"]
        frame.index = pd.MultiIndex.from_tuples(lines, names=names)
    formats = {"OOD error": times, "ID error": times}
    return Table(frame, formats, name="factors by which errors change with a part")


def errors_table(tables: Swaps) -> Table:
    """The errors of all rows in % of the zero baseline's, medians and ranges over seeds."""
    frames = {}
    for name, table in tables.items():
        if table is not None:
            sides = {"ID": table["inside"], "OOD": table["outside"]}
            one = [spread(100 * v.set_index(row="key"), "row", title=k) for k, v in sides.items()]
            frames[name] = pd.concat(one, axis=1).set_axis(table["name"].values)
    frame = pd.concat(frames, names=["benchmark", "model"]) if frames else pd.DataFrame()
    return Table(frame, name="errors in % of those of the zero baseline")


def numbers(
    tables: Swaps, counts: Mapping[tuple[str, str], Mapping[str, int]], rows: Sequence[Mapping]
) -> dict[str, str]:
    """The numbers of the prose: medians over seeds of the rows that are there, what stands beside
    them, and counts of all claims.
    """
    said = {"summary-weaker": str(len(weaker(rows)))}
    for name, table in tables.items():
        if table is None:
            continue
        said |= {f"summary-{name}-{key}": short(value) for key, value in table.attrs.items()}
        sides = {"id": median(table["inside"]), "ood": median(table["outside"])}
        for row, key in enumerate(table["key"].values.tolist()):
            stem = f"summary-{name}-{key.replace('_', '-')}"
            said |= {f"{stem}-{side}": percent(float(v[row])) for side, v in sides.items()}
            said[f"{stem}-factor"] = times(float(factors(table)[row]))
    for (name, protocol), counted in counts.items():
        if name == "all":
            stem = f"summary-{protocol.split()[-1]}"
            said |= {f"{stem}-{word.replace(' ', '-')}": str(n) for word, n in counted.items()}
    return said
