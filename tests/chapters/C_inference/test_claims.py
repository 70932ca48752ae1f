"""The rule of VN-C on results made up so that each of its parts is known to hold or to fail."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import ledger as claims
from vnlib.book.ledger import NOT_TESTABLE, PARTLY, REPRODUCED, all_claims

SEEDS = 3
CELL = {
    "depth": [1, 2, 3],
    "beta": [0.1, 1.0],
    "schedule": ["sweep", "recurrent"],
    "solver": ["ista", "fista"],
}
START = {"start": ["cold", "earlier codes"], "start_solver": ["ista", "restart"]}
LEVEL = {"level": [1e-3, 1e-6]}
GUARD = {"guard_solver": ["ista", "fista"], "safeguard": ["none", "reject"]}


def full(coords: dict, value: float) -> xr.DataArray:
    coords = {"seed": range(SEEDS)} | coords
    return xr.DataArray(np.full([len(v) for v in coords.values()], value), coords, list(coords))


def results() -> xr.Dataset:
    """Results in which everything holds."""
    ds = xr.Dataset(
        {
            "end_distance": full(CELL, 1e-5),
            "end_height": full(CELL, 1e-9),
            "needed": full(CELL | LEVEL, 100.0),
            "rises": full({name: CELL[name] for name in ("depth", "beta", "schedule")}, 0.0),
            "start_distance": full(START, 1e-5),
            "start_end": full(START, 1e-9),
            "start_needed": full(START | LEVEL, 100.0),
            "resumed": full({"schedule": CELL["schedule"], "solver": CELL["solver"]}, True),
            "guard_rises": full(GUARD, 0.0),
            "guard_distance": full(GUARD, 1e-5),
            "cap_height": full({"cap_depth": [1, 3], "sample": range(4)}, 1e-9),
            "relu_spread": full({"beta": [0.1, 1.0], "sample": range(4)}, 1e-5),
        }
    )
    # what the safeguard is there for
    ds["guard_rises"].loc[{"safeguard": "none", "guard_solver": "fista"}] = 0.3
    ds["needed"].loc[{"solver": "fista"}] = 10.0
    ds["start_needed"].loc[{"start": "earlier codes"}] = 60.0
    return ds


def verdicts(ds: xr.Dataset) -> tuple[str, str, list[bool]]:
    row = claims.judge(all_claims()["VN-C"], ds)
    return (
        row["verdict"],
        row["verdict_controls"],
        [part["holds"] for part in row["parts_controls"]],
    )


def test_all_parts_hold():
    assert verdicts(results()) == (REPRODUCED, REPRODUCED, [True] * 8)


ONE_CELL = {"depth": 3, "beta": 1.0, "schedule": "recurrent", "solver": "fista", "seed": 1}
CHANGES = [
    (0, "end_distance", ONE_CELL, 2e-3),
    (0, "end_height", ONE_CELL, 2e-6),
    (1, "start_distance", {"start": "cold", "start_solver": "ista", "seed": 2}, 2e-3),
    (1, "start_end", {"start": "cold", "start_solver": "ista", "seed": 2}, 2e-6),
    (1, "resumed", {"schedule": "sweep", "solver": "ista", "seed": 0}, False),
    (2, "rises", {"depth": 1, "beta": 0.1, "schedule": "sweep", "seed": 0}, 1e-4),
    (3, "guard_rises", {"guard_solver": "fista", "safeguard": "reject", "seed": 0}, 1e-4),
    (3, "guard_distance", {"guard_solver": "ista", "safeguard": "reject", "seed": 0}, 2e-3),
    (4, "cap_height", {"cap_depth": 3, "sample": 0, "seed": 0}, 1e-4),
    (5, "relu_spread", {"beta": 1.0, "sample": 3, "seed": 1}, 2e-3),
    (
        6,
        "needed",
        {"depth": 2, "beta": 0.1, "schedule": "sweep", "solver": "fista", "level": 1e-3},
        51.0,
    ),
    (
        6,
        "needed",
        {"depth": 2, "beta": 0.1, "schedule": "sweep", "solver": "fista", "level": 1e-3},
        np.inf,
    ),
    (
        7,
        "start_needed",
        {"start": "earlier codes", "start_solver": "restart", "level": 1e-3},
        101.0,
    ),
]


@pytest.mark.parametrize(("part", "name", "where", "value"), CHANGES)
def test_each_part_can_fail_alone(part, name, where, value):
    ds = results()
    ds[name].loc[where] = value
    verdict, fair, holds = verdicts(ds)
    assert [not h for h in holds] == [n == part for n in range(8)]
    assert fair == PARTLY
    assert verdict == (PARTLY if part < 4 else REPRODUCED)


def test_a_rise_that_nothing_guards_against_does_not_count():
    ds = results()
    ds["guard_rises"].loc[{"safeguard": "none"}] = 0.9
    assert verdicts(ds)[0] == REPRODUCED


def test_results_without_top_k_cannot_be_judged():
    row = claims.judge(all_claims()["VN-C"], results().drop_vars("cap_height"))
    assert row["verdict"] == NOT_TESTABLE and "cap_height" in row["missing"]
