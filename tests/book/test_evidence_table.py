"""The ledger's table: a dot and a row for every statement, drawings of intervals, and its filters
in headless Chromium.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from itertools import pairwise
from math import exp, log
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ledger_cases import COUNT, RATIO, YES, page, row, told
from page_cases import visits

from book.site import effects, evidence_table, ledger_page, statements
from vnlib.book import ledger as claims
from vnlib.book import paths

SHIPPED = paths.RESULTS / "paper" / "ledger.json"
ROW = re.compile(r'<tr id="([^"]+)" data-verdict="([^"]+)".*?</tr>', re.DOTALL)
DOT = re.compile(
    r'class="vn-dot[^"]*" [^>]*href="#([^"]+)" title="([^"]+)"><svg class="vn-mark ([^"]+)"'
)
PROTOCOLS = list(statements.PROTOCOLS)
PHONE = 358  # px of the same on a phone 390 px wide
COLUMN = 1100  # px of a page's text beside its sidebar, on a screen 1440 px wide


def rows_of(text: str) -> dict[str, str]:
    """The rows of the statements on a page by their anchors."""
    return {hit[1]: hit[0] for hit in ROW.finditer(text)}


# --- A row and a dot per statement ----------------------------------------------------------------


def test_every_shipped_statement_has_a_row_and_a_dot_with_its_verdict():
    found = json.loads(SHIPPED.read_text(encoding="utf-8"))
    text = ledger_page.ledger(found, "paper")
    wanted = {one["id"].lower().replace(".", "-"): one["verdict"] for one in found["statements"]}
    assert len(wanted) == len(found["statements"])
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids)), "anchors are unique"
    assert sorted((hit[1], hit[2]) for hit in ROW.finditer(text)) == sorted(wanted.items())
    dots = DOT.findall(text)
    assert {(name, title.rpartition(": ")[2]) for name, title, _ in dots} == {*wanted.items()}
    assert len(dots) == len(wanted)
    assert {f"claim-{one['id'].lower()}" for one in found["claims"]} <= {*ids}, (
        "other pages link to these"
    )
    assert {*re.findall(r'href="#([^"]+)"', text)} <= {*ids}


def test_each_shipped_statement_names_what_it_is_about():
    """It is found by search and by links, without those before it."""
    says = [one["says"] for one in json.loads(SHIPPED.read_text(encoding="utf-8"))["statements"]]
    dangling = re.compile(r"(it|its|that|they|their|the same|with replay they)\b")
    assert says and not [one for one in says if dangling.match(one)]


def test_dots_differ_in_shape_by_verdict_and_in_size_by_weight():
    found = [
        told(place=place + 1, verdict=verdict) for place, verdict in enumerate(statements.VERDICTS)
    ]
    text = page([row()], *found, told(place=9, weight=claims.DETAIL))
    *dots, last = [style for _, _, style in DOT.findall(text)]
    assert len(set(dots)) == len(statements.VERDICTS)
    assert last == "vn-holds vn-detail"
    shapes = re.findall(r'<symbol id="vn-mark-([\w-]+)" viewBox="[^"]+">(.*?)</symbol>', text)
    assert len({shape for _, shape in shapes}) == len(statements.VERDICTS)
    assert {f"vn-{name}" for name, _ in shapes} == {*dots}


def test_what_defines_a_task_is_pale_and_counts_for_nothing():
    """But for what is asked of it with controls, which counts."""
    rows = [row(definition=True), row(id="VN-X2")]
    of_task = told(), told(place=2, protocols=["controls"])
    text = page(rows, *of_task, told("VN-X2"), told("VN-X2", place=2))
    assert re.findall(r"</svg> holds \((\d+)\)", text) == ["3"]
    assert re.findall(r'<a class="vn-dot( vn-definition)?"[^>]* href="#([^"]+)"', text) == [
        (" vn-definition", "vn-x1-1"),
        ("", "vn-x1-2"),
        ("", "vn-x2-1"),
        ("", "vn-x2-2"),
    ]
    assert "not counted" not in page([row()], told()), "where there is none"


def test_a_row_says_what_a_statement_rests_on():
    need = {"says": "it learned", "verdict": statements.FAILS}
    some = YES | {"share": 0.4, "margin": [-1.0, -1.0, 1.0]}
    text = page(
        [row(), row(id="VN-X2", numbers={}, fidelity={})],
        told(needs=[need], missing="ten seeds", remark="so it is", weight=claims.DETAIL)
        | {"printed": "a fifth", "seeds": 8},
        told(place=2, contrasts=[some], protocols=PROTOCOLS),
        told(place=3, contrasts=[YES, COUNT]),
        told(place=4, contrasts=[]),
        told("VN-X2", says="a <b> & c"),
    )
    found = rows_of(text)
    for said in (
        "ratio &lt; 0.8",
        "Needs: it learned (fails). Ten seeds. So it is.",
        "0.50 [0.40, 0.60]",
        "8 seeds",
        "Printed: a fifth.",
        "wanted &lt; 0.8",
        "<td>detail; as printed</td>",
        '<a href="../chapters/fig2_spatial.html#fig2-maps">figure</a>; given: data, inference',
        "</svg> holds</td>",
    ):
        assert said in found["vn-x1-1"], said
    assert "<span>no; yes in 40 % of resamples</span>" in found["vn-x1-2"]
    assert "<td>core; as printed, with controls</td>" in found["vn-x1-2"]
    assert "<span>yes</span>" in found["vn-x1-3"]
    assert "Also 8.0 [7.0, 8.0], wanted ≥ 8: undecided." in found["vn-x1-3"]
    assert "vn-effect" not in found["vn-x1-3"] and "<span" not in found["vn-x1-4"]
    assert "a &lt;b&gt; &amp; c" in found["vn-x2-1"]
    assert (
        "Works: runs. Data given, sizes chosen, budget inferred, inference given. One seed. "
        in (text)
    )
    assert "<code>it.ratio</code></dt><dd>1.2</dd>" in text


def test_powers_of_ten_are_written_out():
    need = {"says": "gap < 1e-09", "verdict": statements.FAILS}
    text = page([row()], told(says="height of F <= 1e-06", needs=[need], missing="a 2e+12th"))
    for said in ("height of F &lt;= 1 × 10⁻⁶", "gap &lt; 1 × 10⁻⁹", "2 × 10¹²th"):
        assert said in text
    assert not re.search(r"\de[-+]\d", text)


def test_a_claim_that_cannot_be_tested_says_why():
    text = page([row(verdict=claims.NOT_TESTABLE, missing="the results lack x")])
    assert "<b>Not testable:</b> the results lack x." in text and not rows_of(text)
    assert '<span class="vn-none">not testable</span>' in text


def test_a_claim_leads_to_the_source_of_its_rule():
    name, one = next(iter(claims.all_claims().items()))
    text = page([row(id=name)])
    module = one.decide.__module__.replace(".", "/")
    assert f'href="../../_modules/{module}.html#{one.decide.__qualname__}">rule</a>' in text


# --- Drawings -------------------------------------------------------------------------------------


def ratio(value: tuple[float, ...], sign: str, bound: float) -> dict:
    """A ratio with its interval: estimate, and the values at the lower and upper margin."""
    side = 1 if sign[0] == ">" else -1
    margin = [side * log(one / bound) for one in value]
    return RATIO | {"sign": sign, "bound": bound, "value": list(value), "margin": margin}


def drawn(contrast: dict) -> dict[str, float]:
    """Where a drawing has the ends of the interval, the estimate and the bound, and its arrows."""
    root = ElementTree.fromstring(effects.drawing(contrast))
    parts = {part.get("class"): part for part in root}
    low, high = re.fullmatch(r"M([\d.]+) \S+H([\d.]+)", parts["vn-interval"].get("d")).groups()
    band = parts["vn-band"]
    start = float(band.get("x"))
    return {
        "low": float(low),
        "estimate": float(parts["vn-estimate"].get("cx")),
        "high": float(high),
        "bound": float(parts["vn-bound"].get("d")[1:].split()[0]),
        "band": (start, start + float(band.get("width"))),
        "arrows": sum(part.get("class") == "vn-arrow" for part in root),
    }


@pytest.mark.parametrize(
    ("value", "sign", "order"),
    [
        ((0.5, 0.6, 0.4), "<", ("bound", "low", "estimate", "high")),
        ((1.5, 1.6, 1.2), "<=", ("low", "estimate", "high", "bound")),
        ((1.5, 1.2, 1.6), ">", ("bound", "low", "estimate", "high")),
        ((0.9, 0.5, 1.8), ">=", ("low", "estimate", "bound", "high")),
    ],
)
def test_a_drawing_has_bound_interval_and_estimate_in_order(value, sign, order):
    found = drawn(ratio(value, sign, 1.0))
    places = [found[name] for name in order]
    assert all(one < two for one, two in pairwise(places)) and not found["arrows"]


def test_the_axis_is_logarithmic_and_the_same_for_every_bound():
    places = [drawn(ratio((f * 7,) * 3, ">", 7.0))["estimate"] for f in (0.1, 1, 10)]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1])
    assert places[2] - places[0] == effects.WIDTH - 2 * effects.EDGE
    half = drawn(ratio((10**0.5 * 7,) * 3, ">", 7.0))["estimate"]
    assert half == pytest.approx((places[1] + places[2]) / 2, abs=0.06)
    band = drawn(ratio((exp(0.04879), 1.0, 2.0), ">", 1.0))
    assert band["band"][1] == pytest.approx(band["estimate"], abs=0.11)


@pytest.mark.parametrize(
    ("changes", "ends", "arrows"),
    [
        ({"margin": [0.0, -9.0, 9.0]}, (6, 60, 114), 2),
        ({"margin": [None] * 3, "value": [0.0] * 3}, (114, 114, 114), 1),
        ({"margin": [None] * 3, "value": [0.0] * 3, "sign": ">="}, (6, 6, 6), 1),
        ({"margin": [0.0, None, 0.0], "value": [0.8, None, 0.8]}, (6, 60, 60), 1),
        ({"margin": [0.0, 0.0, None], "value": [0.8, 0.8, 0.0]}, (60, 60, 114), 1),
    ],
)
def test_an_interval_beyond_the_axis_ends_in_an_arrowhead(changes, ends, arrows):
    found = drawn(RATIO | changes)
    assert (found["low"], found["estimate"], found["high"]) == ends and found["arrows"] == arrows


def test_ends_of_an_interval_are_told_in_order_and_may_be_infinite():
    assert effects.told(RATIO, "a over b ≤ 0.8") == "0.50 [0.40, 0.60]"
    wide = {"kind": "difference", "sign": ">=", "bound": 0.0, "value": [-0.0, None, None]}
    assert effects.told(wide, "a - b") == "0 [−∞, ∞]" and effects.drawing(YES) == ""
    ratio = RATIO | {
        "value": [0.5, 0.6, None]
    }  # its ends stand in the order of the margin, which is turned
    assert effects.told(ratio, "a over b ≤ 0.8") == "0.50 [0, 0.60]"
    none = RATIO | {"value": [None, None, None]}
    assert effects.told(none, "a over b ≤ 0.8") == "∞ [∞, ∞]"


@pytest.mark.parametrize(
    ("says", "bound", "named"),
    [("a is lower than b", 1.0, True), ("a over b < 1", 1.0, False), ("a over b > 1; c < 2", 1.0, False),
     ("a < 1.5 times b", 1.0, True), ("a is at most half of b", 0.5, False)],
)  # fmt: skip
def test_a_ratio_is_called_so_where_the_sentence_compares_two_values(says, bound, named):
    shown = effects.told(RATIO | {"sign": "<", "bound": bound}, says)
    assert shown == ("ratio " if named else "") + "0.50 [0.40, 0.60]"


def test_a_difference_has_an_axis_of_its_own():
    changes = {"kind": "difference", "bound": 0.0, "sign": ">", "band": 0.5}
    found = drawn(RATIO | changes | {"margin": [1.0, -2.0, 4.0], "value": [1.0, -2.0, 4.0]})
    half = effects.WIDTH / 2 - effects.EDGE
    ends = [effects.WIDTH / 2 + half * share for share in (-0.5, 0.25, 1.0)]
    assert [found["low"], found["estimate"], found["high"]] == pytest.approx(ends, abs=0.1)
    assert "vn-own" in effects.drawing(RATIO | changes) and "vn-own" not in effects.drawing(RATIO)
    still = RATIO | changes | {"margin": [0.0] * 3, "value": [0.0] * 3}
    assert drawn(still)["estimate"] == effects.WIDTH / 2


# --- Without and with JavaScript ------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    """A small ledger, without the book around it."""
    folder = tmp_path_factory.mktemp("ledger")
    text = page(
        [
            row(verdict_controls=claims.PARTLY),
            row(id="VN-X2", statement="It fails.", verdict=claims.NOT, chapter="fig3_functions"),
            row(id="FR-9", statement="It rests.", verdict=claims.NOT_TESTABLE, missing="no runs"),
        ],
        told(),
        told(place=2, says="counted twice", contrasts=[COUNT], verdict=statements.UNDECIDED),
        told(place=3, says="an aside", weight=claims.DETAIL, protocols=["controls"]),
        told("VN-X2", says="falls short", verdict=statements.FAILS, protocols=PROTOCOLS),
    )
    return written(folder, text)


def written(folder: Path, text: str, head: str = "") -> Path:
    """A ledger's page of its own, with what it loads; `head` comes first."""
    blocks = "".join(re.findall(r"```\{raw\} html\n(.*?)\n```", text, re.DOTALL))
    (folder / "_static").mkdir()
    for name in ("ledger.js", "ledger.css"):
        shutil.copy(paths.SOURCE / "book" / "_static" / name, folder / "_static")
    (folder / "book" / "generated").mkdir(parents=True)
    page_ = folder / "book" / "generated" / "ledger.html"
    head = f'<meta charset="utf-8"><title>L</title>{head}'
    page_.write_text(f'<!doctype html><html lang="en">{head}{blocks}</html>', encoding="utf-8")
    return page_


@pytest.fixture(scope="module")
def opened(browser, file) -> Iterator[Callable]:
    """Opens the ledger at an anchor."""
    with visits(
        browser, file.parents[2], one=True, viewport={"width": 1440, "height": 900}
    ) as open_:
        yield partial(open_, file)


ALL = ["vn-x1-1", "vn-x1-2", "vn-x1-3", "vn-x2-1"]


def seen(view) -> list[str]:
    """The statements that can be read now."""
    return view.eval_on_selector_all(
        ".vn-evidence tr[id]",
        "rows => rows.filter(one => one.checkVisibility()).map(one => one.id)",
    )


def lit(view) -> list[str]:
    """The statements whose dots are not dimmed."""
    return view.eval_on_selector_all(
        ".vn-dot:not(.vn-dimmed)", "dots => dots.map(one => one.hash.slice(1))"
    )


def test_without_javascript_all_is_there_and_filters_are_not(opened):
    view = opened(java_script_enabled=False)
    assert view.locator("tr[id]").count() == view.locator(".vn-dot").count() == len(ALL)
    assert not view.locator("#vn-filters").is_visible()
    row_ = view.locator("#vn-x2-1")
    assert not row_.is_visible()
    view.click("#claim-vn-x2 > summary")
    assert row_.is_visible()


@pytest.mark.parametrize(
    ("name", "value", "kept", "claim"),
    [
        ("paper", "Vector Networks", ALL, False),
        ("paper", "Forced Rendering", [], True),
        ("chapter", "fig3_functions", ["vn-x2-1"], False),
        ("verdict", "undecided", ["vn-x1-2"], False),
        ("verdict", "not testable", [], True),
        ("protocol", "controls", ["vn-x1-3", "vn-x2-1"], False),
    ],
)
def test_filters_keep_what_they_name(opened, name, value, kept, claim):
    view = opened()
    assert seen(view) == [] and view.inner_text("#vn-shown") == "4 statements"
    view.select_option(f"select[name={name}]", value)
    assert seen(view) == lit(view) == kept
    assert view.inner_text("#vn-shown") == f"{len(kept)} of 4 statements"
    assert view.locator("#claim-fr-9").is_visible() is claim, "a claim without statements"
    view.click("text=Clear")
    view.wait_for_function("document.querySelector('#vn-shown').textContent === '4 statements'")
    assert seen(view) == [] and lit(view) == ALL


def test_search_and_core_go_with_the_filters(opened):
    view = opened()
    view.fill("input[name=text]", "IT works")
    assert seen(view) == ["vn-x1-1", "vn-x1-2", "vn-x1-3"], "words of the claim count, in any case"
    view.check("text=core only")
    assert seen(view) == ["vn-x1-1", "vn-x1-2"]
    view.select_option("select[name=verdict]", "holds")
    assert seen(view) == ["vn-x1-1"]
    view.fill("input[name=text]", "VN-X1.2")
    assert seen(view) == []


@pytest.mark.parametrize("word", ["printed", "wanted", "experiment", "figure"])
def test_a_search_does_not_read_what_stands_in_every_row(opened, word):
    view = opened()
    view.fill("input[name=text]", word)
    assert seen(view) == [] and view.inner_text("#vn-shown") == "0 of 4 statements"


def test_all_claims_open_and_close(opened):
    view = opened()
    view.click("#vn-unfold")
    assert seen(view) == ALL and view.inner_text("#vn-unfold") == "Close all claims"
    view.click("#vn-unfold")
    assert seen(view) == []


def test_a_link_to_a_statement_opens_its_claim(opened):
    view = opened("#vn-x1-2")
    assert seen(view) == ALL[:3]
    view.click("#claim-vn-x1 > summary")
    view.select_option("select[name=verdict]", "fails")
    assert seen(view) == ["vn-x2-1"]
    view.click(".vn-dot[href='#vn-x1-2']")
    view.locator("#vn-x1-2").wait_for()  # filters give way to a link, the same one too
    view.click(".vn-matrix a[href='#claim-vn-x2']")
    view.locator("#vn-x2-1").wait_for()


def test_the_keyboard_reaches_dots_claims_and_filters(opened):
    view = opened()
    view.focus(".vn-matrix a[href='#claim-vn-x1']")
    for _ in range(2):
        view.keyboard.press("ArrowRight")
    view.keyboard.press("Enter")
    view.locator("#vn-x1-2").wait_for()
    view.focus(".vn-matrix a[href='#claim-vn-x1']")
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.hash") == "#claim-vn-x2", "dots are no stops"
    view.focus("input[name=text]")
    fields = []
    for _ in range(7):
        view.keyboard.press("Tab")
        fields.append(view.evaluate("document.activeElement.labels?.[0]?.textContent.trim() ?? ''"))
    assert [one.split()[0] for one in fields if one] == [
        "Paper",
        "Chapter",
        "Verdict",
        "Protocol",
        "core",
    ]


@pytest.mark.parametrize("width", [320, 390, 1440])
def test_no_width_scrolls_sideways(opened, width):
    view = opened("#vn-x1-1")
    view.set_viewport_size({"width": width, "height": 900})
    view.click("#vn-unfold")
    assert view.evaluate("document.documentElement.scrollWidth") <= width


def test_the_shipped_ledger_opens_on_few_screens_with_all_dots_on_the_first(browser, tmp_path):
    """In the type of the theme, and in its column on a screen of 1440 x 900 px; on a phone of 390 x
    844 px, without that dots are all on the first.
    """
    text = ledger_page.ledger(json.loads(SHIPPED.read_text(encoding="utf-8")), "paper")
    theme = files("pydata_sphinx_theme") / "theme/pydata_sphinx_theme/static/styles"
    style = (theme / "pydata-sphinx-theme.css").read_text(encoding="utf-8")
    address = written(tmp_path, text, f"<style>{style}</style>").as_uri()
    with browser.new_context(viewport={"width": PHONE, "height": 844}) as context:
        view = context.new_page()
        view.goto(address)
        assert 1 < view.evaluate("document.documentElement.scrollHeight") / 844 < 8
    with browser.new_context(viewport={"width": COLUMN, "height": 900}) as context:
        view = context.new_page()
        view.goto(address)
        dots = view.eval_on_selector_all(
            ".vn-dot", "dots => dots.map(one => one.getBoundingClientRect().bottom)"
        )
        screens = view.evaluate("document.documentElement.scrollHeight") / 900
    assert len(dots) == text.count('class="vn-dot') and max(dots) < 900
    assert 1 < screens < 8


# Theorems, solvers and costs; inference with a dictionary as it is; and a claim of which twice the
# updates change no number to the bit.
NEED_NOT = re.compile(r"VN-(C|E\d|J|G4|F3a)")


def test_statements_on_trainings_ask_whether_they_had_settled():
    found = json.loads(SHIPPED.read_text(encoding="utf-8"))
    asks = {
        one["claim"]
        for one in found["statements"]
        if any(re.search("twice the updates|settled|fifth", need["says"]) for need in one["needs"])
    }
    claims = {one["id"] for one in found["claims"] if not one["definition"]}
    assert {one for one in claims - asks if not NEED_NOT.fullmatch(one)} == set()


def test_twice_the_updates_bring_no_statement_to_the_other_side():
    """What pages of these chapters say; by chance, in some resamples of seeds, it may be otherwise."""
    found = json.loads(SHIPPED.read_text(encoding="utf-8"))
    asked = re.compile("VN-(F1|A|B|D[abcd]|I)")
    rows = [one for one in found["statements"] if asked.fullmatch(one["claim"])]
    needs = [need for one in rows for need in one["needs"] if "twice" in need["says"]]
    assert len(needs) > 30
    assert {need["verdict"] for need in needs} <= {"holds", "undecided"}


def test_symbols_of_rules_are_shown_with_an_index():
    text = evidence_table.indexed("rank of scores above d_head <= 0; F_A, not a_name_of_three")
    assert text.startswith(
        "rank of scores above <i>d</i><sub>head</sub> &lt;= 0; <i>F</i><sub>A</sub>,"
    )
    assert text.endswith("not a_name_of_three")
