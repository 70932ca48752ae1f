"""Images of MNIST as rows, on a part made up of images that tell their place in the file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import xarray as xr

from benchmarks.images.samples import mnist_rows
from data_gen import mnist


@pytest.fixture(autouse=True)
def part(monkeypatch) -> Iterator[None]:
    """Twelve images of 2 x 3 pixels, the i-th from 6i on, with the label i."""
    images = np.arange(72, dtype=np.float32).reshape(12, 2, 3)
    made = xr.Dataset(
        {"image": (("sample", "y", "x"), images), "label": ("sample", np.arange(12))},
        attrs={"source": "made up"},
    )
    monkeypatch.setattr(mnist, "load", lambda part, allow_fallback: made)
    mnist_rows.cache_clear()
    yield
    mnist_rows.cache_clear()


def test_rows_are_flat_images_with_their_labels():
    pixels, labels, source = mnist_rows("test", 5, seed=1, real=True)
    assert source == "made up" and len(set(labels)) == 5
    np.testing.assert_array_equal(pixels, 6 * labels[:, None] + np.arange(6))


def test_more_add_to_fewer_and_a_small_part_gives_all():
    few, all_of, other = (
        mnist_rows("test", n, seed=seed, real=False)[1].tolist()
        for n, seed in ((5, 1), (99, 1), (99, 2))
    )
    assert all_of[:5] == few and all_of != other
    assert sorted(all_of) == sorted(other) == list(range(12))
