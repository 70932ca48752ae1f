"""The duality gap: it bounds what is left to gain, and stops the settle."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from stack_cases import FEEDBACK, SOON, X, draw, settle, stack

from vnlib.prox import L0, L1, ElasticNet, NonNegativeL1
from vnlib.settle import SettleConfig, Settler, Stop, duality_gap


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(
    "penalty", [L1, NonNegativeL1, lambda sparsity: ElasticNet(sparsity=sparsity, ridge=0.3)]
)
def test_the_gap_bounds_what_is_left_to_gain(depth, penalty):
    layers = stack(depth, penalty=penalty)
    best = settle(layers, X, **SOON)
    for sweeps in (1, 3, 10, 30, 100):
        found = settle(layers, X, method="restart", tol=0, max_sweeps=sweeps)
        gap = duality_gap(layers, found.codes, X, FEEDBACK)
        assert (gap >= found.energy - best.energy - 1e-12).all()
    assert (duality_gap(layers, best.codes, X, FEEDBACK) < 1e-6 * best.energy).all()


def test_the_gap_of_one_layer_is_that_of_the_lasso():
    """Primal minus dual, as every textbook has it, at the scaled residual."""
    layer, sparsity = stack(1)[0], 0.4
    code = settle([layer], X, tol=0, max_sweeps=8).codes[0]
    r = X - code @ layer.V.T
    s = (sparsity / (r @ layer.V).abs().amax(1)).clamp(max=1)[:, None]
    primal = 0.5 * r.square().sum(1) + sparsity * code.abs().sum(1)
    dual = 0.5 * X.square().sum(1) - 0.5 * (X - s * r).square().sum(1)
    torch.testing.assert_close(duality_gap([layer], [code], X), primal - dual)


def test_a_sample_stops_where_its_gap_is_small_enough():
    layers = stack()
    found = settle(layers, X, criterion="gap", tol=1e-4, check_every=5, max_sweeps=2000)
    gap = duality_gap(layers, found.codes, X, FEEDBACK)
    assert found.converged.all() and (gap <= 1e-4 * found.energy).all()
    assert (
        set(found.reasons) == {Stop.GAP}
        and (found.sweeps % 5 == 0).all()
        and len(set(found.sweeps.tolist())) > 1
    )
    few = settle(layers, X, criterion="gap", tol=1e-12, max_sweeps=3)
    assert set(few.reasons) == {Stop.MAX_SWEEPS}


@pytest.mark.parametrize(
    ("change", "activation", "message"),
    [
        ({"penalty": L0(sparsity=0.1)}, "identity", "needs convex penalties; layer 1 has L0"),
        ({"B": draw(10, 20, seed=0)}, "identity", "needs identity messages and tied dictionaries"),
        ({}, "relu", "needs identity messages and tied dictionaries"),
    ],
)
def test_the_gap_is_refused_where_it_means_nothing(change, activation, message):
    first, second = stack(2)
    first = dataclasses.replace(first, **change)
    with pytest.raises(ValueError, match=message):
        Settler(
            [first, second],
            feedback=0.1,
            activation=activation,
            config=SettleConfig(criterion="gap"),
        )
    if change:
        with pytest.raises(ValueError, match="a duality gap needs"):
            duality_gap([first, second], [draw(6, 20, seed=1), draw(6, 12, seed=2)], X, 0.1)


def test_looking_less_often_does_not_change_the_way():
    often, seldom = (
        settle(stack(), X, tol=0, max_sweeps=60, check_every=n, trace=True, method="ista")
        for n in (1, 7)
    )
    assert often.trace.sweep == list(range(1, 61)) and seldom.trace.sweep == [*range(7, 60, 7), 60]
    for code, other in zip(often.codes, seldom.codes, strict=True):
        assert torch.equal(code, other)
    torch.testing.assert_close(seldom.trace.energy[0], often.trace.energy[6])
