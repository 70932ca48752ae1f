"""A number stays on one line with the sign or unit behind it: "5.1 × 10⁻⁷", "92 %", "16 GB"."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

UNITS = r"(?:ms|s|min|h|px|B|kB|MB|GB)\b(?!-)"
_AFTER = re.compile(rf"(?<=[\d\]]) (?=[×%]|{UNITS})|(?<=\d ×) (?=\d)|(?<=×) (?=10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])")
_FIRST = re.compile(rf" (?=[×%]|{UNITS})")
_SAID = re.compile(r"(?<=>)[^<>]+(?=<)")  # between tags
_BOUND = re.compile(r"((?:[≤≥]|&[lg]t;)) (?=\d)")
RULES = 'class="vn-verdicts'
KEPT = (nodes.literal, nodes.literal_block, nodes.raw, nodes.math, nodes.math_block)


class NoBreaks(SphinxPostTransform):
    """Set spaces that do not break, also where a number is glued in before a sign."""

    default_priority = 990  # numbers are there

    def run(self, **_: object) -> None:
        before = ""
        for text in list(self.document.findall(nodes.Text)):
            kept = isinstance(text.parent, KEPT)
            new = str(text) if kept else unbroken(str(text), before)
            if isinstance(text.parent, nodes.raw) and RULES in text:
                new = _SAID.sub(lambda said: unbroken(_BOUND.sub("\\1\u00a0", said[0])), text)
            if new != text:
                text.parent.replace(text, nodes.Text(new))
            before = new


def unbroken(text: str, before: str = "") -> str:
    """A text that follows on another, with spaces that do not break."""
    if before[-1:].isdigit():
        text = _FIRST.sub("\u00a0", text, count=1) if _FIRST.match(text) else text
    return _AFTER.sub("\u00a0", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Teach Sphinx to keep numbers and their signs together."""
    app.add_post_transform(NoBreaks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
