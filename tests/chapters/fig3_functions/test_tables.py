"""Tables and numbers of Fig. 3, from results of which everything is known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.functions.names import MASKS, SETS
from chapters.fig3_functions import tables


@pytest.fixture
def results() -> xr.Dataset:
    errors = {"vn_1": (0.5, 0.25), "vn_untrained": (1.0, 0.5), "rnn": (0.9, np.nan)}
    hidden = xr.DataArray(
        [[errors[m]] * 3 for m in errors],
        {"model": list(errors), "seed": [0, 1, 2], "protocol": ["zero_filled", "mask_aware"]},
    ).expand_dims(mask=list(MASKS), set=list(SETS))
    curve = xr.DataArray(
        [[[1.0, 0.4, 0.3]] * 3, [[np.nan] * 3] * 3, [[1.0, 0.4, 0.1]] * 3],
        {"model": list(errors), "seed": [0, 1, 2], "evaluation": [0.1, 0.8, 1.0]},
    )
    return xr.Dataset({"hidden": hidden, "curve": curve}).assign_coords(
        label=("model", ["VN-1L", "untrained", "RNN"]),
        group=("model", ["vn", "control", "printed"]),
    )


def test_dictionaries_and_inferences_stand_side_by_side(results):
    frame = tables.ablation_table(results).frame
    assert frame.loc[("last quarter", "Hard")][::4].tolist() == [0.25, 0.5, 0.5, 1.0]
    assert frame.columns.tolist()[4][:2] == ("untrained", "solved") and len(frame) == 12


def test_what_still_improved_is_told_of_what_trains(results):
    gain = tables.late_gains(results)
    assert gain["model"].values.tolist() == ["vn_1", "rnn"] and tables.networks(results) == ["rnn"]
    assert gain.sel(model="rnn").values == pytest.approx(0.75)
    assert gain.sel(model="vn_1").values == pytest.approx(0.25)


def test_twice_the_updates_are_compared_with_once():
    """Networks trained with masks have no errors where zeros are shown."""
    models = ["rnn", "rnn_masked", "rnn_longer", "rnn_masked_longer"]
    zeros, told = [0.9, np.nan, 1.8, np.nan], [np.nan, 0.4, np.nan, 0.8]
    hidden = xr.DataArray(
        np.array([zeros, told]).T, {"model": models, "protocol": ["zero_filled", "mask_aware"]}
    ).expand_dims(seed=[0, 1], mask=list(MASKS), set=["hard"])
    mse = xr.DataArray([4.0, 4, 1, 1], {"model": models}).expand_dims(seed=[0, 1], set=["id"])
    found = xr.Dataset({"hidden": hidden, "mse": mse}).assign_coords(label=("model", models))
    ratios = tables.lengthened(found)
    assert (ratios["hard"] == 2).all() and (ratios["id"] == 0.25).all()
    frame = tables.longer_table(found).frame
    assert frame.index.tolist() == models[:2] and not frame.isna().any(axis=None)
    without = tables.longer_table(found.sel(model=models[:2]))
    assert "Not computed" in without.data
