"""The directives of our pages, and the script that sorts tables and opens what is folded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from page_cases import visits
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from vnlib.book import paths

PAGE = """
Page
====

.. schematic:: settle

   A *caption*.

First
-----

Seen.

.. fold:: The rest & more

Hidden.

Inner
~~~~~

.. _inside:

Also hidden.

Second
------

Seen again.

.. verdicts:: tiny
"""
CLAIMS = [
    {
        "id": "VN-X1",
        "chapter": "tiny",
        "statement": "a < b",
        "verdict": "reproduced",
        "verdict_controls": "partly",
    },
    {
        "id": "VN-X2",
        "chapter": "tiny",
        "statement": "c",
        "verdict": "undecided",
        "verdict_controls": "",
    },
    {
        "id": "VN-X4",
        "chapter": "tiny",
        "statement": "e",
        "definition": True,
        "verdict": None,
        "verdict_controls": "partly",
    },
    {
        "id": "VN-X3",
        "chapter": "other",
        "statement": "d",
        "verdict": "partly",
        "verdict_controls": "",
    },
]


def built(folder: Path, page: str, monkeypatch, name: str = "index") -> str:
    """The HTML that Sphinx makes of a page with our directives; a warning is an error."""
    monkeypatch.syspath_prepend(paths.SOURCE / "book" / "_extensions")
    source = folder / "source"
    (source / name).parent.mkdir(parents=True, exist_ok=True)
    (source / f"{name}.rst").write_text(page)
    if name != "index":
        (source / "index.rst").write_text(f"All\n===\n\n.. toctree::\n\n   {name}\n")
    told = {"html_theme": "basic", "extensions": ["reading", "no_breaks"]}
    with docutils_namespace(), open(os.devnull, "w", encoding="utf-8") as nowhere:
        app = Sphinx(
            srcdir=source, confdir=None, outdir=folder / "out", doctreedir=folder / "trees",
            buildername="html", confoverrides=told, status=nowhere, warning=nowhere,
            warningiserror=True,
        )  # fmt: skip
        app.build()
    return (folder / "out" / f"{name}.html").read_text(encoding="utf-8")


def test_the_rest_of_a_section_is_folded_and_no_other(tmp_path, monkeypatch):
    html = built(tmp_path, PAGE, monkeypatch)
    start = html.index('<details class="vn-fold"><summary>The rest &amp; more</summary>')
    folded = html[start : html.index("</details>", start)]
    assert "Hidden." in folded and "Also hidden." in folded and 'id="inside"' in folded
    assert "Seen" not in folded and html.count("</details>") == 1
    assert folded.count("<section") == folded.count("</section>") == 1


def test_a_schematic_is_drawn_in_the_page_with_its_caption(tmp_path, monkeypatch):
    html = built(tmp_path, PAGE, monkeypatch)
    assert 'id="schematic-settle"' in html and 'aria-labelledby="vn-settle-title' in html
    assert "A <em>caption</em>." in html
    with pytest.raises(Exception, match="no schematic 'settel'; there are: layer, settle"):
        built(tmp_path / "x", PAGE.replace("schematic:: settle", "schematic:: settel"), monkeypatch)


def test_a_number_stays_with_its_sign_or_unit(tmp_path, monkeypatch):
    text = "Of 5.1 × 10⁻⁷ [4 × 10⁻⁷, 6] and 92 % of 16 GB, **3** % and *2* × as many, 5 sheep, ``7 %``."
    html = built(tmp_path, f"Page\n====\n\n{text}\n", monkeypatch)
    assert "5.1\xa0×\xa010⁻⁷ [4\xa0×\xa010⁻⁷, 6]" in html and "92\xa0% of 16\xa0GB," in html
    assert "<strong>3</strong>\xa0%" in html and "<em>2</em>\xa0× as many, 5 sheep" in html
    assert "\xa0%" not in html[html.index("<code") :], "code is as it is typed"


def test_a_bound_in_the_rules_stays_with_its_sign_and_unit(tmp_path, monkeypatch):
    table = '<table class="vn-verdicts"><tr><td title="≤ 1 × 10">x ≤ 1 × 10³, y &lt; 16 GB</td></tr></table>'
    html = built(tmp_path, f"Page\n====\n\n.. raw:: html\n\n   {table}\n", monkeypatch)
    assert 'title="≤ 1 × 10">x ≤\xa01\xa0×\xa010³, y &lt;\xa016\xa0GB</td>' in html


def test_chapters_have_a_small_schematic_at_their_head(tmp_path, monkeypatch):
    html = built(tmp_path, PAGE, monkeypatch, "book/chapters/fig2_spatial")
    assert html.count('<a class="vn-head"') == 1
    assert html.index("<h1>") < html.index('<a class="vn-head"') < html.index("<h2>")
    assert 'href="../../book/pictures.html#schematic-readout"' in html
    assert 'id="vn-readout-small-title"' in html
    assert "vn-head" not in built(tmp_path / "x", PAGE, monkeypatch)
    page = PAGE.replace("schematic:: settle", "schematic:: readout")
    html = built(tmp_path / "y", page, monkeypatch, "book/chapters/fig2_spatial")
    assert "vn-head" not in html, "it opens with the same one in full"


def test_verdicts_are_those_of_the_ledger(tmp_path, monkeypatch):
    html = built(tmp_path / "none", PAGE, monkeypatch, "book/page")
    assert "vn-strip" not in html, "there is no ledger yet"
    file = tmp_path / "source" / "book" / "extra" / "data" / "ledger.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"claims": CLAIMS}))
    html = built(tmp_path, PAGE, monkeypatch, "book/chapters/page")
    assert "VN-X2" in html and "VN-X3" not in html
    assert '<a href="../generated/ledger.html#claim-vn-x1">VN-X1</a> <span>a &lt; b</span>' in html
    assert "as printed: <b>● reproduced</b>" in html and "with controls: <b>◐ partly</b>" in html
    assert html.count("with controls") == 2
    assert html.count("as printed: definition or theorem, not counted") == 1


TABLE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>T</title>
<table class="dataframe"><thead><tr><th class="blank"></th><th class="col_heading">error</th><th class="col_heading">who</th></tr>
</thead><tbody><tr><th>a</th><td>1,200 [1,100, 1,300]</td><td>y</td></tr><tr><th>b</th><td>5.1&nbsp;×&nbsp;10⁻⁷ [4&nbsp;×&nbsp;10⁻⁷, 6&nbsp;×&nbsp;10⁻⁷]</td><td>x</td></tr>
<tr><th>c</th><td></td><td>z</td></tr><tr><th>d</th><td>92%</td><td>w</td></tr></tbody></table>
<table class="dataframe" id="joined"><thead><tr><th class="col_heading">a</th></tr></thead><tbody>
<tr><th rowspan="2">x</th><td>1</td></tr><tr><td>2</td></tr><tr><th>y</th><td>0</td></tr></tbody></table>
<details class="sd-dropdown"><summary>Solution</summary><p id="solved">solved</p></details>
<details class="vn-fold"><summary>More</summary><details class="vn-fold"><summary>In it</summary><p id="deep">deep</p></details></details>
<script>SCRIPT</script></html>"""


@pytest.fixture(scope="module")
def open_page(browser, tmp_path_factory) -> Iterator[Callable]:
    """Opens the page with what else shall stand in it."""
    script = (paths.BOOK / "_static" / "reading.js").read_text(encoding="utf-8")
    folder = tmp_path_factory.mktemp("reading")
    with visits(browser, folder, one=True) as open_:

        def opened(more: str = "", fragment: str = ""):
            html = TABLE.replace("<script>", f"{more}<script>").replace("SCRIPT", script)
            (folder / "page.html").write_text(html, encoding="utf-8")
            return open_(folder / "page.html", fragment)

        yield opened


def test_a_click_sorts_by_the_numbers_of_a_column(open_page):
    one = open_page()

    def first() -> list[str]:
        return one.locator("table").first.locator("tbody th").all_text_contents()

    assert first() == ["a", "b", "c", "d"]
    one.get_by_role("button", name="error").click()
    assert first() == ["b", "d", "a", "c"], "gaps last"
    assert one.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    one.get_by_role("button", name="error").click()
    assert first() == ["a", "d", "b", "c"], "gaps last, too"
    one.get_by_role("button", name="who").press("Enter")
    assert first() == ["d", "b", "a", "c"] and one.locator("th[aria-sort]").count() == 1
    assert one.locator("#joined button").count() == 0, "rows that share a cell stay together"


def test_a_stacked_table_is_ordered_by_a_list(open_page):
    """Its heads, which are sorted by, are not shown."""
    one = open_page()
    choice = one.get_by_label("Order")
    assert choice.locator("option").all_text_contents() == [
        "as given",
        *(f"{name}, {way} first" for name in ("error", "who") for way in ("least", "largest")),
    ]

    def first() -> list[str]:
        return one.locator("table").first.locator("tbody th").all_text_contents()

    choice.select_option("error, largest first")
    assert first() == ["a", "d", "b", "c"]
    assert one.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    one.get_by_role("button", name="who").click()
    assert choice.input_value() == "2 up"
    choice.select_option("as given")
    assert first() == ["a", "b", "c", "d"] and one.locator("th[aria-sort]").count() == 0


def test_a_link_opens_what_is_folded(open_page):
    one = open_page()
    assert not one.locator("#deep").is_visible()
    one.goto(f"{one.url}#deep")
    assert one.locator("#deep").is_visible()


def test_on_paper_folds_are_open_and_the_ground_is_white(open_page):
    one = open_page()
    one.evaluate("document.documentElement.dataset.theme = 'dark'")
    for event, shown, theme in (("beforeprint", True, "light"), ("afterprint", False, "dark")):
        one.evaluate(f"dispatchEvent(new Event('{event}'))")
        assert [one.locator(f"#{name}").is_visible() for name in ("deep", "solved")] == 2 * [shown]
        assert one.evaluate("document.documentElement.dataset.theme") == theme


def test_a_long_name_in_a_table_breaks_between_its_words(open_page):
    cells = {
        "MiniBatchDictionaryLearning": "Mini|Batch|Dictionary|Learning",
        "<code>results/cluster</code>, others": "<code>results/|cluster</code>, others",
        "seeds_per_slice, 0.00048": "seeds_|per_|slice, 0.00048",
        "DictionaryLearning, 20": "Dictionary|Learning, 20",
        "NAME=fig2_spatial and <code>results/&lt;profile&gt;/&lt;chapter&gt;.nc</code>": "NAME=|fig2_|spatial and "
        "<code>results/|&lt;profile&gt;/|&lt;chapter&gt;.|nc</code>",
        "VN-1L and iFISTA, undecided": "VN-1L and iFISTA, undecided",
    }
    rows = "".join(f"<tr><td>{cell}</td></tr>" for cell in cells)
    table = f'<div class="bd-content"><table><thead><tr><th>a</th></tr></thead><tbody>{rows}</tbody></table></div>'
    one = open_page(table)
    found = one.evaluate(
        "[...document.querySelectorAll('.bd-content td')].map((td) => td.innerHTML.replaceAll('<wbr>', '|'))"
    )
    assert found == [*cells.values()]
