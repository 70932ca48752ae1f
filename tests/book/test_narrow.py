"""On a phone nothing is cut off: what is too wide breaks, or scrolls in a box of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from cut_off import cut_off
from labels import small
from page_cases import made, visits

from vnlib.book import paths
from vnlib.plots.style import COLUMN

LONG = "chapters.A_predictive_coding.figures_example.of_a_name_that_is_long"
FORMULA = (
    r"\|a_0 + h\|_1 \ge \|a_0\|_1 - \|h_S\|_1 + \|h_{S^c}\|_1 > \|a_0\|_1 + \max_k |v_k^\top x|"
)
CELLS = "".join(f"<td>{number}.{number} [0.0, 9.9]</td>" for number in range(9))
HEADS = "".join(f"<th>error {number}</th>" for number in range(9))
PARTS = {
    "formula": f"Hence ${FORMULA}$.",
    "display": f"$$ {FORMULA} $$",
    "code": f"Of `{LONG}` and `vnbook run {LONG} -p profile smoke`.",
    "heading": f"## `{LONG}`\n\nText.",
    "block": f"```python\n{LONG}({LONG})\n```",
    "signature": f"```{{py:function}} {LONG}(results: xr.Dataset, of_a_long_name: {LONG})\n\n:param code: Of "
    f"{LONG}\n:type code: {LONG}\n```",
    "table": "| a | b | c | d | e |\n|---|---|---|---|---|\n" + f"| `{LONG}` " * 5 + "|",
    "squeezed": f"| a | b | c |\n|---|---|---|\n| x | y | {'some words ' * 90}|",
    "figure": ":::{figure} wide.png\n:alt: A wide picture\nCaption.\n:::",
    "dropdown": ":::{dropdown} More\n<table><tr>" + CELLS + "</tr></table>\n:::",
    "output": '<div class="cell"><div class="cell_output"><div class="output text_html">'
    f'<div class="vn-table" tabindex="0" role="region" aria-label="T"><table class="dataframe"><tr>{CELLS}</tr></table></div></div></div></div>',
    "stacked": '<div class="vn-table"><table class="dataframe" id="wide"><thead><tr><th class="blank"></th><th class="blank">'
    '</th><th colspan="9">signals</th></tr><tr><th class="index_name">model</th><th class="index_name">set</th>'
    f'{HEADS}</tr></thead><tbody><tr><th rowspan="2">a</th><th>id</th>{CELLS}</tr><tr><th>ood</th>{CELLS}</tr></tbody></table></div>',
}

PARTS["long"] = (
    '<div class="vn-table" id="long" tabindex="0" role="region" aria-label="L"><table class="dataframe"><thead>'
    '<tr><th class="blank"></th><th class="col_heading">error</th></tr><tr><th class="index_name">model</th>'
    f'<th class="blank"></th></tr></thead><tbody>{"<tr><th>a</th><td>1</td></tr>" * 60}</tbody></table></div>'
)
PARTS["words"] = (
    '<div class="vn-table" id="words"><table class="dataframe"><thead><tr><th class="blank"></th><th class="col_heading">error'
    '</th><th class="col_heading">why</th></tr></thead><tbody><tr><th>a</th><td>0.0012 [0.0010, 0.0015], of 8</td>'
    "<td>the readout has no product</td></tr></tbody></table></div>"
)
GROUPS = "".join(f'<th class="col_heading" colspan="6">{name}</th>' for name in ("errors", "gains"))
SPLITS = "".join(f"<th class=col_heading>{'eg'[n > 5]}{n}</th>" for n in range(12))
ROWS = "".join(
    f"<tr><th>{name}</th>"
    + "".join(
        f'<td style="min-width:5rem">{n}.{row}</td>'
        if n % 11 or row
        else f'<td id="least{n}" style="min-width:5rem">{n}.0</td>'
        for n in range(12)
    )
    + "</tr>"
    for row, name in enumerate("abc")
)
PARTS["split"] = (
    "<style>#least0, #least11 { font-weight: bold; }</style>"
    '<div class="vn-table" tabindex="0" role="region" aria-label="M"><table class="dataframe" id="split"><thead>'
    f'<tr><th class="blank"></th>{GROUPS}</tr><tr><th class="blank"></th>{SPLITS}</tr></thead>'
    f"<tbody>{ROWS}</tbody></table></div>"
)

MANY = "".join(
    f"<td>0.{n}5 [0.0{n}1,\N{NO-BREAK SPACE}0.9{n}2]</td>" for n in range(1, 8) for _ in range(2)
)
PARTS["many"] = (
    '<div class="vn-table" tabindex="0" role="region" aria-label="N"><table class="dataframe" id="many"><thead><tr>'
    f'<th class="blank"></th>{"<th class=col_heading>held out</th>" * 14}</tr></thead>'
    f"<tbody><tr><th>a</th>{MANY}</tr><tr><th>b</th>{MANY}</tr></tbody></table></div>"
)


TABLES = [text for name, text in PARTS.items() if "<table" in text or name in ("table", "squeezed")]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A page of all parts, with the book's theme, styles and formulas, and one of tables alone, which is
    there sooner.
    """
    folder = tmp_path_factory.mktemp("narrow")
    (folder / "source").mkdir()
    plt.imsave(folder / "source" / "wide.png", np.zeros((20, 2000)))
    pages = {"index": PARTS.values(), "tables": TABLES}
    settings = {
        "html_theme": "sphinx_book_theme",
        "extensions": ["myst_parser", "sphinx_design", "sphinx.ext.mathjax"],
        "myst_enable_extensions": ["dollarmath", "colon_fence", "fieldlist"],
        "html_static_path": [str(paths.BOOK / "_static")],
        "html_css_files": ["custom.css"],
        "html_js_files": ["reading.js", "accessible.js"],
        "mathjax_path": "mathjax/tex-svg-full.js",
        "toc_object_entries": False,
    }
    texts = {name: "\n\n".join(["# Page", *parts]) for name, parts in pages.items()}
    return made(folder, texts, strict=False, **settings)


@pytest.fixture(scope="module")
def open_page(browser, built, tmp_path_factory) -> Iterator[Callable]:
    """Opens the page, or that of tables, or another file, at a width."""
    here = tmp_path_factory.getbasetemp()
    with visits(browser, here, one=True, forgiven="invalid theme mode") as open_:

        def opened(name: str | Path, width: int = 390, height: int = 844):
            screen = {"viewport": {"width": width, "height": height}}
            return open_(built / f"{name}.html" if isinstance(name, str) else name, **screen)

        yield opened


def test_nothing_is_cut_off_and_what_scrolls_is_reached_by_keys(open_page):
    page = open_page("index")
    for width in (1440, 390):
        assert cut_off(page, width) == [], width
    page.evaluate("dispatchEvent(new Event('resize'))")
    scrolled = """() => [...document.querySelectorAll(".bd-content *")].filter((one) =>
      ["auto", "scroll"].includes(getComputedStyle(one).overflowX)
      && one.scrollWidth > one.clientWidth && one.tabIndex !== 0).map((one) => one.className)"""
    assert page.evaluate(scrolled) == []
    assert page.locator(".vn-line").text_content().endswith("."), "no line begins with a full stop"
    there = page.evaluate("document.querySelector('span.math').scrollWidth")
    assert there > 390, "the formula is whole, if one scrolls"


def test_contents_go_away_when_a_place_is_chosen(open_page):
    page = open_page("index")
    contents = page.locator("#pst-secondary-sidebar-modal")  # the theme opens it and fills it
    contents.evaluate(
        "(one) => { one.innerHTML = '<a href=\"#there\">There</a>'; one.showModal(); }"
    )
    contents.locator("a").click()
    contents.wait_for(state="hidden")
    assert page.url.endswith("#there")


WIDER = """() => [...document.querySelectorAll(".vn-table > table[id]")].filter((one) =>
  one.getBoundingClientRect().width > one.parentElement.clientWidth + 1).map((one) => one.id)"""


def test_no_table_is_wider_than_its_column(open_page):
    page = open_page("tables")
    assert page.evaluate(WIDER) == []
    heads = "[...document.querySelectorAll('#wide td')].map((one) => one.dataset.head)"
    assert page.evaluate(heads) == 2 * [f"signals, error {number}" for number in range(9)]
    shown = "getComputedStyle(document.querySelector('#wide td'), '::before').content"
    assert page.evaluate(shown) == '"signals, error 0"'
    squeezed = page.locator("table.vn-stacked:not(#wide) .vn-long", has_text="some words")
    assert squeezed.count() == 1, "rows of many short lines"
    page.set_viewport_size({"width": 2200, "height": 900})
    page.locator("#wide:not(.vn-stacked)").wait_for()  # where there is room it is a table
    page.set_viewport_size({"width": 391, "height": 844})
    page.locator("#wide.vn-stacked").wait_for()  # the page has heard of it
    page.evaluate("document.querySelector('#wide').classList.remove('vn-stacked')")
    assert page.evaluate(WIDER) == ["wide"], "or this shows nothing"


WITHIN = """(one) => [...one.querySelectorAll("tbody tr")].some((row) => {
  const end = one.getBoundingClientRect().bottom, { top, bottom } = row.getBoundingClientRect();
  return top < end - 3 && bottom > end + 3;
})"""


def test_a_long_table_says_that_it_goes_on_and_can_be_shown_whole(open_page):
    page = open_page("tables")
    box, press = page.locator("#long"), page.get_by_role("button", name="rows: L")
    assert press.text_content() == "Show all 60 rows" and "vn-below" in box.get_attribute("class")
    assert page.get_by_role("button", name="Show all 1 rows: T", exact=True).count() == 0, (
        "all of it is shown"
    )
    assert not box.evaluate(WITHIN), "the box ends with a row"
    box.evaluate("(one) => one.scrollTo(0, one.scrollHeight)")
    page.locator("#long:not(.vn-below)").wait_for()
    press.press("Enter")
    assert box.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 2
    assert press.text_content() == "Show fewer rows" and "vn-below" not in box.get_attribute(
        "class"
    )
    press.press("Enter")
    page.locator("#long.vn-below").wait_for()
    box.evaluate("(one) => one.style.setProperty('--rows', `${one.offsetHeight - 9}px`)")
    assert box.evaluate(WITHIN), "or this shows nothing"
    page.emulate_media(media="print")
    assert not press.is_visible()
    assert box.evaluate("(one) => one.scrollHeight - one.clientHeight") <= 2
    assert box.evaluate("(one) => getComputedStyle(one).maskImage") == "none"


HIDDEN = """() => {
  const box = document.querySelector("#long"), { rows } = box.querySelector("tbody"), found = [];
  while (rows.length > 2) {
    rows[0].remove();
    dispatchEvent(new Event("resize"));
    const end = box.getBoundingClientRect().bottom + 3;
    found.push([...rows].filter((row) => row.getBoundingClientRect().bottom > end).length);
  }
  return found;
}"""


def test_no_table_hides_a_single_row(open_page):
    page = open_page("tables", 1280, 900)
    hidden = page.evaluate(HIDDEN)
    assert hidden[0] > 40 and hidden[-1] == 0
    assert 2 in hidden and 1 not in hidden


def test_a_stacked_row_says_what_its_names_are(open_page):
    page = open_page("tables")
    names = "[...document.querySelectorAll('#wide tbody th')].map((one) => one.dataset.head)"
    assert page.evaluate(names) == ["model", "set", "set"]


def test_sentences_begin_at_the_left_and_numbers_end_at_the_right(open_page):
    page = open_page("tables", 1280, 900)
    sides = (
        "[...document.querySelectorAll('#words td')].map((one) => getComputedStyle(one).textAlign)"
    )
    assert page.evaluate(sides) == ["right", "left"]


SPLIT = """() => {
  const parts = [...document.querySelector("#split").parentElement.querySelectorAll("table")];
  const seen = (row) => [...row.cells].filter((one) => one.getClientRects().length);
  return {
    kept: parts.every((one) => one.getBoundingClientRect().width <= one.parentElement.clientWidth + 1),
    heads: parts.map((one) => seen(one.tHead.rows[0]).map((head) => [head.textContent, head.colSpan])),
    rows: parts.map((one) => [...one.tBodies[0].rows].map((row) => seen(row).map((cell) => cell.textContent).join(" "))),
    bold: parts.map((one) => [...one.querySelectorAll("td")].filter((cell) => cell.getClientRects().length
      && getComputedStyle(cell).fontWeight >= 600).length),
    ids: parts.map((one) => one.id + one.querySelectorAll("[id]").length),
  };
}"""


def test_a_table_that_is_wider_than_its_column_is_shown_in_parts(open_page):
    """Where the column is no phone's, rows can still be compared: each part names them, and none moves sideways."""
    page = open_page("tables", 1280, 900)
    page.locator(".vn-table:not(.vn-moves) > #split.vn-tight:not(.vn-stacked) + table").wait_for()
    found = page.evaluate(SPLIT)
    assert found["kept"] and page.evaluate(WIDER) == []
    (first, second), heads = found["rows"], found["heads"]
    assert (
        [one.split(" ")[0] for one in first] == [one.split(" ")[0] for one in second] == list("abc")
    )
    numbers = [f"{one} {other}".split() for one, other in zip(first, second, strict=True)]
    assert [len(set(row)) for row in numbers] == [13, 13, 13], "each number once, and the name"
    assert heads == [[["", 1], ["errors", 6]], [["", 1], ["gains", 6]]], "heads are not cut in two"
    assert found["bold"] == [1, 1] and found["ids"] == ["split2", "0"]
    press = page.locator("#split + table").get_by_role("button", name="g7")
    for order in ("abc", "cba"):
        press.press("Enter")
        sorted_ = page.evaluate(SPLIT)
        assert [[one[0] for one in rows] for rows in sorted_["rows"]] == 2 * [list(order)]
        assert page.evaluate("document.activeElement.textContent") == "g7", "the keys stay there"
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("#split.vn-stacked:only-of-type").wait_for()
    assert page.locator("#split td[hidden]").count() == 0


def test_heads_are_parted_where_one_is_wider_than_the_column(open_page):
    page = open_page("tables", 768, 900)
    page.add_style_tag(content=".vn-table:has(#wide) td { min-width: 8rem; }")
    page.evaluate("dispatchEvent(new Event('resize'))")
    page.locator("#wide.vn-tight + table").first.wait_for()
    assert page.evaluate(WIDER) == []
    heads = "[...document.querySelectorAll('.vn-table:has(#wide) thead tr:first-child th:not(.blank)')].map((one) => one.colSpan)"
    assert sum(page.evaluate(heads)) == 9, "all of them below heads of what they are"


def test_on_paper_nothing_is_in_a_box_that_scrolls(open_page):
    """What does not fit would not be printed."""
    page = open_page("index", 680, 900)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    kept = """() => [...document.querySelectorAll(".bd-content *")].filter((one) =>
      ["auto", "scroll"].includes(getComputedStyle(one).overflowY)
      && one.getClientRects().length).map((one) => one.className)"""
    assert page.evaluate(kept) == []
    assert cut_off(page, 680) == []
    page.emulate_media(media="screen")
    assert page.evaluate(kept), "or this shows nothing"


def test_on_paper_tables_are_small_and_no_wider_than_it(open_page):
    page = open_page("tables", 1280, 900)
    size = "() => parseFloat(getComputedStyle(document.querySelector('#wide td')).fontSize)"
    before = page.evaluate(size)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(size) < 0.8 * before
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 900})
    assert page.evaluate(WIDER) == []
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.evaluate(size) == before


def test_on_paper_a_table_is_whole_in_small_type_where_it_can_be(open_page):
    """Intervals break there after their comma, and nowhere else; one that is too wide is in parts."""
    page = open_page("tables", 1280, 900)
    parts = """() => [...document.querySelectorAll("#many, #many ~ table")].map((one) =>
      [...one.tBodies[0].rows[0].cells].filter((cell) => cell.getClientRects().length).length)"""
    lines = """() => [...document.querySelectorAll("#many td")].filter((one) => one.getClientRects().length).map((one) => {
      const range = document.createRange();
      range.selectNodeContents(one);
      return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom))).size;
    })"""
    texts = "[...document.querySelectorAll('#many td')].map((one) => one.textContent)"
    page.locator("#many + table").wait_for()
    before, said, broken = page.evaluate(parts), page.evaluate(texts), page.evaluate(lines)
    assert len(before) > 1 and max(broken) <= 2
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 900})
    assert page.evaluate(parts) == [15] and page.evaluate(texts) == said
    assert page.evaluate(WIDER) == [] and set(page.evaluate(lines)) == {3}
    size = page.locator("#many td").first.evaluate("(one) => getComputedStyle(one).fontSize")
    assert 8 <= float(size.removesuffix("px")) < 10.4
    assert page.locator("#split.vn-small").count() == 0, "no type is small enough"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator("#many + table").wait_for()
    assert page.evaluate(parts) == before and page.evaluate(lines) == broken
    assert page.evaluate(texts) == said


def test_a_wide_figure_is_as_wide_as_its_labels_are_made_for(open_page):
    page = open_page("index")
    for width in (1280, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator("figure img").bounding_box()["width"] >= COLUMN, width


def test_without_our_styles_it_would_be(built, open_page, tmp_path):
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    (tmp_path / "_static" / "custom.css").write_text("")
    page = open_page(tmp_path / "index.html")
    found = "\n".join(cut_off(page))
    for part in ("the page is", "mjx-container by", "code by", "table by"):
        assert part in found, part


def test_small_labels_are_found(built, open_page, tmp_path):
    """As a check of all pages does."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    with plt.rc_context({"svg.fonttype": "path", "xtick.labelsize": 8, "ytick.labelsize": 8}):
        figure, _ = plt.subplots(figsize=(20, 2))
        figure.savefig(tmp_path / "_images" / "wide.svg")
    plt.close(figure)
    file = tmp_path / "index.html"
    file.write_text(file.read_text().replace("wide.png", "wide.svg"))
    page = open_page(file)
    page.add_style_tag(content="figure img { width: 720px !important; }")
    (line,) = small(page)
    assert line.startswith("wide.svg: '") and line.endswith(", 4.0 px")
    assert small(open_page("index")) == []
