"""What readers call the sets of test images."""

from __future__ import annotations

import re

DIGITS = {
    "id": "single",
    "add2": "sum of 2",
    "sub2": "difference",
    "add3": "sum of 3",
    "addsub4": "sums less sums",
    "max2": "maximum of 2",
    "max3": "maximum of 3",
    "max5": "maximum of 5",
    "occlude0": "half black",
    "occlude1": "half white",
    "stripes0": "black stripes",
    "stripes1": "white stripes",
    "invert": "inverted",
    "salt_pepper": "salt and pepper",
}


def said(name: str) -> str:
    """The name of a set in words: "sum of 2" for add2, "RTS ×2, 3 digits" for RTS_x2_3d."""
    moved = re.sub(r"_x([\d.]+)", r" ×\1", re.sub(r"_(\d)d$", r", \1 digits", name))
    return DIGITS.get(name, moved)
