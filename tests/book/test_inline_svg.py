"""Matplotlib's drawings as a part of a page."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as xml
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pytest
from explorer_cases import extension
from fontTools.ttLib import TTFont

from book.site import in_place
from vnlib.book import paths

inline_svg = extension("inline_svg")
FONTS = paths.BOOK / "_static" / "fonts"


@pytest.fixture(scope="module")
def drawing() -> str:
    """A curve with markers, an image, a clip, a power and words that HTML must escape."""
    fig, (left, right) = plt.subplots(1, 2, num="drawing", clear=True)
    left.loglog([1, 10, 100], [1e-3, 1e-2, 1e-1], marker="o")
    left.set_title("a < b & c")
    left.set_xlabel("0.00491 %")
    right.imshow(np.arange(6.0).reshape(2, 3))
    svg = in_place._picture(fig, sharp=True)[1]
    plt.close(fig)
    return svg


@pytest.fixture(scope="module")
def svg(drawing) -> str:
    return inline_svg.inlined(drawing, "one (two)", 'A "curve" & more')


def test_it_is_one_element_that_says_what_is_seen(svg):
    root = xml.fromstring(svg.replace("xlink:href", "href"))
    assert root.get("role") == "img" and root.get("aria-label") == 'A "curve" & more'
    assert "".join(root.itertext()).count("a < b & c") == 1
    labels = ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("}text")]
    assert {"10−3", "10−1"} <= set(labels), "powers are found, too"
    assert "0.00491 %" in "".join(root.itertext()), "numbers of texts stay as they are"
    assert "<?xml" not in svg and "<metadata" not in svg and "<style" not in svg


def test_its_parts_find_each_other_and_no_other_figure_s(svg):
    names, used = re.findall(r' id="([^"]+)"', svg), re.findall(r'(?:url\(|href=")#([\w-]+)', svg)
    assert used and set(names) == set(used), "and none is named for nothing"
    assert len(names) == len(set(names)) and all(one.startswith("one-two-") for one in names)


def test_it_is_drawn_as_the_file_is(drawing, svg, browser, tmp_path):
    """With the font that pages bring."""
    shutil.copytree(FONTS, tmp_path / "fonts")
    shutil.copy(FONTS.parent / "custom.css", tmp_path)
    whole = drawing[drawing.index("<svg") :].replace("<svg", '<svg id="whole"')
    for name, shown in {"page": svg, "file": whole}.items():
        style = '<link rel="stylesheet" href="custom.css"><style>svg { display: block; width: 640px !important; height: 480px !important }</style>'
        (tmp_path / f"{name}.html").write_text(f"<!doctype html>{style}{shown}", encoding="utf-8")
    page, pixels = browser.new_page(), []
    for name in ("page", "file"):
        page.goto((tmp_path / f"{name}.html").as_uri())
        assert page.evaluate("document.fonts.ready.then((all) => all.size)") == 3
        pixels.append(plt.imread(BytesIO(page.locator("svg").first.screenshot())))
    page.goto((tmp_path / "page.html").as_uri())
    assert page.evaluate("[...document.fonts].some((one) => one.status === 'loaded')")
    page.close()
    assert pixels[0].shape == pixels[1].shape
    assert np.abs(pixels[0] - pixels[1]).mean() < 0.01
    assert np.abs(pixels[0] - 1).mean() > 0.02, "or nothing is drawn"


def test_it_is_lighter_than_the_file(drawing, svg):
    assert len(svg) < 0.7 * len(drawing)


def test_the_fonts_have_what_figures_say():
    for name in ("DejaVuSans", "DejaVuSans-Oblique", "DejaVuSans-Bold"):
        known = TTFont(FONTS / f"{name}.woff").getBestCmap()
        assert {ord(one) for one in "aÅλΣ−×±→≤⟨²₁…“’"} <= known.keys(), name
