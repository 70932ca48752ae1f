"""One image, rotated: an angle in, the rotated image out, a range of angles held out (FR
App. F.2).
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from numbers import Integral, Real

import numpy as np
import xarray as xr
from scipy import ndimage

from data_gen import guards

SPLITS = ("train", "val", "id_test", "ood")


@dataclass(frozen=True, kw_only=True)
class RotationConfig:
    """Which angles there are and which are hidden.

    Parameters
    ----------
    n_angles
        Evenly spaced from 0 degrees, the full turn not repeated.
    gap
        The range [low, high] of angles [degrees] that training never sees, 0 <= low < high < 360.
    n_frequencies
        The code of an angle t is cos kt, sin kt for k = 1 to n_frequencies.
    split_seed
        Shuffles the other angles into train, val and id_test, about 80/10/10.
    """

    n_angles: int = 1000
    gap: tuple[float, float] = (160.0, 200.0)
    n_frequencies: int = 1
    split_seed: int = 0

    def __post_init__(self) -> None:
        guards.seeds(split_seed=self.split_seed)
        for name, low in (("n_angles", 20), ("n_frequencies", 1), ("split_seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
                raise ValueError(f"{name} must be an integer >= {low}, got {value!r}")
            object.__setattr__(self, name, int(value))
        ends = tuple(self.gap) if isinstance(self.gap, (tuple, list)) else ()
        if len(ends) != 2 or not all(isinstance(e, Real) and not isinstance(e, bool) for e in ends):
            raise ValueError(f"gap must be two angles [degrees], got {self.gap!r}")
        if not 0 <= ends[0] < ends[1] < 360:
            raise ValueError(
                f"gap must be (low, high) with 0 <= low < high < 360 degrees, got {self.gap!r}"
            )
        object.__setattr__(self, "gap", (float(ends[0]), float(ends[1])))


def make(image: np.ndarray, config: RotationConfig) -> xr.Dataset:
    """The image (y, x) at all angles, with their codes and splits.

    Dimensions: rotation (n_angles), code (cos t, sin t, cos 2t, ...), y, x. Variables: angle
    (rotation) [degrees], code (rotation, code) and image (rotation, y, x), both float32; split
    (rotation), one of `SPLITS`.

    Raises
    ------
    ValueError
        If `image` is not a finite matrix.
    """
    angle = np.arange(config.n_angles) * (360 / config.n_angles)
    variables = {
        "angle": (
            "rotation",
            angle,
            {"units": "degrees", "long_name": "angle, as scipy.ndimage.rotate turns"},
        ),
        "code": (
            ("rotation", "code"),
            encode(angle, config.n_frequencies),
            {"units": "1", "long_name": "cosines and sines of the angle"},
        ),
        "image": (
            ("rotation", "y", "x"),
            rotated(image, angle),
            {"units": "1", "long_name": "ink"},
        ),
        "split": (
            "rotation",
            _split(angle, config),
            {"units": "1", "long_name": "set of the angle"},
        ),
    }
    return xr.Dataset(
        variables, attrs={"title": "one image, rotated", "config": json.dumps(asdict(config))}
    )


def rotated(image: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """The image (y, x) turned by each angle [degrees]: bilinear, same frame, 0 outside; float32
    (angles, y, x).
    """
    image = np.asarray(image)
    if image.ndim != 2 or not np.isfinite(image).all():
        raise ValueError(f"image must be a finite matrix (y, x), got shape {image.shape}")
    turned = [
        ndimage.rotate(image, float(a), reshape=False, order=1, mode="constant", cval=0.0)
        for a in angle
    ]
    return np.stack(turned).astype(np.float32)


def encode(angle: np.ndarray, n_frequencies: int) -> np.ndarray:
    """cos t, sin t, cos 2t, sin 2t, ... of angles t [degrees]; float32 (angles, 2
    n_frequencies).
    """
    phase = np.deg2rad(np.asarray(angle, np.float64))[:, None] * np.arange(1, n_frequencies + 1)
    return np.stack([np.cos(phase), np.sin(phase)], -1).reshape(len(phase), -1).astype(np.float32)


def subset(ds: xr.Dataset, *splits: str) -> xr.Dataset:
    """The angles that belong to `splits` (any of `SPLITS`), in their order in `ds`."""
    for split in splits:
        if split not in SPLITS:
            raise ValueError(f"splits must be any of {', '.join(SPLITS)}, got {split!r}")
    return ds.isel(rotation=np.flatnonzero(np.isin(ds["split"].values, splits)))


def _split(angle: np.ndarray, config: RotationConfig) -> np.ndarray:
    """The set of each angle: val and id_test take a tenth each of what is not held out, rounded
    down.
    """
    low, high = config.gap
    split = np.full(len(angle), "ood", dtype="<U7")
    inside = np.flatnonzero((angle < low) | (angle > high))
    tenth = math.floor(len(inside) / 10)
    if not tenth:
        raise ValueError(
            f"gap must leave at least 10 of the {len(angle)} angles, got {config.gap!r}"
        )
    shuffled = np.random.default_rng(config.split_seed).permutation(inside)
    split[shuffled] = "train"
    split[shuffled[:tenth]] = "val"
    split[shuffled[tenth : 2 * tenth]] = "id_test"
    return split
