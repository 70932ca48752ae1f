"""Tuning and volume of layers, on layers whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.spatial import geometry
from chapters.FR4_stripes import tuning


def profiles(n: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """Two profiles over an axis, without mean, and the plane's shape (y, x)."""
    f = torch.linspace(-1, 1, n, dtype=torch.float64)
    return f[None, :].expand(n, n), f[:, None].expand(n, n)


def test_shares_of_stripe_cross_product_and_nothing():
    x, y = profiles()
    z = torch.stack([3 * x + 5, x + y, x * y, torch.full_like(x, 2.0), x + 2 * y], -1)
    found = tuning.tuning(z)
    assert found["axis"][:3].tolist() == pytest.approx([1, 0.5, 0]) and found["axis"][
        4
    ] == pytest.approx(0.8)
    assert found["rest"][:3].tolist() == pytest.approx([0, 0, 1], abs=1e-12)
    assert (
        found["rest"][3].isnan() and found["axis"][3].isnan() and found["variance"][3] < tuning.DEAD
    )


def test_shares_agree_with_the_analysis_of_the_whole_layer():
    z = torch.randn(7, 7, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found, whole = tuning.tuning(z), geometry.anova(z)
    pooled = (found["rest"] * found["variance"]).sum() / found["variance"].sum()
    assert float(pooled) == pytest.approx(whole["both"])


def test_roughness_counts_pairs_inside_only():
    values = torch.tensor([[0.0, 9.0, 9.0], [0.0, 1.0, 3.0], [0.0, 2.0, 6.0]])
    inside = torch.zeros(3, 3, dtype=torch.bool)
    inside[1:, 1:] = True
    assert tuning.roughness(values, inside) == pytest.approx((2 + 4 + 1 + 3) / 4)
    assert np.isnan(tuning.roughness(values, torch.zeros(3, 3, dtype=torch.bool)))


class Layers(nn.Module):
    """Layer 1 keeps the two coordinates, layer 2 multiplies them; then an output."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.ReLU(), nn.ReLU()

    def forward(self, x):
        z = self.first(x)
        return self.second(z.prod(1, keepdim=True) + 0 * z) * torch.tensor([1.0, 0.0])


@pytest.fixture(scope="module")
def report():
    axis = torch.linspace(0, 3, 8)
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    codes = torch.stack([x.ravel(), y.ravel()], 1)
    ood = np.zeros((8, 8), dtype=bool)
    ood[4:, 4:] = True
    return tuning.layer_report(Layers(), codes, ood, units_shown=3)


def test_layers_in_order_with_their_tuning(report):
    assert list(report["layer"].values) == ["input", "layer1", "layer2", "output"]
    assert report["tuning_rest"].sel(layer="layer1") == pytest.approx(0, abs=1e-6)
    assert report["tuning_axis"].sel(layer="layer1") == pytest.approx(1, abs=1e-6)
    assert report["tuning_rest"].sel(layer="layer2") > 0.05
    assert report["responding"].values.tolist() == [1, 1, 1, 0.5]


def test_an_even_layer_is_smooth_and_alike_everywhere(report):
    first = report.sel(layer="layer1")
    assert first["volume_rough"] == pytest.approx(0, abs=1e-5) and first[
        "volume_gap"
    ] == pytest.approx(0, abs=1e-5)
    assert first["log_volume"].values == pytest.approx(2 * np.log10(3 / 7), abs=0.01)


def test_units_are_scaled_and_are_those_that_respond(report):
    one = report["unit"].sel(layer="output").isel(neuron=0).values
    assert report["unit"].dims == ("layer", "neuron", "row", "column")
    assert one.max() == 1 and one[0, 3] == 0 and one[7, 3] == pytest.approx(3 / 7, abs=0.01)
    assert report["unit"].sel(layer="output").isel(neuron=2).values.max() == 1, (
        "the dead unit is not shown"
    )
