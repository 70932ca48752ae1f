"""Where a settle starts, when each sample stops, and what the trace says of it."""

from __future__ import annotations

import pytest
import torch
from settle_cases import (
    FEEDBACK,
    LONG,
    X,
    energies,
    every_method,
    settle,
    single,
    some_codes,
    stack,
    steady_methods,
)

from vnlib.settle import Stop, joint_energy

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
    assert not any(
        torch.equal(code, copy) for code, copy in zip(settled.codes, copies, strict=True)
    )
    # Nor does the answer share memory with it.
    settled.codes[0].fill_(7)
    assert torch.equal(start[0], copies[0])


@steady_methods
@pytest.mark.parametrize("feedback", [0.0, FEEDBACK])
def test_a_warm_start_at_the_solution_stops_at_once(method, feedback):
    layers = stack()
    solution = settle(layers, X, feedback=feedback, **LONG)
    again = settle(layers, X, feedback=feedback, start=solution.codes, method=method, tol=1e-8)
    # One sweep to take the energy, one to see that it no longer falls; layers without feedback take
    # turns.
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
    # The second sample is an atom times a large number in a coherent dictionary, the first nothing
    # at all.
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
        # after its stop a sample repeats its last value
        for b, sweeps in enumerate(settled.sweeps.tolist()):
            assert (rows[sweeps - 1 :, b] == rows[-1, b]).all()
            assert (active[sweeps - 1 :, :, b] == active[-1, :, b]).all()
    torch.testing.assert_close(rows[-1], settled.energy)
    assert torch.equal(active[-1], torch.stack([(code != 0).sum(1) for code in settled.codes]))
