"""Baselines: what they compute, checked against formulas, and that each of them can learn."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

from benchmarks.baselines.parts import check_hidden, n_parameters
from benchmarks.spatial.autoencoders import kl_to_standard_normal
from benchmarks.spatial.coordinates import sinusoids, with_coordinates
from benchmarks.spatial.registry import BASELINES, build

SMALL = {
    "cnn": {"width": 8, "depth": 2},
    "mlp": {"hidden": (64,)},
    "sparse_autoencoder": {"latent": 16, "hidden": (64,), "sparsity": 1e-4},
    "vae": {"latent": 8, "hidden": (64,), "beta": 1e-4},
    "factorised": {"hidden": 32},
    "bilinear": {"n_units": 32},
    "conv_autoencoder": {"width": 4},
    "additive": {"hidden": (64,)},
    "coordinate_mlp": {"width": 32},
    "broadcast": {"width": 16, "depth": 3},
    "coordconv": {"width": 8, "depth": 2},
}
SIDE = 28


def small(name: str, seed: int = 0, **options: object):
    n_inputs = SIDE**2 if name == "conv_autoencoder" else 2 * SIDE
    return build(
        name, n_inputs=n_inputs, image_shape=(SIDE, SIDE), seed=seed, **(SMALL[name] | options)
    )


def bumps(
    positions: list[tuple[int, int]], width: float = 2.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes [bump(x); bump(y)] and the Gaussian images centred at column x, row y."""
    centres = torch.tensor(positions, dtype=torch.float32)
    profiles = torch.exp(-((torch.arange(SIDE) - centres[..., None]) ** 2) / (2 * width**2))
    return profiles.flatten(1), profiles[:, 1, :, None] * profiles[:, 0, None, :]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


CODES, IMAGES = bumps([(2, 3), (25, 4), (13, 2), (3, 14), (24, 24), (4, 25), (14, 26), (25, 13)])


def inputs(model) -> torch.Tensor:
    """What a model takes: codes, or the images themselves."""
    return IMAGES.flatten(1) if model.n_inputs == SIDE**2 else CODES


every_baseline = pytest.mark.parametrize("name", BASELINES)


def test_every_family_is_tested():
    assert set(SMALL) == set(BASELINES)


@pytest.mark.parametrize("side", [8, 20, 32])
def test_cnn_draws_other_sizes(side):
    model = build("cnn", n_inputs=3, image_shape=(side, side), seed=0, width=2, depth=3)
    assert model(torch.rand(2, 3)).shape == (2, side, side)
    h = 2
    counted = (side // 4) ** 2 * 3 * h + h + 2 * (16 * h * h + h) + (9 * h * h + h) + 9 * h + 1
    assert n_parameters(model) == counted


@every_baseline
@pytest.mark.parametrize("batch", [1, 3])
def test_forward_gives_one_image_per_code(name, batch):
    model = small(name)
    x = inputs(model)
    assert model(x[:batch]).shape == (batch, SIDE, SIDE)
    torch.testing.assert_close(model(x)[:batch], model(x[:batch]))


@pytest.mark.parametrize("name", sorted(set(BASELINES) - {"cnn", "coordconv", "conv_autoencoder"}))
def test_rectangular_images_keep_height_before_width(name):
    model = build(name, n_inputs=6, image_shape=(5, 9), seed=0)
    x, y = torch.rand(4, 6), torch.rand(4, 5, 9)
    assert model(x).shape == (4, 5, 9)
    assert model.loss(x, y, generator=generator()).shape == ()


# --- parameter counts, derived by hand ---


@pytest.mark.parametrize("depth", [2, 3, 10])
@pytest.mark.parametrize(("n_inputs", "at_depth_2"), [(56, 307_457), (2, 138_113)])
def test_cnn_has_the_published_number_of_parameters(n_inputs, at_depth_2, depth):
    model = build("cnn", n_inputs=n_inputs, image_shape=(28, 28), seed=0, width=64, depth=depth)
    assert n_parameters(model) == at_depth_2 + 36_928 * (depth - 2)
    assert sum(isinstance(layer, torch.nn.ReLU) for layer in model.layers) == depth + 1


def test_parameter_counts_of_the_other_families():
    def count(name, **options):
        return n_parameters(build(name, n_inputs=56, image_shape=(28, 28), seed=0, **options))

    assert count("mlp", hidden=(256, 256)) == 57 * 256 + 257 * 256 + 257 * 784 == 281_872
    assert count("mlp", hidden=()) == 57 * 784
    assert (
        count("sparse_autoencoder", latent=32, hidden=(100,))
        == 57 * 100 + 101 * 32 + 33 * 100 + 101 * 784
    )
    assert count("vae", latent=32, hidden=(100,)) == 57 * 100 + 101 * 64 + 33 * 100 + 101 * 784
    assert count("factorised", hidden=64, rank=3) == 2 * (29 * 64 + 65 * 3 * 28)
    assert count("factorised", hidden=0, rank=1) == 2 * 29 * 28
    assert count("bilinear", n_units=64) == 57 * 64 + 2 * 64 * 28
    assert count("additive", hidden=(256,)) == 2 * (29 * 256 + 257 * 784)
    w = 256  # FR's public code: 146,435 parameters
    assert count("coordinate_mlp") == 57 * w + 2 * (w * w + w + 1) + w + 1 == 146_435
    assert count("broadcast", width=8, depth=3) == 9 * 58 * 8 + 8 + 2 * (9 * 64 + 8) + 8 + 1
    told = 2 * (16 * 2 * 64) + 9 * 2  # two channels more into both blocks and the last layer
    assert count("coordconv", depth=2) == count("cnn", depth=2) + told


def test_frozen_parameters_are_not_counted():
    layer = torch.nn.Linear(3, 2)
    layer.bias.requires_grad_(False)
    assert n_parameters(layer) == 6


# --- what the models compute ---


@pytest.mark.parametrize(
    ("name", "options", "rank"),
    [
        ("factorised", {}, 1),
        ("factorised", {"hidden": 0}, 1),
        ("factorised", {"rank": 3}, 3),
        ("bilinear", {"activation": "linear"}, 1),
        ("bilinear", {"activation": "relu"}, 1),
    ],
)
def test_product_models_give_images_of_their_rank(name, options, rank):
    model = small(name, **options).double()
    found = torch.linalg.matrix_rank(model(CODES.double()), rtol=1e-10)
    assert (found == rank).all()


def test_factorised_first_half_moves_columns_and_second_half_rows():
    model = build("factorised", n_inputs=2 * SIDE, image_shape=(SIDE, SIDE), seed=0, hidden=0)
    with torch.no_grad():
        for axis in (model.f[0], model.g[0]):
            axis.weight.copy_(torch.eye(SIDE))
            axis.bias.zero_()
    torch.testing.assert_close(model(CODES), IMAGES)
    image = model(bumps([(5, 20)])[0])[0]
    assert image[20, 5] == image.max()


def test_factorised_is_the_sum_of_its_streams():
    model = build("factorised", n_inputs=6, image_shape=(4, 5), seed=0, rank=2)
    x = torch.rand(3, 6)
    f, g = model.f(x[:, :3]).reshape(3, 2, 5), model.g(x[:, 3:]).reshape(3, 2, 4)
    expected = sum(g[:, r, :, None] * f[:, r, None, :] for r in range(2))
    torch.testing.assert_close(model(x), expected)


def test_bilinear_is_the_outer_product_of_two_readouts_of_one_code():
    model = build("bilinear", n_inputs=6, image_shape=(4, 5), seed=0, activation="relu")
    x = torch.randn(6)
    linear = model.encoder[0]
    b = torch.relu(linear.weight @ x + linear.bias)
    expected = torch.outer(model.Q.weight @ b, model.U.weight @ b)
    torch.testing.assert_close(model(x[None])[0], expected)


def test_linear_bilinear_image_is_quadratic_in_the_code():
    """Third differences of a quadratic vanish; those of the rectified model do not."""

    def third_difference(activation):
        model = small("bilinear", activation=activation).double()
        x, step = torch.randn(2, 2 * SIDE, generator=generator(1), dtype=torch.float64)
        f = model(torch.stack([x + k * step for k in range(4)]))
        return (f[3] - 3 * f[2] + 3 * f[1] - f[0]).abs().max()

    assert third_difference("linear") < 1e-12 < third_difference("relu")


def test_factorised_streams_are_the_profiles_of_its_axes():
    model = build("factorised", n_inputs=6, image_shape=(4, 5), seed=0, rank=2)
    x = torch.rand(3, 6)
    rows, columns = model.streams(x)
    assert rows.shape == (3, 2, 4) and columns.shape == (3, 2, 5)
    torch.testing.assert_close(model(x), torch.einsum("brh,brw->bhw", rows, columns))
    other = torch.cat([torch.rand(3, 3), x[:, 3:]], 1)
    assert torch.equal(model.streams(other)[0], rows) and not torch.equal(
        model.streams(other)[1], columns
    )


@pytest.mark.parametrize("name", ["factorised", "bilinear", "sparse_autoencoder", "vae"])
def test_readouts_are_the_layers_that_the_image_is_linear_in(name):
    model = small(name)
    before = model(CODES)
    layers = model.readouts
    with torch.no_grad():
        for parameter in layers[0].parameters():
            parameter.mul_(2)
    torch.testing.assert_close(model(CODES), 2 * before)


def test_an_additive_image_is_a_sum_and_its_first_half_is_x():
    model = small("additive")
    mixed = torch.cat([CODES[:1, :SIDE], CODES[1:2, SIDE:]], 1)
    other = torch.cat([CODES[1:2, :SIDE], CODES[:1, SIDE:]], 1)
    both = model(CODES[:1]) + model(CODES[1:2])
    torch.testing.assert_close(both, model(mixed) + model(other))
    torch.testing.assert_close(
        model(mixed) - model(CODES[1:2]),
        (model.f(CODES[:1, :SIDE]) - model.f(CODES[1:2, :SIDE])).unflatten(1, (SIDE, SIDE)),
    )


def test_coordinates_are_those_of_row_and_column():
    found = with_coordinates(torch.zeros(2, 3, 4, 5))
    assert found.shape == (2, 5, 4, 5)
    rows, columns = torch.linspace(-1, 1, 4), torch.linspace(-1, 1, 5)
    assert torch.equal(found[1, 3, :, 2], rows) and torch.equal(found[0, 4, 1], columns)


def test_sinusoids_are_those_of_the_pixel():
    """Four channels per frequency: of the row, then of the column; the first frequency is 1 per px."""
    found = sinusoids((4, 6), 8, torch.device("cpu"))
    assert found.shape == (24, 8)
    row, column, slow = 3.0, 5.0, 10_000 ** (-4 / 8)
    expected = [f(w * at) for w in (1, slow) for at in (row, column) for f in (math.sin, math.cos)]
    torch.testing.assert_close(found[-1], torch.tensor(expected))


def test_a_coordinate_mlp_draws_each_pixel_by_itself():
    model = small("coordinate_mlp")
    hidden = model.encoder(CODES[0]) + sinusoids((SIDE, SIDE), 32, CODES.device)[3 * SIDE + 7]
    torch.testing.assert_close(model(CODES)[0, 3, 7], model.layers(hidden)[0])


def test_broadcast_pixels_far_from_the_edge_differ_by_their_coordinates_alone():
    model = small("broadcast")
    inside = model(CODES[:1])[0, 4:-4, 4:-4]
    assert inside.std() > 1e-4
    with torch.no_grad():
        model.layers[0].weight[:, -2:] = 0
    inside = model(CODES[:1])[0, 4:-4, 4:-4]
    torch.testing.assert_close(inside, inside[:1, :1].expand_as(inside))


def test_convolutions_move_with_their_image_unless_a_bottleneck_is_between():
    """Shifting a bump that stays away from the edge shifts the output, and a dense bottleneck
    breaks that.
    """

    def shift_error(latent):
        model = small("conv_autoencoder", latent=latent)
        still, moved = (bumps([at], 1.0)[1].flatten(1) for at in ((12, 12), (16, 15)))
        rolled = torch.roll(model(still), (3, 4), dims=(1, 2))
        return (rolled - model(moved))[:, 8:20, 8:20].abs().max()

    assert shift_error(None) < 1e-5 < 1e-3 < shift_error(8)


def test_convolutional_parameters_counted_by_hand():
    def count(**options):
        return n_parameters(
            build("conv_autoencoder", n_inputs=784, image_shape=(28, 28), seed=0, **options)
        )

    w, n = 8, 8 * 49
    assert count(width=w) == (9 * w + w) + 2 * (9 * w * w + w) + (9 * w + 1)
    assert count(width=w, latent=32) == (
        (16 * w + w) + 2 * (16 * w * w + w) + (32 * n + 32) + (33 * n) + (16 * w + 1)
    )


# --- losses ---


@pytest.mark.parametrize(
    "name",
    [
        "cnn",
        "mlp",
        "factorised",
        "bilinear",
        "additive",
        "coordinate_mlp",
        "broadcast",
        "coordconv",
    ],
)
def test_plain_models_minimise_the_mean_squared_error(name):
    model = small(name)
    expected = ((model(CODES) - IMAGES) ** 2).mean()
    torch.testing.assert_close(model.loss(CODES, IMAGES, generator=generator()), expected)


def test_sparse_autoencoder_pays_for_activity_per_pixel():
    model = small("sparse_autoencoder", sparsity=0.7)
    z = model.encode(CODES)
    assert (z >= 0).all()
    expected = ((model(CODES) - IMAGES) ** 2).mean() + 0.7 * z.abs().sum() / len(CODES) / SIDE**2
    torch.testing.assert_close(model.loss(CODES, IMAGES, generator=generator()), expected)


def test_sparsity_makes_the_latent_sparser():
    def activity(sparsity):
        model = small("sparse_autoencoder", sparsity=sparsity)
        overfit(model, updates=100)
        return model.encode(CODES).sum().item()

    assert activity(10.0) < 0.5 * activity(0.0)


def test_kl_equals_the_closed_form():
    mean, log_variance = torch.randn(2, 5, 7, generator=generator(), dtype=torch.float64)
    q = Normal(mean, (0.5 * log_variance).exp())
    expected = kl_divergence(q, Normal(torch.zeros_like(mean), 1.0)).sum(dim=1)
    torch.testing.assert_close(kl_to_standard_normal(mean, log_variance), expected)


def test_vae_loss_is_the_error_of_a_sample_plus_weighted_kl():
    plain, weighted = small("vae", beta=0.0), small("vae", beta=3.0)
    mean, log_variance = plain.encode(CODES)
    noise = torch.randn(mean.shape, generator=generator(5))
    error = F.mse_loss(plain.decode(mean + noise * (0.5 * log_variance).exp()), IMAGES)
    torch.testing.assert_close(plain.loss(CODES, IMAGES, generator=generator(5)), error)
    kl = kl_to_standard_normal(mean, log_variance).mean()
    torch.testing.assert_close(
        weighted.loss(CODES, IMAGES, generator=generator(5)), error + 3 * kl / SIDE**2
    )


def test_vae_renders_the_mean_in_training_mode_too():
    model = small("vae").train()
    assert torch.equal(model(CODES), model.decode(model.encode(CODES)[0]))


# --- randomness ---


@every_baseline
def test_the_seed_fixes_the_weights(name):
    first, again, other = (list(small(name, seed=s).parameters()) for s in (3, 3, 4))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))


@every_baseline
def test_only_the_given_generator_is_drawn_from(name):
    torch.manual_seed(11)
    before = torch.get_rng_state()
    model = small(name)
    x = inputs(model)
    model(x)
    given = generator(7)
    losses = [model.loss(x, IMAGES, generator=given), model.loss(x, IMAGES, generator=generator(7))]
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(*losses)
    assert torch.equal(given.get_state(), generator(7).get_state()) == (name != "vae")


def test_vae_noise_changes_with_the_generator():
    model = small("vae")
    assert model.loss(CODES, IMAGES, generator=generator(1)) != model.loss(
        CODES, IMAGES, generator=generator(2)
    )


# --- learning ---


def overfit(model: torch.nn.Module, *, updates: int, enough: float = 0.0) -> tuple[float, float]:
    """The loss before and after full-batch AdamW on the eight samples, which ends where it is so
    small that it is `enough`.
    """
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    noise = generator()
    losses = []
    for _ in range(updates):
        optimiser.zero_grad()
        loss = model.loss(inputs(model), IMAGES, generator=noise)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if losses[-1] < min(enough, 0.09 * losses[0]):
            break
    return losses[0], losses[-1]


@every_baseline
def test_gradients_reach_every_parameter(name):
    model = small(name)
    model.loss(inputs(model), IMAGES, generator=generator()).backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, parameter_name


@every_baseline
def test_eight_samples_can_be_overfitted(name):
    zero_mse = float((IMAGES**2).mean())
    before, after = overfit(small(name), updates=300, enough=0.09 * zero_mse)
    assert after < 0.1 * min(before, zero_mse)


# --- bad input ---


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("cnn", {"depth": 1}, r"depth must be an integer >= 2, got 1"),
        ("cnn", {"width": 0}, r"width must be an integer >= 1, got 0"),
        (
            "cnn",
            {"image_shape": (30, 30)},
            r"image_shape must be \(n, n\) with n divisible by 4.*got \(30, 30\)",
        ),
        ("cnn", {"image_shape": (28, 32)}, r"image_shape must be \(n, n\).*got \(28, 32\)"),
        ("mlp", {"image_shape": (28, 0)}, r"image_shape must be an integer >= 1, got 0"),
        ("mlp", {"n_inputs": 0}, r"n_inputs must be an integer >= 1, got 0"),
        ("mlp", {"hidden": (16, -1)}, r"hidden must be an integer >= 1, got -1"),
        (
            "sparse_autoencoder",
            {"sparsity": -0.1},
            r"sparsity must be a finite number >= 0, got -0.1",
        ),
        ("sparse_autoencoder", {"latent": 0}, r"latent must be an integer >= 1, got 0"),
        ("vae", {"beta": float("nan")}, r"beta must be a finite number >= 0, got nan"),
        ("vae", {"latent": -2}, r"latent must be an integer >= 1, got -2"),
        ("factorised", {"n_inputs": 5}, r"n_inputs must be even.*got 5"),
        ("factorised", {"hidden": -1}, r"hidden must be an integer >= 0, got -1"),
        ("additive", {"n_inputs": 5}, r"n_inputs must be even.*got 5"),
        ("coordinate_mlp", {"width": 6}, r"width must be a multiple of 4, got 6"),
        ("coordinate_mlp", {"depth": 0}, r"depth must be an integer >= 1, got 0"),
        ("broadcast", {"width": 0}, r"width must be an integer >= 1, got 0"),
        ("coordconv", {"depth": 1}, r"depth must be an integer >= 2, got 1"),
        ("factorised", {"rank": 0}, r"rank must be an integer >= 1, got 0"),
        ("bilinear", {"n_units": 0}, r"n_units must be an integer >= 1, got 0"),
        (
            "bilinear",
            {"activation": "tanh"},
            r"activation must be one of 'linear', 'relu', got 'tanh'",
        ),
        ("conv_autoencoder", {}, r"n_inputs must be the number of pixels, 784, got 56"),
        (
            "conv_autoencoder",
            {"n_inputs": 784, "width": 0},
            r"width must be an integer >= 1, got 0",
        ),
        (
            "conv_autoencoder",
            {"n_inputs": 784, "latent": 0},
            r"latent must be an integer >= 1, got 0",
        ),
        (
            "conv_autoencoder",
            {"n_inputs": 900, "image_shape": (30, 30), "latent": 4},
            r"divisible by 4.*\(30, 30\)",
        ),
        ("cnn", {"widths": 8}, r"cnn has no option widths; its options are depth, width"),
        ("vea", {}, r"name must be one of 'cnn', 'mlp'.*'vae'.*got 'vea'"),
    ],
)
def test_bad_arguments_are_named(name, options, message):
    arguments = {"n_inputs": 56, "image_shape": (28, 28), "seed": 0} | options
    with pytest.raises(ValueError, match=message):
        build(name, **arguments)


def test_one_number_is_not_a_list_of_layers():
    with pytest.raises(ValueError, match="hidden must be a sequence of layer sizes"):
        check_hidden(64)


@every_baseline
def test_wrong_shapes_are_refused(name):
    model = small(name)
    x, n = inputs(model), model.n_inputs
    with pytest.raises(
        ValueError, match=rf"x must have the shape \(batch, n_inputs={n}\), got \(8, {n - 1}\)"
    ):
        model(x[:, 1:])
    with pytest.raises(ValueError, match=r"x must have the shape"):
        model.loss(x[:, 1:], IMAGES, generator=generator())
    with pytest.raises(
        ValueError, match=r"y must have the shape .*\(8, 28, 28\), got \(8, 28, 1\)"
    ):
        model.loss(x, IMAGES[:, :, :1], generator=generator())
