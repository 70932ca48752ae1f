"""Tables: frames of numbers, shown by pandas' Styler, with the numbers beside them as CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import product
from typing import Any
from zlib import crc32

import pandas as pd
import xarray as xr
from IPython.display import HTML

from vnlib.plots.frames import otherwise
from vnlib.plots.statistics import STATISTICS, confidence, over_seeds, raised, said, short

# Spaces at which no cell breaks: in a number and its unit, in an interval, in "n = 5".
_WHOLE = r"(?<=[]\d]) (?=[×%]|\w{1,3}\b)|(?<=×) | (?=[^][]*])|(?<=n) (?==)|(?<=n =) | (?=\d+$)"


@dataclass(frozen=True)
class Table:
    """A frame of numbers and names, and how the page shows it.

    Parameters
    ----------
    frame
        One row per thing; a quantity over seeds has four columns, ("ID", "median"), ("ID", "low"),
        ("ID", "high"), ("ID", "n") (see `spreads`), and is shown as one, "0.41 [0.38, 0.44]", with
        n where it is not the most. A note below says what that is. Other intervals have no n.
    formats
        `column` -> format string or function, `short` where none is given.
    best
        Quantities whose least value is set in bold.
    name
        What those are told who hear the page; long tables scroll.
    """

    frame: pd.DataFrame
    formats: Mapping[str, str | Callable[[Any], str]] = field(default_factory=dict)
    best: Sequence[str] = ()
    name: str = "table"

    def shown(self) -> pd.DataFrame:
        """The frame as texts, a column for each quantity."""
        columns, most = {}, max(self._counts(), default=0)
        for quantity in dict.fromkeys(map(_quantity, self.frame.columns)):
            one, form = self._of(quantity), self.formats.get(quantity, short)
            form = form if callable(form) else form.format
            if tuple(map(_last, one.columns))[:3] == STATISTICS[:3]:
                one = one.mask(one.columns.map(_last).isin(["n"]) & (one >= most))
                columns[quantity] = [raised(said(*row, form=form)) for row in one.to_numpy(float)]
            else:
                texts = (v if isinstance(v, str) else said(v, form=form) for v in one.iloc[:, 0])
                columns[quantity] = [raised(text) for text in texts]
        return pd.DataFrame(columns, self.frame.index).set_axis(_header(columns), axis=1)

    def note(self) -> str:
        """What brackets are; "" where none is of seeds."""
        *fewer, most = self._counts() or [1]
        sure = {n: f"{100 * confidence(n):.0f} %" for n in (*fewer, most)}
        text = f"Median over {most} seeds [{sure[most]} interval of the median]" * (most > 1)
        less = (f"; {sure[n]} interval with {n}" for n in fewer if n > 1 and sure[n] != sure[most])
        return f"{text}; n: seeds, where fewer{''.join(less)}" if text and fewer else text

    def _counts(self) -> list[int]:
        found = self.frame.loc[:, [_last(column) == "n" for column in self.frame.columns]]
        return sorted({int(n) for n in found.to_numpy(float).ravel() if n > 0})

    def _of(self, quantity: Any) -> pd.DataFrame:
        return self.frame.loc[:, [_quantity(column) == quantity for column in self.frame.columns]]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        style = (shown := self.shown()).style
        style.format(whole := lambda text: re.sub(_WHOLE, "&nbsp;", escape(str(text))))
        style.format_index(whole).format_index(whole, axis=1)
        for quantity in self.best:
            numbers = self._of(quantity).iloc[:, 0]
            bold = (numbers == numbers.min()).map({True: "font-weight: bold", False: ""})
            style = style.apply(lambda _, bold=bold: bold, subset=[quantity])
        box = f'<div class="vn-table" tabindex="0" role="region" aria-label="{escape(self.name)}">'
        uuid = f"{crc32(self.csv().encode()):x}"
        html = style.set_table_attributes('class="dataframe"').to_html(table_uuid=uuid)
        return {
            "text/html": f"{box}{html}</div>{caption(self.note()).data if self.note() else ''}",
            "text/csv": self.csv(),
            "text/plain": shown.to_string(),
        }

    def csv(self) -> str:
        """The numbers in full, a column for each."""
        parts = (c if isinstance(c, tuple) else (c,) for c in self.frame.columns)
        names = [" ".join(str(part) for part in c if part != "") for c in parts]
        return self.frame.set_axis(names, axis=1).to_csv(lineterminator="\n")


def spreads(values: Mapping[Any, xr.DataArray], *rows: str, **names: Any) -> pd.DataFrame:
    """Quantities by title, side by side, with a row for each place along `rows`.

    A quantity over seeds has four columns: median, low, high, n. Along any other dimension it has a
    column for each place, below its title, if that is not "". Places along several `rows` without
    any number are left out. Rows that are models are named by their coordinate `label`.

    Parameters
    ----------
    **names
        Dimension -> coordinate -> what readers call it, or a tuple that begins with that; their
        order is that of the table, and coordinates without a name are left out. Or a function from
        coordinate to name.
    """
    parts = [_columns(title, _named(one, names), rows) for title, one in values.items()]
    found = pd.concat(parts, axis=1)
    found.columns = _header(found.columns)
    known = found.loc[:, [_last(column) != "n" for column in found.columns]].notna().any(axis=1)
    return found.loc[known] if len(rows) > 1 else found


def _named(values: xr.DataArray, names: Mapping[str, Any]) -> xr.DataArray:
    for dim in set(names).intersection(values.dims):
        name = names[dim]
        if not callable(name):
            values = values.sel({dim: [one for one in name if one in values[dim].values]})
            name = {k: v if isinstance(v, str) else v[0] for k, v in name.items()}.get
        values = values.assign_coords({dim: [name(one) for one in values.indexes[dim].tolist()]})
    return values


def _columns(title: Any, values: xr.DataArray, rows: Sequence[str]) -> pd.DataFrame:
    if "seed" in values.dims:
        values = over_seeds(values).to_array("statistic").transpose(..., "statistic")
    across = [dim for dim in values.dims if dim not in rows]
    first = title if isinstance(title, tuple) else (title,) if title else ()
    columns = [first + place for place in product(*(values[dim].values for dim in across))]
    names = [_names(values, dim) for dim in rows]
    index = pd.MultiIndex.from_product(names, names=rows) if len(rows) > 1 else names[0]
    numbers = values.transpose(*rows, *across).values.reshape(len(index), len(columns))
    return pd.DataFrame(numbers, index, pd.Index(columns, tupleize_cols=False))


def _names(values: xr.DataArray, rows: str) -> pd.Index:
    named = rows == "model" and "label" in values.coords
    return pd.Index(values["label" if named else rows].values.astype(str), name=rows)


def frame(rows: Mapping[Any, Mapping[Any, Any]], *names: str) -> pd.DataFrame:
    """A row for each key, whose parts have these names, with its values by column."""
    found = pd.DataFrame(list(rows.values()))
    found.columns = _header(found.columns)
    several = len(names) > 1 and rows
    found.index = pd.MultiIndex.from_tuples(rows) if several else pd.Index(list(rows))
    return found.rename_axis(list(names[: None if several else 1]) or None)


def _header(columns: Iterable[Any]) -> pd.Index:
    parts = [column if isinstance(column, tuple) else (column,) for column in columns]
    levels = max(map(len, parts), default=1)
    if levels == 1:
        return pd.Index([one for (one,) in parts])
    return pd.MultiIndex.from_tuples([part + ("",) * (levels - len(part)) for part in parts])


def caption(text: str) -> HTML:
    """A sentence below a table, or in its place."""
    return HTML(f'<p class="vn-caption">{escape(text, quote=False)}</p>')


if_computed = otherwise(caption)


def _quantity(column: Any) -> Any:
    if not isinstance(column, tuple):
        return column
    parts = [part for part in column[: -1 if column[-1] in STATISTICS else None] if part != ""]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _last(column: Any) -> Any:
    return column[-1] if isinstance(column, tuple) else column
