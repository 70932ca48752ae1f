"""The rule of Fig. 1: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import xarray as xr
from judging import absent, rules


def made() -> xr.Dataset:
    """Everything holds: 3 seeds, 5 digits, 2 pairs; 784 inputs, 128 atoms."""
    per_seed = {"explained": 0.95, "rank_limit": 100, "untrained_active": 60}
    per_seed |= {"mse": 1e-3, "untrained_mse": 2e-3, "pca_mse": 2e-3}
    per_digit = {"active": 20, "active_share": 20 / 128, "rank": 20}
    r = xr.Dataset({name: ("seed", np.full(3, float(value))) for name, value in per_seed.items()})
    for name, value in per_digit.items():
        r[name] = (("seed", "digit"), np.full((3, 5), float(value)))
    return r.assign(pair_overlap=(("seed", "pair"), np.full((3, 2), 0.2)))


CASES = [
    ("VN-F1", "active_share", {}, 0.25, [], []),
    ("VN-F1", "active_share", {}, 0.26, [0], [0]),
    ("VN-F1", "rank_limit", {}, 39, [1], [1]),
    # Above the number of active atoms: impossible, so something is wrong.
    ("VN-F1", "rank", {"digit": 1}, 21, [1], [1]),
    ("VN-F1", "explained", {}, 0.89, [2], [2]),
    ("VN-F1", "pair_overlap", {}, 0.5, [3], [3]),
    ("VN-F1", "untrained_active", {}, 19, [], [4]),
    ("VN-F1", "untrained_mse", {}, 1e-4, [], [5]),
    ("VN-F1", "pca_mse", {}, 1e-4, [], [6]),
    ("VN-F1", "mse", {}, 1, [], [5, 6]),
]
test_as_printed, test_each_part_can_fail, _ = rules({"VN-F1": made}, CASES)


def test_a_missing_variable_is_named():
    assert absent("VN-F1", made().drop_vars("pca_mse")) == "the results lack 'pca_mse'"
