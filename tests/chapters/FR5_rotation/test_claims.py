"""The rule of FR-5: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

MODELS, DIGITS, SEEDS = ["cnn", "cnn_4"], [4, 2], 3
ANGLES = np.arange(161.0, 200.0)
RESTS = {"rest_blend": 2e-3, "rest_truth": 3e-2, "rest_rotation": 1.5e-2}
RESTS |= {"rest_null": 5e-2, "rest_mean": 2e-2}


def results() -> xr.Dataset:
    """All outputs in the gap are blends, up to a tenth, and nearer to them than to any rival."""
    axes = {"model": MODELS, "digit": DIGITS, "seed": range(SEEDS)}
    gap, layer = {"gap_angle": ANGLES}, {"layer": ["layer1", "layer2", "output", "target"]}

    def filled(value: float, **more) -> xr.DataArray:
        return xr.DataArray(value, axes | more, list(axes | more)).copy()

    values = {"mse_id": filled(1e-3), "mse_ood": filled(2e-2), "ring_step": filled(1.0, **layer)}
    values |= {name: filled(value, **gap) for name, value in RESTS.items()}
    values["weight"] = filled(0.0, **gap) + (ANGLES - 160) / 40
    return xr.Dataset(values)


def test_results_as_printed_hold_in_every_part():
    row = judged("FR-5", results())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED
    assert len(row["parts"]) == 5 and len(row["parts_controls"]) == 7


@pytest.mark.parametrize(
    ("name", "value", "where", "printed", "controls"),
    [
        ("mse_ood", 4e-3, {"model": "cnn", "digit": 4}, [0], [0]),
        ("mse_ood", 4e-3, {"model": "cnn", "digit": 2}, [], [0]),
        ("rest_blend", 8e-3, {"model": "cnn", "digit": 4}, [], [1]),
        ("rest_blend", 1.1e-2, {"model": "cnn", "digit": 4}, [1], [1]),
        ("rest_truth", 3e-3, {"model": "cnn", "digit": 4}, [2], [2]),
        ("weight", 0.5, {"model": "cnn", "digit": 4}, [3], [3]),
        ("ring_step", 3.0, {"model": "cnn", "digit": 4, "layer": "layer1"}, [4], [4]),
        ("ring_step", 0.1, {"model": "cnn", "digit": 2, "layer": "layer2"}, [], [4]),
        ("ring_step", 0.1, {"model": "cnn", "layer": "output"}, [], []),
        ("rest_rotation", 1e-3, {"model": "cnn", "digit": 2}, [], [5]),
        ("rest_null", 1e-3, {"model": "cnn", "digit": 2}, [], [5]),
        ("rest_rotation", 1e-3, {"model": "cnn_4", "digit": 2}, [], [6]),
        # Only the middle of the gap counts for the blend, and one bad seed does not decide.
        ("rest_blend", 1.0, {"gap_angle": [161.0, 165.0, 199.0], "model": "cnn"}, [], []),
        ("rest_blend", 1.0, {"gap_angle": 180.0, "model": "cnn"}, [1, 2], [1, 2, 5]),
        ("rest_blend", 1.0, {"seed": 0}, [], []),
    ],
)
def test_each_part_fails_on_what_it_is_about(name, value, where, printed, controls):
    ds = results()
    ds[name].loc[where] = value
    assert failing("FR-5", ds) == (printed, controls)


@pytest.mark.parametrize(("axis", "value"), [("model", "cnn"), ("model", "cnn_4"), ("digit", 4)])
def test_what_lacks_is_named(axis, value):
    row = judged("FR-5", results().drop_sel({axis: [value]}))
    assert row["verdict"] == NOT_TESTABLE and f"the {axis}(s) {value}" in row["missing"]
