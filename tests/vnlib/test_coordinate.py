"""Coordinate descent on working sets against scikit-learn, the optimality conditions and itself on
other batches.
"""

from __future__ import annotations

import runpy

import numpy as np
import pytest
import torch
from numba.core import caching
from sklearn.linear_model import Lasso

from vnlib.compilation import compiled
from vnlib.layer import Layer
from vnlib.prox import L1, NonNegativeL1
from vnlib.settle import coordinate, duality_gap, joint_energy, working_set
from vnlib.settle.coordinate import coordinate_descent, gram_matrix

SPARSITY = 0.3


def problem(d: int, K: int, n: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> tuple:
    """A coherent dictionary (its atoms share a direction) and samples of a few atoms and noise."""
    rng = torch.Generator().manual_seed(seed)
    V = torch.randn(d, K, generator=rng, dtype=torch.float64) + torch.randn(
        d, 1, generator=rng, dtype=torch.float64
    )
    V = V / V.norm(dim=0)
    code = torch.randn(n, K, generator=rng, dtype=torch.float64) * (
        torch.rand(n, K, generator=rng) < 4 / K
    )
    x = code @ V.T + 0.1 * torch.randn(n, d, generator=rng, dtype=torch.float64)
    return V.to(dtype), x.to(dtype)


def solve(V: torch.Tensor, x: torch.Tensor, **options) -> tuple:
    options = {"sparsity": SPARSITY, "tol": 1e-12, "max_passes": 2000} | options
    return coordinate_descent(V, x, **options)


def layer(V: torch.Tensor, nonnegative: bool = False, sparsity: float = SPARSITY) -> list[Layer]:
    return [Layer(V, None, (NonNegativeL1 if nonnegative else L1)(sparsity=sparsity))]


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(("d", "K"), [(30, 12), (20, 60), (40, 200)])
def test_codes_are_those_of_scikit_learn(d, K, nonnegative):
    V, x = problem(d, K, 7)
    codes, _, _ = solve(V, x, nonnegative=nonnegative)
    lasso = Lasso(
        alpha=SPARSITY / d, fit_intercept=False, positive=nonnegative, tol=1e-14, max_iter=200_000
    )
    expected = np.stack([lasso.fit(V.numpy(), sample).coef_ for sample in x.numpy()])
    np.testing.assert_allclose(codes.numpy(), expected, atol=1e-6)


def test_orthonormal_atoms_have_a_closed_form():
    V = torch.linalg.qr(
        torch.randn(9, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ).Q
    x = torch.randn(5, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    c = x @ V
    torch.testing.assert_close(solve(V, x)[0], c.sign() * (c.abs() - SPARSITY).clamp_min(0))
    torch.testing.assert_close(solve(V, x, nonnegative=True)[0], (c - SPARSITY).clamp_min(0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_optimality_conditions(dtype, nonnegative):
    V, x = problem(30, 150, 40, dtype)
    codes, _, _ = solve(V, x, nonnegative=nonnegative, tol=0)
    q = (x - codes @ V.T) @ V
    slack = 2e-5 if dtype == torch.float32 else 1e-11
    assert float((q if nonnegative else q.abs()).max()) <= SPARSITY + slack
    active = codes != 0
    assert int(active.sum()) > 40
    torch.testing.assert_close(q[active], SPARSITY * codes[active].sign(), atol=slack, rtol=0)
    assert not nonnegative or bool((codes >= 0).all())


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("max_passes", [1, 2, 4, 1000])
def test_the_gap_is_true_and_bounds_what_is_left(nonnegative, max_passes):
    V, x = problem(30, 150, 20)
    layers = layer(V, nonnegative)
    best = joint_energy(layers, [solve(V, x, nonnegative=nonnegative)[0]], x)
    codes, gap, passes = solve(V, x, nonnegative=nonnegative, tol=1e-3, max_passes=max_passes)
    energy = joint_energy(layers, [codes], x)
    assert bool((gap >= energy - best - 1e-12).all())
    # The best scale of the dual point is no worse than the largest feasible one.
    assert bool((gap <= duality_gap(layers, [codes], x) + 1e-12).all())
    assert bool((passes <= max_passes).all())
    if max_passes == 1000:
        assert bool((gap <= 1e-3 * energy).all())
        assert bool((passes < 1000).all())
    if max_passes == 1:
        assert bool((gap > 1e-3 * energy).any())


def test_the_gap_is_that_of_the_best_scale_of_the_residual():
    V, x = problem(20, 30, 4)
    codes, gap, _ = solve(V, x, tol=1e-2, max_passes=2)
    for sample, code, found in zip(x, codes, gap, strict=True):
        r = sample - V @ code
        scales = torch.linspace(0, 1, 200_001, dtype=torch.float64) * min(
            1.0, SPARSITY / float((V.T @ r).abs().max())
        )
        dual = (scales * (r @ sample) - 0.5 * scales.square() * r.square().sum()).max()
        primal = 0.5 * r.square().sum() + SPARSITY * code.abs().sum()
        assert float(found) == pytest.approx(float(primal - dual), abs=1e-8)


def test_energy_falls_from_pass_to_pass():
    V, x = problem(30, 150, 20)
    energies = [joint_energy(layer(V), [solve(V, x, max_passes=n)[0]], x) for n in range(1, 25)]
    assert bool((torch.stack(energies).diff(dim=0) <= 1e-12).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_code_has_the_same_bits_in_every_batch(dtype):
    V, x = problem(50, 300, 37, dtype)
    whole = solve(V, x, tol=1e-4)
    for rows in (slice(0, 1), slice(3, 4), slice(5, 8), slice(20, 37)):
        part = solve(V, x[rows], tol=1e-4)
        assert all(torch.equal(a[rows], b) for a, b in zip(whole, part, strict=True))
    backwards = solve(V, x.flip(0), tol=1e-4)
    assert all(torch.equal(a.flip(0), b) for a, b in zip(whole, backwards, strict=True))


def test_threads_change_no_bit():
    V, x = problem(50, 300, 300, torch.float32)
    once, threads = solve(V, x, tol=1e-4), torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        twice = solve(V, x, tol=1e-4)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(once, twice, strict=True))


def test_types_agree():
    V, x = problem(50, 120, 10)
    codes = solve(V.float(), x.float(), tol=1e-5)[0]
    assert codes.dtype == torch.float32
    torch.testing.assert_close(codes.double(), solve(V, x)[0], atol=1e-2, rtol=1e-2)


def test_a_warm_start_is_used_and_left_alone():
    V, x = problem(40, 200, 12)
    codes, gap, passes = solve(V, x, tol=1e-8)
    start = codes.clone()
    again, same_gap, none = solve(V, x, tol=1e-8, start=start)
    assert torch.equal(start, codes)
    torch.testing.assert_close(again, codes, atol=1e-12, rtol=0)
    assert int(none.max()) == 0 < int(passes.max())
    torch.testing.assert_close(same_gap, gap, atol=1e-10, rtol=0)
    near = solve(V, x + 1e-3, tol=1e-8, start=codes)
    assert int(near[2].sum()) < int(passes.sum())


@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_dense_start_ends_at_the_same_codes(nonnegative):
    V, x = problem(40, 200, 6)
    start = torch.randn(6, 200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    given = start.clone()
    found = solve(V, x, start=start, nonnegative=nonnegative)[0]
    torch.testing.assert_close(found, solve(V, x, nonnegative=nonnegative)[0], atol=1e-6, rtol=0)
    assert torch.equal(start, given)


def test_a_working_set_can_outgrow_its_first_size():
    """With a small sparsity nearly d atoms are active."""
    V, x = problem(150, 400, 3)
    codes, gap, _ = solve(V, x, sparsity=0.01)
    assert int((codes != 0).sum(1).min()) > 96
    assert bool((gap <= 1e-10 * joint_energy(layer(V, sparsity=0.01), [codes], x)).all())


def test_more_atoms_tied_at_the_top_than_may_join():
    """Ten times the same atom: each sample's energy is that of one of them."""
    V, x = problem(20, 4, 5)
    many = V.repeat(1, 10)
    codes, gap, _ = solve(many, x)
    expected = joint_energy(layer(V), [solve(V, x)[0]], x)
    torch.testing.assert_close(joint_energy(layer(many), [codes], x), expected)
    assert bool((gap <= 1e-9).all())


@pytest.mark.parametrize("seed", range(20))
def test_samples_that_are_atoms(seed):
    """The largest correlation is that of the atom itself; rounding must not keep it from
    joining.
    """
    V, _ = problem(12, 80, 1, seed=seed)
    codes, gap, _ = solve(V, 3 * V.T[:20].contiguous(), sparsity=0.1 + 0.01 * seed)
    assert bool((gap <= 1e-9).all())
    assert bool((codes != 0).any(1).all())


def test_nothing_to_explain():
    V, x = problem(10, 20, 4)
    V[:, 3] = 0
    x[1] = 0
    start = torch.ones(4, 20, dtype=torch.float64)
    for codes, gap, _ in (solve(V, x), solve(V, x, start=start)):
        assert not codes[1].any() and not codes[:, 3].any()
        assert bool((gap <= 1e-12 * x.square().sum(1) + 1e-15).all())
    codes, gap, passes = solve(V, x, sparsity=100.0)
    assert not codes.any() and not gap.any() and not passes.any()


@pytest.mark.parametrize(("d", "K", "n"), [(1, 1, 1), (1, 3, 2), (3, 1, 2), (5, 7, 0)])
def test_small_sizes(d, K, n):
    V, x = problem(d, K, n)
    codes, gap, passes = solve(V, x, sparsity=0.01)
    assert codes.shape == (n, K) and gap.shape == passes.shape == (n,)
    assert bool((gap <= 1e-9).all())


def test_no_sparsity_is_least_squares():
    V, x = problem(30, 10, 5)
    codes = solve(V, x, sparsity=0.0, max_passes=200)[0]
    torch.testing.assert_close(codes.T, torch.linalg.lstsq(V, x.T).solution, atol=1e-9, rtol=0)


@pytest.mark.parametrize("K", [1, 100, 128, 129, 300, 1100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gram_matrix(K, dtype):
    V, _ = problem(40, K, 1, dtype)
    gram = gram_matrix(V)
    torch.testing.assert_close(gram, gram.T)
    torch.testing.assert_close(gram, V.T @ V)
    rows = problem(40, K, 3, dtype)[1]
    assert torch.equal(solve(V, rows, tol=1e-4)[0], solve(V, rows, tol=1e-4, gram=gram)[0])


def test_strided_and_learned_arguments():
    V, x = problem(20, 30, 6)
    wide = torch.cat([x, x], 1)[:, :20]
    learned = torch.nn.Parameter(V.T.contiguous().T)
    torch.testing.assert_close(solve(learned, wide)[0], solve(V, x)[0])


BAD = torch.zeros(3, 10, dtype=torch.float64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sparsity": -0.1}, "sparsity must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_passes": 0}, "max_passes must be"),
        ({"start": BAD}, r"start must be \(3, 20\)"),
        ({"start": torch.zeros(3, 20)}, "start must be"),
        ({"start": torch.full((3, 20), float("nan"), dtype=torch.float64)}, "start holds 60"),
        ({"gram": BAD}, r"gram must be \(20, 20\)"),
        ({"x": BAD[:, :9]}, r"x must be \(3, 10\)"),
        ({"x": BAD.float()}, "x must be"),
        ({"x": BAD[0]}, "x must be"),
        ({"x": BAD / 0}, "x holds 30"),
        ({"V": BAD.to("meta")}, "V must be"),
        ({"V": BAD.half()}, "V must be"),
        ({"V": BAD[0]}, "V must be"),
        ({"V": BAD[:, :0]}, "V must be"),
    ],
)
def test_bad_arguments(change, message):
    V, x = problem(10, 20, 3)
    with pytest.raises(ValueError, match=message):
        solve(**{"V": V, "x": x} | change)


def test_it_compiles_where_nothing_can_be_written(monkeypatch):
    """numba cannot keep the compiled code: there is no folder for it."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert compiled(lambda number: number + 1)(2) == 3


# --- further forms ---


def test_a_sparsity_per_sample_is_that_of_each_alone():
    V, x = problem(30, 80, 4)
    weights = torch.tensor([0.05, 0.3, 1.0, 0.3], dtype=torch.float64)
    together = solve(V, x, sparsity=weights)
    for row, weight in enumerate(weights.tolist()):
        alone = solve(V, x[row : row + 1], sparsity=weight)
        assert all(torch.equal(a[row : row + 1], b) for a, b in zip(together, alone, strict=True))
    for bad in (weights[:3], weights[:, None]):
        with pytest.raises(ValueError, match=r"sparsity must be a number or \(4,\)"):
            solve(V, x, sparsity=bad)
    with pytest.raises(ValueError, match="sparsity must be a finite number"):
        solve(V, x, sparsity=-weights[1] * torch.ones(4, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_many_atoms_need_no_gram_matrix(dtype, monkeypatch):
    V, x = problem(40, 300, 8, dtype)
    expected = solve(V, x, tol=1e-9)[0]
    monkeypatch.setattr(coordinate, "MANY", 299)
    monkeypatch.setattr(coordinate, "gram_matrix", None)
    codes, gap, _ = solve(V, x, tol=1e-9)
    slack = 1e-4 if dtype == torch.float32 else 1e-8
    torch.testing.assert_close(codes, expected, atol=slack, rtol=0)
    assert bool((gap <= slack * x.double().square().sum(1)).all())


def test_large_supports_lose_and_win_atoms():
    """Dense codes, from a start that shares little with them, against the optimality conditions."""
    V, x = problem(150, 400, 3)
    start = solve(V, x.flip(0), sparsity=0.005)[0]
    codes = solve(V, x, sparsity=0.01, start=start, tol=0)[0]
    q, on = (x - codes @ V.T) @ V, codes != 0
    assert int((start != 0).sum(1).min()) > 96 and int(on.sum(1).min()) > 64
    torch.testing.assert_close(q[on], 0.01 * codes[on].sign(), atol=1e-11, rtol=0)
    assert float(q.abs().max()) <= 0.01 + 1e-11


@pytest.mark.parametrize("seed", range(4))
def test_flat_directions_do_not_stop_a_dictionary_by_columns(seed):
    """More atoms than inputs, nearly without sparsity: supports meet atoms that depend on them."""
    V, x = problem(12, 60, 10, seed=seed)
    mask = torch.ones_like(x)
    codes, _, passes = solve(V, x, sparsity=1e-3, mask=mask)
    exact = solve(V, x, sparsity=1e-3, max_passes=100_000)[0]
    few = layer(V, sparsity=1e-3)
    energy, least = (joint_energy(few, [c], x) for c in (codes, exact))
    torch.testing.assert_close(energy, least, rtol=1e-9, atol=0)
    assert int(passes.max()) < 60 and int((codes != 0).sum(1).max()) <= 12


# In the place of the solver, which takes many seconds to compile.
TWO_FUNCTIONS = """
from vnlib.compilation import compiled

@compiled
def inner(number):
    return number + 1

@compiled
def solve(*given):
    return inner(given[-2])
"""


def test_a_compilation_is_announced_once(tmp_path, monkeypatch, caplog):
    """Of two functions, and not at all where the disk has the code."""
    (tmp_path / "functions.py").write_text(TWO_FUNCTIONS)
    for times in (1, 0):
        monkeypatch.setattr(
            working_set, "solve", runpy.run_path(str(tmp_path / "functions.py"))["solve"]
        )
        solve(torch.eye(3), torch.eye(3))
        assert caplog.text.count("compiling coordinate descent") == times
        caplog.clear()


def test_compiled_code_is_found_on_the_disk(monkeypatch):
    solve(*problem(10, 20, 3))
    again = compiled(working_set.solve.py_func)
    monkeypatch.setattr(working_set, "solve", again)
    solve(*problem(10, 20, 3))
    assert again.stats.cache_hits and not again.stats.cache_misses
