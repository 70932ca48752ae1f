"""What a reader cannot reach on a screen of some width: parts that are cut off, or that make the page
wider than the screen.
"""

from __future__ import annotations

from playwright.sync_api import Page

# Elements that are shown and end beyond the page, or beyond a box that hides what it cannot hold. One in a
# box that scrolls can be reached; what is in one that was found is not told again.
_CUT = """(width) => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const found = [], hides = (one) => ["hidden", "clip"].includes(getComputedStyle(one).overflowX);
  const scrolls = (one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
  for (const one of document.querySelectorAll(".bd-content *")) {
    if (one.closest("mjx-assistive-mml, svg svg *, .vn-inline *, .visually-hidden, .sr-only, [hidden]")) continue;
    if (found.some(([before]) => before.contains(one))) continue;
    const at = one.getBoundingClientRect();
    if (!at.width || !at.height || getComputedStyle(one).position === "fixed") continue;
    let box = one.parentElement;
    while (box && box !== document.body && !hides(box) && !scrolls(box)) box = box.parentElement;
    const inner = box && box !== document.body;
    if (inner && scrolls(box)) continue;
    const end = inner ? box.getBoundingClientRect().right : width;
    if (at.right > end + 1) found.push([one, at.right - end]);
  }
  const lines = found.map(([one, over]) =>
    `${one.tagName.toLowerCase()} by ${Math.ceil(over)} px: ${one.textContent.trim().slice(0, 50)}`);
  const more = document.documentElement.scrollWidth - width;
  return more > 0 ? [`the page is ${more} px wider than the screen`, ...lines] : lines;
}"""


def cut_off(page: Page, width: int = 390) -> list[str]:
    """A line for each element that ends beyond its box, with all that is folded opened.

    Parameters
    ----------
    width
        Of the screen, in CSS pixels.
    """
    page.set_viewport_size({"width": width, "height": 844})
    page.evaluate("() => window.MathJax?.startup?.promise?.then(() => null)")
    return page.evaluate(_CUT, width)
