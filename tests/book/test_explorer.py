"""Explorers: what the page shows is what is stored, whatever is picked and by whatever hand."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import numpy as np
import pytest
import xarray as xr
from bs4 import BeautifulSoup
from explorer_cases import RESULTS, every_explorer, extension, shipped, show, small, state, told
from page_cases import made

from vnlib.book import paths, store
from vnlib.plots import statistics
from vnlib.plots.style import look

explorer = extension()
MOST = 1.5e6  # bytes of an explorer
TRIES = 12  # random choices of each explorer whose views are compared
CONTENT = {"image": 2, "map": 1, "cells": 1, "curve": 1, "paths": 3, "table": 0}


# --- What the page holds is what is stored --------------------------------------------------------

CHOSEN = """async ([id, state]) => {
  const one = await vnExplorers.all[id];
  Object.assign(one.state, state);
  const plain = (field) => { const found = one.chosen(field); return found && [...found]; };
  return JSON.stringify(one.views.map((view) => view.show === "table" ? view.rows.map((row) => row.values.map(plain))
    : view.show === "curve" ? view.series.map(plain) : plain(view)));
}"""  # as one text, for that is fast


def selected(
    values: xr.DataArray | xr.Dataset, by: dict, content: int, state: dict, choices: dict
) -> np.ndarray | None:
    """The numbers that are chosen, by labels; None where there are none."""
    one = values["median"] if isinstance(values, xr.Dataset) else values
    for dim in one.dims[: one.ndim - content]:
        key = by.get(dim, dim)
        key, labels = key if isinstance(key, tuple) else (key, choices[key]["values"])
        label = labels[state[key]]
        if label not in values[dim].values.tolist():
            return None
        values = values.sel({dim: label})
    if isinstance(values, xr.Dataset):
        numbers = np.stack([values[one].values for one in statistics.STATISTICS], -1)
    else:
        numbers = values.values
    return None if np.isnan(numbers).all() else numbers.ravel()


def expected(view: dict, state: dict, choices: dict) -> list:
    """The fields of a view, each with the limits between which it has eight bits, if it has."""
    show = view["show"]
    bits = show in ("image", "paths")
    ends = (view.get("low", -view["high"]), view["high"]) if bits else None
    if show == "table":
        fields = [(one, row) for row in view["rows"] for one in view["values"]]
    else:
        fields = [(one["values"], one) for one in view.get("series", [view])]
    return [
        (
            selected(values, of.get("by", {}), CONTENT[show], state, choices),
            None if isinstance(values, xr.Dataset) else ends,
        )
        for values, of in fields
    ]


def compare(found: list | None, wanted: np.ndarray | None, ends: tuple | None) -> None:
    assert (found is None) == (wanted is None)
    if wanted is None:
        return
    got = np.array(found, float)
    if ends is None:
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
        return
    low, high = ends
    np.testing.assert_array_equal(got == 0, np.isnan(wanted))
    step = (high - low) / 254
    there = got > 0
    back = low + (got[there] - 1) * step
    np.testing.assert_allclose(back, wanted[there].clip(low, high), atol=0.501 * step)


@every_explorer
def test_the_page_holds_what_is_stored(name, shared_explorer):
    given, draw = told(name), random.Random(0)
    choices = {one["key"]: one for one in given["choices"]}
    page = shared_explorer(name)
    states = [{key: one["first"] for key, one in choices.items()}]
    states += [
        {key: draw.randrange(len(one["names"])) for key, one in choices.items()}
        for _ in range(TRIES)
    ]
    # where pictures are stored, too
    states += [
        states[0] | {k: one["values"].index(v)}
        for k, one in choices.items()
        for v in one.get("jumps", ())
    ]
    seen = 0
    for picked in states:
        views = json.loads(page.evaluate(CHOSEN, [f"explorer-{name}", picked]))
        for view, found in zip(given["views"], views, strict=True):
            if view["show"] == "table":
                found = [one for row in found for one in row]
            fields = found if view["show"] in ("table", "curve") else [found]
            for one, (wanted, ends) in zip(fields, expected(view, picked, choices), strict=True):
                compare(one, wanted, ends)
                seen += wanted is not None
    assert seen > TRIES, "hardly anything is stored"


@every_explorer
def test_an_explorer_is_light_and_names_what_it_shows(name):
    given = told(name)
    html = shipped(name)
    assert len(html.encode()) < MOST
    page = BeautifulSoup(html, "html.parser")
    assert page.select_one(".vn-explorer[hidden]") and len(page.find_all(recursive=False)) > 2
    assert page.noscript.get_text().startswith("With JavaScript, here is an explorer")
    for choice in given["choices"]:
        assert len(choice["names"]) == len(choice["values"]) > 1 and all(choice["names"])
        assert 0 <= choice["first"] < len(choice["names"]) and choice["label"]
    for view in given["views"]:
        assert view["show"] in CONTENT and "title" in view
        if view["show"] == "curve":
            assert re.search(r"\[.+\]|share|number|sweeps|error", view["x"] + view["y"])


@every_explorer
def test_the_library_is_loaded_where_there_are_plots(name):
    given = told(name)
    loaded = re.findall(r'<script src="\.\./_static/([^"]+)" defer>', shipped(name))
    plots = ["plot/d3.min.js", "plot/plot.umd.min.js", "plots.js"]
    there = any(one["show"] in ("cells", "curve", "paths") for one in given["views"])
    assert loaded == [*(plots if there else []), "explorer.js"]


def test_fewer_models_and_a_single_seed_have_an_explorer_or_none(open_explorer):
    """A reader may have asked for any of them."""
    found = {}
    for name, results in RESULTS.items():
        ds = store.read(paths.RESULTS / "paper" / f"{results}.nc")
        few = {"seed": [0]}
        few |= {"model": [0, ds.sizes["model"] - 1]} if "model" in ds.dims else {}
        found[name] = explorer.offered(name, ds.isel(few))
    given = {name: one for name, one in found.items() if one is not None}
    page = open_explorer(given)
    views = page.locator(".vn-explorer").evaluate_all(
        "all => all.map((one) => one.checkVisibility() && one.querySelectorAll('.vn-view').length)"
    )
    assert len(views) == len(given) > 3 and min(views) > 1, views


def test_every_explorer_of_a_chapter_stands_in_its_page():
    made = {file.parent.name for file in paths.CHAPTERS.glob("*/figures_explorer.py")}
    assert made == set(RESULTS) and "fig2_spatial" in made


def test_eight_bits_keep_values_to_half_a_step():
    values = np.array([np.nan, -1.0, 0.0, 0.1, 0.5, 1.0, 7.0])
    found = explorer.levels(values, 0.0, 1.0)
    assert found.tolist() == [0, 1, 1, 26, 128, 255, 255]


def test_an_array_is_kept_once():
    data, one = explorer.Data(), xr.DataArray(np.zeros((2, 3)))
    assert data.add(one, None) == data.add(one, None) != data.add(one, (0.0, 1.0))
    assert data.add(one.copy(), None)["from"] == 6 and data.sizes == {"f4": 12, "u1": 6}


# --- The reader's hand ----------------------------------------------------------------------------


def picture(page, view: int) -> str:
    return page.eval_on_selector(f"[data-view='{view}'] canvas", "one => one.toDataURL()")


def pixels(page, view: int) -> list[int]:
    return page.eval_on_selector(
        f"[data-view='{view}'] canvas",
        "one => [...one.getContext('2d').getImageData(0, 0, one.width, one.height).data]",
    )


def test_what_is_picked_is_drawn_and_said(shared_explorer):
    page = shared_explorer("tiny", small())
    assert page.is_visible(".vn-explorer") and page.inner_text("[data-view='1'] .vn-missing")
    assert not page.is_visible("[data-view='1'] canvas")
    before = picture(page, 0)
    page.click("[data-jump='4']")
    assert state(page) == {"model": 0, "place": 4} and not page.is_visible(".vn-missing")
    assert picture(page, 0) != before, "the mark moved"
    colours = explorer.COLOURS[explorer.SEQUENTIAL]
    at = [0, 1, 2, 3]  # rows run upward
    wanted = [colours[explorer.levels(np.array(k / 7), 0.0, 1.0) - 1] for k in (2, 3, 0, 1)]
    assert np.reshape(pixels(page, 1), (4, 4))[at, :3].tolist() == [one.tolist() for one in wanted]
    page.select_option("select", "1")
    assert np.reshape(pixels(page, 1), (4, 4))[2, :3].tolist() != wanted[2].tolist()
    said = page.text_content("[role=status]")
    cell = page.inner_text("[data-view='2'] tbody td").replace("\xa0", "~")
    assert cell == "2.0~×~10⁻¹⁰ [1.0~×~10⁻¹⁰, 3.0~×~10⁻¹⁰], n~=~3", "no line ends in a number"
    assert said == "At place 4 & more. b: error 2.0 × 10⁻¹⁰ [1.0 × 10⁻¹⁰, 3.0 × 10⁻¹⁰], n = 3"
    assert page.inner_text("[data-view='2'] .vn-title") == "At place 4 & more"


over_places = pytest.mark.parametrize("how", ["map", "cells"])


def placed(how: str) -> dict[str, Any]:
    """The small one with its map as a map or as a plot of cells."""
    given = small()
    given["views"][0] |= {"show": how, "x": "column", "y": "row"}
    return given


def middle(page, place: int) -> tuple[float, float]:
    """Where a place of the small one is on the page."""
    column, row = place % 3, place // 3
    box = page.locator("[data-view='0'] :is(canvas, [aria-label=rect])").first.bounding_box()
    return (
        box["x"] + box["width"] * (column + 0.5) / 3,
        box["y"] + box["height"] * (1.5 - row) / 2,
    )


@over_places
def test_keys_pick_by_sliders_and_on_the_map(shared_explorer, how):
    page = shared_explorer(how, placed(how))
    for name, key, place in (("x", "ArrowRight", 1), ("y", "ArrowUp", 4), ("x", "ArrowLeft", 3)):
        page.focus(f"input[data-part={name}]")
        page.keyboard.press(key)
        assert state(page)["place"] == place
    assert page.get_attribute("input[data-part=y]", "aria-valuetext") == "1"
    page.focus("[data-view='0'] [role=application]")
    for key, place in (("ArrowUp", 3), ("ArrowRight", 4), ("ArrowDown", 1), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert state(page)["place"] == place
    assert page.input_value("input[data-part=x]") == page.input_value("input[data-part=y]") == "0"


@over_places
def test_the_pointer_shows_and_a_click_keeps(shared_explorer, how):
    page = shared_explorer(how, placed(how))
    page.mouse.move(*middle(page, 5))
    assert state(page)["place"] == 5
    page.mouse.move(5, 5)
    assert state(page)["place"] == 0, "only shown"
    page.mouse.click(*middle(page, 1))
    page.mouse.move(5, 5)
    assert state(page)["place"] == 1


SEEN = """async (id) => {
  const one = await vnExplorers.all[id], boxes = [...document.querySelectorAll(".vn-image")];
  const there = (one.views.filter(({ show }) => show === "image").slice(0, 3)).map((view) => [...one.chosen(view) ?? []]);
  return [boxes.slice(0, 3).map((box) => !box.querySelector("canvas").hidden && box.querySelector(".vn-missing").hidden), there];
}"""


def test_target_and_drawings_follow_the_pointer_in_and_out_of_the_hold_out(shared_explorer):
    page = shared_explorer("fig2_spatial")
    box = page.locator("[data-view='0'] canvas").bounding_box()
    errors = []
    for x, y in ((2, 3), (25, 6), (14, 14), (9, 17), (20, 8), (27, 27)):
        place = {"x": box["x"] + box["width"] * (x + 0.5) / 28, "y": box["y"] + box["height"]}
        page.mouse.move(place["x"], place["y"] - box["height"] * (y + 0.5) / 28)
        assert state(page)["position"] == x + 28 * y
        shown, images = page.evaluate(SEEN, "explorer-fig2_spatial")
        assert shown == [True] * 3
        target, left, right = (np.reshape(one, (28, 28)) - 1 for one in images)
        at = np.arange(28)
        bump = np.exp(-((at - x) ** 2) / 8) * np.exp(-((at[:, None] - y) ** 2) / 8)
        np.testing.assert_allclose(target / 254, bump, atol=0.51 / 254)
        errors.append([np.square(one / 254 - bump).mean() for one in (left, right)])
    outside, inside = np.array(errors)[[0, 1, 5]], np.array(errors)[2:5]
    assert (inside[:, 0] > 10 * outside[:, 0].max()).all(), "the CNN fails where it was not trained"
    assert (np.array(errors)[:, 1] < 1e-4).all(), "the Vector Network does not"


def test_a_picture_that_lacks_says_why(open_explorer):
    given = small()
    given["views"][1]["missing"] = "Not <here>."
    page = open_explorer({"tiny": given})
    assert page.inner_text("[data-view='1'] .vn-missing") == "Not <here>."


@over_places
def test_a_tap_picks(open_explorer, how):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    page = open_explorer({"tiny": placed(how)}, **phone)
    page.touchscreen.tap(*middle(page, 2))
    assert state(page)["place"] == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    head = "getComputedStyle(document.querySelector('.vn-explorer tbody td'), '::before').content"
    assert page.evaluate(head) == '"error"', "cells name their columns"


def test_on_a_phone_what_is_touched_and_what_is_drawn_are_on_one_screen(shared_explorer):
    page = shared_explorer("fig2_spatial", screen={"width": 390, "height": 844})
    maps, drawings = (page.locator(f".vn-explorer .vn-{kind}") for kind in ("map", "image"))
    first, second = (maps.nth(one).bounding_box() for one in (0, 1))
    ends = [box["y"] + box["height"] for box in (one.bounding_box() for one in drawings.all())]
    assert len(ends) == 3 and min(ends) > first["y"] + first["height"]
    assert max(ends) - first["y"] < 844 and second["y"] + second["height"] - min(ends) < 844


def test_pictures_have_names_and_texts_are_only_texts(shared_explorer):
    page = shared_explorer("tiny", small())
    page.click("[data-jump='4']")
    labels = page.eval_on_selector_all("canvas", "all => all.map((one) => one.ariaLabel)")
    assert labels == ["map of <b>a</b>, place 4 & more", "drawn, <b>a</b>, place 4 & more"]
    assert page.locator(".vn-explorer :is(b, small, img)").count() == 0
    assert page.inner_text(".vn-explorer-title") == "A <small> one"
    assert page.inner_text("[data-view='2'] tbody th") == "<b>a</b>"


def test_nothing_in_the_data_ends_their_block():
    html = explorer.page("tiny", small() | {"title": "</script><b>"}, "")
    assert html.count("<script") == html.count("</script>") == 2 and "<b>" not in html
    (block,) = re.findall(r'<script type="application/json">(.*?)</script>', html)
    assert json.loads(block)["choices"][0]["names"][0] == "<b>a</b>"


def test_without_scripts_only_a_sentence_is_shown(open_explorer):
    page = open_explorer({"tiny": small()}, java_script_enabled=False)
    assert not page.is_visible(".vn-explorer")
    assert page.inner_text("body").startswith("With JavaScript, here is an explorer")


@every_explorer
def test_each_choice_changes_what_is_seen(name, shared_explorer):
    """By key, as a reader would, from the first value to a neighbour."""
    page = shared_explorer(name)
    shown = """() => [...document.querySelectorAll('.vn-view')].map((box) => {
      const canvas = box.querySelector('canvas');
      return canvas && canvas.width ? canvas.toDataURL() + box.innerText : box.innerHTML;
    }).join()"""
    same = f"() => ({shown})() === window.seen"  # compared there: it is long
    first = state(page)
    page.evaluate(f"() => {{ window.seen = ({shown})(); }}")
    for control in page.locator(".vn-picks :is(select, input)").all():
        control.focus()
        at, name = int(control.input_value()), control.get_attribute("data-key")
        if control.get_attribute("type") == "range":
            control.press("ArrowUp" if at < int(control.get_attribute("max")) else "ArrowDown")
        else:
            control.select_option(str((at + 1) % control.locator("option").count()))
        assert state(page) != first and not page.evaluate(same), name
        show(page, first)
        assert page.evaluate(same), name


LOOKS = """async (id) => {
  const one = await vnExplorers.all[id], lines = [...document.querySelectorAll(".vn-curve .line path")];
  return {
    lines: lines.map((line) => [line.ariaLabel, line.parentElement.getAttribute("stroke")])
      .filter(([, stroke]) => stroke !== "currentColor"),
    rows: [...document.querySelectorAll(".vn-table .vn-line path")]
      .map((line) => [line.closest("th").textContent.trim(), line.getAttribute("stroke")]),
    letters: [...document.querySelectorAll(".vn-curve text")].map((text) => {
      const at = text.getScreenCTM();
      return parseFloat(getComputedStyle(text).fontSize) * Math.sqrt(Math.abs(at.a * at.d - at.b * at.c));
    }),
  };
}"""


@pytest.mark.parametrize("name", ["fig3_functions", "H_nbody", "FR5_rotation", "C_inference"])
def test_models_have_the_looks_of_the_registry_and_letters_their_size(name, shared_explorer):
    page = shared_explorer(name, screen={"width": 360, "height": 800})
    seen = page.evaluate(LOOKS, f"explorer-{name}")
    assert len(seen["lines"]) == 2 <= len(seen["rows"]), "a row begins with its line"
    for model, colour in [*seen["lines"], *seen["rows"]]:
        assert colour == look(model)[0], model
    assert min(seen["letters"]) >= 9, "on a phone, too"


def test_it_plays_from_the_start_to_the_end_and_stops(open_explorer):
    given = small()
    given["choices"][1] |= {"as": "slider", "play": 1.0, "first": 5}
    given["views"] = given["views"][2:]
    page = open_explorer({"tiny": given})
    page.clock.install()
    page.click("[data-play]")
    page.clock.run_for(500)
    assert 0 < state(page)["place"] < 5 and page.inner_text("[data-play]") == "Pause"
    page.clock.run_for(1000)
    assert state(page)["place"] == 5 and page.inner_text("[data-play]") == "Play"
    page.click("[data-play]")
    page.clock.run_for(500)
    page.click("[data-play]")
    at = state(page)["place"]
    page.clock.run_for(1000)
    assert state(page)["place"] == at < 5 and page.inner_text("[data-play]") == "Play"


BESIDE = """() => [...new Set([...document.querySelectorAll('.vn-view')].map(
  (one) => getComputedStyle(one).display))]"""


def test_on_paper_what_is_chosen_is_told_without_controls(shared_explorer):
    page = shared_explorer("tiny", small())
    shown = """() => [...document.querySelectorAll('.vn-explorer :is(input, button)')].filter(
      (one) => one.getClientRects().length).length"""
    assert page.evaluate(shown) > 0, "or this shows nothing"
    page.emulate_media(media="print")
    assert page.evaluate(shown) == 0
    assert page.locator(".vn-picks output").first.is_visible()
    assert page.evaluate(BESIDE) == ["inline-block"], "no page ends inside such a panel"


NUMBERS = [0.0, 1.0, 9.94, 9.95, 10.0, 12.34, 99.6, 1234.0, 1236.5, 99999.0, 1e5, 123456.0, 1e-3]
NUMBERS += [9.99e-4, 3.14159e-5, -0.0123, -4.6e-12, 7.77e-17, 0.5, -12.0]


def test_numbers_are_said_as_elsewhere(shared_explorer):
    page, draw = shared_explorer("tiny", small()), random.Random(1)
    numbers = NUMBERS + [draw.uniform(-1, 1) * 10 ** draw.uniform(-12, 6) for _ in range(200)]
    found = page.evaluate("all => all.map((one) => vnExplorers.short(one))", numbers)
    assert found == [statistics.raised(statistics.short(one)) for one in numbers]
    several = [
        [1.0, 0.5, 2.0],
        [1.0, 1.001, 0.999],
        [3e-7, 1e-8, 2e-6, 8],
        [2.0, np.nan, np.nan, 1],
    ]
    found = page.evaluate("all => all.map((one) => vnExplorers.said(one))", several)
    assert found == [statistics.raised(statistics.said(*one)) for one in several]


# --- The directive --------------------------------------------------------------------------------


def built(folder, chapter: str, results: xr.Dataset | None, said: str = "") -> BeautifulSoup:
    """A page of Sphinx with a figure, an explorer of a chapter's results, and another figure."""
    pages = {"index": "# All\n\n```{toctree}\nbook/chapters/index\n```"}
    figure = ":::{figure} one.png\nA figure.\n:::"
    asked = f"```{{explorer}} {chapter}\n```"
    pages["book/chapters/index"] = (
        f"# All\n\nBefore. {said}\n\n{figure}\n\n{asked}\n\n{figure}\n\nAfter."
    )
    (folder / "source" / "book" / "chapters").mkdir(parents=True)
    (folder / "source" / "book" / "chapters" / "one.png").touch()
    if results is not None:
        data = folder / "source" / explorer.DATA
        data.mkdir(parents=True)
        store.write(results, data / f"{chapter}.nc")
    given = {"extensions": ["myst_parser", "explorer"], "myst_enable_extensions": ["colon_fence"]}
    given |= {"numfig": True, "numfig_format": {"figure": "No. %s."}}
    html = (made(folder, pages, **given) / "book" / "chapters" / "index.html").read_text()
    assert "Before." in html and "After." in html
    return BeautifulSoup(html, "html.parser")


def test_the_directive_puts_the_results_of_this_build_into_the_page(tmp_path):
    ds = store.read(paths.RESULTS / "paper" / "fig2_spatial.nc")
    few = ds.sel(model=["bilinear_relu", "cnn4"]).isel(seed=[0, 1, 2])
    page = built(tmp_path / "few", "fig2_spatial", few, "{numref}`explorer-fig2_spatial`")
    (script,) = page.select("script[src$='explorer.js']")
    assert script["src"] == "../../_static/explorer.js" and script.has_attr("defer")
    options = page.select("option")
    assert len(options) == 4 and str(few["label"].values[1]) in {one.get_text() for one in options}
    captions = [" ".join(one.get_text().split()) for one in page.select("figure figcaption p")]
    note = explorer.offered("fig2_spatial", few)["note"]
    assert [one[:6] for one in captions] == ["No. 1.", "No. 2.", "No. 3."], "one count"
    assert " ".join(note.split()) in captions[1] and page.select("figure .vn-explorer[hidden]")
    (link,) = page.select("a[href='#explorer-fig2-spatial'] .std-numref")
    assert link.get_text() == "No. 2." and page.select_one("figure#explorer-fig2-spatial")


def test_where_results_lack_or_nothing_is_offered_there_is_no_explorer(tmp_path):
    ds = store.read(paths.RESULTS / "paper" / "fig2_spatial.nc").isel(seed=[0])
    lacking = ds.drop_vars("sample_image")
    for name, results in (("none", None), ("lacking", lacking)):
        page = built(tmp_path / name, "fig2_spatial", results)
        assert len(page.select("figure")) == 2 and not page.select(".vn-explorer, noscript")
    with pytest.raises(Exception, match=r"J_cost has no figures_explorer\.py"):
        built(tmp_path / "other", "J_cost", None)
