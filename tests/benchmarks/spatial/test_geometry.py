"""The geometry of layers against maps whose derivatives, ranks and variances are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.spatial import geometry, registry

SIDE = 12


def plane(side: int = SIDE) -> tuple[torch.Tensor, torch.Tensor]:
    """x and y of every position, x running fastest."""
    y, x = torch.meshgrid(
        torch.arange(side, dtype=torch.float64),
        torch.arange(side, dtype=torch.float64),
        indexing="ij",
    )
    return x.flatten(), y.flatten()


def linear(a: list[float], b: list[float]) -> torch.Tensor:
    """The layer x a + y b on the grid."""
    x, y = plane()
    return geometry.on_grid(x[:, None] * torch.tensor(a) + y[:, None] * torch.tensor(b), SIDE)


def test_activations_are_those_of_a_pass_by_hand_in_batches():
    model = registry.build("mlp", n_inputs=6, image_shape=(4, 4), seed=3, hidden=[5, 7])
    x = torch.randn(11, 6, generator=torch.Generator().manual_seed(0))
    found = geometry.activations(model, x, batch_size=4)
    first, _, second, _, third = model.layers
    one = first(x).relu()
    two = second(one).relu()
    assert list(found) == ["input", "layer1", "layer2", "output"]
    for name, wanted in zip(found, (x, one, two, third(two)), strict=True):
        torch.testing.assert_close(found[name], wanted)


def test_activations_flatten_maps_and_leave_no_hook():
    model = registry.build("cnn", n_inputs=4, image_shape=(8, 8), seed=0, width=3, depth=2)
    found = geometry.activations(model, torch.randn(5, 4))
    assert [tuple(z.shape) for z in found.values()] == [(5, 4), (5, 12), (5, 48), (5, 192), (5, 64)]
    assert not any(module._forward_hooks for module in model.modules())


def test_a_network_without_relu_is_refused():
    with pytest.raises(ValueError, match="ReLU"):
        geometry.activations(nn.Linear(2, 2), torch.zeros(1, 2))


@pytest.mark.parametrize(
    ("z", "message"), [(torch.zeros(3, 4), "shape"), (torch.zeros(1, 4, 2), "shape")]
)
def test_a_layer_must_be_a_grid(z, message):
    with pytest.raises(ValueError, match=message):
        geometry.metric_tensor(z)


def test_positions_must_fill_the_grid():
    with pytest.raises(ValueError, match="side"):
        geometry.on_grid(torch.zeros(10, 2), 3)


def test_the_metric_of_a_linear_map_is_its_gram_matrix_everywhere():
    a, b = [1.0, 2.0, 0.0], [0.5, 0.0, 3.0]
    g = geometry.metric_tensor(linear(a, b))
    wanted = torch.tensor([[5.0, 0.5], [0.5, 9.25]], dtype=torch.float64)
    torch.testing.assert_close(g, wanted.expand(SIDE, SIDE, 2, 2))
    torch.testing.assert_close(
        geometry.volume(g), torch.full((SIDE, SIDE), math.sqrt(46), dtype=torch.float64)
    )
    assert geometry.factorisation(g) == pytest.approx(1 - 0.5 / 14.25)


def test_index_0_is_x_and_differences_are_central_inside_one_sided_at_the_edge():
    x, _ = plane()
    g = geometry.metric_tensor(geometry.on_grid(x[:, None] ** 2, SIDE))
    assert float(g[3, 4, 0, 0]) == pytest.approx(8.0**2)  # (25 - 9) / 2
    assert float(g[3, 0, 0, 0]) == pytest.approx(1.0)  # 1 - 0
    assert float(g[3, 4, 1, 1]) == 0


def test_factorisation_is_one_for_orthogonal_moves_half_for_equal_ones_and_can_look_at_a_part():
    assert geometry.factorisation(geometry.metric_tensor(linear([1.0, 0.0], [0.0, 2.0]))) == 1
    assert geometry.factorisation(
        geometry.metric_tensor(linear([1.0, 1.0], [-1.0, -1.0]))
    ) == pytest.approx(0.5)
    x, y = plane()
    left = (x < 6).view(SIDE, SIDE)
    # Apart to the left, together to the right.
    bent = torch.stack([torch.where(x < 6, x, x + y), torch.where(x < 6, y, x + y)], 1)
    g = geometry.metric_tensor(geometry.on_grid(bent, SIDE))
    inner = left & (x < 4).view(SIDE, SIDE)
    assert geometry.factorisation(g, inner) == 1
    assert geometry.factorisation(g, (x > 7).view(SIDE, SIDE)) == pytest.approx(0.5)


def test_a_layer_that_stands_still_has_no_factorisation():
    assert math.isnan(geometry.factorisation(geometry.metric_tensor(torch.ones(3, 3, 2))))


def test_anova_splits_a_layer_of_known_parts():
    x, y = plane()
    x, y = x - x.mean(), y - y.mean()
    z = torch.stack([3 + 2 * x, y, x * y], 1)
    shares = geometry.anova(geometry.on_grid(z, SIDE))
    power = [4 * x.square().sum(), y.square().sum(), (x * y).square().sum()]
    for name, part in zip(("x", "y", "both"), power, strict=True):
        assert shares[name] == pytest.approx(float(part / sum(power)))


def random_layer(units: int = 5) -> torch.Tensor:
    return (
        torch.randn(SIDE**2, units, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        + 2
    )


def test_the_kernel_holds_inner_products_with_and_without_the_mean():
    z = random_layer()
    torch.testing.assert_close(geometry.gram(z), z @ z.T)
    away = z - z.mean(0)
    torch.testing.assert_close(geometry.gram(z, centred=True), away @ away.T)


def test_coordinates_are_an_isometric_copy_of_a_wide_layer():
    z = torch.randn(SIDE**2, 400, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    copy = geometry.coordinates(geometry.gram(z))
    assert copy.shape == (SIDE**2, SIDE**2)
    torch.testing.assert_close(copy @ copy.T, z @ z.T)
    measures = [geometry.metric_tensor(geometry.on_grid(one, SIDE)) for one in (z, copy)]
    torch.testing.assert_close(measures[0], measures[1])


def test_schmidt_coefficients_of_a_kernel_made_of_two_products():
    rng = torch.Generator().manual_seed(4)

    def symmetric() -> torch.Tensor:
        a = torch.randn(SIDE, SIDE, generator=rng, dtype=torch.float64)
        return a + a.T

    def unit(*others: torch.Tensor) -> torch.Tensor:
        a = symmetric()
        for other in others:
            a = a - (a * other).sum() * other
        return a / a.norm()

    of_x, of_y = [unit()], [unit()]
    of_x.append(unit(*of_x))
    of_y.append(unit(*of_y))
    # Position = y side + x, so y is the outer factor of the Kronecker product.
    kernel = 3 * torch.kron(of_y[0], of_x[0]) - 2 * torch.kron(of_y[1], of_x[1])
    found = geometry.separable_spectrum(kernel, SIDE)
    torch.testing.assert_close(found[:2], torch.tensor([3.0, 2.0], dtype=torch.float64))
    assert float(found[2]) < 1e-6
    rows = kernel.view(SIDE, SIDE, SIDE, SIDE).permute(1, 3, 0, 2).reshape(SIDE**2, -1)
    torch.testing.assert_close(found[:2], torch.linalg.svdvals(rows)[:2])
    assert geometry.participation(found) == pytest.approx(13**2 / (9**2 + 4**2))


def test_products_sums_and_tables_have_the_ranks_of_their_maths():
    k = torch.arange(SIDE, dtype=torch.float64)
    profile = torch.exp(-0.5 * (k - k[:, None]) ** 2)
    x, y = (p.long() for p in plane())
    product = (profile[y][:, :, None] * profile[x][:, None, :]).flatten(1)
    assert geometry.participation(
        geometry.separable_spectrum(geometry.gram(product), SIDE)
    ) == pytest.approx(1)
    table = torch.eye(SIDE**2, dtype=torch.float64)
    assert geometry.participation(
        geometry.separable_spectrum(geometry.gram(table), SIDE)
    ) == pytest.approx(1)
    total = geometry.gram(torch.cat([profile[x], profile[y]], 1), centred=True)
    assert geometry.participation(geometry.separable_spectrum(total, SIDE)) == pytest.approx(2)


def test_the_map_has_as_many_terms_as_its_unfolding_has_ranks():
    x, y = plane()
    z = torch.stack([x, x * y, y**2], 1)  # rows x: 1 and x span all of it
    found = geometry.map_spectrum(geometry.on_grid(z, SIDE))
    unfolded = geometry.on_grid(z, SIDE).transpose(0, 1).flatten(1)
    torch.testing.assert_close(found[:2], torch.linalg.svdvals(unfolded)[:2])
    assert float(found[2]) < 1e-4 * float(found[0])


def test_a_probe_reads_what_is_linear_and_not_what_is_noise():
    x, y = plane()
    targets = torch.stack([x, y], 1)
    rotated = torch.linalg.qr(
        torch.randn(6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ).Q
    linear_code = 7 + torch.cat([targets, torch.zeros(len(x), 4)], 1) @ rotated
    assert (geometry.probe(geometry.gram(linear_code), targets, folds=5, seed=0) > 0.9999).all()
    # More units than positions fit anything in sample; at positions not fitted there is nothing to
    # read.
    noise = torch.randn(
        SIDE**2, 500, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    assert (geometry.probe(geometry.gram(noise), targets, folds=5, seed=0) < 0.1).all()


def test_a_probe_is_scikit_learns_ridge_regression_and_blind_to_scale():
    from sklearn.linear_model import Ridge

    z, (x, y) = random_layer(), plane()
    z[:, 0] += 0.3 * x
    targets = torch.stack([x, y], 1)
    fit = torch.arange(SIDE**2) % 3 > 0
    seen = z[fit] - z[fit].mean(0)
    model = Ridge(alpha=0.1 * float(seen.square().sum() / fit.sum())).fit(
        z[fit].numpy(), targets[fit].numpy()
    )
    left = targets[~fit].numpy()
    residual = ((model.predict(z[~fit].numpy()) - left) ** 2).sum(0)
    wanted = 1 - residual / ((left - left.mean(0)) ** 2).sum(0)
    for scale in (1, 1e3):
        found = geometry.probe_across(geometry.gram(scale * z), targets, fit, ~fit, ridge=0.1)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-8)


def test_a_probe_repeats_itself_and_refuses_what_it_cannot_use():
    z, (x, y) = random_layer(), plane()
    kernel, targets = geometry.gram(z), torch.stack([x, y], 1)
    scores = [geometry.probe(kernel, targets, folds=4, seed=s) for s in (0, 0, 1)]
    assert torch.equal(scores[0], scores[1]) and not torch.equal(scores[0], scores[2])
    with pytest.raises(ValueError, match="folds must be"):
        geometry.probe(kernel, targets, folds=1, seed=0)
    with pytest.raises(ValueError, match="ridge must be"):
        geometry.probe(kernel, targets, folds=2, seed=0, ridge=0)
    with pytest.raises(ValueError, match="see gram"):
        geometry.probe_across(z, targets, x > 3, x <= 3)
    with pytest.raises(ValueError, match="side"):
        geometry.separable_spectrum(kernel, SIDE + 1)
