"""Motion signals: what changes in a picture of digits when each is turned, shifted or scaled (VN
Sec. 4.4, Fig. 5b, c).

A motion signal is dI = I(t+1) − I(t), in [-1, 1]. A move is four numbers, the identity is four
zeros:

- angle [degrees]: positive turns counter-clockwise, as seen;
- log_scale [1]: the size is multiplied by exp(log_scale), so positive enlarges;
- right, down [px]: the shift.

Order: scaling and rotation, about the digit's own centre (they commute), then the shift. So one
move after another is their sum, as long as the first one's shift only says where the digit's centre
is. Pixels are interpolated bilinearly, once per picture, from the given images; outside them there
is no ink, and what leaves the frame is lost.

With several digits each is shrunk to 70 %, with its centre 5 px off the middle, in directions that
divide the circle evenly; each moves by itself; the pictures before and after are the pixelwise
maxima of those of the digits.

The paper gives no ranges. Here, at magnitude m and with both signs alike: angle m · [5, 15]
degrees, log_scale m · [.05, .15], shift m · [1, 2] px in any direction, all uniform.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from data_gen.digits import PIXELS, SIZE, Images, check, check_images, generator, pick

AMOUNTS = ("angle", "log_scale", "right", "down")
UNITS = ("degrees", "1", "px", "px")
ANGLE, LOG_SCALE, SHIFT = (5.0, 15.0), (0.05, 0.15), (1.0, 2.0)  # at magnitude 1
# of several digits: size, distance from the middle [px], how many at most
SHRINK, OFF_CENTRE, MOST = 0.7, 5.0, 3
CHUNK = 256  # images warped at a time: what fits in the cache

Moves = Float[np.ndarray, "*samples amount"]


class Motion(NamedTuple):
    """What moves in a set: `kind` is "single" (one of rotation, translation, scaling) or the
    letters of those.
    """

    kind: str
    magnitude: float
    digits: int

    @property
    def name(self) -> str:
        step = "" if self.magnitude == 1 else f"_x{self.magnitude:g}"
        return f"{self.kind}{step}{'' if self.digits == 1 else f'_{self.digits}d'}"


MOTIONS = {
    motion.name: motion
    for motion in (
        *(Motion(kind, 1.0, 1) for kind in ("single", "RT", "RS", "TS", "RTS")),
        *(Motion(kind, step, 1) for kind in ("single", "RTS") for step in (1.5, 2.0, 3.0)),
        *(
            Motion(*what, digits)
            for digits in (2, 3)
            for what in (("single", 1.0), ("RTS", 1.0), ("RTS", 2.0))
        ),
    )
}
SETS = tuple(MOTIONS)


def train(images: Images, *, seed: int) -> Images:
    """One motion signal per image, float32 (sample, 28, 28): magnitude 1, a rotation, translation
    or scaling.

    Each of the three has probability 1/3.

    Raises
    ------
    ValueError
        Unless `images` is (sample, 28, 28) with ink in [0, 1].
    """
    images = check_images(images)
    check(n=len(images), seed=seed, images=images, sets=("single",), allowed=SETS)
    moves, _ = draw(len(images), 1, generator(seed, "train"))
    return warped(images, limited(moves, MOTIONS["single"])[:, 0]) - images


def make(images: Images, *, n: int, seed: int, sets: Sequence[str] = SETS) -> xr.Dataset:
    """Sets of n motion signals each, from `images` (sample, 28, 28), ink in [0, 1].

    Dimensions: set, sample (n), y, x, digit (3), amount (4). Variables: `image` = `after` −
    `before` (set, sample, y, x), float32; `parts` (set, sample, digit), the numbers of the images,
    -1: none; `move` (set, sample, digit, amount), NaN: none. Coordinates over set: `kind`,
    `magnitude`, `digits`. "single", of magnitude 1 and one digit, has the distribution of `train`.

    All sets show the same digits and scale the same drawn moves: "RTS_x2" turns, shifts and scales
    a digit twice as far as "RTS" does, in the same directions; and a sample of "single" makes one
    of the three. So sets can be compared sample by sample, and none depends on which others are
    asked for. A larger n adds to a smaller one.

    Raises
    ------
    ValueError
        For images of another shape or range, n above their number, or an unknown set.
    """
    images = check_images(images, at_least=MOST)
    check(n=n, seed=seed, images=images, sets=sets, allowed=SETS)
    parts = pick(len(images), n, MOST, seed, generator(seed, "parts"))
    moves, turn = draw(n, MOST, generator(seed, "moves"))
    frames = np.empty((2, len(sets), n, SIZE, SIZE), np.float32)
    used = np.zeros((len(sets), 1, MOST), bool)
    made = np.empty((len(sets), n, MOST, len(AMOUNTS)))
    for k, motion in enumerate(MOTIONS[name] for name in sets):
        used[k, :, : motion.digits] = True
        made[k] = limited(moves, motion)
        frames[:, k] = _frames(images[parts[:, : motion.digits]], made[k, :, : motion.digits], turn)
    before, after = frames
    picture = ("set", "sample", "y", "x")
    variables = {
        "image": (
            picture,
            after - before,
            {"units": "1", "long_name": "ink after minus ink before"},
        ),
        "before": (picture, before, {"units": "1", "long_name": "ink before the move"}),
        "after": (picture, after, {"units": "1", "long_name": "ink after the move"}),
        "parts": (
            ("set", "sample", "digit"),
            np.where(used, parts, -1),
            {"units": "1", "long_name": "number of the image, -1: none"},
        ),
        "move": (("set", "sample", "digit", "amount"), np.where(used[..., None], made, np.nan)),
    }
    coordinates = {
        "set": list(sets),
        **{
            field: ("set", [getattr(MOTIONS[name], field) for name in sets])
            for field in Motion._fields
        },
        "sample": np.arange(n),
        "amount": list(AMOUNTS),
        "unit": ("amount", list(UNITS)),
        **PIXELS,
    }
    return xr.Dataset(
        variables, coordinates, {"title": "motion signals of digits", "seed": int(seed)}
    )


def draw(
    n: int, digits: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "n digits 5"], Float[np.ndarray, " n"]]:
    """What chance decides: full moves of magnitude 1 with, last, which of R, T, S is the single
    one; a direction.

    The direction [radians] is that of the first of several digits.
    """
    chance = rng.random((n, digits * 6 + 1))
    turn = 2 * np.pi * chance[:, -1]
    sign, angle, scale, way, far, which = np.moveaxis(chance[:, :-1].reshape(n, digits, 6), -1, 0)
    # Two signs from one number: its quarter.
    quarter = np.floor(4 * sign)
    first, second = 2 * (quarter % 2) - 1, 2 * (quarter // 2) - 1
    length = SHIFT[0] + (SHIFT[1] - SHIFT[0]) * far
    amounts = (
        first * (ANGLE[0] + (ANGLE[1] - ANGLE[0]) * angle),
        second * (LOG_SCALE[0] + (LOG_SCALE[1] - LOG_SCALE[0]) * scale),
        length * np.cos(2 * np.pi * way),
        length * np.sin(2 * np.pi * way),
        np.floor(3 * which),
    )
    return np.stack(amounts, -1), turn


def limited(drawn: Float[np.ndarray, "n digits 5"], motion: Motion) -> Moves:
    """The moves that a set makes of those that `draw` gave: times its magnitude, without what its
    kind leaves out.
    """
    letters = np.array(["R", "S", "T", "T"])  # of the amounts
    single = np.array(["R", "T", "S"])[drawn[..., -1].astype(int)]
    keep = (
        letters == single[..., None]
        if motion.kind == "single"
        else np.isin(letters, list(motion.kind))
    )
    return np.where(keep, motion.magnitude * drawn[..., :-1], 0.0)


def warped(images: Images, moves: Float[np.ndarray, "sample 4"]) -> Images:
    """Each image (y, x) after its move (angle, log_scale, right, down), about the middle of the
    frame; float32.

    The ink at a pixel is read, bilinearly, where the inverse move takes the pixel; 0 outside the
    image. A shift by whole pixels is exact, and the identity changes no bit.
    """
    moves = np.asarray(moves, np.float64)
    if moves.shape != (len(images), len(AMOUNTS)):
        raise ValueError(f"moves must have shape {(len(images), len(AMOUNTS))}, got {moves.shape}")
    result = np.empty(images.shape, np.float32)
    for start in range(0, len(images), CHUNK):
        part = slice(start, start + CHUNK)
        result[part] = _warped(images[part], moves[part])
    return result


def _warped(images: Images, moves: Float[np.ndarray, "sample 4"]) -> Images:
    angle, log_scale, right, down = moves.T[:, :, None, None]
    height, width = images.shape[1:]
    y = np.arange(height)[:, None] - (height - 1) / 2 - down
    x = np.arange(width) - (width - 1) / 2 - right
    shrink = np.exp(-log_scale)
    cosine, sine = shrink * np.cos(np.deg2rad(angle)), shrink * np.sin(np.deg2rad(angle))
    # One ring of empty pixels around the image, so that all that is outside of it reads 0.
    framed = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    row = np.clip(sine * x + cosine * y + (height + 1) / 2, 0, height + 1)
    column = np.clip(cosine * x - sine * y + (width + 1) / 2, 0, width + 1)
    top, left = np.minimum(row.astype(np.int64), height), np.minimum(column.astype(np.int64), width)
    lower, further = (row - top).astype(np.float32), (column - left).astype(np.float32)
    ink = framed.ravel()
    corner = (np.arange(len(images))[:, None, None] * (height + 2) + top) * (width + 2) + left
    above = ink[corner] * (1 - further) + ink[corner + 1] * further
    below = ink[corner + width + 2] * (1 - further) + ink[corner + width + 3] * further
    return above * (1 - lower) + below * lower


def _frames(
    images: Float[np.ndarray, "sample digit y x"],
    moves: Float[np.ndarray, "sample digit 4"],
    turn: Float[np.ndarray, " sample"],
) -> Float[np.ndarray, "2 sample y x"]:
    """The pictures before and after the digits have moved."""
    digits = images.shape[1]
    place = np.zeros(moves.shape)
    if digits > 1:
        direction = turn[:, None] + 2 * np.pi * np.arange(digits) / digits
        place[..., 1] = np.log(SHRINK)
        place[..., 2:] = OFF_CENTRE * np.stack([np.cos(direction), np.sin(direction)], -1)
    return np.stack(
        [
            np.max([warped(images[:, d], move[:, d]) for d in range(digits)], axis=0)
            for move in (place, place + moves)
        ]
    )
