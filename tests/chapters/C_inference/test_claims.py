"""The rule of VN-C on results made up so that each of its parts is known to hold or to fail."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

from vnlib.book.ledger import NOT_TESTABLE

STACK = {"depth": [1, 2, 3], "beta": [0.1, 1.0], "schedule": ["sweep", "recurrent"]}
SOLVER = {"solver": ["ista", "fista"]}
START = {"start": ["cold", "earlier codes"], "start_solver": ["ista", "restart"]}
LEVEL = {"level": [1e-3, 1e-6]}
GUARD = {"guard_solver": ["ista", "fista"], "safeguard": ["none", "reject"]}
# Results in which everything holds.
VALUES = {
    "end_distance": (1e-5, STACK | SOLVER),
    "end_height": (1e-9, STACK | SOLVER),
    "needed": (100.0, STACK | SOLVER | LEVEL),
    "rises": (0.0, STACK),
    "start_distance": (1e-5, START),
    "start_end": (1e-9, START),
    "start_needed": (100.0, START | LEVEL),
    "resumed": (True, {"schedule": STACK["schedule"]} | SOLVER),
    "guard_rises": (0.0, GUARD),
    "guard_distance": (1e-5, GUARD),
    "cap_height": (1e-9, {"cap_depth": [1, 3], "sample": range(4)}),
    "relu_spread": (1e-5, {"beta": [0.1, 1.0], "sample": range(4)}),
}


def results() -> xr.Dataset:
    ds = xr.Dataset(
        {
            name: xr.DataArray(value, {"seed": range(3)} | axes, ["seed", *axes]).copy()
            for name, (value, axes) in VALUES.items()
        }
    )
    # what the safeguard is there for
    ds["guard_rises"].loc[{"safeguard": "none", "guard_solver": "fista"}] = 0.3
    ds["needed"].loc[{"solver": "fista"}] = 10.0
    ds["start_needed"].loc[{"start": "earlier codes"}] = 60.0
    return ds


def test_all_parts_hold():
    assert failing("VN-C", results()) == ([], [])


CELL_1 = {"depth": 3, "beta": 1.0, "schedule": "recurrent", "solver": "fista", "seed": 1}
COLD = {"start": "cold", "start_solver": "ista", "seed": 2}
FAST = {"depth": 2, "beta": 0.1, "schedule": "sweep", "solver": "fista", "level": 1e-3}


@pytest.mark.parametrize(
    ("part", "name", "where", "value"),
    [
        ([0], "end_distance", CELL_1, 2e-3),
        ([0], "end_height", CELL_1, 2e-6),
        ([1], "start_distance", COLD, 2e-3),
        ([1], "start_end", COLD, 2e-6),
        ([1], "resumed", {"schedule": "sweep", "solver": "ista", "seed": 0}, False),
        ([2], "rises", {"depth": 1, "beta": 0.1, "schedule": "sweep", "seed": 0}, 1e-4),
        ([3], "guard_rises", {"guard_solver": "fista", "safeguard": "reject", "seed": 0}, 1e-4),
        ([3], "guard_distance", {"guard_solver": "ista", "safeguard": "reject", "seed": 0}, 2e-3),
        ([4], "cap_height", {"cap_depth": 3, "sample": 0, "seed": 0}, 1e-4),
        ([5], "relu_spread", {"beta": 1.0, "sample": 3, "seed": 1}, 2e-3),
        ([6], "needed", FAST, 51.0),
        ([6], "needed", FAST, np.inf),
        ([7], "start_needed", {"start": "earlier codes", "level": 1e-3}, 101.0),
        ([], "guard_rises", {"safeguard": "none"}, 0.9),
    ],
)
def test_each_part_can_fail_alone(part, name, where, value):
    ds = results()
    ds[name].loc[where] = value
    assert failing("VN-C", ds) == ([n for n in part if n < 4], part)


def test_results_without_top_k_cannot_be_judged():
    row = judged("VN-C", results().drop_vars("cap_height"))
    assert row["verdict"] == NOT_TESTABLE and "cap_height" in row["missing"]
