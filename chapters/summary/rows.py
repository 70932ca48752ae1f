"""The rows of a table of the summary, and how they are read from results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import xarray as xr

from vnlib.plots.frames import label


@dataclass(frozen=True)
class Row:
    """One line of a table; `errors` has `inside` and `outside` over (seed) and the model's `label`,
    None where there are none.
    """

    kind: str
    key: str
    errors: xr.Dataset | None
    part: str = ""
    change: str = ""
    named: str = ""

    @property
    def name(self) -> str:
        """What was changed, or else the model's name on all pages."""
        if self.part:
            return f"{self.part}: {self.change}"
        return self.named or str(self.errors["label"].item())


vn, printed, control = (partial(Row, kind) for kind in ("vn", "printed", "control"))


def table(blocks: Mapping[str, Sequence[Row]]) -> xr.Dataset | None:
    """Rows as a dataset, those without errors left out; None where the first row has none."""
    rows = [(title, row) for title, every in blocks.items() for row in every]
    if rows[0][1].errors is None:
        return None
    rows = [(title, row) for title, row in rows if row.errors is not None]
    errors = [row.errors.dropna("seed").drop_vars("label") for _, row in rows]
    names = ("key", "name", "part", "change", "kind")
    return xr.concat(errors, "row", join="outer").assign_coords(
        block=("row", [title for title, _ in rows]),
        **{key: ("row", [getattr(row, key) for _, row in rows]) for key in names},
    )


def errors_by(
    results: xr.Dataset | None,
    sides: Callable[[xr.Dataset], tuple[xr.DataArray, xr.DataArray]],
) -> Callable[..., xr.Dataset | None]:
    """From a model, and what else is selected, to its errors in and out of distribution."""

    def errors(model: str, **where: str) -> xr.Dataset | None:
        where["model"] = model
        if results is None or any(v not in results[axis].values for axis, v in where.items()):
            return None
        inside, outside = (one.reset_coords(drop=True) for one in sides(results.sel(where)))
        found = xr.Dataset({"inside": inside, "outside": outside})
        named = label(results, model) if "label" in results.coords else model
        known = found.to_array().notnull().all("variable").any()
        return found.assign_coords(label=named) if known else None

    return errors
