"""The settle against oracles: closed forms, scikit-learn's lasso, optimality conditions, descent,
Danskin's theorem.

Two traps have tests of their own: a sample's answer that depends on its companions, and a caller's
warm start that is changed in place.
"""

from __future__ import annotations

import dataclasses

import pytest
import torch
from settle_cases import (
    FEEDBACK,
    LONG,
    SPARSITY,
    X,
    draw,
    energies,
    every_method,
    network,
    pull,
    settle,
    single,
    some_codes,
    stack,
)
from sklearn.linear_model import Lasso

from vnlib.layer import Layer, energy, message
from vnlib.learning.rules import unit_columns
from vnlib.prox import make_penalty, soft_threshold
from vnlib.settle import SettleConfig, Settler, Stop, joint_energy

# --- closed forms ---


@every_method
@pytest.mark.parametrize("nonnegative", [False, True])
def test_orthonormal_atoms_give_the_soft_threshold(method, nonnegative):
    V = torch.linalg.qr(draw(16, 9, seed=1)).Q
    layer = Layer(V, None, make_penalty(sparsity=0.4, nonnegative=nonnegative))
    settled = settle([layer], X, method=method, tol=0, max_sweeps=20)
    expected = (X @ V - 0.4).clamp_min(0) if nonnegative else soft_threshold(X @ V, 0.4)
    torch.testing.assert_close(settled.codes[0], expected, rtol=0, atol=1e-12)


def test_orthonormal_atoms_with_a_cap_keep_the_largest():
    V = torch.linalg.qr(draw(16, 9, seed=1)).Q
    settled = settle([Layer(V, None, make_penalty(sparsity=0.1, top_k=2))], X, tol=0, max_sweeps=50)
    full = soft_threshold(X @ V, 0.1)
    expected = torch.where(full.abs() >= full.abs().topk(2, dim=1).values[:, -1:], full, 0)
    torch.testing.assert_close(settled.codes[0], expected, rtol=0, atol=1e-12)


@every_method
def test_without_sparsity_three_layers_solve_their_linear_system(method):
    """F is quadratic then, so one least-squares problem gives the codes of all layers at once."""
    layers = stack((16, 7, 6), (5, 4, 3), sparsity=(0.0, 0.0, 0.0))
    (V1, U1), (V2, U2), V3 = (layers[0].V, layers[0].U), (layers[1].V, layers[1].U), layers[2].V
    w2, w3 = FEEDBACK**0.5, FEEDBACK  # the square roots of feedback^(l-1)
    zero = torch.zeros
    system = torch.cat(
        [
            torch.cat([V1, zero(16, 4), zero(16, 3)], 1),
            torch.cat([-w2 * U1, w2 * V2, zero(7, 3)], 1),
            torch.cat([zero(6, 5), -w3 * U2, w3 * V3], 1),
        ]
    ).double()
    right = torch.cat([X, zero(5, 13)], 1).double()
    expected = torch.linalg.lstsq(system, right.T).solution.T.split([5, 4, 3], dim=1)
    settled = settle(layers, X, method=method, tol=0, max_sweeps=1000)
    for code, exact in zip(settled.codes, expected, strict=True):
        torch.testing.assert_close(code, exact, rtol=0, atol=1e-8)


def test_a_zero_input_stays_silent():
    settled = settle(stack(), torch.zeros(2, 16, dtype=torch.float64))
    assert all((code == 0).all() for code in settled.codes)
    assert settled.reasons == [Stop.CONVERGED] * 2


# --- the lasso: scikit-learn, and the conditions of its solution ---


@every_method
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(("d", "K", "sparsity"), [(16, 20, 0.4), (20, 12, 0.05), (30, 40, 0.7)])
def test_single_layer_equals_scikit_learn(method, nonnegative, d, K, sparsity):
    (layer,), x = single(d, K, sparsity=sparsity, nonnegative=nonnegative), draw(3, d, seed=4)
    settled = settle([layer], x, method=method, tol=0, max_sweeps=2000)
    # scikit-learn divides the squared error by the number of rows of V.
    lasso = Lasso(
        alpha=sparsity / d, fit_intercept=False, tol=1e-12, max_iter=200_000, positive=nonnegative
    )
    for b in range(3):
        expected = lasso.fit(layer.V.numpy(), x[b].numpy()).coef_
        torch.testing.assert_close(
            settled.codes[0][b], torch.from_numpy(expected), rtol=0, atol=1e-6
        )


@every_method
@pytest.mark.parametrize(("depth", "activation"), [(1, "identity"), (3, "identity"), (3, "relu")])
def test_the_solution_satisfies_the_kkt_conditions(method, depth, activation):
    """With rectified messages there is no joint energy, but each layer still ends at the optimum of
    its own.
    """
    layers = network(depth)
    settled = settle(
        layers,
        X,
        method=method,
        activation=activation,
        tol=0,
        max_sweeps=3000 if method == "ista" and depth == 1 else 500,
    )
    for i, (layer, code) in enumerate(zip(layers, settled.codes, strict=True)):
        target = settled.codes[i + 1] @ layers[i + 1].V.T if i + 1 < depth else None
        drawn = pull(layer, code, settled.inputs[i], target)
        on = code != 0
        assert on.any() and not on.all()
        assert (drawn.abs() <= SPARSITY[i] + 1e-8).all()
        torch.testing.assert_close(drawn[on], SPARSITY[i] * code[on].sign(), rtol=0, atol=1e-8)


def test_inputs_are_the_messages_of_the_final_codes():
    layers = stack()
    settled = settle(layers, X)
    assert settled.inputs[0] is X or torch.equal(settled.inputs[0], X)
    for i in (0, 1):
        torch.testing.assert_close(settled.inputs[i + 1], settled.codes[i] @ layers[i].U.T)


# --- the joint energy ---


def test_joint_energy_counts_each_layer_once_with_its_weight():
    layers = stack()
    codes, x, expected = some_codes(layers), X, 0
    for i, (layer, code) in enumerate(zip(layers, codes, strict=True)):
        expected = expected + FEEDBACK**i * energy(layer, code, x)
        x = message(layer, code) if layer.U is not None else None
    torch.testing.assert_close(joint_energy(layers, codes, X, FEEDBACK), expected)
    torch.testing.assert_close(
        joint_energy(layers[:1], codes[:1], X, FEEDBACK), energy(layers[0], codes[0], X)
    )


def test_joint_energy_allows_one_layer_used_twice():
    layer = Layer(
        unit_columns(draw(16, 9, seed=1)),
        unit_columns(draw(16, 9, seed=2)),
        make_penalty(sparsity=0.1),
    )
    codes = [draw(5, 9, seed=3), draw(5, 9, seed=4)]
    twin = dataclasses.replace(layer)
    assert torch.equal(
        joint_energy([layer, layer], codes, X, 0.5), joint_energy([layer, twin], codes, X, 0.5)
    )
    for feedback in (0.0, 0.5):
        same, other = (
            settle(pair, X, feedback=feedback) for pair in ([layer, layer], [layer, twin])
        )
        assert torch.equal(same.inputs[1], other.inputs[1]) and torch.equal(
            same.codes[1], other.codes[1]
        )


def test_gradients_of_the_joint_energy_are_those_of_the_layers():
    layers = stack(sparsity=(0.0, 0.0, 0.0))
    codes = [code.requires_grad_() for code in some_codes(layers)]
    joint_energy(layers, codes, X, FEEDBACK).sum().backward()
    x = X
    with torch.no_grad():
        for i, (layer, code) in enumerate(zip(layers, codes, strict=True)):
            target = codes[i + 1] @ layers[i + 1].V.T if i < 2 else None
            expected = -(FEEDBACK**i) * pull(layer, code, x, target)
            torch.testing.assert_close(code.grad, expected, rtol=1e-10, atol=1e-12)
            x = message(layer, code) if i < 2 else None


# --- Danskin ---


@pytest.mark.parametrize("which", ["V", "U"])
@pytest.mark.parametrize("depth", [1, 3])
def test_the_settled_energy_changes_with_a_dictionary_as_danskin_says(depth, which):
    """dF*/dV_l = -feedback^(l-1) e_x a', dF*/dU_l = -feedback^l e_t a' (VN Thm. 2)."""
    layers, x, tight = list(network(depth)), X[:1], {"tol": 0, "max_sweeps": 300}
    settled = settle(layers, x, **tight)
    for i in range(depth if which == "V" else depth - 1):
        layer, code, sent = layers[i], settled.codes[i], settled.inputs[i]
        assert code.abs().max() > 1e-3, "a silent layer shows nothing"
        if which == "V":
            expected = -(FEEDBACK**i) * (sent - code @ layer.V.T).T @ code
        else:
            e_t = settled.codes[i + 1] @ layers[i + 1].V.T - code @ layer.U.T
            expected = -(FEEDBACK ** (i + 1)) * e_t.T @ code
        direction = draw(*getattr(layer, which).shape, seed=50 + i)
        moved = []
        for h in (1e-5, -1e-5):
            changed = dataclasses.replace(layer, **{which: getattr(layer, which) + h * direction})
            moved.append(settle([*layers[:i], changed, *layers[i + 1 :]], x, **tight).energy.item())
        slope = (moved[0] - moved[1]) / 2e-5
        assert slope == pytest.approx((expected * direction).sum().item(), rel=1e-4, abs=1e-8)


# --- one sample does not see another ---


@every_method
@pytest.mark.parametrize("feedback", [0.0, FEEDBACK])
@pytest.mark.parametrize("options", [{}, {"monotone": True}, {"top_k": 2, "cap_from": 10}])
def test_a_sample_settles_the_same_alone_in_a_batch_and_permuted(method, feedback, options):
    options = dict(options)
    layers = stack(top_k=options.pop("top_k", None), tilt=0.3)
    x = torch.cat([X, 10 * X[:2], 0.01 * X[2:3], torch.zeros(1, 16, dtype=torch.float64)])
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(3))
    options |= {"feedback": feedback, "method": method, "max_sweeps": 100, "tol": 1e-4}
    batch, permuted = settle(layers, x, **options), settle(layers, x[order], **options)
    assert len(set(batch.sweeps.tolist())) > 3, (
        "samples must stop at different sweeps to show anything"
    )
    assert torch.equal(batch.sweeps[order], permuted.sweeps)
    for b in range(len(x)):
        alone = settle(layers, x[b : b + 1], **options)
        assert alone.sweeps.item() == batch.sweeps[b].item()
        assert alone.converged.item() == batch.converged[b].item()
        torch.testing.assert_close(alone.energy[0], batch.energy[b], rtol=1e-9, atol=1e-9)
        for one, many in zip(alone.codes, batch.codes, strict=True):
            assert one.shape == (1, many.shape[1])
            torch.testing.assert_close(one[0], many[b], rtol=0, atol=1e-9)
    for one, many in zip(permuted.codes, batch.codes, strict=True):
        torch.testing.assert_close(one, many[order], rtol=0, atol=1e-9)


def test_an_empty_batch_gives_empty_codes():
    settled = settle(stack(), X[:0], trace=True)
    assert [tuple(code.shape) for code in settled.codes] == [(0, 20), (0, 12), (0, 8)]
    assert settled.reasons == []


# --- without feedback ---


@every_method
@pytest.mark.parametrize("activation", ["identity", "relu"])
def test_without_feedback_layers_settle_one_after_the_other(method, activation):
    layers, options = stack(top_k=3), {"method": method, "tol": 1e-6}
    settled = settle(layers, X, feedback=0.0, activation=activation, trace=True, **options)
    x, parts = X, []
    for i, layer in enumerate(layers):
        parts.append(settle([layer], x, feedback=0.0, **options))
        assert torch.equal(settled.inputs[i], x) and torch.equal(
            settled.codes[i], parts[-1].codes[0]
        )
        x = message(layer, settled.codes[i], activation) if i < 2 else None
    torch.testing.assert_close(settled.energy, sum(p.energy for p in parts))
    assert torch.equal(settled.sweeps, sum(p.sweeps for p in parts))
    assert torch.equal(settled.converged, torch.stack([p.converged for p in parts]).all(0))


def test_feedback_changes_the_lower_codes():
    layers = stack()
    greedy, coupled = (
        settle(layers, X, feedback=0.0, **LONG),
        settle(layers, X, feedback=1.0, **LONG),
    )
    assert (greedy.codes[0] - coupled.codes[0]).abs().max() > 0.01


def test_a_little_feedback_is_a_small_change_of_none():
    layers = stack()
    greedy, coupled = (
        settle(layers, X, feedback=0.0, **LONG),
        settle(layers, X, feedback=1e-6, **LONG),
    )
    torch.testing.assert_close(coupled.codes[0], greedy.codes[0], rtol=0, atol=1e-3)


# --- options ---


def test_rectified_messages_settle():
    settled = settle(stack(), X, activation="relu", monotone=True, trace=True)
    assert all((h >= 0).all() for h in settled.inputs[1:]) and (settled.inputs[1] > 0).any()
    assert all(torch.isfinite(code).all() for code in settled.codes)
    torch.testing.assert_close(
        settled.energy, joint_energy(stack(), settled.codes, X, FEEDBACK, "relu")
    )
    assert not torch.equal(settled.codes[0], settle(stack(), X).codes[0])


def test_nonnegative_codes_stay_so():
    layers = stack(nonnegative=True)
    for given in (None, some_codes(layers)):
        assert all(
            (code >= 0).all() and (code > 0).any() for code in settle(layers, X, start=given).codes
        )


@every_method
def test_the_cap_sets_in_when_it_is_told_to(method):
    layers = single(top_k=3, sparsity=0.02)
    settled = settle(layers, X, method=method, cap_from=30, tol=1e-2, max_sweeps=100, trace=True)
    active = torch.stack(settled.trace.active)[:, 0]
    assert (active[:30].max(0).values > 3).all() and (active[30:] <= 3).all()
    assert (settled.sweeps > 31).all(), (
        "no sample may stop before the cap, nor on the jump it makes"
    )
    free = settle(single(sparsity=0.02), X, method=method, tol=0, max_sweeps=30, trace=True)
    torch.testing.assert_close(energies(settled)[:30], energies(free))


def test_more_steps_per_pass_take_fewer_sweeps():
    layers = stack()
    one, four = (
        settle(layers, X, method="ista", steps=n, tol=1e-6, max_sweeps=2000) for n in (1, 4)
    )
    assert (four.sweeps < one.sweeps).all()


@pytest.mark.parametrize("feedback", [0.0, FEEDBACK])
@pytest.mark.parametrize("top_k", [None, 3])
def test_single_and_double_precision_agree(feedback, top_k):
    exact = stack(top_k=top_k)
    single_precision = [
        Layer(layer.V.float(), None if layer.U is None else layer.U.float(), layer.penalty)
        for layer in exact
    ]
    options = {"feedback": feedback, "tol": 0, "max_sweeps": 200, "trace": True}
    wide, narrow = settle(exact, X, **options), settle(single_precision, X.float(), **options)
    assert narrow.energy.dtype == narrow.trace.energy[0].dtype == torch.float32
    torch.testing.assert_close(narrow.energy.double(), wide.energy, rtol=1e-4, atol=1e-4)
    for a, b in zip(narrow.codes, wide.codes, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a.double(), b, rtol=0, atol=1e-4)


def test_a_settler_can_be_used_again():
    settler = Settler(stack(), feedback=FEEDBACK)
    first, again = settler(X), settler(X)
    assert all(torch.equal(a, b) for a, b in zip(first.codes, again.codes, strict=True))


# --- bad input ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"method": "adam"},
            r"method must be one of 'auto', 'ista', 'fista', 'restart', 'line_search', 'admm', "
            r"'cd', got 'adam'",
        ),
        ({"max_sweeps": 0}, r"max_sweeps must be an integer >= 1, got 0"),
        ({"max_sweeps": 1.5}, r"max_sweeps must be an integer >= 1, got 1.5"),
        ({"tol": -1e-3}, r"tol must be a finite number >= 0, got -0.001"),
        ({"tol": float("nan")}, r"tol must be a finite number >= 0, got nan"),
        ({"steps": 0}, r"steps must be an integer >= 1, got 0"),
        ({"cap_from": 300}, r"cap_from must be an integer >= 0 and <= 299, got 300"),
        ({"cap_from": -1}, r"cap_from must be an integer >= 0 and <= 299, got -1"),
    ],
)
def test_bad_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        SettleConfig(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feedback": -0.1}, r"feedback must be a finite number >= 0, got -0.1"),
        ({"activation": "tanh"}, r"activation must be one of 'identity', 'relu', got 'tanh'"),
    ],
)
def test_bad_couplings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Settler(stack(), **options)


def test_layers_that_do_not_fit_are_named():
    first, second, third = stack()
    with pytest.raises(ValueError, match=r"layer 1 sends 10 numbers upward, layer 2 reads 8"):
        Settler([first, third])
    with pytest.raises(ValueError, match=r"layer 2 sends None numbers upward, layer 3 reads 10"):
        Settler([first, dataclasses.replace(second, U=None), second])


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X[:, 1:], r"x must have shape \(batch, 16\) .*got \(5, 15\)"),
        (X[0], r"x must have shape \(batch, 16\) .*got \(16,\)"),
        (X.float(), r"x must have the type of the dictionaries, torch.float64, got torch.float32"),
        (
            X.long(),
            r"x must be a dense floating-point tensor, float32 or float64, got Tensor torch.int64",
        ),
        (torch.where(X > 1, torch.nan, X), r"x holds \d+ value\(s\) that are NaN or infinite"),
        (X / 0, r"x holds 80 value\(s\) that are NaN or infinite"),
    ],
)
def test_bad_inputs_are_named(x, message):
    with pytest.raises(ValueError, match=message):
        settle(stack(), x)


@pytest.mark.parametrize("feedback", [0.0, FEEDBACK])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda codes: codes[:2], r"start must hold codes .*got \[\(5, 20\), \(5, 12\)\]"),
        (lambda codes: [c[:1] for c in codes], r"start must hold .*\[\(1, 20\), \(1, 12\)"),
        (
            lambda codes: codes[::-1],
            r"codes of the shapes \[\(5, 20\), .*\], got \[\(5, 8\), \(5, 12\), \(5, 20\)\]",
        ),
        (lambda codes: [codes[0], codes[1] * torch.nan, codes[2]], r"start code 2 holds 60 value"),
    ],
)
def test_bad_starts_are_named(change, message, feedback):
    codes = [torch.zeros(5, K, dtype=torch.float64) for K in (20, 12, 8)]
    with pytest.raises(ValueError, match=message):
        settle(stack(), X, start=change(codes), feedback=feedback)
