"""Tables and numbers of App. I, where they are known beforehand."""

from __future__ import annotations

import pytest

from chapters.I_mnist import tables
from vnlib.plots.tables import Table

MADE = [
    *(tables.budget_table, tables.locking_table, tables.errors_table, tables.depth_table),
    *(tables.selectivity_table, tables.rest_table, tables.energies_table, tables.atlas_table),
]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("models", [["vn_3", "vn_3_top24", "vn_1"], ["vn_3_top24"], ["vn_1"]])
def test_tables_are_made_of_any_networks(appI_results, make, models):
    some = appI_results.sel(model=models)
    made = make(some)
    assert made._repr_mimebundle_() if isinstance(made, Table) else "Not computed" in made.data


def test_the_sweeps_until_all_layers_have_locked(appI_results):
    locked = tables.locked_all(appI_results).sel(solver="line_search", seed=0)
    assert float(locked.sel(model="vn_3")) == 20 and float(locked.sel(model="vn_1")) == 18
    table = tables.locking_table(appI_results)
    shown, frame = table.shown(), table.frame
    assert shown.loc["DEEP, plain steps", "≥ 0.9, mean"] == "> 100"
    assert shown.loc["DEEP, plain steps", "MSE then"] == ""
    middle = frame.xs("median", axis=1, level=-1)
    assert middle.loc["DEEP, momentum and line search", "≥ 0.99, mean"] == 20
    assert middle.loc["DEEP, momentum and line search", "≥ 0.9, 9 of 10"] == 18
    assert middle.loc["FLAT, momentum, restarted", "MSE then"] == pytest.approx(12.5)
    results = appI_results.copy(deep=True)
    where = {"model": "vn_3", "solver": "line_search", "seed": 1, "layer": 2}
    results["locked_mean"].loc[where] = 21
    assert tables.numbers(results)["appI-in-time-vn-3"] == "1"


def test_the_direction_of_a_measure_is_counted_over_seeds(appI_results):
    share = appI_results["active_share"].sel(set="id").copy(deep=True)
    assert tables.throughout(share, -1).values.tolist() == [2, 2, 0], "the last has one layer"
    assert tables.throughout(1 - share, 1).values.tolist() == [2, 2, 0]
    share.loc[{"seed": 1, "layer": 2}] = 0.6
    assert int(tables.throughout(share, -1).sel(model="vn_3")) == 1


def test_numbers_follow_from_the_results(appI_results):
    found = tables.numbers(appI_results)
    assert found["appI-used-least"] == "100 %" and found["appI-effective-least"] == "75 %"
    assert found["appI-active-vn-3"] == "50 %, 25 %, 12 %" and found["appI-falls-vn-3"] == "2"
    assert found["appI-locked-vn-3"] == "20" and found["appI-rises-vn-3"] == "2"
    assert found["appI-certain"] == "0.99" and found["appI-gap"] == "1.0 × 10⁻⁵"
    assert found["appI-sum-lowest"] == "90 %"


def test_tables_hold_the_numbers(appI_results):
    frame = tables.budget_table(appI_results).frame
    assert frame.index.tolist()[-1] == "FLAT, layer 1" and len(frame) == 7
    assert frame.loc["DEEP, layer 2", ("active [%]", "median")] == 25
    errors = tables.errors_table(appI_results).frame
    assert errors.loc["Zero baseline", ("sums of two, top", "low")] == pytest.approx(100)
    assert errors.loc["DEEP", ("single digits, own", "median")] == pytest.approx(4)
    depth = tables.depth_table(appI_results).frame
    assert depth.loc["DEEP", "single digits, falls [seeds]"] == 2 and "FLAT" not in depth.index
    told = tables.selectivity_table(appI_results).frame
    # Of three layers the first is at chance.
    assert told.loc["DEEP", "above all shuffles [%]"] == pytest.approx(200 / 3)
    rest = tables.rest_table(appI_results).frame
    assert rest.loc["CAPPED"].tolist()[::2] == [0.99, 0.75]
    energies = tables.energies_table(appI_results).frame
    assert energies.loc["plain steps", ("sum rises [sweeps]", "high")] == 7


def test_the_atlas_says_how_one_digit_stands_out(appI_atlas):
    assert tables.atlas_table(appI_atlas).frame.loc["layer 2", "most"] == pytest.approx(4)
