"""The rule of FR-1: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import changed, failing, filled, judged, rules, told

from chapters.FR1_failure.claims import ALIKE, COMPOSING, MLPS, POPULATION, drawing

COORDS = {
    "model": ["cnn_ramp", *POPULATION, *MLPS, "coordconv", *ALIKE, *COMPOSING],
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
    """What the paper describes: networks that superpose, decoders that compose."""
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
        failed=(0, "hold_out"),
        kernel_r2=([0.3, 0.8, 0.4], "hold_out source pairs metric width kernel"),
    )
    curve = ("model", "hold_out", "seed", "checkpoint")
    errors = np.full((r.sizes["model"], 2, 3, 10), 1e-4)
    r = r.assign(curve_step=("checkpoint", np.arange(1.0, 11.0)), curve_val=(curve, errors))
    for name, value in {"error": 2e-3, "several": 0, "resembles": 0.2, "closer": 0}.items():
        r[name].loc[{"model": [*ALIKE, *COMPOSING]}] = value
    r["kernel_r2"].loc[{"model": [*COMPOSING]}] = [0.1, 0.4, 1]
    r["kernel_r2"].loc[{"model": "cnn_ramp", "source": "model", "kernel": "binary"}] = 0.2
    r["kernel_r2"].loc[{"source": "bumps"}] = 0.1
    r["kernel_r2"].loc[{"source": "superposed bumps"}] = 0.4
    return r


def r2(model: str, kernel: str, value: float, parts: list, controls: list, **where) -> tuple:
    """A case of a model's R^2 of a kernel."""
    where = {"model": model, "source": "model", "kernel": kernel, **where}
    return "FR-1", "kernel_r2", where, value, parts, controls


CNN, RAMP, HOT = ({"model": f"cnn_{name}"} for name in ("bump", "ramp", "one_hot"))
MLP, VN = {"model": "mlp_one_hot"}, {"model": "vn_full"}
OOD, AVERAGED = {"where": "ood"}, {"test": "averaged"}
# With controls: CNNs with population codes (0-6) and with ramps (7-13), MLPs (14), CoordConv (15),
# decoders that multiply (16-18), and that are alike at every pixel (19).
CASES = [
    ("FR-1", "error", CNN | OOD, 0.1, [0], [0]),
    ("FR-1", "error", HOT | OOD, 0.1, [], [0]),
    ("FR-1", "error", RAMP | OOD, 0.1, [3], [7]),
    ("FR-1", "error", {"model": "mlp_ramp_longer"} | OOD, 0.1, [], [14]),
    ("FR-1", "error", {"model": "coordconv"} | OOD, 0.1, [], [15]),
    ("FR-1", "error", {"model": "broadcast"} | OOD, 0.9, [], [19]),
    ("FR-1", "error", VN | OOD, 1, [], [16]),
    ("FR-1", "several", CNN | OOD, 0.1, [1], [1]),
    ("FR-1", "several", RAMP | {"hold_out": "corner"}, 0.1, [4], [8]),
    ("FR-1", "several", HOT | OOD, 0.1, [], [1]),
    ("FR-1", "share_cross", HOT | OOD, 0.35, [], [2]),
    ("FR-1", "share_cross", RAMP | OOD, 0.35, [], [9]),
    ("FR-1", "resembles", CNN | AVERAGED, 0.1, [2], [3]),
    ("FR-1", "resembles", RAMP | {"test": "memorised"}, 0.1, [5], [10]),
    ("FR-1", "resembles", RAMP | AVERAGED, 0.1, [], []),  # ramps are not averaged
    ("FR-1", "resembles_shuffled", HOT, 0.75, [], [3]),
    ("FR-1", "closer", {"model": "cnn_bright"}, 0.5, [], [4]),
    ("FR-1", "closer", RAMP, 0.5, [], [11]),
    ("FR-1", "closer", VN, 0.5, [], [17]),
    r2("cnn_bump", "binary", 0.22, [6], []),
    r2("cnn_ramp", "binary", 0.35, [7], []),
    r2("cnn_ramp", "product", 0.9, [], [12, 13]),
    r2("cnn_fourier", "product", 0.9, [], [5, 6]),
    r2("cnn_fourier", "product", 0.9, [], [6], width=2),
    r2("cnn_one_hot", "product", 0.9, [], [], pairs="id"),
    r2("vn_full", "sum", 1, [], [18]),
]
LACKING = [("FR-1", {"model": name}, name) for name in COORDS["model"]]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    {"FR-1": made}, CASES, LACKING
)


def test_numbers_are_medians_by_model_and_hold_out():
    numbers = told("FR-1", made())
    assert numbers["cnn_bump.square.ratio"] == pytest.approx(12)
    assert numbers["factorised.corner.sum_minus_product"] == pytest.approx(-0.6)


def test_runs_that_learned_nothing_are_counted_and_not_averaged():
    r = changed(made(), "failed", CNN | {"seed": 2}, 1)
    r = changed(r, "error", CNN | OOD | {"seed": 2}, 0.1)
    assert told("FR-1", r)["cnn_bump.square.ratio"] == pytest.approx(12)
    assert drawing(r, "cnn_bump").numbers["cnn_bump.learned"] == pytest.approx(2 / 3)


def test_a_network_that_learned_nothing_decides_nothing():
    """Nor does a hold-out in which it was not run."""
    r = changed(made(), "failed", RAMP, 1)
    r = changed(r, "error", RAMP | OOD, 0.1)
    decision = judged("FR-1", r)
    assert not any(need.holds for need in decision.parts[3].needs)
    assert decision.parts[0].needs[0].holds and decision.controls[0].holds
    r = made()
    r["error"].loc[RAMP | {"hold_out": "corner"}] = float("nan")
    assert failing("FR-1", r) == ([], []) and "cnn_ramp.corner.ratio" not in told("FR-1", r)


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        ("mlp_fourier", [14]),
        ("coordconv", [15]),
        ("factorised", [16, 17, 18]),
        ("cnn_bump", []),
        ("broadcast", [19]),
    ],
)
def test_what_has_not_settled_is_no_control_unless_its_length_is_published(model, parts):
    r = made()
    falling = xr.DataArray(np.geomspace(1, 1e-3, 10), dims="checkpoint")
    r["curve_val"].loc[{"model": model}] = falling
    controls = judged("FR-1", r).controls
    unmet = [i for i, part in enumerate(controls) if not all(need.holds for need in part.needs)]
    assert unmet == parts
