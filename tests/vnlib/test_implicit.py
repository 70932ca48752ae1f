"""Gradients through the settle, against finite differences and scikit-learn's solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso

from vnlib.implicit import settled_code
from vnlib.layer import Layer
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import L0, L1, ElasticNet, NonNegativeL1, WeightedL1
from vnlib.settle import SettleConfig, Settler

TIGHT = SettleConfig(tol=0, max_sweeps=1000)
PENALTIES = [
    L1(sparsity=0.3),
    NonNegativeL1(sparsity=0.2),
    ElasticNet(sparsity=0.3, ridge=0.2),
]


def draw(*shape: int, seed: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


def check(function: Callable[..., torch.Tensor], inputs: list[torch.Tensor]) -> None:
    """Gradients of a random projection of the code against central differences, one input at a
    time along a random direction.
    """
    inputs = [t.clone().requires_grad_() for t in inputs]
    code = function(*inputs)
    weight = draw(*code.shape, seed=90)
    grads = torch.autograd.grad((code * weight).sum(), inputs)
    for index, (given, grad) in enumerate(zip(inputs, grads, strict=True)):
        along, step = draw(*given.shape, seed=91 + index), 1e-6
        moved = []
        for sign in (1, -1):
            changed = [t.detach() for t in inputs]
            changed[index] = changed[index] + sign * step * along
            moved.append((function(*changed) * weight).sum())
        slope = (moved[0] - moved[1]) / (2 * step)
        assert grad.abs().max() > 1e-3
        torch.testing.assert_close((grad * along).sum(), slope, rtol=1e-5, atol=1e-7)


WEIGHTED = WeightedL1(sparsity=0.3, weights=0.3 + draw(12, seed=9).abs())


@pytest.mark.parametrize("penalty", [*PENALTIES, WEIGHTED], ids=lambda p: type(p).__name__)
def test_one_layer_has_the_slopes_of_finite_differences(penalty):
    V, x = unit_columns(draw(8, 12, seed=0)), 2 * draw(5, 8, seed=1)

    def code(x: torch.Tensor, V: torch.Tensor, sparsity: torch.Tensor) -> torch.Tensor:
        layer = Layer(V, None, replace(penalty, sparsity=sparsity[0].item()))
        return settled_code(Settler([layer], config=TIGHT), x, sparsity)

    found = code(x, V, torch.tensor([penalty.sparsity]).double())
    assert 0 < int((found != 0).sum()) < found.numel()
    check(code, [x, V, torch.tensor([penalty.sparsity]).double()])


@pytest.mark.parametrize("feedback", [0.0, 0.5])
@pytest.mark.parametrize("penalty", PENALTIES[::2], ids=lambda p: type(p).__name__)
def test_a_stack_has_the_slopes_of_finite_differences(feedback, penalty):
    """Coupled layers are one layer; with feedback 0 the gradient goes through the messages."""
    V1, V2, U = (
        unit_columns(draw(*shape, seed=s)) for shape, s in (((8, 12), 2), ((6, 7), 3), ((6, 12), 4))
    )
    sparsity = torch.tensor([0.4, 0.2]).double()

    def code(*given: torch.Tensor) -> torch.Tensor:
        x, V1, V2, U, sparsity = given
        first, second = (replace(penalty, sparsity=one.item()) for one in sparsity)
        layers = [Layer(V1, U, first), Layer(V2, None, second)]
        return settled_code(Settler(layers, feedback=feedback, config=TIGHT), x, sparsity)

    check(code, [2 * draw(5, 8, seed=5), V1, V2, U, sparsity])


def test_messages_through_a_relu_without_feedback():
    V1, V2, U = (
        unit_columns(draw(*shape, seed=s)) for shape, s in (((8, 12), 6), ((6, 7), 7), ((6, 12), 8))
    )

    def code(x: torch.Tensor, V1: torch.Tensor) -> torch.Tensor:
        layers = [Layer(V1, U, L1(sparsity=0.2)), Layer(V2, None, L1(sparsity=0.05))]
        return settled_code(Settler(layers, activation="relu", config=TIGHT), x)

    check(code, [2 * draw(5, 8, seed=9), V1])


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_slopes_lead_to_what_scikit_learn_finds_at_moved_data(penalty):
    """The solution at x + h dx is the one at x and h times the derivative along dx, but for h^2."""
    V, x, along, step = (
        unit_columns(draw(20, 30, seed=10)),
        2 * draw(1, 20, seed=11),
        draw(1, 20, seed=12),
        1e-4,
    )
    ridge = getattr(penalty, "ridge", 0.0)
    options = {"fit_intercept": False, "tol": 1e-14, "max_iter": 100000}
    if ridge:
        total = penalty.sparsity + ridge
        model = SklearnElasticNet(alpha=total / 20, l1_ratio=penalty.sparsity / total, **options)
    else:
        model = Lasso(
            alpha=penalty.sparsity / 20, positive=isinstance(penalty, NonNegativeL1), **options
        )
    here, there = (
        torch.from_numpy(model.fit(V.numpy(), one[0].numpy()).coef_.copy())
        for one in (x, x + step * along)
    )
    x.requires_grad_()
    code = settled_code(Settler([Layer(V, None, penalty)], config=TIGHT), x)[0]
    torch.testing.assert_close(code.detach(), here, atol=1e-7, rtol=0)
    slopes = torch.stack(
        [torch.autograd.grad(one, x, retain_graph=True)[0] @ along[0] for one in code]
    )[:, 0]
    assert (here != 0).sum() > 3 and (there - here).abs().max() > 1e-5
    torch.testing.assert_close(slopes, (there - here) / step, atol=1e-4, rtol=0)


def test_a_network_is_a_module_that_learns_by_its_own_loss():
    """With the dictionary and a linear head trained end to end, the loss of a classifier falls
    much further than with the head alone.
    """
    x = draw(200, 10, seed=13)
    y = (x[:, 0].abs() > x[:, 1].abs()).long()

    def trained(*, through: bool) -> list[float]:
        config = VNConfig(n_inputs=10, atoms=(16,), sparsity=(0.3,), settle=SettleConfig.exact())
        network = VectorNetwork(config, seed=0).double()
        V = network.V[0].requires_grad_(through)
        head = torch.nn.Linear(16, 2).double()
        torch.nn.init.zeros_(head.weight), torch.nn.init.zeros_(head.bias)
        learning = [*head.parameters(), *[V] * through]
        optimizer, losses = torch.optim.Adam(learning, lr=0.03), []
        for _ in range(40):
            loss = torch.nn.functional.cross_entropy(head(network(x).abs()), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            V.data = unit_columns(V.data)
            losses.append(loss.item())
        return losses

    whole, head = trained(through=True), trained(through=False)
    assert whole[0] == head[0]
    assert whole[-1] < 0.7 * whole[0] and whole[-1] < 0.8 * head[-1]


def test_forward_is_the_settled_top_code():
    config = VNConfig(n_inputs=8, atoms=(12, 6), interface=(5,), sparsity=(0.1, 0.1))
    network, x = VectorNetwork(config, seed=0), draw(4, 8, seed=14).float()
    code = network(x)
    assert torch.equal(code, network.settle(x).codes[-1]) and not code.requires_grad
    network(x.requires_grad_()).sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0 and network.V[0].grad is None


def test_a_silent_code_has_zero_slopes():
    network = VectorNetwork(VNConfig(n_inputs=8, atoms=(12,), sparsity=(100.0,)), seed=0)
    x = draw(4, 8, seed=15).float().requires_grad_()
    network(x).sum().backward()
    assert torch.equal(x.grad, torch.zeros_like(x))


@pytest.mark.parametrize(
    ("layers", "options", "message"),
    [
        ([L0(sparsity=0.1)], {}, "need l1 or elastic-net penalties; layer 1 has L0"),
        ([L1(sparsity=0.1)] * 2, {"feedback": 0.1, "activation": "relu"}, "identity messages"),
    ],
)
def test_what_has_no_gradient_is_named(layers, options, message):
    stack = [Layer(torch.eye(3), torch.eye(3), penalty) for penalty in layers]
    with pytest.raises(ValueError, match=message):
        settled_code(
            Settler(stack, config=SettleConfig(method="restart", criterion="energy"), **options),
            torch.ones(1, 3),
        )
