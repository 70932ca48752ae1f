"""Matplotlib's drawings as a part of a page: sharp, with text that can be selected, found and read out."""

from __future__ import annotations

import re
from html import escape

MADE = "https://matplotlib.org/"
"""In the metadata of its drawings."""
STYLE = 'font-family="VN Sans, DejaVu Sans, Verdana, sans-serif" stroke-linejoin="round"'
"""Of all its parts; pages bring the first font."""
_HEAD = re.compile(r"^.*?<svg\b[^>]*?(?=viewBox=)", re.DOTALL)
_SIZE = re.compile(r'width="([\d.]+)pt" height="([\d.]+)pt"')
_APART = re.compile(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
# Of style sheets: what any text has here, and what turns none.
_USUAL = re.compile(
    r"font-family: [^;\"]*'DejaVu Sans'[^;\"]*(?:; )?| transform=\"rotate\(-?0 [^)]*\)\""
)
_EXACT = re.compile(
    r"((?:scale|matrix)\([^)]*\)|\"data:[^\"]*\"|>[^<]*<)"
)  # numbers that stay as they are, as those of texts
_PIECES = re.compile(r"(?<=[>])\s+(?=</?tspan|</text)")  # of a label: its words are found whole
_LONG = re.compile(r"(-?\d+\.\d\d)\d+")
_USED = re.compile(r"(?:url\(|href=\")#([\w.-]+)")
_ID = re.compile(r' id="([\w.-]+)"')


def inlined(drawing: str, name: str, alt: str) -> str:
    """The `<svg>` of a drawing, for a page of HTML.

    Parameters
    ----------
    drawing
        A file of SVG, as matplotlib writes it with texts as texts.
    name
        Of the figure: no other of the page has it. It comes before the names of the drawing's parts.
    alt
        What is seen, for those who do not see it.
    """
    size = _SIZE.search(drawing)
    drawing = _APART.sub("", _HEAD.sub("", drawing, count=1))
    used = set(_USED.findall(drawing))
    prefix = re.sub(r"[^\w-]+", "-", name)

    def known(found: re.Match[str]) -> str:
        return f' id="{prefix}-{found[1]}"' if found[1] in used else ""

    drawing = _USED.sub(lambda found: found[0].replace("#", f"#{prefix}-"), _ID.sub(known, drawing))
    parts = _EXACT.split(_USUAL.sub("", drawing))
    parts[::2] = [_LONG.sub(r"\1", part) for part in parts[::2]]
    drawing = re.sub(r"\s*\n\s*", "\n", _PIECES.sub("", "".join(parts))).replace(' style=""', "")
    wide, high = (f"{float(one) * 4 / 3:.0f}" for one in size.groups()) if size else ("", "")
    shown = (
        f'class="vn-inline" role="img" aria-label="{escape(alt)}" width="{wide}" height="{high}"'
    )
    return f"<svg {shown} {STYLE} {drawing.strip()}\n"
