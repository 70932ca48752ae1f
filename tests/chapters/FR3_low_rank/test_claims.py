"""The rule of FR-3: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

from chapters.FR3_low_rank.claims import own_band
from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

MODELS = ["none", "entropy", "variance", "both", "free", "rank1"]
AXES = {"model": MODELS, "hold_out": ["square", "large_corner"], "seed": [0, 1, 2]}
PER_MODEL = {
    "mse_train": [1e-5, 1e-5, 3e-5, 2e-5, 1e-5, 2e-5],
    "mse_id": [1e-5, 2e-5, 3e-5, 2e-5, 1e-5, 2e-5],
    "mse_ood": [7e-3, 6e-3, 1e-4, 4e-5, 7e-3, 1e-4],
    "hit_ood": [0.1, 0.2, 1.0, 1.0, 0.1, 1.0],
}


def filled(value: float, **more) -> xr.DataArray:
    return xr.DataArray(value, AXES | more, list(AXES | more)).copy()


def results() -> xr.Dataset:
    """All as the paper says, and rank 1 by construction composes."""
    values = {n: filled(1.0) * xr.DataArray(v, dims="model") for n, v in PER_MODEL.items()}
    band = filled(0.1, axis=["x", "y"], token=range(4), along=["y", "x"])
    for axis, along in (("x", "y"), ("y", "x")):
        band.loc[{"model": "both", "axis": axis, "along": along}] = 0.95
    spread = filled(0.5, layer=["maps", "output"])
    spread.loc[{"model": "both"}] = 0.1
    made = {"zero_baseline_ood": filled(6.6e-3), "band": band, "volume_spread": spread}
    return xr.Dataset(values | made)


def test_results_as_printed_hold_in_every_part():
    row = judged("FR-3", results())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED
    assert len(row["parts"]) == len(row["parts_controls"]) == 8


@pytest.mark.parametrize(
    ("name", "model", "value", "where", "printed", "controls"),
    [
        ("mse_ood", "both", 1e-3, {"hold_out": "large_corner"}, [0, 5], [0, 5, 7]),
        ("hit_ood", "both", 0.5, {"hold_out": "square"}, [0], [0]),
        ("mse_ood", "none", 3e-3, {"hold_out": "square"}, [1, 2, 3], [1, 2, 3]),
        ("mse_ood", "free", 1e-3, {}, [], [1]),
        ("mse_train", "entropy", 1e-6, {}, [2], []),
        ("mse_id", "entropy", 1e-6, {}, [], [2]),
        ("mse_ood", "entropy", 8e-3, {}, [2, 3], [2, 3]),
        ("mse_ood", "entropy", 1e-3, {}, [3], [3]),
        ("mse_ood", "variance", 5e-3, {}, [4], [4]),
        ("mse_train", "variance", 1e-5, {}, [4], []),
        ("mse_ood", "variance", 3e-5, {}, [5], [5, 7]),
        ("mse_ood", "variance", 5e-5, {}, [], [7]),
        ("band", "both", 0.5, {}, [6], []),
        ("band", "none", 0.6, {}, [6], []),
        ("volume_spread", "both", 0.6, {}, [7], []),
        ("mse_ood", "rank1", 1e-2, {}, [], [6]),
        ("mse_ood", "both", 1.0, {"seed": 1}, [], []),  # one bad seed does not decide
    ],
)
def test_each_part_fails_on_what_it_is_about(name, model, value, where, printed, controls):
    ds = results()
    ds[name].loc[{"model": model} | where] = value
    assert failing("FR-3", ds) == (printed, controls)


def test_bands_along_the_wrong_axis_do_not_count():
    ds = results()
    ds["band"] = ds["band"].isel(along=[1, 0]).assign_coords(along=["y", "x"])
    assert failing("FR-3", ds)[0] == [6]


def test_a_missing_model_is_named():
    row = judged("FR-3", results().drop_sel(model=["rank1"]))
    assert row["verdict"] == NOT_TESTABLE and "rank1" in row["missing"]


def test_half_of_the_energy_is_in_bands_where_one_axis_has_them():
    ds = results()
    ds["band"].loc[{"axis": "x"}] = 0.0
    np.testing.assert_allclose(own_band(ds).sel(model="both"), 0.475)
