"""Networks of fixed dictionaries: unit columns, and lambda on the scale of the samples."""

from __future__ import annotations

import pytest
import torch

from benchmarks.baselines.dictionaries import fixed_network

LENGTH = 64
X = torch.randn(8, LENGTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_a_fixed_network_has_unit_columns_and_the_scale_of_the_samples():
    V = torch.randn(LENGTH, 5, dtype=torch.float64)
    found = fixed_network(3 * V, X, sparsity=0.2)
    torch.testing.assert_close(found.V[0].data, V / V.norm(dim=0))
    scale = X.square().sum(1).mean().sqrt()
    torch.testing.assert_close(found.layers[0].penalty.sparsity, 0.2 * float(scale))
    assert found.V[0].dtype == torch.float64 and found.config.relative_sparsity


@pytest.mark.parametrize(
    ("V", "message"),
    [
        (torch.zeros(LENGTH, 3), "without a zero column"),
        (torch.ones(LENGTH - 1, 3), r"samples must have shape \(batch, 63\)"),
        (torch.full((LENGTH, 3), torch.nan), "V holds 192 value"),
    ],
)
def test_bad_columns_are_refused(V, message):
    with pytest.raises(ValueError, match=message):
        fixed_network(V, X.float())
