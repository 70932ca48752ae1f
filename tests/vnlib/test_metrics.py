"""Metrics against loops and cases whose answer is known."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vnlib.metrics import (
    coherence,
    jaccard,
    operator_rank,
    relative_distance,
)


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@settings(max_examples=25)
@given(st.integers(0, 1000), st.floats(0.1, 50))
def test_coherence_is_the_largest_cosine_between_two_atoms(seed, scale):
    V = draw(5, 7, seed=seed) * torch.linspace(1, scale, 7, dtype=torch.float64)
    pairs = [(i, j) for i in range(7) for j in range(i)]
    expected = max(abs(torch.cosine_similarity(V[:, i], V[:, j], dim=0).item()) for i, j in pairs)
    assert coherence(V) == pytest.approx(expected)


def test_coherence_of_known_dictionaries():
    Q = torch.linalg.qr(draw(6, 6, seed=0)).Q
    assert coherence(Q) == pytest.approx(0, abs=1e-12)
    assert coherence(torch.stack([Q[:, 0], Q[:, 1], -3 * Q[:, 0]], 1)) == pytest.approx(1)
    assert coherence(torch.tensor([[1.0, 0.6], [0.0, 0.8]])) == pytest.approx(0.6)
    before = Q.clone()
    coherence(Q)
    assert torch.equal(Q, before)


def test_coherence_of_one_atom_is_refused():
    with pytest.raises(ValueError, match="coherence needs at least 2 atoms, got 1"):
        coherence(torch.ones(4, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_operator_rank_counts_independent_pieces(dtype):
    W = torch.stack([draw(6, r, seed=r) @ draw(r, 8, seed=50 + r) for r in range(7)]).to(dtype)
    assert operator_rank(W).tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert operator_rank(1e-20 * W).tolist() == [0, 1, 2, 3, 4, 5, 6]  # relative to the largest


def test_operator_rank_looks_past_small_singular_values():
    W = torch.diag(torch.tensor([1.0, 1e-3, 1e-8], dtype=torch.float64))[None]
    assert operator_rank(W).item() == 2
    assert operator_rank(W, rtol=1e-2).item() == 1
    assert operator_rank(W, rtol=1e-9).item() == 3


def test_jaccard_is_shared_over_all():
    a = torch.tensor(
        [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]], dtype=torch.bool
    )
    b = torch.tensor(
        [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]], dtype=torch.bool
    )
    assert jaccard(a, b).tolist() == pytest.approx([1 / 3, 1, 1, 1 / 4, 0])
    assert torch.equal(jaccard(a, b), jaccard(b, a))


def test_relative_distance_joins_the_codes_of_all_layers():
    a = (torch.tensor([[3.0, 0.0], [1.0, 1.0]]), torch.tensor([[4.0], [0.0]]))
    b = (torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([[2.0], [0.0]]))
    assert relative_distance(a, b).tolist() == pytest.approx([13**0.5 / 2, 0])


def test_jaccard_takes_any_number_of_leading_axes():
    a = torch.tensor([[[True, True]], [[False, False]]])
    assert jaccard(a, a[:1].expand_as(a)).tolist() == [[1.0], [0.0]]
