"""The playground's network of two layers: what is written comes back, what the page cannot show is
refused, and what the file says of held-out images is so.
"""

from __future__ import annotations

import re

import pytest
import torch

from benchmarks.images import playground, two_layers
from vnlib.layer import hessian
from vnlib.network import VectorNetwork, VNConfig


def network(**options) -> VectorNetwork:
    config = {"n_inputs": 12, "atoms": (6, 5), "interface": (4,), "sparsity": (0.1, 0.05)} | options
    return VectorNetwork(VNConfig(**config), seed=0)


def images(n: int = 7) -> torch.Tensor:
    return torch.rand(n, 12, generator=torch.Generator().manual_seed(0))


def export(one: VectorNetwork, folder, x: torch.Tensor | None = None, about: str = "by chance"):
    return two_layers.export(one, images() if x is None else x, folder, about=about)


def test_what_was_exported_comes_back(tmp_path):
    original = network(feedback=0.3)
    assert export(original, tmp_path / "new") == tmp_path / "new" / "layers.js"
    back = two_layers.read(tmp_path / "new").network
    assert back.config.sparsity == (0.1, 0.05) and back.config.feedback == 0.3
    for old, new in zip((*original.V, *original.U), (*back.V, *back.U), strict=True):
        assert new.dtype == torch.float64
        stored = playground.restore(playground.quantise(old))
        torch.testing.assert_close(new.data, stored, rtol=0, atol=0)
    export(original, tmp_path)
    assert (tmp_path / "layers.js").read_bytes() == (tmp_path / "new" / "layers.js").read_bytes()


def test_relative_sparsities_become_what_they_stand_for(tmp_path):
    one = network(relative_sparsity=True)
    one.input_scale.copy_(torch.tensor([3.0, 2.0]))
    export(one, tmp_path)
    made = two_layers.read(tmp_path)
    assert made.network.config.sparsity == pytest.approx((0.3, 0.1))
    assert made.reading == pytest.approx(0.04), "0.02 of the message's scale, as decode has it"


def test_every_step_is_safe(tmp_path):
    export(network(), tmp_path)
    stored, made = playground.parsed(tmp_path / "layers.js"), two_layers.read(tmp_path)
    below, above = made.network.layers
    for beta, known in zip(stored["feedbacks"], stored["lipschitz"]["first"], strict=True):
        largest = torch.linalg.matrix_norm(hessian(below, beta), 2)
        assert largest <= known <= 1.001 * largest
    U, rest = made.network.U[0], stored["lipschitz"]
    for gram, known in ((hessian(above), rest["second"]), (U.T @ U, rest["reading"])):
        largest = torch.linalg.matrix_norm(gram, 2)
        assert largest <= known <= 1.001 * largest


def test_other_feedback_and_sparsities_keep_the_dictionaries(tmp_path):
    export(network(), tmp_path)
    made = two_layers.read(tmp_path)
    other = made.with_feedback(1.0, factor=2.0)
    assert other.config.feedback == 1.0 and other.config.sparsity == pytest.approx((0.2, 0.1))
    assert all(torch.equal(a, b) for a, b in zip(other.V, made.network.V, strict=True))


def test_the_file_says_how_held_out_images_are_drawn(tmp_path):
    """Against residuals added up by hand; a picture that needs no code takes none."""
    x = torch.cat([images(), torch.zeros(1, 12)])
    export(network(), tmp_path, x)
    made, x = two_layers.read(tmp_path), x.double()
    settled = made.network.settle(x)
    alone = made.with_feedback(0.0)
    drawn = {
        "own": settled.codes[0] @ made.network.V[0].T,
        "alone": alone.settle(x).codes[0] @ made.network.V[0].T,
        "top": made.network.decode(settled.codes[1], sparsity=made.reading, max_sweeps=2000),
    }
    assert made.held_out["images"] == 8
    for name, one in drawn.items():
        assert made.held_out[name] == pytest.approx(
            float(((x - one) ** 2).sum() / (x**2).sum()), rel=2e-3
        )
    counts = [float((code != 0).sum()) / 8 for code in settled.codes]
    assert made.held_out["active"] == pytest.approx(counts, rel=1e-3) and counts[0] > 1


@pytest.mark.parametrize(
    ("one", "options", "said"),
    [
        (network(atoms=(5,), interface=(), sparsity=(0.1,)), {}, "two layers"),
        (network(top_k=2), {}, "no top_k"),
        (network(penalty="l0"), {}, "penalty 'l1'"),
        (network(nonnegative=True), {}, "signed codes"),
        (network(activation="relu"), {}, "identity messages"),
        (network(untied=True), {}, "tied"),
        (network(feedback=0.2), {}, "feedback must be one of"),
        (network(), {"x": torch.ones(3, 11)}, "held_out"),
        (network(), {"about": " "}, "about must say how"),
    ],
)
def test_what_the_page_cannot_show_is_refused(one, options, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        export(one, tmp_path / "folder", **options)
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("name", ["atoms", "V", "U", "sparsity", "reading", "held_out"])
def test_a_damaged_file_is_refused(name, tmp_path):
    path = export(network(), tmp_path)
    path.write_text(re.sub(f'"{name}": ', f'"{name}": 0, "other": ', path.read_text(), count=1))
    if name == "reading":  # 0 would be one
        path.write_text(path.read_text().replace('"reading": 0, "other"', '"missing"'))
    with pytest.raises(ValueError, match=r"damaged layers\.js"):
        two_layers.read(tmp_path)
