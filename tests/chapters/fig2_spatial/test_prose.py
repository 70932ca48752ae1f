"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import pytest
import xarray as xr
from glued import number, numbers

from benchmarks.spatial.errors import middles
from benchmarks.spatial.tables import gains
from chapters.fig2_spatial import tables
from vnlib.book import paths, store
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import median, over_seeds, short


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "fig2_spatial"))


def test_who_fails_inside_the_hold_out_and_who_composes(results):
    fails = middles(results, *in_groups(results, "entangled"), "vn_flat")
    assert (fails["ratio"] > 20).all() and (fails["ood"] > 0.4 * fails["zero"]).all()
    names = ["random_axes_1", "random_full", "bilinear_linear"]
    composes = middles(results, *in_groups(results, "vn", "factorised"), *names)
    assert (composes["ratio"] < 3).all() and (composes["ood"] < 0.002 * composes["zero"]).all()


def test_atoms_that_were_not_learned_are_less_exact_and_a_relu_entangles_again(results):
    found = gains(results["mse_ood"], tables.GAINS)  # of each seed with its like
    low = {name: float(over_seeds(one)["low"]) for name, one in found.items()}
    assert min(low["learned-full"], low["learned-axes"]) > 1 and low["relu"] > 100
    told = numbers(tables.numbers(results))
    assert told["fig2-learned-axes"] == number(short(float(median(found["learned-axes"]))))
    assert min(told["fig2-learned-full"], told["fig2-learned-axes"]) > 10
    assert middles(results, "bilinear_relu")["ratio"] > 100


def test_the_full_vn_is_hardly_sparse(results):
    assert results["active_share"].sel(model="vn_full").median() > 0.9


def test_one_tuned_seed_of_the_factorised_decoder_fails_in_distribution_already(results):
    one = results.sel(model="factorised")
    failed = one["mse_id"][one["mse_ood"] > one["zero_baseline_ood"]]
    assert failed.item() > 1000 * float(one["mse_id"].median())


def test_three_layers_go_to_the_edge_of_single_precision(results):
    assert middles(results, "vn_axes_3")["ood"] < 1e-12


def test_a_cnn_leaves_much_and_every_product_readout_without_relu_next_to_nothing(results):
    left = median(tables.left(results))
    assert left.sel(model="cnn4") > 40 and left.sel(model="vn_flat") > 90
    assert left.sel(model=["vn_full", "bilinear_linear", "random_full"]).max() < 0.1
