"""Digits, composed and damaged: what a model of single digits has never seen (VN Sec. 4.4,
Fig. 5a).

In the formulas x, y, z, u, v are different digits, pixel by pixel, with ink in [0, 1]; nothing is
clipped. Each set is drawn by its own generator, from the seed and the set's name, so it does not
depend on which other sets are asked for; x is the same in all of them. The paper names the kinds of
sets but gives no formulas: these are this book's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from data_gen import guards

SIZE = 28  # px
BLOCK = 10  # px, side of what is covered or inverted
CORNERS = (4, 14)  # first and last row (column) of a block's upper left corner
MIDDLE = slice(4, 24)  # rows and columns where digits have their ink
EVERY = 4  # rows from stripe to stripe
NOISE = 0.05  # share of salt, and of pepper

Images = Float[np.ndarray, "sample y x"]
Parts = Float[np.ndarray, "part sample y x"]
Generator = np.random.Generator
Compose = Callable[[Parts, Generator], Images]


# --- the sets: the first line of each docstring is the formula ------------------------------------


def single(parts: Parts, rng: Generator) -> Images:
    """x"""
    return parts[0]


def add2(parts: Parts, rng: Generator) -> Images:
    """x + y"""
    return parts[0] + parts[1]


def sub2(parts: Parts, rng: Generator) -> Images:
    """x − y"""
    return parts[0] - parts[1]


def add3(parts: Parts, rng: Generator) -> Images:
    """x + y + z"""
    return parts[0] + parts[1] + parts[2]


def addsub4(parts: Parts, rng: Generator) -> Images:
    """x + y − z + u"""
    return parts[0] + parts[1] - parts[2] + parts[3]


def max2(parts: Parts, rng: Generator) -> Images:
    """max(x, y)"""
    return parts.max(0)


def max3(parts: Parts, rng: Generator) -> Images:
    """max(x, y, z)"""
    return parts.max(0)


def max5(parts: Parts, rng: Generator) -> Images:
    """max(x, y, z, u, v)"""
    return parts.max(0)


def occlude0(parts: Parts, rng: Generator) -> Images:
    """x, but 0 in a block of 10 × 10 px

    Row and column of the block's upper left corner are drawn from 4, ..., 14.
    """
    return np.where(_block(parts[0], rng), 0, parts[0])


def occlude1(parts: Parts, rng: Generator) -> Images:
    """x, but 1 in a block of 10 × 10 px

    The corner is drawn as in `occlude0`.
    """
    return np.where(_block(parts[0], rng), 1, parts[0])


def stripes0(parts: Parts, rng: Generator) -> Images:
    """x, but 0 in every fourth row

    Those are the rows 0, 4, ..., 24.
    """
    image = parts[0].copy()
    image[:, ::EVERY] = 0
    return image


def stripes1(parts: Parts, rng: Generator) -> Images:
    """x, but 1 in every fourth row of the middle 20 × 20 px

    Those are the rows 4, 8, ..., 20, in columns 4 to 23.
    """
    image = parts[0].copy()
    image[:, MIDDLE.start : MIDDLE.stop : EVERY, MIDDLE] = 1
    return image


def invert(parts: Parts, rng: Generator) -> Images:
    """x, but 1 − x in a block of 10 × 10 px

    The corner is drawn as in `occlude0`.
    """
    return np.where(_block(parts[0], rng), 1 - parts[0], parts[0])


def salt_pepper(parts: Parts, rng: Generator) -> Images:
    """x, but each pixel 0 with probability 5 %, 1 with probability 5 %"""
    chance = rng.random(parts[0].shape)
    return np.where(chance < NOISE, 0, np.where(chance >= 1 - NOISE, 1, parts[0]))


# Name of the set -> its family, the number of digits in an image, and what is made of them.
GENERATORS: dict[str, tuple[str, int, Compose]] = {
    "id": ("id", 1, single),
    "add2": ("add/subtract", 2, add2),
    "sub2": ("add/subtract", 2, sub2),
    "add3": ("add/subtract", 3, add3),
    "addsub4": ("add/subtract", 4, addsub4),
    "max2": ("max", 2, max2),
    "max3": ("max", 3, max3),
    "max5": ("max", 5, max5),
    "occlude0": ("corruption", 1, occlude0),
    "occlude1": ("corruption", 1, occlude1),
    "stripes0": ("corruption", 1, stripes0),
    "stripes1": ("corruption", 1, stripes1),
    "invert": ("corruption", 1, invert),
    "salt_pepper": ("corruption", 1, salt_pepper),
}
SETS = tuple(GENERATORS)
FORMULAS = {
    name: (compose.__doc__ or "").partition("\n")[0] for name, (_, _, compose) in GENERATORS.items()
}
MOST = max(count for _, count, _ in GENERATORS.values())


def make(images: Images, *, n: int, seed: int, sets: Sequence[str] = SETS) -> xr.Dataset:
    """Sets of n images each, made of `images` (sample, 28, 28), ink in [0, 1].

    Dimensions: set, sample (n), y, x, part (5). Variables: `image` (set, sample, y, x), float32,
    from -1 to 3; `parts` (set, sample, part), the numbers of the digits it was made of, in the
    formula's order, -1: none. Coordinate `family` (set): "id", "add/subtract", "max" or
    "corruption". The digits of an image are different ones, and the first one is the same in all
    sets, a different one in every sample. A larger n adds to a smaller one.

    Raises
    ------
    ValueError
        For images of another shape or range, n above their number, or an unknown set.
    """
    images = check_images(images, at_least=MOST)
    check(n=n, seed=seed, images=images, sets=sets, allowed=SETS)
    drawn = np.empty((len(sets), n, SIZE, SIZE), np.float32)
    parts = np.full((len(sets), n, MOST), -1)
    for k, name in enumerate(sets):
        _, count, compose = GENERATORS[name]
        rng = generator(seed, name)
        parts[k, :, :count] = pick(len(images), n, count, seed, rng)
        drawn[k] = compose(images[parts[k, :, :count].T], rng)
    variables = {
        "image": (
            ("set", "sample", "y", "x"),
            drawn,
            {"units": "1", "long_name": "ink of one digit is 0 to 1"},
        ),
        "parts": (
            ("set", "sample", "part"),
            parts,
            {"units": "1", "long_name": "number of the digit, -1: none"},
        ),
    }
    coordinates = {
        "set": list(sets),
        "family": ("set", [GENERATORS[name][0] for name in sets]),
        "sample": np.arange(n),
        **PIXELS,
    }
    return xr.Dataset(
        variables, coordinates, {"title": "digits, composed and damaged", "seed": int(seed)}
    )


# --- shared with `data_gen.motions` ---------------------------------------------------------------

PIXELS = {
    "y": ("y", np.arange(SIZE), {"units": "px", "long_name": "row, from the top"}),
    "x": ("x", np.arange(SIZE), {"units": "px", "long_name": "column"}),
}


def generator(seed: int, name: str) -> Generator:
    """A stream of random numbers for each seed and name."""
    return np.random.default_rng([int(seed), *name.encode()])


def pick(of: int, n: int, count: int, seed: int, rng: Generator) -> Int[np.ndarray, "n count"]:
    """For each of n samples `count` different numbers below `of`.

    The first ones depend on `seed` alone and are all different; the others are drawn by `rng`.
    """
    first = generator(seed, "first").permutation(of)[:n, None]
    chance = rng.random((n, count - 1))
    for k in range(count - 1):
        # A number among those that are left: counted past the ones taken, in rising order.
        number = (chance[:, k] * (of - 1 - k)).astype(np.int64)
        for taken in np.sort(first, axis=1).T:
            number += number >= taken
        first = np.column_stack([first, number])
    return first


def check_images(images: Images, *, at_least: int = 1) -> Images:
    """`images` as float32; ValueError unless they are (sample, 28, 28), enough of them, all ink in
    [0, 1].
    """
    images = np.asarray(images, np.float32)
    if images.ndim != 3 or images.shape[1:] != (SIZE, SIZE) or len(images) < at_least:
        wanted = f"(sample, {SIZE}, {SIZE}) with at least {at_least} samples"
        raise ValueError(f"images must have shape {wanted}, got {images.shape}")
    if not (images.min() >= 0 and images.max() <= 1):  # so written, it refuses NaN
        raise ValueError(
            f"images must have their ink in [0, 1], got {images.min()} to {images.max()}"
        )
    return images


def check(
    *, n: int, seed: int, images: Images, sets: Sequence[str], allowed: Sequence[str]
) -> None:
    """Raise ValueError for arguments of `make` that are not allowed."""
    guards.seeds(seed=seed)
    for name, value, low, high in (("n", n, 1, len(images)), ("seed", seed, 0, None)):
        integer = isinstance(value, Integral) and not isinstance(value, bool)
        if not integer or value < low or (high is not None and value > high):
            wanted = f">= {low}" if high is None else f"from {low} to {high}, the number of images"
            raise ValueError(f"{name} must be an integer {wanted}, got {value!r}")
    unknown = (
        [name for name in sets if name not in allowed] if not isinstance(sets, str) else [sets]
    )
    if unknown or not sets or len(set(sets)) != len(sets):
        raise ValueError(f"sets must be different ones of {', '.join(allowed)}, got {sets!r}")


def _block(images: Images, rng: Generator) -> np.ndarray:
    """Where a block of 10 x 10 px lies in each image, its corner drawn; bool (sample, y, x)."""
    row, column = rng.integers(CORNERS[0], CORNERS[1] + 1, (len(images), 2)).T[:, :, None]
    rows, columns = (
        (start <= np.arange(SIZE)) & (np.arange(SIZE) < start + BLOCK) for start in (row, column)
    )
    return rows[:, :, None] & columns[:, None, :]
