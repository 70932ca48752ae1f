"""Positions whose images and codes do not give the answer away: shapes that are no product of
profiles, codes wider or narrower than the image and codes of mixed axes, positions between the
pixels, and hold-outs of any size.

As in `data_gen.bumps`, an image has one shape at a position (x, y), and a code has a half for each
axis, unless it is mixed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import xarray as xr

from data_gen import bumps, guards

MIXES = ("none", "rotated", "entangled")
HOLD_OUTS = ("square", "coordinates")
SHAPES = ("bump", "ring", "cross", "corner", "oriented")
SPLITS = bumps.SPLITS
REACH = 3.0  # radius of the ring and length of arms [sigma]
STRETCH = 2.5  # how many times longer than wide the oriented shape is


@dataclass(frozen=True, kw_only=True)
class ShapeConfig:
    """What to draw, how to code it, and what to hide.

    Parameters
    ----------
    grid
        Pixels per side.
    shape
        "bump"; "ring" of radius 3 sigma; "cross" of two bars; "corner" of two arms, as an L;
        "oriented", a Gaussian along a diagonal. Only the bump is a product of two profiles.
    sigma
        Width of the bump and of all lines [px].
    encoding
        Of an axis, as in `bumps.BumpConfig`.
    code_sigma
        Width of the bumps of a code [px].
    mix
        "none": a half of the code for each axis. "rotated": that code times an orthogonal matrix.
        "entangled": tanh of that code times a matrix of Gaussian numbers, of the same size.
    hold_out
        What training never sees: a "square" in the middle, all of whose x and y occur elsewhere, or
        "coordinates", the bands of x and of y in the middle, which never occur.
    share
        About how much of the plane is held out.
    scattered
        How many positions are drawn from the plane; 0 for every pixel once.
    code_seed, split_seed
        Of the matrix that mixes, and of the positions drawn and of their sets.

    Raises
    ------
    ValueError
        For values out of range, and for those that `bumps.BumpConfig` refuses.
    """

    grid: int = 16
    shape: str = "bump"
    sigma: float = 1.0
    encoding: str = "bump"
    code_sigma: float = 1.0
    mix: str = "none"
    hold_out: str = "square"
    share: float = 0.25
    scattered: int = 0
    code_seed: int = 0
    split_seed: int = 0

    def __post_init__(self) -> None:
        guards.seeds(code_seed=self.code_seed, split_seed=self.split_seed)
        for name, allowed in (("shape", SHAPES), ("mix", MIXES), ("hold_out", HOLD_OUTS)):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
        if not 0 < self.share < 1:
            raise ValueError(f"share must be a number > 0 and < 1, got {self.share!r}")
        if not 0 < self.sigma < self.grid:
            raise ValueError(f"sigma must be > 0 and < grid = {self.grid}, got {self.sigma!r}")
        if self.scattered and self.scattered < 10:
            raise ValueError(f"scattered must be 0 or at least 10, got {self.scattered!r}")
        self.axis()

    def axis(self) -> bumps.BumpConfig:
        """The configuration of the code, which refuses what it cannot do."""
        own = {name: getattr(self, name) for name in ("grid", "encoding", "split_seed")}
        return bumps.BumpConfig(sigma=self.code_sigma, **own)


def make(config: ShapeConfig) -> xr.Dataset:
    """All positions with their codes, images and splits, as `bumps.make` has them."""
    if config.scattered:
        data = bumps.scattered(config.axis(), config.scattered, seed=config.split_seed)
    else:
        data = bumps.make(config.axis())
    x, y = data["position_x"].values, data["position_y"].values
    image = draw(config, x, y).astype(np.float32)
    code = mixed(config, data["code"].values)
    title = f"{config.shape}, {config.hold_out} held out"
    return (
        data.drop_vars("code_axis")
        .assign(
            image=(data["image"].dims, image, data["image"].attrs),
            code=(data["code"].dims, code, data["code"].attrs),
            split=("position", _split(config, x, y), data["split"].attrs),
        )
        .assign_attrs(title=title, config=json.dumps(asdict(config)))
    )


def draw(config: ShapeConfig, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The images (positions, y, x) of shapes at (x, y), brightest at 1, in float64."""
    pixel = np.arange(config.grid)
    right = (pixel - x[:, None])[:, None, :] / config.sigma
    up = (pixel - y[:, None])[:, :, None] / config.sigma
    image = _DRAWN[config.shape](right, up)
    return np.where(image < bumps.FAINT, 0.0, image)


def mixed(config: ShapeConfig, code: np.ndarray) -> np.ndarray:
    """Codes (positions, entries) as decoders read them, in float32."""
    if config.mix == "none":
        return code.astype(np.float32)
    entries = code.shape[1]
    matrix = np.random.default_rng(config.code_seed).normal(size=(entries, entries))
    if config.mix == "rotated":
        return (code @ np.linalg.qr(matrix)[0]).astype(np.float32)
    return np.tanh(code @ matrix).astype(np.float32)


def condition_number(config: ShapeConfig) -> float:
    """Largest over smallest singular value of the code of one axis at all whole positions, before
    any mixing: what a linear readout of it multiplies errors by at most.
    """
    code = bumps.make(config.axis())["code"].values.astype(np.float64)
    half = code[: config.grid, : code.shape[1] // 2]  # x runs fastest
    values = np.linalg.svd(half, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0 else math.inf


def terms(config: ShapeConfig, energy: float = 0.99) -> int:
    """How many products of two profiles hold this share of a shape's energy: 1 for the bump."""
    middle = np.array([(config.grid - 1) / 2])
    values = np.linalg.svd(draw(config, middle, middle)[0], compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(values) / values.sum(), energy) + 1)


def _gauss(z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * np.square(z))


def _bar(along: np.ndarray, across: np.ndarray, start: float, end: float) -> np.ndarray:
    """A line from start to end with Gaussian sides and ends."""
    return _gauss(across) * _gauss(along - np.clip(along, start, end))


def _both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return one + other - one * other


def _oriented(right: np.ndarray, up: np.ndarray) -> np.ndarray:
    along, across = (right + up) / math.sqrt(2), (right - up) / math.sqrt(2)
    return _gauss(along / STRETCH) * _gauss(across)


_DRAWN: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "bump": lambda right, up: _gauss(right) * _gauss(up),
    "ring": lambda right, up: _gauss(np.hypot(right, up) - REACH),
    "cross": lambda right, up: _both(
        _bar(right, up, -REACH, REACH), _bar(up, right, -REACH, REACH)
    ),
    "corner": lambda right, up: _both(_bar(right, up, 0, REACH), _bar(up, right, 0, REACH)),
    "oriented": _oriented,
}


def _split(config: ShapeConfig, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The set of each position: a tenth each of those not held out is val and id_test."""
    middle = (config.grid - 1) / 2
    away = np.abs(np.stack([x, y]) - middle)
    if config.hold_out == "square":
        held_out = (away < math.sqrt(config.share) * config.grid / 2).all(0)
    else:
        held_out = (away < (1 - math.sqrt(1 - config.share)) * config.grid / 2).any(0)
    split = np.full(len(x), "ood", dtype="<U7")
    inside = np.flatnonzero(~held_out)
    shuffled = np.random.default_rng(config.split_seed).permutation(inside)
    tenth = len(inside) // 10
    split[shuffled] = "train"
    split[shuffled[:tenth]] = "val"
    split[shuffled[tenth : 2 * tenth]] = "id_test"
    return split
