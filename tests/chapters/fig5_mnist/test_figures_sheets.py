"""Contact sheets on made-up datasets: what is shown where, in which colours."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.fig5_mnist import figures_sheets as sheets
from chapters.fig5_mnist.names import said

SETS = ["id", "add2", "sub2"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def ds():
    """Three sets of four images, each of one value: 1, 3 and -1, and one tenth more for each
    further sample.
    """
    values = np.array([1.0, 3.0, -1.0])[:, None] * (1 + np.arange(4) / 10)
    image = np.tile(values[..., None, None], (1, 1, 28, 28)).astype(np.float32)
    variables = {
        name: (("set", "sample", "y", "x"), image * k)
        for name, k in (("image", 1), ("before", 2), ("after", 3))
    }
    coords = {"set": SETS, "family": ("set", ["id", "add/subtract", "add/subtract"])}
    return xr.Dataset(variables, coords)


def mosaic(picture):
    """One value of each image of a mosaic; NaN where it is open."""
    return np.ma.filled(picture.get_array(), np.nan)[10::30, 10::30]


def test_digits_has_a_row_for_each_set(ds):
    ax, bar = sheets.digits(ds, columns=3).axes
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(map(said, SETS))
    np.testing.assert_allclose(ax.get_yticks(), [13.5, 43.5, 73.5])
    (picture,) = ax.images
    np.testing.assert_allclose(mosaic(picture), ds["image"].values[:, :3, 0, 0])
    assert picture.get_array().shape == (88, 88)
    assert "ink" in bar.get_ylabel()
    assert [line.get_ydata()[0] for line in ax.lines] == [28.5], "a line between families"


def test_images_do_not_touch(ds):
    (picture,) = sheets.digits(ds).axes[0].images
    gaps = np.ma.getmaskarray(np.ma.masked_invalid(picture.get_array()))
    np.testing.assert_array_equal(gaps.all(1).nonzero()[0], [28, 29, 58, 59])
    np.testing.assert_array_equal(gaps.all(0).nonzero()[0], [28, 29, 58, 59, 88, 89])


def test_negative_ink_has_another_colour_and_zero_is_white(ds):
    (picture,) = sheets.digits(ds).axes[0].images
    assert picture.get_clim() == (-2, 2)
    assert min(picture.to_rgba(0.0)[:3]) > 0.95
    plus, minus = picture.to_rgba(1.0), picture.to_rgba(-1.0)
    assert plus[0] > plus[2] and minus[0] < minus[2]
    assert picture.colorbar.extend == "max", "3 is beyond the last colour"


def test_without_negative_ink_the_sheet_is_grey(ds):
    (picture,) = sheets.digits(ds.isel(set=[0]), columns=1).axes[0].images
    assert picture.get_clim() == (0, 1)
    assert picture.colorbar.extend == "neither"
    red, green, blue, _ = picture.to_rgba(0.5)
    assert red == green == blue


def test_more_columns_than_samples_show_what_there_is(ds):
    assert mosaic(sheets.digits(ds, columns=9).axes[0].images[0]).shape == (3, 4)


def test_motions_shows_before_after_and_signal(ds):
    ax, bar = sheets.motions(ds, samples=2).axes
    frames, signals = (mosaic(picture) for picture in ax.images)
    values = ds["image"].values[:, :2, 0, 0]
    np.testing.assert_allclose(frames[:, [0, 3]], 2 * values)
    np.testing.assert_allclose(frames[:, [1, 4]], 3 * values)
    np.testing.assert_allclose(signals[:, [2, 5]], values)
    assert np.isnan(frames[:, [2, 5]]).all() and np.isnan(signals[:, [0, 1, 3, 4]]).all()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["before", "after", "signal"] * 2
    np.testing.assert_allclose(ax.get_xticks(), 13.5 + 30 * np.arange(6))
    assert ax.images[1].get_clim() == (-1, 1)
    assert "signal" in bar.get_ylabel()
    assert [line.get_xdata()[0] for line in ax.lines] == [88.5], "a line between samples"


@pytest.mark.parametrize("figure", [sheets.digits, sheets.motions])
def test_sheets_can_be_drawn(ds, figure, tmp_path):
    figure(ds).savefig(tmp_path / "sheet.png")
    assert (tmp_path / "sheet.png").stat().st_size > 5000


@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_bad_counts_are_named(ds, value):
    with pytest.raises(ValueError, match=f"columns must be an integer >= 1, got {value}"):
        sheets.digits(ds, columns=value)
    with pytest.raises(ValueError, match=f"samples must be an integer >= 1, got {value}"):
        sheets.motions(ds, samples=value)


def test_an_empty_dataset_is_refused(ds):
    with pytest.raises(ValueError, match="ds must have a set and a sample"):
        sheets.digits(ds.isel(set=[]))
