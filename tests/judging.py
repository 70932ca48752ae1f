"""What the rule of a claim makes of made-up results, and the tests that all rules have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import xarray as xr

from vnlib.book import ledger as claims


def judged(name: str, results: xr.Dataset) -> dict:
    """The row of a claim in the ledger, which must go into a JSON file."""
    row = claims.judge(claims.all_claims()[name], results)
    json.dumps(row, allow_nan=False)
    return row


def failing(name: str, results: xr.Dataset) -> tuple[list[int], list[int]]:
    """Which parts of the rule fail, by their place: as printed, and with controls."""
    row = judged(name, results)
    assert row["parts"], row.get("missing")
    plain, controls = (
        [i for i, part in enumerate(row[key]) if not part["holds"]]
        for key in ("parts", "parts_controls")
    )
    return plain, controls


def filled(
    coords: Mapping, axes: str = "model seed", /, **values: tuple[object, str]
) -> xr.Dataset:
    """Made-up results of three seeds: name=(number, or numbers along the last dimensions, and the
    names of the dimensions after `axes`).
    """
    r = xr.Dataset(coords={name: list(one) for name, one in coords.items()} | {"seed": range(3)})
    for name, (value, dims) in values.items():
        over = [*axes.split(), *dims.split()]
        r[name] = over, np.full([r.sizes[axis] for axis in over], value, float)
    return r


def times(factor: float) -> Callable[[xr.DataArray], xr.DataArray]:
    """A change of a case: what was there, times a factor."""
    return lambda values: values * factor


def changed(results: xr.Dataset, name: str, where: Mapping, value: object) -> xr.Dataset:
    """A copy with `value`, or what `value` makes of what was there, in one place."""
    r = results.copy(deep=True)
    r[name].loc[where] = value(r[name].loc[where]) if callable(value) else value
    return r


def rules(
    made: Mapping[str, Callable[[], xr.Dataset]],
    cases: Sequence[tuple[str, str, Mapping, object, Sequence[int], Sequence[int]]],
    lacking: Sequence[tuple[str, Mapping, str]] = (),
) -> tuple[Callable, Callable, Callable]:
    """The tests that every rule has: `test_as_printed, test_each_part_can_fail,
    test_what_lacks_is_named = rules(...)`.

    Parameters
    ----------
    made
        Claim -> results for which all parts hold.
    cases
        (claim, variable, where, value, parts that then fail, and those with controls), with value
        as in `changed`. Together they let every part fail.
    lacking
        (claim, names to drop by dimension, what the ledger must then say).
    """

    @pytest.mark.parametrize("claim", made)
    def as_printed(claim: str) -> None:
        row = judged(claim, made[claim]())
        assert row["verdict"] == claims.REPRODUCED, failing(claim, made[claim]())
        assert row["verdict_controls"] in (None, claims.REPRODUCED), failing(claim, made[claim]())
        for place, key in enumerate(("parts", "parts_controls")):
            failed = {part for case in cases if case[0] == claim for part in case[4 + place]}
            assert failed == set(range(len(row[key]))), f"{key} that no case lets fail"

    @pytest.mark.parametrize(("claim", "name", "where", "value", "parts", "controls"), cases)
    def can_fail(claim, name, where, value, parts, controls) -> None:
        found = failing(claim, changed(made[claim](), name, where, value))
        assert found == (list(parts), list(controls))

    @pytest.mark.parametrize(("claim", "drop", "says"), lacking)
    def lacks(claim: str, drop: Mapping, says: str) -> None:
        row = judged(claim, made[claim]().drop_sel(drop))
        assert row["verdict"] == claims.NOT_TESTABLE and says in row["missing"]

    return as_printed, can_fail, lacks
