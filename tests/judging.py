"""What the rule of a claim makes of results, for the tests of all rules."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr

from vnlib.book import ledger as claims


def judged(name: str, results: xr.Dataset) -> dict:
    """The row of a claim in the ledger, which must go into a JSON file."""
    row = claims.judge(claims.all_claims()[name], results)
    json.dumps(row, allow_nan=False)
    return row


def failing(name: str, results: xr.Dataset) -> tuple[list[int], list[int]]:
    """Which parts of the rule fail, by their place: under the paper's protocol, and under the fair
    one.
    """
    row = judged(name, results)
    assert row["parts"], row.get("missing")
    plain, fair = (
        [i for i, part in enumerate(row[key]) if not part["holds"]]
        for key in ("parts", "parts_controls")
    )
    return plain, fair


def filled(coords: Mapping, **values: tuple[object, str]) -> xr.Dataset:
    """Made-up results of three seeds: name=(number, or numbers along the last dimensions, and the
    names of the dimensions beside model and seed).
    """
    r = xr.Dataset(coords={name: list(one) for name, one in coords.items()} | {"seed": range(3)})
    for name, (value, dims) in values.items():
        axes = ("model", "seed", *dims.split())
        r[name] = axes, np.full([r.sizes[axis] for axis in axes], value, float)
    return r
