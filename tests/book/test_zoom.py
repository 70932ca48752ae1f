"""Figures in full size, in headless Chromium, from the disk and under the pages' policy."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from explorer_cases import extension
from page_cases import visits, wait_for

from book.schematics import DRAWINGS
from book.site import in_place
from vnlib.book import paths

inlined = extension("inline_svg").inlined
PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>T</title>POLICY
<meta name="viewport" content="width=device-width, initial-scale=1.0">
<link rel="stylesheet" href="custom.css"><link rel="stylesheet" href="schematics.css"><script src="zoom.js"></script></head><body>
<main class="bd-content"><figure id="fig-one"><img alt="A curve" src="one.png" style="width: 100%"><figcaption>C</figcaption></figure>
<p class="vn-links"><a href="figures/fig-one.svg" download>SVG</a></p>
<figure id="fig-two"><img alt="Another" src="two.png" style="max-width: 100%"></figure>
<p class="vn-links"><a href="figures/other-fig-two.svg">SVG</a></p>
<figure id="fig-link"><a href="#x"><img alt="A card" src="two.png" style="max-width: 100%"></a></figure>
<figure id="fig-plot">PLOT</figure>
<div class="vn-drawn">SCHEMATIC</div></main></body></html>"""
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SHOWN = ".vn-zoom-box > *"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A page with figures, one of them with its drawing beside it, and a schematic."""
    one = tmp_path_factory.mktemp("zoom")
    (one / "figures").mkdir()
    for name in ("zoom.js", "custom.css", "schematics.css"):
        shutil.copy(paths.BOOK / "_static" / name, one)
    plot = plt.figure(figsize=(10, 5))
    plot.add_subplot().plot([0, 1], marker="o")
    page = PAGE.replace("PLOT", inlined(in_place._picture(plot, sharp=True)[1], "f1", "A plot"))
    plt.close(plot)
    for name in ("one.png", "two.png", "figures/fig-one.svg"):
        figure = plt.figure(figsize=(10, 5), dpi=100)
        figure.add_subplot().plot([0, 1])
        figure.savefig(one / name)
        plt.close(figure)
    policy = extension("policy")
    page = page.replace("POLICY", policy.META.format(policy.policy(())))
    page = page.replace("SCHEMATIC", DRAWINGS["settle"]().svg())
    (one / "page.html").write_text(page, encoding="utf-8")
    return one


@pytest.fixture(scope="module")
def open_page(browser, folder) -> Iterator[Callable]:
    """Opens the page; any error, such as what the policy forbids, fails the test."""
    with visits(browser, folder, one=True, forgiven="ERR_FILE_NOT_FOUND") as open_:
        yield lambda **how: open_(folder / "page.html", **how)


def width(page) -> float:
    return page.locator(SHOWN).bounding_box()["width"]


def test_keys_open_and_close_it_and_focus_returns(open_page):
    page = open_page()
    page.evaluate(
        "addEventListener('keydown', (e) => e.key === 'Escape' && e.preventDefault())"
    )  # as themes do
    button = page.get_by_role("button", name="Full size: A curve")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    assert dialog.is_visible() and dialog.get_attribute("aria-modal") == "true"
    assert page.evaluate("document.querySelector('.vn-zoom').contains(document.activeElement)")
    for _ in range(9):
        page.keyboard.press("Tab")
        inside = "document.querySelector('.vn-zoom').contains(document.activeElement)"
        assert page.evaluate(f"{inside} || document.activeElement === document.body")
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert button.evaluate("one => one === document.activeElement")
    page.locator("#fig-one img").click()
    assert dialog.is_visible()
    page.get_by_role("button", name="Close").click()
    assert not dialog.is_visible() and button.evaluate("one => one === document.activeElement")


def test_the_drawing_is_shown_where_there_is_one_else_the_picture(open_page):
    page = open_page()
    for name, source in (("A curve", "figures/fig-one.svg"), ("Another", "two.png")):
        page.get_by_role("button", name=f"Full size: {name}").click()
        wait_for(page, f"document.querySelector('{SHOWN}').naturalWidth > 0")
        assert page.locator(SHOWN).get_attribute("src").endswith(f"/{source}")
        assert page.locator(SHOWN).get_attribute("alt") == name
        page.keyboard.press("Escape")
    assert page.locator("#fig-link button").count() == 0, "a click on a link follows it"


def test_a_schematic_is_shown_too_and_its_name_is_kept(open_page):
    page = open_page(viewport={"width": 1440, "height": 900})
    small = page.locator(".vn-drawn svg").bounding_box()["width"]
    page.locator(".vn-drawn svg").click()
    assert width(page) > 1.5 * small
    assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size") == (
        page.locator("[id]").count()
    )
    named = page.locator(SHOWN).get_attribute("aria-labelledby").split()
    assert all(page.locator(f"#{one}").count() == 1 for one in named)


def test_a_drawing_of_the_page_opens_whole_and_can_be_kept(open_page, tmp_path):
    page = open_page(viewport={"width": 700, "height": 600})
    page.locator("#fig-plot svg").click()
    assert width(page) >= 700 and page.locator(SHOWN).get_attribute("aria-label") == "A plot"
    drawn = (
        "(one) => one.querySelectorAll('use').length && one.querySelector('use').getBBox().height"
    )
    assert page.locator(SHOWN).evaluate(drawn) == page.locator("#fig-plot svg").evaluate(drawn) > 0
    with page.expect_download() as kept:
        page.get_by_role("button", name="Save the figure as a file").click()
    assert kept.value.suggested_filename == "fig-plot.svg"
    kept.value.save_as(tmp_path / "kept.svg")
    alone = browser_image(page, tmp_path / "kept.svg")
    assert alone[0] > 700 and "0.2" in (tmp_path / "kept.svg").read_text(encoding="utf-8")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Full size: Another").click()
    assert not page.get_by_role("button", name="Save the figure as a file").is_visible()


def browser_image(page, file: Path) -> list[int]:
    """Width and height of an image file in px, which the browser must be able to draw by itself."""
    other = page.context.new_page()
    other.goto(file.as_uri())
    box = other.locator("svg").first.bounding_box()
    other.close()
    return [box["width"], box["height"]]


def test_keys_and_buttons_magnify_and_the_whole_comes_back(open_page):
    page = open_page(viewport={"width": 800, "height": 600})
    page.get_by_role("button", name="Full size: Another").click()
    before = width(page)
    page.keyboard.press("+")
    assert width(page) == pytest.approx(1.5 * before, rel=0.01)
    page.get_by_role("button", name="Smaller").click()
    assert width(page) == pytest.approx(before, rel=0.01)
    page.get_by_role("button", name="Larger").click()
    page.keyboard.press("0")
    box, shown = (page.locator(one).bounding_box() for one in (".vn-zoom-box", SHOWN))
    assert shown["width"] <= box["width"] and shown["height"] <= box["height"]


def test_on_a_phone_labels_are_readable_and_fingers_move_and_magnify(open_page):
    page = open_page(**PHONE)
    assert page.locator("#fig-one img").bounding_box()["width"] < 390
    page.locator("#fig-one img").tap()
    assert width(page) >= 700
    fingers = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        told = [{"x": x, "y": y, "id": at} for at, (x, y) in enumerate(points)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": told})

    touch("touchStart", (300, 400))
    touch("touchMove", (200, 400))
    touch("touchMove", (100, 400))
    touch("touchEnd")
    wait_for(page, "document.querySelector('.vn-zoom-box').scrollLeft > 150")
    before = width(page)
    touch("touchStart", (150, 400), (240, 400))
    touch("touchMove", (105, 400), (285, 400))
    touch("touchEnd")
    wait_for(
        page, f"document.querySelector('{SHOWN}').getBoundingClientRect().width > {1.6 * before}"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_without_a_drawing_that_was_promised_the_picture_is_shown(open_page, folder):
    kept = (folder / "figures" / "fig-one.svg").rename(folder / "kept.svg")
    page = open_page()
    try:
        page.evaluate(
            """() => {
              document.querySelector("#fig-one button").click();
              return new Promise((done) => {
                const shown = document.querySelector(".vn-zoom-box > img");
                shown.addEventListener("load", () => done(), { once: true });
              });
            }"""
        )
        assert page.locator(SHOWN).get_attribute("src").endswith("/one.png")
    finally:
        kept.rename(folder / "figures" / "fig-one.svg")
