"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.best_bodies.figures import curved, relative
from chapters.best_bodies.predictions import mean_ratio, ratio, within
from chapters.best_bodies.tables import decided
from vnlib.book import chapter, paths, store
from vnlib.plots.statistics import sides

LITERAL = ("mlp", "gnn", "transformer", "film")


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "best_bodies"))


def middle(results: xr.Dataset, own: str, other: str, cells: str = "curved") -> float:
    return float(mean_ratio(ratio(results, own, [other], cells)).median("seed"))


def surely(results: xr.Dataset, own: str, other: str) -> int:
    return int((sides(ratio(results, own, [other])) < 0).sum())


def test_all_predictions_but_that_of_more_data_hold(results):
    came = decided(results, chapter.spec("best_bodies").sidecar)
    assert [name for name, one in came.items() if one["verdict"] != "holds"] == ["B19"]
    assert came["B19"]["verdict"] == "fails" and middle(results, "vn_256_n1600", "vn_256") > 1


def test_the_network_on_tokens_had_not_settled_and_four_times_the_updates_do_no_more(results):
    assert 0.25 < middle(results, "token_mlp_longer", "token_mlp") < 0.45
    longer, four = (
        curved(results, m).median("seed") for m in ("token_mlp_longer", "token_mlp_four")
    )
    assert float(four) >= float(longer)
    for rival in ("token_mlp_longer", "token_mlp_four"):
        assert surely(results, "vn_256", rival) == 45
        assert 30 <= surely(results, "vn_512_vector", rival) < 40


def test_other_rivals_gain_little_by_twice_the_updates_in_fig_4():
    r = store.read(paths.result_file(paths.RESULTS, "paper", "fig4_nbody"))
    error = (r["mse"] / r["power"]).sel(inference="joint")
    bent = error["forces"].str.contains("gravity|spring")
    mean = np.exp(np.log(error.where(bent, drop=True)).mean(["forces", "bodies"]))
    for model in ("factorized", *LITERAL):
        change = (mean.sel(model=f"{model}_longer") / mean.sel(model=model)).median("seed")
        assert 0.85 < float(change) < 1.2, model


def test_half_as_many_numbers_as_the_network(results):
    numbers = results["fact_parameters"].median("seed")
    assert 0.4 < float(numbers.sel(model="vn_256") / numbers.sel(model="token_mlp")) < 0.6


def test_where_the_ridge_is_ahead_and_linear_laws_are_exact(results):
    assert middle(results, "vn_256", "rbf_512", "smooth") > 1
    assert middle(results, "vn_256", "rbf_512", "springs") < 0.1
    for model in ("vn_256", "rbf_512"):
        assert (within(relative(results, model), "linear").median("seed") < 1e-12).all()
