"""Metrics against loops and cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vnlib.metrics import (
    coherence,
    cumulative_coherence,
    jaccard,
    match_atoms,
    operator_rank,
    peak_distance,
    relative_distance,
    support_recovered,
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


@settings(max_examples=25)
@given(st.integers(0, 1000))
def test_cumulative_coherence_is_the_worst_sum_of_overlaps(seed):
    V = draw(5, 7, seed=seed)
    gram = (V / V.norm(dim=0)).T @ (V / V.norm(dim=0))
    rows = [
        sorted((abs(gram[i, j].item()) for j in range(7) if j != i), reverse=True) for i in range(7)
    ]
    expected = [max(sum(row[:n]) for row in rows) for n in range(1, 7)]
    assert cumulative_coherence(V).tolist() == pytest.approx(expected)
    assert cumulative_coherence(V)[0].item() == pytest.approx(coherence(V))


def test_cumulative_coherence_of_equal_overlaps_grows_by_mu():
    """In a simplex every pair has the same cosine, so that n mu is reached."""
    simplex = torch.eye(5, dtype=torch.float64) - 0.2
    assert cumulative_coherence(simplex).tolist() == pytest.approx([0.25, 0.5, 0.75, 1.0])
    with pytest.raises(ValueError, match="needs at least 2 atoms, got 1"):
        cumulative_coherence(torch.ones(4, 1))


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
    V = torch.linalg.qr(draw(6, 6, seed=3)).Q
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


def test_peak_distance_takes_columns_as_x_and_rows_as_y():
    images = np.zeros((4, 5, 7))
    peaks = [(1, 6), (4, 0), (2, 2), (0, 3)]  # row, column
    for image, (row, column) in zip(images, peaks, strict=True):
        image[row, column] = 1
    x, y = np.array([6, 0, 3, 3]), np.array([1, 4, 4, 0])
    assert peak_distance(images, x, y).tolist() == [0, 0, 2, 0]
    assert peak_distance(images[:1], y[:1], x[:1]).tolist() == [5]
    assert peak_distance(images[:1], np.array([4]), np.array([4])).tolist() == [3]


def test_relative_distance_joins_the_codes_of_all_layers():
    a = (torch.tensor([[3.0, 0.0], [1.0, 1.0]]), torch.tensor([[4.0], [0.0]]))
    b = (torch.tensor([[0.0, 0.0], [1.0, 1.0]]), torch.tensor([[2.0], [0.0]]))
    assert relative_distance(a, b).tolist() == pytest.approx([13**0.5 / 2, 0])


def test_jaccard_takes_any_number_of_leading_axes():
    a = torch.tensor([[[True, True]], [[False, False]]])
    assert jaccard(a, a[:1].expand_as(a)).tolist() == [[1.0], [0.0]]
