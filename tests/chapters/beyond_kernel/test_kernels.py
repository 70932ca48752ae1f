"""Kernels whose two factors are known."""

from __future__ import annotations

import pytest
import torch

from chapters.beyond_kernel import kernels

SIDE = 6
PLACE = torch.arange(SIDE**2)
X, Y = PLACE % SIDE, PLACE // SIDE
BINARY = kernels.shared(X, Y)


def near(a: torch.Tensor, width: float = 1.5) -> torch.Tensor:
    return torch.exp(-((a[:, None] - a).double() ** 2) / (2 * width**2))


def test_the_two_factor_kernel_counts_shared_coordinates():
    assert BINARY.diagonal().tolist() == [1] * SIDE**2
    assert float(BINARY[0, 1]) == 0.5, "the same y"
    assert float(BINARY[0, SIDE]) == 0.5, "the same x"
    assert float(BINARY[0, SIDE + 1]) == 0


def test_shares_of_sums_products_and_the_kernel_itself():
    found = kernels.shares(BINARY, BINARY)
    assert found["binary"] == pytest.approx(1) and found["sum"] == pytest.approx(1)
    assert found["terms"] == pytest.approx(2), "one of x and one of y"
    both = kernels.shares(near(X) * near(Y), BINARY)
    assert both["product"] == pytest.approx(1) and both["sum"] < 0.9 and both["binary"] < 0.5
    smooth = kernels.shares(near(X) + near(Y), BINARY)
    assert smooth["sum"] == pytest.approx(1) and smooth["product"] < 1 and smooth["binary"] < 0.9
    table = kernels.shares(torch.eye(SIDE**2, dtype=torch.float64), BINARY)
    assert table["product"] == pytest.approx(1) and table["sum"] < 0.5


def test_regression_with_the_two_factor_kernel_adds_the_factors():
    seen = PLACE[(X < 4) | (Y < 4)]
    of_x, of_y = torch.sin(X.double()), Y.double() ** 2
    total = (of_x + of_y)[:, None]
    found = kernels.regression(BINARY, seen, total[seen])
    torch.testing.assert_close(found, total, rtol=1e-6, atol=1e-6)
    product = (of_x * of_y)[:, None]
    assert not torch.allclose(kernels.regression(BINARY, seen, product[seen]), product, atol=0.1)


def test_alignment_is_a_correlation():
    assert kernels.alignment(BINARY, 3 * BINARY + 1) == pytest.approx(1)
    assert kernels.alignment(BINARY, -BINARY) == pytest.approx(-1)
