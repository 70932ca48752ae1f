"""Models whose codes are looked at: their layers, their readouts, their seeds."""

from __future__ import annotations

import pytest
import torch

from benchmarks.nbody.bodies import Samples
from chapters.beyond_representation import coded, models
from vnlib.fit import Training


def rows(n: int, d: int = 16, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, d, generator=torch.Generator().manual_seed(seed)) ** 3


def training(tmp_path, steps: int = 2, seed: int = 0) -> Training:
    return Training(lr=1e-2, steps=steps, batch_size=8, seed=seed, workdir=tmp_path)


def bodies(n: int = 6, seed: int = 0) -> Samples:
    rng = torch.Generator().manual_seed(seed)
    position, velocity, acceleration = (torch.randn(n, 5, 2, generator=rng) for _ in range(3))
    forces = torch.eye(4)[torch.arange(n) % 4]
    return Samples(position, velocity, torch.ones(n, 5, dtype=torch.bool), forces, acceleration)


def pair(n: int = 20, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    return rows(n, 16, seed), rows(n, 64, seed + 1).unflatten(1, (8, 8))


DECODERS = (
    ("vn", {"streams": "joint", "n_atoms": 12}, ["code 1", "support 1"]),
    (
        "vn",
        {"streams": "axes", "n_atoms": 6, "depth": 2},
        ["code 1", "code 2", "support 1", "support 2"],
    ),
    ("cnn", {"depth": 2, "width": 4}, ["hidden 1", "hidden 2", "hidden 3"]),
    ("mlp", {"hidden": [5, 6]}, ["hidden 1", "hidden 2"]),
    ("bilinear", {"n_units": 7}, ["code 1"]),
    ("linear", {}, ["input"]),
    ("product", {}, ["input", "code 1"]),
)
AUTOCODERS = (
    ("vn", {"atoms": [10], "sparsity": [0.05]}, ["code 1", "support 1"]),
    ("autoencoder", {"hidden": [9], "latent": 4}, ["hidden 1", "code 1", "hidden 2"]),
    ("autoencoder", {"hidden": [], "latent": 6, "k": 2}, ["code 1", "support 1"]),
    (
        "transformer",
        {"patch": 4, "d_model": 8, "heads": 2, "width": 8},
        ["hidden 0", "hidden 1", "hidden 2"],
    ),
    ("identity", {}, ["input"]),
    ("pca", {"k": 3}, ["code 1"]),
    ("projection", {"k": 3}, ["code 1"]),
)
BODIES = (
    (
        "vn",
        {"reading": "token", "atoms": [8], "sparsity": [0.05], "samples": 60},
        ["code 1", "support 1"],
    ),
    ("mlp", {"width": 8, "layers": 2}, ["hidden 1", "hidden 2"]),
    ("film", {"width": 8}, ["hidden 1", "hidden 2", "hidden 3"]),
    ("literal", {}, ["input"]),
    ("gated", {}, ["input"]),
    ("tokens", {}, ["input"]),
)


@pytest.mark.parametrize(("family", "options", "names"), DECODERS)
def test_decoders_show_their_layers(family, options, names, tmp_path):
    model = models.decoder(pair(), pair(6, 5), training(tmp_path), family=family, **options)
    x = rows(3, seed=9)
    assert list(model.layers(x)) == names and model.code in names
    assert all(z.shape[0] == 3 and z.ndim == 2 for z in model.layers(x).values())
    assert model.draw(x).shape == (3, 8, 8)


@pytest.mark.parametrize(("family", "options", "names"), AUTOCODERS)
def test_autocoders_show_their_layers(family, options, names, tmp_path):
    model = models.autocoder(
        rows(40), rows(8, seed=3), training(tmp_path), family=family, **options
    )
    x = rows(3, seed=9)
    assert list(model.layers(x)) == names and model.code in names
    assert all(z.shape[0] == 3 and z.ndim == 2 for z in model.layers(x).values())
    assert model.draw(x).shape == x.shape


@pytest.mark.parametrize(("family", "options", "names"), BODIES)
def test_models_of_forces_show_their_layers(family, options, names, tmp_path):
    model = models.dynamics(bodies(24), bodies(8, 1), training(tmp_path), family=family, **options)
    x = bodies(3, 2).bodies
    assert list(model.layers(x)) == names and model.code in names
    assert all(z.shape[:2] == (3, 5) and z.ndim == 3 for z in model.layers(x).values())
    assert model.draw(x).shape == (3, 5, 2)


def test_the_last_layer_of_a_perceptron_is_what_its_readout_reads(tmp_path):
    model = models.decoder(pair(), pair(6), training(tmp_path, 0), family="mlp", hidden=[5])
    x = rows(30, seed=9)
    z = torch.cat([model.layers(x)["hidden 1"], torch.ones(30, 1)], 1).double()
    drawn = model.draw(x).flatten(1).double()
    assert float((z @ torch.linalg.pinv(z) @ drawn - drawn).abs().max()) < 1e-5
    assert float(z.min()) == 0  # after the ReLU


def test_zero_steps_leave_a_start_that_the_seed_fixes(tmp_path):
    def codes(steps, seed):
        where = tmp_path / f"{steps} {seed}"
        model = models.autocoder(
            rows(40),
            rows(8),
            training(where, steps, seed),
            family="autoencoder",
            latent=4,
            hidden=[6],
        )
        return model.layers(rows(3))["code 1"]

    torch.testing.assert_close(codes(0, 1), codes(0, 1), rtol=0, atol=0)
    assert not torch.equal(codes(0, 1), codes(0, 2)) and not torch.equal(codes(0, 1), codes(3, 1))


def test_a_product_of_the_halves_is_a_bump():
    model = models.decoder(pair(), pair(6), None, family="product")
    x = rows(2)
    torch.testing.assert_close(model.draw(x)[1], torch.outer(x[1, 8:], x[1, :8]))


def test_the_linear_readout_is_least_squares():
    x, y = rows(50), rows(50, 3, seed=1)
    model = coded.linear_readout(x, y, lambda z: {"input": z}, "input")
    missed = model.draw(x) - y
    design = torch.cat([x, torch.ones(50, 1)], 1)
    torch.testing.assert_close(design.T @ missed, torch.zeros(17, 3), rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("make", "data", "says"),
    (
        (models.decoder, pair(), "family must be one of"),
        (models.autocoder, rows(9), "family must be one of"),
        (models.dynamics, bodies(), "family must be one of"),
    ),
)
def test_unknown_families_are_named(make, data, says, tmp_path):
    with pytest.raises(ValueError, match=says):
        make(data, data, training(tmp_path), family="gru")
