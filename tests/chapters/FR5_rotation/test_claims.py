"""The rule of FR-5: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import xarray as xr
from judging import changed, filled, judged, rules

COORDS = {
    "model": ["cnn", "cnn_4"],
    "digit": [4, 2],
    "layer": ["layer1", "layer2", "output", "target"],
    "gap_angle": np.arange(161.0, 200.0),
}
RESTS = {"rest_blend": 2e-3, "rest_truth": 3e-2, "rest_rotation": 1.5e-2}
RESTS |= {"rest_null": 5e-2, "rest_mean": 2e-2}


def made() -> xr.Dataset:
    """All outputs in the gap are blends, up to a tenth, and nearer to them than to any rival."""
    r = filled(
        COORDS,
        mse_id=(1e-3, "digit"),
        mse_ood=(2e-2, "digit"),
        ring_step=(1, "digit layer"),
        weight=((COORDS["gap_angle"] - 160) / 40, "digit gap_angle"),
        **{name: (value, "digit gap_angle") for name, value in RESTS.items()},
    )
    curve = ("model", "digit", "seed", "checkpoint")
    errors = np.full((2, 2, 3, 10), 1e-3)
    return r.assign(curve_step=("checkpoint", np.arange(1.0, 11.0)), curve_val=(curve, errors))


CNN = {"model": "cnn"}
FOUR, TWO, OTHER = CNN | {"digit": 4}, CNN | {"digit": 2}, {"model": "cnn_4", "digit": 4}
CASES = [
    ("FR-5", "mse_ood", FOUR, 4e-3, [0], [0]),
    ("FR-5", "mse_ood", TWO, 4e-3, [], [7]),
    ("FR-5", "rest_blend", FOUR, 8e-3, [], [1]),
    ("FR-5", "rest_blend", FOUR, 1.1e-2, [1], [1]),
    ("FR-5", "rest_blend", TWO, 8e-3, [], [8]),
    ("FR-5", "rest_truth", FOUR, 3e-3, [2], [2]),
    ("FR-5", "rest_truth", TWO, 3e-3, [], [9]),
    ("FR-5", "weight", FOUR, 0.5, [3], [3]),
    ("FR-5", "weight", TWO, 0.5, [], [10]),
    ("FR-5", "ring_step", FOUR | {"layer": "layer1"}, 3, [4], [4]),
    ("FR-5", "ring_step", TWO | {"layer": "layer2"}, 0.1, [], [11]),
    ("FR-5", "ring_step", CNN | {"layer": "output"}, 0.1, [], []),
    ("FR-5", "rest_rotation", FOUR, 1e-3, [], [5]),
    ("FR-5", "rest_null", TWO, 1e-3, [], [12]),
    ("FR-5", "rest_rotation", OTHER, 1e-3, [], [6]),
    # Only the middle of the gap counts for the blend, and one bad seed does not decide.
    ("FR-5", "rest_blend", CNN | {"gap_angle": [161, 165, 199]}, 1, [], []),
    ("FR-5", "rest_blend", FOUR | {"gap_angle": 180}, 1, [1, 2], [1, 2, 5]),
    ("FR-5", "rest_blend", {"seed": 0}, 1, [], []),
]
LACKING = [("FR-5", {"model": name}, f"the model(s) {name}") for name in COORDS["model"]]
LACKING += [("FR-5", {"digit": 4}, "the digit(s) 4")]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    {"FR-5": made}, CASES, LACKING
)


def test_four_frequencies_decide_nothing_until_they_have_settled():
    falling = xr.DataArray(np.geomspace(1, 1e-3, 10), dims="checkpoint")
    for where, met in ((OTHER, False), (FOUR, True), (OTHER | {"digit": 2}, True)):
        part = judged("FR-5", changed(made(), "curve_val", where, falling)).controls[6]
        assert [need.holds for need in part.needs] == [met]
