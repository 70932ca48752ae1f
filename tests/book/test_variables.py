"""What files say of themselves: long names, units and labels."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book.store.variables import described

VARIABLES = {
    "error": ("mean squared error", "px^2"),
    "fact_*": ("{} of the model", "1"),
    "note": ("what happened", ""),
    "depth": ("layers", "1"),
}
LABELS = {"model": {"a": {"label": "A-1", "depth": 2}, "b": {"label": "B-1", "depth": 3}}}


def made(**more: object) -> xr.Dataset:
    values = {
        "error": (("model", "seed"), np.ones((2, 3))),
        "fact_free_atoms": ("model", [1.0, 2.0]),
    } | more
    return xr.Dataset(values, {"model": ["a", "b"], "seed": [0, 1, 2]})


def test_every_variable_has_its_name_and_units():
    ds = described(made(note=("model", ["x", "y"])), VARIABLES)
    assert ds["error"].attrs == {"long_name": "mean squared error", "units": "px^2"}
    assert ds["fact_free_atoms"].attrs == {"long_name": "free atoms of the model", "units": "1"}
    assert ds["note"].attrs == {"long_name": "what happened"}, "a text has no units"
    assert ds["seed"].attrs == {"long_name": "random seed", "units": "1"}


def test_a_name_of_its_own_goes_before_a_pattern():
    ds = described(made(), VARIABLES | {"fact_free_atoms": ("atoms never used", "1")})
    assert ds["fact_free_atoms"].attrs["long_name"] == "atoms never used"


def test_what_has_no_name_is_refused():
    with pytest.raises(ValueError, match="long name and units of time, wide"):
        described(made(wide=("time", [1.0])).assign_coords(time=[0.5]), VARIABLES)


def test_other_units_than_the_declared_are_refused():
    ds = made()
    ds["error"].attrs["units"] = "px"
    with pytest.raises(
        ValueError, match=r"units of error must be 'px\^2', as VARIABLES says, got 'px'"
    ):
        described(ds, VARIABLES)


def test_labels_stand_beside_the_axis_and_numbers_stay():
    before = made()
    ds = described(before, VARIABLES, LABELS)
    assert ds["label"].values.tolist() == ["A-1", "B-1"] and ds["depth"].values.tolist() == [2, 3]
    assert ds["label"].dims == ("model",) and (ds["error"].values == before["error"].values).all()
    assert "units" not in before["error"].attrs, "the caller's dataset is left alone"


def test_labels_that_are_there_stay_for_values_that_are_not_named():
    ds = described(made(), VARIABLES, LABELS)
    again = described(ds, VARIABLES, {"model": {"b": {"label": "B-2", "depth": 4}}})
    assert again["label"].values.tolist() == ["A-1", "B-2"] and again["depth"].values.tolist() == [
        2,
        4,
    ]
