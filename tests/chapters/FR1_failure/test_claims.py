"""The rule of FR-1: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import pytest
import xarray as xr
from judging import filled, rules, told

COMPOSING = ["factorised", "vn_full"]
COORDS = {
    "model": ["cnn_bump", "cnn_ramp", "cnn_bright", "mlp_bump", "mlp_ramp", *COMPOSING],
    "hold_out": ["square", "corner"],
    "where": ["train", "id", "ood"],
    "test": ["averaged", "memorised"],
    "source": ["model", "bumps", "superposed bumps"],
    "pairs": ["id", "ood"],
    "metric": ["cosine"],
    "width": [1, 2],
    "kernel": ["binary", "sum", "product"],
}


def made() -> xr.Dataset:
    """What the paper describes: five models that superpose, two that compose."""
    r = filled(
        COORDS,
        error=([0.1, 0.2, 1.2], "hold_out where"),
        zero_baseline=(1, "hold_out where"),
        several=([0, 0, 0.9], "hold_out where"),
        share_cross=(0.8, "hold_out where"),
        chance_cross=(0.3, "hold_out where"),
        resembles=(0.8, "hold_out test"),
        resembles_shuffled=(0, "hold_out test"),
        closer=(0.9, "hold_out test"),
        kernel_r2=([0.3, 0.8, 0.4], "hold_out source pairs metric width kernel"),
    )
    for name, value in {"error": 2e-3, "several": 0, "resembles": 0.2, "closer": 0}.items():
        r[name].loc[{"model": COMPOSING}] = value
    r["kernel_r2"].loc[{"model": COMPOSING}] = [0.1, 0.4, 1]
    r["kernel_r2"].loc[{"model": "cnn_ramp", "source": "model", "kernel": "binary"}] = 0.2
    r["kernel_r2"].loc[{"source": "bumps"}] = 0.1
    r["kernel_r2"].loc[{"source": "superposed bumps"}] = 0.4
    return r


def r2(model: str, kernel: str, value: float, parts: list, controls: list, **where) -> tuple:
    """A case of a model's R^2 of a kernel."""
    where = {"model": model, "source": "model", "kernel": kernel, **where}
    return "FR-1", "kernel_r2", where, value, parts, controls


CNN, RAMP = {"model": "cnn_bump"}, {"model": "cnn_ramp"}
MLP, VN = {"model": "mlp_bump"}, {"model": "vn_full"}
OOD, ID, AVERAGED = {"where": "ood"}, {"where": "id"}, {"test": "averaged"}
CASES = [
    ("FR-1", "error", CNN | OOD, 0.1, [0], [1]),
    ("FR-1", "error", {"model": "mlp_ramp"} | OOD, 0.1, [], [1]),
    ("FR-1", "error", CNN | ID, 1, [], [0]),
    ("FR-1", "error", RAMP | ID, 1, [], []),
    ("FR-1", "error", VN | OOD, 1, [], [2]),
    ("FR-1", "several", RAMP | {"hold_out": "corner"}, 0.1, [1], [3]),
    ("FR-1", "share_cross", MLP | OOD, 0.35, [], [3]),
    ("FR-1", "resembles", CNN | AVERAGED, 0.1, [2], [4]),
    ("FR-1", "resembles", RAMP | AVERAGED, 0.1, [], []),  # ramps are not averaged
    ("FR-1", "resembles_shuffled", CNN, 0.75, [], [4]),
    ("FR-1", "closer", {"model": "cnn_bright"}, 0.5, [], [4]),
    ("FR-1", "closer", VN, 0.5, [], [4]),
    r2("cnn_bump", "binary", 0.22, [3], []),
    r2("cnn_ramp", "binary", 0.35, [4], []),
    r2("mlp_bump", "product", 0.9, [], [5]),
    r2("mlp_bump", "product", 0.9, [], [5], width=2),
    r2("cnn_bump", "sum", 0.3, [], [5], width=1, seed=0),  # in too few seeds
    r2("cnn_bump", "product", 0.9, [], [], pairs="id"),
    r2("vn_full", "sum", 1, [], [6]),
]
LACKING = [("FR-1", {"model": name}, name) for name in COORDS["model"]]
LACKING += [("FR-1", {"hold_out": "corner"}, "the hold_out(s) corner")]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    {"FR-1": made}, CASES, LACKING
)


def test_numbers_are_medians_by_model_and_hold_out():
    numbers = told("FR-1", made())
    assert numbers["cnn_bump.square.ratio"] == pytest.approx(12)
    assert numbers["mlp_bump.corner.sum_minus_product"] == pytest.approx(0.4)
