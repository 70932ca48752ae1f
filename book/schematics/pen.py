"""The grammar of the schematics: tiles are images or atoms, bars are coefficients, arrows are what is
computed from what.

Shapes carry classes and no colours: the style sheet gives these, so that drawings in a page follow
its light, dark and printed look, which no drawing library's SVG does. Blue is what is in use, grey
what is idle, orange what is missing; line styles and labels say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as xml

import numpy as np

WIDTH = 360  # units of every drawing; on a phone a unit is a little less than a pixel
SMALLEST = 11  # units of the smallest letters
STYLE = Path(__file__).parents[1] / "_static" / "schematics.css"


@dataclass
class Pen:
    """A drawing in the making, `WIDTH` units wide.

    Parameters
    ----------
    name, title, description
        What it is called in files, what it shows in a few words, and in full for those who hear it.
    height
        Units.
    """

    name: str
    title: str
    description: str
    height: float
    shapes: list[xml.Element] = field(default_factory=list)

    def put(self, tag: str, kind: str, **attributes: object) -> xml.Element:
        """A shape of a kind, which is its class in the style sheet."""
        shown = {key.rstrip("_").replace("_", "-"): _text(v) for key, v in attributes.items()}
        self.shapes.append(xml.Element(tag, {"class": kind} | shown))
        return self.shapes[-1]

    def say(self, x: float, y: float, text: str, kind: str = "", *, size: float = 12) -> None:
        """Text in the middle of x; kinds `start` and `end` set it right or left of x.

        Raises ValueError for letters that a phone would show too small.
        """
        if size < SMALLEST:
            raise ValueError(f"size must be >= {SMALLEST} units, got {size}")
        self.put("text", f"say {kind}".strip(), x=x, y=y, font_size=size).text = text

    def tile(self, x: float, y: float, image: np.ndarray, cell: float, kind: str = "use") -> None:
        """An image (rows, columns) in [-1, 1] from its upper left corner, `cell` units a pixel;
        negative pixels are those of what is missing.
        """
        rows, columns = image.shape
        self.put("rect", "paper", x=x, y=y, width=columns * cell, height=rows * cell)
        for ink in sorted({round(float(one), 2) for one in image.ravel() if abs(one) > 0.02}):
            places = np.argwhere(np.isclose(image, ink, atol=0.005))
            path = "".join(
                f"M{_text(x + c * cell)} {_text(y + r * cell)}h{cell}v{cell}h-{cell}z"
                for r, c in places
            )
            shade = {} if abs(ink) == 1 else {"opacity": abs(ink)}
            self.put("path", f"ink {kind if ink > 0 else 'miss'}", d=path, **shade)
        self.put("rect", f"frame {kind}", x=x, y=y, width=columns * cell, height=rows * cell)

    def bars(
        self,
        x: Sequence[float],
        y: float,
        values: Sequence[float] | np.ndarray,
        scale: float,
        width: float,
    ) -> None:
        """Coefficients as bars that stand on y, `scale` units high each; a dash where one is zero."""
        for left, value in zip(x, values, strict=True):
            kind = "use" if value > 0 else "miss"
            if abs(value) < 1e-9:
                self.put("line", "idle", x1=left, y1=y, x2=left + width, y2=y)
            else:
                top, high = y - max(value, 0) * scale, abs(value) * scale
                self.put("rect", f"ink {kind}", x=left, y=top, width=width, height=high)

    def arrow(self, *points: tuple[float, float], kind: str = "") -> None:
        """A line through points with a head at its last one; kind `back` dashes it."""
        path = "M" + "L".join(f"{_text(x)} {_text(y)}" for x, y in points)
        self.put("path", f"arrow {kind}".strip(), d=path)
        (x0, y0), (x, y) = points[-2:]
        along = np.array([x - x0, y - y0]) / (np.hypot(x - x0, y - y0) or 1)
        aside = np.array([-along[1], along[0]])
        base = np.array([x, y]) - 7 * along
        corners = [(x, y), tuple(base + 3.5 * aside), tuple(base - 3.5 * aside)]
        self.put("polygon", "head", points=" ".join(f"{_text(a)},{_text(b)}" for a, b in corners))

    def curve(self, xs: np.ndarray, ys: np.ndarray, kind: str) -> None:
        """A line through points."""
        path = "M" + "L".join(f"{_text(x)} {_text(y)}" for x, y in zip(xs, ys, strict=True))
        self.put("path", f"curve {kind}", d=path)

    def svg(self, *, small: bool = False, alone: bool = False) -> str:
        """The drawing as SVG text.

        Parameters
        ----------
        small
            For the head of a page: the title is its only text for those who hear it.
        alone
            As a file of its own, which brings the style sheet along.
        """
        key = f"vn-{self.name}{'-small' if small else ''}"
        root = xml.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "class": "vn-schematic",
                "viewBox": f"0 0 {WIDTH} {_text(self.height)}",
                "role": "img",
                "aria-labelledby": f"{key}-title" + ("" if small else f" {key}-desc"),
            },
        )
        xml.SubElement(root, "title", {"id": f"{key}-title"}).text = self.title
        if not small:
            xml.SubElement(root, "desc", {"id": f"{key}-desc"}).text = self.description
        if alone:
            xml.SubElement(root, "style").text = STYLE.read_text(encoding="utf-8")
        root.extend(self.shapes)
        return xml.tostring(root, encoding="unicode")


def _text(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, (int, float, np.number)) else str(value)
