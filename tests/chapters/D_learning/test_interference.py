"""How two updates meet: against autograd and first-order overlaps."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.D_learning import interference as meeting
from vnlib.learning.rules import unit_columns
from vnlib.prox import L1
from vnlib.settle import SettleConfig


def draw(*shape: int, seed: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=rng, dtype=torch.float64).float()


X = draw(120, 10, seed=1) @ draw(10, 10, seed=2)


def sparse_model(sparsity: float = 1.0) -> meeting.Sparse:
    return meeting.Sparse(unit_columns(draw(10, 16, seed=3)).double(), L1(sparsity=sparsity))


def dense_model(relu: bool = False) -> meeting.Dense:
    return meeting.Dense(
        0.3 * draw(6, 10, seed=4).double(), 0.3 * draw(10, 6, seed=5).double(), relu
    )


@pytest.mark.parametrize("relu", [False, True])
def test_dense_gradients_are_those_of_autograd(relu):
    model, x = dense_model(relu), X[:7].double()
    E, D = (W.clone().requires_grad_() for W in (model.E, model.D))
    h = (x @ E.T).clamp_min(0) if relu else x @ E.T
    (0.5 * (x - h @ D.T).square().sum()).backward()
    for found, expected in zip(model.gradients(x), (E.grad, D.grad), strict=True):
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(model.loss(x).sum(), (0.5 * (x - h @ D.T).square().sum()).detach())


@pytest.mark.parametrize("model", [sparse_model(), dense_model(), dense_model(True)])
def test_the_cosine_of_two_updates_is_the_product_of_two_cosines(model):
    code, residual = model.read(X[:5].double())
    updates = torch.stack(
        [torch.outer(e, a).flatten() for e, a in zip(residual, code, strict=True)]
    )
    found = meeting.cosines(residual) * meeting.cosines(code)
    torch.testing.assert_close(found, meeting.cosines(updates))


def test_disjoint_supports_do_not_meet():
    V = torch.eye(10, dtype=torch.float64)
    model, x = meeting.Sparse(V, L1(sparsity=0.1)), torch.zeros(2, 10, dtype=torch.float64)
    x[0, :3], x[1, 5:8] = 1.0, 2.0
    code = model.read(x)[0]
    assert meeting.cosines(code)[0, 1] == 0 and meeting.overlaps(code != 0)[0, 1] == 0
    passed = meeting.passed_on(model, x + 0.01 * draw(2, 10, seed=6).double(), fall=1e-3)
    torch.testing.assert_close(passed, torch.eye(2, dtype=torch.float64), rtol=0, atol=1e-2)


def test_whitening_keeps_the_function_and_makes_the_code_white():
    model, x = dense_model(), X.double()
    white = model.whitened(x)
    torch.testing.assert_close(white.read(x)[1], model.read(x)[1])
    code = white.code(x)
    torch.testing.assert_close(
        code.T @ code / len(x), torch.eye(6, dtype=torch.float64), rtol=0, atol=1e-8
    )
    with pytest.raises(ValueError, match="relu must be False"):
        dense_model(True).whitened(x)


@pytest.mark.parametrize("model", [sparse_model(), dense_model(), dense_model(True)])
def test_a_small_step_lowers_the_own_loss_by_the_share_asked_for(model):
    x = X[:4].double()
    for i in range(4):
        one = x[i : i + 1]
        fall = 1 - float(model.after(one, 1e-4).loss(one) / model.loss(one))
        assert fall == pytest.approx(1e-4, rel=0.1)


def test_what_is_passed_on_is_the_first_order_overlap_of_gradients():
    model, x = dense_model(), X[:4].double()
    passed = meeting.passed_on(model, x, fall=1e-6)
    flat = torch.stack([torch.cat([g.flatten() for g in model.gradients(row[None])]) for row in x])
    inner, loss = flat @ flat.T, model.loss(x)
    expected = (inner / loss) / (inner.diag() / loss)[:, None]
    torch.testing.assert_close(passed, expected, rtol=1e-3, atol=1e-6)
    assert (passed.diag() == 1).all()


def test_pairs_and_overlaps_go_together():
    support = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]).bool()
    found = meeting.overlaps(support)
    torch.testing.assert_close(meeting.pairs(found), torch.tensor([1 / 3, 0.0, 0.0]))
    assert torch.equal(found, found.T)


def test_interference_compares_all_models():
    lengths = {"steps": 4, "lr": 1e-2}
    found = meeting.interference(
        X[:80],
        X[80:90],
        np.arange(10) % 2,
        sparsities=(1.0, 4.0),
        main=1.0,
        sources=4,
        fall=0.02,
        sparse=lengths | {"settle": SettleConfig()},
        dense=lengths,
        atoms=12,
        batch_size=20,
        seed=0,
    )
    assert list(found["model"].values) == ["VN 1", "VN 4", "linear", "whitened", "ReLU"]
    assert list(found["stepped"].values) == ["VN 1", "linear", "whitened", "ReLU"]
    assert found.sizes["pair"] == 45 and found.sizes["arrow"] == 12
    assert (abs(found["meet_pair_cosine"]) <= 1 + 1e-6).all()
    assert (
        found["meet_active_share"].sel(model="VN 4")
        < found["meet_active_share"].sel(model="VN 1")
        < 1
    )
    assert float(found["meet_mse"].sel(model="linear")) == pytest.approx(
        float(found["meet_mse"].sel(model="whitened"))
    )
    assert int(found["meet_same_label"].sum()) == 20
