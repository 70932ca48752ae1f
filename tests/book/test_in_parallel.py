"""Several processes make the same HTML as one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.ext import viewcode
from sphinx.util.docutils import docutils_namespace

from vnlib.book import paths

WHOLE = StandaloneHTMLBuilder.gen_pages_from_extensions  # which the extension replaces
NEEDED = viewcode.should_generate_module_page
PAGES = 7  # Sphinx reads six or more in parallel
PAGE = """
Page {0}
======

.. prf:theorem:: Of page {0}
   :label: theorem-{0}

   It holds, as :prf:ref:`theorem-{1}` does.
"""
SHOWN = {
    0: "\n.. autodata:: shapes.HOME\n",
    1: "\n.. autofunction:: shapes.area\n",
    2: "\n.. autofunction:: solids.volume\n",
}
# The value of `HOME` is of a module of which no page shows anything.
SHAPES = """
from pathlib import Path

HOME = Path("x")
'''Where.'''

def area(side):
    '''Of a square.'''
    return side**2
"""
SOLIDS = """
def volume(side):
    '''Of a cube.'''
    return side**3
"""


def built(folder: Path, extensions: list[str]) -> dict[str, bytes]:
    """The pages that Sphinx makes of those in a folder's `source`."""
    source, out = folder / "source", folder / "-".join(["out", *extensions])
    all_of_them = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", *extensions]
    told = {"html_theme": "basic", "extensions": all_of_them}
    with docutils_namespace(), open(os.devnull, "w", encoding="utf-8") as nowhere:
        app = Sphinx(
            srcdir=source, confdir=None, outdir=out, doctreedir=out / "trees", buildername="html",
            confoverrides=told, status=nowhere, warning=nowhere, warningiserror=True,
        )  # fmt: skip
        app.build()
    return {str(page.relative_to(out)): page.read_bytes() for page in out.rglob("*.html")}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Sphinx forks its processes")
def test_several_processes_make_the_pages_of_one(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(paths.SOURCE / "book" / "_extensions")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "solids.py").write_text(SOLIDS)
    (tmp_path / "source").mkdir()
    for number in range(PAGES):
        text = PAGE.format(number, (number + 1) % PAGES) + SHOWN.get(number, "")
        (tmp_path / "source" / f"page{number}.rst").write_text(text)
    names = "\n   ".join(f"page{number}" for number in range(PAGES))
    (tmp_path / "source" / "index.rst").write_text(
        f"All\n===\n\n.. toctree::\n   :numbered:\n\n   {names}\n"
    )
    needed = ["sphinx_multitoc_numbering", "sphinx_proof"]
    one = built(tmp_path, needed)
    # The same, but to be restored afterwards.
    monkeypatch.setattr(StandaloneHTMLBuilder, "gen_pages_from_extensions", WHOLE)
    monkeypatch.setattr(viewcode, "should_generate_module_page", NEEDED)
    several = built(tmp_path, [*needed, "in_parallel"])
    assert one.keys() == several.keys()
    assert {"_modules/shapes.html", "_modules/solids.html", "_modules/index.html"} <= one.keys()
    assert [name for name in one if one[name] != several[name]] == []
