"""The rule of FR-3: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import changed, failing, filled, judged, rules, told, unmet

from chapters.FR3_low_rank.claims import FOUR, in_order, own_band

COORDS = {
    "model": ["none", "entropy", "variance", "both", "free", "rank1"],
    "hold_out": ["square", "large_corner"],
    "layer": ["maps", "output"],
    "axis": ["x", "y"],
    "token": range(4),
    "along": ["y", "x"],
}
PER_MODEL = {
    "mse_train": [1e-5, 2e-5, 3e-5, 2e-5, 1e-5, 2e-5],
    "mse_id": [1e-5, 2e-5, 3e-5, 2e-5, 1e-5, 2e-5],
    "mse_ood": [7e-3, 6e-3, 1e-4, 4e-5, 7e-3, 1e-4],
    "hit_ood": [0.1, 0.2, 1.0, 1.0, 0.1, 1.0],
}


def made() -> xr.Dataset:
    """All as the paper says, and rank 1 by construction composes."""
    r = filled(
        COORDS,
        zero_baseline_id=(6.6e-3, "hold_out"),
        zero_baseline_ood=(6.6e-3, "hold_out"),
        band=(0.1, "hold_out axis token along"),
        volume_spread=(0.5, "hold_out layer"),
        **dict.fromkeys(PER_MODEL, (1, "hold_out")),
    )
    r = r.assign({name: r[name] * xr.DataArray(v, dims="model") for name, v in PER_MODEL.items()})
    for axis, along in (("x", "y"), ("y", "x")):
        r["band"].loc[{"model": "both", "axis": axis, "along": along}] = 0.95
    r["volume_spread"].loc[{"model": "both"}] = 0.1
    flat = xr.ones_like(r["mse_id"]).expand_dims(checkpoint=10)
    return r.assign(curve_step=("checkpoint", np.arange(1.0, 11.0)), curve_val=flat)


def case(name: str, model: str, value: float, parts: list, controls: list, **where) -> tuple:
    return "FR-3", name, {"model": model, **where}, value, parts, controls


CASES = [
    case("mse_ood", "both", 1e-3, [0, 7], [0, 7, 9], hold_out="large_corner"),
    case("hit_ood", "both", 0.5, [0], [0], hold_out="square"),
    case("mse_ood", "none", 3e-3, [1, 2, 4], [2, 4], hold_out="square"),
    case("mse_ood", "free", 1e-3, [], [1]),
    case("mse_train", "entropy", 1e-6, [3], []),
    case("mse_id", "entropy", 1e-6, [], [3]),
    case("mse_ood", "entropy", 8e-3, [2, 4], [2, 4]),
    case("mse_ood", "entropy", 1e-3, [4], [4]),
    case("mse_ood", "variance", 5e-3, [5], [5]),
    case("mse_train", "variance", 1e-5, [3, 6], []),
    case("mse_id", "variance", 1e-5, [], [3, 6]),
    case("mse_ood", "variance", 3e-5, [7], [7, 9]),
    case("mse_ood", "variance", 5e-5, [], [9]),
    case("band", "both", 0.5, [8], []),
    case("band", "none", 0.6, [8], []),
    case("volume_spread", "both", 0.6, [9], []),
    case("mse_ood", "rank1", 1e-2, [], [8]),
    case("mse_ood", "both", 1.0, [], [], seed=1),  # one bad seed does not decide
]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    {"FR-3": made}, CASES, [("FR-3", {"model": "rank1"}, "the model(s) rank1")]
)


def test_a_control_that_has_not_settled_decides_nothing():
    r = made()
    assert unmet("FR-3", r) == ([], [])
    late = (r["model"] == "rank1") & (r["hold_out"] == "square") & (r["curve_step"] > 8)
    r["curve_val"] = r["curve_val"].where(~late, 0.9)
    assert unmet("FR-3", r) == ([], [8])


def test_bands_along_the_wrong_axis_do_not_count():
    r = made()
    r["band"] = r["band"].isel(along=[1, 0]).assign_coords(along=["y", "x"])
    assert failing("FR-3", r)[0] == [8]


def test_half_of_the_energy_is_in_bands_where_one_axis_has_them():
    r = changed(made(), "band", {"axis": "x"}, 0)
    np.testing.assert_allclose(own_band(r).sel(model="both"), 0.475)


def test_runs_that_draw_nothing_are_counted_and_not_averaged():
    r = changed(made(), "mse_id", {"model": "rank1", "seed": [0, 1]}, 6e-3)
    r = changed(r, "mse_ood", {"model": "rank1", "seed": [0, 1]}, 7e-3)
    composes = judged("FR-3", r).controls[8]
    assert composes.holds and not composes.needs[0].holds
    assert composes.needs[0].numbers["learned_rank1"] == 1 / 3
    assert told("FR-3", r)["rank1.square.of_zero"] == pytest.approx(1e-4 / 6.6e-3, rel=1e-3)


def test_an_order_is_strict():
    ood = xr.DataArray([4.0, 3, 2, 1], {"model": list(FOUR)}, "model")
    assert in_order(ood) and not in_order(ood.where(ood != 1, 2))
