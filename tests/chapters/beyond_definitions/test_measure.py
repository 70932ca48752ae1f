"""Complexity, factorisation and reversibility where they are known."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.spatial import registry
from chapters.beyond_definitions import measure

SIDE = 6
AXIS = torch.linspace(-1, 1, SIDE, dtype=torch.float64)
X, Y = AXIS.expand(SIDE, -1), AXIS[:, None].expand(-1, SIDE)  # y, x


def test_ranks_count_products():
    one, two = X.exp() * (Y + 2), X.exp() * (Y + 2) + X.sin() * Y**2
    assert measure.ranks(one[..., None]) == (1, 1)
    assert measure.ranks(torch.stack([one, two], 2)) == (2, 1), "99 % are in the first product"
    assert measure.ranks(torch.eye(SIDE)[..., None], share=0.999) == (SIDE, SIDE)
    assert measure.ranks(torch.eye(SIDE)[..., None], share=0.5) == (SIDE, SIDE // 2)


def test_a_square_held_out_makes_two_distributions():
    plane = torch.ones(8, 8)
    assert measure.mixture(plane) == (1, 0)
    plane[2:6, 2:6] = 0
    rank, distance = measure.mixture(plane)
    # half the sum of differences is the sum of those of one sign: here where the product has more
    inside, corner, edge = (4 / 48) ** 2, (8 / 48) ** 2 - 1 / 48, 32 / 48**2 - 1 / 48
    more = 16 * inside + 16 * max(corner, 0) + 32 * max(edge, 0)
    assert rank == 2 and distance == pytest.approx(more)
    bands = torch.ones(8, 8)
    bands[2:6], bands[:, 2:6] = 0, 0
    assert measure.mixture(bands) == (1, pytest.approx(0, abs=1e-12))
    with pytest.raises(ValueError, match="density"):
        measure.mixture(torch.eye(3))


def layer(*units: torch.Tensor) -> dict[str, float]:
    z = torch.stack([one.expand(SIDE, SIDE).flatten() for one in units], 1)
    return measure.layer(z, folds=3, seed=0)


def test_blocks_that_depend_on_one_factor_or_on_both():
    apart = layer(X, Y)
    assert apart["of_both"] == pytest.approx(0, abs=1e-12) and apart["linear"] > 0.99
    assert apart["of_x"] == apart["of_y"] == pytest.approx(0.5)
    both = layer(X * Y)
    assert both["of_both"] == pytest.approx(1) and both["linear"] < 0.1
    turned = layer((X + Y) / 2**0.5, (X - Y) / 2**0.5)
    assert turned["of_both"] == pytest.approx(0, abs=1e-12), "an invertible map changes nothing"


def test_what_falls_together_cannot_be_undone():
    assert layer(X, Y)["apart"] > 0.1 and layer(X, Y.clamp_min(0))["apart"] == 0
    assert layer(X, Y, torch.zeros(1, 1))["silent"] == pytest.approx(1 / 3)


def test_curved_reading_undoes_a_bend():
    bent = layer(X + 2 * Y**2, Y)
    assert bent["curved"] > 0.8 > bent["linear"]
    assert layer(X, Y**2)["linear"] < 0.1, "both signs of y look alike"


@pytest.mark.parametrize("family", ["cnn", "mlp", "broadcast", "factorised"])
def test_layers_stand_before_and_after_each_relu(family):
    options = {"cnn": {"width": 3, "depth": 2}, "broadcast": {"width": 3, "depth": 2}}.get(
        family, {}
    )
    model = registry.build(family, n_inputs=16, image_shape=(8, 8), seed=0, **options)
    codes = torch.randn(64, 16, generator=torch.Generator().manual_seed(0))
    found = measure.layers(model, codes)
    relus = sum(isinstance(one, nn.ReLU) for one in model.modules())
    number = 1 if family == "factorised" else relus  # one for each axis, side by side
    assert list(found) == [
        "code",
        *(f"{side} {k}" for k in range(1, number + 1) for side in ("before", "after")),
        "images",
    ]
    for k in range(1, number + 1):
        assert torch.equal(found[f"before {k}"].relu(), found[f"after {k}"])
    torch.testing.assert_close(found["images"], model(codes).flatten(1).detach())
