"""Slow learning: the rules against loops and autograd, and steps that touch nothing but the atoms
in use.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vnlib.layer import Layer, energy
from vnlib.learning.rules import (
    OPTIMIZERS,
    MaskedAdam,
    MaskedSGD,
    atomic_hebb,
    decorrelate,
    remove_dc,
    subspace_rule,
    tight_frame,
    unit_columns,
)
from vnlib.metrics import coherence
from vnlib.prox import L1

D, K, BATCH = 6, 9, 5


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


RESIDUAL, CODE = draw(BATCH, D, seed=1), draw(BATCH, K, seed=2)


# --- Atomic-Hebb ---


def test_atomic_hebb_is_the_mean_outer_product():
    expected = sum(torch.outer(RESIDUAL[b], CODE[b]) for b in range(BATCH)) / BATCH
    torch.testing.assert_close(atomic_hebb(RESIDUAL, CODE), expected)


def test_atomic_hebb_is_minus_the_gradient_of_the_mean_energy():
    V, x = unit_columns(draw(D, K, seed=3)).requires_grad_(), draw(BATCH, D, seed=4)
    energy(Layer(V, None, L1(sparsity=0.2)), CODE, x).mean().backward()
    with torch.no_grad():
        torch.testing.assert_close(atomic_hebb(x - CODE @ V.T, CODE), -V.grad)


def test_atoms_that_no_sample_uses_do_not_change():
    code = CODE.clone()
    code[:, [1, 4]] = 0
    change = atomic_hebb(RESIDUAL, code)
    assert (change[:, [1, 4]] == 0).all()
    assert (change[:, [0, 2, 3, 5, 6, 7, 8]] != 0).any(0).all()


@pytest.mark.parametrize(
    "rule", [lambda r, c: atomic_hebb(r, c), lambda r, c: subspace_rule(unit_columns(r.T @ c), c)]
)
def test_a_batch_and_its_copy_teach_as_much_as_the_batch(rule):
    U = unit_columns(RESIDUAL.T @ CODE)
    torch.testing.assert_close(
        atomic_hebb(RESIDUAL.repeat(3, 1), CODE.repeat(3, 1)), atomic_hebb(RESIDUAL, CODE)
    )
    torch.testing.assert_close(subspace_rule(U, CODE.repeat(3, 1)), subspace_rule(U, CODE))


# --- the subspace rule ---


@pytest.mark.parametrize("m", [4, K, 12])
def test_subspace_rule_is_the_printed_formula(m):
    U = unit_columns(draw(m, K, seed=5))
    expected = torch.zeros(m, K, dtype=torch.float64)
    for a in CODE:
        h = U @ a
        expected += torch.outer(h, a - min(1, m / K) * U.T @ h) / BATCH
    torch.testing.assert_close(subspace_rule(U, CODE), expected)


def test_subspace_rule_rests_where_the_code_can_be_read_back():
    Q = torch.linalg.qr(draw(K, K, seed=6)).Q
    torch.testing.assert_close(
        subspace_rule(Q, CODE), torch.zeros(K, K, dtype=torch.float64), rtol=0, atol=1e-12
    )
    # A tight frame with fewer rows: s U'U is the projector onto the row space, in which this code
    # lies.
    frame = torch.linalg.qr(draw(K, 4, seed=7)).Q.T * (K / 4) ** 0.5
    code = draw(BATCH, 4, seed=8) @ frame
    assert subspace_rule(frame, code).abs().max() < 1e-12 < code.abs().max()


def test_following_the_subspace_rule_makes_the_code_readable():
    U, code = unit_columns(draw(4, K, seed=9)), draw(200, K, seed=10)

    def unread(U):
        return (code - 4 / K * code @ U.T @ U).square().sum(1).mean()

    before = unread(U)
    for _ in range(300):
        U = unit_columns(U + 0.02 * subspace_rule(U, code))
    # Of 9 numbers sent through 4, about 5/9 is lost at best.
    assert unread(U) < 0.98 * before
    gram = torch.linalg.svdvals(U).square()
    assert gram.max() / gram.min() < 1.3


# --- unit columns ---


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_unit_columns_have_norm_one_and_their_old_direction(seed, scale):
    W = scale * draw(D, K, seed=seed)
    unit = unit_columns(W)
    torch.testing.assert_close(unit.norm(dim=0), torch.ones(K, dtype=torch.float64))
    torch.testing.assert_close(unit * W.norm(dim=0), W)


def test_an_empty_column_stays_finite():
    W = torch.zeros(3, 2)
    W[:, 1] = 2.0
    assert unit_columns(W)[:, 0].tolist() == [0, 0, 0]


# --- DC, decorrelation, tight frames ---


def test_removing_the_mean_is_a_projection():
    W = draw(D, K, seed=30) + 3
    free = remove_dc(W)
    torch.testing.assert_close(free.mean(0), torch.zeros(K, dtype=torch.float64))
    torch.testing.assert_close(remove_dc(free), free)
    torch.testing.assert_close(free.var(0), W.var(0))


def test_decorrelation_is_a_gradient_step_on_the_overlaps():
    W = unit_columns(draw(D, K, seed=31) + 1).requires_grad_()
    gram = W.T @ W
    (0.25 * (gram - gram.diag().diag()).square().sum()).backward()
    with torch.no_grad():
        step = decorrelate(W, 0.3) - W
        torch.testing.assert_close(step, -0.3 * W.grad / (W.T @ W).abs().sum(0).max())


@pytest.mark.parametrize("offset", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_decorrelation_lowers_the_overlaps_however_coherent_the_atoms(offset, strength):
    def overlaps(W):
        return (W.T @ W).fill_diagonal_(0).square().sum()

    W = unit_columns(draw(D, K, seed=32) + offset)
    first = W
    for _ in range(30):
        moved = unit_columns(decorrelate(W, strength))
        assert overlaps(moved) <= overlaps(W) + 1e-9
        W = moved
    assert coherence(W) < coherence(first)


def test_orthonormal_atoms_have_nothing_to_decorrelate():
    Q = torch.linalg.qr(draw(D, 4, seed=33)).Q
    torch.testing.assert_close(decorrelate(Q, 1.0), Q)
    assert torch.equal(decorrelate(torch.eye(3), 1.0), torch.eye(3))


@pytest.mark.parametrize(("m", "atoms"), [(4, 9), (16, 24), (1, 5), (6, 6)])
def test_tight_frames_are_tight_and_of_unit_norm(m, atoms):
    frame = tight_frame(draw(m, atoms, seed=34))
    wanted = atoms / m * torch.eye(m, dtype=torch.float64)
    torch.testing.assert_close(frame @ frame.T, wanted, rtol=0, atol=2e-4 * atoms / m)
    torch.testing.assert_close(frame.norm(dim=0), torch.ones(atoms, dtype=torch.float64))
    assert torch.equal(frame, tight_frame(draw(m, atoms, seed=34)))
    assert tight_frame(draw(m, atoms, seed=34).float()).dtype == torch.float32


# --- masked Adam ---

ALL = torch.ones(K, dtype=torch.bool)


def masks(seed: int, steps: int) -> torch.Tensor:
    return torch.rand(steps, K, generator=torch.Generator().manual_seed(seed)) < 0.5


def test_with_all_columns_active_it_is_adam():
    W = draw(D, K, seed=11)
    p = torch.nn.Parameter(W.clone())
    adam, oracle = MaskedAdam(W), torch.optim.Adam([p], lr=0.03, betas=(0.9, 0.99), eps=1e-8)
    for step in range(20):
        g = draw(D, K, seed=100 + step)
        p.grad = -g
        oracle.step()
        adam.ascend(W, g, ALL, 0.03, unit_norm=False)
        torch.testing.assert_close(W, p.data, rtol=1e-10, atol=1e-12)


def test_each_column_is_the_adam_of_its_own_history():
    """A column that rested has the moments and the bias correction of the updates that it took part
    in.
    """
    W, active = draw(D, K, seed=12), masks(3, 15)
    start, adam = W.clone(), MaskedAdam(W)
    for step, mask in enumerate(active):
        adam.ascend(W, draw(D, K, seed=200 + step), mask, 0.02, unit_norm=False)
    assert active.sum(0).unique().numel() > 2
    assert torch.equal(adam.kept["steps"], active.sum(0).double())
    for k in range(K):
        p = torch.nn.Parameter(start[:, k].clone())
        oracle = torch.optim.Adam([p], lr=0.02, betas=adam.betas, eps=1e-8)
        for step in active[:, k].nonzero().flatten().tolist():
            p.grad = -draw(D, K, seed=200 + step)[:, k]
            oracle.step()
        torch.testing.assert_close(W[:, k], p.data, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("unit_norm", [True, False])
def test_inactive_columns_and_their_moments_keep_every_bit(unit_norm):
    W = unit_columns(draw(D, K, seed=13).float())
    adam, active = MaskedAdam(W), masks(4, 12)
    # momentum that would move them
    adam.ascend(W, draw(D, K, seed=14).float(), ALL, 0.1, unit_norm=unit_norm)
    for step, mask in enumerate(active):
        before = {"W": W.clone()} | {name: t.clone() for name, t in adam.state().items()}
        adam.ascend(W, draw(D, K, seed=300 + step).float(), mask, 0.1, unit_norm=unit_norm)
        for name, now in ({"W": W} | adam.state()).items():
            assert torch.equal(now[..., ~mask], before[name][..., ~mask]), name
            assert (now[..., mask] != before[name][..., mask]).any(), name


def test_nothing_happens_when_no_atom_is_active():
    W = unit_columns(draw(D, K, seed=15))
    adam, before = MaskedAdam(W), W.clone()
    adam.ascend(W, draw(D, K, seed=16), ~ALL, 0.1)
    assert torch.equal(W, before) and (adam.kept["steps"] == 0).all()


def test_columns_return_to_unit_norm_and_move_along_the_direction():
    W, mask = unit_columns(draw(D, K, seed=17)), masks(5, 1)[0]
    before, g = W.clone(), draw(D, K, seed=18)
    MaskedAdam(W).ascend(W, g, mask, 0.05)
    torch.testing.assert_close(W.norm(dim=0), torch.ones(K, dtype=torch.float64))
    # The first step of Adam is the learning rate times the sign.
    torch.testing.assert_close(
        W[:, mask], unit_columns(before + 0.05 * g.sign())[:, mask], rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_is_kept(dtype):
    W = unit_columns(draw(D, K, seed=19)).to(dtype)
    adam, exact = MaskedAdam(W), unit_columns(draw(D, K, seed=19))
    reference = MaskedAdam(exact)
    for step in range(10):
        g, mask = draw(D, K, seed=400 + step), masks(step, 1)[0]
        adam.ascend(W, g.to(dtype), mask, 0.02)
        reference.ascend(exact, g, mask, 0.02)
    assert W.dtype == dtype and all(t.dtype == dtype for t in adam.state().values())
    torch.testing.assert_close(W.double(), exact, rtol=0, atol=1e-4)


def test_the_state_is_live():
    W = unit_columns(draw(D, K, seed=20))
    adam = MaskedAdam(W)
    state = adam.state()
    adam.ascend(W, draw(D, K, seed=21), ALL, 0.1)
    assert (
        (state["steps"] == 1).all()
        and state["first"].abs().max() > 0
        and state["second"].abs().max() > 0
    )


# --- masked SGD, and what the two have in common ---


def test_sgd_moves_the_active_columns_along_the_direction():
    W, g, mask = unit_columns(draw(D, K, seed=22)), draw(D, K, seed=23), masks(6, 1)[0]
    free, held = W.clone(), W.clone()
    MaskedSGD(free).ascend(free, g, mask, 0.1, unit_norm=False)
    MaskedSGD(held).ascend(held, g, mask, 0.1)
    torch.testing.assert_close(free[:, mask], W[:, mask] + 0.1 * g[:, mask])
    torch.testing.assert_close(held[:, mask], unit_columns(free[:, mask]))
    for moved in (free, held):
        assert torch.equal(moved[:, ~mask], W[:, ~mask])
    assert MaskedSGD(W).state() == {}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_column_that_is_forgotten_starts_anew(name):
    W, mask = unit_columns(draw(D, K, seed=24)), torch.zeros(K, dtype=torch.bool)
    mask[[2, 5]] = True
    optimizer, fresh = OPTIMIZERS[name](W), OPTIMIZERS[name](W)
    for step in range(3):
        optimizer.ascend(W, draw(D, K, seed=500 + step), ALL, 0.05)
    before, V = W.clone(), W.clone()
    optimizer.forget(torch.tensor([2, 5]))
    g = draw(D, K, seed=25)
    optimizer.ascend(W, g, ALL, 0.05)
    fresh.ascend(V, g, mask, 0.05)
    torch.testing.assert_close(W[:, mask], V[:, mask])
    if name == "adam":
        fresh.ascend(before, g, ~mask, 0.05)
        assert not torch.allclose(W[:, ~mask], before[:, ~mask]), "the others keep their history"
