"""Models compared within seeds."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.baselines.paired import best, lowest, over

OWN = xr.DataArray([1.0, 10.0, 100.0], dims="seed")


def test_over_is_the_median_of_ratios_not_the_ratio_of_medians():
    others = xr.DataArray([[2.0, 2.0, 2.0], [100.0, 1.0, np.nan]], dims=("model", "seed"))
    found = over(OWN, others)
    assert found.values.tolist() == pytest.approx([5.0, 5.005])
    assert float(OWN.median() / others[0].median()) == 5.0
    assert float(OWN.median() / others[1].median()) != pytest.approx(5.005), "a seed tells both"


def test_the_best_is_chosen_by_its_median_at_each_place_and_keeps_its_seeds():
    values = xr.DataArray(
        [[[3.0, 1.0, 2.0], [9.0, 9.0, 9.0]], [[0.0, 4.0, 5.0], [1.0, 8.0, 2.0]]],
        {"model": ["a", "b"], "place": ["here", "there"]},
        ("model", "place", "seed"),
    )
    found = best(values)
    assert found.sel(place="here").values.tolist() == [3, 1, 2]
    assert found.sel(place="there").values.tolist() == [1, 8, 2]
    some = values.where(values["model"] == "a")
    assert best(some).isnull().all(), "b may be better"
    assert lowest(some)["model"].values.tolist() == ["a", "a"]
