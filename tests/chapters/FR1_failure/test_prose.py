"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import judging
import pytest
import xarray as xr

from chapters.FR1_failure import tables
from chapters.FR1_failure.claims import predicted
from vnlib.book import paths, store

BUMP_CODE, CONTROLS = ["cnn_bump", "cnn_bright", "mlp_bump"], ["factorised", "vn_full"]
RAMPS = ["cnn_ramp", "mlp_ramp"]


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "FR1_failure"))


def medians(values: xr.DataArray, models: list[str]) -> xr.DataArray:
    return values.sel(model=models).median("seed")


def test_networks_err_about_as_much_as_a_zero_image_and_draw_several_bumps(results):
    ood = medians(tables.relative(results).sel(where="ood"), BUMP_CODE)
    assert (ood > 0.8).all() and (ood < 2.5).all()
    assert (medians(results["several"].sel(where="ood"), BUMP_CODE) > 0.5).all()


def test_bump_codes_are_read_in_distribution_and_ramps_are_not(results):
    error = tables.relative(results).sel(where="id")
    assert (medians(error, BUMP_CODE) < 0.3).all() and (medians(error, RAMPS) > 0.5).all()
    # The MLP's ID error is a little above the rule's.
    assert (medians(error, ["mlp_bump"]) > 0.25).any()


def test_controls_draw_one_bump_at_the_right_place(results):
    assert (medians(results["several"].sel(where="ood"), CONTROLS) == 0).all()
    assert (medians(results["hit"].sel(where="ood"), CONTROLS) == 1).all()
    failed = tables.relative(results).sel(model="factorised", hold_out="square", where="train")
    assert int((failed > 0.1).sum()) == 1, "one seed did not learn the square"


def test_the_sum_of_seen_parts_is_nearer_than_the_true_bump(results):
    own, bump = predicted(results["resembles"]), results["resembles_bump"]
    assert (medians(own, BUMP_CODE) > 0.4).all() and (medians(bump, BUMP_CODE) < 0.1).all()
    assert (medians(bump, CONTROLS) > 0.99).all()


def test_which_parts_of_the_rule_fail(results):
    """As printed those of ramps and of the binary kernel; with controls those that are told."""
    printed, controls = judging.failing("FR-1", results)
    assert printed == [0, 2, 3] and controls == [0, 3, 4, 5]
