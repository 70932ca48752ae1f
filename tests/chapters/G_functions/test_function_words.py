"""Tables in words of appendix G, where what they must say is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.G_functions import tables as words
from chapters.G_functions.figures import MASKS, SETS


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
    where = xr.DataArray(
        np.zeros((2, len(MASKS), len(SETS))),
        {"mask": list(MASKS), "set": list(SETS)},
        ["seed", "mask", "set"],
    )
    hidden = (values + where).where(
        ~((where["set"] == "hard") & (values["model"] == "zero_baseline")), 0.1
    )
    return hidden.to_dataset(name="hidden").assign_coords(
        label=("model", [m.upper() for m in told])
    )


def test_who_wins_is_counted_by_cell(shared):
    said = words.owes(shared)
    assert "| best VN, rounds | the paper's others, zeros where hidden | 12 of 12 | 0.50 |" in said
    assert "| best VN, rounds | the zero prediction | 8 of 12 | 0.25 |" in said
    assert "| best VN, rounds | networks trained with masks | 0 of 12 | 1.00 |" in said
    assert "| best VN, solved | networks trained with masks | 12 of 12 | 0.50 |" in said
    assert "| VN-1L, solved: owed to inference | VN-1L, rounds | 12 of 12 | 0.50 |" in said
    assert "| VN-1L, rounds: owed to learning | VN_UNTRAINED, rounds | 0 of 12 | 1.25 |" in said
    assert "not asked for" in words.owes(shared.sel(model=["mamba", "zero_baseline"]))


def test_the_strict_reading_is_told_of_deep_networks(shared):
    reading = xr.DataArray([1.0, 3.0], {"reading": ["first", "top"]}, ["reading"])
    r = (
        (shared["hidden"].isel(protocol=0, drop=True) * reading)
        .expand_dims(solver=["limit"])
        .to_dataset(name="hidden")
    )
    r = r.sel(model=["vn_1", "mamba"]).assign(depth=("model", [1, 3]))
    said = words.strict(r)
    assert "| MAMBA | 3.00 | 3.00 |" in said and "VN_1" not in said
    assert words.strict(r.sel(model=["vn_1"])).startswith("No deep network")
