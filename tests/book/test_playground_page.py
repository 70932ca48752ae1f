"""The playground in headless Chromium: it settles as vnlib does and needs no network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from playground_cases import pick, read, settled, slide

from vnlib.settle import SettleConfig

COVERED = {
    "left": np.tile(np.arange(28) >= 14, (28, 1)),
    "lower": np.tile(np.arange(28)[:, None] < 14, (1, 28)),
}
CASES = {
    "one digit": ([("replace", 8)], {}),
    "a sum": ([("replace", 0), ("add", 1)], {}),
    "a difference": ([("replace", 8), ("subtract", 3)], {"signed": True}),
    "a difference without negative coefficients": ([("replace", 8), ("subtract", 3)], {}),
    "less than nothing": ([("replace", 5), ("subtract", 5), ("subtract", 2)], {"signed": True}),
    "sums and differences": (
        [("replace", 2), ("add", 7), ("subtract", 6), ("add", 11)],
        {"signed": True},
    ),
    "unknown left half": ([("replace", 3)], {"cover": "left"}),
    "unknown bottom of a sum": ([("replace", 3), ("add", 9)], {"cover": "lower", "signed": True}),
    "bottom covered by paper": ([("replace", 4)], {"cover": "lower", "known": True}),
    "sparser": ([("replace", 2), ("add", 5)], {"slider": 3}),
    "denser": ([("replace", 2), ("subtract", 5)], {"slider": -2, "signed": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_page_settles_as_vnlib_does(name, open_page, shipped):
    (picks, options), page = CASES[name], open_page()
    x = torch.zeros(784, dtype=torch.float64)
    for mode, digit in picks:
        pick(page, mode, digit)
        x += {"replace": 1, "add": 1, "subtract": -1}[mode] * shipped[1][digit]
    page.set_checked("#vn-signed", options.get("signed", False))
    slide(page, "sparsity", options.get("slider", 0))
    mask = torch.ones_like(x)
    if cover := options.get("cover"):
        page.click(f"#vn-{cover}")
        mask = torch.tensor(COVERED[cover].ravel(), dtype=torch.float64)
    if options.get("known"):
        page.uncheck("#vn-hidden")
        x, mask = x * mask, torch.ones_like(x)
    out = read(page)
    np.testing.assert_allclose(out["x"], x.numpy(), atol=1e-12)
    code, drawn, energy = settled(
        shipped,
        x,
        factor=2.0 ** options.get("slider", 0),
        signed=options.get("signed", False),
        mask=mask,
    )
    np.testing.assert_allclose(out["code"], code, atol=1e-4)
    np.testing.assert_allclose(out["reconstruction"], drawn, atol=1e-4)
    np.testing.assert_allclose(out["residual"], mask.numpy() * (x.numpy() - drawn), atol=1e-4)
    assert out["energy"] == pytest.approx(energy, rel=1e-9) and out["settled"]
    active = np.flatnonzero(code)
    assert page.inner_text("#vn-active") == f"{len(active)} of 256"
    order = active[np.argsort(-np.abs(code[active]))][:24]
    assert page.locator("#vn-atoms canvas").count() == len(order)
    listed = page.eval_on_selector_all(
        "#vn-atoms li", "items => items.map(item => item.innerText.trim())"
    )
    assert listed == [f"{'−' if code[k] < 0 else '+'}{abs(code[k]):.2f}" for k in order]
    assert page.get_attribute("#vn-atoms canvas >> nth=0", "aria-label") == f"Atom {order[0]}"


def test_a_server_may_serve_it(open_page, server):
    page = open_page(server)
    assert read(page)["settled"]
    model = page.inner_text("#vn-model")
    assert (
        model.startswith("The model: one layer of 256 atoms, learned from 20,000 digits")
        and "seed 0" in model
    )


def test_the_slider_of_sweeps_shows_the_settle_on_its_way(open_page, shipped):
    page = open_page()
    pick(page, "replace", 6)
    energies = []
    for position, sweeps in ((0, 0), (1, 1), (5, 5), (12, 20)):
        slide(page, "sweeps", position)
        out = read(page)
        assert out["sweeps"] == sweeps and not out["settled"]
        assert page.inner_text("#vn-sweeps-value") == str(sweeps)
        if sweeps:
            config = SettleConfig(method="restart", max_sweeps=sweeps, tol=0)
            np.testing.assert_allclose(
                out["code"], settled(shipped, shipped[1][6], config=config)[0], atol=1e-9
            )
        energies.append(out["energy"])
    assert energies == sorted(energies, reverse=True) and min(out["code"]) >= 0


def test_watching_goes_from_nothing_to_the_settled_code(open_page):
    page = open_page()
    page.clock.install()
    button = page.locator("#vn-watch")
    button.click()
    assert read(page)["sweeps"] == 0 and button.inner_text() == "Stop"
    page.clock.run_for(1100)
    assert 0 < read(page)["sweeps"] < 10
    page.clock.run_for(10_000)
    assert read(page)["settled"] and button.inner_text() == "Watch it settle"


def test_the_pointer_draws_erases_and_covers(open_page, shipped):
    page = open_page()
    page.click("#vn-clear")
    box = page.locator("#vn-x").bounding_box()

    def stroke() -> None:
        row = box["y"] + 14.5 * box["height"] / 28
        page.mouse.move(box["x"] + box["width"] * 0.3, row)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.7, row)
        page.mouse.up()

    stroke()
    out = read(page)
    ink = np.reshape(out["x"], (28, 28))
    assert (
        ink[14, 9:19].min() > 0.9
        and not ink[:11].any()
        and not ink[18:].any()
        and not ink[:, :6].any()
    )
    code, _, _ = settled(shipped, torch.tensor(out["x"], dtype=torch.float64))
    np.testing.assert_allclose(out["code"], code, atol=1e-4)
    page.check("input[name=vn-tool][value=cover]")
    stroke()
    mask = np.reshape(read(page)["mask"], (28, 28))
    assert not mask[14, 9:19].any() and mask[:11].all() and mask[18:].all()
    page.check("input[name=vn-tool][value=erase]")
    stroke()
    out = read(page)
    assert (
        np.reshape(out["x"], (28, 28))[14, 9:19].max() < 0.1
        and np.reshape(out["mask"], (28, 28))[14, 9:19].all()
    )


def test_ink_is_blue_and_less_than_paper_orange(open_page):
    page = open_page()
    pick(page, "replace", 1)
    pick(page, "subtract", 0)
    out = read(page)
    for place in (int(np.argmax(out["x"])), int(np.argmin(out["x"]))):
        red, _, blue, _ = page.evaluate(
            "i => [...document.querySelector('#vn-x').getContext('2d')"
            ".getImageData(10 * (i % 28) + 5, 10 * Math.floor(i / 28) + 5, 1, 1).data]",
            place,
        )
        assert (blue > red + 50) if out["x"][place] > 0 else (red > blue + 50)
