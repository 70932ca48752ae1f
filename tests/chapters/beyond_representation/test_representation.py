"""Models whose codes are looked at, and their codes on a grid of combinations."""

from __future__ import annotations

import pytest
import torch

from benchmarks.nbody.bodies import LAWS, Bodies, Samples
from chapters.beyond_representation import codes as study
from chapters.beyond_representation import models as coded
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
    model = coded.decoder(pair(), pair(6, 5), training(tmp_path), family=family, **options)
    x = rows(3, seed=9)
    assert list(model.layers(x)) == names and model.code in names
    assert all(z.shape[0] == 3 and z.ndim == 2 for z in model.layers(x).values())
    assert model.draw(x).shape == (3, 8, 8)


@pytest.mark.parametrize(("family", "options", "names"), AUTOCODERS)
def test_autocoders_show_their_layers(family, options, names, tmp_path):
    model = coded.autocoder(rows(40), rows(8, seed=3), training(tmp_path), family=family, **options)
    x = rows(3, seed=9)
    assert list(model.layers(x)) == names and model.code in names
    assert all(z.shape[0] == 3 and z.ndim == 2 for z in model.layers(x).values())
    assert model.draw(x).shape == x.shape


@pytest.mark.parametrize(("family", "options", "names"), BODIES)
def test_models_of_forces_show_their_layers(family, options, names, tmp_path):
    model = coded.dynamics(bodies(24), bodies(8, 1), training(tmp_path), family=family, **options)
    x = bodies(3, 2).bodies
    assert list(model.layers(x)) == names and model.code in names
    assert all(z.shape[:2] == (3, 5) and z.ndim == 3 for z in model.layers(x).values())
    assert model.draw(x).shape == (3, 5, 2)


def test_the_last_layer_of_a_perceptron_is_what_its_readout_reads(tmp_path):
    model = coded.decoder(pair(), pair(6), training(tmp_path, 0), family="mlp", hidden=[5])
    x = rows(30, seed=9)
    z = torch.cat([model.layers(x)["hidden 1"], torch.ones(30, 1)], 1).double()
    drawn = model.draw(x).flatten(1).double()
    assert float((z @ torch.linalg.pinv(z) @ drawn - drawn).abs().max()) < 1e-5
    assert float(z.min()) == 0  # after the ReLU


def test_zero_updates_leave_a_start_that_the_seed_fixes(tmp_path):
    def codes(steps, seed):
        where = tmp_path / f"{steps} {seed}"
        model = coded.autocoder(
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
    model = coded.decoder(pair(), pair(6), None, family="product")
    x = rows(2)
    torch.testing.assert_close(model.draw(x)[1], torch.outer(x[1, 8:], x[1, :8]))


def test_the_linear_readout_is_least_squares():
    x, y = rows(50), rows(50, 3, seed=1)
    model = coded.linear_readout(x, y, lambda z: {"input": z}, "input")
    missed = model.draw(x) - y
    design = torch.cat([x, torch.ones(50, 1)], 1)
    torch.testing.assert_close(design.T @ missed, torch.zeros(17, 3), rtol=0, atol=1e-3)


def test_sums_and_what_is_single():
    a, b = rows(2), rows(3, seed=1)
    x, shape, seen = study.sums(a, b)
    assert shape == (1, 3, 4) and x.shape == (12, 16)
    grid = x.unflatten(0, shape)[0]
    assert not grid[0, 0].any()
    assert (
        torch.equal(grid[1, 0], a[0])
        and torch.equal(grid[0, 3], b[2])
        and torch.equal(grid[2, 1], a[1] + b[0])
    )
    assert seen.tolist() == [[True] * 4, [True, False, False, False], [True, False, False, False]]


def test_forces_are_set_and_bodies_become_contexts():
    x, shape, seen = study.forces(bodies(2).bodies)
    assert shape == (2, 3, 3) and int(seen.sum()) == 5
    acts = x.forces.unflatten(0, shape)
    assert not acts[:, 0, 0].any()
    for first, law in enumerate(("gravity", "spring"), 1):
        for second, other in enumerate(("drag", "lorentz"), 1):
            on = [name for name, value in zip(LAWS, acts[1, first, second], strict=True) if value]
            assert on == [law, other]
    position = study.gridded(x.position, shape)
    assert position.shape == (10, 3, 3, 2)
    assert torch.equal(position[7, 2, 1], bodies(2).position[1, 2])


def test_the_input_itself_is_a_linear_code_without_error(tmp_path):
    x, shape, seen = study.sums(rows(4), rows(3, seed=1))
    model = coded.autocoder(rows(40), rows(8), training(tmp_path), family="identity")
    found = study.study(model, x, shape, seen, x, details=True).sel(layer="input")
    for name in ("linearity", "transfer", "read_first", "read_second"):
        assert float(found[name]) == pytest.approx(1), name
    assert (
        float(found["error_seen"]) == float(found["error_unseen"]) == 0
        and float(found["is_code"]) == 1
    )
    assert found["cosines"].shape == (9, 9)  # 5 and 4 values, "none" among them


def test_summed_tokens_are_linear_and_orthogonal_in_the_forces(tmp_path):
    model = coded.dynamics(bodies(24), bodies(8, 1), training(tmp_path), family="tokens")
    x, shape, seen = study.forces(bodies(4, 3).bodies)
    found = study.study(model, x, shape, seen, torch.ones_like(x.position)).sel(layer="input")
    assert float(found["linearity"]) == pytest.approx(1) and float(
        found["transfer"]
    ) == pytest.approx(1)
    assert float(found["overlap"]) == pytest.approx(0, abs=1e-12)


def test_errors_by_hand():
    truth = torch.tensor([[0.0], [1.0], [1.0], [2.0]])
    drawn = torch.tensor([[9.0], [1.0], [0.0], [1.0]])
    found = study.errors(drawn, truth, torch.tensor([[[True, True], [True, False]]]))
    assert found == {"error_seen": 0.5, "error_unseen": 0.25}  # the first is nothing to draw
    with pytest.raises(ValueError, match="truth must have the shape"):
        study.errors(drawn, truth[:, 0], torch.ones(1, 2, 2, dtype=torch.bool))


def test_one_seed_one_result(tmp_path):
    x, shape, seen = study.sums(rows(4), rows(3, seed=1))

    def found(seed, name):
        model = coded.autocoder(
            rows(40),
            rows(8),
            training(tmp_path / name, 3, seed),
            family="vn",
            atoms=[10],
            sparsity=[0.05],
        )
        return study.study(model, x, shape, seen, x)

    assert found(0, "a").identical(found(0, "b")) and not found(0, "a").equals(found(1, "c"))


@pytest.mark.parametrize(
    ("make", "data", "says"),
    (
        (coded.decoder, pair(), "family must be one of"),
        (coded.autocoder, rows(9), "family must be one of"),
        (coded.dynamics, bodies(), "family must be one of"),
    ),
)
def test_unknown_families_are_named(make, data, says, tmp_path):
    with pytest.raises(ValueError, match=says):
        make(data, data, training(tmp_path), family="gru")


def test_bodies_type_is_kept():
    assert isinstance(study.forces(bodies(2).bodies)[0], Bodies)
