"""Composed and damaged digits against their formulas, written anew."""

import numpy as np
import pytest
import xarray as xr

from data_gen import digits
from data_gen.digits import FORMULAS, SETS, make, pick

N = 40
# 1 in the other sets
COUNTS = {"add2": 2, "sub2": 2, "add3": 3, "addsub4": 4, "max2": 2, "max3": 3, "max5": 5}


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).random((60, 28, 28), np.float32)


@pytest.fixture(scope="module")
def ds(images):
    return make(images, n=N, seed=3)


def flat(value, seed=0, n=2000, name="occlude0"):
    """A set made of images that have one value everywhere."""
    return make(np.full((n, 28, 28), value, np.float32), n=n, seed=seed, sets=(name,))[
        "image"
    ].values[0]


def test_contract(ds):
    assert ds["image"].dims == ("set", "sample", "y", "x")
    assert ds["image"].shape == (14, N, 28, 28)
    assert ds["image"].dtype == np.float32
    assert ds["parts"].dims == ("set", "sample", "part")
    assert ds["parts"].shape == (14, N, 5)
    assert ds["set"].values.tolist() == list(SETS) == list(FORMULAS)
    families = ["id"] + ["add/subtract"] * 4 + ["max"] * 3 + ["corruption"] * 6
    assert ds["family"].values.tolist() == families
    assert ds.attrs["seed"] == 3


def test_formulas_are_texts_for_every_set():
    assert FORMULAS["addsub4"] == "x + y − z + u"
    assert FORMULAS["max3"] == "max(x, y, z)"
    assert all(text.startswith(("x", "max(x")) for text in FORMULAS.values())
    assert len(set(FORMULAS.values())) == 14


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("id", lambda x: x),
        ("add2", lambda x, y: x + y),
        ("sub2", lambda x, y: x - y),
        ("add3", lambda x, y, z: x + y + z),
        ("addsub4", lambda x, y, z, u: x + y - z + u),
        ("max2", np.maximum),
        ("max3", lambda x, y, z: np.maximum(np.maximum(x, y), z)),
        ("max5", lambda *parts: np.max(parts, axis=0)),
    ],
)
def test_compositions_are_made_of_their_parts(images, ds, name, formula):
    one = ds.sel(set=name)
    count = COUNTS.get(name, 1)
    parts = one["parts"].values[:, :count]
    np.testing.assert_array_equal(one["image"], formula(*(images[p] for p in parts.T)))
    assert (one["parts"].values[:, count:] == -1).all()


def test_nothing_is_clipped(ds):
    assert ds["image"].sel(set="add2").max() > 1.5
    assert ds["image"].sel(set="sub2").min() < -0.8


@pytest.mark.parametrize("name", SETS)
def test_digits_of_an_image_differ_and_the_first_is_that_of_id(ds, name):
    parts = ds["parts"].sel(set=name).values
    np.testing.assert_array_equal(parts[:, 0], ds["parts"].sel(set="id").values[:, 0])
    assert len(np.unique(parts[:, 0])) == N
    assert all(len(np.unique(row[row >= 0])) == COUNTS.get(name, 1) for row in parts)


def test_pairs_of_digits_are_equally_likely():
    """1800 ordered pairs of 6 numbers: 60 each, standard deviation 7.6."""
    counts = np.zeros((6, 6))
    for seed in range(300):
        pairs = pick(6, 6, 2, seed, np.random.default_rng([7, seed]))
        np.add.at(counts, tuple(pairs.T), 1)
    assert (np.diag(counts) == 0).all()
    others = counts[~np.eye(6, dtype=bool)]
    assert others.min() > 30 and others.max() < 90


def test_all_of_them_can_be_picked():
    np.testing.assert_array_equal(
        np.sort(pick(5, 5, 5, 0, np.random.default_rng(0)), axis=1), [range(5)] * 5
    )


@pytest.mark.parametrize(
    ("name", "value", "inside"),
    [("occlude0", 0.5, 0), ("occlude1", 0.5, 1), ("invert", 0.25, 0.75)],
)
def test_blocks(name, value, inside):
    drawn = flat(value, name=name)
    changed = drawn != value
    assert (drawn[changed] == inside).all()
    corners = []
    for rows, columns in (
        (block.any(1).nonzero()[0], block.any(0).nonzero()[0]) for block in changed
    ):
        corners.append((rows[0], columns[0]))
        assert rows.tolist() == list(range(rows[0], rows[0] + 10))
        assert columns.tolist() == list(range(columns[0], columns[0] + 10))
    assert (changed.sum((1, 2)) == 100).all()
    row, column = np.array(corners).T
    for corner in (row, column):
        assert np.unique(corner).tolist() == list(range(4, 15))
    assert abs(np.corrcoef(row, column)[0, 1]) < 0.1


def test_outside_of_the_block_nothing_changes(images, ds):
    one = ds.sel(set="invert")
    x = images[one["parts"].values[:, 0]]
    kept = one["image"].values == x
    np.testing.assert_array_equal(one["image"].values[~kept], (1 - x)[~kept])
    assert (kept.sum((1, 2)) >= 684).all()


@pytest.mark.parametrize(
    ("name", "value", "columns"),
    [("stripes0", 0, range(28)), ("stripes1", 1, range(4, 24))],
    ids=["0", "1"],
)
def test_stripes(images, ds, name, value, columns):
    one = ds.sel(set=name)
    expected = images[one["parts"].values[:, 0]].copy()
    for y in range(28):
        for x in columns:
            if y % 4 == 0 and (value == 0 or 4 <= y < 24):
                expected[:, y, x] = value
    np.testing.assert_array_equal(one["image"], expected)
    assert images.max() < 1, "the made images are not changed themselves"


def test_salt_and_pepper():
    drawn = flat(0.5, name="salt_pepper")
    # 1.6 million pixels: standard deviation of a share .0002.
    for value, share in ((0, 0.05), (1, 0.05), (0.5, 0.9)):
        assert (drawn == value).mean() == pytest.approx(share, abs=0.001)
    assert np.ptp((drawn != 0.5).mean((0, 2))) < 0.02, "everywhere alike"


def test_same_seed_same_bits_other_seed_others(images, ds):
    xr.testing.assert_identical(make(images, n=N, seed=3), ds)
    other = make(images, n=N, seed=4)
    assert (other["parts"].values[..., 0] != ds["parts"].values[..., 0]).any()
    assert (other["image"] != ds["image"]).any(("sample", "y", "x")).all()


@pytest.mark.parametrize("name", SETS)
def test_a_set_depends_neither_on_the_others_nor_on_how_many_are_drawn(images, ds, name):
    alone = make(images, n=N // 2, seed=3, sets=(name,))
    xr.testing.assert_identical(alone, ds.sel(set=[name]).isel(sample=slice(N // 2)))


def test_sets_draw_their_digits_and_blocks_separately(ds):
    add, subtract = (ds["parts"].sel(set=name).values[:, 1] for name in ("add2", "sub2"))
    assert (add != subtract).mean() > 0.8
    zero, one = (ds["image"].sel(set=f"occlude{v}").values == v for v in (0, 1))
    assert (zero.any((1, 2)) & one.any((1, 2))).all()
    assert (zero != one).any((1, 2)).mean() > 0.8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, r"n must be an integer from 1 to 60, the number of images, got 0"),
        ({"n": 61}, "n must be .* got 61"),
        ({"n": 2.0}, "n must be .* got 2.0"),
        ({"seed": -1}, "seed must be an integer >= 0 and <= 9223372036854775807, got -1"),
        ({"seed": True}, "seed must be"),
        (
            {"sets": ("add2", "add9")},
            r"sets must be different ones of id, add2, .* got \('add2', 'add9'\)",
        ),
        ({"sets": ("add2", "add2")}, "sets must be different"),
        ({"sets": ()}, "sets must be different"),
        ({"sets": "add2"}, "sets must be different ones of .* got 'add2'"),
        (
            {"images": np.zeros((60, 784))},
            r"images must have shape \(sample, 28, 28\) .* got \(60, 784\)",
        ),
        ({"images": np.zeros((4, 28, 28))}, r"at least 5 samples, got \(4, 28, 28\)"),
        (
            {"images": np.full((9, 28, 28), 255)},
            r"images must have their ink in \[0, 1\], got 255.0 to 255.0",
        ),
        ({"images": np.full((9, 28, 28), np.nan)}, "images must have their ink"),
    ],
)
def test_bad_arguments_are_named(images, change, message):
    with pytest.raises(ValueError, match=message):
        make(**({"images": images, "n": 5, "seed": 0} | change))


def test_streams_differ_by_seed_and_name():
    numbers = {
        digits.generator(seed, name).random() for seed in (0, 1) for name in ("id", "add2", "first")
    }
    assert len(numbers) == 6
