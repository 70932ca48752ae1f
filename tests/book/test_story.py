"""The live picture of the first page settles as vnlib does, alone and in the reader's own time."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
import torch
from playground_cases import DATA, settled

from vnlib.book import paths


@pytest.fixture(scope="module")
def story(browser, tmp_path_factory):
    """The page with its live picture and nothing around it."""
    tmp_path = tmp_path_factory.mktemp("story")
    shutil.copytree(DATA, tmp_path / "_static" / "playground")
    source = (paths.BOOK / "intro.md").read_text(encoding="utf-8")
    html = re.search(r"```\{raw\} html\n(.*?)\n```", source, re.DOTALL)[1]
    html = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>S</title>{html}</html>'
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "intro.html").write_text(html, encoding="utf-8")
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 390, "height": 844})
    page, wrong, asked = context.new_page(), [], []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.route("**/*", lambda route: (asked.append(route.request.url), route.continue_()))
    page.goto((tmp_path / "book" / "intro.html").as_uri())
    yield page
    context.close()
    assert not wrong and all(url.startswith(tmp_path.as_uri()) for url in asked)


def expected(shipped, *labels: int):
    """The sum of the first digits of these labels, and its code by vnlib."""
    _, images, known = shipped
    x = sum(images[int(np.flatnonzero(np.asarray(known) == one)[0])] for one in labels)
    x = torch.as_tensor(x, dtype=torch.float64)
    return x, settled(shipped, x)[0]


def test_one_digit_or_two_are_settled_as_vnlib_does(story, shipped):
    story.click("text=two digits, added")
    story.click("#vn-story-two")  # off again
    for labels in ((8,), (8, 1)):
        if len(labels) == 2:
            story.check("#vn-story-two")
            story.click("#vn-story-digits button[aria-label='Digit 8']")
        story.click(f"#vn-story-digits button[aria-label='Digit {labels[-1]}']")
        out = story.evaluate("vnStory.read()")
        assert out["picked"] == list(labels)
        x, code = expected(shipped, *labels)
        np.testing.assert_allclose(out["x"], x.numpy(), atol=1e-12)
        np.testing.assert_allclose(out["code"], code, atol=1e-4)
        active = int((np.abs(out["code"]) > 0).sum())
        assert f"{active} of 256 atoms are in use" in story.text_content("#vn-story-said")
        assert story.text_content("#vn-story-sum figcaption") == f"sum of {active}"
        pressed = story.locator("#vn-story-digits [aria-pressed='true']")
        assert pressed.count() == len(labels)


def test_it_fits_on_a_phone_and_says_what_its_pictures_are(story):
    assert story.evaluate("document.documentElement.scrollWidth") <= 390
    for canvas in story.locator(".vn-line canvas").all():
        assert canvas.get_attribute("aria-label")
    assert story.locator("#vn-story-digits button").count() == 10
    box = story.locator("#vn-story-digits button").first.bounding_box()
    assert min(box["width"], box["height"]) >= 44
