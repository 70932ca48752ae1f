"""Exactly k atoms against brute force, a plain loop, orthonormal atoms and what least squares promises."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from sparse_cases import dictionary, draw

from benchmarks.baselines.subset import best_subset
from vnlib.greedy import orthogonal_matching_pursuit


def left(V: torch.Tensor, x: torch.Tensor, code: torch.Tensor) -> torch.Tensor:
    return (x - code @ V.T).square().sum(1)


def least(V: torch.Tensor, x: torch.Tensor, support: list[int]) -> float:
    """The squared error of one sample after least squares on a support."""
    solved = np.linalg.lstsq(V[:, support].numpy(), x.numpy(), rcond=None)[0]
    return float(((x.numpy() - V[:, support].numpy() @ solved) ** 2).sum())


def picked(V: torch.Tensor, x: torch.Tensor, k: int) -> list[int]:
    """Orthogonal least squares as it is defined: each pick tries all atoms."""
    support: list[int] = []
    for _ in range(k):
        rest = [j for j in range(V.shape[1]) if j not in support]
        support.append(min(rest, key=lambda j: least(V, x, [*support, j])))
    return sorted(support)


@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_without_swaps_each_pick_is_the_best_of_all_atoms(tilt):
    V, x = dictionary(tilt=tilt), draw(6, 15, seed=3)
    code = best_subset(V, x, k=5, swaps=0)
    for row, sample in zip(code, x, strict=True):
        assert row.nonzero()[:, 0].tolist() == picked(V, sample, 5)


def test_one_atom_is_the_best_one():
    V, x = dictionary(tilt=1.0), draw(20, 15, seed=4)
    code, drive = best_subset(V, x, k=1), x @ V
    assert code.abs().argmax(1).tolist() == drive.abs().argmax(1).tolist()
    torch.testing.assert_close(code.sum(1), drive.gather(1, drive.abs().argmax(1)[:, None])[:, 0])


@pytest.mark.parametrize("k", [2, 3])
def test_swaps_come_near_to_the_best_of_all_supports(k):
    """Never below it, never above what the picks alone leave, and on it for most samples."""
    V, x = dictionary(6, 10, tilt=0.5), draw(40, 6, seed=5)
    every = [list(support) for support in combinations(range(10), k)]
    best = torch.tensor([min(least(V, one, s) for s in every) for one in x], dtype=torch.float64)
    plain, swapped = (left(V, x, best_subset(V, x, k=k, swaps=s)) for s in (0, 50))
    assert (swapped >= best - 1e-12).all() and (swapped <= plain + 1e-12).all()
    reached = [(one < best + 1e-9).double().mean() for one in (plain, swapped)]
    assert reached[1] > max(reached[0], 0.5)
    assert (swapped - best).mean() < 0.8 * (plain - best).mean()


def test_swaps_end_where_no_exchange_of_one_atom_lowers_the_error():
    V, x = dictionary(8, 12, tilt=0.5), draw(10, 8, seed=6)
    code = best_subset(V, x, k=3, swaps=1000)
    for row, sample, error in zip(code, x, left(V, x, code), strict=True):
        support = row.nonzero()[:, 0].tolist()
        others = [
            least(V, sample, [new, *(j for j in support if j != old)])
            for old in support
            for new in range(12)
            if new not in support
        ]
        assert min(others) > error - 1e-6


def test_coefficients_are_those_of_least_squares():
    V, x = dictionary(tilt=1.0), draw(8, 15, seed=7)
    code = best_subset(V, x, k=6)
    assert ((code != 0).sum(1) == 6).all()
    assert (((x - code @ V.T) @ V) * (code != 0)).abs().max() < 1e-9


def test_the_error_falls_with_k_and_with_swaps_and_mostly_below_matching_pursuit():
    V, x = dictionary(tilt=1.0), draw(50, 15, seed=8)
    before = x.square().sum(1)
    for k in range(1, 13):
        plain, swapped = (left(V, x, best_subset(V, x, k=k, swaps=s)) for s in (0, 30))
        assert (plain <= before + 1e-12).all() and (swapped <= plain + 1e-12).all()
        assert swapped.mean() <= left(V, x, orthogonal_matching_pursuit(V, x, k=k)).mean() + 1e-12
        before = plain


def test_orthonormal_atoms_give_the_largest_coefficients():
    V = torch.linalg.qr(draw(12, 12, seed=9)).Q
    x = draw(7, 12, seed=10)
    drive = x @ V
    kept = drive.abs() >= drive.abs().topk(4, dim=1).values[:, -1:]
    torch.testing.assert_close(best_subset(V, x, k=4), drive * kept, atol=1e-10, rtol=0)


def test_samples_know_nothing_of_each_other_and_atoms_of_their_order():
    V, x = dictionary(tilt=0.5), draw(9, 15, seed=11)
    code = best_subset(V, x, k=4)
    alone = torch.cat([best_subset(V, one[None], k=4) for one in x.flip(0)]).flip(0)
    torch.testing.assert_close(code, alone, atol=1e-12, rtol=0)  # sums are in another order
    order = torch.randperm(V.shape[1], generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(best_subset(V[:, order], x, k=4), code[:, order])


def test_a_start_keeps_its_support_until_swaps_change_it():
    V, x = dictionary(tilt=0.5), draw(5, 15, seed=12)
    start = torch.zeros(5, V.shape[1], dtype=torch.float64)
    start[:, [3, 8]] = 1.0
    code = best_subset(V, x, k=2, swaps=0, start=start)
    assert torch.equal(code != 0, start != 0)
    more = best_subset(V, x, k=4, swaps=0, start=start)
    assert (more[:, [3, 8]] != 0).all() and ((more != 0).sum(1) == 4).all()
    assert (left(V, x, best_subset(V, x, k=2, start=start)) <= left(V, x, code) + 1e-12).all()


def test_nothing_is_picked_of_what_is_explained_or_depends_on_the_support():
    V = dictionary(4, 6, seed=13)[:, [0, 1, 1, 1, 0, 0]]
    x = torch.stack([2 * V[:, 0] - V[:, 1], 0 * V[:, 0]])
    code = best_subset(V, x, k=4)
    assert (code != 0).sum(1).tolist() == [2, 0]
    torch.testing.assert_close(code @ V.T, x, atol=1e-9, rtol=0)


def test_single_precision_is_near_to_double():
    V, x = dictionary(30, 60, tilt=0.5), draw(20, 30, seed=14)
    exact, short = best_subset(V, x, k=8), best_subset(V.float(), x.float(), k=8)
    assert short.dtype == torch.float32
    assert left(V, x, short.double()).mean() < 1.01 * left(V, x, exact).mean()


def test_the_input_is_checked():
    V, x = dictionary(), draw(3, 15, seed=15)
    start = torch.ones(3, V.shape[1], dtype=torch.float64)
    with pytest.raises(ValueError, match="V must have unit columns"):
        best_subset(2 * V, x, k=2)
    with pytest.raises(ValueError, match="V"):
        best_subset(V * torch.nan, x, k=2)
    for wrong in (x[:, :3], x[0]):
        with pytest.raises(ValueError, match="x must"):
            best_subset(V, wrong, k=2)
    for name, value in (("k", 0), ("k", 1.5), ("swaps", -1)):
        with pytest.raises(ValueError, match=name):
            best_subset(V, x, **({"k": 2} | {name: value}))
    for wrong in (start, start[:2, :2], start[:1]):
        with pytest.raises(ValueError, match="start"):
            best_subset(V, x, k=2, start=wrong)
