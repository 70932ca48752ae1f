"""Symbols of formulas: each has a meaning on its page, and says it; formulas look as they did."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from explorer_cases import extension
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from page_cases import made, visits

from vnlib.book import paths

symbols = extension("symbols")
MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin)
FENCE = re.compile(r"\{(\w[\w:-]*)\}")
OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)+")
MADE = {"summary"}  # pages that the build writes
PAGE = r"""# A page of Appendix E

The input dictionary is $V$, a code $a_0$ has $s$ atoms, and it takes $\tfrac1L$ of $10^{-3}$.

$$ E(a_{n+1}) \le \| x - V a \|_1 \\ \text{for } \lambda $$

A <b>term</b>: $|$.
"""


@cache
def formulas() -> dict[str, list[str]]:
    """The formulas of each page as they are written, in text, tables and captions."""
    found: dict[str, list[str]] = {}
    for file in paths.BOOK.glob("*.md"):
        found[file.stem] = [*_in_markdown(file.read_text(encoding="utf-8"))]
    for name in paths.chapters():
        cells = nbformat.read(paths.notebook(name), as_version=4).cells
        told = [cell.source for cell in cells if cell.cell_type == "markdown"]
        told += [
            str(cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", ""))
            for cell in cells
        ]
        found[name] = [tex for text in told for tex in _in_markdown(text)]
    return {page: found for page, found in found.items() if found}


def _in_markdown(text: str) -> Iterator[str]:
    for token in MARKDOWN.parse(text):
        for one in token.children or [token]:
            if one.type.startswith("math"):
                yield " ".join(one.content.split())
            elif one.type == "fence" and (match := FENCE.match(one.info)):
                inside = OPTIONS.sub("", one.content)
                if match[1] == "math":
                    yield " ".join(inside.split())
                elif "code" not in match[1]:
                    yield from _in_markdown(inside)


def test_every_symbol_of_every_page_has_a_meaning():
    assert sum(map(len, formulas().values())) > 900
    unknown = {
        (page, other)
        for page, found in formulas().items()
        for tex in found
        for other in symbols.marked(tex, symbols.meanings(page), {})[1]
    }
    assert not unknown, "say in book/symbols.toml what they mean on these pages"


def test_every_meaning_is_used_on_its_page():
    unused, used = set(), set()
    for page in set(symbols.tables()) - {symbols.BOOK, *MADE}:
        seen: dict[str, int] = {}
        for tex in formulas()[page]:
            symbols.marked(tex, symbols.meanings(page), seen)
        unused |= {(page, name) for name in symbols.meanings(page) if name not in seen}
        used |= {*symbols.tables()[page].get(symbols.USES, ())}
    assert not unused
    assert used == {*symbols.tables()[symbols.BOOK]}


def test_meanings_are_plain_sentences():
    for page in symbols.tables():
        for name, meaning in symbols.meanings(page).items() if page != symbols.BOOK else ():
            told = symbols.said(meaning)
            assert re.fullmatch(r"[A-Z0-9](?:[^$\\_`]|\. )*[.…]", told), (page, name)
            assert len(told) < 180, (page, name)
            assert symbols.read(next(symbols.symbols(name)).names[-1]), (page, name)


@pytest.mark.parametrize(
    ("tex", "found"),
    {
        r"V_l^\top a": [("V", "V_l^\\top"), ("a", "a")],
        r"\operatorname{rank} W(x) \le \|a\|_0": [
            ("W", "W(x)"), ("x", "x"), ("a", "a"), (r"\|", r"\|_0"),
        ],
        r"\hat{x}_l, \bar y": [(r"\hat{x}", r"\hat x_l"), (r"\bar y", r"\bar y")],
        r"d_\mathrm{head} \text{ of } \exp": [("d", r"d_\mathrm{head}")],
        r"\sum_{k=1}^{r} \beta^{l-1} f'(x)": [
            ("k", "k"), ("r", "r"), (r"\beta", r"\beta^{l-1}"), ("l", "l"), ("f", "f'"), ("x", "x"),
        ],
        r"\frac L2 \begin{aligned} & \langle c \rangle \end{aligned} {\rm error}": [
            ("L", "L"), (r"\langle", r"\langle"), ("c", "c"), (r"\rangle", r"\langle"),
        ],
        r"10^{-4} \pi | \top": [(r"\pi", r"\pi")],
    }.items(),
)  # fmt: skip
def test_a_symbol_is_a_letter_with_what_belongs_to_it(tex, found):
    assert [(tex[one.start : one.end], one.names[0]) for one in symbols.symbols(tex)] == found


def test_the_most_special_meaning_is_taken_and_others_are_told():
    known = {"W(x)": "The operator.", "W": "Weights.", "S": "One.", "S_l": "Another."}
    seen: dict[str, int] = {}
    tex, others = symbols.marked(r"W(x) W_l S^*_l S_k \frac y2 \pi", known, seen)
    assert [*seen] == ["W(x)", "W", "S_l", "S"] and others == ["x", "y"]
    assert tex.startswith(r"\class{vn-symbol-0}{W}(x) \class{vn-symbol-1}{W}_l ")
    assert symbols.marked(r"\frac W2", known, {})[0] == r"\frac {\class{vn-symbol-0}{W}}2"


def test_names_are_shown_as_in_formulas():
    names = (r"\hat x", r"S_l^*", r"F^{\text{gravity}}", r"\|_\infty", r"\kappa'", r"\mathbb E")
    assert [symbols.shown(name) for name in names] == [
        "<i>x̂</i>", "<i>S</i><sub>l</sub><sup>*</sup>", "<i>F</i><sup>gravity</sup>", "‖ ‖<sub>∞</sub>",
        "<i>κ</i><sup>′</sup>", "𝔼",
    ]  # fmt: skip


# --- Pages ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A page with the name of a chapter, and the glossary, with the scripts and styles of the book."""
    glossary = (paths.BOOK / "glossary.md").read_text(encoding="utf-8")
    table = re.search(r"```\{symbols\}\n```", glossary)
    assert table
    pages = {
        "index": "# All\n\n```{toctree}\nbook/glossary\nbook/chapters/E_theory\n```",
        "book/glossary": f"# Symbols\n\n{table[0]}\n",
        "book/chapters/E_theory": PAGE,
    }
    settings = {
        "extensions": ["myst_parser", "policy", "symbols", "sphinx.ext.mathjax"],
        "myst_enable_extensions": ["dollarmath"],
        "html_static_path": [str(paths.BOOK / "_static")],
        "html_css_files": ["custom.css"],
        "html_js_files": ["terms.js", "accessible.js"],
        "mathjax_path": "mathjax/tex-svg-full.js",
    }
    return made(tmp_path_factory.mktemp("symbols"), pages, **settings)


def read(built: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((built / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


def test_the_glossary_has_a_row_for_each_symbol_of_the_book(built):
    rows = read(built, "book/glossary").select("table tbody tr")
    assert len(rows) == len(symbols.tables()[symbols.BOOK])
    for row, one in zip(rows, symbols.tables()[symbols.BOOK].values(), strict=True):
        assert row.select_one(".math") and one["means"] in row.get_text()


def test_formulas_stand_in_the_page_as_they_are_written(built):
    page = read(built, "book/chapters/E_theory")
    assert r"\class" not in " ".join(one.get_text() for one in page.select(".math"))
    assert page.select("span.math")[0].get_text() == r"\(V\)"
    marked = json.loads(page.select("#vn-formulas")[0].get_text())
    assert marked["V"] == r"\class{vn-symbol-0}{V}"
    assert "vn-symbol" not in (built / "searchindex.js").read_text(encoding="utf-8")


# --- In the browser -------------------------------------------------------------------------------


SHOWN = ".vn-said:not([hidden])"
TYPESET = "() => MathJax.startup.promise.then(() => null)"
DRAWN = """pairs => pairs.filter(([plain, marked, display]) => {
  const [one, two] = [plain, marked].map((tex) => MathJax.tex2svg(tex, { display }).outerHTML
    .replace(/MJX-\\d+-|ctxtmenu_counter="\\d+"/g, "").replace(/ class="vn-symbol-\\d+"/g, ""));
  return one !== two || /merror/.test(two);
})"""


@pytest.fixture(scope="module")
def open_page(browser, built) -> Iterator[Callable]:
    with visits(browser, built, one=True, ready=TYPESET) as open_:
        yield lambda **how: open_(built / "book/chapters/E_theory.html", **how)


def test_formulas_are_drawn_as_without_it(open_page):
    pairs = {
        (tex, symbols.marked(tex, symbols.meanings(page), {})[0], "\\" in tex)
        for page, found in formulas().items()
        for tex in found
    }
    assert open_page().evaluate(DRAWN, [pair for pair in pairs if pair[0] != pair[1]]) == []


@pytest.mark.parametrize("formula", ["span.math", "div.math"])
def test_the_pointer_shows_what_a_symbol_means(open_page, formula):
    page = open_page()
    drawn = page.locator(f"{formula} mjx-container").first
    drawn.locator("g.vn-symbol-0").hover(force=True)  # its middle is not painted
    assert (
        page.locator(SHOWN)
        .inner_text()
        .startswith("V: The input dictionary: its columns are the atoms")
    )
    page.locator(SHOWN).hover()
    page.wait_for_timeout(300)
    assert page.locator(SHOWN).count() == 1
    page.mouse.move(5, 5)
    page.wait_for_selector(SHOWN, state="detached")


def test_what_stands_below_belongs_to_a_symbol(open_page):
    page = open_page()
    box = page.locator("div.math g[data-mml-node=msub]").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] - 2)
    assert page.locator(SHOWN).inner_text().startswith("a: The code:")


def test_a_formula_that_is_reached_by_keys_says_what_all_its_symbols_mean(open_page):
    page = open_page()
    stops = page.locator("mjx-container")
    described = [
        one for one in range(stops.count()) if stops.nth(one).get_attribute("aria-describedby")
    ]
    assert [*described] == [0, 1, 2, 3, 5], "neither a number nor a bar"
    page.keyboard.press("Tab")
    stops.nth(3).focus()
    assert page.locator(SHOWN).inner_text().count(":") == 1
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    told = page.locator(SHOWN).inner_text()
    assert [line.split(":")[0] for line in re.split(r"\n+", told)] == [
        "E",
        "a",
        "x",
        "V",
        "‖ ‖1",
        "λ",
    ]
    ids = page.evaluate("document.activeElement.getAttribute('aria-describedby').split(' ')")
    texts = [page.locator(f"#{one}").text_content() for one in ids]
    assert len(texts) == 6 and texts[0].startswith("E: The energy of a code")
    page.keyboard.press("Escape")
    assert page.locator(SHOWN).count() == 0


def test_a_tap_shows_it_within_the_screen(open_page):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.locator("div.math g.vn-symbol-0").tap(force=True)
    assert page.locator(SHOWN).inner_text().startswith("V:")
    box = page.locator(SHOWN).bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.touchscreen.tap(200, 700)
    assert page.locator(SHOWN).count() == 0
