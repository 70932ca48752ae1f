"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import pytest
import xarray as xr

from benchmarks.spatial.tables import medians
from chapters.fig2_spatial import tables
from vnlib.book import paths, store
from vnlib.plots.frames import in_groups


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "fig2_spatial"))


def test_who_fails_inside_the_hold_out_and_who_composes(results):
    zero = float(results["zero_baseline_ood"].median())
    fails = [*in_groups(results, "entangled"), "vn_flat"]
    assert min(medians(results, fails, "ratio").values()) > 20
    assert min(medians(results, fails).values()) > 0.4 * zero
    composes = [*in_groups(results, "vn"), *in_groups(results, "factorised")]
    composes += ["random_axes_1", "random_full", "bilinear_linear"]
    assert max(medians(results, composes, "ratio").values()) < 3
    assert max(medians(results, composes).values()) < 0.002 * zero


def test_atoms_that_were_not_learned_are_less_exact(results):
    for better, worse in (tables.GAINS["learned-full"], tables.GAINS["learned-axes"]):
        ood = medians(results, (better, worse))
        assert ood[worse] > 10 * ood[better]


def test_a_relu_before_the_readout_entangles_again(results):
    assert medians(results, ["bilinear_relu"], "ratio")["bilinear_relu"] > 100
    ood = medians(results, tables.GAINS["relu"])
    assert ood["bilinear_relu"] > 100 * ood["bilinear_linear"]


def test_the_full_vn_is_hardly_sparse(results):
    assert medians(results, ["vn_full"], "active_share")["vn_full"] > 0.9


def test_one_tuned_seed_of_the_factorised_decoder_fails_in_distribution_already(results):
    (failed,) = tables.failed_seeds(results, "factorised")
    own = results["mse_id"].sel(model="factorised")
    assert float(own.sel(seed=failed)) > 1000 * float(own.median())


def test_three_layers_go_to_the_edge_of_single_precision(results):
    assert medians(results, ["vn_axes_3"])["vn_axes_3"] < 1e-12
