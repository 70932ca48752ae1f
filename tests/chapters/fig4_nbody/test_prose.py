"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import pytest
import xarray as xr

from benchmarks.nbody.figures import error, in_order, inside_and_out
from chapters.fig4_nbody import tables
from vnlib.book import paths, store
from vnlib.plots.frames import label
from vnlib.plots.statistics import median


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "fig4_nbody"))


def test_vector_networks_on_literal_and_gated_input_do_not_fit_single_forces(results):
    single = tables.fits(results)
    not_fit = {m for m, value in single.items() if value > tables.FITS}
    assert not_fit == {m for m in single if m.startswith(("vn_literal", "vn_gated"))}
    assert max(single, key=single.__getitem__) == "vn_literal_3"


def test_passes_help_film_most_and_mamba_least(results):
    kept = tables.kept_in_passes(results)
    assert (
        len(kept) == 5 and min(kept, key=kept.get) == "film" and max(kept, key=kept.get) == "mamba"
    )


def test_who_is_harder_with_three_bodies(results):
    ratio = tables.dropout(results, relative=False)["mixtures"]
    harder = {m for m in in_order(results) if float(ratio.sel(model=m)) > 1}
    assert harder == {"factorized", "factorized_dense", "token_mlp"}


def test_who_is_near_the_diagonal_and_who_errs_least(results):
    inside, outside = inside_and_out(error(results))
    models = in_order(results)
    near = median(outside / inside).sel(model=models).to_series().sort_values()
    assert near.index[:3].tolist() == ["linear_gated", "linear_tokens", "vn_gated_1"]
    assert near.iloc[2] < 1
    least = median(outside).sel(model=models).to_series().sort_values()
    assert least.index[:3].tolist() == ["rbf_tokens", "token_mlp", "factorized"]


def test_who_adds_up_forces(results):
    gap = {m: value for m, value in tables.gaps(results).items() if value >= tables.EXACT}
    assert max(gap, key=gap.get) == "film" and min(gap, key=gap.get) == "vn_gated_3"


def test_what_held_and_what_did_not(results):
    single, joint = tables.fits(results), tables.cells(results)
    relative = median(inside_and_out(error(results, relative=True))[1])
    assert relative.sel(model="vn_literal_3") > 0.8, "about as far off as predicting the mean"
    without = [m for m in in_order(results, ("printed",)) if m != "factorized"]
    assert tables.won(joint, "vn_gated_3", without) == joint.isel(model=0).size
    assert tables.won(joint, "vn_gated_3", ["factorized"]) == 0
    assert single["vn_token_3"] < 0.01
    linear = error(results, relative=True).sel(model="linear_gated", bodies=5)
    fit = float(median(linear.isel(forces=slice(4)).mean("forces")))
    assert single["vn_gated_3"] > fit, "sparse inference fits no better than a linear regression"


def test_labels_named_in_the_prose(results):
    names = ("vn_literal_3", "token_mlp", "factorized_dense", "rbf_tokens", "linear_gated")
    assert [label(results, m) for m in names] == [
        "VN-3L, literal",
        "Token MLP",
        "Factorized, dense",
        "RBF ridge, tokens",
        "Ridge, gated",
    ]
