"""Models that learn set by set: what must stay, what must be added, and bits that repeat."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.beyond_continual.images import FAMILIES, Autoencoder, Network, Pca

D = 12
NETWORK = {"lr": 2e-2, "steps": 4, "batch_size": 16, "seed": 0, "atoms": [8], "sparsity": [0.05]}
AE = {"lr": 1e-2, "steps": 4, "batch_size": 16, "seed": 0, "hidden": [10], "latent": 5}


def images(n: int = 60, seed: int = 0, *, low: int = 0, high: int = D) -> torch.Tensor:
    """Images with ink between two pixels only."""
    x = torch.zeros(n, D)
    x[:, low:high] = torch.rand(n, high - low, generator=torch.Generator().manual_seed(seed)) ** 2
    return x


def learned(model, *sets: torch.Tensor):
    for turn, x in enumerate(sets):
        model.learn((x,), seed=turn)
    return model


def test_atoms_are_added_and_old_ones_rest():
    first, second = images(low=0, high=6), images(seed=1, low=6, high=12)
    model = learned(Network(first, **NETWORK, grow=3, rest=True), first)
    (before,) = model.weights()
    model.learn((second,), seed=1)
    (after,) = model.weights()
    assert after.shape == (11, D)
    assert torch.equal(after[:8], before), "they rest, also those that the second set uses"
    assert float(after[8:, :6].abs().max()) < 1e-6, "new atoms are of the second set"
    np.testing.assert_allclose(after.norm(dim=1), 1, rtol=1e-5)
    assert model.facts()["units"] == 11 and model.facts()["parameters"] == 11 * D


def test_atoms_that_do_not_rest_learn_on():
    first, second = images(), images(seed=1)
    model = learned(Network(first, **NETWORK, grow=3), first)
    (before,) = model.weights()
    model.learn((second,), seed=1)
    assert not torch.equal(model.weights()[0][:8], before)


def test_unused_atoms_of_apart_tasks_stay_by_themselves():
    # The two tasks share no pixel, and no atom of the first answers to the second.
    first, second = images(low=0, high=6), images(seed=1, low=6, high=12)
    model = learned(Network(first, **NETWORK, grow=4), first)
    (before,), error = model.weights(), model.error((first,))
    model.learn((second,), seed=1)
    assert torch.equal(model.weights()[0][:8], before)
    # lambda follows its task, the atoms do not
    unit = model.network.input_scale / (model.network.input_scale)
    assert torch.equal(unit, torch.ones(1)) and model.error((first,)) == pytest.approx(
        error, rel=0.2
    )


def test_deep_networks_learn_and_have_a_code_per_layer():
    x = images(80)
    options = NETWORK | {"atoms": [10, 6], "sparsity": [0.05, 0.05], "interface": [5]}
    model = learned(Network(x, **options), x)
    assert (
        [len(part) for part in model.activity((x,))] == [10, 6] == [len(W) for W in model.weights()]
    )


def test_idle_atoms_are_drawn_anew():
    first, second = images(low=0, high=6), images(seed=1, low=6, high=12)
    model = learned(Network(first, **NETWORK, revive_after=2), first, second)
    assert model.facts()["revived"] >= 1
    assert float(model.weights()[0][:, 6:].abs().max()) > 0.1


def test_activity_is_the_mean_square_of_codes():
    x = images()
    model = Network(x, **NETWORK)
    codes = model.settled(x).codes[0]
    torch.testing.assert_close(model.activity((x,))[0], codes.square().mean(0))


def test_autoencoder_weights_have_a_row_per_unit():
    model = Autoencoder(images(), **AE)
    assert [tuple(W.shape) for W in model.weights()] == [(10, D), (5, 10), (5, 10), (10, D)]
    last = [p for p in model.model.decoder.parameters() if p.ndim == 2][-1]
    assert torch.equal(model.weights()[-1], last.detach().T)


def test_learning_lowers_errors():
    x = images(200)
    for model in (Network(x, **NETWORK | {"steps": 30}), Autoencoder(x, **AE | {"steps": 200})):
        before = model.error((x,))
        assert learned(model, x).error((x,)) < before


def test_pca_finds_planted_axes_and_running_sums_forget_nothing():
    basis = torch.linalg.qr(torch.randn(D, 4, generator=torch.Generator().manual_seed(3))).Q
    codes = torch.randn(100, 4, generator=torch.Generator().manual_seed(4))
    x, y = codes[:, :2] @ basis[:, :2].T, codes[:, 2:] @ basis[:, 2:].T
    last, running = (learned(Pca(x, axes=4, running=flag), x, y) for flag in (False, True))
    assert last.error((y,)) < 1e-10 and last.error((x,)) > 1e-2
    assert max(running.error((x,)), running.error((y,))) < 1e-10
    torch.testing.assert_close(
        running.moment, torch.cat([x, y]).double().T @ torch.cat([x, y]).double() / 200
    )


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_same_seed_same_bits_and_weights_are_copies(name):
    options = {"network": NETWORK, "autoencoder": AE, "pca": {"axes": 3}}[name]
    x = images()
    one, other = (learned(FAMILIES[name](x, **options), x) for _ in range(2))
    kept = one.weights()
    assert all(torch.equal(a, b) for a, b in zip(kept, other.weights(), strict=True))
    before = [W.clone() for W in kept]
    one.learn((images(seed=5),), seed=1)
    assert all(torch.equal(a, b) for a, b in zip(kept, before, strict=True))
    assert set(one.facts()) == {"parameters", "units", "revived"}


@pytest.mark.parametrize(
    ("options", "said"),
    (
        ({"grow": -1}, "grow must be"),
        ({"rest": True}, "rest must be False where grow is 0"),
        (
            {"atoms": [8, 4], "sparsity": [0.1, 0.1], "interface": [4], "grow": 2},
            "grow must be 0 for a network of more",
        ),
    ),
)
def test_bad_options_are_named(options, said):
    with pytest.raises(ValueError, match=said):
        Network(images(), **NETWORK | options)
    with pytest.raises(ValueError, match="axes must be"):
        Pca(images(), axes=D + 1)
