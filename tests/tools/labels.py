"""How large the labels of drawings are where a page shows them: in files letters are outlines, drawn to a
scale, and in pages they are text.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Page

WIDTH, LEAST = 1280, 9  # px of the screen, and of a label

_LABEL = re.compile(r"<!-- ([^\n]*?) -->\s*<g [^>]*?scale\(([\d.]+) -[^>]*>(.*?)</g>", re.DOTALL)
_RAISED = re.compile(r"<use [^>]*scale\(([\d.]+)\)")
# Those for phones may still be shown in the place of others after a phone's width.
_SHOWN = """async () => {
  const all = [...document.querySelectorAll(".bd-content figure img")];
  for (const one of all) { one.loading = "eager"; await one.decode().catch(() => null); }
  return all.map((one) => [one.currentSrc, one.getBoundingClientRect().width]).filter(
    ([source, width]) => width && source.endsWith(".svg"));
}"""
# Of a label in pieces, such as a power, the smallest counts.
_TEXTS = """() => [...document.querySelectorAll(".bd-content figure .vn-inline")].flatMap((one) => {
  const pixel = one.getBoundingClientRect().width / one.viewBox.baseVal.width;
  const size = (text) => Math.min(...[text, ...text.querySelectorAll("tspan")].filter((piece) => piece.style.fontSize)
    .map((piece) => parseFloat(piece.style.fontSize)));
  const name = one.closest("figure").id || "a figure";
  return pixel ? [...one.querySelectorAll("text")].map((text) => [name, text.textContent.trim(), pixel * size(text)]) : [];
})"""


def sizes(drawing: str, width: float) -> dict[str, float]:
    """Pixels of each label of a drawing that is shown with this width, of a power those of its exponent."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ', drawing)
    pixel = width / float(box[1]) if box else 0.0
    return {
        text: 100 * float(scale) * min(map(float, _RAISED.findall(letters)), default=1.0) * pixel
        for text, scale, letters in _LABEL.findall(drawing)
    }


def small(page: Page) -> list[str]:
    """A line for each figure of a page that has a smaller label on a screen of `WIDTH`."""
    page.set_viewport_size({"width": WIDTH, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    found = []
    texts: dict[str, dict[str, float]] = {}
    for figure, text, size in page.evaluate(_TEXTS):
        texts.setdefault(figure, {})[text] = size
    for figure, shown in texts.items():
        least = min(shown, key=lambda one: shown[one])
        if shown[least] < 0.99 * LEAST:
            found.append(f"{figure}: {least!r}, {shown[least]:.1f} px")
    for source, width in page.evaluate(_SHOWN):
        file = Path(unquote(urlsplit(source).path))
        shown = sizes(file.read_text(encoding="utf-8"), width)
        if shown and (least := min(shown.values())) < 0.99 * LEAST:
            found.append(f"{file.name}: {min(shown, key=lambda one: shown[one])!r}, {least:.1f} px")
    return found
