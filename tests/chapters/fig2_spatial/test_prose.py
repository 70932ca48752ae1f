"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import pytest
import xarray as xr

from benchmarks.spatial.errors import middles
from benchmarks.spatial.tables import gains
from chapters.fig2_spatial import tables
from vnlib.book import paths, store
from vnlib.plots.frames import in_groups


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
    found = gains(middles(results)["ood"], tables.GAINS)
    assert min(found["learned-full"], found["learned-axes"]) > 10 and found["relu"] > 100
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
    left = {name: float(text.removesuffix(" %")) for name, text in tables.left(results).items()}
    assert left["cnn4"] > 40 and left["vn_flat"] > 90
    assert max(left["vn_full"], left["bilinear_linear"], left["random_full"]) < 0.1
