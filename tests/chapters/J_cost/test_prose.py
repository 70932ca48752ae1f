"""What the page says of the price of inference holds for the shipped results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.J_cost import claims
from chapters.J_cost.figures import along, ratio
from vnlib.book import paths, store
from vnlib.plots.statistics import median, over_seeds


@pytest.fixture(scope="module")
def shipped() -> xr.Dataset:
    return store.read(paths.RESULTS / "paper" / "J_cost.scaling.nc")


def times(scaling: xr.Dataset, what: str, over: str, vary: str) -> list[float]:
    """How many times longer one task takes than another, at all sizes along one axis."""
    found = median(ratio(scaling, what, over)["time"].sel(vary=vary).median("repeat"))
    return found.dropna("place").values.tolist()


def test_line_search_is_slower_with_one_layer_and_two_and_faster_with_more(shipped):
    for vary in ("d", "K", "B"):
        faster = times(shipped, "line_search", "settle", vary)
        assert min(faster) > 1.5 and max(faster) < 4.5
    one, two, three, four = times(shipped, "line_search", "settle", "depth")
    assert min(one, two) > 1 > three > four


def test_a_settle_costs_tens_of_passes_with_one_layer(shipped):
    for vary in ("K", "B"):
        passes = times(shipped, "settle", "forward", vary)
        assert min(passes) > 30 and max(passes) < 100
    assert times(shipped, "settle", "forward", "d")[0] > 100
    assert 250 < times(shipped, "line_search", "forward", "depth")[-1] < 350
    assert max(max(times(shipped, "sweep", "forward", v)) for v in ("d", "K", "B", "depth")) < 5


def test_time_by_coordinates_grows_as_the_cube_of_the_depth(shipped):
    growth = median(shipped["time_exponent"].sel(vary="depth"))
    assert 2.5 < float(growth.sel(task="settle")) < 3.5
    assert 1.3 < float(growth.sel(task="line_search")) < 2.1


def test_the_fastest_exact_settle_is_the_default_up_to_two_layers(shipped):
    for vary in ("d", "K", "B"):
        assert set(times(shipped, "exact", "settle", vary)) == {1.0}
    assert times(shipped, "exact", "settle", "depth")[:2] == [1, 1]
    assert times(shipped, "exact", "line_search", "depth")[2:] == [1, 1]


def test_an_update_costs_some_to_hundreds_of_backpropagation(shipped):
    for vary in ("d", "K", "B"):
        found = times(shipped, "update", "backward", vary)
        assert min(found) > 6.5 and max(found) < 45
    assert times(shipped, "update", "backward", "depth")[-1] > 200
    assert 100 < times(shipped, "exact_update", "backward", "depth")[-1] < 200


def test_learning_is_slower_than_backpropagation_but_less_so_than_inference(shipped):
    for vary in ("d", "K", "B", "depth"):
        inference = times(shipped, "exact", "forward", vary)
        learning = times(shipped, "exact_update", "backward", vary)
        pairs = zip(inference, learning, strict=True)
        assert all(1 < slow < slower for slower, slow in pairs)


def test_with_layers_the_order_of_the_solvers_turns_round(shipped):
    layers = along(shipped, "depth").isel(place=[0, -1])
    over = ratio(layers, "line_search", "settle")["time"].median("repeat")
    spread = over_seeds(over)
    assert float(spread["low"][0]) > 1 > float(spread["high"][-1])


def test_line_search_takes_tens_of_sweeps(shipped):
    needed = median(shipped["needed"])
    assert 10 < float(needed.min()) < float(needed.max()) < 100


def test_sweeps_of_line_search_hardly_grow_with_the_layers(shipped):
    needed = along(shipped, "depth")["needed"]
    grown = over_seeds(needed.isel(place=-1) / needed.isel(place=0))
    assert 0.9 < float(grown["low"]) < float(grown["high"]) < 1.4


def test_two_runs_at_a_time_tie_with_the_smaller_card_and_stay_below_the_memory():
    results = store.read(paths.RESULTS / "paper" / "J_cost.nc")
    assert abs(np.log(2 * float(results["own"].max()) / 1e9 / claims.CARD)) < np.log(1.05)
    assert 2 * float(results["peak"].max()) / 1e9 < claims.MEMORY


def test_captions_of_the_account():
    found = store.read(paths.RESULTS / "paper" / "J_cost.nc")
    most = {name: found[name].idxmax().item() for name in ("runs", "seconds", "peak")}
    assert most == {"runs": "F_spatial", "seconds": "fig3_functions", "peak": "FR2_manifold"}
    runs = store.read(paths.RESULTS / "paper" / "J_cost.runs.nc")
    assert runs["program"].min() > 0.3e9 and runs["program"].max() < 0.35e9
    assert int((runs["peak"] > 2.5e9).sum()) == 1
    minutes, sizes = found["seconds"] / 60, found["bytes"] / 1e6
    assert int((minutes > 500).sum()) == 0 and int((minutes < 10).sum()) <= 2
    assert sizes.min() > 0.1 and 12 < sizes.max() < 13 and 6 < found["peak"].max() / 1e9 < 6.5
