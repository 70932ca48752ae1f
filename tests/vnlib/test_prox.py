"""Proximal steps: closed forms, and that each is the best point of the objective it claims to minimise."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vnlib.prox import L1, NonNegativeL1, TopK, keep_top_k, make_penalty, soft_threshold

number = st.floats(-4, 4, allow_subnormal=False)
positive = st.floats(0.05, 3)
row = st.lists(number, min_size=6, max_size=6)
convex = pytest.mark.parametrize("penalty", [L1, NonNegativeL1])


def f64(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def objective(penalty, a: torch.Tensor, z: torch.Tensor, step: float) -> torch.Tensor:
    """1/(2 step) |a - z|^2 + penalty(a), written from the definitions; infinite outside the penalty's domain."""
    soft, k = (penalty.penalty, penalty.k) if isinstance(penalty, TopK) else (penalty, a.shape[1])
    allowed = (a != 0).sum(1) <= k
    if isinstance(soft, NonNegativeL1):
        allowed &= (a >= 0).all(1)
    value = ((a - z) ** 2).sum(1) / (2 * step) + soft.sparsity * a.abs().sum(1)
    return torch.where(allowed, value, torch.inf)


# --- closed forms ---


def test_soft_threshold_is_sign_times_what_exceeds_tau():
    z = f64([[-3.0, -1.0, -0.4, 0.0, 0.4, 1.0, 2.5]])
    assert torch.equal(soft_threshold(z, 1.0), f64([[-2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.5]]))
    assert torch.equal(soft_threshold(z, 0.0), z)


@given(row, positive)
def test_soft_threshold_equals_its_formula_and_has_exact_zeros(z, tau):
    z = f64([z])
    expected = z.sign() * (z.abs() - tau).clamp_min(0)
    found = soft_threshold(z, tau)
    torch.testing.assert_close(found, expected, atol=1e-14, rtol=0)
    assert ((found == 0) == (z.abs() <= tau)).all()


def test_the_step_scales_the_threshold():
    z = f64([[1.0, -1.0]])
    assert torch.equal(L1(sparsity=0.5).prox(z, 0.5), f64([[0.75, -0.75]]))
    assert torch.equal(NonNegativeL1(sparsity=0.5).prox(z, 0.5), f64([[0.75, 0.0]]))


def test_value_is_the_weighted_l1_norm_per_sample():
    code = f64([[1.0, -2.0, 0.0], [0.5, 0.0, 0.0]])
    assert torch.equal(L1(sparsity=0.5).value(code), f64([1.5, 0.25]))
    assert torch.equal(TopK(penalty=L1(sparsity=0.5), k=1).value(code), f64([1.5, 0.25]))


# --- optimality ---


@convex
@settings(max_examples=60)
@given(z=number, sparsity=positive, step=positive)
def test_prox_beats_a_grid_search(penalty, z, sparsity, step):
    penalty, z = penalty(sparsity=sparsity), f64([[z]])
    grid = torch.linspace(-6, 6, 4801, dtype=torch.float64)[:, None]
    best = objective(penalty, penalty.prox(z, step), z, step)
    assert best <= objective(penalty, grid, z, step).min() + 1e-12


@pytest.mark.parametrize("penalty", [L1, NonNegativeL1, lambda **kw: TopK(penalty=L1(**kw), k=2)])
@settings(max_examples=60)
@given(z=row, sparsity=positive, step=positive, seed=st.integers(0, 99))
def test_prox_beats_perturbations_of_itself(penalty, z, sparsity, step, seed):
    penalty, z = penalty(sparsity=sparsity), f64([z])
    best = penalty.prox(z, step)
    rng = torch.Generator().manual_seed(seed)
    noise = torch.randn(200, 6, generator=rng, dtype=torch.float64) * f64([1e-3, 1e-1, 1.0, 3.0]).repeat(50)[:, None]
    # Half of the rivals keep the zeros, so that they stay within the support and the sign that the penalty allows.
    rivals = torch.cat([best + noise, best + noise * (best != 0), torch.zeros_like(best), z, z.clamp_min(0)])
    assert objective(penalty, best, z, step) <= objective(penalty, rivals, z, step).min() + 1e-12


@pytest.mark.parametrize("soft", [L1, NonNegativeL1])
@settings(max_examples=60)
@given(z=row, sparsity=positive, step=positive, k=st.integers(1, 5))
def test_capped_prox_is_the_best_of_all_supports(soft, z, sparsity, step, k):
    penalty, z = TopK(penalty=soft(sparsity=sparsity), k=k), f64([z])
    rivals = []
    for support in combinations(range(6), k):
        on = torch.zeros(1, 6, dtype=torch.float64)
        on[0, list(support)] = 1
        rivals.append(soft(sparsity=sparsity).prox(z, step) * on)
    best = objective(penalty, penalty.prox(z, step), z, step)
    assert best <= objective(penalty, torch.cat(rivals), z, step).min() + 1e-12


@convex
@given(y=row, z=row, sparsity=positive, step=positive)
def test_convex_prox_is_non_expansive(penalty, y, z, sparsity, step):
    penalty, y, z = penalty(sparsity=sparsity), f64([y]), f64([z])
    assert (penalty.prox(y, step) - penalty.prox(z, step)).norm() <= (y - z).norm() + 1e-12


# --- the cap ---


@given(row, st.integers(1, 8))
def test_cap_keeps_the_k_largest_magnitudes(z, k):
    z = f64([z])
    kept = keep_top_k(z, k)
    assert ((kept == z) | (kept == 0)).all()
    expected = sorted(z.abs()[0].tolist(), reverse=True)[:k]
    assert sorted(kept.abs()[0].tolist(), reverse=True)[:k] == expected
    assert (kept != 0).sum() <= k
    assert torch.equal(keep_top_k(kept, k), kept)


def test_cap_breaks_ties_without_keeping_more():
    z = f64([[1.0, -1.0, 1.0, 1.0], [2.0, -1.0, 1.0, 0.0]])
    kept = keep_top_k(z, 2)
    assert (kept != 0).sum(1).tolist() == [2, 2]
    assert kept[1, 0] == 2


@pytest.mark.parametrize("k", [4, 5, 100])
def test_cap_of_all_atoms_or_more_changes_nothing(k):
    z = f64([[1.0, -2.0, 3.0, 0.5]])
    assert torch.equal(keep_top_k(z, k), z)


def test_cap_works_row_by_row():
    z = torch.randn(50, 9, generator=torch.Generator().manual_seed(0))
    together = TopK(penalty=L1(sparsity=0.1), k=3).prox(z, 1.0)
    alone = torch.cat([TopK(penalty=L1(sparsity=0.1), k=3).prox(one[None], 1.0) for one in z])
    assert torch.equal(together, alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "penalty", [L1(sparsity=0.3), NonNegativeL1(sparsity=0.3), TopK(penalty=L1(sparsity=0.3), k=2)]
)
def test_prox_keeps_dtype_and_its_argument(penalty, dtype):
    z = torch.linspace(-1, 1, 8, dtype=dtype).reshape(2, 4)
    before = z.clone()
    new = penalty.prox(z, 0.5)
    assert new.dtype == dtype and new.shape == z.shape
    assert torch.equal(z, before)
    assert new.data_ptr() != z.data_ptr()


# --- making penalties ---


def test_make_penalty_covers_the_combinations():
    assert make_penalty(sparsity=0.2) == L1(sparsity=0.2)
    assert make_penalty(sparsity=0.2, nonnegative=True) == NonNegativeL1(sparsity=0.2)
    capped = make_penalty(sparsity=0.2, nonnegative=True, top_k=3)
    assert capped == TopK(penalty=NonNegativeL1(sparsity=0.2), k=3)
    assert capped.soft == NonNegativeL1(sparsity=0.2) and capped.soft.soft == capped.soft
    assert capped.soft.accelerable and not capped.accelerable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sparsity": -0.1}, r"sparsity must be a finite number >= 0, got -0.1"),
        ({"sparsity": float("nan")}, r"sparsity must be a finite number >= 0, got nan"),
        ({"sparsity": -1.0, "nonnegative": True}, r"sparsity must be a finite number >= 0, got -1.0"),
        ({"sparsity": 0.1, "top_k": 0}, r"top_k must be an integer >= 1, got 0"),
        ({"sparsity": 0.1, "top_k": 2.5}, r"top_k must be an integer >= 1, got 2.5"),
    ],
)
def test_bad_penalties_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_penalty(**arguments)
