"""What the page says between its numbers holds for the shipped results."""

from __future__ import annotations

from itertools import pairwise

import pytest
from glued import number, numbers

from chapters.A_predictive_coding import tables
from vnlib.book import paths, store
from vnlib.plots.frames import NOT_COMPUTED
from vnlib.plots.statistics import median, over_seeds, short, sides
from vnlib.plots.tables import Table

PAIRS = ["digits", "permuted", "halves"]


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "A_predictive_coding.nc").sel(pair=PAIRS)


@pytest.fixture(scope="module")
def said(shipped) -> dict[str, float]:
    return numbers(tables.numbers(shipped))


def test_numbers_are_medians_over_seeds(shipped, said):
    one = shipped["interference"].sel(model="bpc", pair="halves")
    assert said["appA-interference-bpc-halves"] == number(short(1 + float(one.median())))
    assert said["appA-active-vn"] == 20 and said["appA-power-vn"] == 2.5


def test_the_vn_uses_few_units_and_predictive_coding_all(shipped):
    active = shipped["active_share"]
    assert (active.sel(model=["pc", "bpc"]) > 0.99).all()
    assert (active.sel(model=["vn", "pc_sparse"]) < 0.25).all()


def test_against_staying_sparsity_protects_more_than_the_operator(shipped):
    """By intervals, paired by seed, in every pair of tasks: sparse PC, VN, PC, dense VN."""
    factor = 1 + shipped["interference"]
    order = ["pc_sparse", "vn", "pc", "vn_dense"]
    for less, more in pairwise(order):
        assert (sides(factor.sel(model=less) / factor.sel(model=more)) == -1).all(), (less, more)
    bpc = sides(tables.beside(factor).sel(model="bpc"))
    assert bpc.sel(pair=PAIRS).values.tolist() == [1, 1, -1]
    dense = ["bpc", "autoencoder", "linear"]
    assert (sides(tables.beside(factor).sel(model=dense, pair="digits")) == 1).all()
    assert (shipped["active_share"].sel(model=dense, pair="digits") > 0.99).all()


def test_pc_ends_with_smaller_errors_than_the_vn_on_both_tasks(shipped):
    assert (sides(tables.beside(shipped["final_error"]).sel(model="pc")) == 1).all()
    after = shipped["mse"].sel(stage="second")
    assert (sides(tables.beside(after).sel(model="pc")) == 1).all()


def test_against_before_the_vn_forgets_less_where_no_pixel_is_shared_and_more_elsewhere(shipped):
    growth = tables.beside(1 + shipped["forgetting"]).sel(model=["pc", "bpc"])
    found = sides(growth)
    assert (found.sel(pair="halves") == -1).all()
    assert (found.sel(pair=["digits", "permuted"]) == 1).all()


def test_at_most_about_a_quarter_of_the_vn_moves_and_a_third_of_bpc_does_not(shipped, said):
    moved = median(shipped["moved"].sel(model="vn"))
    assert 0.15 < float(moved.min()) < 0.2 < 0.25 < float(moved.max()) < 0.26
    assert said["appA-moved-pc"] == 100 and said["appA-moved-bpc"] < 70


def test_updates_are_less_alike_in_the_vn_in_every_pair(shipped):
    found = sides(tables.beside(shipped["overlap"]).sel(model=["pc", "bpc"])).to_series()
    assert found.eq(-1).all()
    learned = shipped["overlap"].sel(model=["pc", "bpc", "vn", "pc_sparse", "autoencoder"])
    assert median(learned).max() < 0.05, "nearly unrelated"


def test_a_batch_uses_nearly_all_atoms(shipped):
    touched = median(shipped["touched"].sel(model=["vn", "pc"], batch=64)).sel(pair="digits")
    assert (touched > 0.95).all()


def test_a_library_of_samples_cannot_see_the_other_half_and_revival_takes_from_task_1(shipped):
    halves = shipped["mse"].sel(pair="halves", stage="second")
    assert (halves.sel(model="vn_untrained", task=2) > 0.999).all()
    revived = halves.sel(model="vn_revived") / halves.sel(model="vn")
    assert sides(revived).sel(task=[1, 2]).values.tolist() == [1, -1]


def test_what_twice_the_updates_change_of_it(shipped):
    """Nine of sixteen seeds have less alike updates beside PC, and bPC is surely ahead in no pair."""
    file = paths.result_file(paths.RESULTS, "paper", "A_predictive_coding.longer")
    late = store.read(file)
    apart = late["longer_overlap"].sel(pair="permuted")
    assert int((apart.sel(model="vn") < apart.sel(model="pc")).sum()) == 9

    def beside(interference, model: str):
        factor = 1 + interference
        return sides(factor.sel(model="vn") / factor.sel(model=model)).sel(
            pair=["digits", "permuted", "halves"]
        )

    assert beside(shipped["interference"], "bpc").values.tolist() == [1, 1, -1]
    assert not (beside(late["longer_interference"], "bpc") == 1).any()
    for model in ("autoencoder", "linear", "pc_sparse"):
        assert beside(late["longer_interference"], model).sel(pair="digits") == 1


def test_with_twice_the_updates_pc_ends_with_about_half_of_its_error_on_digits(shipped):
    late = store.read(paths.result_file(paths.RESULTS, "paper", "A_predictive_coding.longer"))
    left = late["longer_final_error"].sel(pair="digits") / shipped["final_error"].sel(pair="digits")
    found = over_seeds(left.sel(model=["pc", "vn"]))
    assert found["high"].sel(model="pc") < 0.55 < 0.8 < found["low"].sel(model="vn")


def test_with_twice_the_updates_some_networks_do_not_learn_the_second_halves():
    file = paths.result_file(paths.RESULTS, "paper", "A_predictive_coding.longer")
    end = store.read(file)["longer_mse"].sel(model="vn", task=2, stage="second")
    assert (end > 0.9).sum("seed").sel(pair=["digits", "permuted", "halves"]).values.tolist() == [
        0,
        0,
        4,
    ]
    assert end.where(end < 0.9).max() < 0.15


def test_without_sparsity_the_first_half_is_lost_from_a_small_error_and_both_end_better(shipped):
    halves = shipped["mse"].sel(pair="halves", task=1)
    assert (halves.sel(model="vn_dense", stage="first") < 1e-3).all()
    ends = over_seeds(halves.sel(model="vn_dense") / halves.sel(model="vn")).sel(stage="second")
    assert ends["low"] > 1
    second = shipped["mse"].sel(pair="halves", task=2, stage="second")
    assert sides(second.sel(model="vn_dense") / second.sel(model="vn")) == -1
    assert sides(tables.beside(shipped["final_error"]).sel(model="vn_dense", pair="halves")) == 1


def test_who_has_the_least_error_on_the_first_task_after_the_second(shipped):
    error = median(shipped["mse"].sel(stage="second", task=1))
    first = {"digits": ["vn_dense", "pc"], "permuted": ["pc", "bpc"], "halves": ["pc", "bpc"]}
    for pair, models in first.items():
        order = error.sel(pair=pair).to_series().sort_values().index
        assert list(order[:2]) == models, pair


def test_a_pair_of_tasks_that_a_profile_has_not_is_said_to_be_missing(shipped):
    few = shipped.sel(pair=["digits", "halves"])  # as `smoke` and `fast` have
    assert NOT_COMPUTED in tables.errors(few, "permuted").data
    assert isinstance(tables.errors(few, "halves"), Table)
