"""A lambda per sample: each ends where it ends alone with that lambda."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from stack_cases import FEEDBACK, X, draw, stack

from vnlib.layer import Layer
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import CEL0, L0, L1, MCP, ElasticNet, NonNegativeL1, TopK, WeightedL1
from vnlib.settle import SettleConfig, Settler, duality_gap

SCALE = torch.tensor([0.3, 1.0, 2.5, 0.7, 1.4, 0.5], dtype=torch.float64)
MASK = (draw(6, 16, seed=8) > -0.3).double()
CONVEX = {
    "l1": L1,
    "nonnegative": NonNegativeL1,
    "elastic net": lambda sparsity: ElasticNet(sparsity=sparsity, ridge=0.3),
}
OTHERS = {
    "l0": lambda sparsity: L0(sparsity=sparsity**2),
    "mcp": lambda sparsity: MCP(sparsity=sparsity, gamma=3.0),
    "cel0": lambda sparsity: CEL0(sparsity=sparsity**2),
}


def times(layer: Layer, factor: float) -> Layer:
    """The layer with another lambda, a number."""
    penalty = layer.penalty
    if isinstance(penalty, TopK):
        soft = replace(penalty.penalty, sparsity=factor * penalty.penalty.sparsity)
        return replace(layer, penalty=replace(penalty, penalty=soft))
    return replace(layer, penalty=replace(penalty, sparsity=factor * penalty.sparsity))


def each_alone(layers, config, *, feedback=FEEDBACK, mask=None):
    """Codes and energies of samples that were settled one by one, with a number for lambda."""
    found = []
    for row, factor in enumerate(SCALE.tolist()):
        own = [times(layer, factor) for layer in layers]
        seen = None if mask is None else mask[row : row + 1]
        settler = Settler(own, feedback=feedback, config=config)
        found.append(settler(X[row : row + 1], mask=seen))
    codes = [torch.cat(rows) for rows in zip(*(one.codes for one in found), strict=True)]
    return codes, torch.cat([one.energy for one in found])


def compare(layers, config, *, feedback=FEEDBACK, mask=None, atol=1e-9):
    settler = Settler(layers, feedback=feedback, config=config)
    found = settler(X, mask=mask, scale=SCALE)
    codes, energy = each_alone(layers, config, feedback=feedback, mask=mask)
    for code, exact in zip(found.codes, codes, strict=True):
        torch.testing.assert_close(code, exact, rtol=0, atol=atol)
    torch.testing.assert_close(found.energy, energy, rtol=0, atol=atol)
    plain = settler(X, mask=mask)
    assert any((a - b).abs().max() > 0.05 for a, b in zip(found.codes, plain.codes, strict=True))
    return settler, found


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("penalty", CONVEX)
def test_by_coordinates(penalty, depth, masked):
    layers, mask = stack(depth, penalty=CONVEX[penalty]), MASK if masked else None
    settler, found = compare(layers, SettleConfig(tol=1e-12), mask=mask)
    assert settler.config.method == "cd" and found.converged.all()


@pytest.mark.parametrize("method", ["fista", "restart", "line_search"])
@pytest.mark.parametrize(("penalty", "depth"), [("l1", 1), ("nonnegative", 2), ("elastic net", 3)])
def test_by_sweeps_to_the_gap(method, penalty, depth):
    config = SettleConfig(method=method, criterion="gap", tol=1e-9, max_sweeps=6000)
    layers = stack(depth, penalty=CONVEX[penalty])
    _, found = compare(layers, config, mask=MASK, atol=1e-3)
    own = [
        replace(x, penalty=replace(x.penalty, sparsity=x.penalty.sparsity * SCALE[:, None]))
        for x in layers
    ]
    gap = duality_gap(own, found.codes, X, FEEDBACK, MASK)
    assert len(set(found.sweeps.tolist())) > 1 and found.converged.all()
    assert (gap <= 1e-9 * found.energy).all()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("penalty", OTHERS)
def test_penalties_that_are_not_convex(penalty, masked):
    layers, mask = stack(1, penalty=OTHERS[penalty]), MASK if masked else None
    settler, _ = compare(layers, SettleConfig(tol=1e-10), mask=mask, atol=1e-6)
    assert settler.config.method == "cd"
    sweeps = SettleConfig(method="line_search", tol=0.0, max_sweeps=200)
    compare(layers, sweeps, mask=mask, atol=1e-6)


def test_layers_alone_admm_and_hard_caps():
    layers = stack(3)
    compare(layers, SettleConfig(tol=1e-12), feedback=0.0, atol=1e-6)
    compare(stack(1), SettleConfig(method="admm", criterion="gap", tol=1e-9), atol=1e-3)
    layers[-1] = replace(layers[-1], penalty=TopK(penalty=layers[-1].penalty, k=4))
    compare(layers, SettleConfig(tol=0.0, max_sweeps=300), atol=1e-6)


def test_a_lambda_per_atom_and_per_sample():
    weights = 0.3 + draw(20, seed=20).abs()
    layers = [replace(stack(1)[0], penalty=WeightedL1(sparsity=0.3, weights=weights))]
    for method, atol in (("cd", 1e-9), ("line_search", 1e-3)):
        compare(
            layers,
            SettleConfig(method=method, criterion="gap", tol=1e-10, max_sweeps=5000),
            atol=atol,
        )


def test_replicas_have_a_lambda_per_sample_each():
    one = stack(1)[0]
    both = Layer(torch.stack([one.V, one.V.flip(1)]), None, one.penalty)
    x, scale = torch.stack([X, X]), torch.stack([SCALE, SCALE.flip(0)])
    config = SettleConfig(method="restart", criterion="gap", tol=1e-9, max_sweeps=5000)
    found = Settler([both], config=config)(x, scale=scale)
    for row, V in enumerate(both.V):
        alone = Settler([replace(one, V=V)], config=config)(X, scale=scale[row])
        torch.testing.assert_close(found.codes[0][row], alone.codes[0], rtol=0, atol=1e-4)


def test_a_sample_does_not_depend_on_the_lambdas_of_others():
    network = VectorNetwork(
        VNConfig(n_inputs=16, atoms=(40, 12), interface=(9,), sparsity=(0.2, 0.1)), seed=0
    )
    x, scale = X.float(), SCALE.float()
    whole = network.settle(x, scale=scale)
    part = network.settle(x[2:4], scale=scale[2:4].double())
    for code, few in zip(whole.codes, part.codes, strict=True):
        assert torch.equal(code[2:4], few)
    assert torch.equal(network.settle(x, scale=torch.ones(6)).codes[1], network.settle(x).codes[1])
    assert whole.codes[0].dtype == torch.float32


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (torch.ones(5), r"scale must be \(6,\), a number > 0 per sample, got \(5,\)"),
        (torch.ones(6, 1), r"scale must be \(6,\), .* got \(6, 1\)"),
        (
            torch.tensor([1.0, 1, 1, 0, 1, 1]),
            r"a number > 0 per sample, got \(6,\): \[1.0, 1.0, 1.0, 0.0",
        ),
        (torch.full((6,), torch.nan), r"scale holds 6 value\(s\) that are NaN"),
        (2.0, "scale must be a dense floating-point tensor"),
    ],
)
@pytest.mark.parametrize("method", ["cd", "line_search"])
def test_bad_scales_are_named(method, scale, message):
    settler = Settler(stack(2), feedback=FEEDBACK, config=SettleConfig(method=method))
    with pytest.raises(ValueError, match=message):
        settler(X, scale=scale)
