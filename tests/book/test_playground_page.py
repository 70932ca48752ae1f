"""The playground in a browser and in node: its settle equals vnlib's, it needs no network, and no
mouse.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import chromium
import numpy as np
import pytest
import torch

from vnlib.book import paths, playground
from vnlib.settle import SettleConfig

ROOT = paths.SOURCE
DATA = ROOT / "book" / "_static" / "playground"
CHROMIUM = chromium.path()
NODE = shutil.which("node")
PATIENCE = 120_000  # milliseconds for a page on a busy machine

needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


@pytest.fixture(scope="module")
def shipped() -> tuple:
    """The network as the page has it, and the digits by their place, (n, 784)."""
    network, x, labels = playground.read(DATA)
    return network, x, labels


def settled(
    shipped: tuple,
    x: torch.Tensor,
    *,
    factor: float = 1.0,
    signed: bool = False,
    mask=None,
    config=None,
):
    """vnlib's settle of one picture at `factor` times the model's sparsity: code, reconstruction,
    energy.
    """
    network = shipped[0]
    own = playground.playground_network(
        network.V[0], sparsity=factor * network.layers[0].penalty.sparsity, nonnegative=not signed
    )
    found = own.settle(x[None], mask=None if mask is None else mask[None], config=config)
    assert config or bool(found.converged.all())
    return found.codes[0][0].numpy(), own.reconstruct(found)[0].numpy(), float(found.energy[0])


# --- settle.js alone, in node ---------------------------------------------------------------------


def in_node(script: str, given: object) -> dict:
    """Run a script that has settle.js as `S` and the input as `given`, and makes `out`."""
    whole = f"""
      const S = require({json.dumps(str(DATA / "settle.js"))});
      const given = JSON.parse(require("fs").readFileSync(0));
      {script}
      const plain = (key, value) => ArrayBuffer.isView(value) ? [...value] : value;
console.log(JSON.stringify(out, plain));
    """
    done = subprocess.run(
        [NODE, "-e", whole], input=json.dumps(given), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SETTLE = """
  const [atoms, x, mask] = [given.atoms, given.x, given.mask].map((a) => Float64Array.from(a));
  const seen = x.map((value, i) => value * mask[i]);
  const out = S.settle({ H: S.gram(atoms, x.length, mask), drive: S.correlate(atoms, x, mask),
    power: S.dot(seen, seen), ...given.rest }, given.limits || {});
"""


@needs_node
@pytest.mark.parametrize("nonnegative", [False, True])
def test_orthonormal_atoms_are_thresholded(nonnegative):
    x = np.array([2.0, -1.0, 0.3, -0.2, 0.5])
    rest = {"lipschitz": 1.0, "lambda": 0.4, "nonnegative": nonnegative}
    out = in_node(
        SETTLE,
        {"atoms": np.eye(5).ravel().tolist(), "x": x.tolist(), "mask": [1] * 5, "rest": rest},
    )
    wanted = np.sign(x) * np.maximum(np.abs(x) - 0.4, 0)
    wanted = np.maximum(wanted, 0) if nonnegative else wanted
    np.testing.assert_allclose(out["code"], wanted, atol=1e-12)
    energy = 0.5 * ((x - wanted) ** 2).sum() + 0.4 * np.abs(wanted).sum()
    assert out["energy"] == pytest.approx(energy, rel=1e-12) and out["settled"]
    assert out["misfit"] + out["penalty"] == pytest.approx(energy, rel=1e-12)


@needs_node
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("sweeps", [1, 2, 9, 60, None])
def test_every_sweep_is_that_of_vnlib(nonnegative, sweeps):
    rng = torch.Generator().manual_seed(1)
    V = torch.randn(20, 30, generator=rng, dtype=torch.float64)
    V, x = V / V.norm(dim=0), 2 * torch.randn(20, generator=rng, dtype=torch.float64)
    mask = (torch.rand(20, generator=rng) > 0.3).double()
    network = playground.playground_network(V, sparsity=0.2, nonnegative=nonnegative)
    config = SettleConfig(method="restart", max_sweeps=sweeps, tol=0) if sweeps else None
    wanted = network.settle(x[None], mask=mask[None], config=config)
    lipschitz = 1.0001 * float(torch.linalg.matrix_norm(V, 2)) ** 2
    given = {
        "atoms": V.T.ravel().tolist(),
        "x": x.tolist(),
        "mask": mask.tolist(),
        "rest": {"lipschitz": lipschitz, "lambda": 0.2, "nonnegative": nonnegative},
        "limits": {"maxSweeps": sweeps, "tol": 0} if sweeps else {},
    }
    out = in_node(SETTLE, given)
    np.testing.assert_allclose(
        out["code"], wanted.codes[0][0].numpy(), atol=1e-9 if sweeps else 1e-5
    )
    assert out["energy"] == pytest.approx(float(wanted.energy[0]), rel=1e-9)
    assert out["settled"] is (sweeps is None) and out["sweeps"] == (sweeps or out["sweeps"])


@needs_node
def test_node_reads_the_dictionary_that_vnlib_reads(shipped):
    text = (DATA / "dictionary.js").read_text()
    out = in_node(
        "(0, eval)(given); const out = S.dictionary(vnDictionary.int8, vnDictionary.atoms);", text
    )
    np.testing.assert_allclose(out, shipped[0].V[0].T.ravel().numpy(), rtol=1e-12)


# --- The page, in headless Chromium ---------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as tool:
        window = tool.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE
        )
        yield window
        window.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder with page and scripts at the places they have in the built book, without the book
    around them.
    """
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DATA, folder / "_static" / "playground")
    source = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")
    html = re.search(r"```\{raw\} html\n(.*?)\n```", source, re.DOTALL)[1]
    html = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>P</title>{html}</html>'
    (folder / "book").mkdir()
    (folder / "book" / "playground.html").write_text(html, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(site) -> Iterator[str]:
    """The address at which this machine serves the same folder to itself."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=site)
    ) as one:
        Thread(target=one.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{one.server_port}"
        one.shutdown()


@pytest.fixture
def open_page(browser, site) -> Iterator[Callable]:
    """Opens the page from the disk or another place.

    What it asks for elsewhere, and any error, fails the test.
    """
    asked, wrong, contexts, places = [], [], [], []

    def open_(place: str = site.as_uri(), **options):
        places.append(place)
        contexts.append(
            browser.new_context(**{"viewport": {"width": 1000, "height": 1200}} | options)
        )
        contexts[-1].set_default_timeout(PATIENCE)
        page = contexts[-1].new_page()
        page.route("**/*", lambda route: (asked.append(route.request.url), route.continue_()))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console",
            lambda message: wrong.append(message.text) if message.type == "error" else None,
        )
        page.goto(f"{place}/book/playground.html")
        page.wait_for_function(
            "window.vnPlayground && document.querySelector('#vn-active').textContent"
        )
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not wrong
    assert len(asked) >= 6 and all(
        url.startswith(tuple(f"{place}/" for place in places)) for url in asked
    ), asked


def read(page) -> dict:
    """All that the page made of what it shows now; arrays as lists."""
    return page.evaluate(
        "Object.fromEntries(Object.entries(vnPlayground.read()).map(([k, v]) => [k, "
        "v.length ? [...v] : v]))"
    )


def pick(page, mode: str, digit: int) -> None:
    page.check(f"input[name=vn-pick][value={mode}]")
    page.click(f"#vn-digits button:nth-child({digit + 1})")


def slide(page, name: str, value: float) -> None:
    page.fill(f"#vn-{name}", str(value))


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


def test_nothing_moves_by_itself_where_less_motion_is_wished_for(open_page):
    page = open_page(reduced_motion="reduce")
    page.clock.install()
    button = page.locator("#vn-watch")
    assert button.inner_text() == "One step of the settle"
    for sweeps in (0, 1, 2):
        button.click()
        page.clock.run_for(5000)
        assert read(page)["sweeps"] == sweeps


def test_the_keyboard_is_enough(open_page):
    page = open_page()
    before = read(page)["x"]
    page.focus("input[name=vn-pick][value=replace]")
    page.keyboard.press("ArrowRight")  # add
    assert page.is_checked("input[name=vn-pick][value=add]")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the first digit
    added = read(page)["x"]
    assert np.subtract(added, before).sum() > 10
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # the second
    assert np.subtract(read(page)["x"], added).sum() > 10

    active = read(page)["code"]
    page.focus("#vn-sparsity")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#vn-sparsity", "aria-valuetext") == "1.19 × the model's"
    assert (
        np.count_nonzero(read(page)["code"]) != np.count_nonzero(active)
        or read(page)["code"] != active
    )
    page.focus("#vn-sweeps")
    page.keyboard.press("Home")
    assert not any(read(page)["code"])

    page.focus("#vn-clear")
    page.keyboard.press("Enter")
    assert not any(read(page)["x"])
    page.focus("#vn-x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.wait_for_function(
        "document.querySelector('#vn-said').textContent === 'Row 14, column 16: ink 0.0.'"
    )
    page.keyboard.press("Space")
    drawn = np.reshape(read(page)["x"], (28, 28))
    assert np.unravel_index(drawn.argmax(), drawn.shape) == (13, 15) and drawn.max() == 1


def test_all_that_can_be_used_is_reached_by_tab_named_and_seen_in_focus(open_page):
    page = open_page()
    wanted = page.locator(
        "#vn-playground :is(button, input[type=checkbox], input[type=range], canvas[tabindex])"
    ).count()
    groups = {"vn-pick", "vn-tool"}  # one stop each
    seen = []
    for _ in range(wanted + len(groups)):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                """() => {
                  const one = document.activeElement, style = getComputedStyle(one);
                  const label = document.getElementById(one.getAttribute("aria-labelledby"));
                  const named = one.getAttribute("aria-label") || one.labels?.[0]?.textContent
                    || one.textContent || label?.textContent || "";
                  const inside = Boolean(one.closest("#vn-playground"));
                  return { id: one.id || one.name || named, named: named.trim(), inside,
                    width: parseFloat(style.outlineWidth), line: style.outlineStyle };
                }"""
            )
        )
    assert all(one["inside"] and one["named"] for one in seen)
    assert all(one["width"] >= 2 and one["line"] == "solid" for one in seen)
    assert {
        "vn-x",
        "vn-sparsity",
        "vn-sweeps",
        "vn-watch",
        "vn-clear",
        "vn-signed",
        "vn-hidden",
    } | groups <= {one["id"] for one in seen}


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


@pytest.mark.parametrize("digit", [None, 8], ids=["paper", "ink"])
def test_the_place_of_the_keyboard_is_seen_on_any_ground(digit, open_page):
    page = open_page()
    page.click("#vn-clear") if digit is None else pick(page, "replace", digit)
    read(page)
    across = (
        "y => [...document.querySelector('#vn-x').getContext('2d').getImageData(130, y, 30, "
        "1).data]"
    )
    before = np.reshape(page.evaluate(across, 145), (30, 4))[:, :3]
    page.focus("#vn-x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")  # the pixel in the middle: 140 to 150 both ways
    after = np.reshape(page.evaluate(across, 145), (30, 4))[:, :3]
    light, dark = after.sum(1) > 700, after.sum(1) < 60
    assert light.any() and dark.any() and (before != after).any()
    assert dark[10] or dark[9], "a dark line at the left edge"
    assert light[7:9].any() and light[11:13].any(), "with light ones beside it"


def test_what_happened_is_said(open_page):
    page = open_page()
    pick(page, "replace", 1)
    page.wait_for_function(
        "document.querySelector('#vn-said').textContent.includes('atoms are active')"
    )
    assert page.inner_text("#vn-active").split()[0] in page.inner_text("#vn-said")
    assert page.get_attribute("#vn-said", "role") == "status"
    said = [
        page.get_attribute(f"#vn-{name}", "aria-label") for name in ("reconstruction", "residual")
    ]
    assert (
        page.inner_text("#vn-active").split()[0] in said[0]
        and page.inner_text("#vn-explained") in said[0]
    )
    assert "misfit" in said[1]


def test_nothing_is_said_before_something_happens(open_page):
    page = open_page()
    page.wait_for_timeout(1000)
    assert page.inner_text("#vn-said") == ""


def test_every_picture_and_control_has_a_name_of_its_own(open_page):
    page = open_page()
    named = page.eval_on_selector_all(
        "#vn-playground button", "all => all.map(b => b.ariaLabel || b.textContent)"
    )
    assert all(named) and len(set(named)) == len(named)
    pictures = "#vn-playground canvas:not(button canvas)"
    assert page.locator(pictures).count() > 3
    assert all(
        page.eval_on_selector_all(
            pictures, "all => all.map(c => c.ariaLabel || c.getAttribute('aria-labelledby'))"
        )
    )


@pytest.mark.parametrize("width", [320, 400, 1200])
def test_no_width_needs_scrolling_sideways(width, open_page):
    page = open_page(viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
