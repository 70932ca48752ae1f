"""Plots of explorers: lines, bands and paths are where their numbers are, and say them to whatever hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from vnlib.plots import statistics

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


def test_lines_bands_and_shades_are_where_their_numbers_are(shared_explorer):
    drawn = shared_explorer("tiny", lines()).evaluate(DRAWN)
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


def test_an_axis_may_fit_what_is_drawn_or_have_powers_of_ten_below(open_explorer):
    drawn = open_explorer({"fit": lines(fit=2.0, log=False)}).evaluate(DRAWN)
    assert drawn["ticks"]["y"] == ["−2", "−1", "0", "1", "2"]
    given = lines(log_x=True)
    for one in given["views"][0]["series"]:
        one["values"] = one["values"].assign_coords(time=[1.0, 3.0, 10.0, 30.0, 100.0])
    given["views"][0].pop("shade")
    page = open_explorer({"below": given})
    assert page.locator('[aria-label="x-axis tick label"]').all_text_contents() == ["10⁰10¹10²"]


def test_the_pointer_is_told_the_values_and_leaves(shared_explorer):
    page = shared_explorer("tiny", lines())
    assert tip(page) == []
    page.mouse.move(*at_time(page, 2.0))
    assert tip(page) == SAID
    page.mouse.move(5, 5)
    assert tip(page) == []


def test_arrow_keys_point_and_are_told_the_values(shared_explorer):
    page = shared_explorer("tiny", lines())
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


def test_a_tap_is_told_the_values_within_the_page(open_explorer):
    page = open_explorer({"tiny": lines()}, viewport={"width": 390, "height": 844}, has_touch=True)
    page.touchscreen.tap(*at_time(page, 2.0))
    assert [" ".join(tip(page)).split()] == [" ".join(SAID).split()], "in more lines"
    box = page.locator(".vn-plot [aria-label=tip]").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_plot_that_is_unfolded_has_letters_of_the_size_that_is_asked_for(shared_explorer):
    page = shared_explorer("tiny", lines(), {"width": 390, "height": 844})
    page.evaluate("document.querySelector('.vn-explorer').style.display = 'none'")
    page.evaluate("Object.values(vnExplorers.all)[0].then((one) => one.show())")
    page.evaluate("document.querySelector('.vn-explorer').style.display = ''")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    drawn = page.evaluate(DRAWN)
    assert drawn["frame"][2] < 390 and drawn["scale"] == 1


def test_paths_are_followed_until_the_time_that_is_picked(open_explorer):
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
    given = {"title": "Paths", "note": "", "choices": choices, "views": [view]}
    page = open_explorer({"tiny": given})
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
