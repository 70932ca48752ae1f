"""The playground in headless Chromium: it settles as vnlib does and needs no network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from playground_cases import DATA, pick, read, settled, slide

from benchmarks.images import opponents, playground
from vnlib.layer import Layer, operator
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


@pytest.fixture(scope="module")
def others() -> opponents.Opponents:
    return opponents.read(DATA)


def errors(page, x: np.ndarray, drawn: np.ndarray, mask: np.ndarray) -> str:
    """What stands below a picture: the error where it was seen, and where it is covered."""
    picture, seen = page.evaluate("[[...vnPlayground.picture], [...vnPlayground.seen]]")
    hidden = np.array(seen) == 0
    parts = [(x, mask == 1)] + [(np.array(picture), hidden)] * bool(hidden.any())
    shares = [((a - drawn)[on] ** 2).sum() / (a[on] ** 2).sum() for a, on in parts]
    covered = "".join(f", covered\u00a0{100 * share:.0f}\u00a0%" for share in shares[1:])
    return f"{100 * shares[0]:.1f}\u00a0%{covered}"


@pytest.mark.parametrize("name", CASES)
def test_the_page_settles_as_vnlib_does(name, page, shipped, others):
    picks, options = CASES[name]
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
    assert out["energy"] == pytest.approx(energy, rel=1e-9) and out["settled"]
    active = np.flatnonzero(code)
    assert page.inner_text("#vn-active") == f"{len(active)} of 256"
    matched = others.draw((x * mask)[None], torch.tensor([len(active)]))
    wanted = {"network": drawn} | {name: one[0].numpy() for name, one in matched.items()}
    assert list(out["drawn"]) == list(wanted)
    for name, values in wanted.items():
        np.testing.assert_allclose(out["drawn"][name], values, atol=1e-4)
        assert page.inner_text(f"#vn-{name}-error") == errors(page, x.numpy(), values, mask.numpy())
    V = shipped[0].V[0]
    W = operator(Layer(V, V, shipped[0].layers[0].penalty), torch.tensor(code)[None])[0]
    np.testing.assert_allclose(out["operated"], (shipped[1] @ W.T).numpy(), atol=1e-3)
    order = active[np.argsort(-np.abs(code[active]))][:24]
    assert page.locator("#vn-atoms canvas").count() == len(order)
    listed = page.eval_on_selector_all(
        "#vn-atoms li", "items => items.map(item => item.innerText.trim())"
    )
    assert listed == [f"{'−' if code[k] < 0 else '+'}{abs(code[k]):.2f}" for k in order]
    label = page.get_attribute("#vn-atoms button >> nth=0", "aria-label")
    assert label == f"Atom {order[0]}: {listed[0]}"


def test_a_server_may_serve_it(open_page, server):
    page = open_page(server)
    assert read(page)["settled"]
    model = page.inner_text("#vn-model")
    assert (
        model.startswith("The network: one layer of 256 atoms, learned from 20,000 digits")
        and "seed 0" in model
        and "The others: an autoencoder" in model
    )


def test_the_slider_of_sweeps_shows_the_settle_on_its_way(page, shipped):
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


def test_the_pointer_draws_erases_and_covers(page, shipped):
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


def test_ink_is_blue_and_less_than_paper_orange(page):
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


# --- The reader's hand on the code ----------------------------------------------------------------


def energy_of(x: torch.Tensor, V: torch.Tensor, code: torch.Tensor, sparsity: float) -> float:
    return float(0.5 * (x - V @ code).square().sum() + sparsity * code.abs().sum())


@pytest.mark.parametrize(("mode", "factor"), [("removed", 0), ("doubled", 2)])
def test_an_atom_is_removed_or_doubled_and_restored(mode, factor, page, shipped):
    network, x, _ = shipped
    pick(page, "replace", 4)
    before = read(page)
    k = int(np.argmax(before["code"]))
    page.check(f"input[name=vn-edit][value={mode}]")
    page.click("#vn-atoms button >> nth=0")
    out = read(page)
    wanted = np.array(before["code"])
    wanted[k] *= factor
    np.testing.assert_array_equal(out["code"], wanted)
    sparsity = network.layers[0].penalty.sparsity
    energy = energy_of(x[4], network.V[0], torch.tensor(wanted), sparsity)
    assert out["energy"] == pytest.approx(energy, rel=1e-9)
    assert out["change"] == pytest.approx(energy - before["energy"]) and out["change"] > 0.1
    assert f"+{out['change']:.2f} by your change" in page.inner_text("#vn-energy")
    assert page.get_attribute(f"[data-atom='{k}']", "aria-pressed") == "true"
    page.click("#vn-atoms button >> nth=0")
    assert read(page)["code"] == before["code"]
    assert "change" not in page.inner_text("#vn-energy")


def test_the_others_settle_again_without_the_removed_ones(page, shipped):
    network, x, _ = shipped
    pick(page, "replace", 4)
    gone = np.argsort(read(page)["code"])[::-1][:2]
    for k in gone:
        page.click(f"[data-atom='{k}']")
    page.check("#vn-again")
    out = read(page)
    kept = np.setdiff1d(np.arange(256), gone)
    own = playground.playground_network(
        network.V[0][:, kept], sparsity=network.layers[0].penalty.sparsity, nonnegative=True
    )
    found = own.settle(x[4][None])
    np.testing.assert_allclose(np.array(out["code"])[kept], found.codes[0][0], atol=1e-4)
    assert not np.array(out["code"])[gone].any()
    assert out["energy"] == pytest.approx(float(found.energy[0]), rel=1e-9)
    page.click("#vn-restore")
    assert np.array(read(page)["code"])[gone].all() and page.is_disabled("#vn-restore")


def test_what_is_left_over_is_shown(page):
    pick(page, "replace", 1)
    page.click("#vn-left")
    page.check("#vn-residual")
    read(page)
    row = "[...document.querySelector('#vn-dct').getContext('2d').getImageData(0, 14, 28, 1).data]"
    colours = np.reshape(page.evaluate(row), (28, 4))[:, :3]
    grey = np.ptp(colours, axis=1) == 0
    assert (grey & (colours[:, 0] < 250))[:14].all(), "chequered where it was covered"
    assert not grey[14:].all()


# --- Links, and what other pages call -------------------------------------------------------------


def test_a_link_restores_what_it_was_made_of(page, open_page):
    pick(page, "replace", 4)
    pick(page, "subtract", 1)
    page.click("#vn-left")
    page.check("#vn-signed")
    slide(page, "sparsity", 1.25)
    page.click("#vn-atoms button >> nth=0")
    page.check("input[name=vn-edit][value=doubled]")
    page.click("#vn-atoms button >> nth=1")
    page.click("#vn-share")
    fragment = page.evaluate("location.hash")
    assert "digits=4-1" in fragment and len(fragment) < 300
    again = open_page(fragment=fragment)
    assert read(again) == read(page)


# The address changes before its event is told: wait for the event, after the page's own listener.
FOLLOWED = """() => {
  window.followed = new Promise((told) => {
    addEventListener("hashchange", () => told(true), { once: true });
  });
}"""


def follow(page, fragment: str) -> None:
    page.evaluate(FOLLOWED)
    page.evaluate("to => { location.hash = to; }", fragment)
    page.evaluate("window.followed")


def test_a_drawing_is_restored_to_a_step_of_ink(page):
    page.focus("#vn-x")
    page.keyboard.press("Space")
    page.click("#vn-share")
    drawn, fragment = read(page)["x"], page.evaluate("location.hash")
    follow(page, "#vn=1&digits=3")
    follow(page, fragment)
    np.testing.assert_allclose(read(page)["x"], drawn, atol=0.5 / 255)


DAMAGED = ["#vn=1&digits=99", "#vn=1&digits=4&more=<b>", "#vn=2"]
REFUSED = "This link holds no state of this page, or a damaged one."


def test_a_damaged_link_is_refused_and_said(page, shipped):
    for fragment in DAMAGED:
        follow(page, "#vn=1&digits=3")
        assert not page.inner_text("#vn-shared")
        follow(page, fragment)
        np.testing.assert_array_equal(read(page)["x"], shipped[1][3])
        assert page.inner_text("#vn-shared") == REFUSED


def test_challenges_lead_where_they_say(page, shipped):
    x = shipped[1]
    links = page.locator(".vn-challenges a")
    pictures = [x[8], x[1] - x[8], x[4] + x[1], x[4]]
    assert links.count() == len(pictures)
    page.eval_on_selector_all(
        ".vn-challenges details", "all => all.forEach(d => { d.open = true; })"
    )
    for at, picture in enumerate(pictures):
        page.evaluate(FOLLOWED)
        links.nth(at).click()
        page.evaluate("window.followed")
        assert page.evaluate("location.hash") == links.nth(at).get_attribute("href")
        np.testing.assert_allclose(read(page)["x"], picture, atol=1e-12)
        assert page.is_visible("#vn-failed") is (at == 1)


def test_another_page_shows_a_digit_as_a_sum(page, shipped):
    count, text, names = page.evaluate(
        """() => {
          const box = document.createElement("p"), count = vnPictures.sum(box, 2, 3);
          const names = [...box.querySelectorAll("canvas")].map((one) => one.ariaLabel);
          return [count, box.textContent, names];
        }"""
    )
    code = settled(shipped, shipped[1][2])[0]
    order = np.argsort(-code)[:3]
    assert count == np.count_nonzero(code)
    assert text == "digit" + "".join(f"+{code[k]:.2f}" for k in order) + f"+ {count - 3} moresum"
    assert names == ["A 2", *(f"Atom {k}" for k in order), f"The sum of {count} atoms"]


NOTED = """
  window.noted = [];
  addEventListener("DOMContentLoaded", () => {
    const text = () => noted.push(document.querySelector("#vn-done").textContent);
    new MutationObserver(text).observe(document.querySelector("#vn-done"), { childList: true });
  });
"""
ENDED = """
  document.querySelector('#vn-done').textContent.endsWith('settled')
  && document.querySelector('#vn-watch').textContent !== 'Stop'
"""


WATCHED = """() => {
  const button = document.querySelector("#vn-watch");
  button.click();
  return [vnPlayground.read().sweeps, button.textContent];
}"""
UNDER_WAY = "/^[1-9]/.test(document.querySelector('#vn-done').textContent)"


def test_the_first_settle_plays_by_itself_once_and_again_when_it_is_asked_for(open_page):
    page = open_page(watched=NOTED)
    page.wait_for_function(ENDED)
    sweeps = [int(text.split(",")[0]) for text in page.evaluate("noted")]
    assert len(set(sweeps)) > 10 and sweeps == sorted(sweeps)
    assert page.inner_text("#vn-watch") == "Watch it settle"
    assert page.evaluate(WATCHED) == [0, "Stop"]
    page.wait_for_function(UNDER_WAY)
    assert read(page)["sweeps"] < 10 and page.inner_text("#vn-watch") == "Stop"


PRESSED = """
  addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("#vn-watch");
    window.pressed = button.textContent;
    button.click();
  });
"""


def test_the_button_ends_the_first_settle_where_it_is_by_a_damaged_link_too(open_page, shipped):
    page = open_page(watched=PRESSED, fragment=DAMAGED[0])
    assert page.inner_text("#vn-shared") == REFUSED
    np.testing.assert_array_equal(read(page)["x"], shipped[1][8])
    assert page.evaluate("pressed") == "Stop"
    assert page.inner_text("#vn-watch") == "Watch it settle" and not read(page)["settled"]


def test_on_a_phone_the_pictures_stay_in_view(open_page):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True)
    for seen in ("#vn-digits", "#vn-atoms", "#vn-operated"):
        page.eval_on_selector(seen, "one => one.scrollIntoView({ block: 'end' })")
        for part in ("#vn-x", "#vn-network", "#vn-dct"):
            box = page.locator(part).bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] < 400
        box = page.locator(seen).bounding_box()
        assert box["y"] + box["height"] <= 845
