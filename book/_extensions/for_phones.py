"""Figures on pages: matplotlib's drawings are a part of the page. On phones a figure is shown by the
drawing that it has for it, or can be moved sideways.
"""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from inline_svg import MADE, inlined
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

DRAWN = Path("book/extra/figures")  # copied into the root of the site
SCREEN = "(max-width: 36rem)"
# Panels are called "Left:", "Middle and right:" or "(left)"; in other words it is no place.
SIDES = re.compile(r"\b(left|right)( pair| and \w+)?:|\((left|right)\b", re.IGNORECASE)
# So are rows and columns.
ROWS = re.compile(
    r"\b(top|bottom|upper|lower|above|below|rows?|columns?)( \w+)?:"
    r"|\((top|bottom|upper|lower|above|below)\b",
    re.IGNORECASE,
)
# What `phone_panels` tells of the order: what comes first, of how many rows, in how many columns.
ORDER = re.compile(r'id="phone-(rows|columns)-(\d+)-(\d+)"')
BELOW = " On this screen what is left stands above what is right."
ON = " On this screen what has no room at the right stands below."
BY_ROWS = (
    " On this screen a row is broken into parts that stand below each other; upper rows come first."
)
PAIRS = (
    " On this screen columns stand below each other: of every two panels the first is the upper one,"
    " the second the lower one."
)
BY_COLUMNS = (
    " On this screen columns that have no room at the right stand below, again with all their rows."
)


class framed(nodes.image):
    """An image with what stands `before` and `after` it, which a link may hold as any image."""


class ForPhones(SphinxTransform):
    """Frame the image of each figure, or put its drawing there."""

    default_priority = 890

    def apply(self, **_: object) -> None:
        up = "../" * self.env.docname.count("/")
        for number, figure in enumerate(self.document.findall(nodes.figure), 1):
            drawn = ""
            for image in list(figure.findall(nodes.image)):
                names = [*figure["ids"], *figure["names"], Path(image["uri"]).stem.lower()]
                narrow = self.narrow(names, up)
                drawn = drawn or narrow
                self.place(image, f"f{number}", narrow)
            for caption in figure.findall(nodes.caption):
                if drawn and (said := order(caption.astext(), self.told(drawn))):
                    caption += nodes.inline("", said, classes=["vn-narrow"])

    def place(self, image: nodes.image, name: str, narrow: str) -> None:
        """Put there what shows an image, phones by the file `narrow` if there is one."""
        drawing, link = self.drawing(image), image.parent
        if not drawing:
            around = '<div class="vn-pan">', "</div>"
            if narrow:
                around = f'<picture><source media="{SCREEN}" srcset="{narrow}">', "</picture>"
            image.replace_self(framed("", **image.attributes, before=around[0], after=around[1]))
            return
        alt = image.get("alt", "")
        shown = (
            f'<div class="{"vn-wide" if narrow else "vn-pan"}">{inlined(drawing, name, alt)}</div>'
        )
        if narrow:
            phone = f'<img loading="lazy" alt="{escape(alt)}" src="{narrow}">'
            shown += f'<div class="vn-phone">{phone}</div>'
        if isinstance(link, nodes.reference):
            shown = f'<a class="reference" href="{escape(link["refuri"])}">{shown}</a>'
            image = link
        image.replace_self(nodes.raw("", shown, format="html"))

    def drawing(self, image: nodes.image) -> str:
        """The text of a drawing by matplotlib; none of other images."""
        known = image.get("candidates", {}).get("image/svg+xml", image["uri"])
        file = Path(self.env.srcdir) / known
        text = file.read_text(encoding="utf-8") if file.suffix == ".svg" and file.is_file() else ""
        return text if MADE in text[:2000] else ""

    def told(self, drawn: str) -> str:
        """The text of a drawing for phones at an address."""
        file = Path(self.env.srcdir) / DRAWN / Path(unescape(drawn)).name
        return file.read_text(encoding="utf-8")[:5000]

    def narrow(self, names: list[str], up: str) -> str:
        """The address of the drawing for phones of a figure with these names."""
        for name in names:
            file = Path(self.env.srcdir) / DRAWN / f"{name}.phone.svg"
            if file.exists():
                self.env.note_dependency(str(file))
                return f"{up}figures/{escape(name, quote=True)}.phone.svg"
        return ""


def order(caption: str, drawing: str) -> str:
    """What a caption that names places adds for a drawing with its panels in fewer columns."""
    found = ORDER.search(drawing)
    if not found:
        return ""
    first, rows, columns = found[1], int(found[2]), int(found[3])
    if rows > 1 and ROWS.search(caption):
        if first == "rows":
            return BY_ROWS
        return PAIRS if rows == 2 and columns == 1 else BY_COLUMNS
    if SIDES.search(caption):
        return BELOW if columns == 1 else ON
    return ""


def _open(translator: HTML5Translator, node: framed) -> None:
    translator.body.append(node["before"])
    translator.visit_image(node)


def _close(translator: HTML5Translator, node: framed) -> None:
    translator.depart_image(node)
    translator.body.append(node["after"])


def setup(app: Sphinx) -> dict[str, bool]:
    """Teach Sphinx to look for drawings for phones."""
    app.add_node(framed, html=(_open, _close))
    app.add_transform(ForPhones)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
