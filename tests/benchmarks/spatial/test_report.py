"""Reports on decoders, with a model that draws what it is told to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from benchmarks.spatial.report import decoder_report, peak_distance

HEIGHT, WIDTH = 4, 5
N = HEIGHT * WIDTH


class Painter(nn.Module):
    """Draws `images[i]` for the one-hot code i."""

    def __init__(self, images: np.ndarray) -> None:
        super().__init__()
        self.images = nn.Parameter(torch.from_numpy(images).float(), requires_grad=False)
        self.unused = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return torch.einsum("bp,pyx->byx", x, self.images)


@pytest.fixture
def data() -> xr.Dataset:
    """All positions, each with a single bright pixel as its image."""
    row, column = (a.ravel() for a in np.indices((HEIGHT, WIDTH)))
    splits = np.array(["train", "val", "id_test", "ood", "ood"] * HEIGHT)
    return xr.Dataset(
        {
            "code": (("position", "code"), np.eye(N, dtype=np.float32)),
            "image": (
                ("position", "y", "x"),
                np.eye(N, dtype=np.float32).reshape(N, HEIGHT, WIDTH),
            ),
            "position_x": ("position", column),
            "position_y": ("position", row),
            "split": ("position", splits),
        }
    )


def test_a_perfect_decoder_has_no_error(data):
    report = decoder_report(Painter(data["image"].values), data, samples=[3])
    assert (report["mse"] == 0).all()
    for name in ("train", "val", "id", "ood"):
        assert report[f"mse_{name}"].item() == 0 and report[f"hit_{name}"].item() == 1


def test_errors_are_means_over_pixels_and_over_their_split(data):
    offset = np.arange(N) / 10
    images = data["image"].values + offset[:, None, None]
    report = decoder_report(Painter(images), data, samples=[0])
    np.testing.assert_allclose(report["mse"], offset**2, rtol=1e-5)
    assert report["mse"].dims == ("position",)
    for name, split in {"train": "train", "val": "val", "id": "id_test", "ood": "ood"}.items():
        inside = data["split"].values == split
        assert report[f"mse_{name}"].item() == pytest.approx((offset[inside] ** 2).mean(), rel=1e-5)


def test_a_hit_is_a_peak_within_one_pixel_on_both_axes(data):
    images = data["image"].values.copy()
    images[3] = np.roll(images[3], 1, axis=0)  # (0, 3) drawn at row 1: a hit
    images[4] = np.roll(images[4], -2, axis=1)  # (0, 4) drawn at column 2: a miss
    images[1] = np.roll(images[1], 2, axis=0)  # (0, 1) drawn at row 2: a miss
    report = decoder_report(Painter(images), data, samples=[0])
    assert report["hit_ood"].item() == pytest.approx(7 / 8)
    assert report["hit_val"].item() == pytest.approx(3 / 4)
    assert report["hit_train"].item() == report["hit_id"].item() == 1


def test_chosen_samples_are_kept_with_their_positions(data):
    images = np.random.default_rng(1).normal(size=(N, HEIGHT, WIDTH)).astype(np.float32)
    report = decoder_report(Painter(images), data, samples=[7, 2])
    assert report["sample_image"].dims == ("sample", "y", "x")
    assert report["sample"].values.tolist() == [7, 2]
    np.testing.assert_array_equal(report["sample_image"].sel(sample=2), images[2])
    assert report["n_parameters"].item() == N * HEIGHT * WIDTH + 3  # frozen ones count too
    assert all("units" in variable.attrs for variable in report.data_vars.values())


def test_the_share_of_active_atoms_is_that_of_the_codes(data):
    class Sparse(Painter):
        def codes(self, x):
            code = torch.zeros(len(x), 4)
            code[: len(x) // 2, 0] = -1.0
            return (code, code[:, :1])

    images = data["image"].values
    sparse, dense = (decoder_report(kind(images), data, samples=[0]) for kind in (Sparse, Painter))
    assert sparse["active_share"].item() == pytest.approx(2 * 10 / (5 * 20))
    assert np.isnan(dense["active_share"].item())


def test_peak_distance_takes_columns_as_x_and_rows_as_y():
    images = np.zeros((4, 5, 7))
    peaks = [(1, 6), (4, 0), (2, 2), (0, 3)]  # row, column
    for image, (row, column) in zip(images, peaks, strict=True):
        image[row, column] = 1
    x, y = np.array([6, 0, 3, 3]), np.array([1, 4, 4, 0])
    assert peak_distance(images, x, y).tolist() == [0, 0, 2, 0]
    assert peak_distance(images[:1], y[:1], x[:1]).tolist() == [5]
    assert peak_distance(images[:1], np.array([4]), np.array([4])).tolist() == [3]
