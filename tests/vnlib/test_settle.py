"""The settle against oracles: closed forms, scikit-learn's lasso, optimality conditions, descent, Danskin's theorem.

Two traps have tests of their own: a sample's answer that depends on its companions, and a caller's warm start that
is changed in place.
"""

from __future__ import annotations

import dataclasses

import pytest
import torch
from sklearn.linear_model import Lasso

from vnlib.layer import Layer, energy, hessian, lipschitz, message, smooth_gradient
from vnlib.learning import unit_columns
from vnlib.prox import make_penalty, soft_threshold
from vnlib.settle import SettleConfig, Settler, Stop, joint_energy

# A line search may spend a sweep on a step that it takes back; the other two never do.
steady_methods = pytest.mark.parametrize("method", ["ista", "restart"])
every_method = pytest.mark.parametrize("method", ["ista", "restart", "line_search"])
FEEDBACK = 0.3
SPARSITY = (0.4, 0.2, 0.1)  # the messages shrink with depth


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def stack(
    inputs=(16, 10, 8), atoms=(20, 12, 8), *, sparsity=SPARSITY, seed=2, top_k=None, nonnegative=False, tilt=0.0
) -> tuple[Layer, ...]:
    """Layers with random unit atoms; `tilt` adds a common direction, which makes them coherent."""
    layers = []
    for i, (d, K) in enumerate(zip(inputs, atoms, strict=True)):
        V = unit_columns(draw(d, K, seed=seed + 10 * i) + tilt)
        U = unit_columns(draw(inputs[i + 1], K, seed=seed + 10 * i + 1)) if i + 1 < len(atoms) else None
        cap = top_k if i + 1 == len(atoms) else None
        layers.append(Layer(V, U, make_penalty(sparsity=sparsity[i], nonnegative=nonnegative, top_k=cap)))
    return tuple(layers)


def single(d=16, K=20, *, sparsity=0.4, **options) -> tuple[Layer, ...]:
    return stack((d,), (K,), sparsity=(sparsity,), **options)


def network(depth: int, **options) -> tuple[Layer, ...]:
    return single(**options) if depth == 1 else stack(**options)


def some_codes(layers, *, seed=500, size=1.0) -> list[torch.Tensor]:
    return [size * draw(5, layer.V.shape[1], seed=seed + i) for i, layer in enumerate(layers)]


def settle(layers, x, *, feedback=FEEDBACK, start=None, trace=False, activation="identity", **config):
    settler = Settler(layers, feedback=feedback, activation=activation, config=SettleConfig(**config))
    return settler(x, start, trace=trace)


def energies(settled) -> torch.Tensor:
    return torch.stack(settled.trace.energy)


def largest_rise(rows: torch.Tensor) -> float:
    """The largest relative rise of the energy from one sweep to the next."""
    return float(((rows[1:] - rows[:-1]) / rows[:-1].abs().clamp_min(1e-300)).max())


LONG = {"tol": 0.0, "max_sweeps": 400}  # to rounding, with momentum
X = draw(5, 16, seed=99)


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
    lasso = Lasso(alpha=sparsity / d, fit_intercept=False, tol=1e-12, max_iter=200_000, positive=nonnegative)
    for b in range(3):
        expected = lasso.fit(layer.V.numpy(), x[b].numpy()).coef_
        torch.testing.assert_close(settled.codes[0][b], torch.from_numpy(expected), rtol=0, atol=1e-6)


@every_method
@pytest.mark.parametrize(("depth", "activation"), [(1, "identity"), (3, "identity"), (3, "relu")])
def test_the_solution_satisfies_the_kkt_conditions(method, depth, activation):
    """With rectified messages there is no joint energy, but each layer still ends at the optimum of its own."""
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
        pull = -smooth_gradient(layer, code, settled.inputs[i], target, FEEDBACK)
        on = code != 0
        assert on.any() and not on.all()
        assert (pull.abs() <= SPARSITY[i] + 1e-8).all()
        torch.testing.assert_close(pull[on], SPARSITY[i] * code[on].sign(), rtol=0, atol=1e-8)


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
    torch.testing.assert_close(joint_energy(layers[:1], codes[:1], X, FEEDBACK), energy(layers[0], codes[0], X))


def test_joint_energy_allows_one_layer_used_twice():
    layer = Layer(unit_columns(draw(16, 9, seed=1)), unit_columns(draw(16, 9, seed=2)), make_penalty(sparsity=0.1))
    codes = [draw(5, 9, seed=3), draw(5, 9, seed=4)]
    twin = dataclasses.replace(layer)
    assert torch.equal(joint_energy([layer, layer], codes, X, 0.5), joint_energy([layer, twin], codes, X, 0.5))
    for feedback in (0.0, 0.5):
        same, other = (settle(pair, X, feedback=feedback) for pair in ([layer, layer], [layer, twin]))
        assert torch.equal(same.inputs[1], other.inputs[1]) and torch.equal(same.codes[1], other.codes[1])


def test_gradients_of_the_joint_energy_are_those_of_the_layers():
    layers = stack(sparsity=(0.0, 0.0, 0.0))
    codes = [code.requires_grad_() for code in some_codes(layers)]
    joint_energy(layers, codes, X, FEEDBACK).sum().backward()
    x = X
    with torch.no_grad():
        for i, (layer, code) in enumerate(zip(layers, codes, strict=True)):
            target = codes[i + 1] @ layers[i + 1].V.T if i < 2 else None
            expected = FEEDBACK**i * smooth_gradient(layer, code, x, target, FEEDBACK)
            torch.testing.assert_close(code.grad, expected, rtol=1e-10, atol=1e-12)
            x = message(layer, code) if i < 2 else None


# --- descent ---


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("depth", [1, 3])
def test_energy_never_rises_under_ista_and_all_starts_agree(depth, steps):
    layers, ends = network(depth), []
    enough = 1500 if depth == 1 else 400
    for seed in (100, 200, 300):
        start = some_codes(layers, seed=seed, size=2.0)
        settled = settle(layers, X, method="ista", start=start, trace=True, steps=steps, tol=0, max_sweeps=enough)
        rows = torch.cat([joint_energy(layers, start, X, FEEDBACK)[None], energies(settled)])
        assert largest_rise(rows) < 1e-12
        assert (rows[-1] < 0.5 * rows[0]).all()
        ends.append(settled.energy)
    cold = settle(layers, X, **LONG)
    for end in ends:
        torch.testing.assert_close(end, cold.energy, rtol=1e-9, atol=0)


def test_strong_feedback_makes_the_steps_smaller():
    """L grows with the feedback; the step of the bottom-up problem would diverge here."""
    layers = stack()
    assert lipschitz(hessian(layers[0], 10.0)) > 2 * lipschitz(hessian(layers[0]))
    start = some_codes(layers)
    settled = settle(layers, X, feedback=10.0, method="ista", start=start, trace=True, tol=0, max_sweeps=200)
    assert largest_rise(energies(settled)) < 1e-12
    assert (settled.energy < 0.5 * joint_energy(layers, start, X, 10.0)).all()


@pytest.mark.parametrize("method", ["ista", "restart", "line_search"])
@pytest.mark.parametrize("depth", [1, 3])
def test_energy_falls_under_a_hard_cap_too(depth, method):
    layers = network(depth, top_k=2)
    start = [torch.zeros(5, layer.V.shape[1], dtype=torch.float64) for layer in layers]
    # Momentum may raise the energy of layers without a cap; only plain steps promise descent there.
    method = "ista" if depth == 3 else method
    settled = settle(layers, X, method=method, start=start, trace=True, tol=0, max_sweeps=300)
    assert largest_rise(energies(settled)) < 1e-12
    assert ((settled.codes[-1] != 0).sum(1) <= 2).all()
    assert (settled.energy < joint_energy(layers, start, X, FEEDBACK)).all()


def test_every_ista_step_decreases_the_energy_by_the_stated_amount():
    """F(a') <= F(a) - 1/(2 eta) |a' - a|^2 with eta = 1/L (VN Thm. 3)."""
    layers = single(tilt=0.5)
    lip = lipschitz(hessian(layers[0]))
    code, before = [torch.zeros(5, 20, dtype=torch.float64)], None
    for _ in range(60):
        settled = settle(layers, X, start=code, method="ista", tol=0, max_sweeps=1)
        moved = (settled.codes[0] - code[0]).square().sum(1)
        if before is not None:
            assert (settled.energy <= before - 0.5 * lip * moved + 1e-12).all()
        code, before = settled.codes, settled.energy
    torch.testing.assert_close(settle(layers, X, method="ista", tol=0, max_sweeps=60).codes[0], code[0])


def test_errors_fall_as_fast_as_the_theorem_says():
    """F(a_n) - F* <= L |a_0 - a*|^2 / (2 n), and with momentum 2 L |a_0 - a*|^2 / (n + 1)^2 (VN Thm. 3)."""
    layers = single(sparsity=0.05)
    best = settle(layers, X, tol=0, max_sweeps=3000)
    ista, fista = (
        energies(settle(layers, X, method=m, trace=True, tol=0, max_sweeps=600)) - best.energy
        for m in ("ista", "fista")
    )
    n = torch.arange(1, 601, dtype=torch.float64)[:, None]
    distance = lipschitz(hessian(layers[0])) * best.codes[0].square().sum(1)
    assert (ista <= distance / (2 * n) + 1e-12).all()
    assert (fista <= 2 * distance / (n + 1) ** 2 + 1e-12).all()
    assert ista[-1].max() > 1e-4 and fista[-1].max() > 1e-8, "too easy to show a rate"
    # With restarts, and with longer steps, the error falls geometrically.
    for method in ("restart", "line_search"):
        assert (settle(layers, X, method=method, tol=0, max_sweeps=600).energy - best.energy < 1e-11).all()


def test_monotone_never_raises_the_energy():
    layers = single(tilt=0.8)
    options = {"start": some_codes(layers), "trace": True, "tol": 0, "max_sweeps": 300}
    free, kept = settle(layers, X, **options), settle(layers, X, monotone=True, **options)
    assert largest_rise(energies(free)) > 1e-8, "the case is too easy to show anything"
    assert largest_rise(energies(kept)) <= 0
    assert (kept.energy <= free.energy * (1 + 1e-12)).all()


def test_monotone_holds_for_a_stack_with_feedback():
    layers = stack(tilt=0.8, sparsity=(0.05, 0.02, 0.01))
    free, kept = (settle(layers, X, monotone=m, trace=True, tol=0, max_sweeps=600) for m in (False, True))
    assert largest_rise(energies(free)) > 1e-8, "the case is too easy to show anything"
    assert largest_rise(energies(kept)) <= 0
    assert (kept.energy <= free.energy * (1 + 1e-4)).all()


def test_a_rejected_sweep_is_taken_back_and_followed_by_fresh_momentum():
    layers, options = single(tilt=0.8), {"tol": 0, "monotone": True}
    free, kept = (
        energies(settle(layers, X, trace=True, tol=0, max_sweeps=200, monotone=monotone)) for monotone in (False, True)
    )
    checked = 0
    for b in range(5):
        rises = (free[1:, b] > free[:-1, b] * (1 + 1e-10)).nonzero()
        if not len(rises):
            continue
        n = 1 + int(rises[0])  # the row of the first sweep that is rejected, and so its predecessors' number
        assert kept[n, b] == kept[n - 1, b]
        (code,) = settle(layers, X[b : b + 1], max_sweeps=n, **options).codes
        (after,) = settle(layers, X[b : b + 1], max_sweeps=n + 1, **options).codes
        assert torch.equal(after, code)
        # What follows is what a settle that starts there does.
        for more in (1, 2, 3, 4):
            went_on = settle(layers, X[b : b + 1], max_sweeps=n + 1 + more, **options)
            anew = settle(layers, X[b : b + 1], start=[code], max_sweeps=more, **options)
            torch.testing.assert_close(went_on.codes[0], anew.codes[0], rtol=0, atol=1e-13)
        checked += 1
    assert checked, "the case is too easy to show anything"


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
    assert len(set(batch.sweeps.tolist())) > 3, "samples must stop at different sweeps to show anything"
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


# --- starting ---


@every_method
@pytest.mark.parametrize("feedback", [0.0, FEEDBACK])
def test_a_warm_start_is_not_changed(method, feedback):
    layers = stack(top_k=2)
    start = some_codes(layers)
    copies, x = [code.clone() for code in start], X.clone()
    settled = settle(layers, x, start=start, feedback=feedback, method=method, monotone=True)
    assert all(torch.equal(code, copy) for code, copy in zip(start, copies, strict=True))
    assert torch.equal(x, X)
    assert not any(torch.equal(code, copy) for code, copy in zip(settled.codes, copies, strict=True))
    # Nor does the answer share memory with it.
    settled.codes[0].fill_(7)
    assert torch.equal(start[0], copies[0])


@steady_methods
@pytest.mark.parametrize("feedback", [0.0, FEEDBACK])
def test_a_warm_start_at_the_solution_stops_at_once(method, feedback):
    layers = stack()
    solution = settle(layers, X, feedback=feedback, **LONG)
    again = settle(layers, X, feedback=feedback, start=solution.codes, method=method, tol=1e-8)
    # One sweep to take the energy, one to see that it no longer falls; layers without feedback take turns.
    assert (again.sweeps == (2 if feedback else 2 * len(layers))).all()
    assert again.converged.all()
    for code, exact in zip(again.codes, solution.codes, strict=True):
        torch.testing.assert_close(code, exact, rtol=0, atol=1e-8)


def test_a_start_at_zero_is_no_different_from_none_in_the_end():
    layers = stack()
    zero = [torch.zeros(5, layer.V.shape[1], dtype=torch.float64) for layer in layers]
    cold, warm = settle(layers, X, **LONG), settle(layers, X, start=zero, **LONG)
    torch.testing.assert_close(cold.energy, warm.energy, rtol=1e-9, atol=0)


# --- stopping and the trace ---


def test_each_sample_says_why_it_stopped():
    layers = single(tilt=0.5)
    # The second sample is an atom times a large number in a coherent dictionary, the first nothing at all.
    x = torch.stack([torch.zeros(16, dtype=torch.float64), 50 * layers[0].V[:, 0] + X[0]])
    settled = settle(layers, x, tol=1e-9, max_sweeps=20)
    assert settled.reasons == [Stop.CONVERGED, Stop.MAX_SWEEPS]
    assert settled.converged.dtype == torch.bool
    assert settled.sweeps.tolist() == [2, 20]
    assert "max_sweeps" in Stop.MAX_SWEEPS.value and "tol" in Stop.CONVERGED.value


@steady_methods
def test_a_sample_stops_at_the_first_small_improvement(method):
    layers, tol = stack(), 1e-4
    free = energies(settle(layers, X, method=method, trace=True, tol=0, max_sweeps=300))
    stopped = settle(layers, X, method=method, tol=tol, max_sweeps=300)
    small = (free[1:] - free[:-1]).abs() <= tol * free[:-1].abs()
    first = 2 + small.int().argmax(0)  # row n of `small` compares sweeps n + 1 and n + 2
    assert torch.equal(stopped.sweeps, first)
    torch.testing.assert_close(stopped.energy, free.gather(0, first[None] - 1)[0])


def test_no_tolerance_runs_all_sweeps():
    settled = settle(stack(), X, tol=0, max_sweeps=7, trace=True)
    assert settled.sweeps.tolist() == [7] * 5 and not settled.converged.any()
    assert len(settled.trace.energy) == 7
    plain = settle(stack(), X, tol=0, max_sweeps=7)
    assert plain.trace is None
    assert all(torch.equal(a, b) for a, b in zip(plain.codes, settled.codes, strict=True))
    torch.testing.assert_close(plain.energy, settled.energy)


@pytest.mark.parametrize("feedback", [0.0, FEEDBACK])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_trace_ends_in_the_final_state(feedback, monotone):
    layers = stack()
    settled = settle(layers, X, feedback=feedback, monotone=monotone, trace=True, tol=1e-4)
    rows, active = energies(settled), torch.stack(settled.trace.active)
    assert rows.shape[1:] == (5,) and active.shape == (len(rows), 3, 5)
    if feedback:
        assert len(rows) == settled.sweeps.max()
        torch.testing.assert_close(settled.energy, joint_energy(layers, settled.codes, X, feedback))
        for b, sweeps in enumerate(settled.sweeps.tolist()):  # after its stop a sample repeats its last value
            assert (rows[sweeps - 1 :, b] == rows[-1, b]).all()
            assert (active[sweeps - 1 :, :, b] == active[-1, :, b]).all()
    torch.testing.assert_close(rows[-1], settled.energy)
    assert torch.equal(active[-1], torch.stack([(code != 0).sum(1) for code in settled.codes]))


# --- without feedback ---


@every_method
@pytest.mark.parametrize("activation", ["identity", "relu"])
def test_without_feedback_layers_settle_one_after_the_other(method, activation):
    layers, options = stack(top_k=3), {"method": method, "tol": 1e-6}
    settled = settle(layers, X, feedback=0.0, activation=activation, trace=True, **options)
    x, parts = X, []
    for i, layer in enumerate(layers):
        parts.append(settle([layer], x, feedback=0.0, **options))
        assert torch.equal(settled.inputs[i], x) and torch.equal(settled.codes[i], parts[-1].codes[0])
        x = message(layer, settled.codes[i], activation) if i < 2 else None
    torch.testing.assert_close(settled.energy, sum(p.energy for p in parts))
    assert torch.equal(settled.sweeps, sum(p.sweeps for p in parts))
    assert torch.equal(settled.converged, torch.stack([p.converged for p in parts]).all(0))


def test_feedback_changes_the_lower_codes():
    layers = stack()
    greedy, coupled = settle(layers, X, feedback=0.0, **LONG), settle(layers, X, feedback=1.0, **LONG)
    assert (greedy.codes[0] - coupled.codes[0]).abs().max() > 0.01


def test_a_little_feedback_is_a_small_change_of_none():
    layers = stack()
    greedy, coupled = settle(layers, X, feedback=0.0, **LONG), settle(layers, X, feedback=1e-6, **LONG)
    torch.testing.assert_close(coupled.codes[0], greedy.codes[0], rtol=0, atol=1e-3)


# --- options ---


def test_rectified_messages_settle():
    settled = settle(stack(), X, activation="relu", monotone=True, trace=True)
    assert all((h >= 0).all() for h in settled.inputs[1:]) and (settled.inputs[1] > 0).any()
    assert all(torch.isfinite(code).all() for code in settled.codes)
    torch.testing.assert_close(settled.energy, joint_energy(stack(), settled.codes, X, FEEDBACK, "relu"))
    assert not torch.equal(settled.codes[0], settle(stack(), X).codes[0])


def test_nonnegative_codes_stay_so():
    layers = stack(nonnegative=True)
    for given in (None, some_codes(layers)):
        assert all((code >= 0).all() and (code > 0).any() for code in settle(layers, X, start=given).codes)


@every_method
def test_the_cap_sets_in_when_it_is_told_to(method):
    layers = single(top_k=3, sparsity=0.02)
    settled = settle(layers, X, method=method, cap_from=30, tol=1e-2, max_sweeps=100, trace=True)
    active = torch.stack(settled.trace.active)[:, 0]
    assert (active[:30].max(0).values > 3).all() and (active[30:] <= 3).all()
    assert (settled.sweeps > 31).all(), "no sample may stop before the cap, nor on the jump it makes"
    free = settle(single(sparsity=0.02), X, method=method, tol=0, max_sweeps=30, trace=True)
    torch.testing.assert_close(energies(settled)[:30], energies(free))


def test_more_steps_per_pass_take_fewer_sweeps():
    layers = stack()
    one, four = (settle(layers, X, method="ista", steps=n, tol=1e-6, max_sweeps=2000) for n in (1, 4))
    assert (four.sweeps < one.sweeps).all()


@pytest.mark.parametrize("feedback", [0.0, FEEDBACK])
@pytest.mark.parametrize("top_k", [None, 3])
def test_single_and_double_precision_agree(feedback, top_k):
    exact = stack(top_k=top_k)
    single_precision = [
        Layer(layer.V.float(), None if layer.U is None else layer.U.float(), layer.penalty) for layer in exact
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
            r"method must be one of 'ista', 'fista', 'restart', 'line_search', 'admm', 'cd', got 'adam'",
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
        (X.long(), r"x must be a floating-point tensor, got torch.int64"),
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
        (lambda codes: codes[:2], r"start must hold one code of 5 rows for each of 3 layer\(s\), got \[5, 5\]"),
        (lambda codes: [c[:1] for c in codes], r"start must hold one code of 5 rows .*got \[1, 1, 1\]"),
        (lambda codes: codes[::-1], r"start code 1 must have shape \(batch, 20\) .*got \(5, 8\)"),
        (lambda codes: [codes[0], codes[1] * torch.nan, codes[2]], r"start code 2 holds 60 value"),
    ],
)
def test_bad_starts_are_named(change, message, feedback):
    codes = [torch.zeros(5, K, dtype=torch.float64) for K in (20, 12, 8)]
    with pytest.raises(ValueError, match=message):
        settle(stack(), X, start=change(codes), feedback=feedback)
