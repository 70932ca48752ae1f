"""What the page says between its numbers holds for the shipped results."""

from __future__ import annotations

import pytest
from glued import numbers

from chapters.B_attention import tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median


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


def test_softmax_has_no_zeros_and_sparse_attention_is_nearly_as_sparse_as_a_code(shipped, said):
    assert said["appB-zero-softmax"] == 0
    assert said["appB-share-vn"] < said["appB-share-topk"] < 1.5 * said["appB-share-vn"]
    zeros = median(shipped["zero_share"].sel(model=["topk", "sparsemax"]))
    assert bool((zeros > 0.95 * float(median(shipped["zero_share"].sel(model="vn_image")))).all())


def test_the_rank_is_that_of_the_active_atoms(said):
    assert said["appB-rank-vn"] == pytest.approx(said["appB-bound-vn"], abs=0.5)
    assert said["appB-scores-narrow"] == said["appB-width-narrow"] == 2


def test_one_digit_spares_atoms_and_a_batch_none(said):
    assert said["appB-untouched-vn-1"] > 70 and said["appB-untouched-vn-64"] == 0
    assert said["appB-untouched-softmax-1"] == 0 and said["appB-correlation-softmax"] > 0.5


def test_the_explained_half_pays_in_the_vn_and_all_alike_under_a_softmax(said):
    assert said["appB-explained-vn"] < 5 and said["appB-rest-vn"] > 80
    assert said["appB-explained-softmax"] == said["appB-rest-softmax"]


def test_a_copy_leaves_the_output_of_the_vn_and_changes_that_of_a_head(said):
    assert said["appB-copy-vn"] < 0.01 and said["appB-copy-softmax"] > 30


def test_sparse_attention_and_one_pass_take_little_notice_of_what_is_explained(shipped):
    apart = median(shipped["kept_rest"] - shipped["kept_explained"])
    assert float(apart.sel(model="vn_image")) > 0.8
    assert float(apart.sel(model=["topk", "sparsemax", "feed_forward"]).max()) < 0.1
