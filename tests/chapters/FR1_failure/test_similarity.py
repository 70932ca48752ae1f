"""Similarity kernels: true bumps follow the product, sums of bumps the sum, and the fits are those
of least squares.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR1_failure import similarity as si

N, SIGMA = 24, 1.0
AXIS = np.arange(N)
Y, X = (a.ravel() for a in np.mgrid[6:18, 6:18])  # away from the edge


def bumps(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    column = np.exp(-((AXIS - x[:, None]) ** 2) / (2 * SIGMA**2))
    row = np.exp(-((AXIS - y[:, None]) ** 2) / (2 * SIGMA**2))
    return row[:, :, None] * column[:, None]


def crosses(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row and column bars that do not overlap: the left half of the picture for y, the right half
    for x.
    """
    column = np.exp(-((AXIS - x[:, None]) ** 2) / (2 * SIGMA**2))
    row = np.exp(-((AXIS - y[:, None]) ** 2) / (2 * SIGMA**2))
    return np.concatenate(
        [np.repeat(row[:, :, None], 4, 2), np.repeat(column[:, :, None], 4, 2)], 2
    )


# Pixels sample the Gaussians, hence the tolerance of 1e-3.


def test_the_cosine_of_true_bumps_is_the_product_kernel():
    found = si.similarity(bumps(X, Y), metric="cosine")
    np.testing.assert_allclose(found, si.kernels(X, Y, width=SIGMA)["product"], atol=1e-3)


def test_the_cosine_of_bars_is_half_the_sum_kernel():
    found = si.similarity(crosses(X, Y), metric="cosine")
    np.testing.assert_allclose(found, si.kernels(X, Y, width=SIGMA)["sum"] / 2, atol=1e-3)


def test_metrics_are_those_of_pairs():
    images = np.random.default_rng(0).uniform(size=(3, 5, 5))
    a, b = images[0].ravel(), images[2].ravel()
    assert si.similarity(images, metric="l2")[0, 2] == pytest.approx(-np.linalg.norm(a - b))
    assert si.similarity(images, metric="overlap")[0, 2] == pytest.approx(
        ((a > 0.7) & (b > 0.7)).sum() / 25
    )
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert si.similarity(images, metric="cosine")[0, 2] == pytest.approx(cosine)
    with pytest.raises(
        ValueError, match="metric must be one of 'cosine', 'l2', 'overlap', got 'dot'"
    ):
        si.similarity(images, metric="dot")


def test_binary_kernel_is_half_for_a_shared_coordinate():
    binary = si.kernels(np.array([1, 1, 2]), np.array([3, 4, 4]), width=1)["binary"]
    assert binary.tolist() == [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]


def test_r_squared_is_that_of_least_squares_and_nan_for_constants():
    rng = np.random.default_rng(1)
    values, features = rng.normal(size=(2, 50)), rng.normal(size=(3, 50))
    found = si.r_squared(values, features)
    design = np.stack([np.ones(50), features[2]], 1)
    rest = values[1] - design @ np.linalg.lstsq(design, values[1], rcond=None)[0]
    assert found.shape == (2, 3) and found[1, 2] == pytest.approx(1 - rest.var() / values[1].var())
    assert np.isnan(si.r_squared(np.ones((1, 50)), features)).all()
    weights = si.weights(3 + 2 * features[0] - features[1], features)
    np.testing.assert_allclose(weights, [2, -1, 0], atol=1e-9)


def test_displacement_averages_pairs_and_knows_no_diagonal():
    matrix = si.kernels(X, Y, width=SIGMA)["product"]
    found = si.by_displacement(matrix, X, Y, reach=3)
    assert np.isnan(found[0, 0])
    assert found[1, 2] == pytest.approx(np.exp(-(1 + 4) / 4))
    # varies with x only: along the second axis
    skewed = si.kernels(X, 0 * Y, width=SIGMA)["product"]
    assert si.by_displacement(skewed, X, Y, reach=3)[3, 0] == pytest.approx(1)
    assert si.by_displacement(skewed, X, Y, reach=3)[0, 3] == pytest.approx(np.exp(-9 / 4))


def test_the_score_falls_either_way():
    y, x = (a.ravel() for a in np.mgrid[:N, :N])
    true, ood = bumps(x, y), (x >= 6) & (x < 18) & (y >= 6) & (y < 18)
    split = np.where(ood, "ood", "train")
    places = {"position_x": ("position", x), "position_y": ("position", y)}
    data = xr.Dataset(
        places | {"split": ("position", split), "image": (("position", "v", "u"), true)}
    )
    options = {
        "polarity": "bright",
        "sigma": SIGMA,
        "widths": [1, 2],
        "reach": 4,
        "every": 6,
        "show": False,
    }
    for drawn, better, worse in ((true, "product", "sum"), (crosses(x, y), "sum", "product")):
        report = si.similarity_report(drawn, data, **options)
        r2 = report["kernel_r2"].sel(source="model", pairs="ood", metric="cosine", width=1)
        assert r2.sel(kernel=better) > 0.99 and r2.sel(kernel=worse) < 0.6
        weight = report["kernel_weight"].sel(source="model", pairs="ood")
        assert weight.sel(part=better) > 10 * abs(weight.sel(part=worse))
    references = report["kernel_r2"].sel(pairs="ood", metric="cosine", width=1)
    assert references.sel(source="bumps", kernel="product") > 0.99
    sums = references.sel(source="superposed bumps")
    assert sums.sel(kernel="sum") > 0.9 > 0.6 > sums.sel(kernel="product")
    assert report["matrix"].isnull().all() and report["white_cosine"] > -1
