"""The spatial benchmark against its closed forms."""

import json

import numpy as np
import pytest
import xarray as xr

from data_gen import bumps
from data_gen.bumps import BumpConfig


@pytest.fixture(scope="module")
def ds():
    return bumps.make(BumpConfig())


def position(ds, x, y):
    return ds.isel(
        position=np.flatnonzero((ds["position_x"] == x) & (ds["position_y"] == y)).item()
    )


def test_every_position_occurs_once(ds):
    assert dict(ds.sizes) == {"position": 784, "code": 56, "y": 28, "x": 28}
    pairs = set(
        zip(ds["position_x"].values.tolist(), ds["position_y"].values.tolist(), strict=True)
    )
    assert pairs == {(x, y) for x in range(28) for y in range(28)}


def test_image_is_the_gaussian_of_the_distance():
    ds = bumps.make(BumpConfig(grid=11, sigma=1.3))
    squared = (ds["x"] - ds["position_x"]) ** 2 + (ds["y"] - ds["position_y"]) ** 2
    expected = np.exp(-squared / (2 * 1.3**2)).transpose("position", "y", "x")
    assert ds["image"].dtype == np.float32
    np.testing.assert_allclose(ds["image"], expected, rtol=1e-6, atol=1e-18)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5])
def test_no_number_is_subnormal(sigma):
    ds = bumps.make(BumpConfig(sigma=sigma))
    least = np.finfo(np.float32).smallest_normal
    for name in ("image", "code"):
        faint = np.abs(ds[name].values)
        assert not ((faint > 0) & (faint < least)).any()


def test_peak_is_at_the_position_with_x_along_the_columns(ds):
    image = position(ds, 3, 20)["image"]
    assert image.argmax(...) == {"y": 20, "x": 3}
    assert image.max() == 1
    assert image.dims == ("y", "x")


def test_image_is_symmetric_about_its_centre_and_under_exchange_of_the_axes(ds):
    image = position(ds, 10, 12)["image"].values
    window = image[12 - 9 : 12 + 10, 10 - 9 : 10 + 10]
    for mirrored in (window[::-1], window[:, ::-1], window.T):
        np.testing.assert_array_equal(window, mirrored)
    np.testing.assert_array_equal(image, position(ds, 12, 10)["image"].values.T)


def test_sum_over_a_whole_bump_is_that_of_the_gaussian(ds):
    assert float(position(ds, 14, 14)["image"].sum()) == pytest.approx(2 * np.pi * 2.0**2, rel=1e-6)


def test_bump_code_is_the_outer_factor_of_the_image(ds):
    code = ds["code"].values
    x, y = code[:, ds["code_axis"] == "x"], code[:, ds["code_axis"] == "y"]
    np.testing.assert_allclose(ds["image"], y[:, :, None] * x[:, None, :], rtol=1e-6, atol=1e-30)


def test_everything_has_units(ds):
    for name in (*ds.data_vars, *ds.coords):
        assert ds[name].attrs["units"], name
    assert ds["position_x"].attrs["units"] == ds["y"].attrs["units"] == "px"


def test_config_travels_with_the_data_and_survives_a_file(tmp_path):
    config = BumpConfig(grid=np.int8(28), sigma=np.float32(2), encoding="scalar", split_seed=3)
    ds = bumps.make(config)
    ds.to_netcdf(tmp_path / "bumps.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "bumps.nc", engine="h5netcdf") as read:
        assert BumpConfig(**json.loads(read.attrs["config"])) == config
        xr.testing.assert_equal(read.load(), ds)


# Splits


@pytest.mark.parametrize(
    ("hold_out", "rule"),
    [
        ("square", lambda x, y: 6 <= x <= 22 and 6 <= y <= 22),
        ("ring", lambda x, y: 3 <= np.hypot(x - 13.5, y - 13.5) <= 12),
        ("corner", lambda x, y: x >= 14 and y >= 14),
    ],
)
def test_hold_out_is_the_stated_region_and_training_never_sees_it(hold_out, rule):
    ds = bumps.make(BumpConfig(hold_out=hold_out))
    columns, rows = ds["position_x"].values, ds["position_y"].values
    inside = np.array([rule(x, y) for x, y in zip(columns, rows, strict=True)])
    np.testing.assert_array_equal(ds["split"] == "ood", inside)
    train = bumps.subset(ds, "train")
    assert not any(
        rule(x, y)
        for x, y in zip(train["position_x"].values, train["position_y"].values, strict=True)
    )


@pytest.mark.parametrize(
    ("hold_out", "sizes"),
    [
        ("square", {"train": 397, "val": 49, "id_test": 49, "ood": 289}),
        ("corner", {"train": 472, "val": 58, "id_test": 58, "ood": 196}),
    ],
)
def test_sizes_of_the_splits(hold_out, sizes):
    ds = bumps.make(BumpConfig(hold_out=hold_out))
    assert {split: bumps.subset(ds, split).sizes["position"] for split in bumps.SPLITS} == sizes


@pytest.mark.parametrize("hold_out", bumps.HOLD_OUTS)
@pytest.mark.parametrize("grid", [8, 9, 20, 32])
def test_splits_cover_every_grid(grid, hold_out):
    ds = bumps.make(BumpConfig(grid=grid, hold_out=hold_out))
    names, counts = np.unique(ds["split"], return_counts=True)
    assert set(names) == set(bumps.SPLITS)
    assert counts.sum() == grid**2
    at_28 = bumps.make(BumpConfig(hold_out=hold_out, encoding="scalar"))
    share = float((ds["split"] == "ood").mean())
    assert share == pytest.approx(float((at_28["split"] == "ood").mean()), abs=0.13)


def test_split_seed_decides_the_split_and_nothing_else():
    first, again, other = (bumps.make(BumpConfig(split_seed=seed)) for seed in (1, 1, 2))
    xr.testing.assert_identical(first, again)
    assert not (first["split"] == other["split"]).all()
    np.testing.assert_array_equal(first["split"] == "ood", other["split"] == "ood")
    np.testing.assert_array_equal(first["image"], other["image"])


def test_subset_joins_splits_in_order(ds):
    both = bumps.subset(ds, "val", "train")
    assert both.sizes["position"] == 446
    flat = (both["position_y"] * 28 + both["position_x"]).values
    assert (np.diff(flat) > 0).all()
    assert set(both["split"].values) == {"train", "val"}


def test_zero_mse_is_the_mean_square_of_the_images(ds):
    # A squared image sums to the product of what its two profiles, squared, sum to.
    energy = [sum(np.exp(-((k - x) ** 2) / 2.0**2) for k in range(28)) for x in range(28)]
    inside = [energy[x] * energy[y] / 784 for x in range(6, 23) for y in range(6, 23)]
    everywhere = sum(energy) ** 2 / 784
    assert bumps.zero_mse(ds, "ood") == pytest.approx(sum(inside) / 289, rel=1e-6)
    within = bumps.zero_mse(ds, "train", "val", "id_test")
    assert within == pytest.approx((everywhere - sum(inside)) / 495, rel=1e-6)
    assert (within, bumps.zero_mse(ds, "ood")) == pytest.approx((0.0141, 0.0160), abs=5e-5)
    # Far from the edges the sum over pixels is nearly the integral pi sigma^2.
    sharp = bumps.make(BumpConfig(sigma=1.0))
    assert bumps.zero_mse(sharp, "ood") == pytest.approx(np.pi / 784, rel=5e-4)


# Codes


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"encoding": "bump"}, 56),
        ({"encoding": "one_hot"}, 56),
        ({"encoding": "fourier"}, 56),
        ({"encoding": "fourier", "n_frequencies": 7}, 28),
        ({"encoding": "fourier", "n_frequencies": 1}, 4),
        ({"encoding": "scalar"}, 2),
        ({"encoding": "bump", "sigma": 28.0}, 56),
        ({"encoding": "bump", "sigma": 5e-324}, 56),
    ],
)
def test_codes_have_one_half_per_axis_and_tell_all_positions_apart(settings, size):
    ds = bumps.make(BumpConfig(**settings))
    code = ds["code"].values
    assert code.shape == (784, size)
    assert code.dtype == np.float32
    assert np.isfinite(code).all()
    assert len(np.unique(code, axis=0)) == 784
    assert ds["code_axis"].values.tolist() == ["x"] * (size // 2) + ["y"] * (size // 2)
    # Each half depends on its own coordinate and on no other, and both in the same way.
    here = position(ds, 5, 9)["code"].values
    np.testing.assert_array_equal(
        here[: size // 2], position(ds, 5, 21)["code"].values[: size // 2]
    )
    np.testing.assert_array_equal(
        here[size // 2 :], position(ds, 17, 9)["code"].values[size // 2 :]
    )
    np.testing.assert_array_equal(here, np.roll(position(ds, 9, 5)["code"].values, size // 2))


def test_one_hot_and_scalar_codes():
    one_hot = position(bumps.make(BumpConfig(encoding="one_hot")), 5, 9)["code"]
    assert np.flatnonzero(one_hot).tolist() == [5, 28 + 9]
    assert one_hot.sum() == 2
    scalar = bumps.make(BumpConfig(encoding="scalar"))
    np.testing.assert_allclose(position(scalar, 27, 9)["code"], [1, 9 / 27], rtol=1e-6)


def test_fourier_code_does_not_wrap():
    ds = bumps.make(BumpConfig(encoding="fourier", n_frequencies=3))
    expected = [np.cos(np.pi * k * 5 / 28) for k in (1, 2, 3)] + [
        np.sin(np.pi * k * 5 / 28) for k in (1, 2, 3)
    ]
    np.testing.assert_allclose(position(ds, 5, 0)["code"][:6], expected, rtol=1e-6)
    codes = [position(ds, x, 0)["code"].values for x in range(28)]
    distance = [np.linalg.norm(code - codes[0]) for code in codes]
    assert distance[27] > 2 * distance[1]


# Bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"grid": 7}, "grid must be an integer >= 8 and <= 64, got 7"),
        ({"grid": 65}, "grid must be"),
        ({"grid": 28.0}, "grid must be an integer"),
        ({"grid": True}, "grid must be an integer"),
        ({"sigma": 0}, "sigma must be a finite number > 0"),
        ({"sigma": -1.0}, r"sigma must be .* got -1\.0"),
        ({"sigma": float("nan")}, "sigma must be"),
        ({"sigma": float("inf")}, "sigma must be"),
        ({"sigma": 28.5}, "sigma must be"),
        ({"sigma": "2"}, "sigma must be .* got '2'"),
        (
            {"hold_out": "circle"},
            "hold_out must be one of 'square', 'ring', 'corner', 'large_corner', got 'circle'",
        ),
        ({"hold_out": None}, "hold_out must be one of"),
        (
            {"encoding": "polar"},
            "encoding must be one of 'bump', 'one_hot', 'fourier', 'scalar', 'ramp', got 'polar'",
        ),
        ({"n_frequencies": 0}, "n_frequencies must be an integer >= 1, got 0"),
        ({"n_frequencies": 29, "encoding": "fourier"}, "n_frequencies must be .* <= 28, got 29"),
        (
            {"split_seed": -1},
            "split_seed must be an integer >= 0 and <= 9223372036854775807, got -1",
        ),
        ({"split_seed": 0.5}, "split_seed must be"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        BumpConfig(**settings)


def test_unknown_splits_are_named(ds):
    with pytest.raises(
        ValueError, match="splits must be one of 'train', 'val', 'id_test', 'ood', got 'test'"
    ):
        bumps.subset(ds, "train", "test")
    with pytest.raises(ValueError, match="got none"):
        bumps.zero_mse(ds)


# Dark bumps, positions between the pixels, stripes


def test_dark_bumps_are_one_minus_the_bright_ones(ds):
    dark = bumps.make(BumpConfig(polarity="dark"))
    np.testing.assert_allclose(dark["image"], 1 - ds["image"], atol=1e-7)
    xr.testing.assert_equal(dark["code"], ds["code"])
    assert bumps.zero_mse(dark, "ood") == pytest.approx(bumps.zero_mse(ds, "ood"), rel=1e-6)


def test_zero_error_is_the_energy_of_the_gaussian():
    """Bumps far from the edge: sum of exp(-r^2 / sigma^2) over the pixels is pi sigma^2."""
    for polarity in bumps.POLARITIES:
        found = bumps.zero_mse(bumps.make(BumpConfig(sigma=1.0, polarity=polarity)), "ood")
        assert found == pytest.approx(np.pi / 784, rel=1e-3)


def test_large_corner_begins_at_12_of_32():
    ds = bumps.make(BumpConfig(grid=32, sigma=1.5, hold_out="large_corner"))
    held = (ds["position_x"] >= 12) & (ds["position_y"] >= 12)
    np.testing.assert_array_equal(ds["split"] == "ood", held)
    assert int(held.sum()) == 400


def test_the_ramp_is_the_position_in_pixels(ds):
    code = bumps.make(BumpConfig(encoding="ramp"))["code"].values
    np.testing.assert_array_equal(code, np.stack([ds["position_x"], ds["position_y"]], 1))


@pytest.mark.parametrize("encoding", ["bump", "fourier", "scalar", "ramp"])
def test_scattered_bumps_at_whole_positions_are_those_of_the_grid(encoding, monkeypatch):
    config = BumpConfig(grid=12, encoding=encoding, n_frequencies=5, hold_out="ring")
    grid = bumps.make(config)

    class Whole:
        def uniform(self, low, high, size):
            assert (low, high, size) == (0, 11, (2, 144))
            return np.stack([grid["position_x"], grid["position_y"]]).astype(float)

        def permutation(self, values):
            return np.random.RandomState(0).permutation(values)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Whole())
    found = bumps.scattered(config, 144, seed=0)
    np.testing.assert_allclose(found["code"], grid["code"], rtol=1e-6)
    np.testing.assert_allclose(found["image"], grid["image"], rtol=1e-6)
    np.testing.assert_array_equal(found["split"] == "ood", grid["split"] == "ood")


def test_scattered_bumps_fill_the_plane_and_repeat_with_the_seed():
    first, again, other = (bumps.scattered(BumpConfig(), 500, seed=s) for s in (3, 3, 4))
    xr.testing.assert_identical(first, again)
    x, y = first["position_x"].values, first["position_y"].values
    assert not np.array_equal(x, other["position_x"].values)
    assert x.min() >= 0 and x.max() <= 27 and np.abs(x - x.round()).max() > 0.4
    np.testing.assert_array_equal(
        first["split"] == "ood", (x >= 6) & (x <= 22) & (y >= 6) & (y <= 22)
    )
    with pytest.raises(ValueError, match="must not be 'one_hot'"):
        bumps.scattered(BumpConfig(encoding="one_hot"), 500, seed=0)
    with pytest.raises(ValueError, match="n must be an integer >= 10"):
        bumps.scattered(BumpConfig(), 9, seed=0)


@pytest.mark.parametrize("polarity", bumps.POLARITIES)
def test_two_crossing_stripes_multiply_to_a_bump(polarity):
    config = BumpConfig(grid=16, polarity=polarity)
    lines, grid = bumps.stripes(config), bumps.make(config)
    assert lines.sizes["stripe"] == 32
    shape = lines["image"].values if polarity == "bright" else 1 - lines["image"].values
    vertical, horizontal = shape[:16], shape[16:]
    assert np.ptp(vertical, axis=1).max() == 0 and np.ptp(horizontal, axis=2).max() == 0
    bump = position(grid, 5, 9)["image"].values
    crossed = vertical[5] * horizontal[9]
    np.testing.assert_allclose(crossed, bump if polarity == "bright" else 1 - bump, atol=1e-6)
    assert lines["place"].values.tolist() == [*range(16), *range(16)]
    assert set(lines["orientation"].values[:16]) == {"vertical"}


@pytest.mark.parametrize(
    ("encoding", "empty"),
    [("bump", 0), ("one_hot", 0), ("fourier", 0), ("ramp", -1), ("scalar", -1)],
)
def test_a_stripe_is_told_by_one_half_of_the_code(encoding, empty):
    config = BumpConfig(encoding=encoding)
    lines, grid = bumps.stripes(config), bumps.make(config)
    half = grid.sizes["code"] // 2
    code = lines["code"].values
    assert (code[:28, half:] == empty).all() and (code[28:, :half] == empty).all()
    # x runs fastest
    np.testing.assert_array_equal(code[:28, :half], grid["code"].values[:28, :half])
    np.testing.assert_array_equal(code[28:, half:], grid["code"].values[::28, half:])
