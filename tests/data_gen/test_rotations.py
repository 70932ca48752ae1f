"""A rotated image: quarter turns are exact, codes lie on circles, the gap is held out and nothing
else.
"""

from __future__ import annotations

import numpy as np
import pytest

from data_gen import rotations
from data_gen.rotations import RotationConfig


def picture() -> np.ndarray:
    image = np.zeros((9, 9), np.float32)
    image[2, 3:7], image[2:6, 3] = 1, 0.5
    return image


def test_quarter_turns_are_those_of_the_array():
    turned = rotations.rotated(picture(), np.array([0, 90, 180, 270]))
    assert turned.dtype == np.float32
    for quarter, image in enumerate(turned):
        np.testing.assert_allclose(image, np.rot90(picture(), quarter), atol=1e-6)


def test_a_small_turn_moves_little_and_makes_no_ink():
    turned = rotations.rotated(picture(), np.array([1.0, 45.0]))
    assert turned.min() >= 0 and turned.max() <= 1
    assert np.abs(turned[0] - picture()).mean() < np.abs(turned[1] - picture()).mean()


def test_codes_are_cosines_and_sines():
    code = rotations.encode(np.array([0, 30, 90]), 2)
    wanted = [[1, 0, 1, 0], [np.sqrt(3) / 2, 0.5, 0.5, np.sqrt(3) / 2], [0, 1, -1, 0]]
    np.testing.assert_allclose(code, wanted, atol=1e-6)


def test_the_gap_is_held_out_with_its_ends_and_nothing_else_is():
    ds = rotations.make(picture(), RotationConfig(n_angles=360))
    angle, split = ds["angle"].values, ds["split"].values
    np.testing.assert_allclose(angle, np.arange(360))
    assert set(angle[split == "ood"]) == set(range(160, 201))
    counts = {name: int((split == name).sum()) for name in rotations.SPLITS}
    assert counts == {"train": 257, "val": 31, "id_test": 31, "ood": 41}
    np.testing.assert_allclose(ds["code"], rotations.encode(angle, 1))
    np.testing.assert_allclose(ds["image"][180], np.rot90(picture(), 2), atol=1e-6)


def test_the_paper_leaves_out_a_ninth():
    split = rotations.make(picture(), RotationConfig())["split"].values
    assert (split == "ood").sum() == 111 and len(split) == 1000


def test_the_split_follows_its_seed():
    one, same, other = (
        rotations.make(picture(), RotationConfig(n_angles=100, split_seed=seed))["split"].values
        for seed in (1, 1, 2)
    )
    assert (one == same).all() and (one != other).any()
    assert ((one == "ood") == (other == "ood")).all()


def test_a_subset_keeps_the_order():
    ds = rotations.make(picture(), RotationConfig(n_angles=50))
    part = rotations.subset(ds, "train", "val")
    assert (np.diff(part["angle"]) > 0).all()
    assert set(part["split"].values) == {"train", "val"}
    with pytest.raises(ValueError, match="'test'"):
        rotations.subset(ds, "test")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n_angles": 3}, "n_angles"),
        ({"n_angles": 90.5}, "n_angles"),
        ({"n_frequencies": 0}, "n_frequencies"),
        ({"split_seed": -1}, "split_seed"),
        ({"split_seed": True}, "split_seed"),
        ({"gap": (200, 160)}, "gap"),
        ({"gap": (160,)}, "gap"),
        ({"gap": (0, 400)}, "gap"),
        ({"gap": "wide"}, "gap"),
    ],
)
def test_bad_settings_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        RotationConfig(**options)


def test_a_gap_that_leaves_nothing_is_refused():
    with pytest.raises(ValueError, match="gap"):
        rotations.make(picture(), RotationConfig(n_angles=40, gap=(1, 350)))


def test_an_image_must_be_a_finite_matrix():
    for image in (np.zeros((2, 3, 3)), np.full((3, 3), np.nan)):
        with pytest.raises(ValueError, match="image"):
            rotations.rotated(image, np.array([0.0]))
