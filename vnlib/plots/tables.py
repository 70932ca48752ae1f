"""Tables: frames of numbers, shown by pandas' Styler, with the numbers themselves beside them as
CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import pandas as pd
import xarray as xr
from IPython.display import HTML

from vnlib.plots.frames import otherwise
from vnlib.plots.statistics import over_seeds, said, short

SHOWN = ("median", "low", "high")


@dataclass(frozen=True)
class Table:
    """A frame of numbers and names, and how the page shows it.

    Parameters
    ----------
    frame
        One row per thing; a quantity over seeds has three columns, ("ID", "median"), ("ID", "low"),
        ("ID", "high") (see `spread`), and is shown as one, "0.41 [0.38, 0.44]".
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
        columns = {}
        for quantity in dict.fromkeys(_quantity(column) for column in self.frame.columns):
            one = self.frame[[c for c in self.frame.columns if _quantity(c) == quantity]]
            if one.shape[1] == len(SHOWN) and tuple(_last(c) for c in one.columns) == SHOWN:
                columns[quantity] = [said(*row) for row in one.to_numpy(float)]
            else:
                columns[quantity] = [self._text(quantity, value) for value in one.iloc[:, 0]]
        frame = pd.DataFrame(columns, index=self.frame.index)
        if any(isinstance(column, tuple) for column in columns):
            levels = max(len(column) for column in columns if isinstance(column, tuple))
            parts = [column if isinstance(column, tuple) else (column,) for column in columns]
            frame.columns = pd.MultiIndex.from_tuples(
                [part + ("",) * (levels - len(part)) for part in parts]
            )
        return frame

    def _text(self, quantity: Any, value: Any) -> str:
        form = self.formats.get(quantity)
        if isinstance(value, str):
            return value
        if pd.isna(value):
            return ""
        return (
            form(value) if callable(form) else form.format(value) if form else short(float(value))
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        shown = self.shown()
        style = shown.style
        for quantity in self.best:
            numbers = self.frame[[c for c in self.frame.columns if _quantity(c) == quantity]].iloc[
                :, 0
            ]
            least = numbers == numbers.min()
            style = style.apply(
                lambda _, least=least: least.map({True: "font-weight: bold", False: ""}),
                subset=[quantity],
            )
        box = f'<div class="vn-table" tabindex="0" role="region" aria-label="{self.name}">'
        html = style.set_table_attributes('class="dataframe"').to_html(
            table_uuid=f"{crc32(self.csv().encode()):x}"
        )
        return {
            "text/html": f"{box}{html}</div>",
            "text/csv": self.csv(),
            "text/plain": shown.to_string(),
        }

    def csv(self) -> str:
        """The numbers in full, a column for each."""
        flat = self.frame.copy()
        flat.columns = [
            " ".join(str(part) for part in c if part != "") if isinstance(c, tuple) else str(c)
            for c in flat.columns
        ]
        return flat.to_csv(lineterminator="\n")


def spread(
    values: xr.DataArray,
    rows: str,
    columns: str | None = None,
    *,
    title: str = "",
    dim: str = "seed",
) -> pd.DataFrame:
    """Numbers over seeds as three columns each: median, low, high, for the values along `columns`
    or for `title`.

    Parameters
    ----------
    values
        Over `rows`, `dim` and, if given, `columns`. Rows are named by the coordinate `label` where
        rows are models.
    """
    found = over_seeds(values, dim)
    parts = {}
    for value in [None] if columns is None else values[columns].values.tolist():
        one = found if value is None else found.sel({columns: value})
        for statistic in SHOWN:
            parts[title if value is None else value, statistic] = one[statistic].values
    return pd.DataFrame(parts, index=_names(values, rows))


def spreads(values: Mapping[str, xr.DataArray], rows: str) -> pd.DataFrame:
    """Quantities by title, each over `rows`, side by side: those over seeds as in `spread`, others
    in a column each.
    """
    seeded = any("seed" in one.dims for one in values.values())
    parts = [
        spread(one, rows, title=title)
        if "seed" in one.dims
        else pd.DataFrame({(title, "") if seeded else title: one.values}, _names(one, rows))
        for title, one in values.items()
    ]
    return pd.concat(parts, axis=1)


def _names(values: xr.DataArray, rows: str) -> pd.Index:
    named = rows == "model" and "label" in values.coords
    return pd.Index(values["label" if named else rows].values.astype(str), name=rows)


def frame(rows: Mapping[Any, Mapping[Any, Any]], *names: str) -> pd.DataFrame:
    """A row for each key, with its values by column; keys and columns may be tuples.

    Parameters
    ----------
    *names
        What the parts of the keys are.
    """
    found = pd.DataFrame(list(rows.values()))
    if any(isinstance(column, tuple) for column in found):
        pairs = [one if isinstance(one, tuple) else (one, "") for one in found]
        found.columns = pd.MultiIndex.from_tuples(pairs)
    if len(names) > 1 and rows:
        return found.set_index(pd.MultiIndex.from_tuples(rows, names=names))
    return found.set_index(pd.Index(list(rows), name=names[0] if names else None))


def caption(text: str) -> HTML:
    """A sentence below a table, or in its place."""
    return HTML(f'<p class="vn-caption">{text}</p>')


if_computed = otherwise(caption)


def _quantity(column: Any) -> Any:
    if not isinstance(column, tuple):
        return column
    parts = tuple(part for part in column[: -1 if column[-1] in SHOWN else None] if part != "")
    return parts[0] if len(parts) == 1 else parts


def _last(column: Any) -> Any:
    return column[-1] if isinstance(column, tuple) else column
