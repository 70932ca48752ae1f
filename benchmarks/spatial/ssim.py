"""Structural similarity of images."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter

SIGMA = 1.5  # of the window [px]
RADIUS = 5  # of the window, 11 px wide [px]
C1, C2 = 0.01**2, 0.03**2

Images = Float[np.ndarray, "images y x"]


def ssim(images: Images, others: Images) -> Float[np.ndarray, " images"]:
    """Mean structural similarity of pairs of images whose values span [0, 1] (Wang et al. 2004, Eq.
    13): a Gaussian window of 11 px and standard deviation 1.5 px, constants 0.01^2 and 0.03^2, at
    the pixels where the window lies within the image.

    1 for equal images. Where both are flat they are alike, so that a blank image scores high on
    small bumps; compare it.

    Raises
    ------
    ValueError
        For images of different shapes or smaller than the window.
    """
    if images.shape != others.shape or images.ndim != 3 or min(images.shape[1:]) <= 2 * RADIUS:
        raise ValueError(
            f"images and others must have one shape (images, y, x) with sides of more than "
            f"{2 * RADIUS} px, got {images.shape} and {others.shape}"
        )
    a, b = (np.asarray(v, np.float64) for v in (images, others))

    def mean(values: np.ndarray) -> np.ndarray:
        blurred = gaussian_filter(values, SIGMA, radius=RADIUS, axes=(1, 2))
        return blurred[:, RADIUS:-RADIUS, RADIUS:-RADIUS]

    mean_a, mean_b = mean(a), mean(b)
    variances = mean(a * a) - mean_a**2 + mean(b * b) - mean_b**2
    covariance = mean(a * b) - mean_a * mean_b
    of_means = (2 * mean_a * mean_b + C1) / (mean_a**2 + mean_b**2 + C1)
    return (of_means * (2 * covariance + C2) / (variances + C2)).mean((1, 2))
