"""What the rules of several chapters share: names that lack are said, medians are over seeds."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import evidence as numbers
from vnlib.book.ledger import Part


@pytest.fixture
def values() -> xr.DataArray:
    data = np.array([[1.0, 5.0, 3.0], [10.0, np.nan, 30.0]])
    return xr.DataArray(data, {"model": ["a", "b"], "seed": [0, 1, 2]}, ("model", "seed"))


def test_select_keeps_the_order_asked_for(values):
    assert numbers.select(values, model=["b", "a"])["model"].values.tolist() == ["b", "a"]
    assert numbers.select(values, model=("a",), seed=[2]).item() == 3


def test_select_names_everything_that_lacks(values):
    with pytest.raises(KeyError, match=r"the model\(s\) c, d"):
        numbers.select(values, model=["c", "a", "d"])


def test_names_that_lack_may_be_numbers(values):
    with pytest.raises(KeyError, match=r"the seed\(s\) 3"):
        numbers.select(values, seed=[0, 3])


def test_one_takes_the_dimension_away():
    values = xr.DataArray([[1.0, 2.0]], {"model": ["a"], "set": ["id", "ood"]})
    assert numbers.one(values, model="a", set="ood").item() == 2
    assert numbers.one(values, set="id").coords.keys() == {"model"}
    with pytest.raises(KeyError, match=r"the model\(s\) b"):
        numbers.one(values, model="b", set="id")


def test_numbers_are_named():
    assert numbers.tagged({"a": 1.0, "b": 2.0}, "ood") == {"a.ood": 1.0, "b.ood": 2.0}


def test_numbers_of_an_array_are_named_by_its_coordinates(values):
    named = numbers.tagged(values.isel(seed=[0, 2]), "ood")
    assert named == {"a.0.ood": 1.0, "a.2.ood": 3.0, "b.0.ood": 10.0, "b.2.ood": 30.0}
    assert numbers.tagged(values.sel(seed=2), "ood") == {"a.ood": 3.0, "b.ood": 30.0}


def test_a_part_takes_its_numbers_by_name():
    assert numbers.part("it holds", False, a=1.0) == Part("it holds", False, {"a": 1.0})


def test_a_part_on_an_array_must_hold_everywhere_and_names_every_number(values):
    few = values.isel(seed=[0])
    assert numbers.part("it holds", few > 5, a=few) == Part(
        "it holds", False, {"a.0.a": 1.0, "b.0.a": 10.0}
    )
    assert numbers.part("it holds", few > 0).holds


def test_a_bound_shows_the_value_nearest_to_failing_it(values):
    low = Part("low ≤ 30", False, {"a": 30, "b": 5})
    assert numbers.bounded("low", "<=", 30, a=values, b=5) == low
    a, b = values.sel(model="a"), values.sel(model="b")
    assert numbers.bounded("low", "<=", 5, a=a).holds and not numbers.bounded("", "<", 5, a=a).holds
    high = Part("high ≥ 1", True, {"a": 1, "two": 2})
    assert numbers.bounded("high", ">=", 1, a=a, two=2) == high
    assert not numbers.bounded("high", ">", 1, a=a).holds
    assert not numbers.bounded("NaN passes no test", ">", 1, b=b).holds


def test_a_bound_may_show_every_value(values):
    found = numbers.every("low", "<=", 5, ood=values.isel(seed=[0]), id={"b": 1.0})
    assert found == Part("low ≤ 5", False, {"a.0.ood": 1, "b.0.ood": 10, "b.id": 1})


def test_a_range_holds_for_its_ends_and_nothing_beyond(values):
    a = values.sel(model="a")
    told = "all in [1, 5]: distance from 3"
    assert numbers.within("all", 1, 5, a=a) == Part(told, True, {"a": 5})
    assert not numbers.within("all", 1.1, 5, a=a).holds
    assert not numbers.within("all", 1, 4.9, a=a).holds


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
def test_two_parts_are_one_that_holds_where_both_do(first, second):
    both = Part("a", first, {"x": 1.0}) & Part("b", second, {"y": 2.0})
    assert both == Part("a; b", first and second, {"x": 1.0, "y": 2.0})


def test_rank_correlation_is_of_the_order_alone():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    assert numbers.spearman(x, np.exp(x)) == pytest.approx(1)
    assert numbers.spearman(x, x[[1, 0, 2, 3]]) == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert numbers.spearman(x, np.ones(4)) == 0
