"""The settle descends: at every step, as fast as the theorem says, and where sweeps may be
rejected.
"""

from __future__ import annotations

import pytest
import torch
from settle_cases import (
    FEEDBACK,
    LONG,
    X,
    energies,
    largest_rise,
    network,
    settle,
    single,
    some_codes,
    stack,
)

from vnlib.layer import hessian, lipschitz
from vnlib.settle import joint_energy

# --- descent ---


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("depth", [1, 3])
def test_energy_never_rises_under_ista_and_all_starts_agree(depth, steps):
    layers, ends = network(depth), []
    enough = 1500 if depth == 1 else 400
    for seed in (100, 200, 300):
        start = some_codes(layers, seed=seed, size=2.0)
        settled = settle(
            layers, X, method="ista", start=start, trace=True, steps=steps, tol=0, max_sweeps=enough
        )
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
    settled = settle(
        layers, X, feedback=10.0, method="ista", start=start, trace=True, tol=0, max_sweeps=200
    )
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
    torch.testing.assert_close(
        settle(layers, X, method="ista", tol=0, max_sweeps=60).codes[0], code[0]
    )


def test_errors_fall_as_fast_as_the_theorem_says():
    """F(a_n) - F* <= L |a_0 - a*|^2 / (2 n), and with momentum 2 L |a_0 - a*|^2 / (n + 1)^2 (VN
    Thm. 3).
    """
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
        assert (
            settle(layers, X, method=method, tol=0, max_sweeps=600).energy - best.energy < 1e-11
        ).all()


def test_monotone_never_raises_the_energy():
    layers = single(tilt=0.8)
    options = {"start": some_codes(layers), "trace": True, "tol": 0, "max_sweeps": 300}
    free, kept = settle(layers, X, **options), settle(layers, X, monotone=True, **options)
    assert largest_rise(energies(free)) > 1e-8, "the case is too easy to show anything"
    assert largest_rise(energies(kept)) <= 0
    assert (kept.energy <= free.energy * (1 + 1e-12)).all()


def test_monotone_holds_for_a_stack_with_feedback():
    layers = stack(tilt=0.8, sparsity=(0.05, 0.02, 0.01))
    free, kept = (
        settle(layers, X, monotone=m, trace=True, tol=0, max_sweeps=600) for m in (False, True)
    )
    assert largest_rise(energies(free)) > 1e-8, "the case is too easy to show anything"
    assert largest_rise(energies(kept)) <= 0
    assert (kept.energy <= free.energy * (1 + 1e-4)).all()


def test_a_rejected_sweep_is_taken_back_and_followed_by_fresh_momentum():
    layers, options = single(tilt=0.8), {"tol": 0, "monotone": True}
    free, kept = (
        energies(settle(layers, X, trace=True, tol=0, max_sweeps=200, monotone=monotone))
        for monotone in (False, True)
    )
    checked = 0
    for b in range(5):
        rises = (free[1:, b] > free[:-1, b] * (1 + 1e-10)).nonzero()
        if not len(rises):
            continue
        # the row of the first sweep that is rejected, and so its predecessors' number
        n = 1 + int(rises[0])
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
