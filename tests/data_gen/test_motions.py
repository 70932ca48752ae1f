"""Motion signals: moves against exact shifts, turns and scipy; what sets are made of."""

import numpy as np
import pytest
import xarray as xr
from scipy import ndimage

from data_gen import motions
from data_gen.motions import MOTIONS, SETS, make, train, warped

N = 30
MIDDLE = 13.5


@pytest.fixture(scope="module")
def images():
    """Random ink in the middle 20 x 20 px."""
    return np.pad(
        np.random.default_rng(0).random((40, 20, 20), np.float32), ((0, 0), (4, 4), (4, 4))
    )


@pytest.fixture(scope="module")
def ds(images):
    return make(images, n=N, seed=5)


def blob(width, right=0.0, down=0.0):
    """A round spot of ink."""
    y, x = np.mgrid[:28, :28] - MIDDLE
    return np.exp(-((x - right) ** 2 + (y - down) ** 2) / (2 * width**2)).astype(np.float32)


def centroid(image):
    y, x = np.mgrid[:28, :28] - MIDDLE
    return (image * x).sum() / image.sum(), (image * y).sum() / image.sum()


def same(move, n):
    return np.tile(np.array(move, float), (n, 1))


# The warp


def test_identity_changes_no_bit(images):
    np.testing.assert_array_equal(warped(images, np.zeros((40, 4))), images)


@pytest.mark.parametrize(("right", "down"), [(3, 0), (0, 2), (-4, 1), (-1, -4)])
def test_shifts_by_whole_pixels_are_exact_and_can_be_undone(images, right, down):
    shifted = warped(images, same((0, 0, right, down), 40))
    np.testing.assert_array_equal(shifted, np.roll(images, (down, right), (1, 2)))
    np.testing.assert_array_equal(warped(shifted, same((0, 0, -right, -down), 40)), images)


def test_half_a_pixel_is_the_mean_of_neighbours(images):
    shifted = warped(images, same((0, 0, 0.5, 0), 40))
    np.testing.assert_allclose(
        shifted[:, :, 1:], (images[:, :, 1:] + images[:, :, :-1]) / 2, atol=1e-7
    )


@pytest.mark.parametrize("quarters", [1, 2, 3, -1])
def test_positive_angles_turn_counter_clockwise(images, quarters):
    turned = warped(images, same((90 * quarters, 0, 0, 0), 40))
    np.testing.assert_allclose(turned, np.rot90(images, quarters, (1, 2)), atol=1e-6)


def test_positive_log_scale_enlarges():
    # Between pixels, a bilinear reading of a spot of width w is off by up to 1 / (4 w^2).
    small, large = blob(2.0), blob(4.0)
    np.testing.assert_allclose(
        warped(small[None], same((0, np.log(2), 0, 0), 1))[0], large, atol=1 / 16
    )
    np.testing.assert_allclose(
        warped(large[None], same((0, -np.log(2), 0, 0), 1))[0], small, atol=1 / 64
    )


def test_any_move_agrees_with_scipy(images):
    """scipy's rows come first, and its matrix takes a pixel to where its ink comes from."""
    rng = np.random.default_rng(1)
    moves = rng.normal(size=(40, 4)) * [40, 0.3, 4, 4]
    drawn = warped(images, moves)
    for image, (angle, log_scale, right, down), found in zip(images, moves, drawn, strict=True):
        t = np.deg2rad(angle)
        # (down, right) of a point after a counter-clockwise turn, where down points down.
        forward = np.exp(log_scale) * np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
        back = np.linalg.inv(forward)
        offset = np.full(2, MIDDLE) - back @ np.array([MIDDLE + down, MIDDLE + right])
        expected = ndimage.affine_transform(image, back, offset, order=1, mode="grid-constant")
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_shift_comes_last():
    point = blob(1.5, right=6)
    moved = warped(point[None], same((90, np.log(1.5), 0, 3), 1))[0]
    # 6 px to the right -> 9 -> 9 up -> 6 up.
    np.testing.assert_allclose(centroid(moved), (0, -6), atol=0.05)


def test_a_move_and_its_inverse_nearly_cancel():
    image = blob(3.0, right=2, down=-1)[None]
    turned = warped(image, same((20, 0.1, 0, 0), 1))
    back = warped(turned, same((-20, -0.1, 0, 0), 1))
    assert np.abs(turned - image).max() > 0.2
    np.testing.assert_allclose(back, image, atol=0.05)


def test_what_leaves_the_frame_is_lost(images):
    assert not warped(images, same((0, 0, 40, 0), 40)).any()
    assert not warped(images, same((0, 0, 0, -1e6), 40)).any()


def test_long_arrays_are_warped_as_short_ones(images, monkeypatch):
    moves = np.random.default_rng(2).normal(size=(40, 4))
    whole = warped(images, moves)
    monkeypatch.setattr(motions, "CHUNK", 7)
    np.testing.assert_array_equal(warped(images, moves), whole)


def test_warped_names_bad_moves(images):
    with pytest.raises(ValueError, match=r"moves must have shape \(40, 4\), got \(40, 3\)"):
        warped(images, np.zeros((40, 3)))


# Training signals


def test_training_makes_a_third_of_each_within_the_ranges():
    """A round spot shows no rotation; its centroid shows the shift, its mass the scale."""
    n, spot = 900, blob(2.5)
    signals = train(np.tile(spot, (n, 1, 1)), seed=1)
    assert signals.dtype == np.float32
    after = signals + spot
    shift = np.array([centroid(image) for image in after])
    log_scale = np.log(after.sum((1, 2)) / spot.sum()) / 2
    length = np.hypot(*shift.T)
    moved, scaled = length > 0.5, np.abs(log_scale) > 0.025
    assert not (moved & scaled).any()
    assert np.abs(signals[~moved & ~scaled]).max() < 0.04, "turns are only seen by interpolation"
    for share in (moved.mean(), scaled.mean()):  # standard deviation .016
        assert share == pytest.approx(1 / 3, abs=0.06)
    assert 0.98 < length[moved].min() < 1.05 and 1.95 < length[moved].max() < 2.02
    strength = np.abs(log_scale[scaled])
    # the mass is read off to 2 %
    assert 0.04 < strength.min() < 0.06 and 0.135 < strength.max() < 0.155
    assert (log_scale[scaled] > 0).mean() == pytest.approx(0.5, abs=0.12)
    for axis in shift[moved].T:
        assert abs(axis.mean()) < 0.25 and (axis > 0).mean() == pytest.approx(0.5, abs=0.12)


def test_training_turns_by_5_to_15_degrees_either_way():
    point = blob(1.5, right=9)
    after = train(np.tile(point, (600, 1, 1)), seed=2) + point
    x, y = np.array([centroid(image) for image in after]).T
    # only turns keep the distance so well
    angle = np.rad2deg(np.arctan2(-y, x))[np.abs(np.hypot(x, y) - 9) < 0.03]
    angle = angle[np.abs(angle) > 3]
    assert len(angle) > 150
    assert 4.9 < np.abs(angle).min() < 5.5 and 14.5 < np.abs(angle).max() < 15.1
    assert (angle > 0).mean() == pytest.approx(0.5, abs=0.15)


def test_training_is_reproducible(images):
    first = train(images, seed=0)
    np.testing.assert_array_equal(train(images, seed=0), first)
    assert (train(images, seed=1) != first).any((1, 2)).all()
    assert np.abs(first).max() <= 1


# Test sets


def test_contract(ds):
    assert len(SETS) == 17
    assert ds["set"].values.tolist() == list(SETS)
    for name in ("image", "before", "after"):
        assert ds[name].dims == ("set", "sample", "y", "x")
        assert ds[name].shape == (17, N, 28, 28)
        assert ds[name].dtype == np.float32
    np.testing.assert_array_equal(ds["image"], ds["after"] - ds["before"])
    known = {
        name: tuple(ds[c].sel(set=name).item() for c in ("kind", "magnitude", "digits"))
        for name in SETS
    }
    assert known["single"] == ("single", 1.0, 1)
    assert known["single_x1.5"] == ("single", 1.5, 1)
    assert known["TS"] == ("TS", 1.0, 1)
    assert known["RTS_2d"] == ("RTS", 1.0, 2)
    assert known["RTS_x2_3d"] == ("RTS", 2.0, 3)
    assert len(set(known.values())) == 17


def test_one_digit_is_before_what_it_is_in_the_file(images, ds):
    for name in ("single", "RTS_x3"):
        one = ds.sel(set=name)
        np.testing.assert_array_equal(one["before"], images[one["parts"].values[:, 0]])
        np.testing.assert_array_equal(
            one["after"], warped(one["before"].values, one["move"].values[:, 0])
        )


@pytest.mark.parametrize("name", SETS)
def test_moves_keep_to_kind_and_range(ds, name):
    one, motion = ds.sel(set=name), MOTIONS[name]
    moves = one["move"].values[:, : motion.digits]
    assert np.isnan(one["move"].values[:, motion.digits :]).all()
    assert (one["parts"].values[:, motion.digits :] == -1).all()
    assert (one["parts"].values[:, : motion.digits] >= 0).all()
    amounts = {
        "R": np.abs(moves[..., 0]),
        "S": np.abs(moves[..., 1]),
        "T": np.hypot(moves[..., 2], moves[..., 3]),
    }
    ranges = {"R": (5, 15), "S": (0.05, 0.15), "T": (1, 2)}
    made = np.stack([amounts[letter] > 0 for letter in "RST"])
    if motion.kind == "single":
        assert (made.sum(0) == 1).all()
        assert made.any((1, 2)).all()
    else:
        np.testing.assert_array_equal(made.all((1, 2)), [letter in motion.kind for letter in "RST"])
        np.testing.assert_array_equal(made.any((1, 2)), made.all((1, 2)))
    for letter, amount in amounts.items():
        low, high = ranges[letter]
        inside = amount[amount > 0] / motion.magnitude
        assert ((low - 1e-9 <= inside) & (inside <= high + 1e-9)).all()


def test_sets_scale_the_same_moves(ds):
    moves = ds["move"].isel(digit=0)
    for kind in ("single", "RTS"):
        np.testing.assert_allclose(moves.sel(set=f"{kind}_x3"), 3 * moves.sel(set=kind), rtol=1e-12)
    for kind in ("RT", "RS", "TS"):
        part, whole = moves.sel(set=kind).values, moves.sel(set="RTS").values
        np.testing.assert_array_equal(part[part != 0], whole[part != 0])
    np.testing.assert_array_equal(moves.sel(set="RTS_3d"), moves.sel(set="RTS"))


def test_digits_move_by_themselves(ds):
    moves = ds["move"].sel(set="RTS_3d").values
    for amount in range(4):
        together = np.corrcoef(moves[..., amount].T)
        assert np.abs(together[~np.eye(3, dtype=bool)]).max() < 0.6  # of 30 samples


def test_several_digits_differ(ds):
    assert all(len(set(row)) == 3 for row in ds["parts"].sel(set="RTS_3d").values.tolist())


@pytest.mark.parametrize("digits", [2, 3])
def test_several_digits_stand_around_the_middle(digits):
    """Small spots, far enough apart not to meet: their peaks and their mass tell where they are."""
    images = np.tile(blob(1.5), (200, 1, 1))
    before = make(images, n=200, seed=0, sets=(f"single_{digits}d",))["before"].values[0]
    # One spot shrinks to .7 ** 2 of its mass.
    np.testing.assert_allclose(before.sum((1, 2)) / blob(1.5).sum(), 0.49 * digits, rtol=0.03)
    np.testing.assert_allclose([centroid(image) for image in before], 0, atol=0.1)
    y, x = np.mgrid[:28, :28] - MIDDLE
    radius = np.sqrt((before * (x**2 + y**2)).sum((1, 2)) / before.sum((1, 2)))
    np.testing.assert_allclose(radius, np.hypot(5, np.sqrt(2) * 0.7 * 1.5), rtol=0.03)
    loudest = before.reshape(200, -1).argmax(1)
    # The spots repeat after a part of the circle: the angle times their number is the same for all
    # of them.
    direction = np.angle((x.ravel()[loudest] + 1j * y.ravel()[loudest]) ** digits)
    assert np.histogram(direction, 4, (-np.pi, np.pi))[0].min() > 25, "in all directions"


def test_digits_turn_and_grow_about_their_own_centres():
    pair = np.stack([blob(2.0), blob(1.5)])[None]
    moves = np.array([[[30.0, np.log(1.5), 0, -2], [0, 0, 3, 1]]])
    before, after = motions._frames(pair, moves, np.zeros(1))
    first, second = blob(1.4, right=5), blob(1.05, right=-5)
    np.testing.assert_allclose(before[0], np.maximum(first, second), atol=0.1)
    np.testing.assert_allclose(after[0], np.maximum(blob(2.1, 5, -2), blob(1.05, -2, 1)), atol=0.1)


def test_overlapping_digits_are_joined_by_the_maximum():
    full = np.ones((1, 2, 28, 28), np.float32)
    before, after = motions._frames(full, np.tile([0.0, 0, 0, 2], (1, 2, 1)), np.zeros(1))
    for frame, down in ((before, 0), (after, 2)):
        # both are there
        np.testing.assert_allclose(frame[0, 10 + down : 18 + down, 12:16], 1, atol=1e-6)
        assert frame.max() <= 1 + 1e-6


def test_same_seed_same_bits_other_seed_others(images, ds):
    xr.testing.assert_identical(make(images, n=N, seed=5), ds)
    assert (make(images, n=N, seed=6)["image"] != ds["image"]).any(("sample", "y", "x")).all()


@pytest.mark.parametrize("name", SETS)
def test_a_set_depends_neither_on_the_others_nor_on_how_many_are_drawn(images, ds, name):
    alone = make(images, n=10, seed=5, sets=(name,))
    xr.testing.assert_identical(alone, ds.sel(set=[name]).isel(sample=slice(10)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 41}, "n must be an integer from 1 to 40, the number of images, got 41"),
        ({"seed": 0.5}, "seed must be an integer >= 0 and <= 9223372036854775807, got 0.5"),
        ({"sets": ("RTS_x9",)}, r"sets must be different ones of single, RT, .* got \('RTS_x9',\)"),
        ({"images": np.zeros((2, 28, 28))}, "at least 3 samples"),
        ({"images": np.full((9, 28, 28), -0.1)}, r"ink in \[0, 1\]"),
    ],
)
def test_bad_arguments_are_named(images, change, message):
    with pytest.raises(ValueError, match=message):
        make(**({"images": images, "n": 5, "seed": 0} | change))


@pytest.mark.parametrize(
    ("images", "seed", "message"),
    [
        (np.zeros((3, 784)), 0, "images must have shape"),
        (np.full((3, 28, 28), 2.0), 0, "images must have their ink"),
        (np.zeros((3, 28, 28)), -1, "seed must be"),
    ],
)
def test_train_names_bad_arguments(images, seed, message):
    with pytest.raises(ValueError, match=message):
        train(images, seed=seed)
