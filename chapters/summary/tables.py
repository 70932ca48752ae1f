"""The summary in tables of numbers: counts of claims, errors and effects condition by condition,
and the orders that it states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from IPython.display import HTML

from chapters.summary import errors, orders
from vnlib.plots.statistics import ahead, median, short, texts
from vnlib.plots.tables import Table, caption, frame, spreads

Tables = Mapping[str, xr.DataArray | None]
Effects = Mapping[tuple[str, ...], xr.DataArray]
"""Logarithms of factors (condition, seed), by benchmark or factorial, parts and change."""
Counts = Mapping[tuple[str, str], Mapping[str, int]]
"""(Benchmark, protocol) -> what is counted -> how many."""

NONE_YET = "There is no ledger of these results yet; `vnbook ledger` makes it."

# Models of digits that VN-1L is compared with, by what they are matched on.
MATCHED = {
    "code length": (
        "vn_untrained",
        "dictionary_learning",
        "dct_count",
        "pca",
        "pca_adaptive",
        "ksparse_linear",
        "ksparse",
    ),
    "ID error": ("dictionary_learning", "dct", "pca_matched", "ksparse_linear", "ae", "ksparse"),
}


# Vector Networks of signals in numbers: how readers call them -> row and look of `errors.signals`.
HIDDEN = {
    ("VN-3L", "solved"): ("vn_3", errors.SOLVED),
    ("VN-3L", "five rounds"): ("vn_3", errors.ROUNDS),
    ("VN-1L", "solved"): ("vn_1", errors.SOLVED),
    ("VN-1L", "five rounds"): ("vn_1", errors.ROUNDS),
    ("VN-1L, training signals as atoms", "solved"): ("untrained", errors.SOLVED),
}


def percent(share: float) -> str:
    """A share in %, with a space that does not break."""
    return f"{short(100 * share)}\N{NO-BREAK SPACE}%" if short(share) else ""


def times(factor: float) -> str:
    """A factor: ×0.25, ×1.2, ×13, and ÷4,000 for small ones; nothing where there is no number."""
    if 0 < factor < 1e-3:
        return f"÷{float(f'{1 / factor:.2g}'):,.0f}"
    return f"×{short(factor)}" if short(factor) else ""


def extent(factors: xr.DataArray) -> str:
    """From the least factor to the largest, one where they read the same."""
    ends = dict.fromkeys(times(float(end)) for end in (factors.min(), factors.max()))
    return " to ".join(ends)


def counts_table(counts: Counts) -> Table | HTML:
    """Claims by verdict and statements that hold, of every benchmark by each protocol."""
    if not counts:
        return caption(NONE_YET)
    rows = frame(counts, "claims on", "protocol")
    formats = dict.fromkeys(rows.columns, "{:.0f}")
    return Table(rows, formats, name="claims by verdict, and statements that hold")


def errors_table(table: xr.DataArray | None) -> Table:
    """The errors of all rows in % of the zero baseline's, condition by condition; where results in
    distribution are among them, how many seeds learned nothing, or go astray out of it.
    """
    if table is None:
        return Table(pd.DataFrame())
    named = (100 * table).drop_vars("name").rename(row="model")
    named = named.assign_coords(label=("model", table["name"].values))
    columns = {look: named.sel(look=look) for look in named["look"].values.tolist()}
    if errors.ID in columns:
        failed = errors.failures(table).expand_dims(condition=table["condition"])
        for name, one in (("failed", failed), ("astray", errors.astray(table))):
            one = one.rename(row="model").reset_coords(drop=True)
            columns[name] = one.assign_coords(label=named["label"])
    found = spreads(columns, "condition", "model")
    return Table(found, name="errors in % of those of the zero baseline")


def hidden_table(table: xr.DataArray | None) -> Table:
    """What Vector Networks leave of the zero baseline's error on hidden samples, in %: a row for each
    kind of signals, network and inference, a column for each mask.
    """
    if table is None:
        return Table(pd.DataFrame())
    table = 100 * table.swap_dims(row="key")
    rows = {k: v for k, v in HIDDEN.items() if v[0] in table["key"].values}
    parts, names = [], [(kind, *named) for kind in ("Hard", "Easy") for named in rows]
    for kind, *named in names:
        key, look = rows[*named]
        own = table.sel(key=key, look=look, drop=True).reset_coords(drop=True)
        own = own.sel(condition=own["condition"].str.startswith(kind))
        masks = [one.removeprefix(f"{kind}: ") for one in own["condition"].values.tolist()]
        parts.append(own.assign_coords(condition=masks))
    if not parts:
        return Table(pd.DataFrame())
    found = spreads({"": xr.concat(parts, "at")}, "at")
    found.index = pd.MultiIndex.from_tuples(names, names=["signals", "Vector Network", "inference"])
    return Table(found, name="hidden signals in numbers")


def matched_table(table: xr.DataArray | None) -> Table:
    """Errors of digits over those of VN-1L, seed by seed, of models that need as many coefficients
    as it in distribution, and of models that have its error there.
    """
    if table is None:
        return Table(pd.DataFrame())
    table = table.isel(look=0).swap_dims(row="key")
    parts = {}
    for on, keys in MATCHED.items():
        there = [key for key in keys if key in table["key"].values]
        one = table.sel(key=there)
        ratio = (one / table.sel(key="vn_1", drop=True)).reset_coords(drop=True)
        used = one["active"].sel(condition=errors.SINGLE).reset_coords(drop=True)
        rows = spreads({"coefficients": used, "": ratio}, "key")
        parts[f"equal {on}"] = rows.set_axis(one["name"].values)
    found = pd.concat(parts, names=["matched on", "model"])
    return Table(found, name="errors over those of VN-1L by set of images")


def orders_table(tables: Tables) -> Table:
    """Every order that the page states: in how many conditions it surely holds or is tied, the
    factors between the models' medians, and the least of their medians when each condition is left
    out.
    """
    rows = {}
    for order in orders.ORDERS.values():
        if orders.stored(order, tables):
            ratio = orders.factors(order, tables[order.benchmark])
            if ratio.size:
                rows[order.benchmark, order.says] = {
                    "surely in": ahead(orders.standing(order, tables[order.benchmark])),
                    "factor, least": float(np.exp(ratio.min())),
                    "median": float(np.exp(ratio.median())),
                    "most": float(np.exp(ratio.max())),
                    "median, one left out": float(np.exp(orders.left_out(ratio).min())),
                }
    return Table(frame(rows, "conditions of", "order"), name="orders of models")


def effects_table(found: Effects, *names: str) -> Table:
    """Factors of OOD errors, a row for each effect and condition; `names` are those of the parts of
    the keys.
    """
    parts = {key: spreads({"factor": np.exp(one)}, "condition") for key, one in found.items()}
    rows = pd.concat(parts, names=[*names, "condition"]) if parts else pd.DataFrame()
    return Table(rows, name="factors of OOD errors")


def numbers(
    tables: Tables,
    changed: Effects,
    crossed: Effects,
    counts: Counts,
    weaker: Sequence[str],
) -> dict[str, str]:
    """The numbers of the prose: medians over seeds of every condition, factors over conditions, in
    how many of them orders hold, counts of all claims, and of those that are `weaker` with
    controls.
    """
    said = texts("summary", {"weaker": str(len(weaker))})
    for (name, protocol), counted in counts.items():
        if name == "all":
            words = {word.replace(" ", "-"): str(n) for word, n in counted.items()}
            said |= texts(f"summary-{protocol.split()[-1]}", words)
    for name, table in tables.items():
        if table is not None:
            middle = median(table).set_index(row="key").transpose("row", "condition", "look")
            cells = texts(f"summary-{name}", middle, percent)
            said |= {key: text for key, text in cells.items() if text}
    for kind, effects in (("change", changed), ("crossed", crossed)):
        ranges = {
            f"{key[0]}-{key[-1]}": extent(median(np.exp(one))) for key, one in effects.items()
        }
        said |= texts(f"summary-{kind}", ranges)
    for key, order in orders.ORDERS.items():
        if orders.stored(order, tables):
            counted = ahead(orders.standing(order, tables[order.benchmark]))
            said |= texts(f"summary-order-{key}", counted)
    table = tables["digits"]
    used = table["active"].sel(condition=errors.SINGLE).reset_coords(drop=True)
    used = used.assign_coords(row=table["key"].values)
    return said | texts("summary-coefficients", used)
