"""What the benchmarks ask, and how a readout, an input or a training set answers."""

from __future__ import annotations

import numpy as np

from book.schematics.pen import Pen

SIDE = 13  # pixels of a drawn plane


def profile(at: float, width: float = 1.3) -> np.ndarray:
    """A bump along one axis of a drawn plane."""
    return np.exp(-0.5 * ((np.arange(SIDE) - at) / width) ** 2).round(1)


def readout() -> Pen:
    """A product of two profiles draws what was held out; a sum of pictures has only what it saw."""
    pen = Pen(
        "readout",
        "A product readout and a flat readout",
        "Left: a profile along y times a profile along x is an image of a bump, also at positions "
        "that were held out. Right: a weighted sum of pictures that were seen in training, none of "
        "which has a bump inside the dashed hold-out.",
        210,
    )
    x, y, cell = profile(6.5), profile(6), 7
    pen.say(88, 16, "product readout", "strong")
    pen.tile(20, 46, y[:, None], cell)
    pen.tile(42, 24, x[None, :], cell)
    pen.tile(42, 46, np.outer(y, x), cell, "plain")
    hold_out(pen, 42, 46, cell)
    pen.say(88, 158, "column × row: bump", size=12)
    pen.say(88, 174, "x and y are learned apart,", "quiet", size=11)
    pen.say(88, 188, "and meet anywhere", "quiet", size=11)

    pen.say(268, 16, "flat readout", "strong")
    small = 2.6
    seen = [(6.5, 1.5), (1.5, 6), (6.5, 11)]
    for i, (across, down) in enumerate(seen):
        top = 24 + 44 * i
        pen.tile(196, top, np.outer(profile(down), profile(across)), small)
        hold_out(pen, 196, top, small)
        if i < 2:
            pen.say(215.5, top + 41, "+", size=11)
    drawn = np.mean([np.outer(profile(down), profile(across)) for across, down in seen], axis=0)
    pen.arrow((242, 88), (262, 88))
    pen.tile(266, 46, drawn.round(1), cell, "plain")
    hold_out(pen, 266, 46, cell)
    pen.say(278, 174, "what was seen adds up", "quiet", size=11)
    pen.say(278, 188, "to nothing new inside", "quiet", size=11)
    pen.say(278, 158, "sum of pictures: no bump", size=12)
    pen.say(180, 206, "dashed: positions that training left out", "miss", size=11)
    return pen


def hold_out(pen: Pen, x: float, y: float, cell: float) -> None:
    """The dashed frame of the positions that training left out, in a plane with its corner at (x, y)."""
    at, side = 3.5 * cell, 6 * cell
    pen.put("rect", "frame miss", x=x + at, y=y + at, width=side, height=side)


def inputs() -> Pen:
    """Three ways to tell a network which forces act: flags, gated blocks, tokens."""
    pen = Pen(
        "inputs",
        "Literal, gated and token input",
        "Literal: the state once, and a flag for each of four forces. Gated: the state once per "
        "force, and zeros where a force does not act. Tokens: each force and pair of bodies "
        "is read by itself, and the codes are added.",
        250,
    )
    acts = (1, 0, 1, 0)
    pen.say(10, 18, "literal", "start strong")
    pen.say(350, 18, "the state once, and which forces act", "end quiet", size=11)
    _block(pen, 10, 28, 96, "plain")
    for i, on in enumerate(acts):
        _block(pen, 116 + 18 * i, 28, 14, "use" if on else "")
    pen.arrow((196, 38), (232, 38))
    _network(pen, 236, 28)

    pen.say(10, 84, "gated", "start strong")
    pen.say(350, 84, "the state once per force that acts, else zeros", "end quiet", size=11)
    for i, on in enumerate(acts):
        _block(pen, 10 + 45 * i, 94, 40, "use" if on else "")
    pen.arrow((196, 104), (232, 104))
    _network(pen, 236, 94)

    pen.say(10, 150, "tokens", "start strong")
    pen.say(350, 150, "a token for each force and pair of bodies", "end quiet", size=11)
    for row in range(3):
        top = 160 + 27 * row
        _block(pen, 10, top, 30, "use")
        pen.arrow((46, top + 10), (80, top + 10))
        _network(pen, 84, top)
        pen.arrow((168, top + 10), (222, 194 + 4 * (row - 1)))
    pen.put("circle", "frame use", cx=234, cy=194, r=10)
    pen.say(234, 198, "+")
    pen.arrow((246, 194), (276, 194))
    pen.say(280, 198, "motion", "start")
    pen.say(180, 247, "outlined: zeros", "quiet", size=11)
    for y in (38, 104):
        pen.arrow((320, y), (332, y))
    return pen


def _block(pen: Pen, x: float, y: float, width: float, kind: str) -> None:
    if kind:
        pen.put("rect", f"ink {kind}", x=x, y=y, width=width, height=20)
    pen.put("rect", "frame", x=x, y=y, width=width, height=20)


def _network(pen: Pen, x: float, y: float) -> None:
    pen.put("rect", "frame use", x=x, y=y, width=82, height=20, rx=5)
    pen.say(x + 41, y + 14.5, "network", size=11)


def stripes() -> Pen:
    """What a decoder draws at a held-out position after stripes, and after stripes and some bumps."""
    pen = Pen(
        "stripes",
        "Forced Rendering: stripes, then bumps",
        "Training shows vertical stripes for a value of x and horizontal stripes for a value of y. "
        "Asked for both, a network draws a cross; with some bumps outside the hold-out in training "
        "it draws a bump.",
        186,
    )
    cell, x, y, flat = 6, profile(7), profile(6), np.ones(SIDE)
    side = SIDE * cell
    pen.say(96, 16, "trained on", "strong")
    pen.say(292, 16, "asked for both", "strong")
    pen.tile(10, 26, np.outer(flat, x), cell, "plain")
    pen.tile(10 + side + 18, 26, np.outer(y, flat), cell, "plain")
    pen.say(10 + side + 9, 70, "+")
    pen.arrow((200, 65), (246, 65))
    cross = np.clip(np.outer(flat, x) + np.outer(y, flat), 0, 2) / 2
    pen.tile(253, 26, cross.round(1), cell)
    pen.say(292, 120, "stripes: a cross", size=11)
    pen.say(49, 120, "x alone", size=11)
    pen.say(145, 120, "y alone", size=11)
    bump = np.outer(profile(2), profile(2)) + np.outer(profile(10), profile(3))
    pen.tile(114, 132, bump.round(1), 3.5)
    pen.say(104, 158, "and some bumps", "end", size=11)
    pen.arrow((172, 155), (258, 155))
    pen.tile(266, 132, np.outer(y, x).round(1), 3.5)
    pen.say(318, 158, "bump", "start", size=11)
    return pen
