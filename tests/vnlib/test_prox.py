"""Proximal steps: closed forms, and that each is the best point of the objective it claims to
minimise.
"""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vnlib.prox import (
    CEL0,
    L0,
    L1,
    MCP,
    PENALTIES,
    ElasticNet,
    NonNegativeL1,
    Penalty,
    TopK,
    WeightedL1,
    keep_top_k,
    make_penalty,
    soft_threshold,
)

number = st.floats(-4, 4, allow_subnormal=False)
positive = st.floats(0.05, 3)
row = st.lists(number, min_size=6, max_size=6)

MAKE = {
    "l1": L1,
    "nonnegative": NonNegativeL1,
    "elastic_net": lambda sparsity: ElasticNet(sparsity=sparsity, ridge=0.7),
    "l0": L0,
    "mcp": lambda sparsity: MCP(sparsity=sparsity, gamma=1.3),
    "cel0": CEL0,
}
CONVEX = ("l1", "nonnegative", "elastic_net")
every = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
convex = pytest.mark.parametrize("make", [MAKE[name] for name in CONVEX], ids=CONVEX)


def f64(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def definition(penalty, a: torch.Tensor) -> torch.Tensor:
    """The penalty per sample, from its textbook definition; infinite outside its domain."""
    if isinstance(penalty, TopK):
        return torch.where((a != 0).sum(1) <= penalty.k, definition(penalty.penalty, a), torch.inf)
    size, s = a.abs(), penalty.sparsity
    match penalty:
        case NonNegativeL1():
            each = torch.where(a >= 0, s * a, torch.inf)
        case L1():
            each = s * size
        case ElasticNet():
            each = s * size + penalty.ridge / 2 * a**2
        case L0():
            each = s * (a != 0).to(a.dtype)
        case MCP():
            end = penalty.gamma * s
            each = torch.where(
                size <= end, s * size - a**2 / (2 * penalty.gamma), penalty.gamma * s**2 / 2
            )
        case CEL0():
            end = (2 * s) ** 0.5
            each = torch.where(size <= end, s - (size - end) ** 2 / 2, s)
    return each.sum(1)


def objective(penalty, a: torch.Tensor, z: torch.Tensor, step: float) -> torch.Tensor:
    """1/(2 step) |a - z|^2 + penalty(a)."""
    return ((a - z) ** 2).sum(1) / (2 * step) + definition(penalty, a)


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


@every
@settings(max_examples=60)
@given(code=row, sparsity=positive)
def test_value_equals_its_definition(make, code, sparsity):
    penalty, code = make(sparsity=sparsity), f64([code, code[::-1]])
    code = code.abs() if isinstance(penalty, NonNegativeL1) else code
    torch.testing.assert_close(penalty.value(code), definition(penalty, code), atol=1e-13, rtol=0)


def test_l0_counts_the_active_atoms_and_cuts_at_the_root():
    penalty = L0(sparsity=0.5)
    assert torch.equal(penalty.value(f64([[3.0, 0.0, -0.1], [0.0, 0.0, 0.0]])), f64([1.0, 0.0]))
    z = f64([[1.9, 2.1, -2.1, 0.0]])
    assert torch.equal(penalty.prox(z, 4.0), f64([[0.0, 2.1, -2.1, 0.0]]))  # sqrt(2 * 4 * 0.5) = 2


def test_mcp_is_firm_below_gamma_and_hard_from_there():
    penalty = MCP(sparsity=1.0, gamma=2.0)
    z = f64([[0.9, 1.0, 1.5, -1.5, 2.0, 3.0]])
    torch.testing.assert_close(penalty.prox(z, 1.0), f64([[0.0, 0.0, 1.0, -1.0, 2.0, 3.0]]))
    # step = 8: hard at sqrt(2 * 8) = 4, not at step * sparsity = 8.
    assert torch.equal(
        penalty.prox(f64([[1.0, 3.9, 4.1, -9.0]]), 8.0), f64([[0.0, 0.0, 4.1, -9.0]])
    )
    # step = gamma
    assert torch.equal(penalty.prox(f64([[1.9, 2.1, -2.1]]), 2.0), f64([[0.0, 2.1, -2.1]]))


@given(row, positive, positive)
def test_mcp_of_a_large_gamma_is_l1(z, sparsity, step):
    z = f64([z])
    found = MCP(sparsity=sparsity, gamma=1e9).prox(z, step)
    torch.testing.assert_close(found, L1(sparsity=sparsity).prox(z, step), atol=1e-7, rtol=0)


@given(row, positive)
def test_cel0_at_step_one_is_the_hard_threshold_and_lies_below_l0(z, sparsity):
    """With one unit atom the two problems have the same solution; the relaxation is never the
    larger one.
    """
    z = f64([z])
    assert torch.equal(CEL0(sparsity=sparsity).prox(z, 1.0), L0(sparsity=sparsity).prox(z, 1.0))
    assert (CEL0(sparsity=sparsity).value(z) <= L0(sparsity=sparsity).value(z) + 1e-12).all()


@pytest.mark.parametrize("seed", range(3))
def test_cel0_has_the_global_minimum_of_l0(seed):
    """Soubies et al. 2015: with unit columns the minimisers of the relaxed problem contain those of
    l0.
    """
    draw = torch.Generator().manual_seed(seed)
    V = torch.nn.functional.normalize(torch.randn(4, 6, generator=draw, dtype=torch.float64), dim=0)
    x = torch.randn(4, generator=draw, dtype=torch.float64)

    def energy(penalty, a):
        return 0.5 * (x - a @ V.T).square().sum(1) + penalty.value(a)

    best = torch.inf
    for size in range(5):
        for support in map(list, combinations(range(6), size)):
            a = torch.zeros(1, 6, dtype=torch.float64)
            a[0, support] = torch.linalg.lstsq(V[:, support], x[:, None]).solution[:, 0]
            best = min(best, float(energy(L0(sparsity=0.1), a)))
    found, a = CEL0(sparsity=0.1), torch.randn(2000, 6, generator=draw, dtype=torch.float64)
    step = 1 / float(torch.linalg.matrix_norm(V, 2) ** 2)
    for _ in range(1500):
        a = found.prox(a - step * (a @ V.T - x) @ V, step)
    assert float(energy(found, a).min()) == pytest.approx(best, abs=1e-9)


@every
@pytest.mark.parametrize("cap", [None, 2])
def test_a_step_per_sample_is_each_samples_own_step(make, cap):
    penalty = make(sparsity=0.4) if cap is None else TopK(penalty=make(sparsity=0.4), k=cap)
    z = 2 * torch.randn(5, 7, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    steps = f64([[0.1], [0.7], [1.0], [1.3], [4.0]])  # on both sides of gamma, and on it
    alone = torch.cat(
        [penalty.prox(one[None], float(step)) for one, step in zip(z, steps, strict=True)]
    )
    assert torch.equal(penalty.prox(z, steps), alone)


# --- optimality ---


@every
@settings(max_examples=100)
@given(z=number, sparsity=positive, step=positive)
def test_prox_beats_a_grid_search(make, z, sparsity, step):
    penalty, z = make(sparsity=sparsity), f64([[z]])
    grid = torch.cat(
        [torch.linspace(-6, 6, 4801, dtype=torch.float64)[:, None], z, torch.zeros_like(z)]
    )
    best = objective(penalty, penalty.prox(z, step), z, step)
    assert best <= objective(penalty, grid, z, step).min() + 1e-12


@every
@pytest.mark.parametrize("cap", [None, 2])
@settings(max_examples=40)
@given(z=row, sparsity=positive, step=positive, seed=st.integers(0, 99))
def test_prox_beats_perturbations_of_itself(make, cap, z, sparsity, step, seed):
    penalty = make(sparsity=sparsity)
    penalty, z = penalty if cap is None else TopK(penalty=penalty, k=cap), f64([z])
    best = penalty.prox(z, step)
    rng = torch.Generator().manual_seed(seed)
    noise = (
        torch.randn(200, 6, generator=rng, dtype=torch.float64)
        * f64([1e-3, 1e-1, 1.0, 3.0]).repeat(50)[:, None]
    )
    # Half of the rivals keep the zeros, so that they stay within the support and the sign that the
    # penalty allows.
    rivals = torch.cat(
        [best + noise, best + noise * (best != 0), torch.zeros_like(best), z, z.clamp_min(0)]
    )
    assert objective(penalty, best, z, step) <= objective(penalty, rivals, z, step).min() + 1e-12


@every
@settings(max_examples=40)
@given(z=row, sparsity=positive, step=positive, k=st.integers(1, 5))
def test_capped_prox_is_the_best_of_all_supports(make, z, sparsity, step, k):
    soft, z = make(sparsity=sparsity), f64([z])
    penalty, rivals = TopK(penalty=soft, k=k), []
    for support in combinations(range(6), k):
        on = torch.zeros(1, 6, dtype=torch.float64)
        on[0, list(support)] = 1
        rivals.append(soft.prox(z, step) * on)
    best = objective(penalty, penalty.prox(z, step), z, step)
    assert best <= objective(penalty, torch.cat(rivals), z, step).min() + 1e-12


@convex
@given(y=row, z=row, sparsity=positive, step=positive)
def test_convex_prox_is_non_expansive(make, y, z, sparsity, step):
    penalty, y, z = make(sparsity=sparsity), f64([y]), f64([z])
    assert (penalty.prox(y, step) - penalty.prox(z, step)).norm() <= (y - z).norm() + 1e-12


@pytest.mark.parametrize("name", [name for name in MAKE if name not in CONVEX])
def test_the_others_are_not_convex_and_say_so(name):
    """Somewhere they exceed the chord, and somewhere their prox is expansive: no momentum, no
    duality gap.
    """
    penalty = MAKE[name](sparsity=0.5)
    middle, ends = penalty.value(f64([[0.5]])), penalty.value(f64([[0.0], [1.0]]))
    assert middle > ends.mean()
    z = f64([[i / 100] for i in range(400)])
    moved = penalty.prox(z, 0.9)
    assert ((moved[1:] - moved[:-1]) > 1.01 * (z[1:] - z[:-1])).any()
    assert not penalty.convex and not penalty.accelerable and not hasattr(penalty, "conjugate")


# --- conjugates ---


@convex
@settings(max_examples=100)
@given(c=number, sparsity=positive)
def test_conjugate_is_the_supremum_of_its_definition(make, c, sparsity):
    """Feasible: the largest value on a grid.

    Infeasible: no bound, the value grows with the grid.
    """
    penalty, c = make(sparsity=sparsity), f64([[c]])
    # zero is one of its points
    grid = torch.arange(-8000, 8001, dtype=torch.float64)[:, None] / 1000

    def gain(a):
        return float((c * a - definition(penalty, a)[:, None]).max())

    if float(penalty.feasible_scale(c)) == 1:
        assert gain(grid) == pytest.approx(float(penalty.conjugate(c)), abs=1e-6)
    else:
        assert gain(10 * grid) == pytest.approx(10 * gain(grid)) and gain(grid) > 0


@convex
@given(c=row, sparsity=positive)
def test_feasible_scale_is_the_largest(make, c, sparsity):
    penalty, c = make(sparsity=sparsity), f64([c, [0.0] * 6])
    s = penalty.feasible_scale(c)
    assert s.shape == (2,) and ((s >= 0) & (s <= 1)).all() and s[1] == 1
    assert (penalty.feasible_scale(s[:, None] * c) >= 1 - 1e-12).all()
    longer = penalty.feasible_scale(1.01 * s[:, None] * c)
    assert ((longer < 1) | (s == 1)).all()


@convex
@given(a=row, c=row, sparsity=positive)
def test_fenchel_young(make, a, c, sparsity):
    """g(a) + g*(c) >= a.c, with equality where c is a subgradient: a = prox(z, 1), c = z - a."""
    penalty, a, c = make(sparsity=sparsity), f64([a]), f64([c])
    a = a.abs() if isinstance(penalty, NonNegativeL1) else a
    c = penalty.feasible_scale(c)[:, None] * c
    assert (penalty.value(a) + penalty.conjugate(c) - (a * c).sum(1) >= -1e-12).all()
    best = penalty.prox(a + c, 1.0)
    slope = a + c - best
    torch.testing.assert_close(
        penalty.value(best) + penalty.conjugate(slope), (best * slope).sum(1), atol=1e-12, rtol=0
    )


def test_zero_sparsity_leaves_least_squares():
    z = f64([[1.0, -0.5, 0.0]])
    for penalty in (L1(sparsity=0), L0(sparsity=0), MCP(sparsity=0, gamma=2.0), CEL0(sparsity=0)):
        assert torch.equal(penalty.prox(z, 0.3), z) and penalty.value(z) == 0
    assert L1(sparsity=0).feasible_scale(f64([[1.0, 0.0], [0.0, 0.0]])).tolist() == [0, 1]


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
@every
@pytest.mark.parametrize("cap", [None, 2])
def test_prox_keeps_dtype_and_its_argument(make, cap, dtype):
    penalty = make(sparsity=0.3) if cap is None else TopK(penalty=make(sparsity=0.3), k=cap)
    z = torch.linspace(-1, 1, 8, dtype=dtype).reshape(2, 4)
    before = z.clone()
    new = penalty.prox(z, 0.5)
    assert new.dtype == dtype and new.shape == z.shape
    assert torch.equal(z, before)
    assert new.data_ptr() != z.data_ptr()
    assert penalty.value(z).dtype == dtype
    if penalty.convex:
        assert penalty.conjugate(z).dtype == penalty.feasible_scale(z).dtype == dtype


# --- making penalties ---


def test_make_penalty_covers_the_combinations():
    assert make_penalty(sparsity=0.2) == L1(sparsity=0.2)
    assert make_penalty(sparsity=0.2, nonnegative=True) == NonNegativeL1(sparsity=0.2)
    capped = make_penalty(sparsity=0.2, nonnegative=True, top_k=3)
    assert capped == TopK(penalty=NonNegativeL1(sparsity=0.2), k=3)
    assert capped.soft == NonNegativeL1(sparsity=0.2) and capped.soft.soft == capped.soft
    assert capped.soft.accelerable and not capped.accelerable


def test_make_penalty_knows_every_kind_by_name():
    options = {"elastic_net": {"ridge": 0.5}, "mcp": {"gamma": 2.0}}
    for kind, family in PENALTIES.items():
        soft = make_penalty(kind, sparsity=0.2, **options.get(kind, {}))
        assert soft == family(sparsity=0.2, **options.get(kind, {})) and soft.soft is soft
        assert isinstance(soft, Penalty)
        assert make_penalty(kind, sparsity=0.2, top_k=3, **options.get(kind, {})) == TopK(
            penalty=soft, k=3
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sparsity": -0.1}, r"sparsity must be a finite number >= 0, got -0.1"),
        ({"sparsity": float("nan")}, r"sparsity must be a finite number >= 0, got nan"),
        (
            {"sparsity": -1.0, "nonnegative": True},
            r"sparsity must be a finite number >= 0, got -1.0",
        ),
        ({"sparsity": 0.1, "top_k": 0}, r"top_k must be an integer >= 1, got 0"),
        ({"sparsity": 0.1, "top_k": 2.5}, r"top_k must be an integer >= 1, got 2.5"),
        (
            {"sparsity": 0.1, "kind": "lo"},
            r"kind must be one of 'l1', 'elastic_net', 'l0', 'mcp', 'cel0', got 'lo'",
        ),
        (
            {"sparsity": 0.1, "kind": "l0", "nonnegative": True},
            r"nonnegative must be False for kind 'l0'",
        ),
        ({"sparsity": 0.1, "kind": "mcp"}, r"options of kind 'mcp' must be gamma, got none"),
        ({"sparsity": 0.1, "ridge": 1.0}, r"options of kind 'l1' must be none, got ridge"),
        ({"sparsity": 0.1, "kind": "mcp", "gamma": 0}, r"gamma must be a finite number > 0, got 0"),
        (
            {"sparsity": 0.1, "kind": "elastic_net", "ridge": 0},
            r"ridge must be a finite number > 0, got 0",
        ),
        ({"sparsity": -1, "kind": "cel0"}, r"sparsity must be a finite number >= 0, got -1"),
    ],
)
def test_bad_penalties_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_penalty(**arguments)


def test_a_cap_on_a_cap_is_refused():
    with pytest.raises(ValueError, match="penalty must be without a cap of its own, got TopK"):
        TopK(penalty=TopK(penalty=L1(sparsity=0.1), k=2), k=1)


@pytest.mark.parametrize("step", [0.5, [[0.1], [0.7], [4.0]]])
def test_a_lambda_per_atom_is_l1_atom_by_atom(step):
    weights, step = f64([0.2, 1.0, 3.0]), step if isinstance(step, float) else f64(step)
    z = 3 * torch.randn(3, 3, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    penalty = WeightedL1(sparsity=0.4, weights=weights)
    atoms = [(L1(sparsity=0.4 * w), z[:, [k]]) for k, w in enumerate(weights.tolist())]
    torch.testing.assert_close(
        penalty.prox(z, step), torch.cat([one.prox(column, step) for one, column in atoms], 1)
    )
    torch.testing.assert_close(penalty.value(z), sum(one.value(column) for one, column in atoms))
    scales = torch.stack([one.feasible_scale(column) for one, column in atoms])
    torch.testing.assert_close(penalty.feasible_scale(z), scales.amin(0))
    assert scales.min() < scales.max() and not penalty.conjugate(z).any()
