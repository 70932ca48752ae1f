"""The playground's second network in headless Chromium: two layers settle as vnlib settles them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from playground_cases import DATA, pick, read, slide

from benchmarks.images import two_layers

ABSENT = "Object.defineProperty(window, 'vnLayers', { get: () => undefined, set: () => {} });"


@pytest.fixture(scope="module")
def made() -> two_layers.TwoLayers:
    return two_layers.read(DATA)


def error(x: np.ndarray, drawn: np.ndarray, seen: np.ndarray) -> str:
    share = ((x - drawn)[seen] ** 2).sum() / (x[seen] ** 2).sum()
    return f"{100 * share:.1f}\u00a0%"


def test_two_layers_settle_and_are_restored_by_a_link(page, made, shipped):
    page.focus("input[name=vn-layers][value='1']")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#vn-top") and not page.is_visible("#vn-dct")
    pick(page, "replace", 4)
    pick(page, "add", 1)
    page.click("#vn-lower")  # covers the bottom
    slide(page, "feedback", 5)
    assert page.get_attribute("#vn-feedback", "aria-valuetext") == "1"
    out, x = read(page), shipped[1][4] + shipped[1][1]
    mask = (torch.arange(784) < 392).double()
    network = made.with_feedback(1.0)
    found = network.settle(x[None], mask=mask[None])
    for code, wanted in zip(out["codes"], found.codes, strict=True):
        np.testing.assert_allclose(code, wanted[0], atol=1e-4)
    assert out["energy"] == pytest.approx(float(found.energy[0]), rel=1e-9) and out["settled"]
    drawn = {
        "own": network.reconstruct(found)[0],
        "alone": network.V[0]
        @ made.with_feedback(0.0).settle(x[None], mask=mask[None]).codes[0][0],
    }
    for name, one in drawn.items():
        np.testing.assert_allclose(out["drawn"][name], one, atol=1e-4)
    np.testing.assert_allclose(out["change"], drawn["own"] - drawn["alone"], atol=2e-4)
    decoded = network.decode(found.codes[1], sparsity=made.reading)[0]
    np.testing.assert_allclose(out["drawn"]["top"], decoded, atol=0.03)
    seen, counts = mask.numpy() == 1, [int((code != 0).sum()) for code in found.codes]
    for name, one in out["drawn"].items():
        text = page.inner_text(f"#vn-{name}-error")
        assert text.startswith(error(x.numpy(), np.array(one), seen)) and "covered" in text
        assert text in page.get_attribute(f"#vn-{name}", "aria-label")
    assert page.inner_text("#vn-below") == f"{counts[0]} of 128"
    assert page.inner_text("#vn-above") == f"{counts[1]} of 96"
    assert page.inner_text("#vn-top-length") == str(counts[1])
    code = found.codes[1][0].numpy()
    order = np.argsort(-np.abs(code))[:10]
    listed = page.locator("#vn-second li").all_inner_texts()
    signs = [f"{'−' if code[k] < 0 else '+'}{abs(code[k]):.2f}" for k in order]
    assert [text.strip() for text in listed] == signs
    points = page.get_attribute("#vn-path .line path", "d").split("L")
    assert len(points) == 61 and f"{out['path'][60]:.2f} after 60" in page.inner_text(
        "#vn-path-said"
    )
    told, held = page.inner_text("#vn-model"), made.held_out
    for share in (held["own"], held["alone"], held["top"]):
        assert f"{float(f'{100 * share:.2g}'):g}\u00a0%" in told
    page.click("#vn-share")
    fragment = page.evaluate("location.hash")
    assert fragment.endswith("layers=2&feedback=5")
    page.evaluate("location.hash = 'vn=1&digits=8'")
    page.wait_for_function("document.querySelector('#vn-dct').offsetParent")
    page.evaluate("hash => { location.hash = hash; }", fragment)
    page.wait_for_function("document.querySelector('#vn-top').offsetParent")
    assert read(page) == out
    slide(page, "feedback", 0)
    assert np.abs(read(page)["change"]).max() < 1e-6
    assert "settles by itself" in page.inner_text("#vn-path-said")
    slide(page, "sweeps", 5)
    assert read(page)["sweeps"] == 10 and not read(page)["settled"]


def test_a_link_restores_sweeps_what_is_left_over_and_what_a_press_does(page, open_page):
    page.check("input[name=vn-layers][value='2']")
    slide(page, "feedback", 6)
    slide(page, "sweeps", 16)
    page.check("#vn-residual")
    page.click("#vn-share")
    fragment = page.evaluate("location.hash")
    assert fragment.endswith("&sweeps=50&residual=1")
    again = open_page(fragment=fragment)
    assert again.input_value("#vn-sweeps") == "16" and again.is_checked("#vn-residual")
    assert again.inner_text("#vn-feedback-value") == page.inner_text("#vn-feedback-value")
    assert read(again) == read(page) and read(again)["sweeps"] == 50
    again.click("#vn-model")  # the first press changes no sweeps
    assert again.inner_text("#vn-sweeps-value") == "50"
    label = again.get_attribute("#vn-own", "aria-label")
    assert "residual" in label and label == page.get_attribute("#vn-own", "aria-label")
    again.evaluate("location.hash = 'vn=1&digits=8&doubling=1'")
    again.wait_for_function("document.querySelector('#vn-dct').offsetParent")
    assert not again.is_checked("#vn-residual") and read(again)["settled"]
    assert again.is_checked("input[name=vn-edit][value=doubled]")
    again.click("#vn-share")
    assert again.evaluate("location.hash") == "#vn=1&digits=8&doubling=1"
    again.evaluate("location.hash = 'vn=1&digits=8'")
    again.wait_for_function("document.querySelector('input[name=vn-edit][value=removed]').checked")


def test_without_its_file_the_page_has_one_layer(open_page, shipped):
    page = open_page(fragment="#vn=1&digits=3&layers=2&feedback=0", watched=ABSENT)
    page.evaluate("vnPlayground.finish()")
    assert not page.is_visible("#vn-depth") and page.is_visible("#vn-dct")
    out = read(page)
    np.testing.assert_array_equal(out["x"], shipped[1][3])
    assert out["settled"] and len(out["code"]) == 256
    assert "missing" in page.inner_text("#vn-shared")


def test_on_a_phone_two_layers_stay_in_view_and_are_drawn_by_touch(open_page):
    page = open_page(
        fragment="#vn=1&digits=4&layers=2", viewport={"width": 390, "height": 844}, has_touch=True
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    before = read(page)["codes"]
    page.tap("#vn-x", position={"x": 20, "y": 20})
    assert read(page)["codes"] != before
    page.eval_on_selector("#vn-second", "one => one.scrollIntoView({ block: 'end' })")
    for part in ("#vn-x", "#vn-own", "#vn-change"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] < 400
    named = page.eval_on_selector_all(
        "#vn-second canvas, #vn-first canvas", "all => all.map(one => one.ariaLabel)"
    )
    assert all(named) and len(set(named)) == len(named) == 20
