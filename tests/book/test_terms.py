"""Terms of the glossary: the first use on a page says what the glossary says, and to every reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from docutils import nodes
from explorer_cases import extension
from page_cases import made, visits

from vnlib.book import paths

terms = extension("terms")
PAGE = """# An atom in a heading

A sweep, `an atom in code`, [an atom in a link](https://example.org/), $atom$ and *zero baselines*. Atoms and
an atom, a sub-atom, subatomic dictionaries; OOD, ood, out of
distribution.

```python
atom = "settle"
```

| support |
|---|
| supports |

:::{figure} nothing.png
The hold-out in a caption.
:::

The <b>settle</b> & the rest: settles.
"""
LAST = "The VN, too."


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A chapter, another page and the book's own glossary, with the scripts and styles of the book."""
    own = (paths.BOOK / "glossary.md").read_text(encoding="utf-8").split("## Symbols")[0]
    pages = {
        "index": "# All\n\n```{toctree}\nbook/intro\nbook/glossary\nbook/own_data\nbook/chapters/one\n```"
    }
    pages |= {"book/glossary": own, "book/chapters/one": PAGE, "book/own_data": PAGE}
    pages["book/intro"] = "# Start\n\n" + "\n\n".join([LAST] * 60 + ["A hold-out."])
    settings = {
        "extensions": ["myst_parser", "policy", "terms", "sphinx_design", "sphinx.ext.mathjax"],
        "myst_enable_extensions": ["dollarmath", "colon_fence"],
        "html_static_path": [str(paths.BOOK / "_static")],
        "html_css_files": ["custom.css"],
        "html_js_files": ["terms.js"],
        "mathjax_path": "mathjax/tex-svg-full.js",
    }
    return made(tmp_path_factory.mktemp("terms"), pages, strict=False, **settings)


def read(built: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((built / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


def plain(element: Tag) -> str:
    return " ".join(element.get_text().split()).rstrip("¶")


def test_only_the_first_use_in_prose_is_explained(built):
    page = read(built, "book/chapters/one")
    found = [(plain(one), one.get("data-term")) for one in page.select("a.vn-term")]
    assert found == [
        ("sweep", "term-Sweep"),
        ("zero baselines", "term-Zero-baseline"),
        ("Atoms", "term-Atom"),
        ("dictionaries", "term-Dictionary"),
        ("OOD", "term-Out-of-distribution"),
        ("settle", "term-Settle"),
    ]
    assert not page.select("code .vn-term, pre .vn-term, h1 .vn-term, .reference .vn-term")
    assert read(built, "book/own_data").select(".vn-term")
    assert not read(built, "book/glossary").select(".vn-term, .vn-said"), "it is explained there"


def test_what_cells_show_is_left_as_it_is():
    shown, told = nodes.Text("support"), nodes.Text("support")
    nodes.container("", nodes.paragraph("", "", shown), classes=[terms.OUTPUT])
    nodes.container("", nodes.paragraph("", "", told), classes=["cell_input"])
    assert terms.left(shown) and not terms.left(told)


def test_a_term_says_what_the_glossary_says_and_leads_there(built):
    glossary = read(built, "book/glossary")
    said = {}
    for definition in glossary.select("dl.glossary > dd"):
        told = plain(definition.select("p")[0])
        for name in definition.find_previous_siblings():
            if name.name != "dt":
                break
            said[name["id"]] = told
    for name, up in (("book/chapters/one", "../"), ("book/own_data", ""), ("book/intro", "")):
        page = read(built, name)
        links = page.select("a.vn-term")
        assert links
        for link in links:
            entry = link.get("data-term")
            assert link.get("href") == f"{up}glossary.html#{entry}"
            box = page.find(id=link.get("aria-describedby"))
            assert plain(box) == said[entry] and box.get("role") == "tooltip"


def test_every_name_of_the_glossary_is_found_and_is_its_own_entry(built):
    names = [plain(one) for one in read(built, "book/glossary").select("dl.glossary > dt")]
    known = {name: (name, "") for name in names}
    assert len(names) == len({*names}) > 25
    find = terms.pattern(names)
    for name in names:
        for form in (name, name if name.isupper() else name[0].lower() + name[1:]):
            match = find.fullmatch(form)
            assert (match is None) is ("(" in name), "what is in brackets is for the glossary only"
            assert match is None or terms.entry_of(match[0], known)[0] == name
    assert terms.entry_of("Dictionaries", known)[0] == "Dictionary"
    assert not find.search("supported, decode, tie, surelynot, id, half-settle, seeding")


def test_first_paragraphs_are_plain():
    text = (paths.BOOK / "glossary.md").read_text(encoding="utf-8")
    inside = re.search(r"```\{glossary\}\n:sorted:\n(.*?)\n```", text, re.DOTALL)[1]
    entries = re.split(r"\n\n(?=\S)", inside.strip())
    for entry in entries:
        first = re.split(r"\n\n", entry)[0]
        assert "$" not in first and "](" not in first, (
            "a text at the pointer has no formulas and links"
        )


# --- In the browser -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def open_page(browser, built) -> Iterator[Callable]:
    """Opens a page; the picture of its figure is missing."""
    with visits(browser, built, one=True, forgiven="ERR_FILE_NOT_FOUND") as open_:
        yield lambda name="book/chapters/one", **how: open_(built / f"{name}.html", **how)


SHOWN = ".vn-said:not([hidden])"


def test_keys_show_it_and_escape_hides_it(open_page):
    page = open_page()
    assert page.locator(SHOWN).count() == 0
    page.locator(".vn-term").nth(1).focus()
    assert page.locator(SHOWN).inner_text() == "The model that draws or predicts zero everywhere."
    page.keyboard.press("Escape")
    assert page.locator(SHOWN).count() == 0
    assert page.evaluate("document.activeElement.dataset.term") == "term-Zero-baseline"
    page.keyboard.press("Tab")
    assert page.locator(SHOWN).get_attribute("id") == "vn-term-Atom", "one at a time"
    page.keyboard.press("Enter")
    page.wait_for_url("**/glossary.html#term-Atom")


def test_the_pointer_shows_it_and_may_go_there(open_page):
    page = open_page()
    page.locator(".vn-term").first.hover()
    page.locator(SHOWN).hover()
    page.wait_for_timeout(300)
    assert page.locator(SHOWN).count() == 1
    page.mouse.move(5, 5)
    page.wait_for_selector(SHOWN, state="detached")


def test_a_tap_shows_it_within_the_screen_and_a_second_one_follows(open_page):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = open_page("book/intro", **phone)
    last = page.locator(".vn-term").last
    for tapped in (last, page.locator(".vn-term").first, last):
        tapped.scroll_into_view_if_needed()
        tapped.tap()
        box, at = page.locator(SHOWN).bounding_box(), tapped.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
        assert box["y"] >= 0 and box["y"] + box["height"] <= 844
        assert box["y"] >= at["y"] + at["height"] or box["y"] + box["height"] <= at["y"]
    page.touchscreen.tap(200, 400)
    assert page.locator(SHOWN).count() == 0
    last.tap()
    assert page.locator(SHOWN).count() == 1
    last.tap()
    page.wait_for_url("**/glossary.html#term-Hold-out")
