"""The search of the book finds pages to read before descriptions of code."""

from __future__ import annotations

import os

import pytest
import yaml
from page_cases import made, visits

from vnlib.book import paths

PAGES = {
    "index": "# All\n\n```{toctree}\nbook/api/kit\nbook/chapters/one\nbook/other\n```",
    "book/api/kit": "# Kit\n\n```{py:function} depth()\nDepth.\n```",
    "book/chapters/one": "# One\n\n## Of more depth, at last\n\nMuch.",
    "book/other": "# What depth costs\n\nMuch.",
}
FOUND = (
    "() => [...document.querySelectorAll('#search-results ul.search a')].map((a) => a.textContent)"
)


@pytest.mark.parametrize("own", [True, False], ids=["with our scorer", "without"])
def test_a_word_is_found_in_pages_before_code(browser, tmp_path, own, monkeypatch):
    """And without our scorer it is not, so this test can fail."""
    monkeypatch.chdir(paths.SOURCE)  # from where the book is built
    told = yaml.safe_load((paths.SOURCE / "_config.yml").read_text(encoding="utf-8"))
    scorer = told["sphinx"]["config"]["html_search_scorer"]
    assert os.path.isfile(scorer)
    settings = {"html_search_scorer": scorer} if own else {}
    built = made(
        tmp_path, PAGES, extensions=["myst_parser"], html_show_search_summary=False, **settings
    )
    with visits(browser, built) as open_:
        page = open_(built / "search.html")
        page.goto(f"{(built / 'search.html').as_uri()}?q=depth")
        page.wait_for_function("() => document.querySelectorAll('#search-results a').length > 4")
        found = page.evaluate(FOUND)
    pages, code = {"All", "One", "What depth costs"}, {"Kit", "depth"}
    assert set(found) == pages | code
    assert (set(found[:3]) == pages) == own
    assert (found[0] == "What depth costs") == own
