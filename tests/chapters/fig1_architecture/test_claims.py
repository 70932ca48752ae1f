"""The rule of Fig. 1: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import judging
import numpy as np
import pytest
import xarray as xr

from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED


def made_up(**changes: float) -> xr.Dataset:
    """Results in which everything holds: 3 seeds, 5 digits, 2 pairs; 784 inputs, 128 atoms."""
    per_seed = {
        "explained": 0.95,
        "rank_limit": 100,
        "untrained_active": 60,
        "mse": 1e-3,
        "untrained_mse": 2e-3,
        "pca_mse": 2e-3,
    }
    per_digit = {"active": 20, "active_share": 20 / 128, "rank": 20}
    ds = xr.Dataset({name: ("seed", np.full(3, float(value))) for name, value in per_seed.items()})
    for name, value in per_digit.items():
        ds[name] = (("seed", "digit"), np.full((3, 5), float(value)))
    ds["pair_overlap"] = (("seed", "pair"), np.full((3, 2), 0.2))
    for name, value in changes.items():
        ds[name] = ds[name] * 0 + value
    return ds


def test_all_parts_can_hold():
    row = judging.judged("VN-F1", made_up())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED
    assert row["numbers"]["active_share"] == pytest.approx(20 / 128, rel=1e-3)


# What is changed, and which parts then fail: as printed, and with controls.
CHANGES = [
    ({"active_share": 0.25}, [], []),
    ({"active_share": 0.26}, [0], [0]),
    ({"rank_limit": 39}, [1], [1]),
    # Above the number of active atoms: impossible, so something is wrong.
    ({"rank": 21}, [1], [1]),
    ({"explained": 0.89}, [2], [2]),
    ({"pair_overlap": 0.5}, [3], [3]),
    ({"untrained_active": 19}, [], [4]),
    ({"untrained_mse": 1e-4}, [], [4]),
    ({"pca_mse": 1e-4}, [], [5]),
    ({"mse": 1}, [], [4, 5]),
]


@pytest.mark.parametrize(("changes", "printed", "controls"), CHANGES)
def test_each_part_fails_where_it_should(changes, printed, controls):
    assert judging.failing("VN-F1", made_up(**changes)) == (printed, controls)


def test_the_worst_seed_decides():
    results = made_up()
    results["explained"][1] = 0.5
    assert judging.failing("VN-F1", results) == ([2], [2])


def test_a_missing_variable_is_named():
    row = judging.judged("VN-F1", made_up().drop_vars("pca_mse"))
    assert row["verdict"] == NOT_TESTABLE and row["missing"] == "the results lack 'pca_mse'"
