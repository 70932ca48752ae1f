"""What the page says of the shipped results, between its numbers."""

from __future__ import annotations

import pytest

from chapters.FR5_rotation.claims import PAPER_DIGIT
from chapters.FR5_rotation.tables import explained, numbers
from vnlib.book import paths, store
from vnlib.plots.statistics import over_seeds


@pytest.fixture(scope="module")
def results():
    return store.read(paths.RESULTS / "paper" / "FR5_rotation.nc")


def share(results, by: str, digit: int = PAPER_DIGIT):
    return explained(results, by).sel(digit=digit).median("seed")


def test_a_blend_is_nearer_than_a_rotation_with_one_frequency(results):
    blend, rotation = (share(results, by) for by in ("blend", "rotation"))
    for model in ("cnn", "mlp"):
        assert blend.sel(model=model) > rotation.sel(model=model) > 0
    assert 0.5 < blend.sel(model="cnn") < 0.8


def test_the_error_rises_in_the_gap(results):
    hump = (results["mse_ood"] / results["mse_id"]).sel(digit=PAPER_DIGIT)
    assert (hump.median("seed") > 5).all() and hump.sel(model="cnn").min() > 1
    told = numbers(results)
    assert told["fr5-seeds"] == "8" and told["fr5-hump-cnn"].startswith("8.9 [5.")


def test_other_digits_of_the_papers_network(results):
    assert numbers(results)["fr5-nearer"] == "3 of 4"
    gap = {d: share(results, "blend", d) - share(results, "rotation", d) for d in (2, 3, 5, 7)}
    near = [digit for digit, one in gap.items() if abs(float(one.sel(model="cnn"))) < 0.05]
    assert near == [3], "a rotation is as near"
    left = (1 - explained(results, "blend")) / (1 - explained(results, "truth"))
    left = over_seeds(left.sel(model="cnn", digit=[2, 3, 5, 7]))
    assert (left["high"].sel(digit=[2, 7]) < 0.5).all() and left["low"].sel(digit=3) > 0.5
    assert left["low"].sel(digit=5) < 0.5 < left["high"].sel(digit=5), "on the bound"


def test_more_frequencies_do_not_turn_the_digit(results):
    blend, rotation = (share(results, by) for by in ("blend", "rotation"))
    assert rotation.sel(model="cnn_4") < blend.sel(model="cnn_4") < blend.sel(model="cnn")
    assert max(float(one.sel(model="cnn_8")) for one in (blend, rotation)) < 0
    told = numbers(results)
    assert (told["fr5-blend-cnn-8"], told["fr5-rotation-cnn-8"]) == ("−100 %", "−230 %")
    assert told["fr5-finer-cnn-4"].startswith("0.84 [") and told["fr5-finer-cnn-8"].startswith(
        "1.4 ["
    )
    assert (told["fr5-unsettled-cnn"], told["fr5-unsettled-mlp"]) == ("7 of 8", "8 of 8")


def test_the_error_in_the_gap_falls_by_less_than_half_along_training(results):
    curves = results.sel(digit=PAPER_DIGIT).median("seed")
    fall = {
        n: curves[f"curve_{n}"].isel(checkpoint=0) / curves[f"curve_{n}"].isel(checkpoint=-1)
        for n in ("ood", "val")
    }
    assert (fall["ood"] < 2).all() and (fall["val"] > 5).all()
