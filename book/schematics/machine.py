"""How a Vector Network works: a layer, a sweep of the settle, hidden pixels, a start that is learned,
and the reading from the top.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from book.schematics import segments
from book.schematics.pen import Pen

CELL = 4  # units a pixel
ROWS, COLUMNS = segments.SHAPE
WIDE, HIGH = COLUMNS * CELL, ROWS * CELL
SWEEPS = 400  # until the code rests
# Vectors of an interface and of an input for the matrices of rank 1; any would do.
OUT = np.array([[1, 0, 1, 0, 0, 1], [0, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 1]], dtype=float)
IN = np.array([[0, 1, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0], [0, 1, 0, 0, 1, 1]], dtype=float)


def layer() -> Pen:
    """From an image to its few atoms, and from these to their sum and their operator."""
    x = segments.image(segments.DIGITS[3])
    code = segments.settle(x, SWEEPS)
    used = [k for k in np.argsort(-code, kind="stable") if code[k] > 1e-6]
    pen = Pen(
        "layer",
        "A layer of a Vector Network",
        "An image of the digit 3. A settle finds coefficients for a library of ten atoms, of which "
        f"{len(used)} are not zero. These atoms add up to the digit, and their matrices of rank 1 "
        "to the operator of this input.",
        290,
    )
    pen.say(24, 18, "input", "strong")
    pen.tile(24 - WIDE / 2, 27, x, CELL, "plain")
    pen.arrow((42, 45), (84, 45))
    pen.say(62, 37, "settle", size=11)
    pen.say(222, 18, "library of atoms", "strong")
    _library(pen, 92, 27, code, used)
    pen.say(84, 90, "code", "end strong")
    pen.say(222, 114, "most coefficients are zero", "quiet", size=11)

    pen.say(10, 144, "The few in use add up to the input", "start strong")
    pen.say(10, 214, "and compose an operator for this input", "start strong")
    places = [10 + 86 * i for i in range(len(used))]
    for i, (place, k) in enumerate(zip(places, used, strict=True)):
        sign = "=" if k == used[-1] else "+"
        pen.say(place, 176, f"{code[k]:.1f} ×", "start")
        pen.tile(place + 36, 154, segments.image(segments.LIBRARY[k]), CELL)
        pen.say(place + 70, 176, sign)
        pen.tile(place + 12, 224, OUT[i][:, None], 6)
        pen.tile(place + 21, 224, np.outer(OUT[i], IN[i]), 6)
        pen.say(place + 70, 246, sign)
    last = 10 + 86 * len(used)
    pen.tile(last + 12, 154, _reconstruction(code), CELL, "plain")
    whole = (OUT[: len(used)].T * code[used]) @ IN[: len(used)]
    pen.tile(last + 4, 224, whole / whole.max(), 6)
    pen.say(last + 46, 246, "W(x)", "start formula")
    pen.say(10, 282, "a matrix of rank 1 each", "start quiet", size=11)
    pen.say(350, 282, f"rank {len(used)}, as atoms in use", "end quiet", size=11)
    return pen


def _library(pen: Pen, x: float, y: float, code: np.ndarray, used: list[int]) -> None:
    """The library in a row, with the coefficients below it."""
    left = [x + 27 * k for k in range(len(code))]
    for k, name in enumerate(segments.LIBRARY):
        pen.tile(left[k], y, segments.image(name), CELL, "use" if k in used else "idle")
    pen.bars(left, y + HIGH + 36, code, 14, WIDE)


def _reconstruction(code: np.ndarray) -> np.ndarray:
    return np.clip((segments.dictionary() @ code).reshape(segments.SHAPE), -1, 1)


def settle() -> Pen:
    """One sweep: what is still missing is compared with all atoms, and the code takes a step."""
    pen = Pen(
        "settle",
        "A sweep of the settle",
        "The weighted sum of the atoms is taken from the input. What is missing is compared with "
        "every atom, the coefficients take a step and shrink, and small ones become zero. Then the "
        "sweep begins again.",
        246,
    )
    x = segments.image(segments.DIGITS[3])
    before, after = segments.settle(x, 1), segments.settle(x, 2)
    missing = x - _reconstruction(before)
    pull = segments.dictionary().T @ missing.ravel()
    for place, name, image, kind in (
        (24, "input", x, "plain"),
        (106, "sum of atoms", _reconstruction(before), "use"),
        (206, "missing", np.clip(missing, 0, 1), "miss"),
    ):
        pen.say(place, 16, name, "strong")
        pen.tile(place - WIDE / 2, 24, image, CELL, kind)
    pen.say(62, 46, "−", size=16)
    pen.say(156, 46, "=", size=16)
    pen.arrow((222, 42), (290, 42), (290, 82))
    pen.say(298, 60, "compare", "start quiet", size=11)
    pen.say(298, 74, "with atoms", "start quiet", size=11)
    left = [236 + 11 * k for k in range(len(pull))]
    pen.bars(left, 122, np.maximum(pull, 0), 16, 8)
    pen.say(290, 138, "how well each fits", size=11)
    pen.arrow((274, 146), (274, 190), (258, 190))
    pen.say(282, 172, "a step, then", "start quiet", size=11)
    pen.say(282, 186, "shrink:", "start quiet", size=11)
    pen.say(282, 200, "small → 0", "start quiet", size=11)
    left = [140 + 11 * k for k in range(len(after))]
    pen.bars(left, 200, after, 30, 8)
    pen.say(195, 218, "the new code", "strong")
    pen.arrow((132, 190), (106, 190), (106, 68))
    pen.say(98, 132, "weigh the", "end quiet", size=11)
    pen.say(98, 146, "atoms by it", "end quiet", size=11)
    pen.say(10, 240, "Again, until nothing is left to gain.", "start strong")
    return pen


def masked() -> Pen:
    """Hidden samples have no part in what is missing; the atoms in use go on into them."""
    pen = Pen(
        "masked",
        "A settle with hidden samples",
        "A signal whose last quarter is hidden. Only the visible part is compared with the atoms. "
        "The atoms that fit it reach into the hidden part, and their sum there is the guess.",
        196,
    )
    time = np.linspace(0, 1, 121)
    slow = 0.62 * np.sin(2 * np.pi * 2 * time)
    parts = (slow, 0.38 * np.sin(2 * np.pi * 5 * time + 0.8))
    xs, seen = 16 + 328 * time, time <= 0.75
    hidden = 16 + 328 * 0.75
    pen.put("rect", "veil", x=hidden, y=22, width=344 - hidden, height=158)
    pen.say((16 + hidden) / 2, 14, "visible: compared with the atoms", "strong")
    pen.say((hidden + 344) / 2, 14, "hidden", "strong miss")
    whole = 62 - 36 * (parts[0] + parts[1])
    pen.curve(xs[seen], whole[seen], "plain")
    pen.curve(xs[~seen], whole[~seen], "guess")
    for base, part in zip((128, 162), parts, strict=True):
        pen.curve(xs, base - 20 * part, "use")
    pen.say(16, 112, "atoms in use, each whole", "start use", size=11)
    pen.say((hidden + 344) / 2, 36, "the guess", "use", size=11)
    pen.put("line", "idle", x1=hidden, y1=22, x2=hidden, y2=180, stroke_dasharray="3 3")
    pen.say(180, 193, "time", "quiet", size=11)
    return pen


def start() -> Pen:
    """A learned guess of the code saves the first sweeps; the settle still ends where it would end."""
    pen = Pen(
        "start",
        "A settle that starts from a learned guess",
        "Energy above its lowest, on a logarithmic axis, against sweeps. From a code of zeros the energy falls in many sweeps, a guess "
        "that a network makes in one pass saves the first of them; both end at the same code.",
        214,
    )
    x = segments.image(segments.DIGITS[3])
    end = segments.settle(x, 10 * SWEEPS)
    guess = segments.settle(x, 6)  # as low as a learned one: it is worth a few sweeps
    sweeps = 3 * np.arange(17)
    low = segments.energy(x, end)
    falls = [
        [segments.energy(x, segments.settle(x, int(n), start=one)) - low for n in sweeps]
        for one in (np.zeros_like(end), guess)
    ]
    xs, decades = 52 + 17 * np.arange(17), 4
    for fall, kind in zip(falls, ("plain", "guess"), strict=True):
        depth = -np.log10(np.maximum(fall, 1e-9) / falls[0][0])
        last = 1 + int((depth < decades).sum())  # the rest is below the axis
        pen.curve(xs[:last], 44 + 124 * np.minimum(depth[:last], decades) / decades, kind)
    pen.put("line", "idle", x1=52, y1=168, x2=340, y2=168)
    pen.put("line", "idle", x1=52, y1=168, x2=52, y2=40)
    pen.say(10, 26, "energy still to lose (each tick: a tenth)", "start strong")
    for tick in range(decades + 1):
        at = 44 + 124 * tick / decades
        pen.put("line", "idle", x1=47, y1=at, x2=52, y2=at)
    pen.say(340, 186, "sweeps", "end strong")
    pen.say(170, 70, "from a code of zeros", "start")
    pen.say(110, 150, "from a guess", "start use")
    pen.say(180, 208, "Both end at the same code.", "quiet", size=11)
    return pen


def strict() -> Pen:
    """The drawing of the first layer sees the image; the strict one sees the top code alone."""
    pen = Pen(
        "strict",
        "Two ways to read a stack",
        "On the left the first layer draws what it saw from its own code. On the right the image "
        "is forgotten: the code of the first layer is inferred from the code of the top layer, and "
        "only then drawn.",
        232,
    )
    x = segments.image(segments.DIGITS[3])
    code = segments.settle(x, SWEEPS)
    for shift, title, kind in ((0, "own drawing", ""), (184, "strictly from the top", "back")):
        pen.say(shift + 84, 16, title, "strong")
        pen.tile(shift + 20, 176, x, CELL, "plain")
        pen.say(shift + 30, 226, "input", size=11)
        _boxed(pen, shift + 12, 116, code)
        _boxed(pen, shift + 12, 46, [1.2, 0, 0, 1.9, 0])
        pen.arrow((shift + 30, 172), (shift + 30, 122))
        pen.arrow((shift + 30, 86), (shift + 30, 54))
        drawn = 0.95 * _reconstruction(code) if not kind else 0.8 * _reconstruction(code)
        pen.tile(shift + 120, 176, np.clip(drawn, 0, 1), CELL)
        pen.say(shift + 130, 226, "drawn", size=11)
    pen.arrow((70, 110), (130, 110), (130, 172))
    pen.say(140, 142, "V₁ a₁", "start formula", size=12)
    pen.say(74, 40, "top code a₂", "start", size=11)
    pen.say(74, 100, "code a₁", "start", size=11)
    pen.arrow((254, 38), (314, 38), (314, 82))
    _boxed(pen, 296, 116, [one * 0.9 for one in code])
    pen.arrow((314, 122), (314, 172))
    pen.say(258, 32, "only a₂ is kept", "start", size=11)
    pen.say(306, 66, "infer a₁", "end quiet", size=11)
    pen.say(308, 146, "V₁ â₁", "end formula", size=12)
    return pen


def _boxed(pen: Pen, x: float, y: float, code: Sequence[float] | np.ndarray) -> None:
    """A code on a line at y."""
    step = 50 / len(code)
    pen.bars([x + step * k for k in range(len(code))], y, code, 11, step - 2)
