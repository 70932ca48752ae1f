"""The playground for everybody: without a mouse, by ear, in focus, without motion, on any screen."""

from __future__ import annotations

import numpy as np
import pytest
from playground_cases import pick, read


def test_nothing_moves_by_itself_where_less_motion_is_wished_for(open_page):
    page = open_page(watched="// nothing ends it", reduced_motion="reduce")
    assert read(page)["settled"]
    page.clock.install()
    button = page.locator("#vn-watch")
    assert button.inner_text() == "One step of the settle"
    for sweeps in (0, 1, 2):
        button.click()
        page.clock.run_for(5000)
        assert read(page)["sweeps"] == sweeps


def test_the_keyboard_is_enough(open_page):
    page = open_page()
    before = read(page)["x"]
    page.focus("input[name=vn-pick][value=replace]")
    page.keyboard.press("ArrowRight")  # add
    assert page.is_checked("input[name=vn-pick][value=add]")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the first digit
    added = read(page)["x"]
    assert np.subtract(added, before).sum() > 10
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # the second
    assert np.subtract(read(page)["x"], added).sum() > 10

    active = read(page)["code"]
    page.focus("#vn-sparsity")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#vn-sparsity", "aria-valuetext") == "1.19 × the model's"
    assert (
        np.count_nonzero(read(page)["code"]) != np.count_nonzero(active)
        or read(page)["code"] != active
    )
    page.focus("#vn-sweeps")
    page.keyboard.press("Home")
    assert not any(read(page)["code"])

    page.focus("#vn-clear")
    page.keyboard.press("Enter")
    assert not any(read(page)["x"])
    page.focus("#vn-x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.wait_for_function(
        "document.querySelector('#vn-said').textContent === 'Row 14, column 16: ink 0.0.'"
    )
    page.keyboard.press("Space")
    drawn = np.reshape(read(page)["x"], (28, 28))
    assert np.unravel_index(drawn.argmax(), drawn.shape) == (13, 15) and drawn.max() == 1


def test_all_that_can_be_used_is_reached_by_tab_named_and_seen_in_focus(page):
    wanted = page.locator(
        "#vn-playground :is(button:not(:disabled), input[type=checkbox], input[type=range]:not([hidden] *), "
        "canvas[tabindex], summary, a[href]:not(details a))"
    ).count()
    groups = {"vn-layers", "vn-pick", "vn-tool", "vn-edit"}  # one stop each
    seen = []
    for _ in range(wanted + len(groups)):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                """() => {
                  const one = document.activeElement, style = getComputedStyle(one);
                  const label = document.getElementById(one.getAttribute("aria-labelledby"));
                  const named = one.getAttribute("aria-label") || one.labels?.[0]?.textContent
                    || one.textContent || label?.textContent || "";
                  const inside = Boolean(one.closest("#vn-playground"));
                  return { id: one.id || one.name || named, named: named.trim(), inside,
                    width: parseFloat(style.outlineWidth), line: style.outlineStyle };
                }"""
            )
        )
    assert all(one["inside"] and one["named"] for one in seen)
    assert all(one["width"] >= 2 and one["line"] == "solid" for one in seen)
    assert {
        "vn-x",
        "vn-sparsity",
        "vn-sweeps",
        "vn-watch",
        "vn-clear",
        "vn-signed",
        "vn-hidden",
    } | groups <= {one["id"] for one in seen}


@pytest.mark.parametrize("digit", [None, 8], ids=["paper", "ink"])
def test_the_place_of_the_keyboard_is_seen_on_any_ground(digit, page):
    page.click("#vn-clear") if digit is None else pick(page, "replace", digit)
    read(page)
    across = (
        "y => [...document.querySelector('#vn-x').getContext('2d').getImageData(130, y, 30, "
        "1).data]"
    )
    before = np.reshape(page.evaluate(across, 145), (30, 4))[:, :3]
    page.focus("#vn-x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")  # the pixel in the middle: 140 to 150 both ways
    after = np.reshape(page.evaluate(across, 145), (30, 4))[:, :3]
    light, dark = after.sum(1) > 700, after.sum(1) < 60
    assert light.any() and dark.any() and (before != after).any()
    assert dark[10] or dark[9], "a dark line at the left edge"
    assert light[7:9].any() and light[11:13].any(), "with light ones beside it"


def test_what_happened_is_said_and_nothing_before(open_page):
    page = open_page()
    page.wait_for_timeout(1000)
    assert page.inner_text("#vn-said") == ""
    pick(page, "replace", 1)
    page.wait_for_function(
        "document.querySelector('#vn-said').textContent.includes('atoms are active')"
    )
    assert page.inner_text("#vn-active").split()[0] in page.inner_text("#vn-said")
    assert page.get_attribute("#vn-said", "role") == "status"
    for name in ("network", "autoencoder", "pca", "dct"):
        label = page.get_attribute(f"#vn-{name}", "aria-label")
        assert label.endswith(f"reconstruction: error {page.inner_text(f'#vn-{name}-error')}")
    page.click("#vn-atoms button >> nth=0")
    page.wait_for_function(
        "document.querySelector('#vn-said').textContent.includes('by your change')"
    )


def test_an_atom_keeps_the_focus_when_it_is_pressed(page):
    pick(page, "replace", 7)
    read(page)
    page.focus("#vn-atoms button >> nth=1")
    atom = page.evaluate("document.activeElement.dataset.atom")
    for removed in (True, False):
        page.keyboard.press("Enter")
        assert (read(page)["code"][int(atom)] == 0) is removed
        assert page.evaluate("document.activeElement.dataset.atom") == atom


def test_every_picture_and_control_has_a_name_of_its_own(page):
    named = page.eval_on_selector_all(
        "#vn-playground button", "all => all.map(b => b.ariaLabel || b.textContent)"
    )
    assert all(named) and len(set(named)) == len(named)
    pictures = "#vn-playground canvas:not(button canvas, [aria-hidden])"
    assert page.locator(pictures).count() > 3
    assert all(
        page.eval_on_selector_all(
            pictures, "all => all.map(c => c.ariaLabel || c.getAttribute('aria-labelledby'))"
        )
    )


@pytest.mark.parametrize("width", [320, 400, 1200])
def test_no_width_needs_scrolling_sideways(width, page):
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
