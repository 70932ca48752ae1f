"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import pytest
import xarray as xr

from chapters.fig1_architecture import tables
from vnlib.book import paths, store
from vnlib.plots.statistics import over_seeds


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "fig1_architecture"))


def test_a_digit_uses_a_small_share_of_the_atoms_and_more_than_a_handful(results):
    found = tables.numbers(results)
    assert found["fig1-atoms"] == "512" and found["fig1-explained"].endswith(" %")
    assert (results["active_share"].mean("digit") < 0.2).all()
    assert (results["active"].mean("digit") > 50).all()


def test_the_rank_is_about_the_number_of_atoms_in_use_and_far_below_its_limit(results):
    less = results["active"] - results["rank"]
    assert less.min() >= 0 and less.max() <= 4 and less.mean() < 0.5
    assert (results["rank"].mean("digit") < results["rank_limit"] / 3).all()


def test_learning_makes_atoms_more_exact_and_not_fewer(results):
    share = results["mse"] / results["untrained_mse"]
    assert (share > 0.5).all() and (share < 0.6).all(), "learning nearly halves the error"
    more = results["active"].mean("digit") - results["untrained_active"]
    assert ((more > 0) & (more < 10)).all(), "with a few more atoms"
    assert (results["mse"] < results["pca_mse"]).all()


def test_with_twice_the_updates_the_surplus_of_atoms_is_half_as_large(results):
    late = store.read(paths.result_file(paths.RESULTS, "paper", "fig1_architecture.longer"))
    more = results["active"].mean("digit") - results["untrained_active"]
    then = late["longer_active"].mean("digit") - late["longer_untrained_active"]
    share = over_seeds(then / more)
    assert 0.4 < share["low"] < share["high"] < 0.7 and (then > 0).all()


def test_the_sum_of_two_digits_is_inferred_anew(results):
    assert results["sum_mse"].median() < results["sum_of_codes_mse"].median()
    first, second, joint = results["shown_code"].isel(seed=0).values != 0
    kept = (joint & (first | second)).sum() / (first | second).sum()
    assert 0.5 < kept < 0.6 and 0 < (joint & ~(first | second)).sum() < joint.sum() / 3
    both = results["active"].mean("digit") * 2
    assert (results["sum_active"].mean("pair") < both).all()


def test_the_settle_switches_most_atoms_off_again(results):
    """Of the digit that is shown; layer 2 uses all that it may."""
    one = results.isel(seed=0)
    assert (one["settle_energy"].diff("sweep") < 0).all()
    first, second = (one["settle_active"].sel(layer=layer) for layer in (1, 2))
    assert (
        0.87 * 512 < first[0] < 0.9 * 512 and first[-1] < 0.2 * 512 and (second == second[0]).all()
    )
