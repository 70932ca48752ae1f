"""One run of the chapter, at a tiny size, and the settings that are stored with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.FR5_rotation import study
from chapters.FR5_rotation.measure import LAYERS
from data_gen import mnist
from vnlib.book import chapter
from vnlib.book.store.variables import described

TINY = {
    "n_angles": 40,
    "n_turn": 36,
    "n_shown": 2,
    "split_seed": 0,
    "lr": 1e-2,
    "weight_decay": 0.0,
    "passes": 3,
    "evaluations": 2,
    "batch_size": 8,
    "n_frequencies": 2,
    "gap": [160.0, 200.0],
}


def opened(**given) -> chapter.Chapter:
    one = chapter.spec("FR5_rotation")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


@pytest.fixture
def small_digit(monkeypatch):
    image = torch.rand(8, 8, generator=torch.Generator().manual_seed(0)).numpy()
    monkeypatch.setattr(study, "digit_image", lambda digit, real: (image, "made up"))


@pytest.mark.parametrize("family", ["rotation", "mlp"])
def test_a_run_repeats_to_the_bit_and_names_all_that_it_holds(family, small_digit, tmp_path):
    options = {"width": 4} if family == "rotation" else {"hidden": [8, 8]}
    given = TINY | {"family": family, "options": options, "pictures": True}
    axes = {"model": "any", "digit": 4, "seed": 1}
    one, two = (study.run(opened(), axes, given, tmp_path / name) for name in "ab")
    assert one.identical(two) and one["data_source"] == "made up"
    assert list(one["layer"].values) == list(LAYERS) and one.sizes["shown"] == 2
    assert one["curve_step"].values.tolist() == [2, 3]
    named = described(one.expand_dims(digit=[4]), study.VARIABLES)
    assert named["mse_ood"].attrs["units"] == "ink^2"
    trained = study.run(opened(), axes, given | {"passes": 30}, tmp_path / "c")
    assert float(trained["mse_train"]) < float(one["mse_train"])


def test_settings_are_those_that_are_stored():
    one = opened(profile="paper", gap_width=20.0)
    found = study.settings(one, {"model": "cnn_4", "digit": 4, "seed": 0})
    assert found["gap"] == [170, 190] and found["pictures"] and found["n_frequencies"] == 4
    assert found["options"] == {"width": 64} and found["passes"] == 200
    plain = study.settings(one, {"model": "mlp", "digit": 4, "seed": 1})
    assert plain["options"] == {} and not plain["pictures"] and plain["split_seed"] == 1


def test_a_digit_is_the_first_of_its_class():
    image, source = study.digit_image(4, real=False)
    images = mnist.load("train", allow_fallback=True)
    first = images["label"].values.tolist().index(4)
    assert np.array_equal(image, images["image"].values[first])
    assert source == images.attrs["source"]
