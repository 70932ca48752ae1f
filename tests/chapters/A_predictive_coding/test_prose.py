"""What the page says between its numbers holds for the shipped results."""

from __future__ import annotations

import pytest
from glued import number, numbers

from chapters.A_predictive_coding import tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median, short


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "A_predictive_coding.nc")


@pytest.fixture(scope="module")
def said(shipped) -> dict[str, float]:
    return numbers(tables.numbers(shipped))


def test_numbers_are_medians_over_seeds(shipped, said):
    one = shipped["interference"].sel(model="bpc", pair="halves")
    assert said["appA-interference-bpc-halves"] == number(short(1 + float(one.median())))
    assert said["appA-active-vn"] == 20 and said["appA-power-vn"] == 2.5


def test_weighted_columns_differ_about_as_much_in_all_three(said):
    shares = [said[f"appA-gated-{model}"] for model in ("pc", "bpc", "vn")]
    assert max(shares) - min(shares) < 5


def test_a_quarter_give_or_take_of_the_vn_moves_and_a_third_of_bpc_does_not(shipped, said):
    moved = median(shipped["moved"].sel(model="vn"))
    assert 0.15 < float(moved.min()) < 0.25 < float(moved.max()) < 0.3
    assert said["appA-moved-pc"] == 100 and said["appA-moved-bpc"] < 70


def test_the_vn_forgets_less_where_no_pixel_is_shared_and_more_where_some_are(shipped):
    forgetting = median(shipped["forgetting"].sel(model=["pc", "bpc", "vn"]))
    vn, others = forgetting.sel(model="vn"), forgetting.sel(model=["pc", "bpc"])
    assert bool((vn < others).sel(pair="halves").all())
    assert bool((vn > others).sel(pair=["digits", "permuted"]).all())


def test_against_staying_the_vn_loses_less_than_pc_and_more_than_sparse_pc(said):
    for pair in ("digits", "permuted", "halves"):
        pc, vn, sparse = (
            said[f"appA-interference-{model}-{pair}"] for model in ("pc", "vn", "pc-sparse")
        )
        assert sparse < vn < pc
        assert said[f"appA-second-vn-{pair}"] > said[f"appA-second-pc-{pair}"]


def test_in_absolute_terms_task_2_often_costs_the_vn_more(shipped):
    rise = median(shipped["rise"])
    more = rise.sel(model="vn") > rise.sel(model=["pc", "bpc", "autoencoder", "linear"])
    assert 0.5 <= float(more.mean()) < 1


def test_a_batch_uses_nearly_all_atoms(shipped):
    assert float(median(shipped["touched"].sel(model="vn", batch=64)).sel(pair="digits")) > 0.95
