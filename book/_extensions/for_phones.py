"""Figures on phones: those that have a drawing for it are shown by that, all others can be moved
sideways.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

DRAWN = Path("book/extra/figures")  # copied into the root of the site
SCREEN = "(max-width: 36rem)"
# Panels are called "Left:", "Middle and right:" or "(left)"; in other words it is no place.
SIDES = re.compile(r"\b(left|right)( pair| and \w+)?:|\((left|right)\b", re.IGNORECASE)
BELOW = " On this screen what is left stands above what is right."


class framed(nodes.image):
    """An image with what stands `before` and `after` it, which a link may hold as any image."""


class ForPhones(SphinxTransform):
    """Frame the image of each figure."""

    default_priority = 890

    def apply(self, **_: object) -> None:
        up = "../" * self.env.docname.count("/")
        for figure in self.document.findall(nodes.figure):
            for image in list(figure.findall(nodes.image)):
                names = [*figure["ids"], *figure["names"], Path(image["uri"]).stem.lower()]
                before, after = self.around(names, up)
                image.replace_self(framed("", **image.attributes, before=before, after=after))
            drawn = any("srcset" in one["before"] for one in figure.findall(framed))
            for caption in figure.findall(nodes.caption):
                if drawn and SIDES.search(caption.astext()):
                    caption += nodes.inline("", BELOW, classes=["vn-narrow"])

    def around(self, names: list[str], up: str) -> tuple[str, str]:
        """What stands before and after the image of a figure with these names."""
        for name in names:
            file = Path(self.env.srcdir) / DRAWN / f"{name}.phone.svg"
            if file.exists():
                self.env.note_dependency(str(file))
                source = f"{up}figures/{escape(name, quote=True)}.phone.svg"
                return f'<picture><source media="{SCREEN}" srcset="{source}">', "</picture>"
        return '<div class="vn-pan">', "</div>"


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
