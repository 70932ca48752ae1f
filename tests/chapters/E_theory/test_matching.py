"""Supports and atoms against what was planted, on cases whose answer is known."""

from __future__ import annotations

import pytest
import torch

from chapters.E_theory.matching import match_atoms, support_recovered


def test_a_support_is_recovered_only_whole():
    planted = torch.tensor([[1.0, 0.0, -2.0, 0.0]]).expand(5, 4)
    code = torch.tensor(
        [[0.5, 0, 1, 0], [0.5, 0, 1, 0.01], [0.0, 0, 1, 0], [0.05, 0, -1, 0], [0.0, 0.5, 1, 0]],
        dtype=torch.float32,
    )
    assert support_recovered(code, planted).tolist() == [True, False, False, True, False]
    assert support_recovered(code, planted, threshold=0.1).tolist() == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_atoms_are_matched_one_to_one_whatever_their_order_and_sign():
    V = torch.linalg.qr(
        torch.randn(6, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    ).Q
    order = torch.tensor([4, 2, 0, 5, 1, 3])
    cosine, index = match_atoms(-3 * V[:, order], V)
    assert cosine.tolist() == pytest.approx([1.0] * 6)
    assert torch.equal(order[index], torch.arange(6))
    # Two atoms found twice cannot both stand for the same planted one.
    cosine, _ = match_atoms(V[:, [0, 0, 1, 1, 2, 3]], V)
    assert sorted(cosine.tolist()) == pytest.approx([0, 0, 1, 1, 1, 1], abs=1e-12)
    with pytest.raises(ValueError, match="at least as many atoms as planted, got 3 < 6"):
        match_atoms(V[:, :3], V)


def test_the_assignment_maximises_the_sum_and_not_each_match():
    planted = torch.eye(2, dtype=torch.float64)
    # both atoms are nearest to the first
    found = torch.tensor([[0.8, 1.0], [0.6, 0.0]], dtype=torch.float64)
    cosine, index = match_atoms(found, planted)
    assert index.tolist() == [1, 0] and cosine.tolist() == pytest.approx([1.0, 0.6])
