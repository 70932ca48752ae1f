"""Schedules, solvers and starts of the settle: all must reach the point that plain
steps reach.
"""

from __future__ import annotations

import dataclasses

import pytest
import torch
from sklearn.linear_model import Lasso
from stack_cases import FEEDBACK, REST, SCHEDULES, SOON, X, draw, settle, stack

from vnlib.layer import Layer, hessian, lipschitz
from vnlib.learning.rules import unit_columns
from vnlib.prox import CEL0, L0, L1, MCP, ElasticNet, NonNegativeL1, TopK
from vnlib.settle import SettleConfig, Settler, Stop, joint_energy
from vnlib.settle.quadratic import Quadratic
from vnlib.settle.steps import METHODS, LineSearch


@pytest.fixture(scope="module")
def rest():
    """Where plain steps end, for three layers."""
    return settle(stack(), X, method="ista", **REST)


# --- schedules ---


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("method", ["ista", "fista", "restart", "line_search"])
def test_every_schedule_and_method_reaches_the_same_point(schedule, method, rest):
    # Momentum without restarts orbits the minimum for long; plain steps that are taken together are
    # half as long.
    tol = {"fista": 1e-3, "ista": 1e-3}.get(method, 1e-7)
    sweeps = 600 if method in ("restart", "line_search") else 1200
    found = settle(stack(), X, schedule=schedule, method=method, tol=0, max_sweeps=sweeps)
    for code, exact in zip(found.codes, rest.codes, strict=True):
        torch.testing.assert_close(code, exact, rtol=0, atol=tol)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_plain_steps_never_raise_the_energy_in_any_schedule(schedule, tilt):
    layers = stack(tilt=tilt)
    start = [draw(6, layer.V.shape[1], seed=i) for i, layer in enumerate(layers)]
    found = settle(
        layers, X, start, schedule=schedule, method="ista", tol=0, max_sweeps=400, trace=True
    )
    rows = torch.stack(found.trace.energy)
    assert ((rows[1:] - rows[:-1]) <= 1e-12 * rows[:-1]).all()
    assert (rows[-1] < 0.9 * rows[0]).all()


def test_layers_that_step_together_need_the_shorter_step():
    """The same step as in a sweep would overshoot: with strongly coupled layers the energy then
    rises.
    """
    V, U = torch.eye(1, dtype=torch.float64), torch.eye(1, dtype=torch.float64)
    layers = [Layer(V, U, L1(sparsity=0.0)), Layer(V, None, L1(sparsity=0.0))]
    x = torch.ones(1, 1, dtype=torch.float64)
    start = [
        torch.tensor([[5.0]], dtype=torch.float64),
        torch.tensor([[-5.0]], dtype=torch.float64),
    ]
    options = {"method": "ista", "tol": 0.0, "max_sweeps": 50, "trace": True}
    together = settle(layers, x, start, feedback=50.0, schedule="recurrent", **options)
    rows = torch.stack(together.trace.energy)
    assert (rows[1:] <= rows[:-1]).all()
    # By hand with the sweep's step 1/L: both codes go to where the other one was, again and again.
    a, b = start
    for _ in range(3):
        a, b = a - ((a - x) + 50 * (a - b)) / 51, b - (b - a)
        assert joint_energy(layers, [a, b], x, 50.0) > 0.9 * joint_energy(layers, start, x, 50.0)


def test_staggered_lower_layers_step_while_upper_ones_are_started():
    layers = stack()
    plain = settle(layers, X, schedule="sweep", method="ista", tol=0, max_sweeps=1)
    staggered = settle(layers, X, schedule="staggered", method="ista", tol=0, max_sweeps=1)
    assert (staggered.energy < plain.energy).all()
    # By hand: layer 1; layers 1 and 2; then upward (layer 1 listens to layer 2, started before),
    # then downward.
    settler = Settler(layers, feedback=FEEDBACK)
    lips = [q.lipschitz() for q in settler.quadratics]
    a = [torch.zeros(6, layer.V.shape[1], dtype=torch.float64) for layer in layers]

    def step(i, coupled):
        x = X if i == 0 else a[i - 1] @ layers[i - 1].U.T
        gradient = (a[i] @ layers[i].V.T - x) @ layers[i].V
        if coupled:
            target = a[i + 1] @ layers[i + 1].V.T
            gradient += FEEDBACK * (a[i] @ layers[i].U.T - target) @ layers[i].U
        a[i] = layers[i].penalty.prox(a[i] - gradient / lips[i], 1 / lips[i])

    for i, coupled in [
        (0, False),
        (0, False),
        (1, False),
        (0, True),
        (1, False),
        (2, False),
        (1, True),
        (0, True),
    ]:
        step(i, coupled)
    for code, expected in zip(staggered.codes, a, strict=True):
        torch.testing.assert_close(code, expected)


# --- solvers for one layer ---


@pytest.mark.parametrize(
    "penalty", [L1(sparsity=0.3), NonNegativeL1(sparsity=0.2), ElasticNet(sparsity=0.2, ridge=0.5)]
)
def test_every_method_solves_convex_problems(penalty):
    layer = dataclasses.replace(stack(1)[0], penalty=penalty)
    exact = settle([layer], X, method="ista", **REST)
    for method in sorted(METHODS):
        found = settle(
            [layer], X, method=method, criterion="gap", tol=1e-10, max_sweeps=20_000, check_every=10
        )
        assert found.converged.all(), method
        torch.testing.assert_close(found.codes[0], exact.codes[0], rtol=0, atol=1e-4)
        torch.testing.assert_close(found.energy, exact.energy, rtol=1e-9, atol=0)


@pytest.mark.parametrize("method", ["ista", "restart", "line_search"])
@pytest.mark.parametrize(
    "penalty",
    [
        L0(sparsity=0.1),
        MCP(sparsity=0.3, gamma=2.0),
        CEL0(sparsity=0.1),
        TopK(penalty=L1(sparsity=0.1), k=4),
    ],
)
def test_steps_descend_for_penalties_that_are_not_convex(penalty, method):
    layer = dataclasses.replace(stack(1, tilt=0.4)[0], penalty=penalty)
    found = settle([layer], X, method=method, tol=0, max_sweeps=300, trace=True)
    rows = torch.stack(found.trace.energy)
    assert ((rows[1:] - rows[:-1]) <= 1e-12 * rows[:-1]).all()
    assert (found.codes[0] != 0).any() and (found.codes[0] == 0).any()


def test_a_line_search_takes_longer_steps_and_needs_fewer_sweeps():
    layers = stack(1, tilt=1.5, sparsity=(1.0,))
    options = {"criterion": "gap", "tol": 1e-6, "max_sweeps": 20_000}
    searched, restarted = (
        settle(layers, X, method=m, **options) for m in ("line_search", "restart")
    )
    assert searched.converged.all() and restarted.converged.all()
    assert searched.sweeps.double().mean() < restarted.sweeps.double().mean()
    assert (searched.states[0].memory["lip"] < lipschitz(hessian(layers[0]))).any()


def test_a_step_that_was_taken_back_does_not_end_the_search(monkeypatch):
    """With a start a million times too long and slow growth, many sweeps in a row change
    nothing.
    """
    rough = Quadratic.rough_lipschitz
    monkeypatch.setattr(
        Quadratic, "rough_lipschitz", lambda self, coupled: 1e-6 * rough(self, coupled)
    )
    monkeypatch.setattr(LineSearch, "margin", 1e-9)
    layers = stack(1)
    found = settle(layers, X, method="line_search", tol=1e-8, max_sweeps=2000)
    best = settle(layers, X, method="ista", **REST)
    assert (found.sweeps > 20).all() and found.converged.all()
    torch.testing.assert_close(found.energy, best.energy, rtol=1e-4, atol=0)


def test_alternating_directions_are_for_layers_alone():
    with pytest.raises(ValueError, match="method 'admm' settles one layer at a time"):
        Settler(stack(2), feedback=0.1, config=SettleConfig(method="admm"))
    layers = stack(2)
    one_by_one = settle(
        layers, X, feedback=0.0, method="admm", criterion="gap", tol=1e-9, max_sweeps=5000
    )
    plain = settle(layers, X, feedback=0.0, method="ista", **REST)
    for code, exact in zip(one_by_one.codes, plain.codes, strict=True):
        torch.testing.assert_close(code, exact, rtol=0, atol=1e-4)


@pytest.mark.parametrize("penalty", [L1, NonNegativeL1])
def test_coordinate_descent_solves_layers_alone(penalty):
    layers = stack(2, penalty=penalty)
    found = settle(layers, X, feedback=0.0, method="cd", criterion="gap", tol=1e-10)
    plain = settle(layers, X, feedback=0.0, **SOON)
    assert found.converged.all() and set(found.reasons) == {Stop.GAP}
    torch.testing.assert_close(found.codes[0], plain.codes[0], rtol=0, atol=1e-5)
    model = Lasso(
        alpha=0.4 / 16,
        fit_intercept=False,
        tol=1e-12,
        max_iter=100_000,
        positive=penalty is NonNegativeL1,
    )
    exact = model.fit(layers[0].V.numpy(), X[0].numpy()).coef_
    torch.testing.assert_close(found.codes[0][0], torch.from_numpy(exact), rtol=0, atol=1e-6)


# --- starts ---


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("feedback", [0.0, FEEDBACK])
@pytest.mark.parametrize("method", ["ista", "fista", "restart", "line_search"])
def test_a_resumed_settle_goes_on_as_if_it_had_not_stopped(schedule, feedback, method):
    layers = stack()
    options = {"schedule": schedule, "feedback": feedback, "method": method, "tol": 0.0}
    whole = settle(layers, X, max_sweeps=40, **options)
    half = settle(layers, X, max_sweeps=20, **options)
    before = [state.code.clone() for state in half.states]
    rest = settle(layers, X, half, max_sweeps=20, **options)
    if feedback:  # without it layer 2 starts from other inputs
        for code, exact in zip(rest.codes, whole.codes, strict=True):
            assert torch.equal(code, exact)
    else:
        assert torch.equal(rest.codes[0], whole.codes[0])
    assert all(torch.equal(a.code, b) for a, b in zip(half.states, before, strict=True)), (
        "changed by resuming"
    )


def test_a_settle_can_be_resumed_by_another_method_from_its_codes(rest):
    layers = stack()
    begun = settle(layers, X, method="restart", tol=0, max_sweeps=5)
    found = settle(layers, X, begun, method="line_search", tol=0, max_sweeps=800)
    torch.testing.assert_close(found.codes[0], rest.codes[0], rtol=0, atol=1e-7)
    with pytest.raises(ValueError, match=r"start must hold codes of the shapes \[\(2, 20\)"):
        settle(layers, X[:2], begun)


@pytest.mark.parametrize("seed", [0, 100])
def test_a_settle_from_codes_drawn_by_chance_ends_in_the_same_point(rest, seed):
    start = [2 * draw(6, K, seed=seed + K) for K in (20, 12, 9)]
    found = settle(stack(), X, start, **SOON)
    torch.testing.assert_close(found.codes[0], rest.codes[0], rtol=0, atol=1e-6)


# --- mix, masks, untied feedback ---


def test_mix_keeps_a_share_of_the_code_in_the_downward_step():
    layers = stack(2)
    one = settle(layers, X, method="ista", tol=0, max_sweeps=1)
    none = settle(layers, X, method="ista", tol=0, max_sweeps=1, mix=1.0)
    half = settle(layers, X, method="ista", tol=0, max_sweeps=1, mix=0.5)
    torch.testing.assert_close(half.codes[0], 0.5 * (one.codes[0] + none.codes[0]))
    lip = Settler(layers, feedback=FEEDBACK).quadratics[0].lipschitz()
    torch.testing.assert_close(none.codes[0], L1(sparsity=0.4).prox(X @ layers[0].V / lip, 1 / lip))


@pytest.mark.parametrize("method", ["ista", "restart", "line_search"])
def test_mix_does_not_move_the_fixed_point(method, rest):
    found = settle(
        stack(), X, method=method, mix=0.4, tol=0, max_sweeps=2500 if method == "ista" else 800
    )
    torch.testing.assert_close(found.codes[0], rest.codes[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("method", ["restart", "line_search"])
def test_hidden_inputs_have_no_part_in_the_settle(depth, method):
    layers, mask = stack(depth), (draw(6, 16, seed=8) > -0.3).double()
    options = SOON | {"method": method}
    found = settle(layers, X, mask=mask, **options)
    noise = settle(layers, X + (1 - mask) * draw(6, 16, seed=9), mask=mask, **options)
    for code, other in zip(found.codes, noise.codes, strict=True):
        assert torch.equal(code, other)
    # Each sample's mask is a dictionary of its own.
    for index in (0, 3):
        seen = mask[index] > 0
        first = dataclasses.replace(layers[0], V=layers[0].V[seen])
        alone = settle([first, *layers[1:]], X[index : index + 1, seen], **options)
        torch.testing.assert_close(found.codes[0][index], alone.codes[0][0], rtol=0, atol=1e-6)
        torch.testing.assert_close(found.energy[index], alone.energy[0])


def test_a_masked_settle_can_stop_on_its_gap():
    mask = (draw(6, 16, seed=8) > -0.3).double()
    found = settle(stack(), X, mask=mask, criterion="gap", tol=1e-6, max_sweeps=5000)
    exact = settle(stack(), X, mask=mask, **SOON)
    assert found.converged.all()
    torch.testing.assert_close(found.energy, exact.energy, rtol=2e-6, atol=0)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(6, 15, dtype=torch.float64), r"mask must have shape \(batch, 16\)"),
        (
            torch.ones(5, 16, dtype=torch.float64),
            r"mask must hold 0 and 1 in the shape of x, \(6, 16\), got \(5, 16\)",
        ),
        (torch.full((6, 16), 0.5, dtype=torch.float64), "mask must hold 0 and 1"),
    ],
)
def test_bad_masks_are_named(mask, message):
    with pytest.raises(ValueError, match=message):
        settle(stack(), X, mask=mask)


def test_untied_feedback_reads_the_target_by_its_own_dictionary():
    first, second = stack(2)
    B = unit_columns(draw(10, 20, seed=40))
    untied = [dataclasses.replace(first, B=B), second]
    found = settle(untied, X, **SOON)
    target = found.codes[1] @ second.V.T
    gradient = (found.codes[0] @ first.V.T - X) @ first.V + FEEDBACK * (
        found.codes[0] @ B.T - target
    ) @ B
    active = found.codes[0] != 0
    torch.testing.assert_close(
        gradient[active], -0.4 * found.codes[0].sign()[active], rtol=0, atol=1e-6
    )
    assert (gradient[~active].abs() <= 0.4 + 1e-6).all()
    torch.testing.assert_close(found.inputs[1], found.codes[0] @ first.U.T)
    tied = settle([dataclasses.replace(first, B=first.U), second], X, **SOON)
    torch.testing.assert_close(tied.codes[0], settle([first, second], X, **SOON).codes[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schedule": "up"}, "schedule must be one of 'sweep', 'staggered', 'recurrent', got 'up'"),
        ({"criterion": "time"}, "criterion must be one of 'auto', 'energy', 'gap', got 'time'"),
        ({"check_every": 0}, "check_every must be an integer >= 1, got 0"),
        ({"mix": 1.5}, "mix must be a finite number >= 0 and <= 1, got 1.5"),
        ({"monotone": True, "check_every": 4}, "check_every must be 1, got 4"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        SettleConfig(**options)
