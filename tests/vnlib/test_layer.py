"""One layer against its definitions: loops for sums, autograd for gradients, the SVD for the step
size.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vnlib.layer import (
    Layer,
    energy,
    hessian,
    lipschitz,
    message,
    operator,
    reconstruct,
)
from vnlib.learning.rules import unit_columns
from vnlib.metrics import operator_rank
from vnlib.prox import L1

D, K, M, BATCH = 7, 9, 5, 4


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make_layer(seed: int = 0, *, sparsity: float = 0.3) -> Layer:
    return Layer(
        unit_columns(draw(D, K, seed=seed)),
        unit_columns(draw(M, K, seed=seed + 1)),
        L1(sparsity=sparsity),
    )


X, CODE, TARGET = draw(BATCH, D, seed=10), draw(BATCH, K, seed=11), draw(BATCH, M, seed=12)


def sparse_code(seed: int, active: int) -> torch.Tensor:
    code = torch.zeros(BATCH, K, dtype=torch.float64)
    for b in range(BATCH):
        where = torch.randperm(K, generator=torch.Generator().manual_seed(seed + b))[:active]
        code[b, where] = draw(active, seed=seed + 100 + b)
    return code


# --- energy and curvature ---


@pytest.mark.parametrize("feedback", [0.0, 0.4])
def test_energy_is_the_printed_sum(feedback):
    layer = make_layer()
    for b in range(BATCH):
        x_hat = sum(CODE[b, k] * layer.V[:, k] for k in range(K))
        t_hat = sum(CODE[b, k] * layer.U[:, k] for k in range(K))
        expected = 0.5 * ((X[b] - x_hat) ** 2).sum() + 0.3 * CODE[b].abs().sum()
        torch.testing.assert_close(energy(layer, CODE, X)[b], expected)
        expected = expected + feedback / 2 * ((TARGET[b] - t_hat) ** 2).sum()
        torch.testing.assert_close(energy(layer, CODE, X, TARGET, feedback)[b], expected)


@pytest.mark.parametrize("feedback", [0.0, 0.1, 2.0])
def test_hessian_is_the_second_derivative(feedback):
    layer = make_layer(sparsity=0.0)

    def one(code):
        return energy(layer, code[None], X[:1], TARGET[:1], feedback)[0]

    expected = torch.autograd.functional.hessian(one, CODE[0])
    torch.testing.assert_close(hessian(layer, feedback), expected, rtol=1e-12, atol=1e-12)


def test_hessian_without_an_interface_ignores_the_feedback():
    layer = Layer(make_layer().V, None, L1(sparsity=0.1))
    torch.testing.assert_close(hessian(layer, 0.7), layer.V.T @ layer.V)


@pytest.mark.parametrize("feedback", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_lipschitz_is_the_squared_largest_singular_value_from_above(seed, feedback):
    layer = make_layer(seed)
    stacked = torch.cat([layer.V, feedback**0.5 * layer.U])
    exact = torch.linalg.svdvals(stacked)[0].item() ** 2
    assert exact <= lipschitz(hessian(layer, feedback)) <= 1.001 * exact


@pytest.mark.parametrize("feedback", [0.0, 1.5])
def test_a_step_of_one_over_l_descends_and_a_step_of_three_over_l_may_not(feedback):
    layer = make_layer(sparsity=0.0)
    worst = torch.linalg.eigh(hessian(layer, feedback)).eigenvectors[:, -1]
    code, lip = (5 * worst)[None], lipschitz(hessian(layer, feedback))
    x, t = X[:1], TARGET[:1]

    before = energy(layer, code.requires_grad_(), x, t, feedback)
    (gradient,) = torch.autograd.grad(before.sum(), code)

    def after(step):
        return energy(layer, code - step * gradient, x, t, feedback)

    decrease = gradient.square().sum() / (2 * lip)
    assert after(1 / lip) <= before - decrease + 1e-12
    assert after(3 / lip) > before


# --- reconstruction, message, operator ---


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(-3, 3), st.floats(-3, 3))
def test_codes_superpose(seed, p, q):
    layer, a, b = make_layer(seed), draw(BATCH, K, seed=seed + 2), draw(BATCH, K, seed=seed + 3)
    together = reconstruct(layer, p * a + q * b)
    torch.testing.assert_close(
        together, p * reconstruct(layer, a) + q * reconstruct(layer, b), rtol=0, atol=1e-10
    )


def test_message_is_the_activated_sum_of_interface_atoms():
    layer = make_layer()
    sent = torch.stack([sum(CODE[b, k] * layer.U[:, k] for k in range(K)) for b in range(BATCH)])
    torch.testing.assert_close(message(layer, CODE), sent)
    rectified = message(layer, CODE, "relu")
    torch.testing.assert_close(rectified, sent.clamp_min(0))
    assert (sent < 0).any() and (rectified >= 0).all()


def test_operator_is_the_weighted_sum_of_rank_one_atoms():
    layer, code = make_layer(), sparse_code(0, active=3)
    W = operator(layer, code)
    assert W.shape == (BATCH, M, D)
    for b in range(BATCH):
        pieces = sum(code[b, k] * torch.outer(layer.U[:, k], layer.V[:, k]) for k in range(K))
        torch.testing.assert_close(W[b], pieces)
        torch.testing.assert_close(W[b], layer.U @ torch.diag(code[b]) @ layer.V.T)


@pytest.mark.parametrize("active", [0, 1, 2, 4, 9])
def test_the_rank_of_the_operator_is_bounded_by_the_active_atoms(active):
    rank = operator_rank(operator(make_layer(), sparse_code(5, active=active)))
    # Atoms in general position reach the bound, until the operator's own sides limit it.
    assert rank.tolist() == [min(active, M, D)] * BATCH


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_is_kept(dtype):
    exact = make_layer()
    layer = Layer(exact.V.to(dtype), exact.U.to(dtype), exact.penalty)
    x, code, target = X.to(dtype), CODE.to(dtype), TARGET.to(dtype)
    for found, expected in (
        (energy(layer, code, x, target, 0.3), energy(exact, CODE, X, TARGET, 0.3)),
        (operator(layer, code), operator(exact, CODE)),
    ):
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)
