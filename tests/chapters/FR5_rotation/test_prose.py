"""What the page says of the shipped results, between its numbers."""

from __future__ import annotations

import pytest

from chapters.FR5_rotation.claims import middle_of_gap
from chapters.FR5_rotation.tables import explained, numbers
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def results():
    return store.read(paths.RESULTS / "paper" / "FR5_rotation.nc")


def share(results, model: str, by: str) -> float:
    return float(explained(results, by).sel(model=model).median())


def test_a_blend_is_nearer_than_a_rotation_with_one_frequency(results):
    found = numbers(results)
    assert found["fr5-nearer-cnn"] == found["fr5-nearer-mlp"] == "100 %"
    for model in ("cnn", "mlp"):
        assert share(results, model, "blend") > share(results, model, "rotation") > 0


def test_more_frequencies_do_not_turn_the_digit(results):
    """With four neither is clearly nearer; with eight neither explains anything."""
    assert abs(share(results, "cnn_4", "blend") - share(results, "cnn_4", "rotation")) < 0.1
    assert max(share(results, "cnn_8", by) for by in ("blend", "rotation")) < 0
    hump = (results["mse_ood"] / results["mse_id"]).median(("digit", "seed"))
    assert hump.idxmax("model") == "cnn_8"


def test_what_held_and_what_did_not(results):
    """For every digit nearer than a rotation, for most below 80 %; with four not for every one."""
    rest = middle_of_gap(results).median("seed")
    one, four = rest.sel(model="cnn"), rest.sel(model="cnn_4")
    assert (one["rest_blend"] < one["rest_rotation"]).all()
    assert ((1 - one["rest_blend"] / one["rest_mean"]) < 0.8).sum() > one.sizes["digit"] / 2
    assert 0 < (four["rest_blend"] < four["rest_rotation"]).sum() < four.sizes["digit"]
