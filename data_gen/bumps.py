"""Spatial decoding: a Gaussian bump, a code of its position, a region held out (FR Sec. 3.1; VN
Sec. 4.1, App. F).

The image is the product of two profiles, one per axis, and the code is one half per axis: whoever
finds that structure can draw the bump at positions never seen in training.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from numbers import Integral, Real

import numpy as np
import xarray as xr

from data_gen import guards

HOLD_OUTS = ("square", "ring", "corner", "large_corner")
ENCODINGS = ("bump", "one_hot", "fourier", "scalar", "ramp")
POLARITIES = ("bright", "dark")
SPLITS = ("train", "val", "id_test", "ood")
# Less is 0: products of two would be subnormal float32 numbers, which slow processors down.
FAINT = 1e-18


@dataclass(frozen=True, kw_only=True)
class BumpConfig:
    """What to draw and what to hide.

    Parameters
    ----------
    grid
        Pixels per side, and positions per axis.
    sigma
        Width of the bump [px].
    hold_out
        The region of positions that training never sees, given for 28 px and scaled with the grid:
        "square" 6 <= x, y <= 22; "ring" 3 <= r <= 12 px from the grid's centre; "corner" x,
        y >= 14; "large_corner" x, y >= 10.5, which is 12 of 32.
    encoding
        "bump" (a local profile as wide as the image's), "one_hot", "fourier", "scalar" (one number
        in [0, 1]) or "ramp" (one number in px).
    polarity
        "bright" bumps on a background of 0, or "dark" ones on a background of 1, as in FR.
    n_frequencies
        Of the Fourier code, which has twice as many entries per axis.
    split_seed
        Shuffles the other positions into train, val and id_test, about 80/10/10.
    """

    grid: int = 28
    sigma: float = 2.0
    hold_out: str = "square"
    encoding: str = "bump"
    polarity: str = "bright"
    n_frequencies: int = 14
    split_seed: int = 0

    def __post_init__(self) -> None:
        guards.seeds(split_seed=self.split_seed)
        # Above 64 the images, grid^4 numbers, no longer fit into an ordinary memory.
        _number("grid", self.grid, (8, 64), integer=True)
        # A bump wider than the grid gives all positions nearly the same code.
        _number("sigma", self.sigma, (0, self.grid), integer=False)
        _choice("hold_out", self.hold_out, HOLD_OUTS)
        _choice("encoding", self.encoding, ENCODINGS)
        _choice("polarity", self.polarity, POLARITIES)
        # Frequencies above `grid` repeat the lower ones at whole positions.
        highest = self.grid if self.encoding == "fourier" else math.inf
        _number("n_frequencies", self.n_frequencies, (1, highest), integer=True)
        _number("split_seed", self.split_seed, (0, math.inf), integer=True)
        # NumPy's numbers are welcome, but they overflow and JSON knows none of them.
        for name, kind in (
            ("grid", int),
            ("sigma", float),
            ("n_frequencies", int),
            ("split_seed", int),
        ):
            object.__setattr__(self, name, kind(getattr(self, name)))


def make(config: BumpConfig) -> xr.Dataset:
    """All grid^2 positions with their codes, images and splits.

    Dimensions: position (grid^2, x runs fastest), code (first the half of x, then that of y), y, x.
    Variables: position_x, position_y (position) [px]; code (position, code) and image (position, y,
    x), both float32; split (position), one of `SPLITS`. Coordinate: code_axis (code), "x" or "y".
    """
    axis = np.arange(config.grid)
    row, column = (a.ravel() for a in np.meshgrid(axis, axis, indexing="ij"))
    return _dataset(config, column, row, f"Gaussian bumps, {config.hold_out} held out")


def scattered(config: BumpConfig, n: int, *, seed: int) -> xr.Dataset:
    """As `make`, at `n` positions drawn uniformly from the plane [0, grid - 1]^2 instead of those
    of the grid.

    Raises
    ------
    ValueError
        For the one-hot code, which knows whole positions only.
    """
    _number("n", n, (10, 1_000_000), integer=True)
    guards.seeds(seed=seed)
    _number("seed", seed, (0, math.inf), integer=True)
    if config.encoding == "one_hot":
        raise ValueError("encoding must not be 'one_hot' for positions between the pixels")
    x, y = np.random.default_rng(seed).uniform(0, config.grid - 1, size=(2, n))
    return _dataset(config, x, y, f"Gaussian bumps between the pixels, {config.hold_out} held out")


def stripes(config: BumpConfig) -> xr.Dataset:
    """The 2 grid stripes of FR App. E: one bright or dark line per column and one per row, as wide
    as the bumps.

    The code has only the stripe's own half; the other one is empty, which the paper leaves open and
    is chosen here: zeros, or -1 for the codes of one number, where 0 is a position. Variables:
    place (stripe) [px], orientation (stripe), "vertical" (a column, x given) or "horizontal"; code
    and image as in `make`.
    """
    axis = np.arange(config.grid)
    half, profile = _encode(config, axis), _profile(config, axis)
    empty = np.full_like(half, -1.0 if config.encoding in ("scalar", "ramp") else 0.0)
    line = np.broadcast_to(profile[:, None, :], (config.grid,) * 3)  # place, y, x
    variables = {
        "place": (
            "stripe",
            np.tile(axis, 2),
            {"units": "px", "long_name": "column or row of the stripe"},
        ),
        "orientation": (
            "stripe",
            np.repeat(["vertical", "horizontal"], config.grid),
            {"units": "1"},
        ),
        "code": (
            ("stripe", "code"),
            np.block([[half, empty], [empty, half]]).astype(np.float32),
            {"units": "1", "long_name": f"{config.encoding} code of the stripe"},
        ),
        "image": (
            ("stripe", "y", "x"),
            _paint(config, np.concatenate([line, line.swapaxes(1, 2)])),
            _BRIGHTNESS,
        ),
    }
    return xr.Dataset(
        variables, _pixels(config), {"title": "stripes", "config": json.dumps(asdict(config))}
    )


def subset(ds: xr.Dataset, *splits: str) -> xr.Dataset:
    """The positions that belong to `splits` (any of `SPLITS`), in their order in `ds`."""
    if not splits:
        raise ValueError(f"splits must name at least one of {', '.join(SPLITS)}, got none")
    for split in splits:
        _choice("splits", split, SPLITS)
    return ds.isel(position=np.flatnonzero(np.isin(ds["split"].values, splits)))


def zero_mse(ds: xr.Dataset, *splits: str) -> float:
    """Mean squared error of the zero baseline, an image of background alone, on `splits`."""
    background = float(json.loads(ds.attrs["config"])["polarity"] == "dark")
    return float(
        np.square(subset(ds, *splits)["image"].values - background, dtype=np.float64).mean()
    )


_BRIGHTNESS = {"units": "1", "long_name": "brightness, 1 away from the background at the centre"}


def _dataset(config: BumpConfig, x: np.ndarray, y: np.ndarray, title: str) -> xr.Dataset:
    """Codes, images and splits of the positions (x, y)."""
    code = np.concatenate([_encode(config, x), _encode(config, y)], axis=1)
    variables = {
        "position_x": ("position", x, {"units": "px", "long_name": "column of the bump's centre"}),
        "position_y": ("position", y, {"units": "px", "long_name": "row of the bump's centre"}),
        "code": (
            ("position", "code"),
            code.astype(np.float32),
            {"units": "1", "long_name": f"{config.encoding} code of the position"},
        ),
        "image": (
            ("position", "y", "x"),
            _paint(config, _profile(config, y)[:, :, None] * _profile(config, x)[:, None, :]),
            _BRIGHTNESS,
        ),
        "split": (
            "position",
            _split(config, x, y),
            {"units": "1", "long_name": "set of the position"},
        ),
    }
    coordinates = _pixels(config) | {
        "code_axis": (
            "code",
            np.repeat(["x", "y"], code.shape[1] // 2),
            {"units": "1", "long_name": "axis coded"},
        )
    }
    return xr.Dataset(
        variables, coordinates, {"title": title, "config": json.dumps(asdict(config))}
    )


def _pixels(config: BumpConfig) -> dict[str, tuple]:
    axis = np.arange(config.grid)
    return {
        "x": ("x", axis, {"units": "px", "long_name": "column"}),
        "y": ("y", axis, {"units": "px", "long_name": "row"}),
    }


def _paint(config: BumpConfig, shape: np.ndarray) -> np.ndarray:
    """What stands out from 0, in the polarity asked for, as float32."""
    return (1 - shape if config.polarity == "dark" else shape).astype(np.float32)


def _profile(config: BumpConfig, x: np.ndarray) -> np.ndarray:
    """exp(-(k - x)^2 / (2 sigma^2)) for all places x (rows) and pixels k (columns), in float64; 0
    below `FAINT`.
    """
    k = np.arange(config.grid)
    with np.errstate(over="ignore"):  # a very narrow bump: exp(-inf) = 0 is right
        height = np.exp(-0.5 * np.square((k - x[:, None]) / config.sigma))
    return np.where(height < FAINT, 0.0, height)


def _encode(config: BumpConfig, x: np.ndarray) -> np.ndarray:
    """The code of places x of one axis, (places, entries per axis), in float64."""
    if config.encoding == "bump":
        return _profile(config, x)
    if config.encoding == "one_hot":
        return np.eye(config.grid)[x]
    if config.encoding == "scalar":
        return x[:, None] / (config.grid - 1)
    if config.encoding == "ramp":
        return x[:, None].astype(np.float64)
    # The lowest frequency spans half a period, so the two ends of the grid are not neighbours.
    phase = np.pi * x[:, None] * np.arange(1, config.n_frequencies + 1) / config.grid
    return np.concatenate([np.cos(phase), np.sin(phase)], axis=1)


def _held_out(config: BumpConfig, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which positions are held out. Whole numbers decide at the edges, so that no rounding does."""
    n = config.grid
    if config.hold_out == "square":
        return np.all([(6 * n <= 28 * a) & (28 * a <= 22 * n) for a in (x, y)], axis=0)
    if config.hold_out == "corner":
        return (2 * x >= n) & (2 * y >= n)
    if config.hold_out == "large_corner":
        return (8 * x >= 3 * n) & (8 * y >= 3 * n)
    diameter_squared = 28**2 * (np.square(2 * x - (n - 1)) + np.square(2 * y - (n - 1)))
    return ((6 * n) ** 2 <= diameter_squared) & (diameter_squared <= (24 * n) ** 2)


def _split(config: BumpConfig, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The set of each position: val and id_test take a tenth each of what is not held out, rounded
    down.
    """
    split = np.full(len(x), "ood", dtype="<U7")
    inside = np.flatnonzero(~_held_out(config, x, y))
    shuffled = np.random.default_rng(config.split_seed).permutation(inside)
    tenth = len(inside) // 10
    split[shuffled] = "train"
    split[shuffled[:tenth]] = "val"
    split[shuffled[tenth : 2 * tenth]] = "id_test"
    return split


def _number(name: str, value: object, bounds: tuple[float, float], *, integer: bool) -> None:
    """Raise ValueError unless low <= value <= high (an integer) or low < value <= high; NaN is
    neither.
    """
    low, high = bounds
    ok = isinstance(value, Integral if integer else Real) and not isinstance(value, bool)
    if not (ok and value <= high and (value >= low if integer else value > low)):
        lower = f"an integer >= {low}" if integer else f"a finite number > {low}"
        upper = "" if math.isinf(high) else f" and <= {high}"
        raise ValueError(f"{name} must be {lower}{upper}, got {value!r}")


def _choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise ValueError unless `value` is one of `allowed`, which the message lists."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
