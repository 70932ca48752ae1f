"""Pages of source share their side bars; pages of the book do not."""

from __future__ import annotations

import importlib.util

import pytest
import yaml
from sphinx.builders.html import StandaloneHTMLBuilder

from vnlib.book import paths


@pytest.fixture
def navigation(monkeypatch):
    """The navigation as the extension gives it, and the pages for which Sphinx was asked."""
    asked = []

    def whole(builder, page, collapse=True, **options):
        asked.append(page)
        return (
            f"{'../' * page.count('/')} {collapse} {options} {'' if '_modules' in page else page}"
        )

    monkeypatch.setattr(StandaloneHTMLBuilder, "_get_local_toctree", whole)
    file = paths.SOURCE / "book" / "_extensions" / "source_pages.py"
    found = importlib.util.spec_from_file_location("source_pages", file)
    extension = importlib.util.module_from_spec(found)
    found.loader.exec_module(extension)
    extension.setup(None)
    return lambda *a, **k: StandaloneHTMLBuilder._get_local_toctree(None, *a, **k), whole, asked


def test_what_is_shared_is_what_each_page_would_have(navigation):
    shared, whole, _ = navigation
    for page in ("_modules/a", "_modules/b", "_modules/a/b", "_modules/a/c", "book/a", "book/b"):
        for options in ({}, {"collapse": False}, {"maxdepth": 2}, {"maxdepth": 3}):
            assert shared(page, **options) == whole(None, page, **options)


def test_sphinx_is_asked_once_for_each_depth_of_the_source_and_for_every_page_of_the_book(
    navigation,
):
    shared, _, asked = navigation
    for page in (
        "_modules/a",
        "_modules/b",
        "_modules/a/b",
        "_modules/a/c",
        "book/a",
        "book/b",
        "book/a",
    ):
        shared(page)
    assert asked == ["_modules/a", "_modules/a/b", "book/a", "book/b", "book/a"]


def test_extensions_of_ours_are_loaded():
    """The list of extensions replaces the one that jupyter-book makes of local ones."""
    told = yaml.safe_load((paths.SOURCE / "_config.yml").read_text(encoding="utf-8"))["sphinx"]
    assert told["local_extensions"].keys() <= set(told["config"]["extensions"])
