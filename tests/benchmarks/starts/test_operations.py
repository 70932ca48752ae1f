"""Operations of products and of coordinate descent, by hand."""

from __future__ import annotations

import torch

from benchmarks.starts.operations import in_loops, operations
from vnlib.settle import Settled


def test_a_pass_moves_looks_and_solves():
    """One sample of 3 active atoms of 6 + 4 with 2 passes, one of none with 5."""
    codes = torch.zeros(2, 6), torch.zeros(2, 4)
    codes[0][0, :2], codes[1][0, 3] = 1.0, -1.0
    energy, passes = torch.zeros(2), torch.tensor([2, 5])
    settled = Settled(codes, (), energy, passes, torch.ones(2, dtype=torch.bool), "gap")
    assert in_loops(settled) == 2 * (2 * 2 * 10 * 3 + 3**3 / 3 + 2 * 3**2)


def test_a_product_costs_two_operations_per_number():
    a, b = torch.ones(3, 5), torch.ones(5, 7)
    assert operations(lambda: a @ b) == 2 * 3 * 5 * 7
    assert operations(lambda: a + 1) == 0
