"""Structural similarity against its definition, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.spatial.ssim import ssim


def by_definition(a: np.ndarray, b: np.ndarray) -> float:
    """Wang et al. 2004, Eqs. 13-16, written out for one pair of images."""
    at = np.arange(-5, 6)
    window = np.exp(-(at[:, None] ** 2 + at**2) / (2 * 1.5**2))
    window /= window.sum()
    values = []
    for i in range(a.shape[0] - 10):
        for j in range(a.shape[1] - 10):
            x, y = (v[i : i + 11, j : j + 11] for v in (a, b))
            mx, my = (window * x).sum(), (window * y).sum()
            vx, vy = (window * (x - mx) ** 2).sum(), (window * (y - my) ** 2).sum()
            c = (window * (x - mx) * (y - my)).sum()
            top = (2 * mx * my + 0.01**2) * (2 * c + 0.03**2)
            values.append(top / ((mx**2 + my**2 + 0.01**2) * (vx + vy + 0.03**2)))
    return float(np.mean(values))


def test_it_is_that_of_its_definition():
    a, b = np.random.default_rng(0).uniform(size=(2, 3, 14, 17))
    expected = [by_definition(*pair) for pair in zip(a, b, strict=True)]
    np.testing.assert_allclose(ssim(a, b), expected, rtol=1e-10)


def test_equal_images_have_one_and_it_is_symmetric():
    a, b = np.random.default_rng(1).uniform(size=(2, 2, 12, 12))
    np.testing.assert_allclose(ssim(a, a), 1)
    np.testing.assert_allclose(ssim(a, b), ssim(b, a))
    assert (ssim(a, b) < 0.5).all()


def test_a_blank_image_scores_high_on_a_small_bump():
    bump = np.zeros((1, 28, 28))
    bump[0, 14, 14] = 1
    assert 0.5 < ssim(bump, np.zeros_like(bump))[0] < 1


def test_images_too_small_or_unlike_are_refused():
    with pytest.raises(ValueError, match=r"more than 10 px, got \(1, 10, 12\)"):
        ssim(np.zeros((1, 10, 12)), np.zeros((1, 10, 12)))
    with pytest.raises(ValueError, match="images and others must have one shape"):
        ssim(np.zeros((1, 12, 12)), np.zeros((2, 12, 12)))
