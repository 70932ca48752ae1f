"""What the page says between its numbers holds for the shipped results."""

from __future__ import annotations

import pytest
from glued import numbers

from chapters.B_attention import tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median, over_seeds

KINDS = ["softmax", "topk", "sparsemax", "linear"]


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "B_attention.nc")


@pytest.fixture(scope="module")
def said(shipped) -> dict[str, float]:
    return numbers(tables.numbers(shipped))


def test_numbers_are_medians_over_seeds(shipped, said):
    share = shipped["zero_share"].sel(model="vn_image")
    assert said["appB-zero-vn"] == round(100 * float(share.median()))
    assert said["appB-rank-narrow"] < said["appB-entries-softmax"]


def test_softmax_has_no_zeros_and_sparse_attention_about_as_many_as_a_code(shipped):
    zeros = over_seeds(shipped["zero_share"])
    assert zeros["high"].sel(model="softmax") == 0
    vn, sparse = zeros["median"].sel(model="vn_image"), zeros.sel(model=["topk", "sparsemax"])
    assert (sparse["low"] > 0.9 * vn).all() and (sparse["high"] < vn).all(), "nearly as many"
    share = median(shipped["effective_share"])
    assert 1 < share.sel(model="topk") / share.sel(model="vn_image") < 1.5


def test_the_rank_is_that_of_the_active_atoms(said):
    assert said["appB-rank-vn"] == pytest.approx(said["appB-bound-vn"], abs=0.5)
    assert said["appB-scores-narrow"] == said["appB-width-narrow"] == 2


def test_one_digit_spares_atoms_and_a_batch_none(shipped):
    found = over_seeds(shipped["untouched"].sel(model=["vn_image", "softmax"]))
    vn, softmax = (found.sel(model=model) for model in ("vn_image", "softmax"))
    assert vn["low"].sel(batch=1) > 0.7 and vn["high"].sel(batch=64) == 0
    assert softmax["high"].sel(batch=1) == 0


def test_a_weight_says_in_part_how_much_is_learned_from_its_token(shipped):
    found = over_seeds(shipped["gate_correlation"].sel(model="softmax"))
    assert found["low"] > 0.5 and found["high"] < 0.7


def test_the_explained_half_pays_in_the_vn_and_hardly_more_than_the_rest_in_attention(shipped):
    kept = over_seeds(shipped["kept_explained"])
    assert kept["high"].sel(model="vn_image") < 0.05 < 0.5 < kept["low"].sel(model=KINDS).min()
    apart = over_seeds(shipped["kept_rest"] - shipped["kept_explained"])
    assert apart["low"].sel(model="vn_image") > 0.8
    assert apart["high"].sel(model=[*KINDS, "feed_forward"]).max() < 0.1
    assert abs(apart["median"].sel(model="softmax")) < 1e-6, "by the same factor"


def test_a_copy_leaves_the_output_of_the_vn_and_changes_that_of_a_head(shipped):
    shift = over_seeds(shipped["duplicate_shift"])
    assert shift["high"].sel(model="vn_image") < 1e-4 and shift["low"].sel(model="softmax") > 0.3


def test_one_pass_keeps_all_at_a_larger_error(shipped, said):
    kept = shipped[["kept_explained", "kept_rest"]].sel(model="feed_forward").to_array()
    assert float(abs(kept - 1).max()) < 1e-6
    ratio = shipped["error"].sel(model="feed_forward") / shipped["error"].sel(model="vn_image")
    assert over_seeds(ratio)["low"] > 1
    active = median(shipped["zero_share"].sel(model=["feed_forward", "vn_image"]))
    assert float(active.max() - active.min()) < 0.01, "as many active"


def test_one_pass_leaves_much_of_a_codes_energy_and_attention_changes_less_by_digit(shipped):
    assert over_seeds(shipped["settle_left"].sel(iteration=1))["low"] > 0.1
    fixed = over_seeds(shipped["fixed_share"])
    assert fixed["low"].sel(model=KINDS).min() > fixed["high"].sel(model="vn_image")
