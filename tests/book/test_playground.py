"""The data of the playground page: what is written comes back, and what the page cannot show is
refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.images import opponents, playground, two_layers
from data_gen import mnist
from vnlib.book import paths
from vnlib.network import VectorNetwork, VNConfig
from vnlib.plots import statistics

ROOT = paths.SOURCE
SHIPPED = ROOT / "book" / "_static" / "playground"
PAGE = (ROOT / "book" / "playground.md").read_text(encoding="utf-8")


def network(**options) -> VectorNetwork:
    config = {"n_inputs": 12, "atoms": (5,), "sparsity": (0.1,)} | options
    return VectorNetwork(VNConfig(**config), seed=0)


def pictures(n: int = 4, shape: tuple[int, ...] = (3, 4)) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, *shape)).astype(np.uint8)


def export(
    one: VectorNetwork, images: np.ndarray, labels, folder, about: str = "learned by chance"
) -> list:
    return playground.export(one, images, labels, folder, about=about)


# --- There and back -------------------------------------------------------------------------------


def test_what_was_exported_comes_back(tmp_path):
    images, original = pictures(), network()
    written = export(original, images, [3, 1, 4, 1], tmp_path / "new" / "folder")
    assert [path.name for path in written] == ["dictionary.js", "digits.js"]
    assert sorted(path.name for path in written[0].parent.iterdir()) == [
        "dictionary.js",
        "digits.js",
    ]
    back, x, labels = playground.read(written[0].parent)
    assert labels == [3, 1, 4, 1]
    np.testing.assert_array_equal(x.numpy(), images.reshape(4, 12) / 255)
    V, V_back = original.V[0].double(), back.V[0]
    assert V_back.dtype == torch.float64
    torch.testing.assert_close(V_back.norm(dim=0), torch.ones(5, dtype=torch.float64))
    # Rounding moves an entry by half a step at most, and the new norm moves the atom by no more
    # than that again.
    half_step = V.abs().amax(0) / 254
    assert bool(((V_back - V).norm(dim=0) <= 2 * 12**0.5 * half_step).all())


def test_whole_numbers_of_steps_are_kept_exactly():
    steps = np.array([[127, -5, 0], [2, -127, 64]], dtype=np.int8)
    np.testing.assert_array_equal(playground.quantise(torch.tensor(steps.T) * 0.01), steps)


def test_a_relative_sparsity_becomes_the_one_it_stands_for(tmp_path):
    relative = network(relative_sparsity=True, nonnegative=True)
    relative.input_scale.fill_(3.0)
    export(relative, pictures(), range(4), tmp_path)
    penalty = playground.read(tmp_path)[0].layers[0].penalty
    assert type(penalty).__name__ == "NonNegativeL1"
    assert penalty.sparsity == pytest.approx(0.3)


def test_the_step_is_safe(tmp_path):
    export(network(), pictures(), range(4), tmp_path)
    V = playground.read(tmp_path)[0].V[0].numpy()
    largest = np.linalg.norm(V, 2) ** 2
    stored = float(re.search(r'"lipschitz": ([\d.]+)', (tmp_path / "dictionary.js").read_text())[1])
    assert largest <= stored <= 1.001 * largest


def test_a_second_export_writes_the_same_bytes(tmp_path):
    for folder in ("a", "b", "a"):
        export(network(), pictures(), range(4), tmp_path / folder)
    for name in ("dictionary.js", "digits.js"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


# --- What is refused ------------------------------------------------------------------------------


def dead() -> VectorNetwork:
    one = network()
    one.V[0].data[:, 2] = 0
    return one


@pytest.mark.parametrize(
    ("one", "images", "labels", "said"),
    [
        (
            network(atoms=(5, 4), interface=(3,), sparsity=(0.1, 0.1)),
            pictures(),
            range(4),
            r"one layer.*\(5, 4\)",
        ),
        (network(top_k=2), pictures(), range(4), "top_k=2"),
        (network(penalty="l0"), pictures(), range(4), "'l0'"),
        (dead(), pictures(), range(4), "zero columns, got one at 2"),
        (network(), pictures() / 255, range(4), "uint8.*float64"),
        (network(), pictures().tolist(), range(4), "uint8.*list"),
        (network(), pictures().reshape(4, 12), range(4), r"\(n, height, width\)"),
        (network(), pictures(0), range(0), "n >= 1"),
        (network(), pictures(shape=(3, 5)), range(4), r"12 pixels.*\[3, 5\]"),
        (network(), pictures(), range(3), "each of the 4 images, got 3"),
    ],
)
def test_what_the_page_cannot_show_is_refused(one, images, labels, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        export(one, images, labels, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    (tmp_path / "dictionary.js").mkdir()  # cannot be replaced by a file
    with pytest.raises(OSError):
        export(network(), pictures(), range(4), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dictionary.js"]


@pytest.mark.parametrize("about", ["", " ", None])
def test_the_page_must_be_able_to_say_which_model_it_is(about, tmp_path):
    with pytest.raises(ValueError, match="about must say how"):
        export(network(), pictures(), range(4), tmp_path, about=about)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["dictionary.js", "digits.js"])
@pytest.mark.parametrize(
    ("spoil", "error", "said"),
    [
        (lambda text: None, FileNotFoundError, "export it first"),
        (lambda text: "hello", ValueError, "not a file of the playground"),
        (lambda text: "globalThis.é", ValueError, "not plain text"),
        (lambda text: text.replace('"format": 1', '"format": 2'), ValueError, "format 1"),
        (lambda text: text[:-40], ValueError, "format 1"),
        (lambda text: re.sub('"([A-Za-z0-9+/=]{8})', '"', text), ValueError, "damaged|format 1"),
    ],
)
def test_files_of_another_kind_are_refused(name, spoil, error, said, tmp_path):
    export(network(), pictures(), range(4), tmp_path)
    path = tmp_path / name
    text = spoil(path.read_text())
    path.unlink() if text is None else path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=said):
        playground.read(tmp_path)


# --- What is shipped ------------------------------------------------------------------------------


def test_the_shipped_data_are_small_and_whole():
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 1_600_000
    shipped, x, labels = playground.read(SHIPPED)
    assert shipped.config.atoms == (256,) and shipped.config.nonnegative and x.shape == (12, 784)
    assert set(labels) == set(range(10))
    settled = shipped.settle(x)
    assert bool(settled.converged.all())
    missed = (x - shipped.reconstruct(settled)).square().sum() / x.square().sum()
    active = (settled.codes[0] != 0).sum(1)
    assert missed < 0.25 and active.max() < 40, "a picture of a digit by few atoms"


@pytest.fixture(scope="module")
def shipped() -> tuple[VectorNetwork, torch.Tensor]:
    return playground.read(SHIPPED)[:2]


@pytest.fixture(scope="module")
def pairs(shipped) -> tuple[torch.Tensor, torch.Tensor]:
    """All sums of two pictures, and the network's codes of them, which two tests read."""
    network, x = shipped
    first, second = np.triu_indices(len(x), 1)
    sums = x[first] + x[second]
    return sums, network.settle(sums).codes[0]


def explained(x: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """Per picture, one minus the residual's sum of squares over the picture's."""
    return 1 - (x - drawn).square().sum(1) / x.square().sum(1)


def span(values: torch.Tensor, percent: bool = False) -> str:
    low, high = (100 * values if percent else values).aminmax()
    return f"{low:.0f} to {high:.0f}{' %' * percent}"


def on_the_page(text: str) -> bool:
    return text in " ".join(PAGE.split())


def test_the_page_says_what_digits_and_sums_take(shipped, pairs):
    network, x = shipped
    alone = network.settle(x)
    active = (alone.codes[0] != 0).sum(1)
    share = explained(x, network.reconstruct(alone))
    assert on_the_page(
        f"take {span(active)} of the 256 atoms, which explain {span(share, percent=True)}"
    )
    both = (pairs[1] != 0).sum(1)
    assert on_the_page(f"One list of atoms composes both digits: {span(both)} atoms for a pair")


def test_the_page_says_what_negative_coefficients_are_for(shipped):
    network, x = shipped
    first, second = np.triu_indices(len(x), 1)
    x = x[first] - x[second]
    said = []
    for nonnegative in (False, True):
        one = playground.playground_network(
            network.V[0], sparsity=network.layers[0].penalty.sparsity, nonnegative=nonnegative
        )
        said.append(span(explained(x, one.reconstruct(one.settle(x))), percent=True))
    assert on_the_page(
        "With them a difference is explained to {}, without them to {}".format(*said)
    )


def test_the_page_says_how_far_each_model_errs_at_equal_length(shipped, pairs):
    network, x = shipped
    others, names = opponents.read(SHIPPED), ("autoencoder", "pca", "dct")

    def medians(x: torch.Tensor, code: torch.Tensor) -> tuple[torch.Tensor, list[str]]:
        own = 1 - explained(x, code @ network.V[0].T)
        drawn = others.draw(x, (code != 0).sum(1))
        all_ = [own, *(1 - explained(x, drawn[name]) for name in names)]
        return own, [f"{100 * np.median(one.numpy()):.0f} %" for one in all_]

    own, (median, *rest) = medians(x, network.settle(x).codes[0])
    assert on_the_page(f"the network's error is {span(own, percent=True)}, median {median}")
    assert on_the_page(
        "the autoencoder's median is {}, that of PCA {}, of the DCT {}".format(*rest)
    )
    assert on_the_page(
        "A median picture of two digits leaves the network {}, the autoencoder {}, PCA {} and the "
        "DCT {}".format(*medians(*pairs)[1])
    )


def test_the_page_says_what_two_layers_draw(shipped):
    x, made = shipped[1], two_layers.read(SHIPPED)

    def drawn(feedback: float) -> list[tuple[str, str, str]]:
        """Per layer its spread and median error, and the median number of its coefficients."""
        network = made.with_feedback(feedback)
        settled = network.settle(x, config=replace(network.config.settle, tol=1e-6))
        top = network.decode(settled.codes[1], sparsity=made.reading)
        shares = [1 - explained(x, one) for one in (network.reconstruct(settled), top)]
        counts = [np.median((code != 0).sum(1)) for code in settled.codes]
        return [
            (span(share, percent=True), f"{100 * np.median(share):.0f} %", f"{count:.0f}")
            for share, count in zip(shares, counts, strict=True)
        ]

    (own, own_median, lower), (top, top_median, upper) = drawn(made.network.config.feedback)
    assert on_the_page(
        f"the error of layer 1 is {own}, median {own_median}, with a median of {lower} coefficients; "
        f"that of the top alone is {top}, median {top_median}, with {upper}."
    )
    (none, none_top), (most, most_top) = drawn(0.0), drawn(3.0)
    assert two_layers.FEEDBACKS[-1] == 3.0
    assert on_the_page(
        f"From 0 to 3 the median error of layer 1 goes from {none[1]} to {most[1]}, as the target "
        f"pulls its code away from the picture, and that of the top alone from {none_top[1]} to "
        f"{most_top[1]}: the second code shrinks from {none_top[2]} coefficients to {most_top[2]}."
    )


def test_the_page_says_what_a_second_layer_does_in_fig_5():
    with xr.open_dataset(paths.RESULTS / "paper" / "fig5_mnist.nc") as results:
        mse = results["mse"].sel(set="id").load()
    one, two = (mse.sel(model=name, reading="own") for name in ("vn_1", "vn_2"))
    said = []
    for ratio in (two / one, mse.sel(model="vn_2", reading="top") / two):
        found = statistics.over_seeds(ratio)
        texts = {f"{float(found[end]):.2g}" for end in ("median", "low", "high")}
        assert len(texts) == 1 and found["n"] == 5
        said += texts
    assert on_the_page(
        "$V_1 a_1$ has {} times the error of VN-1L on single digits, and the top alone {} times "
        "that of $V_1 a_1$".format(*said)
    )
    settings = tomllib.loads((ROOT / "chapters" / "fig5_mnist" / "fig5_mnist.toml").read_text())
    atoms = settings["models"]["vn_2"]["options"]["atoms"]
    assert on_the_page("whose VN-2L has four times as many atoms")
    assert atoms == [4 * count for count in two_layers.read(SHIPPED).network.config.atoms]


def test_the_challenges_can_be_met(shipped):
    network, x = shipped
    assert on_the_page("take an 8 away from a 1")
    less = x[1:2] - x[8:9]
    assert float(explained(less, network.reconstruct(network.settle(less)))[0]) < 0.5
    code = network.settle(x[4:5]).codes[0][0]
    assert on_the_page("One atom keeps") and on_the_page("It is the one that is used most.")
    rest = np.setdiff1d(np.arange(256), int(code.argmax()))
    V, sparsity = network.V[0], network.layers[0].penalty.sparsity
    own = playground.playground_network(V[:, rest], sparsity=sparsity, nonnegative=True)
    again = own.settle(x[4:5]).codes[0][0]
    drawn = torch.stack([V[:, rest] @ code[rest], V[:, rest] @ again, V @ code])
    errors = [f"{100 * (1 - share):.0f} %" for share in explained(x[4:5], drawn)]
    assert on_the_page("the error falls from {} to {}, but not to the {} of before".format(*errors))
    if mnist.load("train", n=1, allow_fallback=True).attrs["fallback"]:
        pytest.skip("too few digits without MNIST")
    rows = mnist.load("train", n=5000)
    known = torch.tensor(rows["image"].values, dtype=torch.float64).flatten(1)
    match = (known / known.norm(dim=1, keepdim=True)) @ drawn[0]
    assert np.bincount(rows["label"].values[match.topk(15).indices]).argmax() == 9


@pytest.mark.parametrize(
    "seen", [np.arange(784) % 28 >= 14, np.arange(784) < 392], ids=["right", "top"]
)
def test_a_hidden_half_is_guessed_by_half(seen, shipped):
    network, x = shipped
    seen = torch.tensor(seen)
    drawn = network.reconstruct(network.settle(x, mask=seen.double().expand(len(x), 784)))
    guessed = explained(x[:, ~seen], drawn[:, ~seen])
    whole = 1 - (x - drawn)[:, ~seen].square().sum() / x[:, ~seen].square().sum()
    assert on_the_page("gets about half of its sum of squares right") and 0.45 < whole < 0.55
    assert on_the_page("for some digits nearly all and for some little")
    assert guessed.max() > 0.85 and 0 < guessed.min() < 0.2


def about(folder: Path) -> str:
    return json.loads(re.search(r"= (.*);", (folder / "dictionary.js").read_text())[1])["about"]


def test_the_lines_on_the_page_make_such_data(tmp_path, monkeypatch):
    """As they stand there, with fewer images and updates, on scikit-learn's digits where there is
    no MNIST.
    """
    lines = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    for whole, part in {
        "n, steps, seed = 20_000, 300, 0": "n, steps, seed = 300, 1, 0",
        '"train", n=n + 2_000': '"train", n=n + 20, allow_fallback=True',
        "updates = 8_000": "updates = 1",
        "steps = 235": "steps = 1",
        "(128, 96)": "(12, 8)",
        "(64,)": "(6,)",
        "[:500]": "[:5]",
        '"test"': '"test", allow_fallback=True',
        "(256,)": "(8,)",
    }.items():
        assert whole in lines
        lines = lines.replace(whole, part)
    monkeypatch.chdir(tmp_path)
    exec(compile(lines, "playground.md", "exec"), {})
    folder = tmp_path / "book" / "_static" / "playground"
    axes = opponents.read(folder).axes
    assert axes.shape == (784, 256)
    made, x, labels = playground.read(folder)
    assert made.config.atoms == (8,) and made.config.nonnegative
    assert labels == [*range(10), 1, 8] and x.shape == (12, 784)
    deep = two_layers.read(folder)
    assert deep.network.config.atoms == (12, 8) and deep.held_out["images"] == 5
    assert (
        "300 digits" in about(folder) and "1 updates" in about(folder) and "seed 0" in about(folder)
    )
    assert about(folder) == about(SHIPPED).replace("20,000", "300").replace(
        "300 updates", "1 updates"
    )
    if not mnist.load("test", n=1, allow_fallback=True).attrs["fallback"]:
        torch.testing.assert_close(x, playground.read(SHIPPED)[1], rtol=0, atol=0)
