"""What single chapters ask: of a digit between two angles, of what is read before training and after it,
of codes, and of a network whose parts are replaced.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from book.schematics.pen import Pen
from book.schematics.tasks import SIDE, hold_out, profile

STROKES = (((0.3, -0.8), (-0.6, 0.3)), ((-0.6, 0.3), (0.6, 0.3)), ((0.3, -0.8), (0.3, 0.8)))
PARTS = ("input", "atoms", "inference", "readout", "learning")
INSIDE = range(4, 9)  # rows and columns that training left out


def _turned(degrees: float, side: int = 23) -> np.ndarray:
    """A picture of a 4, turned about its middle."""
    across, down = np.meshgrid(*2 * [np.linspace(-1.1, 1.1, side)])
    angle = np.deg2rad(degrees)
    x = np.cos(angle) * across + np.sin(angle) * down
    y = np.cos(angle) * down - np.sin(angle) * across
    far = np.full(x.shape, np.inf)
    for start, end in np.array(STROKES):
        along = end - start
        share = ((x - start[0]) * along[0] + (y - start[1]) * along[1]) / (along @ along)
        near = np.clip(share, 0, 1)
        far = np.minimum(
            far, np.hypot(x - start[0] - near * along[0], y - start[1] - near * along[1])
        )
    return np.clip(1.5 - far / 0.12, 0, 1).round(1)


def gap() -> Pen:
    """The last picture before a gap of angles and the first after it; in the gap, a turn or a blend."""
    pen = Pen(
        "gap",
        "A digit between two angles",
        "Training shows a digit at angles up to 160 degrees and from 200 degrees on. Asked for 180 "
        "degrees, a network may turn the digit, or lay the two nearest pictures over each other.",
        222,
    )
    cell, side = 3, 23 * 3
    for x, degrees in ((30, 160), (261, 200)):
        pen.tile(x, 26, _turned(degrees), cell, "plain")
        pen.say(x + side / 2, 18, f"{degrees}°", "strong")
    pen.say(180, 18, "180°: left out", "miss")
    pen.put("rect", "frame miss", x=180 - side / 2, y=26, width=side, height=side)
    pen.say(180, 66, "?", size=20)
    pen.arrow((106, 60), (138, 60))
    pen.arrow((254, 60), (222, 60))
    pen.arrow((164, 102), (110, 126))
    pen.arrow((196, 102), (250, 126))
    pen.tile(70 - side / 2 + 10, 132, _turned(180), cell)
    blend = (_turned(160) + _turned(200)) / 2
    pen.tile(290 - side / 2 - 10, 132, blend.round(1), cell)
    pen.say(80, 216, "a turn", "strong")
    pen.say(280, 216, "a blend of both", "strong")
    return pen


def parts() -> Pen:
    """A target as one product, and as a sum of a part for x, a part for y, and one for both."""
    pen = Pen(
        "parts",
        "A product, and a sum of parts",
        "What one pixel does while a bump moves over all positions. It is a single product of a "
        "function of x and one of y. As a sum it has a part for x, a part for y, and a larger one "
        "that depends on both.",
        212,
    )
    x, y = profile(6, 1.8), profile(6, 1.8)
    whole = np.outer(y, x)
    cell, side = 5, SIDE * 5
    pen.say(42, 72, "a pixel", "strong")
    pen.tile(10, 80, whole.round(1), cell, "plain")
    pen.say(42, 160, "over x and y", size=11)
    pen.arrow((80, 100), (124, 52))
    pen.arrow((80, 124), (124, 172))
    pen.say(236, 16, "one product", "strong")
    pen.tile(160, 26, y[:, None], cell)
    pen.say(188, 62, "×")
    pen.tile(204, 26 + side / 2 - 2.5, x[None, :], cell)
    pen.say(236, 112, "one sum: x + y + both", "strong")
    split = effects(whole)
    largest = max(np.abs(part).max() for part in split)
    for left, part in zip((132, 210, 288), split, strict=True):
        pen.tile(left, 126, (part / largest).round(1), cell)
        if left < 288:
            pen.say(left + side + 6.5, 162, "+")
    pen.say(10, 206, "orange: negative", "start miss", size=11)
    pen.say(164, 206, "x alone", size=11)
    pen.say(242, 206, "y alone", size=11)
    pen.say(320, 206, "both", "strong", size=11)
    return pen


def effects(whole: np.ndarray) -> list[np.ndarray]:
    """What of an image, about its mean, depends on x alone, on y alone, and on both."""
    about = whole - whole.mean()
    of_x = np.broadcast_to(about.mean(axis=0), about.shape)
    of_y = np.broadcast_to(about.mean(axis=1, keepdims=True), about.shape)
    return [of_x, of_y, about - of_x - of_y]


def kernel() -> Pen:
    """The weights of the two-factor kernel at a held-out position, what it draws, and a trained decoder."""
    pen = Pen(
        "kernel",
        "What a kernel says of a held-out position",
        "A plane of positions, of which a square in the middle was left out of training. The "
        "two-factor kernel has weight on positions of training that share x or y with the one that "
        "is asked for. It draws a column and a row; the bump is drawn only by decoders that "
        "compose, once trained.",
        190,
    )
    cell, at = 8, 6
    weight = np.zeros((SIDE, SIDE))
    weight[at], weight[:, at] = 0.5, 0.5
    weight[np.ix_(INSIDE, INSIDE)] = 0
    pen.say(10, 16, "weights of the kernel", "start strong")
    pen.tile(20, 26, weight, cell)
    inside = len(INSIDE) * cell
    corner = (20 + INSIDE[0] * cell, 26 + INSIDE[0] * cell)
    pen.put("rect", "frame miss", x=corner[0], y=corner[1], width=inside, height=inside)
    pen.put("circle", "frame use", cx=20 + (at + 0.5) * cell, cy=26 + (at + 0.5) * cell, r=7)
    pen.say(10, 148, "circle: what is asked for", "start", size=11)
    pen.say(10, 164, "blue: training with the same", "start use", size=11)
    pen.say(10, 180, "x or y", "start use", size=11)
    pen.arrow((134, 78), (166, 78))
    small = 6
    pen.say(210, 16, "kernel", "strong")
    pen.tile(172, 39, drawn_by_kernel(at).round(1), small)
    pen.say(210, 134, "column + row", size=11)
    pen.say(308, 16, "a decoder", "strong")
    pen.tile(270, 39, np.outer(profile(at), profile(at)), small, "plain")
    pen.say(308, 134, "that composes,", size=11)
    pen.say(308, 148, "once trained", size=11)
    return pen


def drawn_by_kernel(at: int) -> np.ndarray:
    """What regression with the two-factor kernel draws at a held-out position, over its largest pixel."""
    y, x = np.divmod(np.arange(SIDE**2), SIDE)
    held = np.isin(y, INSIDE) & np.isin(x, INSIDE)
    images = np.stack([np.outer(profile(b), profile(a)).ravel() for a, b in zip(x, y, strict=True)])
    like = ((y[:, None] == y) * 0.5 + (x[:, None] == x) * 0.5)[:, ~held]
    drawn = like[at * SIDE + at] @ np.linalg.pinv(like[~held], hermitian=True) @ images[~held]
    return drawn.reshape(SIDE, SIDE) / np.abs(drawn).max()


def codes() -> Pen:
    """Codes of all combinations of two factors: a sum at right angles, a sum aslant, no sum."""
    pen = Pen(
        "codes",
        "Codes of two factors",
        "Every crossing is the code of one combination of two factors. Left: a sum of a part for "
        "each factor, the parts orthogonal, so that lines cross at right angles. Middle: a sum, but "
        "the parts overlap, so that lines are aslant. Right: no sum, so that lines bend.",
        166,
    )
    steps = np.linspace(-1, 1, 5)
    u, v = np.meshgrid(steps, steps)
    shown = (
        (62, "a sum, orthogonal", 0.8 * u, 0.8 * v),
        (180, "a sum, overlapping", 0.68 * u + 0.34 * v, 0.3 * u + 0.68 * v),
        (298, "no sum", 0.8 * u * (1 - 0.45 * v), 0.75 * v + 0.55 * u**2 - 0.3),
    )
    for middle, name, across, down in shown:
        xs, ys = middle + 50 * across, 72 - 50 * down
        for i in range(len(steps)):
            pen.curve(xs[i], ys[i], "use")
            pen.curve(xs[:, i], ys[:, i], "plain")
        pen.say(middle, 140, name, size=11)
    pen.say(10, 161, "blue: the first factor changes", "start use", size=11)
    pen.say(350, 161, "other lines: the second", "end", size=11)
    return pen


def swaps() -> Pen:
    """A network, parts of it replaced in turn, and whether the bump in the hold-out is still drawn."""
    pen = Pen(
        "swaps",
        "One part replaced at a time",
        "The five parts of a Vector Network for positions. As it is, it draws the bump that "
        "training left out; with atoms that were never learned it still does, less exactly. Reading "
        "the image instead of a code it does not. With a flat readout it does not either, but that "
        "changes other parts, too.",
        232,
    )
    for i, part in enumerate(PARTS):
        pen.say(38 + 52 * i, 16, part, size=11)
    bump = np.outer(profile(6), profile(6))
    blur = np.outer(profile(6, 4.5), profile(6, 4.5)) * 0.4
    around = np.mean(
        [np.outer(profile(y), profile(x)) for x, y in ((6, 0), (0, 6), (6, 12), (12, 6))], 0
    )
    for row, (replaced, drawn) in enumerate(
        (
            ((), bump),
            (("learning",), 0.9 * bump),
            (("input",), blur),
            (("atoms", "inference", "readout", "learning"), around),
        )
    ):
        top = 26 + 48 * row
        _row(pen, top, replaced)
        pen.arrow((270, top + 20), (296, top + 20))
        pen.tile(304, top, drawn.round(1), 3.1)
        hold_out(pen, 304, top, 3.1)
    pen.say(140, 226, "dashed: replaced", "miss", size=11)
    return pen


def _row(pen: Pen, top: float, replaced: Sequence[str]) -> None:
    for i, part in enumerate(PARTS):
        left = 16 + 52 * i
        if part in replaced:
            pen.put("rect", "frame miss", x=left, y=top + 8, width=44, height=24)
        else:
            pen.put("rect", "ink use", x=left, y=top + 8, width=44, height=24)
