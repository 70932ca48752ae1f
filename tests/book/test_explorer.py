"""Explorers: what the page shows is what is stored, whatever is picked and by whatever hand."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
from explorer_cases import EXTENSIONS, RESULTS, extension, told, write
from playground_cases import PATIENCE
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from vnlib.book import paths, store
from vnlib.plots import statistics
from vnlib.plots.style import look

explorer = extension()
MOST = 1.5e6  # bytes of an explorer
TRIES = 12  # random choices of each explorer whose views are compared
CONTENT = {"image": 2, "map": 1, "cells": 1, "curve": 1, "paths": 3, "table": 0}

every_explorer = pytest.mark.parametrize("name", RESULTS)


@pytest.fixture
def open_page(browser, tmp_path) -> Iterator[Callable]:
    """Opens an explorer from the disk; an error, or a request that leaves the folder, fails the test."""
    contexts, wrong, requested = [], [], []

    def open_(name: str, given: dict[str, Any], **options: Any):
        file = write(tmp_path, name, explorer.page(name, given, "../"))
        contexts.append(
            browser.new_context(**{"viewport": {"width": 900, "height": 900}} | options)
        )
        contexts[-1].set_default_timeout(PATIENCE)
        page = contexts[-1].new_page()
        page.on("request", lambda request: requested.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(file.as_uri())
        if options.get("java_script_enabled", True):
            page.evaluate("Promise.all(Object.values(vnExplorers.all)).then(() => null)")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not wrong
    assert all(one.startswith((tmp_path.as_uri(), "data:")) for one in requested), requested


# --- What the page holds is what is stored --------------------------------------------------------

CHOSEN = """async ([id, state]) => {
  const one = await vnExplorers.all[id];
  Object.assign(one.state, state);
  const plain = (field) => { const found = one.chosen(field); return found && [...found].map((v) => Number.isNaN(v) ? null : v); };
  return one.views.map((view) => view.show === "table" ? view.rows.map((row) => row.values.map(plain))
    : view.show === "curve" ? view.series.map(plain) : plain(view));
}"""


def selected(
    values: xr.DataArray | xr.Dataset, by: dict, content: int, state: dict, choices: dict
) -> np.ndarray | None:
    """The numbers that are chosen, by labels; None where there are none."""
    if isinstance(values, xr.Dataset):
        values = xr.concat([values[one] for one in statistics.STATISTICS], "statistic")
        values = values.transpose(..., "statistic")
        content += 1
    for dim in values.dims[: values.ndim - content]:
        key = by.get(dim, dim)
        key, labels = key if isinstance(key, tuple) else (key, choices[key]["values"])
        label = labels[state[key]]
        if label not in values[dim].values.tolist():
            return None
        values = values.sel({dim: label})
    return None if bool(values.isnull().all()) else values.values.ravel()


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
def test_the_page_holds_what_is_stored(name, open_page):
    given, draw = told(name), random.Random(0)
    choices = {one["key"]: one for one in given["choices"]}
    page = open_page(name, given)
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
    for state in states:
        views = page.evaluate(CHOSEN, [f"explorer-{name}", state])
        for view, found in zip(given["views"], views, strict=True):
            if view["show"] == "table":
                found = [one for row in found for one in row]
            fields = found if view["show"] in ("table", "curve") else [found]
            for one, (wanted, ends) in zip(fields, expected(view, state, choices), strict=True):
                compare(one, wanted, ends)
                seen += wanted is not None
    assert seen > TRIES, "hardly anything is stored"


@every_explorer
def test_an_explorer_is_light_and_names_what_it_shows(name):
    given = told(name)
    html = explorer.page(name, given, "../../")
    assert len(html.encode()) < MOST
    for choice in given["choices"]:
        assert len(choice["names"]) == len(choice["values"]) > 1 and all(choice["names"])
        assert 0 <= choice["first"] < len(choice["names"]) and choice["label"]
    for view in given["views"]:
        assert view["show"] in CONTENT and "title" in view
        if view["show"] == "curve":
            assert re.search(r"\[.+\]|share|number|sweeps|error", view["x"] + view["y"])


@every_explorer
def test_fewer_models_and_a_single_seed_have_an_explorer_or_none(name, open_page):
    """A reader may have asked for any of them."""
    ds = store.read(paths.RESULTS / "paper" / f"{RESULTS[name]}.nc")
    few = {"seed": [0]} | ({"model": [0, ds.sizes["model"] - 1]} if "model" in ds.dims else {})
    given = explorer.offered(name, ds.isel(few))
    if given is None:
        return
    page = open_page(name, given)
    assert page.is_visible(".vn-explorer") and page.locator(".vn-view").count() > 1


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


def small() -> dict[str, Any]:
    """Two models on a plane of two by three positions, with a picture at one of them."""
    model, place = ["<b>a</b>", "b"], list(range(6))
    errors = xr.DataArray(
        10.0 ** -np.arange(12).reshape(2, 6),
        coords={"model": model, "place": place},
        dims=("model", "place"),
    )
    drawn = xr.DataArray(
        np.linspace(0, 1, 8).reshape(2, 1, 2, 2),
        coords={"model": model, "place": [4]},
        dims=("model", "place", "y", "x"),
    )
    over = statistics.over_seeds(xr.concat([errors, 2 * errors, 3 * errors], "seed"))
    names = [f"place {one} & more" for one in place]
    return {
        "title": "A <small> one", "note": "</script><img src=x onerror=alert(1)>",
        "choices": [
            {"key": "model", "label": "model", "values": model, "names": model, "as": "list", "first": 0},
            {
                "key": "place", "label": "place", "values": place, "names": names, "as": "plane", "first": 0,
                "labels": ["x", "y"], "parts": [["0", "1", "2"], ["0", "1"]], "jumps": [4], "jumps_are": "Stored:",
            },
        ],
        "views": [
            {
                "show": "map", "title": "map of {model}", "values": errors, "picks": "place", "log": True,
                "low": 1e-12, "high": 1.0, "outline": (errors[0] < 1e-3).astype(float), "marks": [4], "key": "error",
            },
            {"show": "image", "title": "drawn", "values": drawn, "low": 0.0, "high": 1.0, "up": True},
            {"show": "table", "title": "At {place}", "columns": ["error"], "rows": [{"name": "{model}"}], "values": [over]},
        ],
    }  # fmt: skip


def state(page) -> dict[str, int]:
    return page.evaluate("Object.values(vnExplorers.all)[0].then((one) => ({ ...one.state }))")


def picture(page, view: int) -> str:
    return page.eval_on_selector(f"[data-view='{view}'] canvas", "one => one.toDataURL()")


def pixels(page, view: int) -> list[int]:
    return page.eval_on_selector(
        f"[data-view='{view}'] canvas",
        "one => [...one.getContext('2d').getImageData(0, 0, one.width, one.height).data]",
    )


def test_what_is_picked_is_drawn_and_said(open_page):
    page = open_page("tiny", small())
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
    assert said == "At place 4 & more. b: error 2.0 × 10⁻¹⁰ [1.0 × 10⁻¹⁰, 3.0 × 10⁻¹⁰], n = 3"
    assert page.inner_text("[data-view='2'] .vn-title") == "At place 4 & more"


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
def test_models_have_the_looks_of_the_registry_and_letters_their_size(name, open_page):
    page = open_page(name, told(name), viewport={"width": 360, "height": 800})
    seen = page.evaluate(LOOKS, f"explorer-{name}")
    assert len(seen["lines"]) == 2 <= len(seen["rows"]), "a row begins with its line"
    for model, colour in [*seen["lines"], *seen["rows"]]:
        assert colour == look(model)[0], model
    assert min(seen["letters"]) >= 9, "on a phone, too"


over_places = pytest.mark.parametrize("show", ["map", "cells"])


def placed(show: str) -> dict[str, Any]:
    """The small one with its map as a map or as a plot of cells."""
    given = small()
    given["views"][0] |= {"show": show, "x": "column", "y": "row"}
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
def test_keys_pick_by_sliders_and_on_the_map(open_page, show):
    page = open_page("tiny", placed(show))
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
def test_the_pointer_shows_and_a_click_keeps(open_page, show):
    page = open_page("tiny", placed(show))
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


def test_target_and_drawings_follow_the_pointer_in_and_out_of_the_hold_out(open_page):
    page = open_page("fig2_spatial", told("fig2_spatial"))
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


def test_a_picture_that_lacks_says_why(open_page):
    given = small()
    given["views"][1]["missing"] = "Not <here>."
    page = open_page("tiny", given)
    assert page.inner_text("[data-view='1'] .vn-missing") == "Not <here>."


@over_places
def test_a_tap_picks(open_page, show):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    page = open_page("tiny", placed(show), **phone)
    page.touchscreen.tap(*middle(page, 2))
    assert state(page)["place"] == 2
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    head = "getComputedStyle(document.querySelector('.vn-explorer tbody td'), '::before').content"
    assert page.evaluate(head) == '"error"', "cells name their columns"


# --- Plots ----------------------------------------------------------------------------------------

TIMES, VALUES = [0.0, 1.0, 2.0, 3.0, 4.0], [1e-4, 1e-3, 1e-2, np.nan, 1.0]


def lines(**more: Any) -> dict[str, Any]:
    """A line with its band over three seeds, and a grey one, on a logarithmic axis."""
    model = ["a", "b"]
    one = xr.DataArray(
        [VALUES, VALUES[::-1]], coords={"model": model, "time": TIMES}, dims=("model", "time")
    )
    seeds = xr.concat([one, 2 * one, 3 * one], "seed")
    series = [
        {"name": "grey", "values": one.isel(model=0, drop=True), "dash": "1 3"},
        {"name": "{model}", "hue": "model", "values": statistics.over_seeds(seeds)},
    ]
    choice = {"key": "model", "label": "model", "values": model, "names": model}
    curve = {
        "show": "curve", "title": "curve", "x": "time [s]", "y": "error [1]", "series": series,
        "log": True, "low": 1e-6, "high": 1.0, "shade": [2.0, 4.0],
    } | more  # fmt: skip
    return {
        "title": "Lines",
        "note": "",
        "choices": [choice | {"as": "list", "first": 0}],
        "views": [curve],
    }


SAID = ["time [s]: 2", "grey: 0.010", "a: 0.020 [0.010, 0.030]"]
DRAWN = """() => {
  const svg = document.querySelector(".vn-plot > svg"), corner = svg.getScreenCTM();
  const frame = svg.querySelector("[aria-label=frame]").getBBox(), numbers = (d) => d.match(/[\\d.]+/g).map(Number);
  return {
    frame: [frame.x, frame.y, frame.width, frame.height], scale: corner.a, at: [corner.e, corner.f],
    lines: Object.fromEntries([...svg.querySelectorAll(".line path")].map((one) => [one.ariaLabel, numbers(one.getAttribute("d"))])),
    band: numbers(svg.querySelector("[aria-label=area] path").getAttribute("d")),
    shade: ["x", "width"].map((key) => Number(svg.querySelector("[aria-label=rect] rect").getAttribute(key))),
    ticks: Object.fromEntries(["x", "y"].map((axis) => [axis, [...svg.querySelectorAll(`[aria-label="${axis}-axis tick label"] text`)].map((one) => one.textContent)])),
    labels: [...svg.querySelectorAll('[aria-label$="axis label"]')].map((one) => one.textContent),
    key: [...document.querySelectorAll(".vn-plot .vn-key span")].map((one) => one.textContent.trim()),
  };
}"""


def tip(page) -> list[str]:
    """The lines of what is said where one points."""
    lines = page.locator(".vn-plot [aria-label=tip] text > tspan").all_text_contents()
    return [one.strip("\u200b ") for one in lines]


def at_time(page, time: float) -> tuple[float, float]:
    drawn = page.evaluate(DRAWN)
    left, top, width, height = drawn["frame"]
    return (drawn["at"][0] + left + width * time / 4, drawn["at"][1] + top + height / 2)


def test_lines_bands_and_shades_are_where_their_numbers_are(open_page):
    drawn = open_page("tiny", lines()).evaluate(DRAWN)
    left, top, width, height = drawn["frame"]
    there = np.isfinite(VALUES)

    def where(values: np.ndarray) -> np.ndarray:
        x = left + width * np.array(TIMES)[there] / 4
        return np.stack([x, top - height * np.log10(values[there].clip(1e-6, 1)) / 6], 1)

    values = np.array(VALUES)
    for name, wanted in (("grey", values), ("a", 2 * values)):
        found = np.reshape(drawn["lines"][name], (-1, 2))
        np.testing.assert_allclose(found, where(wanted), atol=0.01)
    ends = [*where(3 * values), *where(values)[::-1]]
    np.testing.assert_allclose(np.reshape(drawn["band"], (-1, 2)), ends, atol=0.01)
    np.testing.assert_allclose(drawn["shade"], [left + width / 2, width / 2], atol=0.01)
    assert drawn["scale"] == 1, "letters have the size that is asked for"
    assert drawn["ticks"]["y"] == ["10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"] and "2.0" in drawn["ticks"]["x"]
    assert drawn["labels"] == ["time [s]", "error [1]"] and drawn["key"] == ["grey", "a"]


def test_an_axis_may_fit_what_is_drawn_or_have_powers_of_ten_below(open_page):
    drawn = open_page("fit", lines(fit=2.0, log=False)).evaluate(DRAWN)
    assert drawn["ticks"]["y"] == ["−2", "−1", "0", "1", "2"]
    given = lines(log_x=True)
    for one in given["views"][0]["series"]:
        one["values"] = one["values"].assign_coords(time=[1.0, 3.0, 10.0, 30.0, 100.0])
    given["views"][0].pop("shade")
    page = open_page("below", given)
    assert page.locator('[aria-label="x-axis tick label"]').all_text_contents() == ["10⁰10¹10²"]


def test_the_pointer_is_told_the_values_and_leaves(open_page):
    page = open_page("tiny", lines())
    assert tip(page) == []
    page.mouse.move(*at_time(page, 2.0))
    assert tip(page) == SAID
    page.mouse.move(5, 5)
    assert tip(page) == []


def test_arrow_keys_point_and_are_told_the_values(open_page):
    page = open_page("tiny", lines())
    page.focus(".vn-plot")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert tip(page) == SAID == page.text_content("[role=status]").splitlines()
    page.keyboard.press("ArrowRight")
    assert tip(page) == ["time [s]: 3"], "nothing is stored there"
    page.keyboard.press("End")
    assert tip(page) == ["time [s]: 4", "grey: 1.0", "a: 2.0 [1.0, 3.0]"]
    page.keyboard.press("Tab")
    assert tip(page) == []


def test_a_tap_is_told_the_values_within_the_page(open_page):
    page = open_page("tiny", lines(), viewport={"width": 390, "height": 844}, has_touch=True)
    page.touchscreen.tap(*at_time(page, 2.0))
    assert [" ".join(tip(page)).split()] == [" ".join(SAID).split()], "in more lines"
    box = page.locator(".vn-plot [aria-label=tip]").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_plot_that_is_unfolded_has_letters_of_the_size_that_is_asked_for(open_page):
    page = open_page("tiny", lines(), viewport={"width": 390, "height": 844})
    page.evaluate("document.querySelector('.vn-explorer').style.display = 'none'")
    page.evaluate("Object.values(vnExplorers.all)[0].then((one) => one.show())")
    page.evaluate("document.querySelector('.vn-explorer').style.display = ''")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    drawn = page.evaluate(DRAWN)
    assert drawn["frame"][2] < 390 and drawn["scale"] == 1


def test_paths_are_followed_until_the_time_that_is_picked(open_page):
    """Of two bodies, one of which is lost at the second of three steps."""
    path = np.zeros((3, 2, 2)) + np.array([[[0.5, -1.0]], [[1.0, 1.0]], [[-2.0, 0.0]]])
    path[:, 1] = [[1.5, 1.5], [np.nan, np.nan], [np.nan, np.nan]]
    kind = {"key": "kind", "values": ["u", "v"], "names": ["u", "v"], "as": "list", "first": 0}
    step = {"key": "step", "values": [0, 1, 2], "names": ["0 s", "1 s", "2 s"], "as": "slider"}
    choices = [one | {"label": one["key"]} for one in (kind, step | {"first": 2})]
    view = {
        "show": "paths", "title": "paths of {kind}", "high": 2.0, "box": 1.0, "unit": "[m]", "until": "step",
        "values": xr.DataArray([path, -path], {"kind": ["u", "v"]}, ("kind", "step", "body", "axis")),
    }  # fmt: skip
    page = open_page("tiny", {"title": "Paths", "note": "", "choices": choices, "views": [view]})
    assert page.locator(".vn-plot [aria-label=dot]").first.locator("circle").count() == 1
    page.focus(".vn-plot")
    said = []
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        said.append(" ".join(tip(page)))
    assert said[0].startswith("body 1, 0 s x 0.5") and said[2].startswith("body 1, 2 s x −2.0, y ")
    assert said[3].startswith("body 2, 0 s")
    page.focus("input")
    page.keyboard.press("Home")
    assert page.locator(".vn-plot [aria-label=dot]").first.locator("circle").count() == 2
    labels = page.locator('.vn-plot [aria-label$="axis label"]').all_text_contents()
    assert labels == ["x [m]", "y [m]"]


@every_explorer
def test_the_library_is_loaded_where_there_are_plots(name):
    given = told(name)
    html = explorer.page(name, given, "../../")
    loaded = re.findall(r'<script src="../../_static/([^"]+)" defer>', html)
    plots = ["plot/d3.min.js", "plot/plot.umd.min.js", "plots.js"]
    there = any(one["show"] in ("cells", "curve", "paths") for one in given["views"])
    assert loaded == [*(plots if there else []), "explorer.js"]


def test_pictures_have_names_and_texts_are_only_texts(open_page):
    page = open_page("tiny", small())
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


@every_explorer
def test_without_scripts_only_a_sentence_is_shown(name, open_page):
    page = open_page(name, told(name), java_script_enabled=False)
    assert not page.is_visible(".vn-explorer")
    assert page.inner_text("body").startswith("With JavaScript, here is an explorer")


@every_explorer
def test_each_choice_changes_what_is_seen(name, open_page):
    """By key, as a reader would, from the first value to a neighbour."""
    page = open_page(name, told(name))
    shown = """() => [...document.querySelectorAll('.vn-view')].map((box) => {
      const canvas = box.querySelector('canvas');
      return canvas && canvas.width ? canvas.toDataURL() + box.innerText : box.innerHTML;
    }).join()"""
    same = f"() => ({shown})() === window.seen"  # compared there: it is long
    back = "first => Object.values(vnExplorers.all)[0].then((one) => { Object.assign(one.state, first); one.show(); })"
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
        page.evaluate(back, first)
        assert page.evaluate(same), name


def test_it_plays_from_the_start_to_the_end_and_stops(open_page):
    given = small()
    given["choices"][1] |= {"as": "slider", "play": 1.0, "first": 5}
    given["views"] = given["views"][2:]
    page = open_page("tiny", given)
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


def test_on_paper_what_is_chosen_is_told_without_controls(open_page):
    page = open_page("tiny", small())
    shown = """() => [...document.querySelectorAll('.vn-explorer :is(input, button)')].filter(
      (one) => one.getClientRects().length).length"""
    assert page.evaluate(shown) > 0, "or this shows nothing"
    page.emulate_media(media="print")
    assert page.evaluate(shown) == 0
    assert page.locator(".vn-picks output").first.is_visible()


NUMBERS = [0.0, 1.0, 9.94, 9.95, 10.0, 12.34, 99.6, 1234.0, 1236.5, 99999.0, 1e5, 123456.0, 1e-3]
NUMBERS += [9.99e-4, 3.14159e-5, -0.0123, -4.6e-12, 7.77e-17, 0.5, -12.0]


def test_numbers_are_said_as_elsewhere(open_page):
    page, draw = open_page("tiny", small()), random.Random(1)
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


def built(folder, monkeypatch, chapter: str, results: xr.Dataset | None) -> str:
    """A page of Sphinx with an explorer of a chapter's results; a warning is an error."""
    monkeypatch.syspath_prepend(EXTENSIONS)
    page = folder / "source" / "book" / "chapters" / "index.rst"
    page.parent.mkdir(parents=True)
    page.write_text(f"All\n===\n\nBefore.\n\n.. explorer:: {chapter}\n\nAfter.\n")
    (folder / "source" / "index.rst").write_text(
        "All\n===\n\n.. toctree::\n\n   book/chapters/index\n"
    )
    if results is not None:
        data = folder / "source" / explorer.DATA
        data.mkdir(parents=True)
        store.write(results, data / f"{chapter}.nc")
    given = {"html_theme": "basic", "extensions": ["explorer"]}
    with docutils_namespace(), open(os.devnull, "w", encoding="utf-8") as nowhere:
        Sphinx(
            srcdir=folder / "source", confdir=None, outdir=folder / "out",
            doctreedir=folder / "trees", buildername="html", confoverrides=given, status=nowhere,
            warning=nowhere, warningiserror=True,
        ).build()  # fmt: skip
    html = (folder / "out" / "book" / "chapters" / "index.html").read_text(encoding="utf-8")
    assert "Before." in html and "After." in html
    return html


def test_the_directive_puts_the_results_of_this_build_into_the_page(tmp_path, monkeypatch):
    ds = store.read(paths.RESULTS / "paper" / "fig2_spatial.nc")
    few = ds.sel(model=["bilinear_relu", "cnn4"]).isel(seed=[0, 1, 2])
    html = built(tmp_path / "few", monkeypatch, "fig2_spatial", few)
    assert '<script src="../../_static/explorer.js" defer></script>' in html
    assert html.count("<option") == 4 and str(few["label"].values[1]) in html
    html = built(tmp_path / "none", monkeypatch, "fig2_spatial", None)
    assert "vn-explorer" not in html
    html = built(tmp_path / "lacking", monkeypatch, "fig2_spatial", few.drop_vars("sample_image"))
    assert "vn-explorer" not in html
    with pytest.raises(Exception, match=r"J_cost has no figures_explorer\.py"):
        built(tmp_path / "other", monkeypatch, "J_cost", None)
