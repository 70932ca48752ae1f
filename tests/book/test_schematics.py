"""The schematics: drawn of one grammar, readable on a phone, heard by those who do not see them, and
true to what they say.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as xml

import numpy as np
import pytest
from sklearn.decomposition import sparse_encode
from sklearn.kernel_ridge import KernelRidge

from book.schematics import DRAWINGS, HEADS, chapters, machine, segments, tasks
from book.schematics.pen import SMALLEST, STYLE, WIDTH, Pen
from vnlib.book import paths

SVG = "{http://www.w3.org/2000/svg}"
PHONE, LEAST = 342, 9.0  # pixels: the column of a phone 390 wide, and the least letters on it
every_drawing = pytest.mark.parametrize("name", DRAWINGS)


def parsed(name: str, **how: bool) -> xml.Element:
    return xml.fromstring(DRAWINGS[name]().svg(**how))


@every_drawing
def test_a_drawing_is_called_and_told(name):
    root = parsed(name)
    title, told = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title.text and len(told.text) > 60
    assert root.get("aria-labelledby").split() == [title.get("id"), told.get("id")]
    assert root.get("role") == "img" and name in title.get("id")


def test_ids_are_unique_on_a_page_with_all_drawings_in_both_sizes():
    text = "".join(one().svg(small=small) for one in DRAWINGS.values() for small in (False, True))
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids)) == 3 * len(DRAWINGS)


@every_drawing
def test_letters_can_be_read_on_a_phone_and_stay_inside(name):
    root = parsed(name)
    _, _, width, height = map(float, root.get("viewBox").split())
    assert width == WIDTH
    for text in root.iter(f"{SVG}text"):
        size = float(text.get("font-size"))
        assert size * PHONE / WIDTH >= LEAST, text.text
        # Seven letters are hardly wider than four of their heights.
        wide = 0.58 * size * len(text.text)
        kinds = text.get("class").split()
        left = float(text.get("x")) - wide * (
            0 if "start" in kinds else 1 if "end" in kinds else 0.5
        )
        assert left >= -2 and left + wide <= WIDTH + 2, text.text
        assert size <= float(text.get("y")) + 1 and float(text.get("y")) <= height, text.text


def test_small_letters_are_refused():
    with pytest.raises(ValueError, match=f"size must be >= {SMALLEST} units, got 8"):
        Pen("x", "X", "An x.", 10).say(0, 0, "too small", size=8)


@every_drawing
def test_shapes_have_no_colour_of_their_own_and_their_classes_have_one(name):
    """Or a dark or printed page could not change it."""
    shapes = [one for one in parsed(name) if one.tag not in (f"{SVG}title", f"{SVG}desc")]
    style = STYLE.read_text(encoding="utf-8")
    for shape in shapes:
        assert not {"fill", "stroke", "style"} & set(shape.attrib)
        for kind in shape.get("class").split():
            assert re.search(rf"\.{kind}\b", style), kind


def test_colours_differ_in_lightness_from_their_ground():
    """By 3 to 1, as WCAG wants of graphics, by 4.5 to 1 of letters, in the light and in the dark."""

    def light(colour: str) -> float:
        digits = colour if len(colour) == 7 else "#" + "".join(2 * one for one in colour[1:])
        parts = np.array([int(digits[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ np.array([0.2126, 0.7152, 0.0722]))

    looks = re.findall(r"\{\s*(--vn-text[^}]*)", STYLE.read_text(encoding="utf-8"))
    assert len(looks) == 4
    for look in looks:
        colours = dict(re.findall(r"--vn-(\w+): (#\w+)", look))
        paper = light(colours["paper"])
        for kind, least in {"text": 7, "quiet": 4.5, "use": 4.5, "miss": 3, "idle": 2.5}.items():
            one, other = sorted((light(colours[kind]), paper))
            assert (other + 0.05) / (one + 0.05) >= least, (kind, look)


def test_the_codes_that_are_drawn_are_those_of_another_solver():
    x = segments.image(segments.DIGITS[3])
    V = segments.dictionary()
    code = segments.settle(x, 4000)
    # Its objective is half the squared error plus alpha times the l1 norm.
    lasso = sparse_encode(
        x.reshape(1, -1), V.T, algorithm="lasso_cd", alpha=0.3, positive=True, max_iter=10_000
    )
    np.testing.assert_allclose(segments.energy(x, code), segments.energy(x, lasso[0]), rtol=1e-6)
    assert segments.energy(x, code) < segments.energy(x, np.zeros_like(code))
    drawn = segments.settle(x, machine.SWEEPS)
    np.testing.assert_allclose(segments.energy(x, drawn), segments.energy(x, code), rtol=1e-4)


def test_the_layer_says_how_many_atoms_it_shows():
    used = int((segments.settle(segments.image(segments.DIGITS[3]), machine.SWEEPS) > 1e-6).sum())
    assert f"of which {used} are not zero" in DRAWINGS["layer"]().description
    texts = [one.text for one in parsed("layer").iter(f"{SVG}text")]
    assert f"rank {used}, as atoms in use" in texts
    assert np.linalg.matrix_rank(machine.OUT[:used].T @ machine.IN[:used]) == used


def test_a_pixel_is_one_product_and_no_sum():
    bump = np.outer(tasks.profile(6, 1.8), tasks.profile(6, 1.8))
    assert np.linalg.matrix_rank(bump) == 1
    of_x, of_y, of_both = chapters.effects(bump)
    np.testing.assert_allclose(of_x + of_y + of_both + bump.mean(), bump, atol=1e-12)
    for part in (of_x[0], of_y[:, 0], *of_both, *of_both.T):
        assert abs(part.sum()) < 1e-12
    sizes = [float((part**2).sum()) for part in (of_x, of_y, of_both)]
    assert sizes[2] == max(sizes) and sizes[2] / sum(sizes) > 1 / 3


def test_the_kernel_draws_what_regression_with_it_does():
    """A ridge of nearly nothing, on features of which the kernel is the product."""
    side, at = tasks.SIDE, 6
    one = np.eye(side)
    places = [(x, y) for y in range(side) for x in range(side)]
    train = [p for p in places if not set(p) <= set(chapters.INSIDE)]
    features = np.array([np.r_[one[x], one[y]] for x, y in train]) / np.sqrt(2)
    images = [np.outer(tasks.profile(y), tasks.profile(x)).ravel() for x, y in train]
    ridge = KernelRidge(alpha=1e-9, kernel="linear").fit(features, np.array(images))
    drawn = ridge.predict([np.r_[one[at], one[at]] / np.sqrt(2)]).reshape(side, side)
    np.testing.assert_allclose(chapters.drawn_by_kernel(at), drawn / np.abs(drawn).max(), atol=1e-5)


def test_every_chapter_has_a_schematic_at_its_head():
    assert set(HEADS) == set(paths.chapters())


def test_heads_are_of_pages_that_there_are():
    assert set(HEADS) <= set(paths.chapters()) and set(HEADS.values()) <= set(DRAWINGS)


def test_the_page_of_pictures_has_all_of_them():
    page = (paths.BOOK / "pictures.md").read_text(encoding="utf-8")
    assert re.findall(r"\{schematic\} (\w+)", page) == list(DRAWINGS)


def test_the_picture_of_the_readme_is_up_to_date():
    """`python -m book.schematics` writes it."""
    file = paths.BOOK / "_static" / "layer.svg"
    assert file.read_text(encoding="utf-8") == DRAWINGS["layer"]().svg(alone=True) + "\n"
    assert "book/_static/layer.svg" in (paths.SOURCE / "README.md").read_text(encoding="utf-8")
