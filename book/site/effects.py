"""A value with its interval against the bound that it should keep, in words and as a drawing.

The drawing is of margins: the bound stands in the middle, and what is right of it keeps it. Its axis
is that of the logarithm of a ratio and the same for all, so drawings compare.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf, isfinite, log
from xml.etree import ElementTree as xml

from vnlib.plots.statistics import raised, short

ONE = re.compile(r"[<>≤≥] 1(?![\d.])")  # a bound of 1 that a sentence names
REACH = log(10)  # the margin at the ends of the axis
WIDTH, HEIGHT, EDGE = 120, 14, 6  # pixels; beside the axis there is room for arrowheads


def told(contrast: Mapping, says: str) -> str:
    """A value and its interval, to two digits; of yes and no also how many resamples say yes. That it is
    the ratio of two values is said where the sentence, which compares them, does not.
    """
    if contrast["kind"] == "yes or no":
        share = contrast["share"]
        word = "yes" if contrast["margin"][0] > 0 else "no"
        return word if share in (0, 1) else f"{word}; yes in {100 * share:.0f} % of resamples"
    form = whole if contrast["kind"] == "count" else number
    middle, *ends = contrast["value"]
    ratio = contrast["kind"] == "log ratio" and contrast["bound"] == 1 and not ONE.search(says)
    low, high = ends if contrast["sign"][0] == ">" else ends[::-1]
    least = "∞" if middle is None else "0" if contrast["kind"] == "log ratio" else "−∞"
    texts = [
        none if end is None else form(end)
        for end, none in zip((middle, low, high), ("∞", least, "∞"), strict=True)
    ]
    return f"{'ratio ' if ratio else ''}{texts[0]} [{texts[1]}, {texts[2]}]"


def wanted(contrast: Mapping) -> str:
    """The bound with its sign; nothing of yes and no."""
    sign = contrast["sign"].replace("<=", "≤").replace(">=", "≥")
    bound = raised(f"{contrast['bound']:.3g}")
    return f"{sign} {bound}" if sign else ""


def number(value: float) -> str:
    """A number to two digits, its power of ten written out."""
    return raised(short(float(f"{value:.2g}") + 0.0))


def whole(count: float) -> str:
    """A count, whose digits all count."""
    return raised(short(count + 0.0))


def margins(contrast: Mapping) -> tuple[float, float, float]:
    """Estimate, lower and upper end of a margin; where the ledger has no finite number, infinite
    on that side of the bound where the value is, and outwards where that is not finite either.
    """
    side = 1 if contrast["sign"][0] == ">" else -1
    found = []
    for margin, value, outwards in zip(
        contrast["margin"], contrast["value"], (side, -1, 1), strict=True
    ):
        direction = outwards if value is None else side * (value - contrast["bound"])
        found.append(margin if margin is not None else inf if direction > 0 else -inf)
    return found[0], found[1], found[2]


def place(margin: float) -> float:
    """Where a margin is drawn [px], at most at the end of the axis."""
    half = WIDTH / 2
    return round(half + (half - EDGE) * min(max(margin / REACH, -1), 1), 1)


def unit(contrast: Mapping) -> float:
    """What is drawn as `REACH` is in margins, for an axis that ends with the largest finite one."""
    far = [abs(end) for end in margins(contrast) if isfinite(end)]
    return (max(far, default=0.0) or 1.0) / REACH


def drawing(contrast: Mapping) -> str:
    """An SVG of a value: the band in which it counts as equal to its bound, the bound, the interval
    and the estimate; an arrowhead where the interval goes on. The axis of a ratio is the same for
    all; that of a difference or a count, dashed, ends with its own largest margin. Nothing of yes
    and no.
    """
    if contrast["kind"] == "yes or no":
        return ""
    own = contrast["kind"] != "log ratio"
    scale = unit(contrast) if own else 1.0
    estimate, low, high = (end / scale for end in margins(contrast))
    middle, left, right, tip = HEIGHT / 2, EDGE, WIDTH - EDGE, EDGE - 1
    size = {"width": str(WIDTH), "height": str(HEIGHT)}
    root = xml.Element("svg", {"class": "vn-effect", "aria-hidden": "true", **size})

    def add(tag: str, name: str, **attributes: object) -> None:
        xml.SubElement(root, tag, {"class": name, **{key: f"{v}" for key, v in attributes.items()}})

    start, end = place(-contrast["band"] / scale), place(contrast["band"] / scale)
    add("rect", "vn-band", x=start, y=0, width=round(end - start, 1), height=HEIGHT)
    add("path", "vn-axis vn-own" if own else "vn-axis", d=f"M{left} {middle}H{right}")
    add("path", "vn-bound", d=f"M{place(0)} 0V{HEIGHT}")
    add("path", "vn-interval", d=f"M{place(low)} {middle}H{place(high)}")
    if low < -REACH:
        add("path", "vn-arrow", d=f"M{left} {middle - 4}v8l-{tip} -4z")
    if high > REACH:
        add("path", "vn-arrow", d=f"M{right} {middle - 4}v8l{tip} -4z")
    add("circle", "vn-estimate", cx=place(estimate), cy=middle, r=3)
    return xml.tostring(root, encoding="unicode")
