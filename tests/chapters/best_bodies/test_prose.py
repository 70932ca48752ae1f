"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.baselines.longer import late_gain
from chapters.best_bodies.figures import curved, relative
from chapters.best_bodies.predictions import mean_ratio, ratio, within
from chapters.best_bodies.tables import decided
from vnlib.book import chapter, paths, store
from vnlib.plots.statistics import short, sides

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
    more = mean_ratio(ratio(results, "token_mlp_four", ["token_mlp_longer"], "curved"))
    told = [f"{float(one):.2g}" for one in (more.median(), more.min(), more.max())]
    assert told == ["1.4", "0.44", "11"]
    names = ["token_mlp", "token_mlp_longer", "token_mlp_four"]
    gain = late_gain(results["curve"].sel(model=names), "share").median("seed")
    assert [short(100 * float(one)) for one in gain] == ["9.0", "24", "31"]
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
    assert f"{middle(results, 'vn_512', 'rbf_512', 'smooth'):.2g}" == "0.21"
    for model in ("vn_256", "vn_512", "vn_512_vector", "rbf_256", "rbf_512"):
        assert (within(relative(results, model), "linear").median("seed") < 1e-12).all()


def test_recruits_by_error_are_ahead_of_coverage_with_springs_only(results):
    smooth = mean_ratio(ratio(results, "vn_256", ["vn_256_coverage"], "smooth"))
    assert f"{float(smooth.median()):.2g}" == "1.3" and float(smooth.min()) < 1


def test_an_operator_is_worth_about_as_much_as_recruiting_atom_for_atom(results):
    operator, recruits = (
        middle(results, "vn_256", other) for other in ("vn_256_vector", "vn_256_random")
    )
    assert 0.8 < operator / recruits < 1.25


def test_linear_laws_recruit_next_to_nothing(results):
    atoms = results["law_atoms"].sel(model=["vn_256", "vn_256_n1600", "vn_512"])
    assert (atoms.sel(law="lorentz") == 16).all() and atoms.sel(law="drag").max() == 17
    assert ((atoms.sel(law="drag") > 16).sum("seed") <= 2).all()
    assert (atoms.sel(model="vn_256", law=["gravity", "spring"]) == 256 + 8).all()
