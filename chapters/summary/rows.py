"""The rows of a picture of the summary, and how they are read from results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import xarray as xr

from vnlib.plots.frames import label


@dataclass(frozen=True)
class Row:
    """A model; `errors` over (condition, look, seed) with the model's `label`, None where there
    are none.
    """

    kind: str
    key: str
    errors: xr.DataArray | None
    named: str = ""

    @property
    def name(self) -> str:
        """What readers call it here, or else its name on all pages."""
        return self.named or str(self.errors["label"].item())


vn, printed, control = (partial(Row, kind) for kind in ("vn", "printed", "control"))


def table(blocks: Mapping[str, Sequence[Row]]) -> xr.DataArray | None:
    """Rows as an array (row, condition, look, seed), those without errors left out; None where none
    is left.
    """
    rows = [(title, row) for title, every in blocks.items() for row in every]
    rows = [(title, row) for title, row in rows if row.errors is not None]
    if not rows:
        return None
    errors = [row.errors.dropna("seed", how="all").reset_coords(drop=True) for _, row in rows]
    names = ("key", "name", "kind")
    return xr.concat(errors, "row", join="outer").assign_coords(
        block=("row", [title for title, _ in rows]),
        **{key: ("row", [getattr(row, key) for _, row in rows]) for key in names},
    )


def picker(
    results: xr.Dataset | None, errors: Callable[[xr.Dataset], xr.DataArray]
) -> Callable[..., xr.DataArray | None]:
    """From a model, and what else is selected, to its errors over (condition, look, seed)."""
    known = None if results is None else errors(results)

    def picked(model: str, **where: str) -> xr.DataArray | None:
        where["model"] = model
        if known is None or any(v not in known[axis].values for axis, v in where.items()):
            return None
        named = label(results, model) if "label" in results.coords else model
        found = known.sel(where).reset_coords(drop=True).assign_coords(label=named)
        return found if found.notnull().any() else None

    return picked
