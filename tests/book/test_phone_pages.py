"""What pages show on phones."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from phone_cases import panels
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from book.site import build, in_place, moved
from vnlib.book import paths

pytestmark = pytest.mark.usefixtures("book_style")


def test_a_figure_without_a_drawing_or_a_reason_is_named(tmp_path, monkeypatch):
    """The build of the shipped results ends there."""
    png = nbformat.v4.new_output("display_data", {"image/png": ""})
    cells = []
    for name in ("one", "TWO", "three", "table"):
        told = {"mystnb": {"figure": {"name": name}}}
        shown = [nbformat.v4.new_output("display_data", {"text/html": ""})]
        shown = shown if name == "table" else [png]
        cells.append(nbformat.v4.new_code_cell(metadata=told, outputs=shown))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "page.ipynb")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "two.phone.svg").write_text("<svg/>")
    monkeypatch.setitem(moved.MOVED, "three", "of a reason")
    monkeypatch.setattr(build, "EXECUTED", tmp_path)
    monkeypatch.setattr(build, "EXTRA", tmp_path)
    with pytest.raises(RuntimeError, match="no drawing for phones of one:"):
        build._on_phones()
    monkeypatch.setitem(moved.MOVED, "one", "of a reason")
    build._on_phones()


def test_a_figure_that_is_moved_sideways_says_why():
    """Of those that have no drawing on the pages of the book."""
    files = [*paths.CHAPTERS.glob("*/*.ipynb"), *paths.BOOK.glob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    for name, reason in moved.MOVED.items():
        told = (f'"name": "{name}"', f":name: {name}\n")
        assert any(one in text for text in texts for one in told), name
        assert len(reason.split()) > 3


@pytest.mark.parametrize(
    ("caption", "told", "said"),
    [
        ("Top: errors. Bottom: times.", "columns-2-1", "of every two panels"),
        ("Errors (top) and times (bottom).", "columns-3-1", "again with all their rows"),
        ("Upper row: errors, left: old.", "rows-2-1", "upper rows come first"),
        ("Left: errors. Right: times.", "columns-1-1", "what is left stands above"),
        ("Left: errors. Middle: times.", "columns-1-2", "what has no room at the right"),
        ("Errors fall below one tenth.", "columns-2-1", ""),
        ("Left: errors. Right: times.", "", ""),
    ],
)
def test_a_caption_that_names_places_says_where_they_are(monkeypatch, caption, told, said):
    monkeypatch.syspath_prepend(paths.SOURCE / "book" / "_extensions")
    order = importlib.import_module("for_phones").order
    note = order(caption, f'<svg><g id="phone-{told}"/></svg>' if told else "<svg/>")
    assert (said in note) if said else note == ""


@pytest.fixture
def page(tmp_path, monkeypatch) -> str:
    """The HTML of a page with two figures, the first with a drawing for phones."""
    monkeypatch.syspath_prepend(paths.SOURCE / "book" / "_extensions")
    source = tmp_path / "source"
    drawn = source / "book" / "extra" / "figures"
    drawn.mkdir(parents=True)
    (drawn / "fr9-one.phone.svg").write_text('<svg><g id="phone-columns-1-1"/></svg>')
    (drawn / "fr9-drawn.phone.svg").write_text("<svg/>")
    for name in ("FR9-drawn", "four"):
        (source / f"{name}.svg").write_text(in_place._picture(panels(), sharp=True)[1])
    for name in ("FR9-one", "two"):
        plt.imsave(source / f"{name}.png", np.zeros((4, 4)))
    (source / "book" / "page.rst").write_text(
        "Page\n====\n\n.. figure:: ../FR9-one.png\n\n   One (right), of what is left.\n\n.. figure:: ../two.png\n   :target: ../index.html\n\n   Two, left.\n\n"
        ".. figure:: ../FR9-drawn.svg\n   :alt: Drawn\n\n   Three.\n\n.. figure:: ../four.svg\n   :alt: Too\n   :target: ../index.html\n\n   Four.\n"
    )
    (source / "index.rst").write_text("All\n===\n\n.. toctree::\n\n   book/page\n")
    told = {"html_theme": "basic", "extensions": ["for_phones"]}
    with docutils_namespace(), open(os.devnull, "w", encoding="utf-8") as nowhere:
        Sphinx(
            srcdir=source, confdir=None, outdir=tmp_path / "out", doctreedir=tmp_path / "trees",
            buildername="html", confoverrides=told, status=nowhere, warning=nowhere,
            warningiserror=True,
        ).build()  # fmt: skip
    return (Path(tmp_path) / "out" / "book" / "page.html").read_text(encoding="utf-8")


def test_a_page_shows_it_on_a_narrow_screen_and_lets_others_be_moved(page):
    one, two = page.split("Three.")[0].split("One (right), of what is left.")
    assert 'srcset="../figures/fr9-one.phone.svg"' in one and one.count("<picture>") == 1
    assert "<source media=" in one and one.index("<source") < one.index("<img")
    assert (
        'href="../index.html"><div class="vn-pan"><img' in two.replace("\n", "")
        and "<picture>" not in two
    )
    assert two.count("stands above") == 1 == two.count("vn-narrow"), "of what is drawn for phones"
    assert two.index("vn-narrow") < two.index("Two, left.")


def test_drawings_are_parts_of_the_page(page):
    drawn, four = page.split("Two, left.")[1].split("Three.")
    assert drawn.count("<svg") == 1 == four.count("<svg") and ".svg" not in four
    assert drawn.index('class="vn-wide"') < drawn.index("<svg") < drawn.index('class="vn-phone"')
    assert '<img loading="lazy" alt="Drawn" src="../figures/fr9-drawn.phone.svg">' in drawn
    assert '<div class="vn-pan"><svg class="vn-inline" role="img" aria-label="Too"' in four
    assert 'href="../index.html"><div class="vn-pan"><svg' in four
    assert set(re.findall(r' id="(f\d+)-', drawn)) == {"f3"}
    assert set(re.findall(r' id="(f\d+)-', four)) == {"f4"}
