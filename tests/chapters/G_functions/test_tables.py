"""Tables of App. G, where what they must say is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.functions.names import MASKS, SETS
from chapters.G_functions import tables


@pytest.fixture
def shared() -> xr.Dataset:
    """Errors on hidden samples: the same in every cell, but that zero is at 0.1 on one set."""
    told = {
        "vn_1": (0.5, 0.25),
        "mamba": (1.0, np.nan),
        "zero_baseline": (np.nan, 2.0),
        "rnn_masked": (np.nan, 0.5),
        "vn_untrained": (0.4, 0.5),
    }
    values = xr.DataArray(
        list(told.values()),
        {"model": list(told), "protocol": ["zero_filled", "mask_aware"]},
        ["model", "protocol"],
    )
    sizes = {"seed": [0, 1], "mask": list(MASKS), "set": list(SETS)}
    cells = xr.DataArray(np.zeros((2, len(MASKS), len(SETS))), sizes, list(sizes))
    zero = (cells["set"] == "hard") & (values["model"] == "zero_baseline")
    hidden = (values + cells).where(~zero, 0.1)
    return hidden.to_dataset(name="hidden").assign_coords(
        label=("model", [m.upper() for m in told])
    )


def test_who_wins_is_counted_by_cell(shared):
    frame = tables.ablation_table(shared).frame
    expected = {
        ("best VN, solved", "the paper's others, shown zeros"): ["12 of 12", 0.25],
        ("best VN, solved", "networks trained with masks"): ["12 of 12", 0.5],
        ("best VN, solved", "ZERO_BASELINE"): ["8 of 12", 0.125],
        ("best VN, rounds", "the paper's others, shown zeros"): ["12 of 12", 0.5],
        ("VN-1L, solved: inference", "VN-1L, rounds"): ["12 of 12", 0.5],
        ("VN-1L, rounds: learning", "VN_UNTRAINED, rounds"): ["0 of 12", 1.25],
        ("VN-1L, solved: learning", "VN_UNTRAINED, solved"): ["12 of 12", 0.5],
    }
    assert {key: row.tolist()[:2] for key, row in frame.iterrows()} == expected


def test_the_strict_reading_is_told_of_deep_networks(shared):
    reading = xr.DataArray([1.0, 3.0], {"reading": ["first", "top"]}, ["reading"])
    r = (shared["hidden"].isel(protocol=0, drop=True) * reading).expand_dims(solver=["limit"])
    r = r.to_dataset(name="hidden").sel(model=["vn_1", "mamba"])
    r = r.assign_coords(depth=("model", [1, 3]))
    frame = tables.strict_table(r).frame
    assert frame.index.tolist() == ["MAMBA"] and set(
        frame.filter(regex="median$|most").iloc[0]
    ) >= {3.0}
    assert tables.strict_table(r.sel(model=["vn_1"])).frame.empty


def test_what_is_left_of_table_6_stands_beside_the_nearest_set(shared):
    r = shared.assign_coords(model=["vn_1", "mamba", "zero_baseline", "rnn_masked", "vn_3"])
    r["hidden"].loc[{"model": "vn_3", "set": "easy"}] = 0.391
    r["hidden"].loc[{"model": "vn_1", "protocol": "mask_aware"}] = 0.5
    r["hidden"].loc[{"model": "vn_3", "protocol": "mask_aware"}] = 0.4
    r["hidden"].loc[{"model": "vn_3", "set": "easy"}] = 0.391
    row = tables.survivors(r).frame.loc[("VN_UNTRAINED", "last quarter")]
    assert row["nearest"] == "Easy" and row["ours, ID"] == 0.4
    assert row["column minimum here"] == "ID, Easy, Hard"
