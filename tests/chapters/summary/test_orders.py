"""No order that the summary states is decided by one condition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from chapters.summary import errors, orders
from vnlib.book import paths, store
from vnlib.book.evidence import spearman
from vnlib.plots.statistics import median

FOLDER = paths.RESULTS / "paper"
FILES = [name for names in errors.READ.values() for name in names]
shipped = pytest.mark.skipif(
    not all((FOLDER / f"{name}.nc").exists() for name in FILES), reason="no shipped results"
)


@pytest.fixture(scope="module")
def tables() -> dict[str, xr.DataArray | None]:
    return errors.tables(errors.read(lambda name: store.read(FOLDER / f"{name}.nc"), range(99)))


def two_models(low: list[float], high: list[float]) -> xr.DataArray:
    """Errors of rows "a" and "b" in some conditions."""
    values = np.array([low, high])[:, :, None, None]
    names = [f"condition {n}" for n in range(len(low))]
    return xr.DataArray(values, dims=("row", "condition", "look", "seed")).assign_coords(
        condition=names, look=["error"], key=("row", ["a", "b"])
    )


BEFORE = orders.Order("", "a below b", ("a",), ("b",), ("error", "error"))


def test_an_order_that_one_condition_decides_does_not_survive():
    """By the geometric mean a is before b, and without the first condition b is before a."""
    table = two_models([1e-4, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0])
    assert float(np.log(table).mean("condition").diff("row").squeeze()) > 0
    assert not orders.survives(orders.factors(BEFORE, table))
    even = two_models([0.5, 0.5, 2.0, 2.0], [1.0, 1.0, 1.0, 1.1])
    assert not orders.survives(orders.factors(BEFORE, even))


def test_an_order_within_the_band_of_equals_does_not_survive():
    """Nor does one that is in it when a condition is left out."""
    assert orders.survives(orders.factors(BEFORE, two_models([1.0] * 3, [1.06] * 3)))
    assert not orders.survives(orders.factors(BEFORE, two_models([1.0] * 3, [1.04] * 3)))
    mixed = two_models([1.0] * 4, [1.01, 1.07, 1.07, 1.3])
    assert not orders.survives(orders.factors(BEFORE, mixed.isel(condition=[0, 1])))
    assert not orders.survives(orders.factors(BEFORE, mixed.isel(condition=[0, 0, 1, 3])))


def test_an_order_of_most_conditions_survives_without_each():
    ratio = orders.factors(BEFORE, two_models([0.5, 0.5, 0.5, 2.0], [1.0] * 4))
    assert np.exp(ratio).values.tolist() == pytest.approx([2, 2, 2, 0.5])
    assert np.exp(orders.left_out(ratio)).values.tolist() == pytest.approx([2, 2, 2, 2])
    assert orders.survives(ratio)
    only = orders.factors(BEFORE, two_models([0.5], [1.0]))
    assert orders.survives(only) and not orders.survives(-only)


def test_an_order_is_sure_where_all_pairs_of_seeds_have_it():
    """In the third condition one seed of three has the other order; "c" was not asked there."""
    low, high = np.array([[1, 2, 3], [1, 2, 3], [1, 2, 9]]), np.array([[2, 4, 6]] * 3)
    values = np.stack([low, high, [[2, 3, 4], [0.5, 1, 1], [np.nan] * 3]])[:, :, None]
    table = xr.DataArray(values, dims=("row", "condition", "look", "seed")).assign_coords(
        condition=["a", "b", "c"], look=["error"], key=("row", ["a", "b", "c"])
    )
    assert orders.standing(BEFORE, table).values.tolist() == [-1, -1, 0]
    both = replace(BEFORE, high=("b", "c"))
    assert orders.standing(both, table).values.tolist() == [-1, 1, 0]
    assert orders.standing(
        replace(both, low=("a", "b"), high=("c",), best=True), table
    ).values.tolist() == [-1, 1]


def test_all_of_the_low_ones_must_be_below_unless_the_best_is_meant():
    table = two_models([0.5, 0.5], [1.0, 1.0])
    three = xr.concat([table, table.isel(row=[0]).assign_coords(key=("row", ["c"])) * 4], "row")
    every = replace(BEFORE, low=("a", "c"))
    assert not orders.survives(orders.factors(every, three))
    assert orders.survives(orders.factors(replace(every, best=True), three))


@shipped
@pytest.mark.parametrize("key", orders.ORDERS)
def test_an_order_that_is_stated_survives_without_any_one_condition(tables, key):
    order = orders.ORDERS[key]
    assert orders.stored(order, tables)
    ratio = orders.factors(order, tables[order.benchmark])
    assert ratio.size >= 3, "what holds in one condition alone is no order"
    assert orders.survives(ratio)


@shipped
@pytest.mark.parametrize("key", orders.ORDERS)
def test_an_order_that_is_stated_is_that_of_all_seeds_but_one(tables, key):
    """Without any one seed, the medians over the others keep it."""
    order = orders.ORDERS[key]
    table = tables[order.benchmark]
    for seed in table["seed"].values:
        rest = table.sel(seed=table["seed"] != seed)
        assert orders.survives(orders.factors(order, rest)), seed


@shipped
def test_of_hard_signals_no_order_of_networks_and_simple_methods_is_stated(tables):
    """One mask or another turns each around, so the page gives none."""
    told = (errors.SOLVED, errors.SOLVED)
    for simple in ("interpolation", "pca", "exemplars"):
        for low, high in ((orders.VN, (simple,)), ((simple,), orders.VN)):
            one = orders.Order("signals", "", low, high, told, orders.HARD, best=len(low) > 1)
            ratio = orders.factors(one, tables["signals"])
            assert (ratio < 0).any()
    assert not any(
        {"interpolation", "pca"} & {*one.low, *one.high} for one in orders.ORDERS.values()
    )


@shipped
def test_a_picture_lists_rows_in_one_order_whatever_their_errors(tables):
    """So that the order of rows states nothing: with all errors turned around it is the same."""

    def turned(name: str) -> xr.Dataset:
        found = store.read(FOLDER / f"{name}.nc")
        errors = [v for v in found if v in ("mse", "mse_ood", "mse_id", "hidden")]
        return found.assign({v: 1 / found[v] for v in errors})

    other = errors.tables(errors.read(turned, range(99)))
    for name, table in tables.items():
        assert table["key"].values.tolist() == other[name]["key"].values.tolist()
        rows, turned_rows = (
            median(one).mean(("condition", "look")).values for one in (table, other[name])
        )
        known = np.isfinite(rows) & np.isfinite(turned_rows)
        assert spearman(rows[known], turned_rows[known]) < 0, "or nothing was turned around"
